/* Connections that were made, as they are kept in mind. */
#include "unit.h"
#include "base/fd.h"
#include "network/internal.h"

#include <netinet/in.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void say(enum network_word word, uint64_t id, const struct network_usage *usage,
                const char *what, const char *why)
{
}

static struct network *new_network(void)
{
        const struct network_order order = { .connects = true, .rate_max = NETWORK_RATE_NONE };
        struct network *network = NULL;

        assert_int_equal(network_new(&order, &network, NULL), 0);
        network->guest.say = say;
        return network;
}

static const struct sockaddr_storage nowhere = { .ss_family = AF_INET };

static void connection_is_counted_once_for_each_use(void **state)
{
        AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct network *network = new_network();
        struct sockaddr_storage other = nowhere;

        ((struct sockaddr_in *)&other)->sin_port = htons(7);
        assert_true(alive_note(network, fd, &nowhere, getpid(), fd));
        assert_true(alive_note(network, fd, &nowhere, getpid(), fd)); /* still the same */
        assert_int_equal(network->usage.connections, 1);
        assert_true(alive_note(network, fd, &other, getpid(), fd));
        assert_int_equal(network->usage.connections, 2);
        assert_int_equal(network->alive_count, 1);
        network_free(network);
}

static void connection_that_cannot_be_kept_in_mind_is_none(void **state)
{
        AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct network *network = new_network();

        /* No poll set, as one that has no more room. */
        fd_close(network->alive_fd);
        network->alive_fd = eventfd(0, EFD_CLOEXEC);
        assert_false(alive_note(network, fd, &nowhere, getpid(), fd));
        assert_int_equal(network->usage.connections, 0);
        assert_int_equal(network->counted_count, 0);
        network_free(network);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(connection_is_counted_once_for_each_use),
                cmocka_unit_test(connection_that_cannot_be_kept_in_mind_is_none),
        };

        return RUN(tests);
}
