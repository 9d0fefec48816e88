// SPDX-License-Identifier: MIT
#include "report/facts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/printable.h"
#include "results/execution.h"
#include "results/like_for_like.h"
#include "results/origin.h"

// ---- Values ----

yaml_node *facts_number(double value) {
    return json_new_number(value);
}

yaml_node *facts_count(int64_t value) {
    return value < 0 ? json_new_number((double)NAN) : yaml_new_integer(value);
}

yaml_node *facts_string(const char *value) {
    return value && *value ? json_new_string(value) : json_new_number((double)NAN);
}

static void put_number(yaml_node *node, const char *key, double value) {
    yaml_put(node, key, facts_number(value));
}

static void put_count(yaml_node *node, const char *key, int64_t value) {
    yaml_put(node, key, facts_count(value));
}

static void put_string(yaml_node *node, const char *key, const char *value) {
    yaml_put(node, key, facts_string(value));
}

static void put_boolean(yaml_node *node, const char *key, bool value) {
    yaml_put(node, key, yaml_new_boolean(value));
}

// ---- Figures ----

static const yaml_node *node_of(const facts *f, const figure *found) {
    return found ? f->figures->items[found - f->results->figures.items] : NULL;
}

const yaml_node *facts_figure(const facts *f, const yaml_node *mapping, const char *key,
                              bool *known) {
    const figure_list *list = &f->results->figures;
    const yaml_node *name = yaml_find(mapping, "name"), *runs = yaml_find(mapping, "runs");
    *known = joint_metrics_find(key) != NULL;
    if (!*known || !name || name->kind != YAML_SCALAR) return NULL;
    const figure *found = figures_of(list, name->text, key);
    if (!found && runs && runs->kind == YAML_SEQUENCE) {
        char *mean = memory_format("mean_%s", key);
        found = figures_of(list, name->text, mean);
        if (!found && runs->count == 1) found = figures_of(list, runs->items[0]->text, key);
        free(mean);
    }
    return node_of(f, found);
}

// ---- Runs ----

// The epochs after which the model was kept.
static double epochs_of_model(const run *one) {
    int64_t best;
    if (run_count(one->train, "results.best_epoch", &best, NULL) == STATUS_OK && best > 0)
        return (double)best;
    return run_may_stop_early(one->train) ? (double)one->epoch_count : one->planned_epochs;
}

static size_t disturbed_executions(const run *one) {
    size_t count = 0;
    for (size_t k = 0; k < run_execution_count(one); k++) {
        const execution_load u = execution_load_of(run_execution(one, k));
        count += execution_is_disturbed(&u);
    }
    return count;
}

// Where its ranks compute, if there are more of them than devices: then times are simulated.
yaml_node *facts_crowd(const run *one) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    const bool gpus = run_shares_gpu(one), ranks = one->host_ranks > 1;
    put_boolean(node, "gpus", gpus);
    put_count(node, "ranks", gpus ? one->host_ranks - one->cpu_ranks : one->cpu_ranks);
    put_count(node, "threads", one->threads);
    put_count(node, "devices", gpus ? one->gpus : one->cores);
    // What the times say nothing about: that many devices, or of a single rank that many cores.
    put_boolean(node, "several_ranks", ranks);
    put_count(node, "needed", ranks ? one->host_ranks : one->host_ranks * one->threads);
    return node;
}

static status put_repeated_images(yaml_node *node, const run *one, error *err) {
    int64_t count = 0, samples = -1;
    const status rc = origin_repeated_images(one, &count, &samples, err);
    put_count(node, "repeated_images", count);
    put_count(node, "repeated_of", count > 0 ? samples : -1);
    return rc;
}

static status run_node(const results *r, size_t at, yaml_node **made, error *err) {
    const run *one = &r->list.runs[at];
    yaml_node *node = *made = yaml_new(YAML_MAPPING);
    put_string(node, "name", one->name);
    put_string(node, "experiment", one->experiment);
    put_string(node, "title", one->title);
    put_string(node, "strategy", one->strategy);
    put_string(node, "dataset", one->dataset);
    put_string(node, "model", one->model);
    put_string(node, "device", one->device);
    put_string(node, "host", one->host);
    put_string(node, "cpu", one->cpu);
    put_count(node, "cores", one->cores);
    put_count(node, "seed", one->seed);
    put_number(node, "epochs", epochs_of_model(one));
    put_count(node, "timed_epochs", (int64_t)one->timed);
    put_count(node, "executions", (int64_t)run_execution_count(one));
    put_count(node, "disturbed_executions", (int64_t)disturbed_executions(one));
    put_boolean(node, "trained", one->train != NULL);
    put_boolean(node, "whole_time", run_has_time(one));
    put_boolean(node, "epoch_time", run_has_epoch_time(one) && !isnan(one->seconds_per_epoch));
    put_boolean(node, "restarted", one->restarted);
    put_boolean(node, "turns", one->timing != NULL);
    put_boolean(node, "simulated", one->simulated);
    yaml_put(node, "crowd", one->simulated ? facts_crowd(one) : facts_string(NULL));
    put_count(node, "test_samples", one->test_samples);
    put_string(node, "model_hash", one->model_content);
    put_string(node, "test_views", one->views);
    facts_run_details(node, r, one);
    facts_put_classes(node, r, at);
    const status rc = facts_put_devices(node, r, one, err);
    return rc == STATUS_OK ? put_repeated_images(node, one, err) : rc;
}

static status put_runs(yaml_node *root, const results *r, error *err) {
    yaml_node *runs = yaml_new(YAML_SEQUENCE);
    status rc = STATUS_OK;
    yaml_put(root, "runs", runs);
    for (size_t i = 0; rc == STATUS_OK && i < r->list.count; i++) {
        yaml_node *node;
        rc = run_node(r, i, &node, err);
        yaml_append(runs, node);
    }
    return rc;
}

static yaml_node *experiment_node(const results *r, size_t at) {
    const seed_group *g = &r->groups[at];
    const comparison *c = results_comparison(r, g);
    yaml_node *node = yaml_new(YAML_MAPPING), *runs = yaml_new(YAML_SEQUENCE);
    put_string(node, "name", g->name);
    for (size_t i = 0; i < g->count; i++) yaml_append(runs, json_new_string(g->runs[i]->name));
    yaml_put(node, "runs", runs);
    put_string(node, "model_hash", g->count == 1 ? g->runs[0]->model_content : "");
    put_count(node, "shards", g->runs[0]->virtual_shards);
    put_boolean(node, "simulated", seed_group_is_simulated(g));
    yaml_put(node, "target", facts_target(g->runs, g->count));
    yaml_put(node, "compared", c ? facts_comparison(c, g->name) : facts_string(NULL));
    return node;
}

static yaml_node *experiment_nodes(const results *r) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < r->group_count; i++) yaml_append(list, experiment_node(r, i));
    return list;
}

// ---- The evidence ----

static bool all_identical(const run_list *list) {
    const char *first = list->runs[0].model_content;
    for (size_t i = 0; i < list->count; i++)
        if (!*first || strcmp(list->runs[i].model_content, first) != 0) return false;
    return true;
}

static bool shards_differ(const results *r) {
    bool differ = false;
    for (size_t i = 0; i < r->group_count; i++) {
        const int64_t own = r->groups[i].runs[0]->virtual_shards;
        if (own < 1) return false; // no training is known
        differ |= own != r->groups[0].runs[0]->virtual_shards;
    }
    return differ;
}

// The experiment with the lowest accuracy, or the highest; "" if none is known.
static const char *extreme_of(const results *r, double sign) {
    const char *name = "";
    double most = -INFINITY;
    for (size_t i = 0; i < r->group_count; i++) {
        const double own = sign * results_group_value(r, &r->groups[i], "accuracy");
        if (own > most) most = own, name = r->groups[i].name;
    }
    return name;
}

// What holds of all runs together.
static yaml_node *evidence_node(const results *r) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    int64_t least = INT64_MAX, most = 0, seeds = 1, timed = 0, disturbed = 0;
    bool simulated = false;
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        const int64_t count = (int64_t)run_execution_count(one);
        least = count < least ? count : least;
        most = count > most ? count : most;
        timed += one->timing != NULL;
        disturbed += (int64_t)disturbed_executions(one);
        simulated |= one->simulated;
    }
    for (size_t i = 0; i < r->group_count; i++)
        if ((int64_t)r->groups[i].count > seeds) seeds = (int64_t)r->groups[i].count;
    put_count(node, "least_executions", least);
    put_count(node, "most_executions", most);
    put_count(node, "most_seeds", seeds);
    put_count(node, "executions", (int64_t)r->list.execution_count);
    put_count(node, "disturbed_executions", disturbed);
    put_count(node, "timed_by_turns", timed);
    yaml_put(node, "disturbance", facts_disturbance(&r->list));
    put_boolean(node, "simulated", simulated);
    put_boolean(node, "same_model", r->list.count > 1 && all_identical(&r->list));
    put_boolean(node, "shards_differ", shards_differ(r));
    put_string(node, "least_accurate", extreme_of(r, -1));
    put_string(node, "most_accurate", extreme_of(r, 1));
    return node;
}

static void widen(size_t count, size_t *least, size_t *most) {
    if (!*most || count < *least) *least = count;
    if (count > *most) *most = count;
}

// Over all folders of turns; null without.
static yaml_node *turns_node(const results *r) {
    size_t executions[2] = {0}, turns[2] = {0};
    double others = NAN, cores = NAN;
    for (size_t i = 0; i < r->timing_count; i++) {
        const timed_arms *t = &r->timings[i];
        widen(t->fit.executions, &executions[0], &executions[1]);
        for (size_t e = 0; e < t->fit.executions; e++) widen(t->rounds[e], &turns[0], &turns[1]);
        if (isnan(others) || t->others > others) others = t->others, cores = t->cores;
    }
    if (!executions[1]) return facts_string(NULL);
    yaml_node *node = yaml_new(YAML_MAPPING);
    put_count(node, "least_executions", (int64_t)executions[0]);
    put_count(node, "most_executions", (int64_t)executions[1]);
    put_count(node, "least_turns", (int64_t)turns[0]);
    put_count(node, "most_turns", (int64_t)turns[1]);
    put_number(node, "others", others);
    put_number(node, "cores", cores);
    return node;
}

// ---- Place and time ----

static bool on_several_machines(const run_list *list) {
    const run *first = &list->runs[0];
    for (size_t i = 1; i < list->count; i++)
        if (strcmp(list->runs[i].host, first->host) != 0 ||
            strcmp(list->runs[i].cpu, first->cpu) != 0)
            return true;
    return false;
}

static yaml_node *machine_node(const run_list *list) {
    const run *first = &list->runs[0];
    yaml_node *node = yaml_new(YAML_MAPPING);
    put_boolean(node, "several", on_several_machines(list));
    put_string(node, "cpu", first->cpu);
    put_count(node, "cores", first->cores > 0 ? first->cores : -1);
    put_string(node, "host", first->host);
    return node;
}

// The dates on which the first and the last run began.
static yaml_node *days_node(const run_list *list) {
    enum { DAY = 10 };
    const char *first = "", *last = "";
    char day[DAY + 1];
    yaml_node *node = yaml_new(YAML_MAPPING);
    for (size_t i = 0; i < list->execution_count; i++) {
        const run *one = &list->executions[i];
        const char *start = run_text(one->train ? one->train : one->evaluate, "run.start");
        if (strlen(start) < DAY) continue;
        if (!*first || strcmp(start, first) < 0) first = start;
        if (strcmp(start, last) > 0) last = start;
    }
    snprintf(day, sizeof day, "%s", first);
    put_string(node, "first", day);
    snprintf(day, sizeof day, "%s", last);
    put_string(node, "last", day);
    return node;
}

// ---- The whole ----

// Names and paths come from files of any content: what a terminal or a page must not show is
// replaced.
static void make_printable(yaml_node *node) {
    if (node->kind == YAML_SCALAR) {
        (void)printable(node->text, true);
        return;
    }
    for (size_t i = 0; i < node->count; i++) make_printable(node->items[i]);
}

// The activities of a DataParallel step, in order.
static yaml_node *activity_nodes(void) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (int i = 0; i < EXECUTION_ACTIVITIES; i++)
        yaml_append(list, yaml_new_string(execution_activity(i)));
    return list;
}

static const char *kind_of(const results *r) {
    if (r->reproduction) return "reproduction";
    if (r->plan.count) return r->plan.ladder ? "ladder" : "study";
    return r->comparison_count ? "comparison" : r->list.count > 1 ? "runs" : "run";
}

status facts_put_view(yaml_node *root, const results *r, error *err) {
    yaml_node *part;
    status rc;
    put_string(root, "kind", kind_of(r));
    yaml_put(root, "experiments", experiment_nodes(r));
    rc = facts_plan(r, &part, err);
    yaml_put(root, "plan", part);
    if (rc != STATUS_OK) goto out;
    yaml_put(root, "evidence", evidence_node(r));
    yaml_put(root, "turns", turns_node(r));
    yaml_put(root, "activities", activity_nodes());
    yaml_put(root, "rules", facts_rules());
    rc = facts_published(r, &part, err);
    yaml_put(root, "published", part);
    if (rc != STATUS_OK || r->reproduction) goto out;
    rc = facts_charts(r, &part, err);
    yaml_put(root, "charts", part);
out:
    return rc;
}

// The charts of a reproduction are those of its reports, and the differences.
static status put_whole(yaml_node *root, const results *r, error *err) {
    status rc = put_runs(root, r, err);
    if (rc == STATUS_OK) rc = facts_put_view(root, r, err);
    if (rc != STATUS_OK) return rc;
    facts_put_predictions(root, r);
    yaml_put(root, "environment", facts_environment(&r->list));
    yaml_put(root, "files", facts_files(&r->list));
    yaml_put(root, "commands", facts_commands(&r->list));
    return r->reproduction ? facts_put_reproduction(root, r, err)
                           : facts_put_mistakes(root, r, err);
}

status facts_make(facts *f, const results *r, const report_options *o, error *err) {
    yaml_node *root = yaml_new(YAML_MAPPING), *figures = facts_figures(r);
    *f = (facts){.results = r, .root = root, .figures = figures};
    put_string(root, "schema", "lockstep.facts/1");
    put_string(root, "lockstep", cli_version());
    put_string(root, "language", o->language);
    put_string(root, "title", o->title);
    put_string(root, "author", o->author);
    put_string(root, "student", o->student);
    put_boolean(root, "discussed", false); // by what has read the author's text
    yaml_put(root, "machine", machine_node(&r->list));
    yaml_put(root, "days", days_node(&r->list));
    const status rc = put_whole(root, r, err);
    yaml_put(root, "figures", figures);
    make_printable(root);
    if (rc != STATUS_OK) facts_release(f);
    return rc;
}

void facts_release(facts *f) {
    yaml_free(f->root);
    *f = (facts){0};
}

// Those of a whole reproduction are below `reports`, too, but a terminal shows none of these.
void facts_drop_charts(facts *f) {
    yaml_node *charts = (yaml_node *)(uintptr_t)yaml_find(f->root, "charts");
    for (size_t i = 0; charts && charts->kind == YAML_MAPPING && i < charts->count; i++)
        yaml_put(charts, charts->keys[i], facts_string(NULL));
}

// ---- report.json ----

// A part of the page names its runs, and lacks what is the same everywhere.
static void refer_to_runs(yaml_node *view) {
    const yaml_node *runs = yaml_find(view, "runs");
    yaml_node *names = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < runs->count; i++)
        yaml_append(names, yaml_copy(yaml_find(runs->items[i], "name")));
    yaml_put(view, "runs", names);
    yaml_remove(view, "activities");
    yaml_remove(view, "rules");
}

// Of the pictures, the files of the drawings have the pixels.
static void drop_pixels(const yaml_node *charts) {
    for (size_t i = 0; charts && i < charts->count; i++) {
        const yaml_node *chart = charts->items[i];
        if (chart->kind != YAML_MAPPING || strcmp(yaml_text_at(chart, "kind"), "pictures") != 0)
            continue;
        const yaml_node *items = yaml_find(chart, "items");
        for (size_t k = 0; k < items->count; k++) yaml_remove(items->items[k], "png");
    }
}

status facts_write(facts *f, text *json, error *err) {
    const yaml_node *reports = yaml_find(f->root, "reports");
    char *written = NULL;
    for (size_t i = 0; reports && i < reports->count; i++) {
        const yaml_node *studies = yaml_find(reports->items[i], "studies");
        for (size_t k = 0; k < studies->count; k++) refer_to_runs(studies->items[k]);
        refer_to_runs(reports->items[i]);
    }
    drop_pixels(yaml_find(f->root, "charts"));
    const status rc = json_from_yaml(f->root, &written, err);
    if (rc == STATUS_OK) text_format(json, "%s\n", written);
    free(written);
    return rc;
}
