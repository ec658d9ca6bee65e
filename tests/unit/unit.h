/* What every unit test includes: cmocka and the headers it needs before it, and two checks. */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* `text` holds `part`; both are printed when not. */
#define assert_has(text, part)                                                                     \
        do {                                                                                       \
                if (!strstr((text), (part)))                                                       \
                        fail_msg("'%s' does not hold '%s'", (text), (part));                       \
        } while (0)
#define assert_lacks(text, part)                                                                   \
        do {                                                                                       \
                if (strstr((text), (part)))                                                        \
                        fail_msg("'%s' holds '%s'", (text), (part));                               \
        } while (0)

#define RUN(tests) cmocka_run_group_tests((tests), NULL, NULL)

#endif
