// SPDX-License-Identifier: MIT
// The runs as data: what each is, its target, its validation, the parts of a step, and why it has
// no times.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "report/facts_parts.h"
#include "results/execution.h"
#include "results/origin.h"

static const double tolerance = 0.02; // of the wall time; docs/formats.md

// The name of the first run before this one with the same model.
static yaml_node *twin_of(const run_list *list, const run *one) {
    for (const run *other = list->runs; other < one; other++)
        if (*one->model_content && strcmp(other->model_content, one->model_content) == 0)
            return json_new_text(other->name);
    return json_new_text(NULL);
}

// The accuracy to be reached, and how many of the runs reached it; null without one.
yaml_node *facts_target(const run *const *runs, size_t count) {
    const double target = run_target(runs[0]);
    size_t reached = 0;
    if (!(target > 0)) return json_new_text(NULL);
    for (size_t i = 0; i < count; i++) reached += run_reaches(runs[i], target);
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "accuracy", json_new_number(target));
    yaml_put(node, "reached", json_new_count((int64_t)reached));
    yaml_put(node, "of", json_new_count((int64_t)count));
    return node;
}

// What the samples that were left out of the training data chose; null without any.
static yaml_node *validation_of(const run *one) {
    int64_t samples = -1, best = -1;
    const bool best_is_kept = strcmp(yaml_text_at(one->train, "parameters.keep"), "best") == 0;
    if (run_count(one->train, "parameters.validation.samples", &samples, NULL) != STATUS_OK ||
        samples < 0)
        return json_new_text(NULL);
    if (run_count(one->train, "results.best_epoch", &best, NULL) != STATUS_OK) best = -1;
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "samples", json_new_count(samples));
    yaml_put(node, "chose",
             json_new_text(best_is_kept                     ? "model"
                           : run_may_stop_early(one->train) ? "epochs"
                                                            : ""));
    yaml_put(node, "best_epoch", json_new_count(best));
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
        yaml_put(node, run_phase_name(p),
                 json_new_number(results_value(r, one->name, metric) / wall));
        free(metric);
    }
    return node;
}

// Whether the parts of a step add up to its time; null if they are unknown. The parts themselves
// are the figures RUN.sample.PHASE.
static yaml_node *split_of(const results *r, const run *one) {
    if (!has_split(r, one)) return json_new_text(NULL);
    const double off =
        results_value(r, one->name, "sample.sum") / results_value(r, one->name, "sample.wall") - 1;
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "off", json_new_number(off));
    yaml_put(node, "adds_up", yaml_new_boolean(fabs(off) <= tolerance));
    yaml_put(node, "wait", json_new_text(wait_of(one)));
    yaml_put(node, "shares", shares_of(r, one));
    return node;
}

// Why a training has no times; null if it has them.
static yaml_node *no_times_of(const run *one) {
    if (!one->train || run_has_time(one)) return json_new_text(NULL);
    return json_new_text(run_no_time(one));
}

static void put_details(yaml_node *node, const results *r, const run *one) {
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
}

// The epochs after which the model was kept.
static double epochs_of_model(const run *one) {
    int64_t best;
    if (run_count(one->train, "results.best_epoch", &best, NULL) == STATUS_OK && best > 0)
        return (double)best;
    return run_may_stop_early(one->train) ? (double)one->epoch_count : one->planned_epochs;
}

static status put_repeated_images(yaml_node *node, const run *one, error *err) {
    int64_t count = 0, samples = -1;
    const status rc = origin_repeated_images(one, &count, &samples, err);
    yaml_put(node, "repeated_images", json_new_count(count));
    yaml_put(node, "repeated_of", json_new_count(count > 0 ? samples : -1));
    return rc;
}

static status run_node(const results *r, size_t at, yaml_node **made, error *err) {
    const run *one = &r->list.runs[at];
    yaml_node *node = *made = yaml_new(YAML_MAPPING);
    yaml_put(node, "name", json_new_text(one->name));
    yaml_put(node, "experiment", json_new_text(one->experiment));
    yaml_put(node, "title", json_new_text(one->title));
    yaml_put(node, "strategy", json_new_text(one->strategy));
    yaml_put(node, "dataset", json_new_text(one->dataset));
    yaml_put(node, "model", json_new_text(one->model));
    yaml_put(node, "device", json_new_text(one->device));
    yaml_put(node, "host", json_new_text(one->host));
    yaml_put(node, "cpu", json_new_text(one->cpu));
    yaml_put(node, "cores", json_new_count(one->cores));
    yaml_put(node, "threads", json_new_count(one->threads));
    yaml_put(node, "seed", json_new_count(one->seed));
    yaml_put(node, "epochs", json_new_number(epochs_of_model(one)));
    yaml_put(node, "executions", json_new_count((int64_t)run_execution_count(one)));
    yaml_put(node, "disturbed_executions", json_new_count((int64_t)execution_count_disturbed(one)));
    yaml_put(node, "trained", yaml_new_boolean(one->train != NULL));
    yaml_put(node, "whole_time", yaml_new_boolean(run_has_time(one)));
    yaml_put(node, "epoch_time",
             yaml_new_boolean(run_has_epoch_time(one) && !isnan(one->seconds_per_epoch)));
    yaml_put(node, "restarted", yaml_new_boolean(one->restarted));
    yaml_put(node, "turns", yaml_new_boolean(one->timing != NULL));
    yaml_put(node, "simulated", yaml_new_boolean(one->simulated));
    yaml_put(node, "crowd", one->simulated ? facts_crowd(one) : json_new_text(NULL));
    yaml_put(node, "test_samples", json_new_count(one->test_samples));
    yaml_put(node, "model_hash", json_new_text(one->model_content));
    yaml_put(node, "test_views", json_new_text(one->views));
    put_details(node, r, one);
    facts_put_classes(node, r, at);
    facts_put_devices(node, r, one);
    return put_repeated_images(node, one, err);
}

status facts_put_runs(yaml_node *root, const results *r, error *err) {
    yaml_node *runs = yaml_new(YAML_SEQUENCE);
    status rc = STATUS_OK;
    yaml_put(root, "runs", runs);
    for (size_t i = 0; rc == STATUS_OK && i < r->list.count; i++) {
        yaml_node *node;
        rc = run_node(r, i, &node, err);
        yaml_append(runs, node);
    }
    return rc;
}
