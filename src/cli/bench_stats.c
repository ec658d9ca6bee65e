#include "cli/bench.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

int bench_compare_ns(const void *a, const void *b)
{
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return (x > y) - (x < y);
}

uint64_t bench_percentile(const uint64_t *sorted, size_t count, size_t percent)
{
        size_t rank = (count * percent + 99) / 100;

        return sorted[rank ? rank - 1 : 0];
}

int bench_stats_fill(struct bench_row *rows, size_t count, struct error *err)
{
        for (size_t i = 0; i < count; i++) {
                struct bench_row *row = &rows[i];
                size_t size = row->sample_count * sizeof(*row->samples);
                AUTO_FREE uint64_t *sorted = NULL;

                row->measured = row->sample_count > 0;
                if (!row->measured)
                        continue;
                sorted = mem_alloc(size);
                if (!sorted)
                        return error_set_nomem(err);
                memcpy(sorted, row->samples, size);
                qsort(sorted, row->sample_count, sizeof(*sorted), bench_compare_ns);
                row->median_ns = bench_percentile(sorted, row->sample_count, 50);
                row->p99_ns = bench_percentile(sorted, row->sample_count, 99);
        }
        for (size_t i = 0; i < count; i++) {
                const struct bench_row *base = bench_rows_find(rows, count, rows[i].kind->baseline);

                if (rows[i].measured && base && base->measured && base->median_ns)
                        rows[i].ratio = (double)rows[i].median_ns / (double)base->median_ns;
        }
        return 0;
}
