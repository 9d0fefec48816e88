// SPDX-License-Identifier: MIT
#include "results/load_share.h"

#include <math.h>
#include <stdlib.h>

#include "base/median.h"
#include "base/memory.h"
#include "results/verdict.h"

// The shares of a run's timed epochs.
static size_t shares_of(const run *r, double *share) {
    size_t count = 0;
    const run_timed timed = run_timed_epochs(r);
    for (size_t i = timed.first; run_has_time(r) && i < timed.end; i++) {
        double part = r->epochs[i].phase[RUN_LOAD] / r->epochs[i].seconds;
        if (isfinite(part)) share[count++] = part;
    }
    return count;
}

// The mean over `runs` of the median of each run's values.
static void centre_of(double *medians, size_t runs, const double *values, size_t count,
                      estimate *share) {
    const mean_estimate m = statistics_alone(medians, runs);
    share->value = m.value;
    share->range = (interval){INFINITY, -INFINITY};
    for (size_t i = 0; i < count; i++) {
        share->range.low = fmin(share->range.low, values[i]);
        share->range.high = fmax(share->range.high, values[i]);
    }
    if (runs >= VERDICT_EXECUTIONS) {
        const interval mean = statistics_interval(&m, 0.95);
        share->range = (interval){fmax(0, mean.low), fmin(1, mean.high)};
    }
    if (!runs) *share = (estimate){NAN, {NAN, NAN}};
}

void load_share(const group *g, estimate *share) {
    size_t epochs = 0, runs = 0, n = 0, executed;
    const run **executions;
    group_executions(g, &executions, &executed);
    for (size_t i = 0; i < executed; i++) epochs += executions[i]->epoch_count;
    double *values = memory_new(epochs, sizeof *values);
    double *medians = memory_new(executed, sizeof *medians);
    for (size_t i = 0; i < executed; i++) {
        const size_t count = shares_of(executions[i], values + n);
        if (count) medians[runs++] = median(values + n, count);
        n += count;
    }
    centre_of(medians, runs, values, n, share);
    free(executions);
    free(values);
    free(medians);
}

load_bound load_bound_of(double share, interval range) {
    if (isnan(share)) return LOAD_BOUND_UNKNOWN;
    return range.low > 0.5    ? LOAD_BOUND_LOADER
           : range.high < 0.5 ? LOAD_BOUND_COMPUTE
                              : LOAD_BOUND_UNDECIDED;
}
