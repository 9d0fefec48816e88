// plot.h - drawings for a page: gnuplot makes the SVG, and what it writes is cleaned up so that the
// page decides on size, font and colours of text and background.
#ifndef LOCKSTEP_REPORT_PLOT_H
#define LOCKSTEP_REPORT_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

// One curve; points that are not finite are gaps. Equal curves of two names are drawn once, and
// share an entry of the legend.
typedef struct plot_curve {
    const char *name; // for the legend; NULL: not in it
    int colour;       // any number from 0; colours repeat after PLOT_COLOURS
    bool faint;       // thin and pale: raw values behind their mean
    const double *x, *y;
    size_t count;
} plot_curve;

enum { PLOT_COLOURS = 8 };
// A part of a step has one colour on all drawings.
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
    const char *title; // for readers who do not see the drawing
    const char *x, *y; // labels; x counts from 0
    bool seconds;      // x is a time, else whole epochs
    bool percent;      // y in per cent: ticks get the sign
} plot_axes;

// Stacked horizontal bars: value[bar · parts + part].
typedef struct plot_bars {
    const char *id, *title, *x;
    const char *const *bars, *const *parts;
    size_t bar_count, part_count;
    const double *value;
    const int *colours;  // of the parts; NULL: in their order
    const bool *hatched; // bars of simulated times; NULL: none is
} plot_bars;

// Horizontal bars from 0 to a value, with a whisker from `low` to `high`. What is NAN is not drawn.
typedef struct plot_values {
    const char *id, *title, *x;
    const char *const *names;
    const double *value, *low, *high;
    size_t count;
    const bool *hatched; // as above
    double reference;    // where a dashed line says "no difference"; NAN: none
} plot_values;

// All put an <svg> element into a new string (free() it); NULL where gnuplot is not installed: a
// report without drawings is still a report. Where gnuplot is there and fails, or does not end,
// that is STATUS_FAILED: a report that lacks what it could have would be taken for up to date.
status plot_curves(const plot_axes *axes, const plot_curve *curves, size_t count, char **svg,
                   error *err) MUST_CHECK;
status plot_stacked(const plot_bars *bars, char **svg, error *err) MUST_CHECK;
status plot_whiskers(const plot_values *values, char **svg, error *err) MUST_CHECK;

// A drawing that stands alone as a PDF, made by rsvg-convert: nothing is appended where that is not
// installed. It fails as above.
status plot_to_pdf(const text *svg, text *pdf, error *err) MUST_CHECK;

#endif
