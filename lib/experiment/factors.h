// factors.h - in what two experiments differ, by the factors that a ladder changes one at a time.
#ifndef LOCKSTEP_EXPERIMENT_FACTORS_H
#define LOCKSTEP_EXPERIMENT_FACTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/yaml_tree.h"
#include "experiment/experiment.h"

// In the order of the walk. The last one has every key that no other has.
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

// A key whose value differs; a node is NULL where the key is absent. All point into the two
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

// Is the key one that changes neither the work nor its result: names, repeats, targets?
bool factors_is_label(const char *key);

// The name of a key as experiment files have it: "model" for its description.
const char *factors_key_name(const char *key);

// In what the runs of the two differ.
void factors_find(const experiment *from, const experiment *to, difference_list *list);

// In what they differ for figures that somebody else published. Other systems know neither V nor
// our seeds. What V decides in them is how many samples batch norm normalises over, so V and
// sync_batch_norm count where that number differs, and in a pipeline, where V is the number of
// micro-batches. One device has no world size, and only a pipeline has stages.
void factors_find_published(const experiment *from, const experiment *to, difference_list *list);

#endif
