#include "results/load_share.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

// The shares of the timed epochs of a run.
static size_t shares_of(const run *r, double *share) {
    size_t count = 0, first = r->epoch_count > 1 ? 1 : 0;
    for (size_t i = first; run_has_time(r) && i < r->epoch_count; i++) {
        double part = r->epochs[i].phase[RUN_LOAD] / r->epochs[i].seconds;
        if (isfinite(part)) share[count++] = part;
    }
    return count;
}

// To what a share can be; NAN stays.
static double clamp(double share) {
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

status load_share(const group *g, estimate *share, error *err) {
    status rc = STATUS_FAILED;
    size_t epochs = 0, runs = 0, n = 0, executed;
    const run **executions;
    *share = (estimate){NAN, {NAN, NAN}};
    if (group_executions(g, &executions, &executed, err) != STATUS_OK) return rc;
    for (size_t i = 0; i < executed; i++) epochs += executions[i]->epoch_count;
    double *values = memory_new(epochs, sizeof *values, err);
    const double **run_values = memory_new(executed, sizeof *run_values, err);
    size_t *length = memory_new(executed, sizeof *length, err);
    if (!values || !run_values || !length) goto out;
    for (size_t i = 0; i < executed; i++) {
        size_t count = shares_of(executions[i], values + n);
        if (!count) continue;
        run_values[runs] = values + n;
        length[runs++] = count;
        n += count;
    }
    const sample_set set = {run_values, length, runs};
    rc = statistics_centre(&set, share, err);
    share->range.low = clamp(share->range.low);
    share->range.high = clamp(share->range.high);
out:
    free(executions);
    free(values);
    free(run_values);
    free(length);
    return rc;
}

// Without an interval the value alone decides.
load_bound load_bound_of(double share, interval range) {
    if (isnan(share)) return LOAD_BOUND_UNKNOWN;
    if (isnan(range.low)) range = (interval){share, share};
    return range.low > 0.5    ? LOAD_BOUND_LOADER
           : range.high < 0.5 ? LOAD_BOUND_COMPUTE
                              : LOAD_BOUND_UNDECIDED;
}
