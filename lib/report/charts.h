// SPDX-License-Identifier: MIT
// charts.h - the drawings of a page: series in its facts (key `charts`), and drawn from these.
//
// A chart is a mapping: `kind`, `words` (below), and what its kind draws; see docs/formats.md. Its
// title, axes and legend are words of the page's language.
#ifndef LOCKSTEP_REPORT_CHARTS_H
#define LOCKSTEP_REPORT_CHARTS_H

#include "base/error.h"
#include "base/text.h"
#include "base/yaml_tree.h"
#include "report/drawing.h"
#include "results/results.h"

// Returns the word for `word` in a table of names.yaml; the word itself if there is none.
typedef const char *(*chart_word)(void *context, const char *table, const char *word);

// Begins the drawing of a chart: sets its title, and its script or svg. `d` has its id. Words:
// `charts` has WORDS.title, WORDS.x and WORDS.y, `factors` the names of factors, `parts` those of
// the parts of a bar, `classes` those of classes.
status chart_draw(const yaml_node *chart, chart_word word, void *context, drawing *d,
                  error *err) MUST_CHECK;

// ---- For building ----

// Colours of parts: each phase of a step has one in all drawings.
enum {
    CHART_FORWARD,
    CHART_LOAD,
    CHART_UPDATE,
    CHART_BACKWARD,
    CHART_COMM,
    CHART_COPY,
    CHART_BUSY,
    CHART_WAIT
};

// The title and the axes are WORDS.title, .x and .y.
yaml_node *chart_new(const char *kind, const char *words);
// Adds an item and returns it.
yaml_node *chart_add(yaml_node *chart, const char *label);
// Adds a figure as a row of a chart of intervals and returns it; NULL if it is unknown.
yaml_node *chart_add_interval(yaml_node *chart, const figure *f, const char *label);
// Has a chart to show a verdict? As one that decides nothing?
bool chart_shows(const verdict *v);
bool chart_is_pale(const verdict *v);

// The parts of the bars of a stacked chart.
typedef struct chart_parts {
    const char *name;
    int colour;
} chart_parts;
yaml_node *chart_new_stacked(const char *words, const chart_parts *parts, size_t count);
// Adds OWNER.PREFIXpart of each part as a bar; nothing if none is known. The label is followed by
// the word for `of`, if that is not "".
void chart_add_stack(yaml_node *chart, const results *r, const char *label, const char *of,
                     const char *owner, const char *prefix);

// Puts a chart among others; null if it has no item or is not `whole`.
void chart_put(yaml_node *charts, const char *name, yaml_node *chart, bool whole);

#endif
