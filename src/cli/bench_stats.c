#include "cli/bench.h"

#include <stdlib.h>

static int compare_ns(const void *a, const void *b)
{
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return (x > y) - (x < y);
}

/* The smallest sample that at least `percent` of all do not exceed. */
static uint64_t percentile(const uint64_t *sorted, size_t count, size_t percent)
{
        size_t rank = (count * percent + 99) / 100;

        return sorted[rank ? rank - 1 : 0];
}

void bench_stats_fill(struct bench_row *rows, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                struct bench_row *row = &rows[i];

                row->measured = row->sample_count > 0;
                if (!row->measured)
                        continue;
                qsort(row->samples, row->sample_count, sizeof(*row->samples), compare_ns);
                row->median_ns = percentile(row->samples, row->sample_count, 50);
                row->p99_ns = percentile(row->samples, row->sample_count, 99);
        }
        for (size_t i = 0; i < count; i++) {
                const struct bench_row *base = bench_rows_find(rows, count, rows[i].kind->baseline);

                if (rows[i].measured && base && base->measured && base->median_ns)
                        rows[i].ratio = (double)rows[i].median_ns / (double)base->median_ns;
        }
}
