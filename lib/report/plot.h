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

// Horizontal bars from 0 to a value, with a whisker from `low` to `high`. NAN is not drawn.
typedef struct plot_values {
    const char *id, *title, *x;
    const char *const *names;
    const double *value, *low, *high;
    size_t count;
    const bool *hatched; // as above
    double reference;    // position of the dashed "no difference" line; NAN: none
} plot_values;

// Write an <svg> element into a new string (free() it), or NULL if gnuplot is not installed: a
// report without drawings is valid. If an installed gnuplot fails or hangs, return STATUS_FAILED,
// as an incomplete report would be taken for up to date.
status plot_curves(const plot_axes *axes, const plot_curve *curves, size_t count, char **svg,
                   error *err) MUST_CHECK;
status plot_stacked(const plot_bars *bars, char **svg, error *err) MUST_CHECK;
status plot_whiskers(const plot_values *values, char **svg, error *err) MUST_CHECK;

// Appends a standalone drawing as a PDF, made by rsvg-convert; appends nothing if that is not
// installed. Fails as above.
status plot_to_pdf(const text *svg, text *pdf, error *err) MUST_CHECK;

#endif
