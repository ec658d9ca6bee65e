/*
 * The ratios of this run against those of a file:
 *
 *   { "ratios": [ { "value": "python-warm", "over": "python-bare", "ratio": 0.25 }, ... ] }
 *
 * `value` and `over` are names of rows or figures; "at_least": true where more is better. Ratios
 * move far less between machines than times, and still some: so a third is allowed.
 */
#include "cli/bench.h"

#include <jansson.h>
#include <stdio.h>

static const double allowed = 1.3;

/* 1 where it was to be measured and failed; -1 where it could not be, or was not asked for. */
static int tell_missing(const struct bench_all *all, const struct bench_bar *bar)
{
        const char *reason = bench_reason(all, bar->value);
        AUTO_STRBUF struct strbuf line = { 0 };

        if (!reason)
                reason = bench_reason(all, bar->over);
        if (!reason)
                return -1;
        strbuf_addf(&line, "%s against %s was not compared: %s", bar->value, bar->over, reason);
        if (!line.failed)
                report_line(line.data, NULL);
        return str_has_prefix(reason, "failed:") ? 1 : -1;
}

/* 1 where it is worse than allowed; -1 where it was not measured. */
static int compare(const struct bench_all *all, const json_t *entry)
{
        const struct bench_bar bar = {
                .value = json_string_value(json_object_get(entry, "value")),
                .over = json_string_value(json_object_get(entry, "over")),
                .at_least = json_is_true(json_object_get(entry, "at_least")),
        };
        double before = json_number_value(json_object_get(entry, "ratio")), now;
        AUTO_STRBUF struct strbuf line = { 0 };

        if (!bench_bar_value(all, &bar, &now))
                return tell_missing(all, &bar);
        if (bar.at_least ? now * allowed >= before : now <= before * allowed)
                return 0;
        strbuf_addf(&line, "%s against %s is %.2fx, and was %.2fx", bar.value, bar.over, now,
                    before);
        if (!line.failed)
                report_line(line.data, NULL);
        return 1;
}

static bool is_entry(const json_t *entry)
{
        return json_is_string(json_object_get(entry, "value")) &&
               json_is_string(json_object_get(entry, "over")) &&
               json_number_value(json_object_get(entry, "ratio")) > 0;
}

int bench_check(const struct bench_all *all, const char *path, struct error *err)
{
        json_error_t problem;
        json_t *root = json_load_file(path, 0, &problem);
        const json_t *entries = json_object_get(root, "ratios");
        size_t index, measured = 0, worse = 0;
        json_t *entry;
        int r = 0;

        if (!json_is_array(entries))
                r = error_set(err, SBX_EINVAL, "option '--check': '%s': %s", path,
                              root ? "no list 'ratios'" : problem.text);
        json_array_foreach(entries, index, entry)
        {
                int outcome = is_entry(entry) ? compare(all, entry) : -2;

                if (outcome == -2) {
                        r = error_set(err, SBX_EINVAL,
                                      "option '--check': '%s': entry %zu needs value, over, ratio",
                                      path, index + 1);
                        break;
                }
                measured += outcome >= 0;
                worse += outcome > 0;
        }
        json_decref(root);
        if (r == 0 && measured == 0)
                r = error_set(err, SBX_EINVAL, "option '--check': nothing of '%s' was measured",
                              path);
        return r < 0 ? r : worse > 0;
}
