// SPDX-License-Identifier: MIT
#include "results/rebuild.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/elementary.h"
#include "base/median.h"
#include "base/memory.h"
#include "results/predictions.h"
#include "results/statistics.h"
#include "results/steps.h"
#include "results/timed_arms.h"

// The run owns the lists that are filled from the file; it has no executions.
static void begin(const run *r, rebuilt *b) {
    *b = (rebuilt){.run = *r};
    b->run.executions = NULL;
    b->run.epochs = memory_new(r->epoch_count, sizeof *b->run.epochs);
    b->run.seconds = memory_new(r->epoch_count, sizeof *b->run.seconds);
    b->run.classes = memory_new(r->class_count, sizeof *b->run.classes);
    b->run.confusion = memory_new(r->class_count * r->class_count, sizeof *b->run.confusion);
    b->run.timed = 0;
    for (size_t i = 0; i < r->epoch_count; i++) b->run.epochs[i] = r->epochs[i];
    for (size_t i = 0; i < r->class_count; i++) b->run.classes[i].name = r->classes[i].name;
}

void rebuilt_release(rebuilt *b) {
    free(b->run.epochs);
    free(b->run.seconds);
    free(b->run.classes);
    free(b->run.confusion);
    *b = (rebuilt){.found = ""};
}

// ---- From steps ----

static double mean_loss(const run *r, const float *loss, size_t count) {
    double sum = 0, samples = 0;
    for (size_t i = 0; i < count; i++) {
        const double weight = steps_samples(r, i);
        sum += weight * loss[i];
        samples += weight;
    }
    return sum / samples;
}

// Sums the time of the steps of an epoch that begins at `first`, in seconds.
static double sum_seconds(const uint64_t *ns, size_t first, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; ns && i < count; i++) sum += ns[first + i];
    return ns ? (double)sum / 1e9 : NAN;
}

// The file has the steps. Those of a whole epoch are the manifest's only if the last one is
// shorter; numbers that do not fit the file leave whole epochs.
static void count_steps(run *r, size_t count) {
    const double epochs = (double)r->epoch_count;
    r->steps = (int64_t)count;
    const bool fits = yaml_get(r->train, "results.steps_per_epoch") && r->steps_per_epoch >= 1 &&
                      ceil((double)count / r->steps_per_epoch) == epochs;
    r->steps_per_epoch = !r->epoch_count ? 0
                         : fits          ? floor(r->steps_per_epoch)
                                         : (double)(count / r->epoch_count);
}

static void rebuild_epochs(run *r, const steps *s) {
    count_steps(r, s->count);
    const size_t whole = (size_t)r->steps_per_epoch;
    const run_timed timed = run_timed_epochs(r);
    for (size_t i = 0; i < r->epoch_count; i++) {
        run_epoch *e = &r->epochs[i];
        const size_t first = i * whole, count = (size_t)run_epoch_steps(r, i);
        e->loss = mean_loss(r, s->loss + first, count);
        e->accuracy = s->accuracy ? s->accuracy[i] : NAN;
        e->seconds = sum_seconds(s->wall, first, count);
        for (int p = 0; p < RUN_PHASES; p++) e->phase[p] = sum_seconds(s->phase[p], first, count);
        if (i >= timed.first && i < timed.end) r->seconds[r->timed++] = e->seconds * timed.scale;
    }
    r->train_loss = r->epoch_count ? r->epochs[r->epoch_count - 1].loss : NAN;
    r->seconds_per_epoch = median(r->seconds, r->timed);
    r->total_seconds = s->total_seconds;
}

static status rebuild_from_steps(rebuilt *b, error *err) {
    steps s;
    NEED(steps_read(&b->run, &s, err));
    rebuild_epochs(&b->run, &s);
    memcpy(b->found, s.file.content, sizeof b->found);
    steps_release(&s);
    return STATUS_OK;
}

// ---- From predictions ----

static double cross_entropy(const predictions *p) {
    double sum = 0;
    for (size_t i = 0; i < p->samples; i++) {
        const float *row = p->logits + i * p->classes;
        double most = row[0], total = 0;
        for (size_t k = 1; k < p->classes; k++) most = fmax(most, row[k]);
        for (size_t k = 0; k < p->classes; k++) total += elementary_exp(row[k] - most);
        sum += elementary_log(total) + most - row[p->labels[i]];
    }
    return sum / (double)p->samples;
}

// The index of a class is its label.
static void rebuild_classes(run *r, const predictions *p) {
    for (size_t i = 0; i < p->samples; i++) {
        if (p->labels[i] >= r->class_count) continue;
        run_class *c = &r->classes[p->labels[i]];
        c->count++;
        c->right += p->correct[i];
        if (p->predicted[i] < r->class_count)
            r->confusion[p->labels[i] * r->class_count + p->predicted[i]]++;
    }
    for (size_t i = 0; i < r->class_count; i++)
        r->classes[i].accuracy = (double)r->classes[i].right / (double)r->classes[i].count;
}

static status rebuild_from_predictions(rebuilt *b, error *err) {
    predictions p;
    NEED(predictions_read(b->file.folder, &p, err));
    rebuild_classes(&b->run, &p);
    b->run.test_samples = (int64_t)p.samples;
    b->run.accuracy = (double)p.correct_count / (double)p.samples;
    b->run.test_loss = cross_entropy(&p);
    memcpy(b->found, p.file.content, sizeof b->found);
    predictions_release(&p);
    return STATUS_OK;
}

// ---- From any ----

status rebuild(const run *r, metric_file file, rebuilt *b, error *err) {
    status rc = STATUS_OK;
    begin(r, b);
    b->file = metric_file_of(file, r);
    if (file == FILE_STEPS) rc = rebuild_from_steps(b, err);
    if (file == FILE_PREDICTIONS) rc = rebuild_from_predictions(b, err);
    if (file == FILE_TURNS) memcpy(b->found, r->timing->content, sizeof b->found);
    if (rc != STATUS_OK) rebuilt_release(b);
    return rc;
}
