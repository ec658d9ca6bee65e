/* What the tests of templates share: load, fill, map. Failures end the test. */
#ifndef TESTS_UNIT_TEMPLATES_TEMPLATE_BENCH_H
#define TESTS_UNIT_TEMPLATES_TEMPLATE_BENCH_H

#include "unit.h"
#include "base/mem.h"
#include "templates/templates.h"

static inline struct template *load_good(const char *text, const char *name)
{
        struct template *template = NULL;
        struct error err = { 0 };

        if (template_load(text, strlen(text), name, &template, &err) < 0)
                fail_msg("%s", err.message);
        return template;
}

static inline struct expansion expand_good(const struct template *template,
                                           const struct template_use *use, const char *code,
                                           const char *language)
{
        static const struct template_use none;
        struct expansion expansion = { 0 };
        struct error err = { 0 };

        if (template_expand(template, use ? use : &none, code, strlen(code), language, &expansion,
                            &err) < 0)
                fail_msg("%s", err.message);
        return expansion;
}

static inline void set_good(struct template_use *use, const char *name, const char *value)
{
        struct error err = { 0 };

        if (template_use_set(use, name, value, strlen(value), &err) < 0)
                fail_msg("%s", err.message);
}

#endif
