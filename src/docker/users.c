/* Whether an engine has its containers in a user namespace: of that the inspection of a container
 * says nothing, but the engine does. */
#include "docker/daemon.h"

#include <string.h>

static const char without_root[] = "the engine runs without root";

/* What Docker lists among its security options. */
static const struct {
        const char *option, *why;
} options[] = {
        { "name=rootless", without_root },
        { "name=userns", "the engine maps the users of its containers" },
};

static const char *find_option(const json_t *list)
{
        size_t index;
        json_t *item;

        for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
                json_array_foreach(list, index, item)
                {
                        const char *text = json_string_value(item);
                        size_t length = strlen(options[i].option);

                        if (text && strncmp(text, options[i].option, length) == 0 &&
                            (text[length] == '\0' || text[length] == ','))
                                return options[i].why;
                }
        return NULL;
}

void daemon_ask_users(struct daemon *daemon)
{
        const char *path = daemon->is_podman ? "/libpod/info" : "/info";
        json_t *info = NULL, *security;

        if (daemon_call(daemon, "GET", path, NULL, &info, NULL, NULL) < 0)
                return; /* which is then said to be missing */
        security = json_object_get(json_object_get(info, "host"), "security");
        if (!daemon->is_podman)
                daemon->users = find_option(json_object_get(info, "SecurityOptions"));
        else if (json_is_true(json_object_get(security, "rootless")))
                daemon->users = without_root;
        json_decref(info);
}
