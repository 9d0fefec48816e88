// SPDX-License-Identifier: MIT
#include "pipeline/estimates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number_text.h"
#include "base/process.h"
#include "base/progress.h"
#include "base/text.h"
#include "data/manifest.h"
#include "data/tensor/tensor_file.h"
#include "pipeline/counting.h"
#include "pipeline/store.h"
#include "pipeline/tool.h"
#include "pipeline/turn_stages.h"

// ---- Estimates ----

// A run that was executed here before is expected to take as long again. Any other run gets a
// trial: two epochs on drawn images, the second of which gives the time per sample.
typedef struct run_estimate {
    double train, evaluate; // seconds of one execution; NAN: unknown
    double left;            // fraction of the first execution still to do; 0: finished
    char why[256];          // reason, if unknown
} run_estimate;

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
    double value = NAN;
    if (manifest_read_in(&root, NULL, "%s", folder) == STATUS_OK)
        value = yaml_number_at(root, path);
    yaml_free(root);
    return value;
}

// ---- Estimates: trials ----

static status draw(measuring *m, const planned_run *r, int samples, char **folder, error *err) {
    char *images = planned_run_shape(r);
    strvec command = {0};
    status rc = work_open(m->p, err);
    if (rc != STATUS_OK) goto out;
    const int classes = r->e.model.program.classes;
    *folder = memory_format("%s/drawn-%s-%d-%d", m->p->work.path, images, classes, samples);
    if (strvec_has(&m->p->done, *folder)) goto out;
    strvec_add(&command, "synth-cifar");
    strvec_add(&command, "-q");
    strvec_add_option(&command, "--shape", images);
    strvec_format(&command, "--classes=%d", classes);
    strvec_format(&command, "--train=%d", samples);
    strvec_format(&command, "--test=%d", samples);
    strvec_add_option(&command, "--out", *folder);
    TRY(tool_output(m->p, &command, NULL, err));
    strvec_add(&m->p->done, *folder);
out:
    strvec_release(&command);
    free(images);
    return rc;
}

static void trial_command(const measuring *m, const planned_run *r, const char *drawn,
                          strvec *command) {
    // A trial has fewer samples than a validation may leave out.
    static const char *const other[] = {
        "epochs=2",        "dataset=synthetic", "schedule=null",       "repeats=1",
        "validation=null", "keep=null",         "early_stopping=null", "stop_at=null"};
    strvec_add(command, r->tool);
    strvec_add(command, "-q");
    strvec_add_option(command, "--experiment", r->file);
    for (size_t i = 0; i < r->set.count; i++) strvec_add_option(command, "--set", r->set.items[i]);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        strvec_add_option(command, "--set", other[i]);
    strvec_format(command, "--train=%s/train.st.zst", drawn);
    strvec_format(command, "--test=%s/test.st.zst", drawn);
    strvec_format(command, "--out=%s/tried", m->p->work.path);
    strvec_add_all(command, &r->device);
    strvec_add_option(command, "--threads", m->p->settings->values[SETTING_THREADS]);
}

// The key of the trial; NULL if it is impossible, and `why` is the reason.
static char *trial_key(const measuring *m, const strvec *command, char why[256]) {
    error failure = {0};
    strvec question = {0};
    char *key = NULL;
    strvec_add_all(&question, command);
    strvec_add(&question, "--print-key");
    if (tool_ask(m->p, &question, &key, &failure) != STATUS_OK)
        snprintf(why, 256, "%s: %.200s", command->items[0], failure.message);
    strvec_release(&question);
    return key;
}

// Trains; false if it fails, and `why` is the reason.
static bool run_trial(const measuring *m, const strvec *command, char why[256]) {
    error failure = {0};
    const bool trained = tool_run_quietly(m->p, NULL, command, &failure) == STATUS_OK;
    if (!trained) snprintf(why, 256, "%.255s", failure.message);
    return trained;
}

static const rate *find_rate(const measuring *m, const char *key) {
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->rates[i].key, key) == 0) return &m->rates[i];
    return NULL;
}

// The trial's time beyond its two epochs is that of two evaluations.
static status keep_rate(measuring *m, char **key, int samples, error *err) {
    yaml_node *root = NULL;
    status rc = manifest_read_in(&root, err, "%s/tried", m->p->work.path);
    if (rc == STATUS_OK) {
        m->rates = memory_grow(m->rates, &m->capacity, m->count + 1, sizeof *m->rates);
        const double first = yaml_number_at(root, "results.epochs.0.seconds");
        const double second = yaml_number_at(root, "results.epochs.1.seconds");
        const double tests = yaml_number_at(root, "results.total_seconds") - first - second;
        const double seen = yaml_number_at(root, "results.samples"); // fewer with drop_last
        m->rates[m->count++] = (rate){*key, second / seen, fmax(tests, 0) / 2 / samples};
        *key = NULL;
    }
    yaml_free(root);
    return rc;
}

// If no trial is possible, *found is NULL and `why` the reason.
static status try_samples(measuring *m, const planned_run *r, int samples, const rate **found,
                          char why[256], error *err) {
    strvec command = {0};
    char *drawn = NULL, *key = NULL;
    status rc;
    *found = NULL;
    *why = 0;
    TRY(draw(m, r, samples, &drawn, err));
    trial_command(m, r, drawn, &command);
    key = trial_key(m, &command, why);
    if (key) *found = find_rate(m, key);
    if (!key || *found || !run_trial(m, &command, why)) goto out;
    TRY(keep_rate(m, &key, samples, err));
    *found = &m->rates[m->count - 1];
out:
    free(key);
    free(drawn);
    strvec_release(&command);
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

// ---- Estimates: one run ----

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
        if (!x->finished || strcmp(yaml_text_at(x->train, "run.host"), host) != 0) continue;
        e->train = yaml_number_at(x->train, "results.total_seconds");
        e->evaluate = NAN;
        for (int v = 0; v < TTA_KINDS && isnan(e->evaluate); v++) {
            char *folder = memory_format("%s/%s", x->folder, tta_folder((tta_kind)v));
            e->evaluate = recorded(folder, "results.compute_seconds");
            free(folder);
        }
        return !isnan(e->train) && !isnan(e->evaluate);
    }
    return false;
}

static status estimate_run(measuring *m, const planned_run *r, run_estimate *e, error *err) {
    const execution_list *list = &r->seeds[0].kept;
    const rate *found = NULL;
    const int left_out = r->e.validation.samples;
    const double samples = recorded(r->data, "results.train_samples") - left_out;
    const double tests = recorded(r->data, "results.test_samples");
    *e = (run_estimate){.train = NAN, .evaluate = NAN, .left = 1};
    if (list->count && list->items[0].saved && m->p->settings->resume)
        e->left = share_left(&list->items[0], r, samples);
    if (list->count && list->items[0].finished) e->left = 0;
    const bool known = read_times(list, e);
    if (known || e->left == 0) return STATUS_OK;
    status rc = find_rate_of(m, r, &found, e->why, err);
    if (rc != STATUS_OK || !found) return rc;
    const double batch = r->e.global_batch;
    const double seen = r->e.drop_last ? floor(samples / batch) * batch : samples;
    e->train = r->e.epochs * (seen * found->train + (left_out ? left_out : tests) * found->test);
    e->evaluate = tests * found->test;
    return STATUS_OK;
}

// Fills one estimate per run, for its first seed.
static status estimate_runs(pipeline *p, const planned_runs *runs, run_estimate *estimates,
                            error *err) {
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

// ---- The announcement ----

static void say_run(const pipeline *p, const planned_run *r, const run_estimate *e) {
    char what[400], time[DURATION_TEXT_BYTES];
    char *place = memory_format("%s/%s", p->artifacts, r->seeds[0].place);
    const char *plural = r->e.epochs == 1 ? "" : "s";
    duration_text(e->train * e->left, time);
    if (isnan(e->train))
        snprintf(what, sizeof what, "%.9g epoch%s, not measured: %s", r->e.epochs, plural, e->why);
    else
        snprintf(what, sizeof what, "%.9g epoch%s, %s%s%s", r->e.epochs, plural, time,
                 e->left < 1 ? " left" : "", r->seed_count > 1 ? ", of each seed" : "");
    if (e->left > 0) p->say("estimate", p->terminal ? r->name : place, what);
    free(place);
}

// Estimates the time of all missing executions; for a stopped one, of the rest. *unknown: runs
// without an estimate.
static double estimate_left(const pipeline *p, const planned_runs *runs, const run_estimate *e,
                            size_t *unknown) {
    double seconds = 0;
    *unknown = 0;
    for (size_t i = 0; i < runs->count; i++) {
        const size_t missing = counting_missing_of(p, runs, &runs->items[i]);
        *unknown += isnan(e[i].train) && missing;
        if (isnan(e[i].train) || !missing) continue;
        const double done = e[i].left > 0 ? 1 - e[i].left : 0;
        seconds += (e[i].train + e[i].evaluate) * ((double)missing - done);
    }
    return seconds;
}

// Adds how long the runs will then take turns.
static void add_turns(const pipeline *p, const planned_runs *runs, const run_estimate *e,
                      text *what) {
    char time[DURATION_TEXT_BYTES];
    double round = 0; // of whole trainings; NAN: unknown
    if (!turn_stages_left(runs)) return;
    for (size_t i = 0; i < runs->count; i++) round += e[i].train;
    if (!turn_stages_are_whole(p))
        text_format(what, ", then turns for at most %s",
                    duration_text(turn_stages_seconds(runs), time));
    else if (isnan(round))
        text_append(what, ", then turns of whole trainings");
    else
        text_format(what, ", then turns for %s or more",
                    duration_text(TURN_STAGES_LEAST * round, time));
}

static void say_all(const pipeline *p, const planned_runs *runs, const run_estimate *e) {
    char time[DURATION_TEXT_BYTES];
    text what = {0};
    size_t unknown;
    duration_text(estimate_left(p, runs, e, &unknown), time);
    if (unknown == runs->count)
        text_append(&what, "unknown");
    else if (unknown)
        text_format(&what, "more than %s: %zu of %zu runs not measured", time, unknown,
                    runs->count);
    else
        text_format(&what, "about %s", time);
    add_turns(p, runs, e, &what);
    p->say("estimate", "all", text_string(&what));
    text_release(&what);
}

static void say_no_verdict(const pipeline *p, const planned_runs *runs) {
    bool repeated = true;
    for (size_t i = 0; i < runs->count; i++) repeated = repeated && runs->items[i].seed_count >= 3;
    if (!repeated)
        p->say("note", "accuracy",
               "one seed cannot tell an effect from chance; SET=\"repeats=3\" trains three");
}

static size_t count_finished(const planned_runs *runs, const run_estimate *e) {
    size_t count = 0;
    for (size_t i = 0; i < runs->count; i++) count += e[i].left <= 0;
    return count;
}

static status announce(pipeline *p, const planned_runs *runs, error *err) {
    char finished[80];
    run_estimate *e = memory_new(runs->count, sizeof *e);
    status rc = estimate_runs(p, runs, e, err);
    if (rc == STATUS_OK) {
        for (size_t i = 0; i < runs->count; i++) say_run(p, &runs->items[i], &e[i]);
        snprintf(finished, sizeof finished, "%zu of %zu runs", count_finished(runs, e),
                 runs->count);
        p->say("estimate", "finished", finished);
        say_all(p, runs, e);
    }
    free(e);
    return rc;
}

status estimates_announce(pipeline *p, const planned_runs *runs, error *err) {
    const bool asks = p->settings->command != COMMAND_EXPERIMENT; // about speed
    const size_t missing = counting_missing(p, runs);
    if (!asks && !p->settings->dry_run) return STATUS_OK;
    if (missing) NEED(announce(p, runs, err));
    if (turn_stages_left(runs)) turn_stages_announce(p, runs);
    if (!missing && !turn_stages_left(runs)) p->say("estimate", "all", "nothing left to run");
    if (missing && asks) say_no_verdict(p, runs);
    return STATUS_OK;
}
