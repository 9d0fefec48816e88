// SPDX-License-Identifier: MIT
#include "results/verify_figures.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/paths.h"
#include "data/manifest.h"
#include "results/metrics.h"
#include "results/rebuild.h"
#include "results/steps.h"

// A run, and the run rebuilt from one of its files.
typedef struct verifying {
    const run *r;
    const rebuilt *b;
    manifest_findings *findings;
    error *err;
} verifying;

// ---- Figures of the table ----

static void add_difference(const verifying *v, const char *name, double value, double recomputed) {
    const file_place *from = &v->b->file;
    manifest_finding(v->findings, "figure '%s' is %.9g in '%s/manifest.yaml', and %.9g in '%s/%s'",
                     name, value, from->folder, recomputed, from->folder, from->name);
}

// A confusion matrix too large for figures is still in the manifest: every count is checked.
static size_t count_members(const metric_row *m, const run *r) {
    if (m->over != OVER_CONFUSION) return metric_members(m, r);
    return r->confusion ? r->class_count * r->class_count : 0;
}

static void verify_member(const verifying *v, const metric_row *m, size_t member) {
    const double recomputed = metric_recompute(m, &v->b->run, member);
    const double value = m->value ? m->value(v->r, member) : metric_value(m, v->r, member);
    if (metric_agrees(m, value, recomputed)) return;
    char *name = metric_name(m, v->r, member);
    add_difference(v, name, value, recomputed);
    free(name);
}

static status verify_table(const verifying *v, metric_file file) {
    size_t count;
    const metric_row *table = metrics_table(&count);
    const status rc = metrics_check(v->r, v->err);
    for (size_t i = 0; rc == STATUS_OK && i < count; i++) {
        const size_t members = table[i].file == file ? count_members(&table[i], v->r) : 0;
        for (size_t k = 0; k < members; k++) verify_member(v, &table[i], k);
    }
    return rc;
}

// ---- Other numbers of the manifest ----

static status verify_number(const verifying *v, const yaml_node *node, const char *key,
                            double recomputed) {
    const metric_row *like = metrics_find("seconds_per_epoch"); // for its tolerance
    double value;
    status rc = run_number(node, key, &value, v->err);
    if (rc == STATUS_OK && !metric_agrees(like, value, recomputed)) {
        add_difference(v, key, value, recomputed);
        return STATUS_OK;
    }
    return rc;
}

// Counts the samples of an epoch's steps.
static double count_samples(const run *r) {
    const size_t count = r->epoch_count ? (size_t)r->steps_per_epoch : 0;
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += steps_samples(r, i);
    return count ? sum : NAN;
}

// The index of the epoch whose model was kept: the first of the best ones, or the last.
static size_t kept_epoch(const run *r) {
    const bool best = strcmp(yaml_text_at(r->train, "parameters.keep"), "best") == 0;
    size_t kept = best ? 0 : r->epoch_count - 1;
    for (size_t i = 1; best && i < r->epoch_count; i++)
        if (r->epochs[i].accuracy > r->epochs[kept].accuracy) kept = i;
    return kept;
}

// Checks the choice among the epochs.
static status verify_choice(const verifying *v) {
    const run *r = v->r, *recomputed = &v->b->run;
    if (!r->epoch_count) return STATUS_OK;
    const size_t kept = kept_epoch(recomputed);
    NEED(verify_number(v, r->train, "results.validation_accuracy",
                       recomputed->epochs[kept].accuracy));
    return verify_number(v, r->train, "results.best_epoch", (double)kept + 1);
}

// Checks the last test, the sample count, the phases of the warm-up epoch, and the model.
static status verify_training(const verifying *v) {
    const run *r = v->r, *recomputed = &v->b->run;
    const double last = r->epoch_count ? recomputed->epochs[r->epoch_count - 1].accuracy : NAN;
    const char *model = yaml_text_at(r->train, "results.model");
    NEED(verify_number(v, r->train, "results.test_accuracy", last));
    NEED(verify_choice(v));
    NEED(verify_number(v, r->train, "results.samples", count_samples(recomputed)));
    for (int p = 0; r->epoch_count && p < RUN_PHASES; p++) {
        char key[64];
        snprintf(key, sizeof key, "results.epochs.0.phases.%s", run_phase_name(p));
        NEED(verify_number(v, r->train, key, recomputed->epochs[0].phase[p]));
    }
    if (*model && strcmp(model, r->model_content) != 0)
        manifest_finding(v->findings, "'%s/manifest.yaml' has two models: %s and %s", r->folder,
                         model, r->model_content);
    return STATUS_OK;
}

// A class missing from the list shows in the number of samples.
static status verify_test(const verifying *v) {
    const run *r = v->r, *recomputed = &v->b->run;
    NEED(verify_number(v, r->evaluate, "results.samples", (double)recomputed->test_samples));
    if (r->class_count && r->test_samples != recomputed->test_samples)
        add_difference(v, "samples of all classes", (double)r->test_samples,
                       (double)recomputed->test_samples);
    for (size_t i = 0; i < r->class_count; i++) {
        char key[64];
        snprintf(key, sizeof key, "results.per_class.%zu.right", i);
        NEED(verify_number(v, r->evaluate, key, (double)recomputed->classes[i].right));
    }
    return STATUS_OK;
}

// ---- One run ----

static status verify_file(const run *r, metric_file file, manifest_findings *f, error *err) {
    rebuilt b = {0};
    const verifying v = {r, &b, f, err};
    status rc;
    TRY(rebuild(r, file, &b, err));
    TRY(run_check_content(&b.file, b.found, err));
    TRY(verify_table(&v, file));
    rc = file == FILE_STEPS ? verify_training(&v) : verify_test(&v);
out:
    rebuilt_release(&b);
    return rc;
}

static status verify_run(const run *r, manifest_findings *f, error *err) {
    if (r->train) NEED(verify_file(r, FILE_STEPS, f, err));
    if (r->evaluate) NEED(verify_file(r, FILE_PREDICTIONS, f, err));
    return STATUS_OK;
}

// ---- One timing ----

static status verify_timing(const timed_arms *t, manifest_findings *f, error *err) {
    const rebuilt b = {.file = {t->folder, TURNS_FILE, t->manifest}};
    const verifying v = {NULL, &b, f, err};
    const turn_fit *shown = turn_evidence_shown(&t->evidence);
    status rc = run_check_content(&b.file, t->content, err);
    TRY(rc);
    TRY(verify_number(&v, t->manifest, "results.executions", (double)t->evidence.all.executions));
    for (size_t a = 0; a < shown->arms; a++) {
        char key[64];
        snprintf(key, sizeof key, "results.seconds_per_sample.%zu", a);
        TRY(verify_number(&v, t->manifest, key, turn_fit_seconds(shown, a).value));
    }
out:
    return rc;
}

static status verify_turns(const char *folder, manifest_findings *f, error *err) {
    timed_arms t;
    status rc = timed_arms_read(folder, &t, err);
    if (rc != STATUS_OK) return rc;
    rc = verify_timing(&t, f, err);
    timed_arms_release(&t);
    return rc;
}

// ---- One manifest ----

// Does the manifest list the file that its figures come from?
static bool lists_file(const yaml_node *root, bool train) {
    return manifest_output(root, train ? "steps.st.zst" : "predictions.st.zst") != NULL;
}

status verify_figures_of_manifest(const char *path, manifest_findings *f, error *err) {
    run r;
    yaml_node *root = NULL;
    char *folder = paths_folder(path);
    status rc = STATUS_OK;
    run_init(&r);
    TRY(manifest_read(path, &root, err));
    if (strcmp(yaml_text_at(root, "tool"), "time-runs") == 0) {
        rc = verify_turns(folder, f, err);
        goto out;
    }
    const bool train = strncmp(yaml_text_at(root, "tool"), "train-", 6) == 0;
    if (!train && strcmp(yaml_text_at(root, "tool"), "evaluate") != 0) goto out;
    if (!lists_file(root, train)) goto out;
    *(train ? &r.train : &r.evaluate) = root;
    *(train ? &r.folder : &r.evaluation) = folder;
    root = NULL;
    folder = NULL;
    TRY(train ? run_read_train(&r, err) : run_read_evaluation(&r, err));
    rc = verify_run(&r, f, err);
out:
    yaml_free(root);
    free(folder);
    run_release(&r);
    return rc;
}

// ---- All runs of a report ----

status verify_figures_of_results(const results *r, error *err) {
    manifest_findings f = {0};
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && !f.count && i < r->list.execution_count; i++)
        rc = verify_run(&r->list.executions[i], &f, err);
    for (size_t i = 0; rc == STATUS_OK && !f.count && i < r->timing_count; i++)
        rc = verify_timing(&r->timings[i], &f, err);
    if (rc == STATUS_OK && f.count)
        rc = error_set(err, STATUS_FINDING, "cannot report: %s", f.lines[0]);
    manifest_findings_release(&f);
    return rc;
}
