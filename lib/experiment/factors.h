// SPDX-License-Identifier: MIT
// factors.h - the differences between two experiments, by the factors that a ladder changes one at
// a time.
#ifndef LOCKSTEP_EXPERIMENT_FACTORS_H
#define LOCKSTEP_EXPERIMENT_FACTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/yaml_tree.h"
#include "experiment/experiment.h"

// In the order of the ladder. The last factor has every key that belongs to no other.
typedef enum factor {
    FACTOR_LOADER_WORKERS,
    FACTOR_WORLD,
    FACTOR_SHARDS,
    FACTOR_BATCH,
    FACTOR_RATE,
    FACTOR_EPOCHS,
    FACTOR_REST,
    FACTORS
} factor;

const char *factor_name(factor f); // "loader-workers"

// A key whose value differs; a node is NULL if the key is absent. All point into the two
// experiments.
typedef struct difference {
    const char *key;
    factor factor;
    const yaml_node *from, *to;
} difference;

enum { DIFFERENCES_MAX = 40 }; // more keys than an experiment has

typedef struct difference_list {
    difference items[DIFFERENCES_MAX];
    size_t count;
} difference_list;

// Does the key change neither the work nor its result (names, repeats, targets)?
bool factors_is_label(const char *key);

// Returns a key's name in experiment files: "model" for the model's description.
const char *factors_key_name(const char *key);

// Lists the differences between the runs of the two experiments.
void factors_find(const experiment *from, const experiment *to, difference_list *list);

// Lists the differences that matter for figures published elsewhere. Other systems have neither V
// nor our seeds. There V only corresponds to the number of samples that batch norm normalises over,
// so V and sync_batch_norm count only if that number differs, or in a pipeline, where V is the
// number of micro-batches. One device has no world size, and only a pipeline has stages.
void factors_find_published(const experiment *from, const experiment *to, difference_list *list);

#endif
