// published_walk.h - what figures that somebody published say along a ladder: from one run that has
// them to the next that has them too.
//
// Only figures of one source are held against each other, for those are of one machine and one way
// of measuring. The factors between two of them are those in which their experiments differ as they
// were published; where there are several, the figures do not tell which of them it was.
#ifndef LOCKSTEP_RESULTS_PUBLISHED_WALK_H
#define LOCKSTEP_RESULTS_PUBLISHED_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "results/statistics.h"

// A figure as it was published: seconds, or percent; of a single number both ends are the same.
typedef struct published_figure {
    const yaml_node *entry, *node; // where it stands, and the figure as it was written
    interval value;
    double epochs; // that the experiment trains for as published
} published_figure;

enum { PUBLISHED_FACTORS_MAX = 16 };

typedef struct published_step {
    size_t from, to; // runs of the plan: of several for one experiment the closest to its file
    const char *factors[PUBLISHED_FACTORS_MAX];
    size_t factor_count;
    published_figure before, after;
    // Of time: how many times as fast an epoch is; of accuracy: points. A published range gives
    // one.
    interval effect;
} published_step;

// The steps of one source, of one kind of figure: each begins with the figure that the one before
// ends with.
typedef struct published_walk {
    const char *source;
    const char *key; // "seconds_per_epoch", "total_seconds", "accuracy"
    bool time;       // else accuracy
    published_step *steps;
    size_t count; // at least 1
} published_walk;

typedef struct published_walks {
    published_walk *items; // by source, in the order of the runs; of each first the time
    size_t count, capacity;
} published_walks;

// Walks along the list `runs` of a plan. Of the two kinds of time a source is walked by the one
// that more runs have. Of several entries of one source for a run the one with the most figures
// counts (the first of equals), so that a walk keeps to one series of measurements. Texts point
// into `runs`. STATUS_INPUT when the plan's entries are not what they should be.
status published_walks_make(const yaml_node *runs, published_walks *w, error *err) MUST_CHECK;
void published_walks_release(published_walks *w);

// A figure as it was written, "~" for "about" and ranges among them: both ends of it.
status published_value(const yaml_node *node, const char *key, interval *value,
                       error *err) MUST_CHECK;

// The entry of that source for a run, by the rule above, or NULL. `key`: only those that have it;
// NULL: any.
const yaml_node *published_entry(const yaml_node *rung, const char *source, const char *key);

// The whole walk as one: the ends, and the effect from the one to the other.
published_step published_whole(const published_walk *walk);

// Which way a step of time goes, and which step made a whole walk faster or slower: on a log scale,
// where factors add up.
typedef enum published_direction {
    PUBLISHED_SLOWER = -1,
    PUBLISHED_OPEN, // as fast as before, or the published ranges leave it open
    PUBLISHED_FASTER
} published_direction;
typedef struct published_cause {
    published_direction direction; // of the whole
    size_t step;                   // the step that went furthest in that direction
    double share; // of it in the whole: above 1 where others went the other way; NAN when open
} published_cause;
published_direction published_goes(const published_step *step);
published_cause published_find_cause(const published_walk *walk);

#endif
