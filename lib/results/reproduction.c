// SPDX-License-Identifier: MIT
#include "results/reproduction.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

bool reproduction_is(const yaml_node *plan_root) {
    return strcmp(run_text(plan_root, "kind"), "reproduction") == 0;
}

// ---- Views ----

// A selection of the plan's runs: the rows of a source, or the variants of a study.
typedef struct choice {
    const char *source, *study; // study NULL: the rows
} choice;

static bool is_chosen(const yaml_node *entry, const choice *c) {
    const char *study = run_text(entry, "study");
    if (strcmp(run_text(entry, "source"), c->source) != 0) return false;
    return c->study ? strcmp(study, c->study) == 0 : !*study;
}

static bool belongs(const run *r, const yaml_node *entry) {
    return r->train && strcmp(r->experiment, run_text(entry, "name")) == 0;
}

// Makes one group of an entry's runs, including its repeats.
static status add_group(results *view, const results *all, const yaml_node *entry, error *err) {
    seed_group *g = &view->groups[view->group_count];
    *g = (seed_group){.name = run_text(entry, "name")};
    g->runs = memory_new(all->list.count, sizeof *g->runs);
    view->group_count++;
    for (size_t i = 0; i < all->list.count; i++) {
        if (!belongs(&all->list.runs[i], entry)) continue;
        run *copy = &view->list.runs[view->list.count++];
        *copy = all->list.runs[i];
        g->runs[g->count++] = copy;
    }
    if (g->count) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot report on the plan: no run of '%s' among the folders", g->name);
}

static status open_view(const results *all, const yaml_node *runs, const choice *c, results *view,
                        error *err) {
    *view = (results){.whole = all};
    view->list.runs = memory_new(all->list.count, sizeof *view->list.runs);
    view->groups = memory_new(runs->count, sizeof *view->groups);
    for (size_t i = 0; i < runs->count; i++) {
        if (!is_chosen(runs->items[i], c)) continue;
        status rc = add_group(view, all, runs->items[i], err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

// Does not release the runs, which belong to the whole report.
static void release_view(results *view) {
    for (size_t i = 0; i < view->comparison_count; i++) comparison_release(&view->comparisons[i]);
    free(view->comparisons);
    planned_release(&view->plan);
    seed_groups_free(view->groups, view->group_count);
    free(view->list.runs);
}

// ---- Rows ----

static const yaml_node *entry_of(const yaml_node *runs, const char *name) {
    for (size_t i = 0; i < runs->count; i++)
        if (strcmp(run_text(runs->items[i], "name"), name) == 0) return runs->items[i];
    return NULL;
}

// The row that the plan names as baseline; the first row if it names none.
static const seed_group *baseline_of(const results *rows, const yaml_node *entry) {
    const char *against = run_text(entry, "against");
    if (!*against) return &rows->groups[0];
    for (size_t i = 0; i < rows->group_count; i++)
        if (strcmp(rows->groups[i].name, against) == 0) return &rows->groups[i];
    return NULL;
}

static status compare_rows(results *rows, const yaml_node *runs, error *err) {
    rows->comparisons = memory_new(rows->group_count, sizeof *rows->comparisons);
    for (size_t i = 0; i < rows->group_count; i++) {
        const seed_group *g = &rows->groups[i],
                         *baseline = baseline_of(rows, entry_of(runs, g->name));
        if (!baseline || baseline == g) continue;
        status rc = compare(g, baseline, NULL, &rows->comparisons[rows->comparison_count], err);
        if (rc != STATUS_OK) return rc;
        rows->comparison_count++;
    }
    compare_table(rows->comparisons, rows->comparison_count);
    return STATUS_OK;
}

const comparison *reproduction_comparison(const results *rows, const seed_group *row) {
    for (size_t i = 0; i < rows->comparison_count; i++)
        if (rows->comparisons[i].subject == row) return &rows->comparisons[i];
    return NULL;
}

// ---- Reports ----

static status open_studies(const reproduction *p, const results *all, reproduced *one, error *err) {
    const yaml_node *studies = yaml_find(p->root, "studies"), *runs = yaml_find(p->root, "runs");
    size_t count = studies && studies->kind == YAML_SEQUENCE ? studies->count : 0;
    one->studies = memory_new(count, sizeof *one->studies);
    for (size_t i = 0; i < count; i++) {
        const yaml_node *head = studies->items[i];
        const choice c = {one->source, run_text(head, "name")};
        if (strcmp(run_text(head, "source"), one->source) != 0) continue;
        results *view = &one->studies[one->study_count++];
        status rc = open_view(all, runs, &c, view, err);
        if (rc == STATUS_OK) rc = plan_read_study(head, runs, &view->list, &view->plan, err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

static status open_report(const reproduction *p, const results *all, const yaml_node *entry,
                          reproduced *one, error *err) {
    const yaml_node *runs = yaml_find(p->root, "runs");
    status rc = STATUS_OK;
    one->source = run_text(entry, "source");
    one->title = run_text(entry, "title");
    one->claim_path = run_text(entry, "claim");
    const choice c = {one->source, NULL};
    TRY(open_view(all, runs, &c, &one->rows, err));
    if (!one->rows.group_count)
        return yaml_error(entry, err, "'source: %s' has no runs in the plan", one->source);
    TRY(compare_rows(&one->rows, runs, err));
    TRY(open_studies(p, all, one, err));
    if (!*one->claim_path) goto out;
    TRY(claim_read(one->claim_path, &one->claim, err));
    audit_run(&one->audit, &one->claim);
out:
    return rc;
}

// Without this check, a run that is not in the plan would be dropped silently.
static status check_known(const yaml_node *runs, const results *all, error *err) {
    for (size_t i = 0; i < all->list.count; i++) {
        const run *r = &all->list.runs[i];
        if (r->train && entry_of(runs, r->experiment)) continue;
        return error_set(err, STATUS_INPUT,
                         "cannot report on '%s': its experiment is '%s', which is not in the plan",
                         r->folder ? r->folder : r->evaluation, r->experiment);
    }
    return STATUS_OK;
}

status reproduction_open(yaml_node *root, const results *all, reproduction *p, error *err) {
    status rc = STATUS_OK;
    *p = (reproduction){.root = root, .name = run_text(root, "name")};
    const yaml_node *reports = yaml_find(root, "reports"), *runs = yaml_find(root, "runs");
    if (!reports || reports->kind != YAML_SEQUENCE || !reports->count || !runs ||
        runs->kind != YAML_SEQUENCE)
        return yaml_error(root, err, "expected 'reports' and 'runs': two lists");
    p->changed = yaml_find(root, "changed");
    if (p->changed && p->changed->kind != YAML_SEQUENCE)
        return yaml_error(p->changed, err, "'changed': expected a list");
    TRY(check_known(runs, all, err));
    p->reports = memory_new(reports->count, sizeof *p->reports);
    for (size_t i = 0; i < reports->count; i++)
        TRY(open_report(p, all, reports->items[i], &p->reports[p->count++], err));
out:
    return rc;
}

void reproduction_release(reproduction *p) {
    for (size_t i = 0; i < p->count; i++) {
        reproduced *one = &p->reports[i];
        release_view(&one->rows);
        for (size_t k = 0; k < one->study_count; k++) release_view(&one->studies[k]);
        free(one->studies);
        findings_release(&one->audit);
        claim_release(&one->claim);
    }
    free(p->reports);
    yaml_free(p->root);
    *p = (reproduction){0};
}

double reproduction_full_epochs(const reproduction *p, const char *name) {
    const char *epochs = run_text(entry_of(yaml_find(p->root, "runs"), name), "full_epochs");
    return *epochs ? strtod(epochs, NULL) : -1;
}
