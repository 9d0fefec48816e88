// SPDX-License-Identifier: MIT
#include "report/bars.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "report/plot.h"
#include "report/sections.h"

typedef struct bar {
    char *label;
    double value[RUN_PHASES], low, high;
    bool simulated;
} bar;

_Static_assert(RUN_PHASES >= 3, "a bar has room for busy, copying and waiting");

static const figure *find_part(const bars *b, const results *r, const char *owner,
                               const char *prefix, size_t part) {
    char metric[96];
    snprintf(metric, sizeof metric, "%s%s", prefix, b->metrics[part]);
    return results_figure(r, owner, metric);
}

static void append(bars *b, bar one, const char *label) {
    void *items = b->items;
    memory_grow(&items, &b->capacity, b->count + 1, sizeof *b->items);
    b->items = items;
    one.label = memory_string(label);
    b->items[b->count++] = one;
}

void bars_add(bars *b, const results *r, const char *owner, const char *prefix, const char *label) {
    bar one = {.low = NAN, .high = NAN};
    bool any = false;
    for (size_t i = 0; i < b->metric_count; i++) {
        const figure *f = find_part(b, r, owner, prefix, i);
        const bool known = f && isfinite(f->value);
        any |= known;
        one.simulated |= known && f->simulated;
        one.value[i] = known ? b->scale * f->value : 0;
        if (known) one.low = b->scale * f->low;
        if (known) one.high = b->scale * f->high;
    }
    if (any) append(b, one, label);
}

void bars_release(bars *b) {
    for (size_t i = 0; i < b->count; i++) free(b->items[i].label);
    free(b->items);
}

static status plot(const bars *b, double *value, const char **label, bool *hatched, char **svg) {
    const size_t n = b->count, parts = b->metric_count;
    for (size_t i = 0; i < n; i++) {
        label[i] = b->items[i].label;
        hatched[i] = b->items[i].simulated;
        for (size_t k = 0; k < parts; k++) value[i * parts + k] = b->items[i].value[k];
        if (parts == 1) value[n + i] = b->items[i].low;
        if (parts == 1) value[2 * n + i] = b->items[i].high;
    }
    if (parts > 1) {
        const plot_bars stacked = {.id = b->id,
                                   .title = b->title,
                                   .x = b->axis,
                                   .bars = label,
                                   .parts = b->names,
                                   .bar_count = n,
                                   .part_count = parts,
                                   .value = value,
                                   .colours = b->colours,
                                   .hatched = hatched};
        return plot_stacked(&stacked, svg, b->err);
    }
    plot_interval *rows = memory_new(n, sizeof *rows);
    for (size_t i = 0; i < n; i++)
        rows[i] = (plot_interval){
            .name = label[i], .value = value[i], .low = value[n + i], .high = value[2 * n + i]};
    const plot_intervals ranged = {.id = b->id,
                                   .title = b->title,
                                   .x = b->axis,
                                   .rows = rows,
                                   .count = n,
                                   .reference = b->reference};
    const status rc = plot_intervals_draw(&ranged, svg, b->err);
    free(rows);
    return rc;
}

status bars_draw(const bars *b, const results *r, document *d) {
    status rc = STATUS_OK;
    const size_t numbers = b->metric_count > 1 ? b->metric_count : 3;
    char *svg = NULL;
    if (!b->count) return STATUS_OK;
    double *value = memory_new(b->count * numbers, sizeof *value);
    const char **label = memory_new(b->count, sizeof *label);
    bool *hatched = memory_new(b->count, sizeof *hatched);
    TRY(plot(b, value, label, hatched, &svg));
    section_drawing(r, d, b->id, svg, b->caption);
out:
    free(value);
    free(label);
    free(hatched);
    return rc;
}
