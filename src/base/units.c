#include "base/units.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Splits "12.345xyz" into whole part, thousandths and suffix. Digits are read by hand: strtod takes
 * signs, hex, exponents, "nan" and the locale's comma, none of which we mean. */
static int parse_decimal(const char *text, uint64_t *ret_whole, uint64_t *ret_thousandths,
                         const char **ret_suffix, struct error *err)
{
        uint64_t whole = 0, thousandths = 0, weight = 100;
        const char *p = text;
        char shown[64];

        if (*p < '0' || *p > '9' || (p[0] == '0' && p[1] >= '0' && p[1] <= '9'))
                return error_set(err, SBX_EINVAL, "'%s' is not a number",
                                 str_printable(text, shown, sizeof(shown)));
        for (; *p >= '0' && *p <= '9'; p++)
                if (__builtin_mul_overflow(whole, 10, &whole) ||
                    __builtin_add_overflow(whole, (uint64_t)(*p - '0'), &whole))
                        return error_set(err, SBX_EINVAL, "'%s' is too large",
                                         str_printable(text, shown, sizeof(shown)));
        if (*p == '.') {
                if (p[1] < '0' || p[1] > '9')
                        return error_set(err, SBX_EINVAL, "'%s' is not a number",
                                         str_printable(text, shown, sizeof(shown)));
                for (p++; *p >= '0' && *p <= '9'; p++, weight /= 10)
                        thousandths += (uint64_t)(*p - '0') * weight;
        }
        *ret_whole = whole;
        *ret_thousandths = thousandths;
        *ret_suffix = p;
        return 0;
}

/* (whole + thousandths/1000) * unit, rounded up. */
static int scale(const char *text, uint64_t whole, uint64_t thousandths, uint64_t unit,
                 uint64_t *ret_value, struct error *err)
{
        uint64_t value;

        if (__builtin_mul_overflow(whole, unit, &value) ||
            __builtin_add_overflow(value, (thousandths * unit + 999) / 1000, &value) ||
            value > INT64_MAX)
                return error_set(err, SBX_EINVAL, "'%s' is too large", text);
        *ret_value = value;
        return 0;
}

struct unit {
        const char *suffix;
        uint64_t factor;
};

static int parse_with_units(const char *text, const struct unit *units, size_t count,
                            const char *expected, uint64_t *ret_value, struct error *err)
{
        uint64_t whole = 0, thousandths = 0;
        const char *suffix = "";
        char shown[64];
        int r = parse_decimal(text, &whole, &thousandths, &suffix, err);

        if (r < 0) {
                error_hint(err, "%s", expected);
                return r;
        }
        for (size_t i = 0; i < count; i++)
                if (strcasecmp(suffix, units[i].suffix) == 0)
                        return scale(text, whole, thousandths, units[i].factor, ret_value, err);
        r = error_set(err, SBX_EINVAL, "'%s' has an unknown unit",
                      str_printable(text, shown, sizeof(shown)));
        error_hint(err, "%s", expected);
        return r;
}

int units_parse_duration(const char *text, uint64_t *ret_ms, struct error *err)
{
        static const struct unit units[] = {
                { "", 1000 },   { "ms", 1 },      { "s", 1000 },
                { "m", 60000 }, { "min", 60000 }, { "h", 3600000 },
        };

        return parse_with_units(text, units, ARRAY_SIZE(units),
                                "write a time as 500ms, 2s, 1m or a number of seconds", ret_ms,
                                err);
}

int units_parse_size(const char *text, uint64_t bare_unit, uint64_t *ret_bytes, struct error *err)
{
        const struct unit units[] = {
                { "", bare_unit },
                { "b", 1 },
                { "k", 1 << 10 },
                { "kb", 1 << 10 },
                { "kib", 1 << 10 },
                { "m", 1 << 20 },
                { "mb", 1 << 20 },
                { "mib", 1 << 20 },
                { "g", 1 << 30 },
                { "gb", 1 << 30 },
                { "gib", 1 << 30 },
                { "t", UINT64_C(1) << 40 },
                { "tb", UINT64_C(1) << 40 },
                { "tib", UINT64_C(1) << 40 },
        };

        return parse_with_units(text, units, ARRAY_SIZE(units),
                                "write a size as 512K, 64M or 1G (powers of 1024)", ret_bytes, err);
}

int units_parse_count(const char *text, uint64_t *ret_count, struct error *err)
{
        static const struct unit units[] = { { "", 1 } };
        int r;

        if (strchr(text, '.')) {
                r = error_set(err, SBX_EINVAL, "'%s' is not a whole number", text);
                return r;
        }
        return parse_with_units(text, units, ARRAY_SIZE(units), "write a whole number", ret_count,
                                err);
}

int units_parse_thousandths(const char *text, uint64_t *ret_value, struct error *err)
{
        static const struct unit units[] = { { "", 1000 } };

        return parse_with_units(text, units, ARRAY_SIZE(units), "write a number such as 1 or 0.5",
                                ret_value, err);
}

const char *units_format_size(uint64_t bytes, char buffer[UNITS_TEXT_MAX])
{
        static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB" };
        double value = (double)bytes;
        size_t i = 0;

        while (value >= 1024 && i + 1 < ARRAY_SIZE(names)) {
                value /= 1024;
                i++;
        }
        (void)snprintf(buffer, UNITS_TEXT_MAX,
                       value == (double)(uint64_t)value ? "%.0f %s" : "%.1f %s", value, names[i]);
        return buffer;
}

const char *units_format_duration(uint64_t ms, char buffer[UNITS_TEXT_MAX])
{
        int n = snprintf(buffer, UNITS_TEXT_MAX, "%" PRIu64 ".%03" PRIu64, ms / 1000, ms % 1000);

        while (n > 0 && buffer[n - 1] == '0')
                n--;
        if (n > 0 && buffer[n - 1] == '.')
                n--;
        (void)snprintf(buffer + n, UNITS_TEXT_MAX - (size_t)n, "s");
        return buffer;
}
