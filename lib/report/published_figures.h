// SPDX-License-Identifier: MIT
// published_figures.h - the published figures of an experiment, next to ours (private to
// lib/report).
#ifndef LOCKSTEP_REPORT_PUBLISHED_FIGURES_H
#define LOCKSTEP_REPORT_PUBLISHED_FIGURES_H

#include <stdbool.h>

#include "base/text.h"
#include "results/results.h"

// In display order.
typedef enum published_key {
    PUBLISHED_ACCURACY, // percent
    PUBLISHED_SECONDS_PER_EPOCH,
    PUBLISHED_TOTAL_SECONDS,
    PUBLISHED_TRAIN_LOSS,
    PUBLISHED_BATCH_MS,
    PUBLISHED_LOAD_SECONDS,
    PUBLISHED_UPDATE_SECONDS,
    PUBLISHED_SPEED_UP,
    PUBLISHED_KEYS
} published_key;

// Returns the list `published` of the run's experiment, or NULL.
const yaml_node *published_of(const run *one);

// Appends a published figure as written: "72.80", "55–65".
void published_append_figure(text *out, const yaml_node *node);
// Returns the key of an entry: "accuracy".
const char *published_key_name(published_key key);
// Appends a published figure as printed, in percent if it is one: "63.70 %". STATUS_INPUT if it is
// none.
status published_append_value(text *out, const yaml_node *node, published_key key,
                              error *err) MUST_CHECK;

// Appends every published figure of that kind for the group, as "63.70 %" or "78–82 %", separated
// by semicolons. Appends nothing if there is none.
status published_append(text *out, const seed_group *g, published_key key, error *err) MUST_CHECK;

#endif
