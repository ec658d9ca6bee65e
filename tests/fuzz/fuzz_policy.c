/*
 * The policy file from foreign bytes. What loads must become effective, be shown, load again from
 * what was shown, and be the same then: a policy that reads differently than it shows is a hole.
 */
#include "base/str.h"
#include "policy/policy.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition, const char *what, const struct error *err)
{
        if (condition)
                return;
        (void)fprintf(stderr, "%s: %s\n", what, err->message);
        abort();
}

/* Shows the effective values of the policy; NULL where the layers together are too much. */
static char *show_effective(const struct policy *policy, const char *language)
{
        const struct policy *layers[] = { policy };
        struct policy_values values;
        struct error err = { 0 };
        char *shown;

        if (policy_effective(layers, 1, language, &values, &err) < 0)
                return NULL;
        shown = policy_show(&values, "yaml");
        require(shown != NULL, "cannot be shown", &err);
        mem_free(policy_show(&values, "json"));
        policy_values_done(&values);
        return shown;
}

static void check_round_trip(const struct policy *policy, const char *language)
{
        AUTO_FREE char *shown = show_effective(policy, language);
        AUTO_FREE char *again = NULL;
        struct policy loaded;
        struct error err = { 0 };
        int r;

        /* Escapes may make it longer than a file may be. */
        if (!shown || strlen(shown) > 1 << 20)
                return;
        policy_init(&loaded);
        r = policy_load_yaml(&loaded, shown, strlen(shown), "shown", &err);
        require(r == 0, "what was shown does not load", &err);
        again = show_effective(&loaded, language);
        require(again && strcmp(shown, again) == 0, "what was shown reads differently", &err);
        policy_done(&loaded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct policy policy, copy;
        struct error err = { 0 };
        int r;

        policy_init(&policy);
        r = policy_load_yaml(&policy, (const char *)data, size, "fuzz", &err);
        if (r == 0) {
                check_round_trip(&policy, NULL);
                check_round_trip(&policy, "python");
                if (policy_copy(&copy, &policy, &err) == 0)
                        policy_done(&copy);
        } else {
                require(r == SBX_EPOLICY && err.code == r, "an error of another kind", &err);
                require(str_has_prefix(err.message, "fuzz:") ||
                                str_has_prefix(err.message, "more than") ||
                                str_has_prefix(err.message, "the environment"),
                        "an error without a place", &err);
                require(!strchr(err.message, '\n'), "a message of two lines", &err);
        }
        policy_done(&policy);
        return 0;
}
