// SPDX-License-Identifier: MIT
// The course of training: loss and accuracy by epoch, as drawings and as a table.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/plot.h"
#include "report/sections.h"
#include "results/steps.h"

enum { THIN_TO = 500, RAW_RUNS_MAX = 2 };

// The points of one curve; a plot_curve points into them.
typedef struct points {
    double *x, *y;
    size_t count;
} points;

// What the accuracies after epochs are of.
typedef enum measured_on { ON_TEST_DATA, ON_VALIDATION, ON_BOTH } measured_on;

void section_drawing(const results *r, document *d, const char *id, char *svg,
                     const char *caption) {
    if (svg)
        document_figure(d, id, svg, caption);
    else
        document_add(d, BLOCK_NOTE, "%s",
                     say(r, "No drawing: gnuplot was not found when the report was made."));
}
