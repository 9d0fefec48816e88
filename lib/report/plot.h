// SPDX-License-Identifier: MIT
// plot.h - drawings for a page: gnuplot writes the SVG, which is then cleaned up so that the page
// determines size, font, and the colours of text and background.
#ifndef LOCKSTEP_REPORT_PLOT_H
#define LOCKSTEP_REPORT_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

// One curve; points that are not finite are gaps. Equal curves with different names are drawn once
// and share a legend entry.
typedef struct plot_curve {
    const char *name; // in the legend; NULL: not in it
    int colour;       // any number from 0; colours repeat after PLOT_COLOURS
    bool faint;       // thin and pale: raw values, drawn under their mean
    const double *x, *y;
    size_t count;
} plot_curve;

enum { PLOT_COLOURS = 8 };
// Each phase of a step has one colour in all drawings.
enum {
    PLOT_FORWARD,
    PLOT_LOAD,
    PLOT_UPDATE,
    PLOT_BACKWARD,
    PLOT_COMM,
    PLOT_COPY,
    PLOT_BUSY,
    PLOT_WAIT
};

typedef struct plot_axes {
    const char *id;    // unique in the page; letters
    const char *title; // for readers who cannot see the drawing
    const char *x, *y; // labels; x counts from 0
    bool seconds;      // x is a time; else it counts whole epochs
    bool percent;      // y is in per cent: ticks have the sign
} plot_axes;

// Stacked horizontal bars: value[bar · parts + part].
typedef struct plot_bars {
    const char *id, *title, *x;
    const char *const *bars, *const *parts;
    size_t bar_count, part_count;
    const double *value;
    const int *colours;  // of the parts; NULL: in their order
    const bool *hatched; // bars of simulated times; NULL: none
} plot_bars;

// A row each: a point with its 95 % interval. What is not finite is not drawn.
typedef struct plot_interval {
    const char *name;
    double value, low, high;
    bool pale; // undecided: only its interval
} plot_interval;

typedef struct plot_intervals {
    const char *id, *title, *x;
    const plot_interval *rows;
    size_t count;
    double reference; // position of the dashed "no difference" line; NAN: none
} plot_intervals;

// Points with intervals in both directions, each with its name.
typedef struct plot_point {
    const char *name;
    double x, x_low, x_high, y, y_low, y_high;
    bool pale; // its x is undecided: only the intervals
} plot_point;

typedef struct plot_cloud {
    const char *id, *title, *x, *y;
    const plot_point *points;
    size_t count;
    bool joined;  // by a line, in their order
    bool log;     // the x axis
    bool percent; // y
} plot_cloud;

// A walk from one value to another, a row each step: a bar from the value before it to its own. A
// step that stands for a total has a point only.
typedef struct plot_step {
    const char *name;
    double from, to, low, high; // low, high: of `to`
    bool total, pale;           // pale: undecided
} plot_step;

typedef struct plot_walk {
    const char *id, *title, *x;
    const plot_step *steps;
    size_t count;
    bool more_is_better; // a step to the right is good
} plot_walk;

// Write an <svg> element into a new string (free() it), or NULL if gnuplot is not installed: a
// report without drawings is valid. If an installed gnuplot fails or hangs, return STATUS_FAILED,
// as an incomplete report would be taken for up to date.
status plot_curves(const plot_axes *axes, const plot_curve *curves, size_t count, char **svg,
                   error *err) MUST_CHECK;
status plot_stacked(const plot_bars *bars, char **svg, error *err) MUST_CHECK;
status plot_intervals_draw(const plot_intervals *i, char **svg, error *err) MUST_CHECK;
status plot_cloud_draw(const plot_cloud *c, char **svg, error *err) MUST_CHECK;
status plot_walk_draw(const plot_walk *w, char **svg, error *err) MUST_CHECK;

#endif
