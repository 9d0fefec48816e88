// published.h - the published figures that an experiment carries, beside its own (private to
// lib/report).
#ifndef LOCKSTEP_REPORT_PUBLISHED_H
#define LOCKSTEP_REPORT_PUBLISHED_H

#include <stdbool.h>

#include "base/text.h"
#include "report/document.h"
#include "report/report.h"

// In the order in which they are shown.
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

// The list `published` of the run's experiment, or NULL.
const yaml_node *published_of(const run *one);

// Every figure of that kind that is published for the group, as "63.70 %", "78–82 %" or with
// semicolons between several. Nothing where there is none.
status published_append(text *out, const group *g, published_key key, error *err) MUST_CHECK;

// Appends a cell with the same of our own: the mean over the runs of the group.
void published_own_cell(const results *r, document *d, const group *g, published_key key);

#endif
