// SPDX-License-Identifier: MIT
// drawing.h - makes clean SVGs from gnuplot scripts, and files from them (private to lib/report).
#ifndef LOCKSTEP_REPORT_DRAWING_H
#define LOCKSTEP_REPORT_DRAWING_H

#include "base/error.h"
#include "base/text.h"

enum { DRAWING_WIDTH = 440 };
// A colour used in no drawing: areas that a script fills with it are hatched on the page.
#define DRAWING_HATCH "#010203"

// A drawing of a page.
typedef struct drawing {
    char *id;    // letters, unique in the page; the ids in it begin so
    char *title; // for readers who cannot see it
    text script; // for gnuplot and its svg terminal; empty if there is a drawing without it
    char *svg; // an <svg> element, which inherits font and colours of the page; NULL: not made yet
} drawing;

void drawing_release(drawing *d);

// Makes those that have a script, in one run of gnuplot, which takes longer to start than to draw.
// STATUS_FAILED if it fails, hangs or is not installed; the message names the first that is not
// made.
status drawings_make(drawing *drawings, size_t count, error *err) MUST_CHECK;

// Begins a drawing that gnuplot does not make: an <svg> element of that height with its title.
void drawing_begin(text *out, const char *id, const char *title, int height);

// Appends a drawing as a standalone file: without background, in colours for light and dark pages.
void drawing_to_file(const char *svg, text *out);

// Appends such a file as a PDF, made by rsvg-convert; appends nothing if that is not installed.
status drawing_to_pdf(const text *svg, text *pdf, error *err) MUST_CHECK;

#endif
