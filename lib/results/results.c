// SPDX-License-Identifier: MIT
#include "results/results.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/progress.h"
#include "base/sha256.h"
#include "results/plan_names.h"
#include "results/reproduction.h"

// ---- Reading ----

static status add_folder(run_list *list, const char *path, error *err) {
    char *plain = memory_string(path);
    for (size_t n = strlen(plain); n > 1 && plain[n - 1] == '/'; n--) plain[n - 1] = 0;
    status rc = run_list_add(list, plain, err);
    free(plain);
    return rc;
}

static status make_comparisons(results *r, error *err) {
    if (!r->has_baseline || r->group_count < 2) return STATUS_OK;
    r->comparisons = memory_new(r->group_count - 1, sizeof *r->comparisons);
    for (size_t i = 1; i < r->group_count; i++) {
        status rc = compare(&r->groups[i], &r->groups[0], NULL, &r->comparisons[i - 1], err);
        if (rc != STATUS_OK) return rc;
        r->comparison_count++;
    }
    compare_table(r->comparisons, r->comparison_count);
    return STATUS_OK;
}

static status make_predictions(results *r, error *err) {
    if (!r->options.collectives) return STATUS_OK;
    status rc = collectives_read(r->options.collectives, &r->collectives, err);
    if (rc != STATUS_OK) return rc;
    r->predictions = memory_new(r->group_count, sizeof *r->predictions);
    for (size_t i = 0; i < r->group_count; i++) {
        prediction *p = &r->predictions[r->prediction_count];
        if (!prediction_is_due(&r->groups[i])) continue;
        rc = prediction_make(&r->groups[i], r->groups, r->group_count, &r->collectives, p, err);
        if (rc != STATUS_OK) return rc;
        r->prediction_count++;
    }
    return STATUS_OK;
}

// Takes ownership of `root`.
static status read_plan(results *r, yaml_node *root, error *err) {
    if (plan_names_all(root)) {
        r->plan.root = root; // names point into it
        return STATUS_OK;
    }
    if (!reproduction_is(root)) return plan_read(root, &r->list, &r->plan, err);
    r->reproduction = memory_new(1, sizeof *r->reproduction);
    return reproduction_open(root, r, r->reproduction, err);
}

static status figures_of_reproduction(figure_list *list, const reproduction *p, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; i < p->count; i++) {
        const reproduced *one = &p->reports[i];
        for (size_t k = 0; k < one->rows.group_count; k++)
            TRY(figures_of_group(list, &one->rows.groups[k], err));
        for (size_t k = 0; k < one->rows.comparison_count; k++)
            figures_of_comparison(list, &one->rows.comparisons[k]);
        for (size_t k = 0; k < one->study_count; k++)
            TRY(figures_of_plan(list, &one->studies[k].plan, err));
    }
out:
    return rc;
}

static status make_figures(results *r, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; i < r->list.count; i++)
        TRY(figures_of_run(&r->figures, &r->list.runs[i], err));
    for (size_t i = 0; i < r->group_count; i++)
        TRY(figures_of_group(&r->figures, &r->groups[i], err));
    for (size_t i = 0; i < r->comparison_count; i++)
        figures_of_comparison(&r->figures, &r->comparisons[i]);
    TRY(figures_of_plan(&r->figures, &r->plan, err));
    if (r->reproduction) TRY(figures_of_reproduction(&r->figures, r->reproduction, err));
    for (size_t i = 0; i < r->prediction_count; i++)
        figures_of_prediction(&r->figures, &r->predictions[i], &r->collectives);
out:
    return rc;
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
        status rc = timed_arms_read(o->turns[i], &r->timings[i], err);
        if (rc != STATUS_OK) return rc;
        r->timing_count++;
    }
    return timed_arms_assign(r->timings, r->timing_count, &r->list, err);
}

// Two executions of one key can be compared if one is the baseline, unless a plan identifies runs
// by their keys.
static status find_runs(results *r, const yaml_node *plan_root, error *err) {
    const bool named = plan_root && plan_names_given(plan_root);
    const char *baseline = r->options.baseline;
    status rc;
    if (baseline && plan_root && !plan_names_all(plan_root))
        return error_set(err, STATUS_USAGE,
                         "--baseline cannot be used with this --plan, which sets the baselines");
    TRY(add_folders(r, err));
    TRY(run_list_pool(&r->list, !named, err));
    TRY(add_timings(r, err));
    if (named) TRY(plan_names_apply(&r->list, plan_root, &baseline, err));
    if (plan_root && !named) plan_names_publish(&r->list, plan_root);
    r->has_baseline = baseline != NULL;
    run_list_name(&r->list);
    seed_groups_make(&r->list, &r->groups, &r->group_count);
out:
    return rc;
}

status results_open(results *r, const results_options *o, error *err) {
    status rc = STATUS_OK;
    yaml_node *root = NULL;
    *r = (results){.options = *o};
    if (o->plan) TRY(plan_read_file(o->plan, &root, err));
    TRY(find_runs(r, root, err));
    TRY(make_comparisons(r, err));
    if (root) {
        yaml_node *taken = root;
        root = NULL;
        TRY(read_plan(r, taken, err));
    }
    TRY(make_predictions(r, err));
    TRY(make_figures(r, err));
out:
    yaml_free(root);
    if (rc != STATUS_OK) results_release(r);
    return rc;
}

void results_release(results *r) {
    for (size_t i = 0; i < r->comparison_count; i++) comparison_release(&r->comparisons[i]);
    free(r->comparisons);
    planned_release(&r->plan);
    if (r->reproduction) reproduction_release(r->reproduction);
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

// ---- Recorded inputs ----

// Records any file with the hash of its bytes on disk.
status results_record_file(manifest *m, const char *path, error *err) {
    char hash[SHA256_TEXT_BYTES];
    struct stat info;
    if (stat(path, &info)) return error_system(err, STATUS_INPUT, errno, "cannot read '%s'", path);
    status rc = sha256_file(path, hash, err);
    if (rc != STATUS_OK) return rc;
    manifest_file file = {.path = path, .bytes = (uint64_t)info.st_size, .sha256 = hash};
    manifest_add_input(m, &file);
    return STATUS_OK;
}

static uint64_t recorded_bytes(const yaml_node *file) {
    return strtoull(run_text(file, "bytes"), NULL, 10);
}

// Records a stage's manifest, and the output of it that the report reads; NULL: none.
static status record_input(const char *folder, const yaml_node *root, const char *name, manifest *m,
                           error *err) {
    status rc = STATUS_OK;
    if (!root) return STATUS_OK;
    char *path = memory_format("%s/manifest.yaml", folder);
    char *data = memory_format("%s/%s", folder, name ? name : "");
    const yaml_node *file = name ? run_file(root, "outputs", name) : NULL;
    TRY(results_record_file(m, path, err));
    if (!file) goto out;
    manifest_file of_data = {.path = data,
                             .bytes = recorded_bytes(file),
                             .sha256 = run_text(file, "sha256"),
                             .content = run_text(file, "content")};
    manifest_add_input(m, &of_data);
out:
    free(path);
    free(data);
    return rc;
}

static status record_collectives(const collectives *c, manifest *m, error *err) {
    char *path = memory_format("%s/manifest.yaml", c->folder);
    status rc = results_record_file(m, path, err);
    free(path);
    return rc;
}

// Records each claim once, however many runs have figures from it.
static status record_claim(const char *path, yaml_node *recorded, manifest *m, error *err) {
    for (size_t i = 0; i < recorded->count; i++)
        if (strcmp(recorded->items[i]->text, path) == 0) return STATUS_OK;
    yaml_append(recorded, yaml_new_string(path));
    return results_record_file(m, path, err);
}

// Records the audited claims, and those that published figures come from if they still exist: the
// plan has a copy of the figures.
static status record_claims(const results *r, manifest *m, error *err) {
    yaml_node *recorded = yaml_new(YAML_SEQUENCE);
    status rc = STATUS_OK;
    for (size_t i = 0; r->reproduction && i < r->reproduction->count; i++) {
        const char *path = r->reproduction->reports[i].claim_path;
        if (*path) TRY(record_claim(path, recorded, m, err));
    }
    for (size_t i = 0; i < r->list.count; i++) {
        const yaml_node *list = r->list.runs[i].published;
        for (size_t k = 0; list && list->kind == YAML_SEQUENCE && k < list->count; k++) {
            const char *path = run_text(list->items[k], "claim");
            if (*path && access(path, R_OK) == 0) TRY(record_claim(path, recorded, m, err));
        }
    }
out:
    yaml_free(recorded);
    return rc;
}

status results_record(const results *r, manifest *m, error *err) {
    status rc = STATUS_OK;
    yaml_node *parameters = manifest_parameters(m);
    const char *baseline = r->comparison_count ? r->groups[0].name : "";
    for (size_t i = 0; i < r->list.execution_count; i++) {
        const run *one = &r->list.executions[i];
        // The manifest of an excluded execution gives the reason.
        TRY(record_input(one->folder, one->train, one->excluded ? NULL : "steps.st.zst", m, err));
        if (one->excluded) continue;
        TRY(record_input(one->evaluation, one->evaluate, "predictions.st.zst", m, err));
    }
    for (size_t i = 0; i < r->timing_count; i++)
        TRY(record_input(r->timings[i].folder, r->timings[i].manifest, TURNS_FILE, m, err));
    if (r->collectives.count) TRY(record_collectives(&r->collectives, m, err));
    TRY(record_claims(r, m, err));
    yaml_put(parameters, "baseline", yaml_new_string(baseline));
    yaml_put(manifest_results(m), "figures", yaml_new_integer((int64_t)r->figures.count));
out:
    return rc;
}
