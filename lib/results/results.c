// SPDX-License-Identifier: MIT
#include "results/results.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/progress.h"
#include "results/plan_names.h"
#include "results/pool.h"

// ---- Reading ----

static status add_folder(run_list *list, const char *path, error *err) {
    const size_t before = list->execution_count;
    char *plain = memory_string(path);
    for (size_t n = strlen(plain); n > 1 && plain[n - 1] == '/'; n--) plain[n - 1] = 0;
    status rc = run_list_add(list, plain, err);
    for (size_t i = before; i < list->execution_count; i++) list->executions[i].given = path;
    free(plain);
    return rc;
}

static status make_comparisons(results *r, error *err) {
    if (!r->has_baseline || r->group_count < 2) return STATUS_OK;
    r->comparisons = memory_new(r->group_count - 1, sizeof *r->comparisons);
    for (size_t i = 1; i < r->group_count; i++) {
        NEED(compare(&r->groups[i], &r->groups[0], NULL, &r->comparisons[i - 1], err));
        r->comparison_count++;
    }
    compare_table(r->comparisons, r->comparison_count);
    return STATUS_OK;
}

static status make_predictions(results *r, error *err) {
    if (!r->options.collectives) return STATUS_OK;
    NEED(collectives_read(r->options.collectives, &r->collectives, err));
    r->predictions = memory_new(r->group_count, sizeof *r->predictions);
    for (size_t i = 0; i < r->group_count; i++) {
        prediction *p = &r->predictions[r->prediction_count];
        if (!prediction_is_due(&r->groups[i])) continue;
        NEED(prediction_make(&r->groups[i], r->groups, r->group_count, &r->collectives, p, err));
        r->prediction_count++;
    }
    return STATUS_OK;
}

// ---- A reproduction ----

// A selection of the plan's runs: the rows of a source, or the variants of a study.
typedef struct choice {
    const char *source, *study; // study NULL: the rows
} choice;

static bool is_chosen(const yaml_node *entry, const choice *c) {
    const char *study = yaml_text_at(entry, "study");
    if (strcmp(yaml_text_at(entry, "source"), c->source) != 0) return false;
    return c->study ? strcmp(study, c->study) == 0 : !*study;
}

// Copies the runs of an entry, including its repeats, and makes one group of them.
static status add_group(results *view, const results *all, const yaml_node *entry, error *err) {
    const char *name = yaml_text_at(entry, "name");
    for (size_t i = 0; i < all->list.count; i++) {
        const run *one = &all->list.runs[i];
        if (one->train && strcmp(one->experiment, name) == 0)
            view->list.runs[view->list.count++] = *one;
    }
    return seed_group_named(&view->list, name, &view->groups[view->group_count++], err);
}

static status open_view(const results *all, const yaml_node *runs, const choice *c, results *view,
                        error *err) {
    *view = (results){.whole = all};
    view->list.runs = memory_new(all->list.count, sizeof *view->list.runs);
    view->groups = memory_new(runs->count, sizeof *view->groups);
    for (size_t i = 0; i < runs->count; i++) {
        if (!is_chosen(runs->items[i], c)) continue;
        NEED(add_group(view, all, runs->items[i], err));
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

// The row that the plan names as baseline; the first row if it names none.
static const seed_group *baseline_of(const results *rows, const yaml_node *entry) {
    const char *against = yaml_text_at(entry, "against");
    if (!*against) return &rows->groups[0];
    for (size_t i = 0; i < rows->group_count; i++)
        if (strcmp(rows->groups[i].name, against) == 0) return &rows->groups[i];
    return NULL;
}

static status compare_rows(results *rows, const yaml_node *runs, error *err) {
    rows->comparisons = memory_new(rows->group_count, sizeof *rows->comparisons);
    for (size_t i = 0; i < rows->group_count; i++) {
        const seed_group *g = &rows->groups[i],
                         *baseline = baseline_of(rows, plan_entry(runs, g->name));
        if (!baseline || baseline == g) continue;
        NEED(compare(g, baseline, NULL, &rows->comparisons[rows->comparison_count], err));
        rows->comparison_count++;
    }
    compare_table(rows->comparisons, rows->comparison_count);
    return STATUS_OK;
}

static status open_studies(const reproduction *p, const results *all, reproduced *one, error *err) {
    const yaml_node *studies = yaml_find(p->root, "studies"), *runs = yaml_find(p->root, "runs");
    size_t count = studies && studies->kind == YAML_SEQUENCE ? studies->count : 0;
    one->studies = memory_new(count, sizeof *one->studies);
    for (size_t i = 0; i < count; i++) {
        const yaml_node *head = studies->items[i];
        const choice c = {one->source, yaml_text_at(head, "name")};
        if (strcmp(yaml_text_at(head, "source"), one->source) != 0) continue;
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
    one->source = yaml_text_at(entry, "source");
    one->title = yaml_text_at(entry, "title");
    one->claim_path = yaml_text_at(entry, "claim");
    const choice c = {one->source, NULL};
    NEED(open_view(all, runs, &c, &one->rows, err));
    if (!one->rows.group_count)
        return yaml_error(entry, err, "'source: %s' has no runs in the plan", one->source);
    NEED(compare_rows(&one->rows, runs, err));
    NEED(open_studies(p, all, one, err));
    if (!*one->claim_path) return STATUS_OK;
    NEED(claim_read(one->claim_path, &one->claim, err));
    audit_run(&one->audit, &one->claim);
    return STATUS_OK;
}

// Takes ownership of `root`. The runs are those of `all`. Release *p also after a failure.
static status open_reproduction(yaml_node *root, const results *all, reproduction *p, error *err) {
    *p = (reproduction){.root = root, .name = yaml_text_at(root, "name")};
    const yaml_node *reports = yaml_find(root, "reports"), *runs = yaml_find(root, "runs");
    if (!reports || reports->kind != YAML_SEQUENCE || !reports->count || !runs ||
        runs->kind != YAML_SEQUENCE)
        return yaml_error(root, err, "expected 'reports' and 'runs': two lists");
    p->changed = yaml_find(root, "changed");
    if (p->changed && p->changed->kind != YAML_SEQUENCE)
        return yaml_error(p->changed, err, "'changed': expected a list");
    NEED(plan_check_runs(runs, &all->list, err));
    p->reports = memory_new(reports->count, sizeof *p->reports);
    for (size_t i = 0; i < reports->count; i++)
        NEED(open_report(p, all, reports->items[i], &p->reports[p->count++], err));
    return STATUS_OK;
}

static void release_reproduction(reproduction *p) {
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

// ---- All of it ----

// Takes ownership of `root`.
static status read_plan(results *r, yaml_node *root, error *err) {
    if (plan_names_all(root)) {
        r->plan.root = root; // names point into it
        return STATUS_OK;
    }
    if (strcmp(yaml_text_at(root, "kind"), "reproduction") != 0)
        return plan_read(root, &r->list, &r->plan, err);
    r->reproduction = memory_new(1, sizeof *r->reproduction);
    return open_reproduction(root, r, r->reproduction, err);
}

static void figures_of_reproduction(figure_list *list, const reproduction *p) {
    for (size_t i = 0; i < p->count; i++) {
        const reproduced *one = &p->reports[i];
        for (size_t k = 0; k < one->rows.group_count; k++)
            figures_of_group(list, &one->rows.groups[k]);
        for (size_t k = 0; k < one->rows.comparison_count; k++)
            figures_of_comparison(list, &one->rows.comparisons[k]);
        for (size_t k = 0; k < one->study_count; k++) figures_of_plan(list, &one->studies[k].plan);
    }
}

static void make_figures(results *r) {
    for (size_t i = 0; i < r->list.count; i++) figures_of_run(&r->figures, &r->list.runs[i]);
    for (size_t i = 0; i < r->group_count; i++) figures_of_group(&r->figures, &r->groups[i]);
    for (size_t i = 0; i < r->comparison_count; i++)
        figures_of_comparison(&r->figures, &r->comparisons[i]);
    figures_of_plan(&r->figures, &r->plan);
    if (r->reproduction) figures_of_reproduction(&r->figures, r->reproduction);
    for (size_t i = 0; i < r->prediction_count; i++)
        figures_of_prediction(&r->figures, &r->predictions[i], &r->collectives);
}

static status add_folders(results *r, error *err) {
    const results_options *o = &r->options;
    progress shown;
    status rc = STATUS_OK;
    progress_begin(&shown, o->log, "reading", "folders");
    if (o->baseline) TRY(add_folder(&r->list, o->baseline, err));
    for (size_t i = 0; i < r->list.execution_count; i++) r->list.executions[i].baseline = true;
    for (size_t i = 0; i < o->folder_count; i++) {
        TRY(add_folder(&r->list, o->folders[i], err));
        progress_show(&shown, i + 1, o->folder_count);
    }
out:
    progress_end(&shown);
    return rc;
}

static status add_timings(results *r, error *err) {
    const results_options *o = &r->options;
    r->timings = memory_new(o->turns_count, sizeof *r->timings);
    for (size_t i = 0; i < o->turns_count; i++) {
        NEED(timed_arms_read(o->turns[i], &r->timings[i], err));
        r->timing_count++;
    }
    return timed_arms_assign(r->timings, r->timing_count, &r->list, err);
}

// Two executions of one key can be compared if one is the baseline, unless a plan identifies runs
// by their keys.
static status find_runs(results *r, const yaml_node *plan_root, error *err) {
    const bool named = plan_root && plan_names_given(plan_root);
    const char *baseline = r->options.baseline;
    if (baseline && plan_root && !plan_names_all(plan_root))
        return error_set(err, STATUS_USAGE,
                         "--baseline cannot be used with this --plan, which sets the baselines");
    NEED(add_folders(r, err));
    NEED(pool_runs(&r->list, !named, err));
    NEED(add_timings(r, err));
    if (named) NEED(plan_names_apply(&r->list, plan_root, &baseline, err));
    if (plan_root && !named) plan_names_publish(&r->list, plan_root);
    r->has_baseline = baseline != NULL;
    run_list_name(&r->list);
    seed_groups_make(&r->list, &r->groups, &r->group_count);
    return STATUS_OK;
}

status results_open(results *r, const results_options *o, error *err) {
    status rc = STATUS_OK;
    yaml_node *root = NULL;
    *r = (results){.options = *o};
    if (o->plan) TRY(plan_read_file(o->plan, &root, err));
    TRY(find_runs(r, root, err));
    for (size_t i = 0; i < r->list.count; i++) TRY(metrics_check(&r->list.runs[i], err));
    TRY(make_comparisons(r, err));
    if (root) {
        yaml_node *taken = root;
        root = NULL;
        TRY(read_plan(r, taken, err));
    }
    TRY(make_predictions(r, err));
    make_figures(r);
out:
    yaml_free(root);
    if (rc != STATUS_OK) results_release(r);
    return rc;
}

void results_release(results *r) {
    for (size_t i = 0; i < r->comparison_count; i++) comparison_release(&r->comparisons[i]);
    free(r->comparisons);
    planned_release(&r->plan);
    if (r->reproduction) release_reproduction(r->reproduction);
    free(r->reproduction);
    for (size_t i = 0; i < r->prediction_count; i++) prediction_release(&r->predictions[i]);
    free(r->predictions);
    collectives_release(&r->collectives);
    seed_groups_free(r->groups, r->group_count);
    figures_release(&r->figures);
    run_list_release(&r->list);
    for (size_t i = 0; i < r->timing_count; i++) timed_arms_release(&r->timings[i]);
    free(r->timings);
    *r = (results){0};
}

// ---- Finding ----

const figure *results_figure(const results *r, const char *owner, const char *metric) {
    assert(joint_metrics_find(metric));
    return figures_of(r->whole ? &r->whole->figures : &r->figures, owner, metric);
}

const figure *results_group_figure(const results *r, const seed_group *g, const char *metric) {
    assert(joint_metrics_find(metric));
    return figures_of_repeats(r->whole ? &r->whole->figures : &r->figures, g, metric);
}

double results_value(const results *r, const char *owner, const char *metric) {
    const figure *f = results_figure(r, owner, metric);
    return f ? f->value : NAN;
}

double results_group_value(const results *r, const seed_group *g, const char *metric) {
    const figure *f = results_group_figure(r, g, metric);
    return f ? f->value : NAN;
}

const comparison *results_comparison(const results *r, const seed_group *g) {
    for (size_t i = 0; i < r->comparison_count; i++)
        if (r->comparisons[i].subject == g) return &r->comparisons[i];
    return NULL;
}

double reproduction_full_epochs(const reproduction *p, const char *name) {
    const char *epochs = yaml_text_at(plan_entry(yaml_find(p->root, "runs"), name), "full_epochs");
    return *epochs ? strtod(epochs, NULL) : -1;
}
