// SPDX-License-Identifier: MIT
#include "results/figures.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/spelling.h"
#include "base/text.h"
#include "results/execution.h"
#include "results/seed_group.h"

// ---- The list ----

static uint64_t hash_text(uint64_t hash, const char *string) {
    for (; *string; string++) hash = (hash ^ (unsigned char)*string) * 0x100000001b3u; // FNV-1a
    return hash;
}

static uint64_t hash_id(const char *owner, const char *metric) {
    const uint64_t begin = 0xcbf29ce484222325u;
    return hash_text(hash_text(hash_text(begin, owner), *metric ? "." : ""), metric);
}

static bool is_called(const figure *f, const char *owner, const char *metric) {
    const size_t length = strlen(owner);
    if (!*metric) return strcmp(f->id, owner) == 0;
    return strncmp(f->id, owner, length) == 0 && f->id[length] == '.' &&
           strcmp(f->id + length + 1, metric) == 0;
}

// The slot of OWNER.METRIC, or of the id OWNER if METRIC is ""; a free one if there is none.
static size_t find_slot(const figure_list *list, const char *owner, const char *metric) {
    size_t at = (size_t)(hash_id(owner, metric) % list->slot_count);
    while (list->slots[at] && !is_called(&list->items[list->slots[at] - 1], owner, metric))
        at = (at + 1) % list->slot_count;
    return at;
}

// The first of equal ids counts.
static void index_figure(figure_list *list, size_t place) {
    const size_t slot = find_slot(list, list->items[place].id, "");
    if (!list->slots[slot]) list->slots[slot] = place + 1;
}

static void grow_slots(figure_list *list) {
    const size_t count = list->slot_count ? 2 * list->slot_count : 256;
    size_t *slots = memory_new(count, sizeof *slots);
    free(list->slots);
    list->slots = slots;
    list->slot_count = count;
    for (size_t i = 0; i < list->count; i++) index_figure(list, i);
}

const figure *figures_of(const figure_list *list, const char *owner, const char *metric) {
    const size_t place = list->slot_count ? list->slots[find_slot(list, owner, metric)] : 0;
    return place ? &list->items[place - 1] : NULL;
}

const figure *figures_find(const figure_list *list, const char *id) {
    return figures_of(list, id, "");
}

const figure *figures_of_execution(const figure_list *list, const figure *f, size_t number) {
    char *metric = memory_format("execution.%zu.%s", number, f->metric);
    const figure *found = figures_of(list, f->owner, metric);
    free(metric);
    return found;
}

const figure *figures_of_repeats(const figure_list *list, const seed_group *g, const char *metric) {
    const metric_row *row = metrics_find(metric);
    char mean[96];
    if (!row) return figures_of(list, g->name, metric);
    snprintf(mean, sizeof mean, "mean_%s", metric);
    if (g->count > 1 && metric_has_mean(row)) return figures_of(list, g->name, mean);
    return figures_of(list, g->runs[0]->name, metric);
}

// Adds a figure called OWNER.METRIC. Takes ownership of `f.source`; copies the other strings.
static void add(figure_list *list, figure f, const char *metric, const char *note) {
    list->items = memory_grow(list->items, &list->capacity, list->count + 1, sizeof *list->items);
    if (2 * (list->count + 1) > list->slot_count) grow_slots(list);
    f.id = memory_format("%s.%s", f.owner, metric);
    f.note = memory_string(note);
    if (!f.source) f.source = memory_string("");
    f.metric = f.id + strlen(f.owner) + 1;
    list->items[list->count++] = f;
    index_figure(list, list->count - 1);
}

void figures_release(figure_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].id);
        free(list->items[i].note);
        free(list->items[i].source);
    }
    free(list->items);
    free(list->slots);
    *list = (figure_list){0};
}

static const char *nearest(const figure_list *list, const char *id) {
    const char **ids = memory_new(list->count, sizeof *ids);
    for (size_t i = 0; i < list->count; i++) ids[i] = list->items[i].id;
    const char *found = spelling_nearest(id, ids, list->count);
    free(ids);
    return found;
}

// How a wrong id is like a right one.
static bool has_metric(const figure *f, const char *id) {
    const char *dot = strchr(id, '.');
    return strcmp(f->metric, id) == 0 || (dot && strcmp(f->metric, dot + 1) == 0);
}

static bool contains(const figure *f, const char *id) {
    return strstr(f->id, id) != NULL;
}

static void append_like(const figure_list *list, const char *id,
                        bool (*like)(const figure *, const char *), text *out) {
    enum { MOST = 8 };
    size_t count = 0, shown = 0;
    for (size_t i = 0; i < list->count; i++) count += like(&list->items[i], id);
    for (size_t i = 0; i < list->count && shown < MOST; i++) {
        if (!like(&list->items[i], id)) continue;
        const bool last = shown + 1 == count;
        text_format(out, "%s'%s'", !shown ? "" : last ? " or " : ", ", list->items[i].id);
        shown++;
    }
    if (count > shown) text_format(out, ", or %zu others", count - shown);
}

void figures_append_near(const figure_list *list, const char *id, text *out) {
    append_like(list, id, has_metric, out);
    const char *misspelt = out->length ? NULL : nearest(list, id);
    if (misspelt)
        text_format(out, "'%s'", misspelt);
    else if (!out->length && strlen(id) > 1)
        append_like(list, id, contains, out);
}

// ---- Figures of one run ----

static bool is_target(const metric_row *m) {
    return strcmp(m->name, "seconds_to_target") == 0;
}

// The note on a time: why there is none, or that it is simulated.
static void time_note(const run *r, const metric_row *m, char note[64]) {
    *note = 0;
    if (!metric_is_time(m)) return;
    if (is_target(m) && !run_reaches(r, run_target(r)))
        snprintf(note, 64, "%g %% not reached", 100 * run_target(r));
    else if (!metric_has_time(m, r))
        snprintf(note, 64, "no time: the run was %s", run_no_time(r));
    else if (r->simulated)
        snprintf(note, 64, "SIMULATED");
}

// Is the figure listed for this run? Without a value it is listed only if a time is withheld.
static bool is_listed(const metric_row *m, const run *r, double value) {
    if (m->kind == METRIC_USE && !execution_has_times(r)) return false;
    if (is_target(m)) return run_target(r) > 0 && r->epoch_count;
    return !isnan(value) || (metric_is_time(m) && !metric_has_time(m, r));
}

static void add_member(figure_list *list, const run *r, const metric_row *m, size_t member) {
    const run *one = m->over == OVER_EXECUTIONS ? run_execution(r, member) : r;
    const bool pooled = m->kind == METRIC_POOLED && run_execution_count(r) > 1 &&
                        !(r->timing && metric_is_epoch_time(m));
    figure f = {.owner = r->name,
                .row = m,
                .member = member,
                .run = one,
                .value = metric_value(m, one, member),
                .deviation = NAN};
    char note[64];
    if (!is_listed(m, one, f.value)) return;
    time_note(one, m, note);
    f.simulated = metric_is_time(m) && one->simulated;
    if (metric_is_time(m) && !metric_has_time(m, one)) f.value = NAN;
    const interval range = m->range ? m->range(one, member) : (interval){NAN, NAN};
    f.low = range.low;
    f.high = range.high;
    char *name = metric_name(m, r, member);
    if (!pooled) f.source = metric_source(m, one, member);
    add(list, f, name, note);
    free(name);
}

// Adds the rows from `first` on that have the same members, member by member. Returns the row after
// them.
static size_t add_family(figure_list *list, const run *r, const metric_row *rows, size_t first,
                         size_t end) {
    const size_t count = metric_members(&rows[first], r);
    size_t next = first + 1;
    while (next < end && rows[next].over == rows[first].over && rows[first].over != OVER_NOTHING)
        next++;
    for (size_t i = 0; i < count; i++)
        for (size_t k = first; k < next; k++) add_member(list, r, &rows[k], i);
    return next;
}

void figures_of_run(figure_list *list, const run *r) {
    size_t count, at = 0;
    const metric_row *rows = metrics_table(&count);
    while (at < count) at = add_family(list, r, rows, at, count);
}

// ---- Figures of several runs ----

static void add_mean(figure_list *list, const seed_group *g, const metric_row *m, size_t member) {
    const seed_group_statistic s = seed_group_mean(g, m, member);
    if (isnan(s.mean)) return;
    char *name = metric_name(m, g->runs[0], member), *mean = memory_format("mean_%s", name);
    figure f = {.owner = g->name,
                .row = m,
                .member = member,
                .value = s.mean,
                .low = s.range.low,
                .high = s.range.high,
                .deviation = s.deviation,
                .simulated = metric_is_time(m) && seed_group_is_simulated(g),
                .of = g};
    add(list, f, mean, f.simulated ? "SIMULATED" : "");
    figure *added = &list->items[list->count - 1];
    added->part = added->metric + strlen("mean_");
    free(name);
    free(mean);
}

void figures_of_group(figure_list *list, const seed_group *g) {
    size_t rows;
    const metric_row *table = metrics_table(&rows);
    if (g->count < 2 || figures_of(list, g->name, "mean_accuracy") ||
        figures_of(list, g->name, "mean_seconds_per_epoch"))
        return;
    for (size_t i = 0; i < rows; i++) {
        const size_t members =
            metric_has_mean(&table[i]) ? metric_members(&table[i], g->runs[0]) : 0;
        for (size_t k = 0; k < members; k++) add_mean(list, g, &table[i], k);
    }
}

// Adds all rows of that kind, of a subject that has no row and no value yet.
static void add_joint(figure_list *list, joint_of of, const figure *subject, const char *note) {
    size_t rows;
    const joint_metric *table = joint_metrics_table(&rows);
    for (size_t i = 0; i < rows; i++) {
        if (table[i].of != of) continue;
        const estimate e = table[i].value(subject);
        if (isnan(e.value) && !table[i].always) continue;
        figure f = *subject;
        f.row = &table[i].head;
        f.part = table[i].part;
        f.value = e.value;
        f.low = e.range.low;
        f.high = e.range.high;
        f.deviation = NAN;
        f.simulated = subject->simulated && strcmp(f.part, "accuracy") != 0;
        if (subject->source) f.source = memory_string(subject->source);
        add(list, f, table[i].head.name, note);
    }
}

static void add_compared(figure_list *list, const char *owner, joint_of of, const comparison *c) {
    const figure subject = {.owner = owner,
                            .of = c->subject,
                            .against = c->baseline,
                            .compared = c,
                            .simulated = c->simulated};
    add_joint(list, of, &subject, "");
}

void figures_of_comparison(figure_list *list, const comparison *c) {
    add_compared(list, c->subject->name, JOINT_COMPARISON, c);
}

static void add_load_share(figure_list *list, const planned *one) {
    const figure subject = {
        .owner = one->name, .of = &one->runs, .simulated = seed_group_is_simulated(&one->runs)};
    add_joint(list, JOINT_RUNS, &subject, subject.simulated ? "SIMULATED" : "");
}

void figures_of_plan(figure_list *list, const plan *p) {
    for (size_t i = 0; i < p->count; i++) {
        const planned *one = &p->items[i];
        figures_of_group(list, &one->runs);
        if (one->compared) add_compared(list, one->name, JOINT_STEP, &one->step);
        if (one->compared && !p->ladder) add_compared(list, one->name, JOINT_VARIANT, &one->step);
        add_load_share(list, one);
    }
    if (p->ladder) add_compared(list, "all", JOINT_STEP, &p->all);
}

void figures_of_prediction(figure_list *list, const prediction *p, const collectives *measured) {
    const bool simulated = p->subject->runs[0]->simulated;
    char *source = p->cost
                       ? memory_format("%s/manifest.yaml: results.world_sizes.%td",
                                       measured->folder, p->cost - measured->items)
                       : memory_format("%s/manifest.yaml: results.world_sizes", measured->folder);
    figure subject = {.owner = p->subject->name,
                      .of = p->subject,
                      .against = p->basis,
                      .predicted = p,
                      .simulated = simulated,
                      .source = source};
    add_joint(list, JOINT_PREDICTION, &subject, simulated ? "prediction; SIMULATED" : "prediction");
    subject.simulated = p->cost && p->cost->simulated;
    if (p->projects)
        add_joint(list, JOINT_PROJECTION, &subject, "projection to one device per rank");
    free(source);
}

// ---- report.csv ----

static void write_number(text *out, double value) {
    if (isfinite(value)) text_format(out, "%.9g", value);
}

void figures_to_csv(const figure_list *list, text *out) {
    text_append(out, "id,owner,metric,value,low,high,unit,note,source,model\n");
    for (size_t i = 0; i < list->count; i++) {
        const figure *f = &list->items[i];
        const char *head[] = {f->id, f->owner, f->metric};
        for (int k = 0; k < 3; k++) {
            text_csv(out, head[k]);
            text_append(out, ",");
        }
        write_number(out, f->value);
        text_append(out, ",");
        write_number(out, f->low);
        text_append(out, ",");
        write_number(out, f->high);
        const char *tail[] = {f->row->unit, f->note, f->source,
                              f->run ? f->run->model_content : ""};
        for (int k = 0; k < 4; k++) {
            text_append(out, ",");
            text_csv(out, tail[k]);
        }
        text_append(out, "\n");
    }
}
