#include "results/recompute.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "results/predictions.h"
#include "results/statistics.h"
#include "results/steps.h"

static void note_file(recomputed *again, const yaml_node *root, const char *name,
                      const tensor_file *file) {
    again->file = name;
    snprintf(again->recorded, sizeof again->recorded, "%s",
             run_text(run_file(root, "outputs", name), "content"));
    memcpy(again->found, file->content, sizeof again->found);
}

// ---- From predictions ----

static void accuracy_of(const predictions *p, recomputed *again) {
    again->value = (double)p->right_count / (double)p->samples;
    snprintf(again->how, sizeof again->how, "%lld of %zu right", (long long)p->right_count,
             p->samples);
}

static void loss_of(const predictions *p, recomputed *again) {
    double sum = 0;
    for (size_t i = 0; i < p->samples; i++) {
        const float *row = p->logits + i * p->classes;
        double most = row[0], total = 0;
        for (size_t k = 1; k < p->classes; k++) most = fmax(most, row[k]);
        for (size_t k = 0; k < p->classes; k++) total += exp(row[k] - most);
        sum += log(total) + most - row[p->labels[i]];
    }
    again->value = sum / (double)p->samples;
    again->tolerance = 1e-4; // the logits are single precision
    snprintf(again->how, sizeof again->how, "mean cross-entropy of %zu sample%s", p->samples,
             p->samples == 1 ? "" : "s");
}

// The place of a class in per_class, which is its label; -1 when there is none.
static int label_of(const run *r, const char *name) {
    const yaml_node *classes = yaml_get(r->evaluate, "results.per_class");
    run_class c;
    for (size_t i = 0; classes && i < classes->count; i++)
        if (run_read_class(classes->items[i], &c, NULL) == STATUS_OK && strcmp(c.name, name) == 0)
            return (int)i;
    return -1;
}

static void class_of(const predictions *p, uint32_t label, recomputed *again) {
    int64_t count = 0, right = 0;
    for (size_t i = 0; i < p->samples; i++) {
        if (p->labels[i] != label) continue;
        count++;
        right += p->right[i];
    }
    again->value = (double)right / (double)count;
    snprintf(again->how, sizeof again->how, "%lld of %lld right", (long long)right,
             (long long)count);
}

static status from_predictions(const figure *f, recomputed *again, error *err) {
    const run *r = f->run;
    predictions p;
    status rc = predictions_read(r->evaluation, &p, err);
    if (rc != STATUS_OK) return rc;
    note_file(again, r->evaluate, "predictions.st.zst", &p.file);
    if (strcmp(f->metric, "accuracy") == 0)
        accuracy_of(&p, again);
    else if (strcmp(f->metric, "test_loss") == 0)
        loss_of(&p, again);
    else
        class_of(&p, (uint32_t)label_of(r, f->metric + strlen("class.")), again);
    predictions_release(&p);
    return STATUS_OK;
}

// ---- From steps ----

// Samples that shard v gives to step `step` of an epoch: its next global_batch / V, while it has
// them; samples are dealt to shards like cards.
static int64_t samples_of_shard(const run *r, size_t step, int64_t v) {
    int64_t shards = r->virtual_shards, share = r->global_batch / shards;
    int64_t size = r->samples / shards + (v < r->samples % shards);
    int64_t left = size - (int64_t)step * share;
    return left < 0 ? 0 : left < share ? left : share;
}

static double samples_in_step(const run *r, size_t step) {
    int64_t total = 0;
    for (int64_t v = 0; v < r->virtual_shards; v++) total += samples_of_shard(r, step, v);
    return (double)total;
}

static size_t steps_per_epoch(const run *r, const steps *s) {
    return r->epoch_count ? s->count / r->epoch_count : 0;
}

static double epoch_loss(const run *r, const steps *s, size_t epoch) {
    size_t n = steps_per_epoch(r, s);
    double sum = 0, samples = 0;
    for (size_t i = 0; i < n; i++) {
        double weight = samples_in_step(r, i);
        sum += weight * s->loss[epoch * n + i];
        samples += weight;
    }
    return sum / samples;
}

// Seconds of one epoch in a series of nanoseconds.
static double epoch_seconds(const run *r, const steps *s, const uint64_t *ns, size_t epoch) {
    size_t n = steps_per_epoch(r, s);
    uint64_t sum = 0;
    for (size_t i = 0; ns && i < n; i++) sum += ns[epoch * n + i];
    return ns ? (double)sum / 1e9 : NAN;
}

static status median_epoch(const run *r, const steps *s, recomputed *again, error *err) {
    size_t first = r->epoch_count > 1 ? 1 : 0, count = r->epoch_count - first;
    double *seconds = memory_new(count, sizeof *seconds, err);
    if (!seconds) return STATUS_FAILED;
    for (size_t i = 0; i < count; i++) seconds[i] = epoch_seconds(r, s, s->wall, first + i);
    again->value = statistics_median(seconds, count);
    snprintf(again->how, sizeof again->how, "median of %zu epoch%s", count, count == 1 ? "" : "s");
    free(seconds);
    return STATUS_OK;
}

// The accuracies are the trainer's own: only the times come from the steps.
static void time_to_target(const run *r, const steps *s, recomputed *again) {
    double seconds = 0;
    for (size_t i = 0; i < r->epoch_count && isnan(again->value); i++) {
        seconds += epoch_seconds(r, s, s->wall, i);
        if (r->epochs[i].accuracy < run_target(r)) continue;
        again->value = seconds;
        snprintf(again->how, sizeof again->how, "sum of the first %zu epoch%s", i + 1,
                 i ? "s" : "");
    }
}

static void phase_ms(const run *r, const steps *s, const char *name, recomputed *again) {
    const uint64_t *ns = strcmp(name, "wall") == 0 ? s->wall : NULL;
    for (int p = 0; p < RUN_PHASES; p++)
        if (strcmp(name, run_phase_name(p)) == 0) ns = s->phase[p];
    size_t first = r->epoch_count > 1 ? 1 : 0, n = steps_per_epoch(r, s);
    double sum = 0;
    for (size_t i = first; i < r->epoch_count; i++) sum += epoch_seconds(r, s, ns, i);
    size_t timed = n * (r->epoch_count - first);
    again->value = 1000 * sum / (double)timed;
    snprintf(again->how, sizeof again->how, "mean of %zu step%s", timed, timed == 1 ? "" : "s");
}

// Shares of the wall time that go to some phases, over the timed epochs.
static void share_of(const run *r, const steps *s, const char *metric, recomputed *again) {
    static const char *const names[] = {"copy", "comm", "wait"};
    const bool busy = strcmp(metric, "busy") == 0;
    const size_t first = strcmp(metric, "waiting") == 0 ? 2 : 0,
                 end = strcmp(metric, "copying") == 0 ? 2 : 3;
    double ms = 0;
    for (size_t i = first; i < end; i++) {
        phase_ms(r, s, names[i], again);
        ms += again->value;
    }
    phase_ms(r, s, "wall", again);
    again->value = busy ? 1 - ms / again->value : ms / again->value;
}

// (S - 1) / (M + S - 1) of S stages. The M micro-batches are the shards that a step has samples of;
// under sync_batch_norm all go as one.
static void predict_bubble(const run *r, const steps *s, recomputed *again) {
    const bool together = strcmp(run_text(r->train, "parameters.sync_batch_norm"), "true") == 0;
    const size_t n = steps_per_epoch(r, s);
    const double stages = (double)r->world_size;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        for (int64_t v = 0; v < (together ? 1 : r->virtual_shards); v++)
            sum += samples_of_shard(r, i, v) > 0;
    const double m = sum / (double)n;
    again->value = (stages - 1) / (m + stages - 1);
    snprintf(again->how, sizeof again->how, "(S - 1) / (M + S - 1), S = %g, M = %g", stages, m);
}

static status compute_from_steps(const figure *f, const steps *s, recomputed *again, error *err) {
    const run *r = f->run;
    size_t epoch = r->epoch_count;
    char what[16] = "";
    again->tolerance = 1e-6;
    if (strcmp(f->metric, "steps") == 0) {
        again->value = (double)s->count;
        snprintf(again->how, sizeof again->how, "values in the file");
    } else if (strcmp(f->metric, "seconds_to_target") == 0) {
        time_to_target(r, s, again);
    } else if (strcmp(f->metric, "seconds_per_epoch") == 0) {
        return median_epoch(r, s, again, err);
    } else if (strncmp(f->metric, "step.", 5) == 0) {
        phase_ms(r, s, f->metric + 5, again);
    } else if (strcmp(f->metric, "busy") == 0 || strcmp(f->metric, "copying") == 0 ||
               strcmp(f->metric, "waiting") == 0) {
        share_of(r, s, f->metric, again);
    } else if (strcmp(f->metric, "bubble_predicted") == 0) {
        predict_bubble(r, s, again);
    } else if (strcmp(f->metric, "train_loss") == 0 ||
               sscanf(f->metric, "epochs.%zu.%15s", &epoch, what) == 2) {
        if (epoch < 1 || epoch > r->epoch_count) return STATUS_OK;
        bool time = strcmp(what, "seconds") == 0;
        if (strcmp(what, "accuracy") == 0) return STATUS_OK;
        again->value = time ? epoch_seconds(r, s, s->wall, epoch - 1) : epoch_loss(r, s, epoch - 1);
        size_t n = steps_per_epoch(r, s);
        snprintf(again->how, sizeof again->how, "%s of %zu step%s",
                 time ? "sum" : "mean over the samples", n, n == 1 ? "" : "s");
    }
    return STATUS_OK;
}

static status from_steps(const figure *f, recomputed *again, error *err) {
    steps s;
    status rc = steps_read(f->run, &s, err);
    if (rc != STATUS_OK) return rc;
    if (f->run->virtual_shards > 0 && f->run->samples > 0)
        rc = compute_from_steps(f, &s, again, err);
    if (!isnan(again->value)) note_file(again, f->run->train, "steps.st.zst", &s.file);
    steps_release(&s);
    return rc;
}

// A figure of one of several executions is called execution.N.METRIC, and is that execution's own.
static figure own_figure(const figure *f) {
    figure own = *f;
    int length = 0;
    if (sscanf(f->metric, "execution.%*u.%n", &length) == 0 && length) own.metric += length;
    return own;
}

status recompute(const figure *of, recomputed *again, error *err) {
    const figure own = own_figure(of), *f = &own;
    *again = (recomputed){.value = NAN, .tolerance = 1e-9};
    bool tested = strcmp(f->metric, "accuracy") == 0 || strcmp(f->metric, "test_loss") == 0 ||
                  strncmp(f->metric, "class.", 6) == 0;
    if (!f->run) return STATUS_OK;
    if (tested) return f->run->evaluate ? from_predictions(f, again, err) : STATUS_OK;
    return f->run->train ? from_steps(f, again, err) : STATUS_OK;
}
