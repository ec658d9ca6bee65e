#include "seccomp-profile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const comparisons[] = {
        [SCMP_CMP_NE] = "SCMP_CMP_NE",
        [SCMP_CMP_LT] = "SCMP_CMP_LT",
        [SCMP_CMP_LE] = "SCMP_CMP_LE",
        [SCMP_CMP_EQ] = "SCMP_CMP_EQ",
        [SCMP_CMP_GE] = "SCMP_CMP_GE",
        [SCMP_CMP_GT] = "SCMP_CMP_GT",
        [SCMP_CMP_MASKED_EQ] = "SCMP_CMP_MASKED_EQ",
};

static char *text;
static size_t length;
static FILE *json; /* grows into `text` */

/* The entry whose list of names is still open. */
static bool is_open;
static uint32_t open_action;

/* Ends the list of names, says what becomes of them and under which conditions. */
static void close_entry(unsigned count, const struct scmp_arg_cmp *args)
{
        if (!is_open)
                return;
        is_open = false;
        if (open_action == SCMP_ACT_ALLOW)
                (void)fputs("],\"action\":\"SCMP_ACT_ALLOW\"", json);
        else
                (void)fprintf(json, "],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":%u",
                              open_action & 0xffff);
        for (unsigned i = 0; i < count; i++) {
                (void)fprintf(json, "%s{\"index\":%u,\"value\":%llu", i ? "," : ",\"args\":[",
                              args[i].arg, (unsigned long long)args[i].datum_a);
                if (args[i].datum_b)
                        (void)fprintf(json, ",\"valueTwo\":%llu",
                                      (unsigned long long)args[i].datum_b);
                (void)fprintf(json, ",\"op\":\"%s\"}", comparisons[args[i].op]);
        }
        (void)fputs(count ? "]}" : "}", json);
}

/* clone3 is such a call, and named nevertheless: an engine that does not know of another default
 * than EPERM must not say that of it. */
void profile_begin(const char *architecture)
{
        json = open_memstream(&text, &length);
        if (!json)
                return;
        (void)fprintf(json,
                      "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":%d,"
                      "\"architectures\":[\"%s\"],\"syscalls\":[{\"names\":[\"clone3\"",
                      ENOSYS, architecture);
        is_open = true;
        open_action = SCMP_ACT_ERRNO(ENOSYS);
}

void profile_add(uint32_t action, const char *name, unsigned count, const struct scmp_arg_cmp *args)
{
        if (!json)
                return;
        if (is_open && action == open_action && count == 0) {
                (void)fprintf(json, ",\"%s\"", name);
                return;
        }
        close_entry(0, NULL);
        (void)fprintf(json, ",{\"names\":[\"%s\"", name);
        is_open = true;
        open_action = action;
        if (count > 0)
                close_entry(count, args);
}

/* One string of C, a line of it for each entry. */
static int print_header(FILE *out)
{
        (void)fputs("/* Written by gen-seccomp; see tools/seccomp-profile.c. */\n"
                    "static const char seccomp_profile[] =\n        \"",
                    out);
        for (size_t i = 0; i < length; i++) {
                if (text[i] == '{' && i > 0)
                        (void)fputs("\"\n        \"", out);
                if (text[i] == '"')
                        (void)fputc('\\', out);
                (void)fputc(text[i], out);
        }
        (void)fputs("\";\n", out);
        return fclose(out) == 0 ? 0 : -errno;
}

int profile_end(const char *path)
{
        FILE *out;
        int r;

        close_entry(0, NULL);
        if (!json || fputs("]}", json) < 0 || fclose(json) != 0)
                return -ENOMEM;
        json = NULL;
        out = fopen(path, "w");
        r = out ? print_header(out) : -errno;
        free(text);
        return r;
}
