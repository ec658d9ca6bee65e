/* The policies that are built in, by name. */
#include "policy/policy_show.h"

#include <string.h>

const struct policy_profile *policy_profile_find(const char *name)
{
        for (const struct policy_profile *profile = policy_profiles; profile->name; profile++)
                if (strcmp(profile->name, name) == 0)
                        return profile;
        return NULL;
}

static void hint_profiles(struct error *err, const char *wrong)
{
        const char *names[64];
        size_t count = 0;

        while (count < ARRAY_SIZE(names) && policy_profiles[count].name) {
                names[count] = policy_profiles[count].name;
                count++;
        }
        policy_hint_names(err, wrong, names, count);
}

int policy_load_profile(struct policy *policy, const char *name, struct error *err)
{
        const struct policy_profile *profile = policy_profile_find(name);
        char shown[80];
        int r;

        if (!profile) {
                r = error_set(err, SBX_EINVAL, "no such profile '%s'",
                              str_printable(name, shown, sizeof(shown)));
                hint_profiles(err, name);
                return r;
        }
        r = policy_load_yaml(policy, profile->text, strlen(profile->text), profile->name, err);
        policy->layer = LAYER_PROFILE;
        return r;
}

char *policy_profiles_json(void)
{
        AUTO_STRBUF struct strbuf out = { 0 };
        json_t *list = json_array();
        int r = list ? 0 : -1;

        for (const struct policy_profile *profile = policy_profiles; r == 0 && profile->name;
             profile++)
                r = json_array_append_new(list, json_pack("{s:s, s:s}", "name", profile->name,
                                                          "what", profile->what));
        if (r == 0)
                policy_dump_json(&out, list);
        json_decref(list);
        return r == 0 ? strbuf_take(&out) : NULL;
}
