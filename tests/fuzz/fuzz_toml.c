/*
 * A TOML policy from foreign bytes, by way of the code of sandbox-toml; and the bytes as a record,
 * as if that program had been led astray. What loads must be shown as a policy that loads, and be
 * the same then; what does not must say so in one line, with a place.
 */
#include "base/str.h"
#include "policy/policy.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* toml_for_c.cpp */
char *toml_for_c(const char *text, size_t length, size_t *ret_length);

static void require(int condition, const char *what, const struct error *err)
{
        if (condition)
                return;
        (void)fprintf(stderr, "%s: %s\n", what, err->message);
        abort();
}

static char *show_effective(const struct policy *policy)
{
        const struct policy *layers[] = { policy };
        struct policy_values values;
        struct error err = { 0 };
        char *shown;

        if (policy_effective(layers, 1, "python", &values, &err) < 0)
                return NULL;
        shown = policy_show(&values, "yaml");
        require(shown != NULL, "cannot be shown", &err);
        mem_free(policy_explain(layers, 1, "python", &values));
        policy_values_done(&values);
        return shown;
}

static void check_round_trip(const struct policy *policy)
{
        AUTO_FREE char *shown = show_effective(policy);
        AUTO_FREE char *again = NULL;
        struct policy loaded;
        struct error err = { 0 };

        if (!shown || strlen(shown) > 1 << 20)
                return;
        policy_init(&loaded);
        require(policy_load_yaml(&loaded, shown, strlen(shown), "shown", &err) == 0,
                "what was shown does not load", &err);
        again = show_effective(&loaded);
        require(again && strcmp(shown, again) == 0, "what was shown reads differently", &err);
        policy_done(&loaded);
}

static void load_record(const char *text, size_t length, char *record, size_t record_length)
{
        struct policy policy;
        struct error err = { 0 };
        int r;

        policy_init(&policy);
        r = policy_load_toml(&policy, text, length, record, record_length, "fuzz", &err);
        if (r == 0) {
                check_round_trip(&policy);
        } else {
                require(r == SBX_EPOLICY && err.code == r, "an error of another kind", &err);
                require(str_has_prefix(err.message, "fuzz:") ||
                                str_has_prefix(err.message, "more than") ||
                                str_has_prefix(err.message, "the environment"),
                        "an error without a place", &err);
                require(!strchr(err.message, '\n'), "a message of two lines", &err);
        }
        policy_done(&policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        size_t length = 0;
        char *copy = malloc(size + 1), *record;

        if (!copy)
                return 0;
        if (size)
                memcpy(copy, data, size);
        copy[size] = '\0';
        if (policy_check_text(copy, size, "fuzz", NULL) == 0) { /* as before the program starts */
                record = toml_for_c(copy, size, &length);
                load_record(copy, size, record, length);
                free(record);
        }
        load_record("x", 1, copy, size);
        free(copy);
        return 0;
}
