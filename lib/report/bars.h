// SPDX-License-Identifier: MIT
// bars.h - metrics as horizontal bars, one per owner (private to lib/report).
#ifndef LOCKSTEP_REPORT_BARS_H
#define LOCKSTEP_REPORT_BARS_H

#include <stddef.h>

#include "base/error.h"
#include "base/interval.h"
#include "report/document.h"
#include "report/report.h"

// One metric: a bar from 0 to its value, with its interval. Several: parts of one bar, end to end.
typedef struct bars {
    const char *id; // of the drawing: letters
    const char *title, *axis, *caption;
    const char *const *metrics, *const *names; // names of the parts; NULL for one metric
    size_t metric_count;
    const int *colours; // of the parts; NULL: in their order
    double scale;       // factor that figures are multiplied by
    double reference;   // position of the dashed "no difference" line; NAN: none
    error *err;
    struct bar *items;
    size_t count, capacity;
} bars;

// Adds a bar of OWNER.METRIC, or for several metrics one of OWNER.PREFIX with all of them; adds
// nothing if the owner has no such value. Strings are copied. Bars of simulated times are hatched.
void bars_add(bars *b, const results *r, const char *owner, const char *prefix, const char *label);
// Adds the drawing to the document, or a note if it cannot be made; adds nothing without bars.
status bars_draw(const bars *b, const results *r, document *d) MUST_CHECK;
void bars_release(bars *b);

#endif
