// SPDX-License-Identifier: MIT
// facts_parts.h - the parts of facts.h: each puts what it knows into the tree (private to
// lib/report).
#ifndef LOCKSTEP_REPORT_FACTS_PARTS_H
#define LOCKSTEP_REPORT_FACTS_PARTS_H

#include "base/error.h"
#include "base/yaml_tree.h"
#include "results/results.h"

// Adds `runs`.
status facts_put_runs(yaml_node *root, const results *r, error *err) MUST_CHECK;
// The accuracy that runs of one experiment are to reach, and how many did; null without one.
yaml_node *facts_target(const run *const *runs, size_t count);
// What the threads of all runs wait for at the end of their work, a word; NULL: unknown.
const char *facts_wait(const results *r);

// Adds `execution` and `gpus` to the node of a run.
void facts_put_devices(yaml_node *node, const results *r, const run *one);
// Why the times of a run are simulated: more ranks than devices.
yaml_node *facts_crowd(const run *one);
// The time of a step by device.
yaml_node *facts_use_chart(const results *r);

// Adds to the node of a run `classes`, `confusion`, `same_predictions`, and which classes were
// predicted: `never_predicted`, `only_predicted`.
void facts_put_classes(yaml_node *node, const results *r, size_t at);
// The accuracies of always answering the commonest class of test images, each with the runs whose
// accuracy is not certainly higher.
yaml_node *facts_base_rates(const results *r);
// Adds `mistakes`, and their charts to the `charts` of the tree.
status facts_put_mistakes(yaml_node *root, const results *r, error *err) MUST_CHECK;

// The names of its runs.
yaml_node *facts_names(const seed_group *g);
// {value, low, high}.
yaml_node *facts_range(estimate e);
// A factor of a plan, by the name that a page has a word for, between two runs: "batch-norm" in
// place of "virtual-shards" where batch norm averages over other samples.
yaml_node *facts_factor(const char *name, const run *from, const run *to);
// Those of a step, a list.
yaml_node *facts_factors(const planned *one);
// Finds the keys that differ among the variants; their number, or 0 if a value is no scalar.
size_t facts_differing_keys(const plan *p, const char *keys[2]);

// A list of mappings {of, a, b} (results/reasons.h).
yaml_node *facts_reasons(const reason_list *list);
// The limits of verdicts.
yaml_node *facts_rules(void);
// A comparison whose figures belong to `owner`.
yaml_node *facts_comparison(const comparison *c, const char *owner);
// Adds `in_time` to the nodes of experiments, whose groups are given, with the comparison of each
// with the first (NULL: it is the first): "first" (the fastest), "level" (not to be told from it),
// "behind"; null without a verdict.
status facts_put_standings(yaml_node *nodes, const seed_group *const *groups,
                           const comparison *const *with_first, const varied_keys *varied,
                           error *err) MUST_CHECK;
// The steps of a ladder, or the variants of a study.
status facts_plan(const results *r, yaml_node **plan, error *err) MUST_CHECK;

// Adds `predictions`, and the `collectives` that they are made from.
void facts_put_predictions(yaml_node *root, const results *r);

// Properties of machines and executions; all files; all commands.
yaml_node *facts_environment(const run_list *list);
yaml_node *facts_files(const run_list *list);
yaml_node *facts_commands(const run_list *list);
// Of a comparison without a plan: the commands that let the trainings take turns, and then report
// on them; null elsewhere.
yaml_node *facts_by_hand(const results *r);

// All figures, each with the ids of those that it is computed from, and the file that its value
// comes from.
yaml_node *facts_figures(const results *r);

// The kinds of published figures, in display order.
typedef enum published_key {
    PUBLISHED_ACCURACY, // percent
    PUBLISHED_SECONDS_PER_EPOCH,
    PUBLISHED_TOTAL_SECONDS,
    PUBLISHED_TRAIN_LOSS,
    PUBLISHED_BATCH_MS,
    PUBLISHED_LOAD_SECONDS,
    PUBLISHED_UPDATE_SECONDS,
    PUBLISHED_SPEED_UP,
    PUBLISHED_KEYS
} published_key;
// The list `published` of the run's experiment, or NULL.
const yaml_node *published_of(const run *one);
// Appends a published figure as written: "72.80", "55–65".
void published_append_figure(text *out, const yaml_node *node);
// A value as the page shows it: "64.12 %", "0.3912†"; "" if it is not finite.
yaml_node *facts_shown(double value, const metric_style *style, bool simulated);
// Our figure of the kind of a published one, of the group: the mean over its runs; null if it is
// unknown. A speed-up is known only with a verdict on time.
yaml_node *facts_own_figure(const results *r, const seed_group *g, published_key key);
// Both: `published`, every figure of that kind for the group, as "63.70 %" or "78–82 %", separated
// by semicolons, and ours, `here`. STATUS_INPUT if one is no figure.
status facts_put_pair(yaml_node *node, const results *r, const seed_group *g, published_key key,
                      error *err) MUST_CHECK;
// The epochs that the published figures of a run took; null if they took as many as the run.
yaml_node *facts_other_epochs(const run *one);
// Published figures beside ours.
status facts_published(const results *r, yaml_node **rows, error *err) MUST_CHECK;
// Adds `walks`, the published figures along a ladder, to a plan, and whether one of their steps
// changes several factors `together`.
status facts_put_walks(yaml_node *plan, const results *r, error *err) MUST_CHECK;

// All charts (charts.h), by name; null where there is nothing to draw.
status facts_charts(const results *r, yaml_node **charts, error *err) MUST_CHECK;

// Adds what a page shows of these runs alone: `experiments`, `plan`, `charts` and more.
status facts_put_view(yaml_node *root, const results *r, error *err) MUST_CHECK;
// Adds `reproduction`, with all rows, and `reports`, each with its own view.
status facts_put_reproduction(yaml_node *root, const results *r, error *err) MUST_CHECK;

#endif
