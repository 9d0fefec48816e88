// SPDX-License-Identifier: MIT
// kept.h - what the kept runs are, for the commands that list and remove them.
#ifndef LOCKSTEP_PIPELINE_KEPT_H
#define LOCKSTEP_PIPELINE_KEPT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "pipeline/origins.h"
#include "pipeline/pipeline.h"

typedef struct kept_run {
    const char *key; // KEY12
    // `differs`: from the experiment's file. `date`: of the newest execution, or of what an
    // unfinished one wrote last; UTC, ISO 8601.
    char name[80], differs[400], date[32];
    double accuracy, seconds;      // NAN: unknown
    size_t executions, unfinished; // finished ones, and others
    uint64_t bytes;
} kept_run;

// Reads a run in the store; one that cannot be used has the reason in `differs`.
void kept_read(const pipeline *p, const origins *known, const char *key, kept_run *w);
// Lists the keys (KEY12) of the runs whose first digits the settings name, or of all; free with
// store_keys_free. STATUS_INPUT if a word does not match exactly one.
status kept_select(const pipeline *p, char ***keys, size_t *count, error *err) MUST_CHECK;
// Writes "1.2 MiB".
void kept_show_size(uint64_t bytes, char text[16]);

#endif
