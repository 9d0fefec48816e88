// SPDX-License-Identifier: MIT
// experiment.h - reads, checks and resolves an experiment file (schema lockstep.experiment/1).
//
// It describes the experiment and nothing of the machine: no threads, no devices. Every train tool
// runs every experiment.
#ifndef LOCKSTEP_EXPERIMENT_EXPERIMENT_H
#define LOCKSTEP_EXPERIMENT_EXPERIMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hint.h"
#include "base/yaml_tree.h"
#include "data/augment.h"
#include "data/tta.h"
#include "nn/model.h"
#include "nn/optimizer.h"
#include "nn/tensor_settings.h"

typedef enum strategy_kind {
    STRATEGY_SINGLE,
    STRATEGY_DP,
    STRATEGY_DDP,
    STRATEGY_MP
} strategy_kind;

enum {
    EXPERIMENT_MAX_CHANNELS = 16,
    EXPERIMENT_MAX_STAGES = 63,
    EXPERIMENT_MAX_PATTERNS = 24,                 // of `tensors`
    EXPERIMENT_PATTERN_BYTES = TENSOR_NAME_BYTES, // of one of them, with a NUL
};

typedef enum kept_model { KEEP_LAST, KEEP_BEST } kept_model;

// Training samples that choose the model or the end of training.
typedef struct validation {
    int samples; // left out of training; 0: none
    uint64_t seed;
} validation;

typedef struct early_stopping {
    int patience;     // epochs without a better accuracy, after which training ends; 0: never
    double min_delta; // a better accuracy is larger than the best one by more than this
    double stop_at;   // training ends with the first accuracy that is at least this; 0: never
} early_stopping;

typedef struct experiment {
    const char *name, *title, *dataset; // strings live in `resolved`
    strategy_kind strategy;
    int world_size, virtual_shards;
    uint64_t shard_seed, seed;
    int global_batch, repeats;
    double epochs;      // not necessarily whole: the last one is then shorter
    bool has_normalize; // else the dataset's own mean and std
    int normalize_channels;
    float mean[EXPERIMENT_MAX_CHANNELS], std[EXPERIMENT_MAX_CHANNELS];
    augment_list augment;
    int loader_workers;
    optimizer optimizer;
    schedule schedule;
    lr_scaling lr_scaling;
    tensor_settings *tensors;          // [model.tensor_count]; NULL: nothing is set for any of them
    parameter_groups parameter_groups; // the same for updates
    char *weights_path;                // of `initial_weights`, from the current folder; NULL: none
    const yaml_node *weights_except;   // patterns of tensors that it does not give; NULL: none
    averaging average;
    bool sync_batch_norm;
    double label_smoothing;
    double mixup_alpha; // 0: none
    bool drop_last;     // an epoch has full steps only
    validation validation;
    kept_model keep; // best: after the first epoch with the best validation accuracy
    early_stopping early_stopping;
    tta_kind tta;           // of the evaluation: training does not depend on it
    double target_accuracy; // 0: none
    model model;
    char *model_path; // the model's file, relative to the current folder
    // Every key with its value, defaults written out; `architecture` is the model's description.
    // Manifests hold this as `parameters`.
    yaml_node *resolved;
} experiment;

// Reads `path` and the keys that it inherits from its `base` (inherit.h), applies the --set
// assignments ("optimizer.lr=0.01": replaces a whole value) in order, fills in defaults, reads the
// model (NAME: models/NAME.yaml in the folder of the file that names it, or in one above it; or a
// path with a slash or .yaml) and checks everything: unknown keys (suggesting the nearest known
// one), types, ranges, whether V divides the batch. A bad file is STATUS_INPUT with the file, line
// and column of the value; a bad --set is STATUS_USAGE, with a message that quotes it.
status experiment_read(experiment *e, const char *path, const char *const *set, size_t set_count,
                       error *err) MUST_CHECK;
void experiment_release(experiment *e);

// Reads, from a manifest's `parameters`, only the keys that determine the learning rate:
// global_batch, epochs, optimizer, schedule, lr_scaling. STATUS_INPUT for bad ones. Call
// experiment_release even after a failure.
status experiment_read_updates(experiment *e, const yaml_node *parameters, error *err) MUST_CHECK;

// The steps of a run: epochs · steps_per_epoch, rounded up. A product that is whole but for the
// rounding of `epochs` (1.1 · 10) is whole.
uint64_t experiment_steps(const experiment *e, uint64_t steps_per_epoch);
// The epochs in which these steps are, the last of which may be shorter than the others.
int experiment_epochs(const experiment *e, uint64_t steps_per_epoch);

// Lists the keys that --set takes, as paths: "optimizer.lr". They are not freed.
enum { EXPERIMENT_MOST_KEYS = 128 };
size_t experiment_keys(const char *keys[EXPERIMENT_MOST_KEYS]);

// Lists the keys that differ from their defaults and that nothing reads if it is trained by this
// strategy, which the other settings decide: a YAML_SEQUENCE of lines for the user, "'stages' has
// no effect here: strategy 'mp' alone reads it". yaml_free it.
yaml_node *experiment_idle(const experiment *e, strategy_kind strategy) MUST_CHECK;

// For cli_tool.answer: "did you mean '--set epochs=1'?".
void experiment_answer_option(const char *name, const char *value, char text[HINT_BYTES]);

// Checks that --set would accept all keys of a mapping. STATUS_INPUT, with the place and the
// nearest key, at the first that it would not. The values are checked when an experiment is read
// with them.
status experiment_check_assignments(const yaml_node *mapping, error *err) MUST_CHECK;

// Has the patience run out after these epochs, or is the accuracy of the last one that of `stop_at`
// (is_reached)? A function of their accuracies alone, so that a
// resumed run ends after the same epoch.
bool early_stopping_is_due(const early_stopping *rule, const double *accuracy, int epochs);
bool early_stopping_is_reached(const early_stopping *rule, double accuracy);

// Returns the first key on which two resolved experiments differ in a way that changes the bits (so
// not name, title, repeats, strategy, world_size, loader_workers, tta, target_accuracy, stages), or
// NULL. The text is in `key`.
const char *experiment_difference(const yaml_node *a, const yaml_node *b, char key[64]);

// Do they agree in all keys that change the time of a step (`speed` in experiment_fields.c): ranks,
// batch, model, augmentation and the like? A learning rate, a schedule or a seed changes none.
bool experiment_same_speed(const experiment *a, const experiment *b);

// May a run resolved as `now` continue one resolved as `before`, finished or not? It may if their
// first steps are the same: of the keys that change the bits only `epochs` may differ, `now` must
// have at least as many, and neither the schedule (cosine, one_cycle) nor the average (lookahead)
// may depend on their number. Returns NULL for yes, else the reason, for users, in `why`: "it is
// from a run with a different 'seed'".
const char *experiment_continues(const yaml_node *before, const yaml_node *now, char why[256]);

// Returns `epochs` of a resolved experiment; 0 if it has none.
double experiment_epochs_of(const yaml_node *resolved);

#endif
