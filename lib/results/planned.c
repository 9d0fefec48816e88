// SPDX-License-Identifier: MIT
#include "results/planned.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

// ---- The file ----

static status read_role(const yaml_node *entry, planned_role *role, error *err) {
    static const char *const words[] = {"start", "step", "control", "variant"};
    const yaml_node *node = yaml_find(entry, "role");
    const char *word;
    if (!node) return yaml_error(entry, err, "'role' is missing");
    NEED(yaml_string(node, "role", &word, err));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i]) != 0) continue;
        *role = (planned_role)i;
        return STATUS_OK;
    }
    return yaml_error(node, err, "'role': expected start, step, control or variant, got '%.60s'",
                      word);
}

static status read_entry(const yaml_node *entry, planned *one, error *err) {
    one->entry = entry;
    if (entry->kind != YAML_MAPPING || !yaml_find(entry, "name"))
        return yaml_error(entry, err, "expected a run with its name");
    NEED(yaml_string(yaml_find(entry, "name"), "name", &one->name, err));
    return read_role(entry, &one->role, err);
}

// A ladder begins with its start and has only one; a study has only variants.
static status check_order(const plan *p, error *err) {
    for (size_t i = 0; i < p->count; i++) {
        planned_role role = p->items[i].role;
        bool good = p->ladder ? (role == PLANNED_START) == (i == 0) && role != PLANNED_VARIANT
                              : role == PLANNED_VARIANT;
        if (!good) return yaml_error(p->items[i].entry, err, "'role': not allowed at this place");
    }
    return STATUS_OK;
}

// With a study: only the runs that are its variants.
static status read_entries(plan *p, const yaml_node *runs, const char *study, error *err) {
    if (!runs || runs->kind != YAML_SEQUENCE || runs->count < 2)
        return yaml_error(runs ? runs : p->head, err, "'runs': expected a list of two or more");
    p->items = memory_new(runs->count, sizeof *p->items);
    for (size_t i = 0; i < runs->count; i++) {
        if (study && strcmp(run_text(runs->items[i], "study"), study) != 0) continue;
        NEED(read_entry(runs->items[i], &p->items[p->count], err));
        p->count++;
    }
    for (size_t i = 0; i < p->count; i++)
        if (p->items[i].role != PLANNED_CONTROL) p->last = &p->items[i];
    NEED(check_order(p, err));
    if (p->ladder) NEED(published_walks_make(runs, &p->published, err));
    return STATUS_OK;
}

static status read_head(const yaml_node *head, plan *p, error *err) {
    p->head = head;
    p->ladder = strcmp(run_text(head, "kind"), "ladder") == 0;
    p->from = run_text(head, "from");
    p->to = run_text(head, "to");
    p->name = run_text(head, "name");
    p->vary = p->ladder ? NULL : yaml_find(head, "vary");
    if (!p->ladder && (!p->vary || p->vary->kind != YAML_SEQUENCE || !p->vary->count))
        return yaml_error(head, err,
                          "expected a ladder, a study with a list 'vary', a reproduction or a list "
                          "of runs");
    for (size_t i = 0; p->vary && i < p->vary->count; i++)
        if (p->vary->items[i]->kind != YAML_SCALAR)
            return yaml_error(p->vary->items[i], err, "'vary': expected a list of keys");
    return STATUS_OK;
}

const yaml_node *planned_value(const planned *one, const char *key) {
    const yaml_node *values = yaml_find(one->entry, "values");
    return values ? yaml_find(values, key) : NULL;
}

status plan_read_file(const char *path, yaml_node **root, error *err) {
    status rc = yaml_read_file(path, root, err);
    if (rc != STATUS_OK) return rc;
    if ((*root)->kind == YAML_MAPPING && strcmp(run_text(*root, "schema"), "lockstep.plan/1") == 0)
        return STATUS_OK;
    rc = yaml_error(*root, err, "expected a plan: schema lockstep.plan/1");
    yaml_free(*root);
    *root = NULL;
    return rc;
}

// ---- The largest difference ----

// How far the ends of a range lie from 0, the nearer one first; NAN: unknown.
static interval distance_of(double low, double high) {
    if (!isfinite(low) || !isfinite(high)) return (interval){0, INFINITY};
    const double a = fabs(low), b = fabs(high);
    return (interval){low <= 0 && high >= 0 ? 0 : fmin(a, b), fmax(a, b)};
}

// As the logarithm of a factor.
static interval change_of_time(const comparison *c) {
    if (c->time.kind == VERDICT_NONE) return distance_of(NAN, NAN);
    return distance_of(log(c->speedup.range.low), log(c->speedup.range.high));
}

static interval change_of_accuracy(const comparison *c) {
    if (c->identical) return distance_of(0, 0);
    if (c->accuracy.kind == VERDICT_NONE || verdict_is_of_models(&c->accuracy))
        return distance_of(NAN, NAN);
    return distance_of(c->accuracy_range.low, c->accuracy_range.high);
}

static const planned *find_largest(const plan *p, interval (*change)(const comparison *)) {
    const planned *largest = NULL;
    double least = 0, others = -1;
    for (size_t i = 0; i < p->count; i++) {
        if (p->items[i].role != PLANNED_STEP) continue;
        const double low = change(&p->items[i].step).low;
        if (low > least) largest = &p->items[i], least = low;
    }
    for (size_t i = 0; i < p->count; i++)
        if (p->items[i].role == PLANNED_STEP && &p->items[i] != largest)
            others = fmax(others, change(&p->items[i].step).high);
    return others >= 0 && others < least ? largest : NULL;
}

const planned *planned_largest_in_time(const plan *p) {
    const planned *one = find_largest(p, change_of_time);
    const verdict_kind kind = one ? one->step.time.kind : VERDICT_NONE;
    return kind == VERDICT_DIFFERENT || kind == VERDICT_COST ? one : NULL;
}

const planned *planned_largest_in_accuracy(const plan *p) {
    const planned *one = find_largest(p, change_of_accuracy);
    return one && one->step.accuracy.kind == VERDICT_DIFFERENT ? one : NULL;
}

// ---- Its runs ----

static planned *find_planned(const plan *p, const char *name) {
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->items[i].name, name) == 0) return &p->items[i];
    return NULL;
}

static status find_runs(plan *p, const run_list *list, error *err) {
    for (size_t i = 0; i < list->count; i++) {
        const run *r = &list->runs[i];
        planned *one = find_planned(p, r->experiment);
        if (!one || !r->train)
            return error_set(err, STATUS_INPUT,
                             "cannot report on '%s': its experiment is '%s', which is not in the "
                             "plan",
                             r->folder ? r->folder : r->evaluation, r->experiment);
        seed_group *g = &one->runs;
        if (!g->runs) g->runs = memory_new(list->count, sizeof *g->runs);
        g->name = one->name;
        g->runs[g->count++] = r;
    }
    for (size_t i = 0; i < p->count; i++)
        if (!p->items[i].runs.count)
            return error_set(err, STATUS_INPUT,
                             "cannot report on the plan: no run of '%s' among the folders",
                             p->items[i].name);
    return STATUS_OK;
}

// Counts the keys named anywhere, an upper bound for their list.
static size_t count_keys(const plan *p) {
    size_t count = p->vary ? p->vary->count : 0;
    for (size_t i = 0; i < p->count; i++) {
        const yaml_node *changes = yaml_find(p->items[i].entry, "changes");
        if (changes && changes->kind == YAML_MAPPING) count += changes->count;
    }
    return count;
}

static void find_varied(plan *p) {
    varied_keys *v = &p->varied;
    v->keys = memory_new(count_keys(p), sizeof *v->keys);
    for (size_t i = 0; p->vary && i < p->vary->count; i++)
        v->keys[v->count++] = p->vary->items[i]->text;
    for (size_t i = 0; i < p->count; i++) {
        const yaml_node *changes = yaml_find(p->items[i].entry, "changes");
        for (size_t k = 0; changes && changes->kind == YAML_MAPPING && k < changes->count; k++)
            v->keys[v->count++] = changes->keys[k];
    }
}

// Corrects all verdicts of a plan together, except those on a ladder as a whole: that comparison is
// the sum of the steps. With a single step, the whole takes that step's verdicts.
static void correct_steps(plan *p) {
    const comparison *last = &p->last->step;
    size_t count = 0;
    comparison **steps = memory_new(p->count, sizeof *steps);
    for (size_t i = 0; i < p->count; i++)
        if (p->items[i].compared) steps[count++] = &p->items[i].step;
    compare_together(steps, count);
    free(steps);
    if (p->ladder && last->subject == p->all.subject && last->baseline == p->all.baseline) {
        p->all.time = last->time;
        p->all.accuracy = last->accuracy;
    }
}

static status compare_runs(plan *p, error *err) {
    const planned *before = &p->items[0];
    find_varied(p);
    status rc = STATUS_OK;
    for (size_t i = 1; i < p->count; i++) {
        planned *one = &p->items[i];
        TRY(compare(&one->runs, &before->runs, &p->varied, &one->step, err));
        one->compared = true;
        if (one->role == PLANNED_STEP) before = one;
    }
    if (p->ladder) rc = compare(&p->last->runs, &p->items[0].runs, &p->varied, &p->all, err);
    if (rc == STATUS_OK) correct_steps(p);
out:
    return rc;
}

static status read_runs(plan *p, const yaml_node *runs, const char *study, const run_list *list,
                        error *err) {
    status rc = read_entries(p, runs, study, err);
    if (rc == STATUS_OK) rc = find_runs(p, list, err);
    if (rc == STATUS_OK) rc = compare_runs(p, err);
    return rc;
}

status plan_read(yaml_node *root, const run_list *list, plan *p, error *err) {
    *p = (plan){.root = root};
    status rc = read_head(root, p, err);
    if (rc == STATUS_OK) rc = read_runs(p, yaml_find(root, "runs"), NULL, list, err);
    if (rc != STATUS_OK) planned_release(p);
    return rc;
}

status plan_read_study(const yaml_node *head, const yaml_node *runs, const run_list *list, plan *p,
                       error *err) {
    *p = (plan){0};
    status rc = read_head(head, p, err);
    if (rc == STATUS_OK) rc = read_runs(p, runs, p->name, list, err);
    if (rc != STATUS_OK) planned_release(p);
    return rc;
}

void planned_release(plan *p) {
    for (size_t i = 0; i < p->count; i++) {
        comparison_release(&p->items[i].step);
        free(p->items[i].runs.runs);
    }
    comparison_release(&p->all);
    published_walks_release(&p->published);
    free(p->varied.keys);
    free(p->items);
    yaml_free(p->root);
    *p = (plan){0};
}
