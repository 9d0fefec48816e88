// SPDX-License-Identifier: MIT
// factors.h - the differences between two experiments, by the factors that a ladder changes one at
// a time.
#ifndef LOCKSTEP_EXPERIMENT_FACTORS_H
#define LOCKSTEP_EXPERIMENT_FACTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/yaml_tree.h"
#include "experiment/experiment.h"

// The last factor has every key that belongs to no other. Each pattern of `tensors` that differs is
// a factor, too: these are numbered from FACTORS on.
typedef enum factor {
    FACTOR_LOADER_WORKERS,
    FACTOR_WORLD,
    FACTOR_SHARDS,
    FACTOR_BATCH,
    FACTOR_RATE,
    FACTOR_EPOCHS,
    FACTOR_SMOOTHING,
    FACTOR_MIXUP,
    FACTOR_AVERAGE,
    FACTOR_CLIPPING,
    FACTOR_DROP_LAST,
    FACTOR_VALIDATION,
    FACTOR_VIEWS,
    FACTOR_REST,
    FACTORS
} factor;

// A key whose value differs, or a pattern of the key `tensors` whose settings differ; a node is
// NULL if it is absent. All point into the two experiments.
typedef struct difference {
    const char *key;
    const char *pattern; // NULL: the whole key
    int factor;
    const yaml_node *from, *to;
    char name[16 + EXPERIMENT_PATTERN_BYTES]; // "epochs", "model", "tensors.conv1.weight"
} difference;

// More keys than an experiment has, and all patterns of two.
enum { DIFFERENCES_MAX = 40 + 2 * EXPERIMENT_MAX_PATTERNS };

typedef struct difference_list {
    difference items[DIFFERENCES_MAX];
    size_t count;
    int factors; // FACTORS, and the patterns that differ
} difference_list;

// Returns the factor at a place of the ladder, 0 to list->factors - 1: as they are numbered, but
// the patterns follow the epochs, so that the network is complete before weights or views of it are
// averaged.
int factor_at(const difference_list *list, int place);

// Returns the name of one of the first FACTORS, "loader-workers", or of a pattern.
const char *factor_name(const difference_list *list, int f);

// Does the key change neither the work nor its result (names, repeats, targets)?
bool factors_is_label(const char *key);

// Lists the differences between the runs of the two experiments.
void factors_find(const experiment *from, const experiment *to, difference_list *list);

// Lists the differences that matter for figures published elsewhere. Other systems have neither V
// nor our seeds. There V only corresponds to the number of samples that batch norm normalises over,
// so V and sync_batch_norm count only if that number differs, or in a pipeline, where V is the
// number of micro-batches. One device has no world size, and only a pipeline has stages.
void factors_find_published(const experiment *from, const experiment *to, difference_list *list);

// Would figures published about `file` apply to `e`: is nothing in that list, or, with
// `any_epochs`, only the number of epochs?
bool factors_are_published(const experiment *e, const experiment *file, bool any_epochs);

// ---- The patterns of `tensors` in two experiments, one by one ----

// A pattern in two experiments; its settings are NULL in the one that lacks it.
typedef struct pattern_pair {
    const char *pattern;
    const yaml_node *from, *to;
} pattern_pair;

enum { PATTERN_PAIRS_MAX = 2 * EXPERIMENT_MAX_PATTERNS };

// Lists the patterns of both in an order that agrees with both. Returns false if there is none,
// because patterns that both have are in different orders. All pointers lead into the experiments.
bool patterns_merge(const experiment *from, const experiment *to,
                    pattern_pair pairs[PATTERN_PAIRS_MAX], size_t *count);

// Returns the list in which the k-th pattern that differs has its settings in `from` if bit k of
// `kept` is set, else those in `to`; NULL if it would be empty. Free with yaml_free.
yaml_node *patterns_mix(const pattern_pair *pairs, size_t count, uint64_t kept);

#endif
