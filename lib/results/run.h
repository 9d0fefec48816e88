// run.h - one training run with its evaluation, as their manifests tell it.
//
// A run may have been executed several times, each time with the same model (pool.h). What it shows
// of itself is then that of one of its executions; its times are geometric means over all of them.
#ifndef LOCKSTEP_RESULTS_RUN_H
#define LOCKSTEP_RESULTS_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sha256.h"
#include "base/yaml_tree.h"

// The parts of a step's wall time. The order is that of the step, and of every table; the names are
// those in manifests and steps.st.zst.
enum { RUN_LOAD, RUN_COPY, RUN_FORWARD, RUN_BACKWARD, RUN_COMM, RUN_WAIT, RUN_UPDATE, RUN_PHASES };
const char *run_phase_name(int phase);

// Numbers that a manifest does not give are NAN, counts -1.
typedef struct run_epoch {
    double loss, accuracy, seconds, phase[RUN_PHASES];
} run_epoch;

typedef struct run_class { // a class of the test data
    const char *name;
    double accuracy;
    int64_t count, right; // samples, and those said right
} run_class;

typedef struct run {
    char *name;                     // unique in a report; what figures are called after
    char *folder;                   // of train, NULL without
    char *evaluation;               // folder of evaluate, NULL without
    yaml_node *train, *evaluate;    // their manifests
    const char *key;                // of the train stage; runs with the same key are one. "": none
    const char *experiment, *title; // as a plan says, else strings of the manifests; "" when absent
    const yaml_node *published;     // likewise: a list, or NULL
    const char *dataset, *model, *strategy, *tool, *host, *cpu, *version, *isa, *reduce;
    int64_t seed, virtual_shards, global_batch, planned_epochs, steps, samples;
    int64_t world_size, threads, loader_workers, cores; // as executed
    double lr;                                          // after scaling, before the schedule
    char device[16];                                    // kind: "cpu", "cuda"
    int64_t hosts, host_ranks; // how many have ranks; ranks, replicas or stages on the fullest one
    int64_t gpus;   // that its ranks, replicas or stages have, each counted once; 0 on a cpu
    int segments;   // of execution: more than one after a resume, then no time is shown
    bool restarted; // all but the first were begun by --max-restarts, after a death
    bool simulated; // more replicas · threads than cores, or several replicas on one GPU
    run_epoch *epochs;
    size_t epoch_count;
    double *seconds; // of the epochs that count for timing: without the first when there are more
    size_t timed;
    double seconds_per_epoch, total_seconds, train_loss, accuracy, test_loss;
    double target;        // accuracy that is to be reached, as a plan or the manifest says; 0: none
    int64_t test_samples; // of all classes
    run_class *classes;   // in the order of their labels
    size_t class_count;
    int64_t *confusion; // [true class · class_count + said class], samples; NULL when not known
    char model_content[SHA256_TEXT_BYTES]; // "" when unknown
    bool baseline;                         // found among what all others are compared with
    bool left_out;                         // an execution whose times do not count
    // Of a run that stands for its executions: those that count, and behind them the ones that are
    // left out. NULL for an execution.
    const struct run *executions;
    size_t execution_count, left_out_count;
} run;

// Sets everything to "unknown".
void run_init(run *r);
void run_release(run *r);

// Fill in what the manifests `train` and `evaluate` say, once these are set.
status run_read_train(run *r, error *err) MUST_CHECK;
status run_read_evaluation(run *r, error *err) MUST_CHECK;

// The executions whose times count: one that stands for no others is its own.
static inline size_t run_execution_count(const run *r) {
    return r->executions ? r->execution_count : 1;
}
static inline const run *run_execution(const run *r, size_t i) {
    return r->executions ? &r->executions[i] : r;
}

// Can times of this run be shown?
static inline bool run_has_time(const run *r) {
    return r->folder && r->segments <= 1;
}

// What is at `path` in a manifest's inputs or outputs: the entry whose path ends in `name`, or
// NULL.
const yaml_node *run_file(const yaml_node *root, const char *list, const char *name);
// Refuses, with STATUS_INPUT, a file of a stage that has another content than the stage recorded.
status run_check_content(const char *folder, const yaml_node *manifest_root, const char *name,
                         const char *content, error *err) MUST_CHECK;
// A string at a path in the tree, or "".
const char *run_text(const yaml_node *root, const char *path);
// The last segment of the execution, and how many there were. NULL when the manifest says nothing.
const yaml_node *run_last_segment(const run *r, int *segments);
// A number at a path: NAN when absent, STATUS_INPUT when it is something else. A count: -1 when
// absent.
status run_number(const yaml_node *root, const char *path, double *value, error *err) MUST_CHECK;
status run_count(const yaml_node *root, const char *path, int64_t *value, error *err) MUST_CHECK;

// Milliseconds a step by phase over the timed epochs, their sum, and the wall time a step; NAN
// where unknown.
typedef struct run_split {
    double phase[RUN_PHASES], sum, wall;
} run_split;
run_split run_time_split(const run *r);

// The accuracy that the experiment is to reach, a fraction; 0: none, or nobody tested after epochs.
double run_target(const run *r);
// Did the test accuracy after some epoch reach it?
bool run_reaches(const run *r, double target);
// Seconds of training until the end of the first epoch after which it did; NAN when none did or
// times are not known.
double run_time_to(const run *r, double target);

#endif
