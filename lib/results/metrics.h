// metrics.h - every kind of number that a report shows of a run, a row each: its name, its unit,
// where it stands in a manifest or how it follows from it, and what it is computed again from.
// Those of several runs are in joint_metrics.h.
#ifndef LOCKSTEP_RESULTS_METRICS_H
#define LOCKSTEP_RESULTS_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "results/run.h"
#include "results/statistics.h"
#include "words/words.h"

typedef enum metric_kind {
    METRIC_PARAMETER, // what a run was told to do
    METRIC_RESULT,    // what it learnt: the same in every execution of a run
    METRIC_POOLED,    // a time, the geometric mean over the executions of a run
    METRIC_TIME,      // a time of one execution
    METRIC_USE,       // what its devices did: of a run whose step is split into phases
    METRIC_GPU,       // what the driver said
    METRIC_JOINT      // of several runs
} metric_kind;

// What "#" in the name and the key of a metric stands for: the member.
typedef enum metric_over {
    OVER_NOTHING,
    OVER_PHASES,
    OVER_CLASSES,
    OVER_CONFUSION,  // "TRUE.SAID", pairs of classes, where there are METRIC_CONFUSION or fewer
    OVER_EPOCHS,     // from 1
    OVER_EXECUTIONS, // from 1; of a run with several: each one's own
    OVER_ACTIVITIES, // of a DataParallel step
    OVER_REPLICAS,
    OVER_STAGES,
    OVER_GPUS
} metric_over;

// The file that a metric is computed again from.
typedef enum metric_file { FILE_NONE, FILE_STEPS, FILE_PREDICTIONS } metric_file;

// How a cell shows it: in `format`, after multiplication by `scale`, with `sign` behind it.
typedef struct metric_style {
    const char *format; // NULL: seconds, with the digits that they need
    double scale;
    const char *sign;
} metric_style;

enum { METRIC_CONFUSION = 20 };

// Of how many it was computed, for the text that says so; `second` NAN: of one count alone.
typedef struct metric_counts {
    double first, second;
} metric_counts;

typedef struct metric_row {
    const char *name;    // "accuracy", "step.#"
    const char *unit;    // "fraction", "s", "ms", "µs", "x", "bytes", "MHz", "W", "°C", ""
    const char *heading; // of its column: a WORD
    metric_style style;
    metric_kind kind;
    metric_over over;
    // Keys of the train manifest and of that of the evaluation, which counts where there is one.
    // Without `value` it is the number at the key.
    const char *key, *tested;
    double factor; // of the number; 0 is 1
    double (*value)(const run *r, size_t member);
    interval (*range)(const run *r, size_t member); // 95 %; NULL: none
    // From `file` the run is rebuilt (rebuild.h): computed again it is `again` of that run, without
    // one `value`.
    metric_file file;
    double tolerance; // relative, for rounding
    double (*again)(const run *rebuilt, size_t member);
    const char *how; // a format, of two counts, or of one with "s" where it is not 1
    metric_counts (*counts)(const run *rebuilt, size_t member);
} metric_row;

// All of runs.
const metric_row *metrics_table(size_t *count);
// The row of "accuracy" or "step.load"; NULL when there is none.
const metric_row *metrics_find(const char *name);

// Is it a time, or a share of one? Those are marked where they are simulated.
bool metric_is_time(const metric_row *m);
// Is there a mean of it over repeats?
bool metric_has_mean(const metric_row *m);

// How many members a run has of it: 0 of what it does not have, 1 OVER_NOTHING.
status metric_members(const metric_row *m, const run *r, size_t *count, error *err) MUST_CHECK;
// Its name, and its key in the manifest, with the member in the place of "#"; free() them.
char *metric_name(const metric_row *m, const run *r, size_t member, error *err) MUST_CHECK;
char *metric_key(const metric_row *m, const run *r, size_t member, error *err) MUST_CHECK;
// Does the value of this run stand in the manifest of its evaluation?
bool metric_is_tested(const metric_row *m, const run *r);
// NAN where it is not known. STATUS_INPUT for what is no number in the manifest.
status metric_value(const metric_row *m, const run *r, size_t member, double *value,
                    error *err) MUST_CHECK;
// What it is in a run that was rebuilt from its file (rebuild.h); NAN where it cannot be said.
double metric_again(const metric_row *m, const run *rebuilt, size_t member);
// Is that, but for rounding, the recorded value? What is unknown on either side contradicts
// nothing.
bool metric_agrees(const metric_row *m, double value, double again);

#endif
