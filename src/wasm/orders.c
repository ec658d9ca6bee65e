#include "wasm/orders.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>

/* "NUMBER" and the character that ends it. */
static int take_number(const char **text, char end, uint64_t *ret_number)
{
        char *after;

        if (**text < '0' || **text > '9')
                return -1;
        errno = 0;
        *ret_number = strtoull(*text, &after, 10);
        if (errno || *after != end)
                return -1;
        *text = after + 1;
        return 0;
}

/* "LENGTH:WORD" */
static int take_word(const char **text, char **ret_word)
{
        uint64_t length;

        if (take_number(text, ':', &length) < 0 || length > strlen(*text))
                return -1;
        mem_free(*ret_word);
        *ret_word = mem_strndup(*text, (size_t)length);
        *text += length;
        return *ret_word ? 0 : -1;
}

static int take_directory(const char **text, bool writable, struct wasm_orders *orders)
{
        struct wasm_directory *directory = &orders->directories[orders->directory_count];

        if (orders->directory_count == WASM_DIRECTORIES_MAX)
                return -1;
        orders->directory_count++;
        directory->writable = writable;
        return take_word(text, &directory->inside) < 0 ? -1 : take_word(text, &directory->outside);
}

int wasm_orders_read(const char *text, struct wasm_orders *ret_orders)
{
        int r = 0;

        *ret_orders = (struct wasm_orders){ 0 };
        while (*text && r == 0) {
                char kind = *text++;

                switch (kind) {
                case 'g':
                        r = take_word(&text, &ret_orders->guest);
                        break;
                case 'p':
                        r = take_word(&text, &ret_orders->parts);
                        break;
                case 'm':
                        r = take_number(&text, ',', &ret_orders->memory_bytes);
                        break;
                case 'f':
                        r = take_number(&text, ',', &ret_orders->fuel);
                        break;
                case 'r':
                case 'w':
                        r = take_directory(&text, kind == 'w', ret_orders);
                        break;
                default:
                        r = -1;
                }
        }
        if (r == 0 && ret_orders->guest && ret_orders->parts)
                return 0;
        wasm_orders_done(ret_orders);
        return -1;
}

void wasm_orders_done(struct wasm_orders *orders)
{
        mem_free(orders->guest);
        mem_free(orders->parts);
        for (size_t i = 0; i < orders->directory_count; i++) {
                mem_free(orders->directories[i].inside);
                mem_free(orders->directories[i].outside);
        }
        *orders = (struct wasm_orders){ 0 };
}
