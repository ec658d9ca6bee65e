#include "docker/container.h"

#include <string.h>

static const char *text_of(const json_t *json, const char *key)
{
        const char *text = json_string_value(json_object_get(json, key));

        return text ? text : "";
}

static uint64_t number_of(const json_t *json, const char *key)
{
        json_int_t number = json_integer_value(json_object_get(json, key));

        return number > 0 ? (uint64_t)number : 0;
}

int docker_order_read(const char *text, struct docker_order *order, struct error *err)
{
        json_t *json = json_loads(text, 0, NULL);

        *order = (struct docker_order){ .json = json };
        if (!json_is_object(json))
                return error_set(err, SBX_ESYSTEM, "the order is not understood");
        order->host = text_of(json, "host");
        order->cert_path = text_of(json, "cert_path");
        order->image = text_of(json, "image");
        order->inside = text_of(json, "inside");
        order->temporary = text_of(json, "temporary");
        order->language = text_of(json, "language");
        order->verify = json_is_true(json_object_get(json, "verify"));
        order->is_strict = json_is_true(json_object_get(json, "strict"));
        order->wants_files = json_is_true(json_object_get(json, "wants_files"));
        order->timeout_ms = (long)number_of(json, "timeout_ms");
        order->memory_bytes = number_of(json, "memory");
        order->processes = number_of(json, "processes");
        order->cpus_milli = number_of(json, "cpus_milli");
        order->cpu_us = number_of(json, "cpu_us");
        order->usage_ms = number_of(json, "usage_ms");
        order->tools = json_object_get(json, "tools");
        order->runtimes = json_object_get(json, "runtimes");
        return 0;
}

void docker_order_done(struct docker_order *order)
{
        json_decref(order->json);
        *order = (struct docker_order){ 0 };
}
