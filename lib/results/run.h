// SPDX-License-Identifier: MIT
// run.h - one training run with its evaluation, as read from their manifests.
//
// A run may have been executed several times, each time with the same model (pool.h). Its fields
// are then those of one execution, and its times are geometric means over all executions.
#ifndef LOCKSTEP_RESULTS_RUN_H
#define LOCKSTEP_RESULTS_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sha256.h"
#include "base/yaml_tree.h"

// The parts of a step's wall time, in the order of the step and of every table; the names are those
// in manifests and steps.st.zst.
enum { RUN_LOAD, RUN_COPY, RUN_FORWARD, RUN_BACKWARD, RUN_COMM, RUN_WAIT, RUN_UPDATE, RUN_PHASES };
const char *run_phase_name(int phase);

// What no manifest gives is unknown: NAN if it is measured or a ratio (double), -1 if it is a count
// (int64_t), "" if it is a text, which is never NULL. NULL stands only for what is not there: a
// stage with its folder and manifest, a list, another struct. run_number, run_count and
// yaml_text_at read by this rule.
typedef struct run_epoch {
    double loss, accuracy, seconds, phase[RUN_PHASES];
} run_epoch;

typedef struct run_class { // a class of the test data
    const char *name;
    double accuracy;
    int64_t count, right; // samples, and those predicted correctly
} run_class;

typedef struct run {
    char *name;                  // unique in a report; prefix of its figures' ids
    const char *given;           // the folder that the user named, as typed; not owned
    char *folder, *evaluation;   // of the stages train and evaluate
    yaml_node *train, *evaluate; // their manifests
    const char *key;             // of the train stage
    const char *views;           // of the test images: "none", "mirror", "mirror-shift". Runs with
                                 // the same key and views are one
    const char *experiment, *title; // as a plan or else the manifests give them
    const yaml_node *published;     // likewise: a list
    double published_epochs;        // of the experiment with these figures; NAN: not known
    const char *dataset, *model, *strategy, *tool, *host, *cpu, *version, *isa, *math, *reduce;
    int64_t seed, virtual_shards, global_batch, steps;
    int64_t samples;                                    // of a whole epoch
    double planned_epochs;                              // not necessarily whole
    double steps_per_epoch;                             // of a whole one
    int64_t world_size, threads, loader_workers, cores; // as executed
    double lr;                                          // after scaling, before the schedule
    char device[16];                                    // kind: "cpu", "cuda", "cpu+cuda"
    int64_t hosts, host_ranks; // how many have ranks; ranks, replicas or stages on the fullest one
    int64_t cpu_ranks;         // of host_ranks: those that compute on the cpu
    int64_t gpus; // that its ranks, replicas or stages use, each counted once; 0 on a cpu
    int segments; // of execution: more than one after a resume; then no time is shown. 0: no train
    bool restarted; // all segments but the first were begun by --max-restarts, after a death
    bool simulated; // more replicas · threads than cores, or several replicas on one GPU
    run_epoch *epochs;
    size_t epoch_count;
    double *seconds; // of the epochs that are timed (run_timed_epochs)
    size_t timed;
    double seconds_per_epoch, total_seconds, train_loss, accuracy, test_loss;
    // In which it took turns with other runs, and its number there (timed_arms.h): then
    // seconds_per_epoch comes from it.
    const struct timed_arms *timing;
    size_t arm;
    double target;        // accuracy to be reached, from a plan or the manifest
    int64_t test_samples; // of all classes
    run_class *classes;   // in the order of their labels
    size_t class_count;
    int64_t *confusion;                    // [true class · class_count + predicted class], samples
    char model_content[SHA256_TEXT_BYTES]; // its content hash
    bool baseline;                         // of the baseline that all others are compared with
    const struct run *executions;          // NULL: of an execution, which has no others
    size_t execution_count;
} run;

// Sets everything to "unknown".
void run_init(run *r);
void run_release(run *r);

// Read the manifests `train` and `evaluate`, once these are set, into the other fields.
status run_read_train(run *r, error *err) MUST_CHECK;
status run_read_evaluation(run *r, error *err) MUST_CHECK;

// Its executions; an execution counts as its own.
static inline size_t run_execution_count(const run *r) {
    return r->executions ? r->execution_count : 1;
}
static inline const run *run_execution(const run *r, size_t i) {
    return r->executions ? &r->executions[i] : r;
}

// Do several ranks compute on one GPU?
static inline bool run_shares_gpu(const run *r) {
    return r->gpus > 0 && r->host_ranks - r->cpu_ranks > r->gpus;
}

// Can times of the whole training be shown? Of an epoch? Why not: "restarted", "resumed".
static inline bool run_has_time(const run *r) {
    return r->folder && r->segments <= 1;
}
static inline const char *run_no_time(const run *r) {
    return r->restarted ? "restarted" : "resumed";
}
static inline bool run_has_epoch_time(const run *r) {
    return r->timing || run_has_time(r);
}

// A file that a stage wrote, and the stage's manifest, in one folder.
typedef struct file_place {
    const char *folder, *name;
    const yaml_node *manifest;
} file_place;
// Fails with STATUS_INPUT if its content is other than the stage recorded.
status run_check_content(const file_place *file, const char *content, error *err) MUST_CHECK;
// Did the evaluation read the model of this run?
bool run_evaluates(const run *r, const yaml_node *evaluate);
// Returns whether validation samples could end this training before its last epoch.
bool run_may_stop_early(const yaml_node *train);
// Returns the last segment of the execution, a mapping; NULL if the manifest has none.
const yaml_node *run_last_segment(const run *r);
// Reads a number at a path: NAN when absent, STATUS_INPUT if it is something else; or a count: -1
// when absent.
status run_number(const yaml_node *root, const char *path, double *value, error *err) MUST_CHECK;
status run_count(const yaml_node *root, const char *path, int64_t *value, error *err) MUST_CHECK;

// The steps of epoch i: fewer than steps_per_epoch if it is a shorter last one.
double run_epoch_steps(const run *r, size_t i);
// The timed epochs, [first, end): all whole ones but the first, which warms up, if there are
// several. Without a whole epoch, the shorter one, whose time counts in proportion to its steps.
typedef struct run_timed {
    size_t first, end;
    double steps; // in them
    double scale; // from their time to that of whole epochs; 1 if they are
} run_timed;
run_timed run_timed_epochs(const run *r);

// Milliseconds per step by phase over the timed epochs, their sum, and the wall time per step; NAN
// if unknown.
typedef struct run_split {
    double phase[RUN_PHASES], sum, wall;
} run_split;
run_split run_time_split(const run *r);

// Returns the accuracy to be reached, a fraction; NAN: none, or epochs were not tested.
double run_target(const run *r);
// Did the test accuracy after some epoch reach it?
bool run_reaches(const run *r, double target);
// Returns the seconds of training until the end of the first such epoch; NAN if there is none or
// times are unknown.
double run_time_to(const run *r, double target);

#endif
