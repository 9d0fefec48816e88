// SPDX-License-Identifier: MIT
// plot.h - a chart as variables of gnuplot, for a script of share/report/plots (private to
// lib/report: charts.h).
//
// The script of a kind of chart, KIND.gp, is loaded with these variables. Numbers are real, and NaN
// where the chart has none; flags are 0 or 1.
//
//     plots                        the folder of the scripts
//     width, hatch                 of the drawing, in pixels; the colour of areas that are hatched
//     x_title, y_title             of the axes
//     chart_KEY                    scale (1 if the chart has none), reference; key: a text; flags:
//                                  seconds, percent, joined, log, more_is_better
//     items                        their number, and of each, in arrays from 1:
//     item_label, item_label_width     its name, and the columns of that
//     item_KEY                         colour, value, low, high, from, to, x_value, x_low, x_high,
//                                      y_value, y_low, y_high; flags: pale, faint, simulated, total
//     $series, item_points         curves only: a block of lines "x y" an item, and their number
//     $values, parts               stacked only: a line of numbers an item, scaled; their number
//     part_label, part_label_width, part_colour
//
// Equal curves with different names are one item, named after all of them. A curve without a point,
// and a part that no bar has if others are there, are left out.
#ifndef LOCKSTEP_REPORT_PLOT_H
#define LOCKSTEP_REPORT_PLOT_H

#include <stddef.h>

#include "base/text.h"
#include "base/yaml_tree.h"
#include "report/charts.h"

// A chart with the words of the page's language.
typedef struct plot {
    const yaml_node *chart;
    const yaml_node **items; // of the chart
    size_t count;
    const char *id;      // unique in the page; letters
    char *title, *x, *y; // title: for readers who cannot see the drawing
    char **labels;       // of the items
    chart_word word;
    void *context;
} plot;

// Writes the variables and the command that loads the script. Joins equal curves of `p`.
status plot_script(plot *p, text *script, error *err) MUST_CHECK;

// Images, each with its class and the predicted one: writes the drawing itself.
void plot_pictures(const plot *p, text *svg);

#endif
