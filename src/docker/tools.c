/*
 * sandbox-inside reaches a container through a volume that is filled once per engine and is
 * mounted read-only: nothing of the host is mounted, and no image has to know of us. The volume's
 * name has the hash of the program in it.
 */
#include "docker/container.h"
#include "docker/inside.h"
#include "docker/pack.h"
#include "base/fd.h"
#include "base/hash.h"

#include <fcntl.h>
#include <stdio.h>

int tools_name(const struct docker_order *order, char ret_name[64], struct error *err)
{
        char text[HASH_TEXT_MAX];
        AUTO_CLOSE int fd = open(order->inside, O_RDONLY | O_CLOEXEC);
        struct hash hash;

        hash_init(&hash);
        if (fd < 0 || hash_update_fd(&hash, fd) < 0) {
                int r = error_set_errno(err, "read '%s'", order->inside);

                error_hint(err, "install it beside sandbox-docker");
                return r;
        }
        hash_final(&hash, text);
        (void)snprintf(ret_name, 64, "sandbox-run-%.16s", text);
        return 0;
}

/* A container that is never started carries the program into the volume. */
int tools_fill(struct daemon *daemon, const struct docker_order *order, struct error *err)
{
        struct container carrier = { 0 };
        AUTO_CLOSE int archive = -1;
        json_t *body, *answer = NULL;
        const char *id;
        char name[64];
        int r = tools_name(order, name, err);

        if (r == 0)
                r = pack_program(order->inside, INSIDE_NAME, &archive, err);
        if (r < 0)
                return r;
        body = json_pack("{s:s,s:[s],s:o,s:{s:s,s:[{s:s,s:s,s:s,s:{s:b,s:{s:s}}}]}}", "Image",
                         order->image, "Cmd", "/" INSIDE_NAME, "Labels", sweep_labels(),
                         "HostConfig", "NetworkMode", "none", "Mounts", "Type", "volume", "Source",
                         name, "Target", INSIDE_PLACE, "VolumeOptions", "NoCopy", 1, "Labels",
                         CONTAINER_LABEL_KIND, "tools");
        if (!body)
                return error_set_nomem(err);
        r = daemon_call(daemon, "POST", "/containers/create", body, &answer, NULL, err);
        json_decref(body);
        id = r == 0 ? json_string_value(json_object_get(answer, "Id")) : NULL;
        if (r == 0 &&
            (!id || snprintf(carrier.id, sizeof(carrier.id), "%s", id) >= (int)sizeof(carrier.id)))
                r = error_set(err, SBX_EUNAVAILABLE, "a container without an id");
        json_decref(answer);
        if (r == 0)
                r = container_put(daemon, &carrier, INSIDE_PLACE, archive, err);
        if (carrier.id[0])
                (void)container_remove(daemon, &carrier, NULL);
        return r;
}
