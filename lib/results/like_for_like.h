// SPDX-License-Identifier: MIT
// like_for_like.h - the conditions under which the times of two executions may be compared.
//
// One table of conditions answers two questions: may the times of two experiments be compared, and
// do two executions of one run count together (pool.h)?
#ifndef LOCKSTEP_RESULTS_LIKE_FOR_LIKE_H
#define LOCKSTEP_RESULTS_LIKE_FOR_LIKE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "results/reasons.h"
#include "results/run.h"

// The keys of an experiment that a plan varies, so a comparison within the plan allows them to
// differ. Strategy, ranks and V may always differ. The keys are not copied.
typedef struct varied_keys {
    const char **keys;
    size_t count;
} varied_keys;

// Adds all reasons why the times of two runs may not be compared; none if they may. `varied` may be
// NULL: no keys. `together`: the times come from arms that took turns on one machine, so it does
// not matter where and with which build the runs were made.
void like_for_like(const run *a, const run *b, const varied_keys *varied, bool together,
                   reason_list *unlike);

// Returns the key of the only setting in which two runs differ, such as "loader_workers"; NULL if
// they differ in none, in more, or in anything else: strategy, ranks, V, reduction, machine, build.
// Their times may be compared if that key is varied. `together` as above. Static storage.
const char *like_single_setting(const run *a, const run *b, bool together);
// Adds that difference.
void like_setting(const run *a, const run *b, const char *key, reason_list *out);

// Do the times of two executions of one run count together?
bool like_executed(const run *a, const run *b);
// The same as like_executed for two runs that repeat one experiment; one may have no times.
bool like_repeated(const run *a, const run *b);
// Was the run executed as an arm of time-runs was, whose `run.execution` is given?
bool like_timed(const run *r, const yaml_node *execution);
// Returns a copy of what of a `run.execution` like_timed compares, and nothing that was measured.
yaml_node *like_execution(const yaml_node *execution);
// Adds what keeps their times from counting together: the folder of the one that has none, which
// was "resumed" or "restarted", and how they differ.
void like_not_executed(const run *a, const run *b, reason_list *out);

// Adds how the arithmetic of a step differs.
void like_arithmetic(const run *a, const run *b, reason_list *out);
// Returns the samples that a batch norm layer averages over in a full step; 0 without such a layer.
int64_t like_batch_norm_samples(const run *r);
// Do the parameters of two trainings agree, but for these keys? The list ends with NULL.
bool like_parameters(const run *a, const run *b, const char *const *but);
// Do two trainings agree in all that decides a model, but for V? With one V they end in the same
// model, bit for bit: strategy, ranks and loader workers change no bit. They may agree in V, too.
bool like_but_shards(const run *a, const run *b);

#endif
