// SPDX-License-Identifier: MIT
#include "pipeline/estimate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/process.h"
#include "base/progress.h"
#include "data/manifest.h"
#include "data/tensor/tensor_file.h"
#include "pipeline/child.h"
#include "pipeline/stage.h"
#include "pipeline/store.h"
#include "pipeline/work.h"

// A trial that ends too soon is repeated with more samples.
enum { FEW_SAMPLES = 512, MORE_SAMPLES = 8192 };
static const double LONG_ENOUGH = 0.2; // seconds per epoch

// Seconds per sample, by the trial's key: runs with the same work share one trial.
typedef struct rate {
    char *key;
    double train, test;
} rate;

typedef struct measuring {
    pipeline *p;
    rate *rates;
    size_t count, capacity;
} measuring;

// Returns a number in a folder's manifest.
static double recorded(const char *folder, const char *path) {
    yaml_node *root = NULL;
    char *file = memory_format("%s/manifest.yaml", folder);
    double value = NAN;
    if (manifest_read(file, &root, NULL) == STATUS_OK) value = yaml_number_at(root, path);
    yaml_free(root);
    free(file);
    return value;
}

// ---- Trials ----

static status draw(measuring *m, const planned_run *r, int samples, char **folder, error *err) {
    char *images = planned_run_shape(r);
    words command = {0}, line = {0};
    char *ignored = NULL;
    status rc = work_open(m->p, err);
    if (rc != STATUS_OK) goto out;
    const int classes = r->e.model.program.classes;
    *folder = memory_format("%s/drawn-%s-%d-%d", m->p->work.path, images, classes, samples);
    if (words_has(&m->p->done, *folder)) goto out;
    words_add(&command, "synth-cifar");
    words_add(&command, "-q");
    words_option(&command, "--shape", images);
    words_format(&command, "--classes=%d", classes);
    words_format(&command, "--train=%d", samples);
    words_format(&command, "--test=%d", samples);
    words_option(&command, "--out", *folder);
    TRY(stage_program(m->p, &command, &line, err));
    TRY(child_output(&line, &ignored, err));
    words_add(&m->p->done, *folder);
out:
    free(ignored);
    words_release(&line);
    words_release(&command);
    free(images);
    return rc;
}

static status trial_command(const measuring *m, const planned_run *r, const char *drawn,
                            words *line, error *err) {
    // A trial has fewer samples than a validation may leave out.
    static const char *const other[] = {
        "epochs=2",        "dataset=synthetic", "schedule=null",       "repeats=1",
        "validation=null", "keep=null",         "early_stopping=null", "stop_at=null"};
    words command = {0};
    status rc;
    words_add(&command, r->tool);
    words_add(&command, "-q");
    words_option(&command, "--experiment", r->file);
    for (size_t i = 0; i < r->set.count; i++) words_option(&command, "--set", r->set.items[i]);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        words_option(&command, "--set", other[i]);
    words_format(&command, "--train=%s/train.st.zst", drawn);
    words_format(&command, "--test=%s/test.st.zst", drawn);
    words_format(&command, "--out=%s/tried", m->p->work.path);
    words_add_all(&command, &r->device);
    words_option(&command, "--threads", m->p->settings->values[SETTING_THREADS]);
    TRY(stage_program(m->p, &command, line, err));
out:
    words_release(&command);
    return rc;
}

static const rate *find_rate(const measuring *m, const char *key) {
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->rates[i].key, key) == 0) return &m->rates[i];
    return NULL;
}

// The trial's time beyond its two epochs is that of two evaluations.
static status keep_rate(measuring *m, char **key, int samples, error *err) {
    yaml_node *root = NULL;
    void *rates = m->rates;
    char *path = memory_format("%s/tried/manifest.yaml", m->p->work.path);
    status rc = manifest_read(path, &root, err);
    if (rc == STATUS_OK) memory_grow(&rates, &m->capacity, m->count + 1, sizeof *m->rates);
    m->rates = rates;
    if (rc == STATUS_OK) {
        const double first = yaml_number_at(root, "results.epochs.0.seconds");
        const double second = yaml_number_at(root, "results.epochs.1.seconds");
        const double tests = yaml_number_at(root, "results.total_seconds") - first - second;
        const double seen = yaml_number_at(root, "results.samples"); // fewer with drop_last
        m->rates[m->count++] = (rate){*key, second / seen, fmax(tests, 0) / 2 / samples};
        *key = NULL;
    }
    yaml_free(root);
    free(path);
    return rc;
}

// If no trial is possible, *found is NULL and `why` the reason.
static status try_samples(measuring *m, const planned_run *r, int samples, const rate **found,
                          char why[256], error *err) {
    words line = {0};
    char *drawn = NULL, *key = NULL, *said = NULL, *ignored = NULL;
    status rc;
    *found = NULL;
    TRY(draw(m, r, samples, &drawn, err));
    TRY(trial_command(m, r, drawn, &line, err));
    words_add(&line, "--print-key");
    rc = child_try(&line, &key, &said, err);
    if (rc == STATUS_OK && (*found = find_rate(m, key))) goto out;
    if (rc == STATUS_OK) {
        free(said);
        free(line.items[--line.count]); // --print-key
        line.items[line.count] = NULL;
        rc = child_try(&line, &ignored, &said, err);
    }
    snprintf(why, 256, "%s", rc == STATUS_OK ? "" : said ? said : "");
    if (rc == STATUS_OK) {
        TRY(keep_rate(m, &key, samples, err));
        *found = &m->rates[m->count - 1];
    }
    rc = STATUS_OK;
out:
    free(ignored);
    free(said);
    free(key);
    free(drawn);
    words_release(&line);
    return rc;
}

static status find_rate_of(measuring *m, const planned_run *r, const rate **found, char why[256],
                           error *err) {
    static const int tries[] = {FEW_SAMPLES, MORE_SAMPLES};
    status rc = STATUS_OK;
    for (int i = 0; rc == STATUS_OK && i < 2; i++) {
        const int least = 2 * r->e.global_batch;
        const int samples = tries[i] > least ? tries[i] : least;
        rc = try_samples(m, r, samples, found, why, err);
        if (!*found || (*found)->train * samples >= LONG_ENOUGH) break;
    }
    return rc;
}

// ---- One run ----

// Fraction of a stopped training that is left.
static double share_left(const execution *x, const planned_run *r, double samples) {
    tensor_file f = {0};
    char *path = memory_format("%s/train/state.st.zst", x->folder);
    double left = 1;
    if (tensor_file_read_header(path, &f, NULL) == STATUS_OK) {
        const char *step = tensor_file_metadata(&f, "step");
        const double batches = samples / r->e.global_batch;
        const double steps = r->e.epochs * (r->e.drop_last ? floor(batches) : ceil(batches));
        if (step && steps > 0) left = 1 - strtod(step, NULL) / steps;
    }
    tensor_file_release(&f);
    free(path);
    return left < 0 ? 0 : left;
}

// Reads the times of an execution on this host.
static bool read_times(const execution_list *list, run_estimate *e) {
    char host[PROCESS_HOST_BYTES];
    process_host(host);
    for (size_t i = list->count; i-- > 0;) {
        const execution *x = &list->items[i];
        const yaml_node *own = x->train ? yaml_get(x->train, "run.host") : NULL;
        if (!x->finished || !own || own->kind != YAML_SCALAR || strcmp(own->text, host) != 0)
            continue;
        e->train = yaml_number_at(x->train, "results.total_seconds");
        e->evaluate = NAN;
        for (int v = 0; v < TTA_KINDS && isnan(e->evaluate); v++) {
            char *folder = memory_format("%s/%s", x->folder, tta_folder((tta_kind)v));
            e->evaluate = folder ? recorded(folder, "results.compute_seconds") : NAN;
            free(folder);
        }
        return !isnan(e->train) && !isnan(e->evaluate);
    }
    return false;
}

static status estimate_run(measuring *m, const planned_run *r, run_estimate *e, error *err) {
    execution_list list;
    const rate *found = NULL;
    const int left_out = r->e.validation.samples;
    const double samples = recorded(r->data, "results.train_samples") - left_out;
    const double tests = recorded(r->data, "results.test_samples");
    *e = (run_estimate){.train = NAN, .evaluate = NAN, .left = 1};
    status rc = store_read(m->p->artifacts, r->seeds[0].key, &list, err);
    if (rc != STATUS_OK) return rc;
    if (list.count && list.items[0].saved && m->p->settings->resume)
        e->left = share_left(&list.items[0], r, samples);
    if (list.count && list.items[0].finished) e->left = 0;
    const bool known = read_times(&list, e);
    store_release(&list);
    if (known || e->left == 0) return STATUS_OK;
    rc = find_rate_of(m, r, &found, e->why, err);
    if (rc != STATUS_OK || !found) return rc;
    const double batch = r->e.global_batch;
    const double seen = r->e.drop_last ? floor(samples / batch) * batch : samples;
    e->train = r->e.epochs * (seen * found->train + (left_out ? left_out : tests) * found->test);
    e->evaluate = tests * found->test;
    return STATUS_OK;
}

status estimate_runs(pipeline *p, const planned_runs *runs, run_estimate *estimates, error *err) {
    measuring m = {.p = p};
    progress shown;
    status rc = STATUS_OK;
    progress_begin(&shown, p->log, "estimating", "runs");
    for (size_t i = 0; rc == STATUS_OK && i < runs->count; i++) {
        rc = estimate_run(&m, &runs->items[i], &estimates[i], err);
        progress_show(&shown, i + 1, runs->count);
    }
    progress_end(&shown);
    for (size_t i = 0; i < m.count; i++) free(m.rates[i].key);
    free(m.rates);
    return rc;
}

double estimate_round(const planned_runs *runs, const run_estimate *estimates) {
    double all = 0;
    for (size_t i = 0; i < runs->count; i++) {
        const run_estimate *e = &estimates[i];
        if (!isnan(e->train)) all += (e->train + e->evaluate) * (double)runs->items[i].seed_count;
    }
    return all;
}
