// SPDX-License-Identifier: MIT
// What the details of a page say about each run, as data: its target, its validation, the parts of
// a step, and why it has no times.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/facts.h"
#include "results/execution.h"
#include "results/verdict.h"

static const double tolerance = 0.02; // of the wall time; docs/formats.md

// The name of the first run before this one with the same model.
static yaml_node *twin_of(const run_list *list, const run *one) {
    for (const run *other = list->runs; other < one; other++)
        if (*one->model_content && strcmp(other->model_content, one->model_content) == 0)
            return facts_string(other->name);
    return facts_string(NULL);
}

// The accuracy to be reached, and how many of the runs reached it; null without one.
yaml_node *facts_target(const run *const *runs, size_t count) {
    const double target = run_target(runs[0]);
    size_t reached = 0;
    if (!(target > 0)) return facts_string(NULL);
    for (size_t i = 0; i < count; i++) reached += run_reaches(runs[i], target);
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "accuracy", facts_number(target));
    yaml_put(node, "reached", facts_count((int64_t)reached));
    yaml_put(node, "of", facts_count((int64_t)count));
    return node;
}

// What the samples that were left out of the training data chose; null without any.
static yaml_node *validation_of(const run *one) {
    int64_t samples = -1, best = -1;
    const bool best_is_kept = strcmp(run_text(one->train, "parameters.keep"), "best") == 0;
    if (run_count(one->train, "parameters.validation.samples", &samples, NULL) != STATUS_OK ||
        samples < 0)
        return facts_string(NULL);
    if (run_count(one->train, "results.best_epoch", &best, NULL) != STATUS_OK) best = -1;
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "samples", facts_count(samples));
    yaml_put(node, "chose",
             facts_string(best_is_kept                     ? "model"
                          : run_may_stop_early(one->train) ? "epochs"
                                                           : ""));
    yaml_put(node, "best_epoch", facts_count(best));
    return node;
}

// What a thread waits for at the end of its work.
static const char *wait_of(const run *one) {
    switch (execution_kind_of(one)) {
    case EXECUTION_REPLICAS: return "replicas";
    case EXECUTION_STAGES: return "stages";
    case EXECUTION_RANKS: return "ranks";
    case EXECUTION_PLAIN: break;
    }
    return one->gpus > 0 ? "gpu" : "threads";
}

static bool has_split(const results *r, const run *one) {
    return one->train && !isnan(results_value(r, one->name, "sample.sum"));
}

const char *facts_wait(const results *r) {
    const char *shared = NULL;
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        if (!has_split(r, one)) continue;
        if (shared && strcmp(shared, wait_of(one)) != 0) return "several";
        shared = wait_of(one);
    }
    return shared;
}

// The share of each phase in the time of a step.
static yaml_node *shares_of(const results *r, const run *one) {
    const double wall = results_value(r, one->name, "sample.wall");
    yaml_node *node = yaml_new(YAML_MAPPING);
    for (int p = 0; p < RUN_PHASES; p++) {
        char *metric = memory_format("sample.%s", run_phase_name(p));
        yaml_put(node, run_phase_name(p), facts_number(results_value(r, one->name, metric) / wall));
        free(metric);
    }
    return node;
}

// Whether the parts of a step add up to its time; null if they are unknown. The parts themselves
// are the figures RUN.sample.PHASE.
static yaml_node *split_of(const results *r, const run *one) {
    if (!has_split(r, one)) return facts_string(NULL);
    const double off =
        results_value(r, one->name, "sample.sum") / results_value(r, one->name, "sample.wall") - 1;
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "off", facts_number(off));
    yaml_put(node, "adds_up", yaml_new_boolean(fabs(off) <= tolerance));
    yaml_put(node, "wait", facts_string(wait_of(one)));
    yaml_put(node, "shares", shares_of(r, one));
    return node;
}

// Why a training has no times; null if it has them.
static yaml_node *no_times_of(const run *one) {
    if (!one->train || run_has_time(one)) return facts_string(NULL);
    return facts_string(one->restarted ? "restarted" : "resumed");
}

void facts_run_details(yaml_node *node, const results *r, const run *one) {
    yaml_node *epochs = yaml_new(YAML_SEQUENCE);
    for (size_t i = 1; i <= one->epoch_count; i++)
        yaml_append(epochs, yaml_new_integer((int64_t)i));
    yaml_put(node, "evaluated", yaml_new_boolean(one->evaluate != NULL));
    yaml_put(node, "same_model_as", twin_of(&r->list, one));
    yaml_put(node, "target", facts_target(&one, 1));
    yaml_put(node, "validation", validation_of(one));
    yaml_put(node, "no_times", no_times_of(one));
    yaml_put(node, "split", split_of(r, one));
    yaml_put(node, "recorded_epochs", epochs);
    yaml_put(node, "excluded", facts_excluded(one));
}

// The most that other programs used while a run trained, and the largest share of the time in which
// threads had no core; null if no execution was disturbed.
yaml_node *facts_disturbance(const run_list *list) {
    double used = 0, cores = 0, without = 0;
    for (size_t i = 0; i < list->count; i++) {
        for (size_t k = 0; k < run_execution_count(&list->runs[i]); k++) {
            const execution_load u = execution_load_of(run_execution(&list->runs[i], k));
            if (!execution_is_disturbed(&u)) continue;
            without = fmax(without, execution_without_core(&u));
            if (u.others / u.wall > used) used = u.others / u.wall, cores = u.cores;
        }
    }
    if (!(used > 0)) return facts_string(NULL);
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "others", facts_number(used));
    yaml_put(node, "cores", facts_number(cores));
    yaml_put(node, "without_core", facts_number(without > 0 ? without : (double)NAN));
    return node;
}

yaml_node *facts_rules(void) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "executions", yaml_new_integer(VERDICT_EXECUTIONS));
    yaml_put(node, "rounds", yaml_new_integer(VERDICT_ROUNDS));
    yaml_put(node, "seeds", yaml_new_integer(VERDICT_SEEDS));
    yaml_put(node, "time_margin", yaml_new_number(VERDICT_TIME_MARGIN));
    yaml_put(node, "accuracy_margin", yaml_new_number(VERDICT_ACCURACY_MARGIN));
    return node;
}
