// SPDX-License-Identifier: MIT
// facts.h - everything that a report shows, as data: report.json (schema lockstep.facts/1,
// docs/formats.md), from which templates write the page. No value holds a sentence.
#ifndef LOCKSTEP_REPORT_FACTS_H
#define LOCKSTEP_REPORT_FACTS_H

#include "base/yaml_tree.h"
#include "report/published_figures.h"
#include "report/report.h"

typedef struct facts {
    const results *results;
    yaml_node *root;
    const yaml_node *figures; // in it: in the order of results' figures
} facts;

// `r` must outlive the facts. STATUS_INPUT if a manifest that only they need cannot be read.
status facts_make(facts *f, const results *r, const report_options *o, error *err) MUST_CHECK;
void facts_release(facts *f);
// Writes report.json, in which each run is once and no picture is. The facts are then no longer
// those of a page.
status facts_write(facts *f, text *json, error *err) MUST_CHECK;
// For a page without drawings: as if nothing could be drawn.
void facts_drop_charts(facts *f);

// Returns the figure that KEY means for a mapping with a name: NAME.KEY; of an experiment also that
// of its only run, or the mean over its repeats. NULL: none. *known: KEY is the name of a metric.
const yaml_node *facts_figure(const facts *f, const yaml_node *mapping, const char *key,
                              bool *known);

// ---- The parts, for the files of this one ----

yaml_node *facts_number(double value);      // null if it is not known
yaml_node *facts_count(int64_t value);      // null below 0
yaml_node *facts_string(const char *value); // null if it is empty
// A list of mappings {of, a, b} (results/reasons.h).
yaml_node *facts_reasons(const reason_list *list);
// Why the times of a run are simulated: more ranks than devices.
yaml_node *facts_crowd(const run *one);
// A comparison whose figures belong to `owner`.
yaml_node *facts_comparison(const comparison *c, const char *owner);
// Adds `execution` and `gpus` to the node of a run.
status facts_put_devices(yaml_node *node, const results *r, const run *one, error *err) MUST_CHECK;
// Adds `classes`, `confusion` and `same_predictions` to the node of a run.
void facts_put_classes(yaml_node *node, const results *r, size_t at);
// Adds `mistakes`, and their charts to the `charts` of the tree.
status facts_put_mistakes(yaml_node *root, const results *r, error *err) MUST_CHECK;
// Adds `predictions`, and the `collectives` that they are made from.
void facts_put_predictions(yaml_node *root, const results *r);
// The time of a step by device.
yaml_node *facts_use_chart(const results *r);
// What the details of a page say about a run.
void facts_run_details(yaml_node *node, const results *r, const run *one);
// The accuracy that runs of one experiment are to reach, and how many did; null without one.
yaml_node *facts_target(const run *const *runs, size_t count);
// What other programs took from the runs; null: nothing.
yaml_node *facts_disturbance(const run_list *list);
// What the threads of all runs wait for at the end of their work, a word; NULL: unknown.
const char *facts_wait(const results *r);
// The limits of verdicts.
yaml_node *facts_rules(void);
// Properties of machines and executions; the executions of a run that do not count; all files; all
// commands.
yaml_node *facts_environment(const run_list *list);
yaml_node *facts_excluded(const run *one);
yaml_node *facts_files(const run_list *list);
yaml_node *facts_commands(const run_list *list);
// Adds what a page shows of these runs alone: `experiments`, `plan`, `charts` and more.
status facts_put_view(yaml_node *root, const results *r, error *err) MUST_CHECK;
// Adds to each figure the ids of those that it is computed from, and the file that its value comes
// from.
yaml_node *facts_figures(const results *r);
// Adds `reproduction`, with all rows, and `reports`, each with its own view.
status facts_put_reproduction(yaml_node *root, const results *r, error *err) MUST_CHECK;
// Our figure beside a published one; null if there is none.
yaml_node *facts_own_figure(const results *r, const seed_group *g, published_key key);
// Published figures beside ours.
status facts_published(const results *r, yaml_node **rows, error *err) MUST_CHECK;
// Published figures along a ladder.
status facts_walks(const results *r, yaml_node **walks, error *err) MUST_CHECK;
// The steps of a ladder, or the variants of a study.
status facts_plan(const results *r, yaml_node **plan, error *err) MUST_CHECK;
// All charts (charts.h), by name; null where there is nothing to draw.
status facts_charts(const results *r, yaml_node **charts, error *err) MUST_CHECK;

#endif
