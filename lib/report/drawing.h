// SPDX-License-Identifier: MIT
// drawing.h - makes a clean SVG from a gnuplot script, and files from it (private to lib/report).
#ifndef LOCKSTEP_REPORT_DRAWING_H
#define LOCKSTEP_REPORT_DRAWING_H

#include "base/error.h"
#include "base/text.h"

enum { DRAWING_WIDTH = 440 };
// A colour used in no drawing: areas that a script fills with it are hatched on the page.
#define DRAWING_HATCH "#010203"

// Runs gnuplot on a script for its svg terminal, and cleans up the output: ids begin with `id`, and
// text inherits font and colour of the page. *svg is a new string, or NULL as charts.h says.
status drawing_make(const text *script, const char *id, const char *title, char **svg,
                    error *err) MUST_CHECK;

// Begin a drawing that gnuplot does not make: an <svg> element of that height with its title.
void drawing_begin(text *out, const char *id, const char *title, int height);

// Appends a drawing as a standalone file: without background, in colours for light and dark pages.
void drawing_to_file(const char *svg, text *out);

// Appends such a file as a PDF, made by rsvg-convert; appends nothing if that is not installed.
status drawing_to_pdf(const text *svg, text *pdf, error *err) MUST_CHECK;

#endif
