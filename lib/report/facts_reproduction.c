// SPDX-License-Identifier: MIT
// Published reports as data: every row beside ours, and of each report a tree as of a page of its
// own.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "report/charts.h"
#include "report/facts_parts.h"

// ---- Rows ----

// The published accuracy of a row, in percent. False if there is none.
static bool find_accuracy(const seed_group *g, interval *there) {
    const yaml_node *list = published_of(g->runs[0]);
    for (size_t i = 0; list && i < list->count; i++) {
        const yaml_node *node = yaml_find(list->items[i], "accuracy");
        if (node) return published_value(node, "accuracy", there, NULL) == STATUS_OK;
    }
    return false;
}

// Is the work of the run that of the experiment, as far as the plan tells?
static bool is_whole(const results *r, const seed_group *g) {
    const double full = reproduction_full_epochs(r->reproduction, g->name);
    return full < 0 || full == g->runs[0]->planned_epochs;
}

// Our accuracy minus the published one, in points; of a published range the nearest point counts.
// null if there is none, or if the run is of other epochs.
static yaml_node *difference_node(const results *r, const results *view, const seed_group *g) {
    const figure *f = results_group_figure(view, g, "accuracy");
    interval there;
    if (!f || isnan(f->value) || !is_whole(r, g) || !find_accuracy(g, &there))
        return json_new_text(NULL);
    const double nearest = fmin(fmax(100 * f->value, there.low), there.high);
    yaml_node *node = facts_range(
        (estimate){100 * f->value - nearest, {100 * f->low - nearest, 100 * f->high - nearest}});
    yaml_put(node, "within",
             yaml_new_boolean(100 * f->low <= there.high && there.low <= 100 * f->high));
    return node;
}

static status add_row(yaml_node *rows, const results *r, const results *view, const char *source,
                      const seed_group *g, error *err) {
    static const published_key keys[] = {PUBLISHED_ACCURACY, PUBLISHED_SECONDS_PER_EPOCH,
                                         PUBLISHED_TOTAL_SECONDS, PUBLISHED_SPEED_UP};
    yaml_node *node = yaml_new(YAML_MAPPING);
    status rc = STATUS_OK;
    yaml_put(node, "source", json_new_text(source));
    yaml_put(node, "study", json_new_text(view->plan.count ? view->plan.name : ""));
    yaml_put(node, "name", json_new_text(g->name));
    yaml_put(node, "runs", facts_names(g));
    yaml_put(node, "planned_epochs", json_new_number(g->runs[0]->planned_epochs));
    yaml_put(node, "full_epochs",
             json_new_count((int64_t)reproduction_full_epochs(r->reproduction, g->name)));
    yaml_put(node, "whole", yaml_new_boolean(is_whole(r, g)));
    for (size_t i = 0; rc == STATUS_OK && i < sizeof keys / sizeof *keys; i++)
        rc = facts_put_pair(node, view, g, keys[i], err);
    yaml_put(node, "difference", difference_node(r, view, g));
    yaml_put(node, "model_hash", json_new_text(g->runs[0]->model_content));
    yaml_append(rows, node);
    return rc;
}

// A study's rows are only its published variants.
static status add_study_rows(yaml_node *rows, const results *r, const reproduced *one, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; i < one->study_count; i++) {
        const results *view = &one->studies[i];
        for (size_t k = 0; rc == STATUS_OK && k < view->group_count; k++) {
            const yaml_node *published = published_of(view->groups[k].runs[0]);
            if (published && published->count)
                rc = add_row(rows, r, view, one->source, &view->groups[k], err);
        }
    }
    return rc;
}

static status put_rows(yaml_node *node, const results *r, error *err) {
    yaml_node *rows = yaml_new(YAML_SEQUENCE);
    status rc = STATUS_OK;
    yaml_put(node, "rows", rows);
    for (size_t i = 0; rc == STATUS_OK && i < r->reproduction->count; i++) {
        const reproduced *one = &r->reproduction->reports[i];
        for (size_t k = 0; rc == STATUS_OK && k < one->rows.group_count; k++)
            rc = add_row(rows, r, &one->rows, one->source, &one->rows.groups[k], err);
        if (rc == STATUS_OK) rc = add_study_rows(rows, r, one, err);
    }
    return rc;
}

static bool is_set(const yaml_node *node, const char *key) {
    return strcmp(yaml_text_at(node, key), "true") == 0;
}

// Counts the rows whose accuracy can be compared, and those where the published one is in our
// interval.
static void put_counts(yaml_node *node) {
    const yaml_node *rows = yaml_find(node, "rows");
    int64_t compared = 0, within = 0, whole = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const yaml_node *difference = yaml_find(rows->items[i], "difference");
        whole += is_set(rows->items[i], "whole");
        if (difference->kind != YAML_MAPPING) continue;
        compared++;
        within += is_set(difference, "within");
    }
    yaml_put(node, "whole", json_new_count(whole));
    yaml_put(node, "compared", json_new_count(compared));
    yaml_put(node, "within", json_new_count(within));
}

// Our accuracy minus the published one of each row.
static void put_differences(yaml_node *root, const yaml_node *rows) {
    yaml_node *chart = chart_new("intervals", "differences"), *charts = yaml_new(YAML_MAPPING);
    yaml_put(chart, "reference", yaml_new_integer(0));
    for (size_t i = 0; i < rows->count; i++) {
        static const char *const keys[] = {"value", "low", "high"};
        const yaml_node *row = rows->items[i], *difference = yaml_find(row, "difference");
        if (difference->kind != YAML_MAPPING) continue;
        char *shown =
            memory_format("%s %s", yaml_text_at(row, "source"), yaml_text_at(row, "name"));
        yaml_node *item = chart_add(chart, shown);
        for (size_t k = 0; k < 3; k++)
            yaml_put(item, keys[k], yaml_copy(yaml_find(difference, keys[k])));
        free(shown);
    }
    chart_put(charts, "differences", chart, true);
    yaml_put(root, "charts", charts);
}

// ---- Reports ----

// The runs of a view, among all.
static yaml_node *runs_of(const results *view, const yaml_node *all) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < view->list.count; i++)
        for (size_t k = 0; k < all->count; k++)
            if (strcmp(yaml_text_at(all->items[k], "name"), view->list.runs[i].name) == 0)
                yaml_append(list, yaml_copy(all->items[k]));
    return list;
}

// The tree of some of the runs. `part`: its name, for the ids of its drawings.
static status add_view(yaml_node *list, const results *view, const char *part, const yaml_node *all,
                       yaml_node **node, error *err) {
    *node = yaml_new(YAML_MAPPING);
    yaml_append(list, *node);
    yaml_put(*node, "part", json_new_text(part));
    yaml_put(*node, "runs", runs_of(view, all));
    return facts_put_view(*node, view, err);
}

// Our ratios of times over the baseline of each row, as far as they have a verdict.
static void put_speedups(yaml_node *node, const results *view) {
    yaml_node *chart = chart_new("intervals", "row_speedups");
    yaml_put(chart, "reference", yaml_new_integer(1));
    for (size_t i = 0; i < view->comparison_count; i++) {
        const comparison *c = &view->comparisons[i];
        const char *name = c->subject->name;
        yaml_node *item =
            chart_shows(&c->time)
                ? chart_add_interval(chart, results_figure(view, name, "speedup"), name)
                : NULL;
        if (item) yaml_put(item, "pale", yaml_new_boolean(chart_is_pale(&c->time)));
    }
    chart_put((yaml_node *)(uintptr_t)yaml_find(node, "charts"), "row_speedups", chart, true);
}

static status add_study(yaml_node *studies, const reproduced *one, const results *view,
                        const yaml_node *all, error *err) {
    yaml_node *study;
    char *part = memory_format("%s-%s", one->source, view->plan.name);
    const status rc = add_view(studies, view, part, all, &study, err);
    free(part);
    return rc;
}

static status add_report(yaml_node *reports, const reproduced *one, const yaml_node *all,
                         error *err) {
    yaml_node *node, *studies = yaml_new(YAML_SEQUENCE);
    status rc = add_view(reports, &one->rows, one->source, all, &node, err);
    yaml_put(node, "source", json_new_text(one->source));
    yaml_put(node, "title", json_new_text(one->title));
    yaml_put(node, "claim", json_new_text(one->claim_path));
    yaml_put(node, "contradictions", json_new_count((int64_t)findings_counted(&one->audit)));
    yaml_put(node, "findings",
             one->audit.list ? yaml_copy(one->audit.list) : yaml_new(YAML_SEQUENCE));
    yaml_put(node, "studies", studies);
    if (rc == STATUS_OK) put_speedups(node, &one->rows);
    for (size_t i = 0; rc == STATUS_OK && i < one->study_count; i++)
        rc = add_study(studies, one, &one->studies[i], all, err);
    return rc;
}

status facts_put_reproduction(yaml_node *root, const results *r, error *err) {
    yaml_node *node = yaml_new(YAML_MAPPING), *reports = yaml_new(YAML_SEQUENCE);
    const reproduction *p = r->reproduction;
    status rc;
    yaml_put(root, "reproduction", node);
    yaml_put(root, "reports", reports);
    yaml_put(node, "title", json_new_text(yaml_text_at(p->root, "title")));
    yaml_put(node, "changed", p->changed ? yaml_copy(p->changed) : yaml_new(YAML_SEQUENCE));
    TRY(put_rows(node, r, err));
    put_counts(node);
    put_differences(root, yaml_find(node, "rows"));
    for (size_t i = 0; rc == STATUS_OK && i < p->count; i++)
        rc = add_report(reports, &p->reports[i], yaml_find(root, "runs"), err);
out:
    return rc;
}
