// SPDX-License-Identifier: MIT
// facts.h - everything that a report shows, as data: report.json (schema lockstep.facts/1,
// docs/formats.md), from which templates write the page. No value holds a sentence.
#ifndef LOCKSTEP_REPORT_FACTS_H
#define LOCKSTEP_REPORT_FACTS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"
#include "base/yaml_tree.h"
#include "results/results.h"

// What the head of a page says.
typedef struct facts_head {
    const char *language;         // "en", "zh" (page_language_check)
    const char *title;            // NULL: derived from the runs
    const char *author, *student; // a name, and a student number; NULL: none
} facts_head;

typedef struct facts {
    const results *results;
    yaml_node *root;
    const yaml_node *figures; // in it: in the order of results' figures
} facts;

// `r` must outlive the facts. Without `pictures` no test images are read, and there are no
// `mistakes`. STATUS_INPUT if a manifest that only they need cannot be read.
status facts_make(facts *f, const results *r, const facts_head *head, bool pictures,
                  error *err) MUST_CHECK;
void facts_release(facts *f);
// Writes report.json, in which each run is once and no picture is. The facts are then no longer
// those of a page.
void facts_write(facts *f, text *json);

// Returns the figure that KEY means for a mapping with a name: NAME.KEY; of an experiment also that
// of its only run, or the mean over its repeats. NULL: none. *known: KEY is the name of a metric.
const yaml_node *facts_figure(const facts *f, const yaml_node *mapping, const char *key,
                              bool *known);

#endif
