// SPDX-License-Identifier: MIT
// section_published.h - the published figures of an experiment, next to ours (private to
// lib/report).
#ifndef LOCKSTEP_REPORT_SECTION_PUBLISHED_H
#define LOCKSTEP_REPORT_SECTION_PUBLISHED_H

#include <stdbool.h>

#include "base/text.h"
#include "report/document.h"
#include "report/report.h"

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

// Appends every published figure of that kind for the group, as "63.70 %" or "78–82 %", separated
// by semicolons. Appends nothing if there is none.
status published_append(text *out, const seed_group *g, published_key key, error *err) MUST_CHECK;

// Appends a cell with our figure of that kind: the mean over the runs of the group.
void published_own_cell(const results *r, document *d, const seed_group *g, published_key key);

#endif
