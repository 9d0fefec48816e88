// SPDX-License-Identifier: MIT
#include "results/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "results/execution.h"
#include "results/steps.h"
#include "results/timed_arms.h"

// ---- Values computed from the manifest, or differently for a rebuilt run ----

static double known(int64_t count) {
    return count < 0 ? NAN : (double)count;
}

// Converts milliseconds per step to microseconds per sample: the same unit for all batch sizes.
static double samples_scale(const run *r) {
    return 1000 * r->steps_per_epoch / (double)r->samples;
}

#define VALUE(name, expression)                       \
    static double name(const run *r, size_t member) { \
        (void)member;                                 \
        return expression;                            \
    }
VALUE(accuracy, r->accuracy)
VALUE(test_loss, r->evaluate ? r->test_loss : NAN)
VALUE(seconds_per_epoch, r->seconds_per_epoch)
VALUE(total_seconds, r->total_seconds)
VALUE(executions, (double)run_execution_count(r))
VALUE(turn_executions,
      r->timing ? (double)turn_evidence_shown(&r->timing->evidence)->executions : NAN)
VALUE(turn_seconds, timed_arms_execution(r, member))
VALUE(train_loss, r->train_loss)
VALUE(step_count, known(r->steps))
VALUE(world_size, known(r->world_size))
VALUE(virtual_shards, known(r->virtual_shards))
VALUE(global_batch, known(r->global_batch))
VALUE(planned_epochs, r->planned_epochs)
VALUE(learning_rate, r->lr)
VALUE(seconds_to_target, run_time_to(r, run_target(r)))
VALUE(phase, run_time_split(r).phase[member])
VALUE(wall, run_time_split(r).wall)
VALUE(rest, run_time_split(r).wall - run_time_split(r).phase[RUN_LOAD])
VALUE(phases, run_time_split(r).sum)
VALUE(sample_phase, run_time_split(r).phase[member] * samples_scale(r))
VALUE(sample_phases, run_time_split(r).sum *samples_scale(r))
VALUE(sample_wall, run_time_split(r).wall *samples_scale(r))
VALUE(class_accuracy, r->classes[member].accuracy)
VALUE(class_samples, known(r->classes[member].count))
VALUE(confused, known(r->confusion[member]))
VALUE(epoch_loss, r->epochs[member].loss)
VALUE(epoch_accuracy, r->epochs[member].accuracy)
VALUE(epoch_seconds, r->epochs[member].seconds)

// The share of a step taken by phases of these kinds. This defines the busy fraction: time spent
// neither copying, nor reducing, nor waiting.
static double share_of(const run *r, bool copying, bool reducing, bool waiting) {
    const run_split split = run_time_split(r);
    const double ms = (copying ? split.phase[RUN_COPY] : 0) +
                      (reducing ? split.phase[RUN_COMM] : 0) +
                      (waiting ? split.phase[RUN_WAIT] : 0);
    return ms / split.wall;
}
VALUE(busy, 1 - share_of(r, true, true, true))
VALUE(copying, share_of(r, true, true, false))
VALUE(waiting, share_of(r, false, false, true))
VALUE(exposed_comm, share_of(r, false, true, false))

static double without_core(const run *r) {
    const execution_load u = execution_load_of(r);
    return execution_without_core(&u);
}
VALUE(no_core, without_core(r))
VALUE(fewer_threads, execution_load_of(r).fewer)

VALUE(replica_copying, execution_copying(r, "replicas", member))
VALUE(stage_copying, execution_copying(r, "stages", member))
VALUE(activities, 1000 * execution_step_seconds(r))
VALUE(crossing_bytes, execution_step_bytes(r))
VALUE(master_alone, execution_master_share(r))

// (S - 1) / (M + S - 1) of S stages.
VALUE(bubble, ((double)r->world_size - 1) / (steps_micro_batches(r) + (double)r->world_size - 1))

static interval range_of_accuracy(const run *r, size_t member) {
    (void)member;
    if (!r->evaluate || r->test_samples <= 0) return (interval){NAN, NAN};
    return interval_wilson((int64_t)llround(r->accuracy * (double)r->test_samples),
                           r->test_samples);
}

static interval range_of_epoch(const run *r, size_t member) {
    (void)member;
    return r->timing ? timed_arms_epoch(r).range : (interval){NAN, NAN};
}

static interval range_of_class(const run *r, size_t member) {
    return interval_wilson(r->classes[member].right, r->classes[member].count);
}

// ---- Counts used in recomputing ----

static double epochs_to_target(const run *r) {
    size_t epochs = 0;
    while (epochs < r->epoch_count && !(r->epochs[epochs].accuracy >= run_target(r))) epochs++;
    return (double)epochs + 1;
}

#define OF(name, first, second)                              \
    static metric_counts name(const run *r, size_t member) { \
        (void)r;                                             \
        (void)member;                                        \
        return (metric_counts){first, second};               \
    }
OF(of_samples, (double)r->test_samples * r->accuracy, (double)r->test_samples)
OF(of_all_samples, (double)r->test_samples, NAN)
OF(of_class, (double)r->classes[member].right, (double)r->classes[member].count)
OF(of_file, NAN, NAN)
OF(of_epochs, (double)r->timed, NAN)
OF(of_steps, run_timed_epochs(r).steps, NAN)
OF(of_epoch, run_epoch_steps(r, member), NAN)
OF(of_target, epochs_to_target(r), NAN)
OF(of_turns, (double)turn_evidence_shown(&r->timing->evidence)->rounds[member], NAN)
OF(of_bubble, (double)r->world_size, steps_micro_batches(r))

// ---- The table ----

// clang-format off
#define PERCENT   .style = {"%.2f", 100, " %"}
#define SHARE     .style = {"%.1f", 100, " %"}
#define SECONDS   .style = {NULL, 1, ""}
#define COUNT     .style = {"%.0f", 1, ""}
#define MS(digits) .style = {"%." #digits "f", 1, ""}
#define MEBIBYTES .style = {"%.1f", 1.0 / (1 << 20), ""}
#define FROM(kind, within, way, of)                                                            \
    .file = kind, .tolerance = within, .how = way, .counts = of
#define STEPS(way, of) FROM(FILE_STEPS, 1e-6, way, of)
#define MEAN_OF_STEPS STEPS("mean of %g step%s", of_steps)
#define MEDIAN_OF_EPOCHS STEPS("median of %g epoch%s", of_epochs)
#define PREDICTIONS(way, of) FROM(FILE_PREDICTIONS, 1e-9, way, of)
#define TURNS(way, of) FROM(FILE_TURNS, 1e-9, way, of)

static const metric_row table[] = {
    {"accuracy", "fraction", PERCENT, METRIC_RESULT,
     .key = "results.test_accuracy", .tested = "results.accuracy",
     .value = accuracy, .range = range_of_accuracy, PREDICTIONS("%.0f of %g correct", of_samples)},
    {"test_loss", "", {"%.4f", 1, ""}, METRIC_RESULT,
     .tested = "results.loss", .value = test_loss,
     // The logits are single precision.
     FROM(FILE_PREDICTIONS, 1e-4, "mean cross-entropy of %g sample%s", of_all_samples)},
    {"seconds_per_epoch", "s", SECONDS, METRIC_POOLED,
     .key = "results.seconds_per_epoch", .value = seconds_per_epoch, .range = range_of_epoch, MEDIAN_OF_EPOCHS},
    {"total_seconds", "s", SECONDS, METRIC_POOLED,
     .key = "results.total_seconds", .value = total_seconds, STEPS("value in the file", of_file)},
    {"executions", "", COUNT, METRIC_POOLED,
     .key = "key", .value = executions},
    {"execution.#.seconds_per_epoch", "s", SECONDS, METRIC_TIME, OVER_EXECUTIONS,
     .key = "results.seconds_per_epoch", .value = seconds_per_epoch, MEDIAN_OF_EPOCHS},
    {"execution.#.total_seconds", "s", SECONDS, METRIC_TIME, OVER_EXECUTIONS,
     .key = "results.total_seconds", .value = total_seconds, STEPS("value in the file", of_file)},
    {"turns", "", COUNT, METRIC_TIME,
     .key = "results.executions", .value = turn_executions, TURNS("values in the file", of_file)},
    {"turns.#.seconds_per_epoch", "s", SECONDS, METRIC_TIME, OVER_TURNS,
     .key = "steps.ns", .value = turn_seconds, TURNS("fit of %g turn%s", of_turns)},
    {"train_loss", "", {"%.4f", 1, ""}, METRIC_RESULT,
     .key = "results.train_loss", .value = train_loss, STEPS("mean over the samples of %g step%s", of_epoch)},
    {"steps", "", COUNT, METRIC_RESULT,
     .key = "results.steps", .value = step_count, STEPS("values in the file", of_file)},

    {"epochs", "", {"%.9g", 1, ""}, METRIC_PARAMETER,
     .key = "parameters.epochs", .value = planned_epochs},
    {"world_size", "", COUNT, METRIC_PARAMETER,
     .key = "run.execution.world_size", .value = world_size},
    {"virtual_shards", "", COUNT, METRIC_PARAMETER,
     .key = "parameters.virtual_shards", .value = virtual_shards},
    {"global_batch", "", COUNT, METRIC_PARAMETER,
     .key = "parameters.global_batch", .value = global_batch},
    // After scaling, before the schedule.
    {"lr", "", {"%g", 1, ""}, METRIC_PARAMETER,
     .key = "parameters.optimizer.lr", .value = learning_rate},

    {"seconds_to_target", "s", SECONDS, METRIC_TIME,
     .key = "results.epochs.*.seconds", .value = seconds_to_target, STEPS("sum of the first %g epoch%s", of_target)},
    {"step.#", "ms", MS(3), METRIC_TIME, OVER_PHASES,
     .key = "results.epochs.*.phases.#", .value = phase, MEAN_OF_STEPS},
    {"step.wall", "ms", MS(3), METRIC_TIME,
     .key = "results.epochs.*.seconds", .value = wall, MEAN_OF_STEPS},
    {"step.rest", "ms", MS(3), METRIC_TIME,
     .key = "results.epochs.*.phases.load", .value = rest, MEAN_OF_STEPS},
    {"step.sum", "ms", MS(3), METRIC_TIME,
     .key = "results.epochs.*.phases", .value = phases, MEAN_OF_STEPS},
    {"busy", "fraction", SHARE, METRIC_USE,
     .key = "results.epochs.*.phases", .value = busy, MEAN_OF_STEPS},
    {"copying", "fraction", SHARE, METRIC_USE,
     .key = "results.epochs.*.phases", .value = copying, MEAN_OF_STEPS},
    {"waiting", "fraction", SHARE, METRIC_USE,
     .key = "results.epochs.*.phases", .value = waiting, MEAN_OF_STEPS},
    {"no_core", "fraction", SHARE, METRIC_USE,
     .key = "run.execution.machine.waited_seconds", .value = no_core},
    {"fewer_threads", "fraction", SHARE, METRIC_USE,
     .key = "run.execution.threads_used", .value = fewer_threads},
    {"exposed_comm", "fraction", SHARE, METRIC_USE,
     .key = "results.epochs.*.phases.comm", .value = exposed_comm, MEAN_OF_STEPS},
    {"sample.#", "µs", MS(2), METRIC_TIME, OVER_PHASES,
     .key = "results.epochs.*.phases.#", .value = sample_phase, MEAN_OF_STEPS},
    {"sample.sum", "µs", MS(2), METRIC_TIME,
     .key = "results.epochs.*.phases", .value = sample_phases, MEAN_OF_STEPS},
    {"sample.wall", "µs", MS(2), METRIC_TIME,
     .key = "results.epochs.*.seconds", .value = sample_wall, MEAN_OF_STEPS},

    {"dp.bytes.#", "bytes", COUNT, METRIC_USE, OVER_ACTIVITIES,
     .key = "run.execution.bytes_per_step.#"},
    {"dp.#", "ms", {"%.4f", 1, ""}, METRIC_USE, OVER_ACTIVITIES,
     .key = "run.execution.seconds_per_step.#", .factor = 1000},
    {"dp.bytes", "bytes", COUNT, METRIC_USE,
     .key = "run.execution.bytes_per_step", .value = crossing_bytes},
    {"dp.sum", "ms", {"%.4f", 1, ""}, METRIC_USE,
     .key = "run.execution.seconds_per_step", .value = activities},
    {"dp.master_alone", "fraction", SHARE, METRIC_USE,
     .key = "run.execution.seconds_per_step", .value = master_alone},
    {"replica.#.busy", "fraction", SHARE, METRIC_USE, OVER_REPLICAS,
     .key = "run.execution.replicas.#.busy"},
    {"replica.#.copying", "fraction", SHARE, METRIC_USE, OVER_REPLICAS,
     .key = "run.execution.replicas.#", .value = replica_copying},
    {"replica.#.waiting", "fraction", SHARE, METRIC_USE, OVER_REPLICAS,
     .key = "run.execution.replicas.#.waiting"},
    {"replica.#.bytes_sent_per_step", "bytes", COUNT, METRIC_USE,
     OVER_REPLICAS, .key = "run.execution.replicas.#.bytes_sent_per_step"},
    {"replica.#.bytes", "bytes", MEBIBYTES, METRIC_USE, OVER_REPLICAS,
     .key = "run.execution.replicas.#.bytes"},
    {"micro_batches", "", {"%.4g", 1, ""}, METRIC_USE,
     .key = "run.execution.micro_batches"},
    {"bubble_measured", "fraction", SHARE, METRIC_USE,
     .key = "run.execution.bubble_measured"},
    {"bubble_predicted", "", SHARE, METRIC_USE,
     .key = "run.execution.bubble_predicted", .recompute = bubble, STEPS("(S - 1) / (M + S - 1), S = %g, M = %g", of_bubble)},
    {"stage.#.busy", "fraction", SHARE, METRIC_USE, OVER_STAGES,
     .key = "run.execution.stages.#.busy"},
    {"stage.#.copying", "fraction", SHARE, METRIC_USE, OVER_STAGES,
     .key = "run.execution.stages.#", .value = stage_copying},
    {"stage.#.waiting", "fraction", SHARE, METRIC_USE, OVER_STAGES,
     .key = "run.execution.stages.#.waiting"},
    {"stage.#.bytes_sent_per_step", "bytes", COUNT, METRIC_USE,
     OVER_STAGES, .key = "run.execution.stages.#.bytes_sent_per_step"},
    {"stage.#.bytes", "bytes", MEBIBYTES, METRIC_USE, OVER_STAGES,
     .key = "run.execution.stages.#.bytes"},
    {"vectors_per_reduction", "", {"%.4g", 1, ""}, METRIC_USE,
     .key = "run.execution.vectors_per_reduction"},
    {"bytes_sent_per_step", "bytes", COUNT, METRIC_USE,
     .key = "run.execution.bytes_sent_per_step"},
    {"hidden_comm_per_step", "s", {"%.4f", 1000, ""}, METRIC_USE,
     .key = "run.execution.hidden_comm_per_step"},

    {"gpu.#.utilization_mean", "fraction", SHARE, METRIC_GPU, OVER_GPUS,
     .key = "run.gpus.#.utilization_mean"},
    {"gpu.#.memory_used_max", "bytes", {"%.0f", 1.0 / (1 << 20), ""},
     METRIC_GPU, OVER_GPUS, .key = "run.gpus.#.memory_used_max"},
    {"gpu.#.sm_clock_mhz_mean", "MHz", COUNT, METRIC_GPU, OVER_GPUS,
     .key = "run.gpus.#.sm_clock_mhz_mean"},
    {"gpu.#.power_watts_mean", "W", COUNT, METRIC_GPU, OVER_GPUS,
     .key = "run.gpus.#.power_watts_mean"},
    {"gpu.#.temperature_celsius_max", "°C", COUNT, METRIC_GPU,
     OVER_GPUS, .key = "run.gpus.#.temperature_celsius_max"},

    {"class.#.samples", "", COUNT, METRIC_RESULT, OVER_CLASSES,
     .tested = "results.per_class.#.count", .value = class_samples, PREDICTIONS("values in the file", of_file)},
    {"class.#", "fraction", PERCENT, METRIC_RESULT, OVER_CLASSES,
     .tested = "results.per_class.#.accuracy", .value = class_accuracy, .range = range_of_class,
     PREDICTIONS("%g of %g correct", of_class)},
    {"confusion.#", "", COUNT, METRIC_RESULT, OVER_CONFUSION,
     .tested = "results.confusion.#", .value = confused, PREDICTIONS("values in the file", of_file)},
    {"epochs.#.loss", "", {"%.4f", 1, ""}, METRIC_RESULT, OVER_EPOCHS,
     .key = "results.epochs.#.loss", .value = epoch_loss, STEPS("mean over the samples of %g step%s", of_epoch)},
    {"epochs.#.accuracy", "fraction", PERCENT, METRIC_RESULT, OVER_EPOCHS,
     .key = "results.epochs.#.accuracy", .value = epoch_accuracy, STEPS("value in the file", of_file)},
    {"epochs.#.seconds", "s", SECONDS, METRIC_TIME, OVER_EPOCHS,
     .key = "results.epochs.#.seconds", .value = epoch_seconds, STEPS("sum of %g step%s", of_epoch)},
};
// clang-format on

const metric_row *metrics_table(size_t *count) {
    *count = sizeof table / sizeof *table;
    return table;
}

static bool matches(const char *pattern, const char *name) {
    const size_t before = strcspn(pattern, "#"), length = strlen(name);
    if (!pattern[before]) return strcmp(pattern, name) == 0;
    const size_t after = strlen(pattern + before + 1);
    return length > before + after && strncmp(pattern, name, before) == 0 &&
           strcmp(pattern + before + 1, name + length - after) == 0;
}

const metric_row *metrics_find(const char *name) {
    const metric_row *found = NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, name) == 0) return &table[i];
        if (!found && matches(table[i].name, name)) found = &table[i];
    }
    return found;
}

bool metric_is_time(const metric_row *m) {
    const bool time =
        strcmp(m->unit, "s") == 0 || strcmp(m->unit, "ms") == 0 || strcmp(m->unit, "µs") == 0;
    return time || (m->kind == METRIC_USE && strcmp(m->unit, "fraction") == 0);
}

bool metric_is_epoch_time(const metric_row *m) {
    return m->value == seconds_per_epoch && m->over == OVER_NOTHING;
}

bool metric_has_time(const metric_row *m, const run *r) {
    return metric_is_epoch_time(m) || m->over == OVER_TURNS ? run_has_epoch_time(r)
                                                            : run_has_time(r);
}

bool metric_has_mean(const metric_row *m) {
    return m->kind != METRIC_PARAMETER && m->value != executions && m->over != OVER_EXECUTIONS &&
           m->file != FILE_TURNS && m->over != OVER_CONFUSION;
}

// ---- Members ----

static size_t count_items(const run *r, const char *path) {
    const yaml_node *list = yaml_get(r->train, path);
    return list && list->kind == YAML_SEQUENCE ? list->count : 0;
}

// Counts the GPUs, if the driver reported on any.
static size_t count_gpus(const run *r) {
    const yaml_node *list = yaml_get(r->train, "run.gpus");
    if (!run_has_time(r) || !list || list->kind != YAML_SEQUENCE) return 0;
    for (size_t i = 0; i < list->count; i++)
        if (yaml_get(list->items[i], "samples")) return list->count;
    return 0;
}

size_t metric_members(const metric_row *m, const run *r) {
    const size_t classes = r->confusion && r->class_count <= METRIC_CONFUSION ? r->class_count : 0;
    if (m->over == OVER_CLASSES) return r->class_count;
    if (m->over == OVER_CONFUSION) return classes * classes;
    if (!r->train) return m->over == OVER_NOTHING && metric_is_tested(m, r);
    switch (m->over) {
    case OVER_PHASES: return RUN_PHASES;
    case OVER_EPOCHS: return r->epoch_count;
    case OVER_EXECUTIONS:
        return run_execution_count(r) > 1 || r->timing ? run_execution_count(r) : 0;
    case OVER_TURNS: return r->timing ? turn_evidence_shown(&r->timing->evidence)->executions : 0;
    case OVER_ACTIVITIES: return EXECUTION_ACTIVITIES;
    case OVER_GPUS: return count_gpus(r);
    case OVER_REPLICAS: return count_items(r, "run.execution.replicas");
    case OVER_STAGES: return count_items(r, "run.execution.stages");
    case OVER_NOTHING:
    case OVER_CLASSES:
    case OVER_CONFUSION: break;
    }
    return 1;
}

// A member in a name, such as "forward", "cat" or "cat.dog", or in a `key` of the manifest, where
// classes are numbers. Names count epochs and executions from 1, keys from 0.
static char *member_text(const metric_row *m, const run *r, size_t member, bool key) {
    switch (m->over) {
    case OVER_PHASES: return memory_string(run_phase_name((int)member));
    case OVER_ACTIVITIES: return memory_string(execution_activity((int)member));
    case OVER_CLASSES:
        if (!key) return memory_string(r->classes[member].name);
        break;
    case OVER_CONFUSION: {
        const size_t label = member / r->class_count, predicted = member % r->class_count;
        return key ? memory_format("%zu.%zu", label, predicted)
                   : memory_format("%s.%s", r->classes[label].name, r->classes[predicted].name);
    }
    case OVER_EPOCHS:
    case OVER_EXECUTIONS:
    case OVER_TURNS: return memory_format("%zu", key ? member : member + 1);
    case OVER_NOTHING:
    case OVER_REPLICAS:
    case OVER_STAGES:
    case OVER_GPUS: break;
    }
    return memory_format("%zu", member);
}

// Returns `pattern` with the member in place of "#".
static char *put_member(const metric_row *m, const char *pattern, const run *r, size_t member,
                        bool key) {
    const int before = (int)strcspn(pattern, "#");
    if (!pattern[before]) return memory_string(pattern);
    char *own = member_text(m, r, member, key);
    char *put = memory_format("%.*s%s%s", before, pattern, own, pattern + before + 1);
    free(own);
    return put;
}

char *metric_name(const metric_row *m, const run *r, size_t member) {
    return put_member(m, m->name, r, member, false);
}

// Its key in the manifest.
static char *key_of(const metric_row *m, const run *r, size_t member) {
    return put_member(m, metric_is_tested(m, r) ? m->tested : m->key, r, member, true);
}

// Those of an execution of turns are not in the manifest, only in its file.
char *metric_source(const metric_row *m, const run *r, size_t member) {
    if (r->timing && metric_is_epoch_time(m))
        return memory_format("%s/manifest.yaml: results.seconds_per_sample.%zu", r->timing->folder,
                             r->arm);
    if (m->file == FILE_TURNS)
        return memory_format("%s/%s: %s", r->timing->folder,
                             m->over == OVER_TURNS ? TURNS_FILE : "manifest.yaml", m->key);
    char *key = key_of(m, r, member);
    char *source = memory_format("%s/manifest.yaml: %s",
                                 metric_is_tested(m, r) ? r->evaluation : r->folder, key);
    free(key);
    return source;
}

file_place metric_file_of(metric_file file, const run *r) {
    if (file == FILE_STEPS && r->train) return (file_place){r->folder, "steps.st.zst", r->train};
    if (file == FILE_PREDICTIONS && r->evaluate)
        return (file_place){r->evaluation, "predictions.st.zst", r->evaluate};
    if (file == FILE_TURNS && r->timing)
        return (file_place){r->timing->folder, TURNS_FILE, r->timing->manifest};
    return (file_place){.name = NULL};
}

// ---- Values ----

bool metric_is_tested(const metric_row *m, const run *r) {
    return m->tested && r->evaluate;
}

static status read_value(const metric_row *m, const run *r, size_t member, double *value,
                         error *err) {
    const yaml_node *root = metric_is_tested(m, r) ? r->evaluate : r->train;
    char *key = key_of(m, r, member);
    int64_t count;
    status rc;
    if (m->kind == METRIC_USE && strcmp(m->unit, "bytes") == 0) {
        rc = run_count(root, key, &count, err);
        *value = known(count);
    } else {
        rc = run_number(root, key, value, err);
        if (m->factor != 0) *value *= m->factor;
    }
    free(key);
    return rc;
}

double metric_value(const metric_row *m, const run *r, size_t member) {
    double value;
    // The caller gives an execution's number among several: `r` is only one of them.
    if (m->over != OVER_EXECUTIONS && member >= metric_members(m, r)) return NAN;
    if (m->value) return m->value(r, member);
    return read_value(m, r, member, &value, NULL) == STATUS_OK ? value : NAN;
}

status metrics_check(const run *r, error *err) {
    static const char *const lists[] = {"run.execution.replicas", "run.execution.stages"};
    double value;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const yaml_node *list = yaml_get(r->train, lists[i]);
        if (list && list->kind != YAML_SEQUENCE) return yaml_error(list, err, "expected a list");
    }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (size_t k = 0; !table[i].value && k < metric_members(&table[i], r); k++)
            NEED(read_value(&table[i], r, k, &value, err));
    return STATUS_OK;
}

double metric_recompute(const metric_row *m, const run *rebuilt, size_t member) {
    return m->recompute || m->value ? (m->recompute ? m->recompute : m->value)(rebuilt, member)
                                    : NAN;
}

bool metric_agrees(const metric_row *m, double value, double recomputed) {
    if (isnan(value) || isnan(recomputed)) return true;
    return fabs(recomputed - value) <= m->tolerance * fmax(1e-12, fabs(value));
}
