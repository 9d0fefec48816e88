// SPDX-License-Identifier: MIT
// published_walk.h - published figures along a ladder: the change from one run that has a figure to
// the next one that has it.
//
// Only figures of one source are compared, as they share a machine and a method of measurement. The
// factors between two figures are those in which the published experiments differ; if there are
// several, the figures do not show which of them made the difference.
#ifndef LOCKSTEP_RESULTS_PUBLISHED_WALK_H
#define LOCKSTEP_RESULTS_PUBLISHED_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "results/statistics.h"

// A figure as published: seconds, or percent; for a single number both ends are equal.
typedef struct published_figure {
    const yaml_node *entry, *node; // the figure's place, and the figure as written
    interval value;
    double epochs; // of the experiment as published
} published_figure;

enum { PUBLISHED_FACTORS_MAX = 16 };

typedef struct published_step {
    size_t from, to; // runs of the plan: of several for one experiment, that closest to its file
    const char *factors[PUBLISHED_FACTORS_MAX];
    size_t factor_count;
    published_figure before, after;
    // For time: the ratio of speeds per epoch; for accuracy: points. A published range gives a
    // range.
    interval effect;
} published_step;

// The steps of one source for one kind of figure: each begins with the figure that ends the step
// before it.
typedef struct published_walk {
    const char *source;
    const char *key; // "seconds_per_epoch", "total_seconds", "accuracy"
    bool time;       // else accuracy
    published_step *steps;
    size_t count; // at least 1
} published_walk;

typedef struct published_walks {
    published_walk *items; // by source, in the order of the runs; time first
    size_t count, capacity;
} published_walks;

// Walks along the list `runs` of a plan. Of the two kinds of time, uses the one that more runs have
// from the source. If a source has several entries for a run, uses the one with the most figures
// (the first of equals), so that a walk keeps to one series of measurements. Texts point into
// `runs`. STATUS_INPUT if the plan's entries are invalid.
status published_walks_make(const yaml_node *runs, published_walks *w, error *err) MUST_CHECK;
void published_walks_release(published_walks *w);

// Reads both ends of a figure as written: a number, "~" for "about", or a range.
status published_value(const yaml_node *node, const char *key, interval *value,
                       error *err) MUST_CHECK;

// Returns the source's entry for a run, by the rule above, or NULL. `key`: considers only entries
// with that key; NULL: any.
const yaml_node *published_entry(const yaml_node *rung, const char *source, const char *key);

// Returns the whole walk as one step: its ends, and the effect between them.
published_step published_whole(const published_walk *walk);

// The direction of a step of time, and the step that made a whole walk faster or slower: on a log
// scale, where factors add up.
typedef enum published_direction {
    PUBLISHED_SLOWER = -1,
    PUBLISHED_OPEN, // as fast as before, or undecided by the published ranges
    PUBLISHED_FASTER
} published_direction;
typedef struct published_cause {
    published_direction direction; // of the whole walk
    size_t step;                   // the largest step in that direction
    double share; // of the step in the whole: above 1 if others went the other way; NAN if open
} published_cause;
published_direction published_goes(const published_step *step);
published_cause published_find_cause(const published_walk *walk);

#endif
