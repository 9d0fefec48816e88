// SPDX-License-Identifier: MIT
// plot.h - the kinds of charts, drawn from their series (private to lib/report: charts.h).
//
// Each writes a script for gnuplot's svg terminal, and returns the height of the drawing.
#ifndef LOCKSTEP_REPORT_PLOT_H
#define LOCKSTEP_REPORT_PLOT_H

#include <stddef.h>

#include "base/text.h"
#include "base/yaml_tree.h"
#include "report/charts.h"

// A chart with the words of the page's language.
typedef struct plot {
    const yaml_node *chart;
    yaml_node *const *items; // of the chart
    size_t count;
    const char *id;      // unique in the page; letters
    char *title, *x, *y; // title: for readers who cannot see the drawing
    char **labels;       // of the items
    chart_word word;
    void *context;
} plot;

// Curves over whole epochs, or over seconds.
int plot_curves(const plot *p, text *script);
// Stacked horizontal bars; those of simulated times are hatched.
int plot_stacked(const plot *p, text *script);
// A row each: a point with its 95 % interval, or if it is undecided only that; `reference`, the
// position of the dashed "no difference" line. What is not finite is not drawn.
int plot_intervals(const plot *p, text *script);
// Points with intervals in both directions, each with its name.
int plot_points(const plot *p, text *script);
// From one value to another, a row each step: a bar from the value before it to its own.
int plot_walk(const plot *p, text *script);
// Images, each with its class and the predicted one; gnuplot does not make them: writes the drawing
// itself.
int plot_pictures(const plot *p, text *svg);

#endif
