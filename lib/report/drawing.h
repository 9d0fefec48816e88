// drawing.h - a gnuplot script becomes a clean SVG (private to lib/report: plot.h).
#ifndef LOCKSTEP_REPORT_DRAWING_H
#define LOCKSTEP_REPORT_DRAWING_H

#include "base/error.h"
#include "base/text.h"

enum { DRAWING_WIDTH = 440 };
// No colour of a drawing: where a script fills with it, the page hatches what lies below.
#define DRAWING_HATCH "#010203"

// Runs gnuplot on a script for its svg terminal of that height, and cleans up what it writes: ids
// begin with `id`, text has font and colour of the page. As plot.h says of *svg.
status drawing_make(const text *script, const char *id, const char *title, int height, char **svg,
                    error *err) MUST_CHECK;

// Begin a drawing that gnuplot does not make: an <svg> element of that height with its title.
void drawing_begin(text *out, const char *id, const char *title, int height);
// Appends text of an element or of an attribute.
void drawing_escape(text *out, const char *string);

#endif
