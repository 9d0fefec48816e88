#include "results/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/memory.h"
#include "results/execution.h"
#include "results/gpu_use.h"
#include "results/machine_use.h"
#include "results/statistics.h"
#include "results/verdict_text.h"

// What to add; strings are copied.
typedef struct draft {
    const char *owner, *metric, *unit, *note;
    double value;
    interval range;
    const char *folder, *key; // of the manifest, and in it; NULL without
    const run *run;
    const group *of, *against;
    const char *part; // metric of theirs
} draft;

static const interval no_range = {NAN, NAN};

static status add(figure_list *list, const draft *d, error *err) {
    void *items = list->items;
    status rc = memory_grow(&items, &list->capacity, list->count + 1, sizeof *list->items, err);
    list->items = items;
    if (rc != STATUS_OK) return rc;
    figure f = {.owner = d->owner,
                .value = d->value,
                .low = d->range.low,
                .high = d->range.high,
                .unit = d->unit,
                .run = d->run,
                .of = d->of,
                .against = d->against,
                .part = d->part};
    f.id = memory_format(err, "%s.%s", d->owner, d->metric);
    f.note = memory_string(d->note ? d->note : "", err);
    f.source = d->folder ? memory_format(err, "%s/manifest.yaml: %s", d->folder, d->key)
                         : memory_string("", err);
    if (f.id) f.metric = f.id + strlen(d->owner) + 1;
    list->items[list->count++] = f; // also when it is not whole: the list frees it
    return f.id && f.note && f.source ? STATUS_OK : STATUS_FAILED;
}

static const char *time_note(const run *r) {
    if (!run_has_time(r))
        return r->restarted ? "no time: the run was restarted" : "no time: the run was resumed";
    return r->simulated ? "SIMULATED" : machine_busy_executions(r) ? "BUSY" : "";
}

// A figure of the train manifest. Times are withheld where the run has none.
static status add_trained(figure_list *list, const run *r, const char *metric, double value,
                          const char *unit, const char *key, error *err) {
    bool time = strcmp(unit, "s") == 0 || strcmp(unit, "ms") == 0;
    if (!r->train || (isnan(value) && !time)) return STATUS_OK;
    if (isnan(value) && run_has_time(r)) return STATUS_OK;
    draft d = {.owner = r->name,
               .metric = metric,
               .unit = unit,
               .note = time ? time_note(r) : "",
               .value = time && !run_has_time(r) ? NAN : value,
               .range = no_range,
               .folder = r->folder,
               .key = key,
               .run = r};
    return add(list, &d, err);
}

static status add_accuracy(figure_list *list, const run *r, error *err) {
    if (isnan(r->accuracy)) return STATUS_OK;
    draft d = {.owner = r->name,
               .metric = "accuracy",
               .unit = "fraction",
               .value = r->accuracy,
               .range = no_range,
               .folder = r->folder,
               .key = "results.test_accuracy",
               .run = r};
    if (r->evaluate) {
        d.folder = r->evaluation;
        d.key = "results.accuracy";
        int64_t right = (int64_t)llround(r->accuracy * (double)r->test_samples);
        if (r->test_samples > 0) d.range = statistics_wilson(right, r->test_samples);
    }
    return add(list, &d, err);
}

// A figure of several executions, which --why names; else as it stands in the manifest.
static status add_pooled(figure_list *list, const run *r, const char *metric, double value,
                         const char *unit, const char *key, error *err) {
    if (r->train && run_execution_count(r) == 1)
        return add_trained(list, r, metric, value, unit, key, err);
    if (!r->train || isnan(value)) return STATUS_OK;
    draft d = {.owner = r->name,
               .metric = metric,
               .unit = unit,
               .note = *unit ? time_note(r) : "",
               .value = *unit && !run_has_time(r) ? NAN : value,
               .range = no_range,
               .run = r};
    return add(list, &d, err);
}

static status add_one_execution(figure_list *list, const run *r, size_t at, error *err) {
    const run *e = run_execution(r, at);
    const struct {
        const char *name;
        double value;
    } times[] = {{"seconds_per_epoch", e->seconds_per_epoch}, {"total_seconds", e->total_seconds}};
    for (size_t i = 0; i < 2; i++) {
        char metric[64], key[64];
        snprintf(metric, sizeof metric, "execution.%zu.%s", at + 1, times[i].name);
        snprintf(key, sizeof key, "results.%s", times[i].name);
        draft d = {.owner = r->name,
                   .metric = metric,
                   .unit = "s",
                   .note = time_note(e),
                   .value = run_has_time(e) ? times[i].value : NAN,
                   .range = no_range,
                   .folder = e->folder,
                   .key = key,
                   .run = e};
        status rc = add(list, &d, err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

static status add_times(figure_list *list, const run *r, error *err) {
    const size_t count = run_execution_count(r);
    status rc;
    TRY(add_pooled(list, r, "seconds_per_epoch", r->seconds_per_epoch, "s",
                   "results.seconds_per_epoch", err));
    TRY(add_pooled(list, r, "total_seconds", r->total_seconds, "s", "results.total_seconds", err));
    TRY(add_pooled(list, r, "executions", (double)count, "", "key", err));
    for (size_t i = 0; count > 1 && i < count; i++) TRY(add_one_execution(list, r, i, err));
out:
    return rc;
}

static status add_time_to_target(figure_list *list, const run *r, error *err) {
    const double target = run_target(r);
    char missed[64];
    if (!(target > 0) || !r->epoch_count) return STATUS_OK;
    snprintf(missed, sizeof missed, "%g %% not reached", 100 * target);
    draft d = {.owner = r->name,
               .metric = "seconds_to_target",
               .unit = "s",
               .note = run_reaches(r, target) ? time_note(r) : missed,
               .value = run_time_to(r, target),
               .range = no_range,
               .folder = r->folder,
               .key = "results.epochs.*.seconds",
               .run = r};
    return add(list, &d, err);
}

static status add_classes(figure_list *list, const run *r, error *err) {
    const yaml_node *classes = r->evaluate ? yaml_get(r->evaluate, "results.per_class") : NULL;
    for (size_t i = 0; classes && i < classes->count; i++) {
        run_class c;
        status rc = run_read_class(classes->items[i], &c, err);
        if (rc != STATUS_OK) return rc;
        char *metric = memory_format(err, "class.%s", c.name);
        char *key = memory_format(err, "results.per_class.%zu.accuracy", i);
        draft d = {.owner = r->name,
                   .metric = metric,
                   .unit = "fraction",
                   .value = c.accuracy,
                   .range = statistics_wilson(c.right, c.count),
                   .folder = r->evaluation,
                   .key = key,
                   .run = r};
        rc = metric && key ? add(list, &d, err) : STATUS_FAILED;
        free(metric);
        free(key);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

static status add_split(figure_list *list, const run *r, error *err) {
    run_split split = run_time_split(r);
    for (int p = 0; p < RUN_PHASES; p++) {
        char metric[32], key[48];
        snprintf(metric, sizeof metric, "step.%s", run_phase_name(p));
        snprintf(key, sizeof key, "results.epochs.*.phases.%s", run_phase_name(p));
        status rc = add_trained(list, r, metric, split.phase[p], "ms", key, err);
        if (rc != STATUS_OK) return rc;
    }
    return add_trained(list, r, "step.wall", split.wall, "ms", "results.epochs.*.seconds", err);
}

static status add_epochs(figure_list *list, const run *r, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; i < r->epoch_count; i++) {
        const run_epoch *e = &r->epochs[i];
        const struct {
            const char *name, *unit;
            double value;
        } values[] = {{"loss", "", e->loss},
                      {"accuracy", "fraction", e->accuracy},
                      {"seconds", "s", e->seconds}};
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            char metric[48], key[64];
            snprintf(metric, sizeof metric, "epochs.%zu.%s", i + 1, values[k].name);
            snprintf(key, sizeof key, "results.epochs.%zu.%s", i, values[k].name);
            TRY(add_trained(list, r, metric, values[k].value, values[k].unit, key, err));
        }
    }
out:
    return rc;
}

// ---- Of a strategy ----

// A figure of `run.execution`; the metric is PREFIX.NAME, the key KEY.NAME. Shares and
// milliseconds are times, and say SIMULATED where they must.
static status add_executed(figure_list *list, const run *r, const char *prefix, const char *key,
                           const char *name, double value, const char *unit, error *err) {
    char metric[96], path[128];
    if (isnan(value)) return STATUS_OK;
    snprintf(metric, sizeof metric, "%s%s%s", prefix, *prefix ? "." : "", name);
    snprintf(path, sizeof path, "run.execution.%s%s%s", key, *key ? "." : "", name);
    bool counted = strcmp(unit, "bytes") == 0 || !*unit;
    draft d = {.owner = r->name,
               .metric = metric,
               .unit = unit,
               .note = counted ? "" : time_note(r),
               .value = value,
               .range = no_range,
               .folder = r->folder,
               .key = path,
               .run = r};
    return add(list, &d, err);
}

static double known(int64_t count) {
    return count < 0 ? NAN : (double)count;
}

static status add_devices(figure_list *list, const run *r, const execution *e, const char *what,
                          error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; i < e->count; i++) {
        const device_use *d = &e->devices[i];
        char prefix[32], key[32];
        snprintf(prefix, sizeof prefix, "%s.%zu", what, i);
        snprintf(key, sizeof key, "%ss.%zu", what, i);
        TRY(add_executed(list, r, prefix, key, "busy", d->busy, "fraction", err));
        TRY(add_executed(list, r, prefix, key, "waiting", d->waiting, "fraction", err));
        TRY(add_executed(list, r, prefix, key, "bytes_sent_per_step", known(d->bytes_sent), "bytes",
                         err));
        TRY(add_executed(list, r, prefix, key, "bytes", known(d->memory), "bytes", err));
    }
out:
    return rc;
}

static status add_replicas(figure_list *list, const run *r, const execution *e, error *err) {
    status rc = STATUS_OK;
    for (int k = 0; k < EXECUTION_ACTIVITIES; k++)
        TRY(add_executed(list, r, "dp", "seconds_per_step", execution_activity(k),
                         1000 * e->seconds[k], "ms", err));
    for (int k = 0; k < EXECUTION_ACTIVITIES; k++)
        TRY(add_executed(list, r, "dp.bytes", "bytes_per_step", execution_activity(k),
                         known(e->bytes[k]), "bytes", err));
    TRY(add_devices(list, r, e, "replica", err));
out:
    return rc;
}

static status add_stages(figure_list *list, const run *r, const execution *e, error *err) {
    status rc = STATUS_OK;
    TRY(add_executed(list, r, "", "", "micro_batches", e->micro_batches, "", err));
    TRY(add_executed(list, r, "", "", "bubble_measured", e->bubble_measured, "fraction", err));
    TRY(add_executed(list, r, "", "", "bubble_predicted", e->bubble_predicted, "", err));
    TRY(add_devices(list, r, e, "stage", err));
out:
    return rc;
}

static status add_ranks(figure_list *list, const run *r, const execution *e, error *err) {
    status rc;
    TRY(add_executed(list, r, "", "", "vectors_per_reduction", e->vectors, "", err));
    TRY(add_executed(list, r, "", "", "bytes_sent_per_step", known(e->bytes_sent), "bytes", err));
    TRY(add_executed(list, r, "", "", "hidden_comm_per_step", e->hidden_comm, "s", err));
out:
    return rc;
}

// The mean use of those who compute, from the phases; where there are several also what the
// strategy says of itself. Nothing of a resumed run.
static status add_execution(figure_list *list, const run *r, error *err) {
    const device_use use = execution_mean_use(r);
    execution e;
    if (!execution_has_times(r)) return STATUS_OK;
    status rc = execution_read(r, &e, err);
    if (rc != STATUS_OK) return rc;
    const struct {
        const char *name;
        double value;
    } shares[] = {{"busy", use.busy}, {"copying", use.copying}, {"waiting", use.waiting}};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        draft d = {.owner = r->name,
                   .metric = shares[i].name,
                   .unit = "fraction",
                   .note = time_note(r),
                   .value = shares[i].value,
                   .range = no_range,
                   .folder = r->folder,
                   .key = "results.epochs.*.phases",
                   .run = r};
        TRY(add(list, &d, err));
    }
    if (e.kind == EXECUTION_REPLICAS) TRY(add_replicas(list, r, &e, err));
    if (e.kind == EXECUTION_STAGES) TRY(add_stages(list, r, &e, err));
    if (e.kind == EXECUTION_RANKS) TRY(add_ranks(list, r, &e, err));
out:
    execution_release(&e);
    return rc;
}

// ---- Of the GPUs ----

static status add_gpus(figure_list *list, const run *r, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; i < gpu_use_count(r); i++) {
        gpu_use use;
        TRY(gpu_use_read(r, i, &use, err));
        for (int k = 0; k < GPU_USES; k++) {
            char metric[64], key[64];
            snprintf(metric, sizeof metric, "gpu.%zu.%s", i, gpu_use_key(k));
            snprintf(key, sizeof key, "run.gpus.%zu.%s", i, gpu_use_key(k));
            TRY(add_trained(list, r, metric, use.value[k], gpu_use_unit(k), key, err));
        }
    }
out:
    return rc;
}

status figures_of_run(figure_list *list, const run *r, error *err) {
    status rc = STATUS_OK;
    TRY(add_accuracy(list, r, err));
    if (r->evaluate && !isnan(r->test_loss)) {
        draft d = {.owner = r->name,
                   .metric = "test_loss",
                   .unit = "",
                   .value = r->test_loss,
                   .range = no_range,
                   .folder = r->evaluation,
                   .key = "results.loss",
                   .run = r};
        TRY(add(list, &d, err));
    }
    TRY(add_times(list, r, err));
    TRY(add_trained(list, r, "train_loss", r->train_loss, "", "results.train_loss", err));
    TRY(add_trained(list, r, "steps", r->steps < 0 ? NAN : (double)r->steps, "", "results.steps",
                    err));
    TRY(add_time_to_target(list, r, err));
    TRY(add_split(list, r, err));
    TRY(add_execution(list, r, err));
    TRY(add_gpus(list, r, err));
    TRY(add_classes(list, r, err));
    TRY(add_epochs(list, r, err));
out:
    return rc;
}

status figures_of_group(figure_list *list, const group *g, error *err) {
    status rc = STATUS_OK;
    if (g->count < 2) return rc;
    group_summary s;
    TRY(group_summarize(g, &s, err));
    draft accuracy = {.owner = g->name,
                      .metric = "mean_accuracy",
                      .unit = "fraction",
                      .value = s.accuracy,
                      .range = s.accuracy_range,
                      .of = g,
                      .part = "accuracy"};
    draft seconds = {.owner = g->name,
                     .metric = "mean_seconds_per_epoch",
                     .unit = "s",
                     .note = s.simulated ? "SIMULATED" : "",
                     .value = s.seconds,
                     .range = s.seconds_range,
                     .of = g,
                     .part = "seconds_per_epoch"};
    if (!isnan(s.accuracy)) TRY(add(list, &accuracy, err));
    if (!isnan(s.seconds)) TRY(add(list, &seconds, err));
out:
    return rc;
}

// The verdicts of a comparison in words, as notes.
typedef struct verdict_notes {
    text time, accuracy;
} verdict_notes;

static void make_notes(const comparison *c, verdict_notes *n, error *err) {
    text_init(&n->time, err);
    text_init(&n->accuracy, err);
    if (c->simulated && !c->reasons) text_append(&n->time, "SIMULATED: ");
    verdict_append_time(&n->time, c, VERDICT_WORD, LANGUAGE_EN);
    if (c->identical)
        text_append(&n->accuracy, "identical");
    else
        verdict_append_accuracy(&n->accuracy, c, VERDICT_WORD, LANGUAGE_EN);
}

static void release_notes(verdict_notes *n) {
    text_release(&n->time);
    text_release(&n->accuracy);
}

// What both give.
static status add_compared(figure_list *list, const char *owner, const comparison *c,
                           const draft *drafts, size_t count, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < count; i++) {
        draft d = drafts[i];
        d.owner = owner;
        d.of = c->subject;
        d.against = c->baseline;
        rc = add(list, &d, err);
    }
    return rc;
}

status figures_of_comparison(figure_list *list, const comparison *c, error *err) {
    verdict_notes notes;
    make_notes(c, &notes, err);
    const draft drafts[] = {
        {.metric = "speedup",
         .unit = "x",
         .note = text_string(&notes.time),
         .value = c->speedup.value,
         .range = c->speedup.range,
         .part = "seconds_per_epoch"},
        {.metric = "accuracy_difference",
         .unit = "fraction",
         .note = text_string(&notes.accuracy),
         .value = c->accuracy_difference,
         .range = c->accuracy_range,
         .part = "accuracy"},
    };
    const size_t count = isnan(c->accuracy_difference) ? 1 : 2;
    status rc = add_compared(list, c->subject->name, c, drafts, count, err);
    release_notes(&notes);
    return rc;
}

// ---- Of a plan ----

static status add_step(figure_list *list, const char *owner, const comparison *c, error *err) {
    verdict_notes notes;
    make_notes(c, &notes, err);
    const char *time = text_string(&notes.time), *of_accuracy = text_string(&notes.accuracy);
    const draft drafts[] = {
        {.metric = "seconds_per_epoch_effect",
         .unit = "s",
         .note = time,
         .value = c->seconds.value,
         .range = c->seconds.range,
         .part = "seconds_per_epoch"},
        {.metric = "total_seconds_effect",
         .unit = "s",
         .note = c->reasons     ? time
                 : c->simulated ? "SIMULATED"
                                : "",
         .value = c->total.value,
         .range = c->total.range,
         .part = "total_seconds"},
        {.metric = "time_ratio",
         .unit = "x",
         .note = time,
         .value = c->speedup.value,
         .range = c->speedup.range,
         .part = "seconds_per_epoch"},
        {.metric = "accuracy_effect",
         .unit = "fraction",
         .note = of_accuracy,
         .value = c->accuracy_difference,
         .range = c->accuracy_range,
         .part = "accuracy"},
    };
    status rc = add_compared(list, owner, c, drafts, sizeof drafts / sizeof *drafts, err);
    release_notes(&notes);
    return rc;
}

static status add_load_share(figure_list *list, const planned *one, error *err) {
    estimate share;
    status rc = plan_load_share(&one->runs, &share, err);
    if (rc != STATUS_OK || isnan(share.value)) return rc;
    draft d = {.owner = one->name,
               .metric = "load_share",
               .unit = "fraction",
               .note = one->runs.runs[0]->simulated ? "SIMULATED" : "",
               .value = share.value,
               .range = share.range,
               .of = &one->runs,
               .part = "step.load"};
    return add(list, &d, err);
}

status figures_of_plan(figure_list *list, const plan *p, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; i < p->count; i++) {
        if (p->items[i].compared) TRY(add_step(list, p->items[i].name, &p->items[i].step, err));
        TRY(add_load_share(list, &p->items[i], err));
    }
    if (p->ladder) TRY(add_step(list, "all", &p->all, err));
out:
    return rc;
}

// ---- Of a prediction ----

static const char *prediction_note(const prediction *p) {
    if (p->reason) return p->reason;
    return p->subject->runs[0]->simulated ? "prediction; SIMULATED" : "prediction";
}

status figures_of_prediction(figure_list *list, const prediction *p, const collectives *measured,
                             error *err) {
    const double there = p->projects ? epoch_parts_sum(&p->there) : NAN;
    const struct {
        const char *metric, *unit, *note;
        double value;
        interval range;
    } values[] = {
        {"predicted_seconds_per_epoch", "s", prediction_note(p),
         p->reason ? NAN : epoch_parts_sum(&p->here), p->range},
        {"prediction_error", "fraction", prediction_note(p), p->reason ? NAN : p->error, no_range},
        {"projected_seconds_per_epoch", "s", "projection to a device for each rank", there,
         no_range},
        {"projected_ratio", "x", "projection to a device for each rank", p->basis_seconds / there,
         no_range},
    };
    status rc = STATUS_OK;
    char *key = p->cost ? memory_format(err, "results.world_sizes.%td", p->cost - measured->items)
                        : memory_string("results.world_sizes", err);
    if (!key) return STATUS_FAILED;
    for (size_t i = 0; i < (p->projects ? 4 : 2); i++) {
        const draft d = {.owner = p->subject->name,
                         .metric = values[i].metric,
                         .unit = values[i].unit,
                         .note = values[i].note,
                         .value = values[i].value,
                         .range = values[i].range,
                         .folder = measured->folder,
                         .key = key,
                         .of = p->subject,
                         .against = p->basis,
                         .part = "seconds_per_epoch"};
        TRY(add(list, &d, err));
    }
out:
    free(key);
    return rc;
}

void figures_release(figure_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].id);
        free(list->items[i].note);
        free(list->items[i].source);
    }
    free(list->items);
    *list = (figure_list){0};
}

const figure *figures_find(const figure_list *list, const char *id) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].id, id) == 0) return &list->items[i];
    return NULL;
}

const char *figures_nearest(const figure_list *list, const char *id, error *err) {
    const char **ids = memory_new(list->count, sizeof *ids, err);
    if (!ids) return NULL;
    for (size_t i = 0; i < list->count; i++) ids[i] = list->items[i].id;
    const char *nearest = cli_nearest(id, ids, list->count);
    free(ids);
    return nearest;
}

// ---- CSV ----

static void write_field(text *out, const char *string) {
    if (!strpbrk(string, ",\"\r\n")) {
        text_append(out, string);
        return;
    }
    text_append(out, "\"");
    for (; *string; string++)
        text_bytes(out, *string == '"' ? "\"\"" : string, *string == '"' ? 2 : 1);
    text_append(out, "\"");
}

static void write_number(text *out, double value) {
    if (isfinite(value)) text_format(out, "%.9g", value);
}

void figures_to_csv(const figure_list *list, text *out) {
    text_append(out, "id,owner,metric,value,low,high,unit,note,source,model\n");
    for (size_t i = 0; i < list->count; i++) {
        const figure *f = &list->items[i];
        const char *head[] = {f->id, f->owner, f->metric};
        for (int k = 0; k < 3; k++) {
            write_field(out, head[k]);
            text_append(out, ",");
        }
        write_number(out, f->value);
        text_append(out, ",");
        write_number(out, f->low);
        text_append(out, ",");
        write_number(out, f->high);
        const char *tail[] = {f->unit, f->note, f->source, f->run ? f->run->model_content : ""};
        for (int k = 0; k < 4; k++) {
            text_append(out, ",");
            write_field(out, tail[k]);
        }
        text_append(out, "\n");
    }
}
