// SPDX-License-Identifier: MIT
// What a page shows of some of the runs alone, as data: the experiments, and what holds of all runs
// together.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "report/facts_parts.h"
#include "results/execution.h"
#include "results/verdict.h"

// ---- Experiments ----

// The samples that batch norm averages over; null without it.
static yaml_node *samples_node(const run *one) {
    const int64_t samples = like_batch_norm_samples(one);
    return json_new_count(samples ? samples : -1);
}

static yaml_node *experiment_node(const results *r, size_t at) {
    const seed_group *g = &r->groups[at];
    const comparison *c = results_comparison(r, g);
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "name", json_new_text(g->name));
    yaml_put(node, "runs", facts_names(g));
    yaml_put(node, "model_hash", json_new_text(g->count == 1 ? g->runs[0]->model_content : ""));
    yaml_put(node, "shards", json_new_count(g->runs[0]->virtual_shards));
    yaml_put(node, "batch_norm", samples_node(g->runs[0]));
    yaml_put(node, "simulated", yaml_new_boolean(seed_group_is_simulated(g)));
    yaml_put(node, "target", facts_target(g->runs, g->count));
    yaml_put(node, "compared", c ? facts_comparison(c, g->name) : json_new_text(NULL));
    return node;
}

// Which is the fastest is asked where all are compared with the first.
static status put_standings(const results *r, yaml_node *list, error *err) {
    const seed_group **groups = memory_new(r->group_count, sizeof *groups);
    const comparison **with_first = memory_new(r->group_count, sizeof *with_first);
    for (size_t i = 0; i < r->group_count; i++) {
        groups[i] = &r->groups[i];
        with_first[i] = i ? &r->comparisons[i - 1] : NULL;
    }
    const status rc = facts_put_standings(list, groups, with_first, NULL, err);
    free(groups);
    free(with_first);
    return rc;
}

static status put_experiments(yaml_node *root, const results *r, error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    yaml_put(root, "experiments", list);
    for (size_t i = 0; i < r->group_count; i++) yaml_append(list, experiment_node(r, i));
    const bool asked = r->comparison_count > 1 && r->comparison_count == r->group_count - 1;
    if (asked && !r->reproduction && !r->whole) return put_standings(r, list, err);
    for (size_t i = 0; i < list->count; i++)
        yaml_put(list->items[i], "in_time", json_new_text(NULL));
    return STATUS_OK;
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

// Where V alone makes the models differ: the V with which they would be one model, the largest of
// theirs, if the world sizes divide it. null elsewhere.
static yaml_node *one_v_of(const results *r) {
    const run *first = r->groups[0].runs[0];
    int64_t most = 0;
    bool fits = shards_differ(r);
    for (size_t i = 0; fits && i < r->group_count; i++)
        if (r->groups[i].runs[0]->virtual_shards > most)
            most = r->groups[i].runs[0]->virtual_shards;
    for (size_t i = 0; fits && i < r->group_count; i++) {
        const run *own = r->groups[i].runs[0];
        fits = like_but_shards(own, first) && own->world_size > 0 && most % own->world_size == 0;
    }
    return json_new_count(fits ? most : -1);
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

// The most that other programs used while a run trained, and the largest share of the time in which
// threads had no core; null if no execution was disturbed.
static yaml_node *disturbance_of(const run_list *list) {
    double used = 0, cores = 0, without = 0;
    for (size_t i = 0; i < list->count; i++) {
        for (size_t k = 0; k < run_execution_count(&list->runs[i]); k++) {
            const execution_load u = execution_load_of(run_execution(&list->runs[i], k));
            if (!execution_is_disturbed(&u)) continue;
            without = fmax(without, execution_without_core(&u));
            if (u.others / u.wall > used) used = u.others / u.wall, cores = u.cores;
        }
    }
    if (!(used > 0)) return json_new_text(NULL);
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "others", json_new_number(used));
    yaml_put(node, "cores", json_new_number(cores));
    yaml_put(node, "without_core", json_new_number(without > 0 ? without : (double)NAN));
    return node;
}

// Where the most ranks, or threads, ran that had fewer devices, and whether others of that kind had
// fewer (`most`); null if none did.
static yaml_node *crowd_of(const run_list *list) {
    const run *most = NULL, *least = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const run *one = &list->runs[i];
        if (!one->simulated) continue;
        if (!most || one->host_ranks > most->host_ranks) most = one;
        if (!least || one->host_ranks < least->host_ranks) least = one;
    }
    if (!most) return json_new_text(NULL);
    yaml_node *node = facts_crowd(most);
    yaml_put(node, "most", yaml_new_boolean(least->host_ranks < most->host_ranks));
    return node;
}

// A plan may give one run two names.
static bool is_named_before(const run_list *list, size_t at) {
    for (size_t i = 0; i < at; i++)
        if (list->runs[at].executions && list->runs[i].executions == list->runs[at].executions)
            return true;
    return false;
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
        if (!is_named_before(&r->list, i)) disturbed += (int64_t)execution_count_disturbed(one);
        simulated |= one->simulated;
    }
    for (size_t i = 0; i < r->group_count; i++)
        if ((int64_t)r->groups[i].count > seeds) seeds = (int64_t)r->groups[i].count;
    yaml_put(node, "least_executions", json_new_count(least));
    yaml_put(node, "most_executions", json_new_count(most));
    yaml_put(node, "most_seeds", json_new_count(seeds));
    yaml_put(node, "executions", json_new_count((int64_t)r->list.execution_count));
    yaml_put(node, "disturbed_executions", json_new_count(disturbed));
    yaml_put(node, "timed_by_turns", json_new_count(timed));
    yaml_put(node, "untimed",
             yaml_new_boolean(r->plan.count && !r->plan.ladder && !timed && most == 1));
    yaml_put(node, "disturbance", disturbance_of(&r->list));
    yaml_put(node, "simulated", yaml_new_boolean(simulated));
    yaml_put(node, "crowd", crowd_of(&r->list));
    yaml_put(node, "same_model", yaml_new_boolean(r->list.count > 1 && all_identical(&r->list)));
    yaml_put(node, "shards_differ", yaml_new_boolean(shards_differ(r)));
    yaml_put(node, "one_v", one_v_of(r));
    yaml_put(node, "by_hand", facts_by_hand(r));
    yaml_put(node, "planned", yaml_new_boolean(r->options.plan != NULL));
    yaml_put(node, "least_accurate", json_new_text(extreme_of(r, -1)));
    yaml_put(node, "most_accurate", json_new_text(extreme_of(r, 1)));
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
        const turn_fit *f = &t->evidence.all;
        widen(f->executions, &executions[0], &executions[1]);
        for (size_t e = 0; e < f->executions; e++) widen(f->rounds[e], &turns[0], &turns[1]);
        if (isnan(others) || t->others > others) others = t->others, cores = t->cores;
    }
    if (!executions[1]) return json_new_text(NULL);
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "least_executions", json_new_count((int64_t)executions[0]));
    yaml_put(node, "most_executions", json_new_count((int64_t)executions[1]));
    yaml_put(node, "least_turns", json_new_count((int64_t)turns[0]));
    yaml_put(node, "most_turns", json_new_count((int64_t)turns[1]));
    yaml_put(node, "others", json_new_number(others));
    yaml_put(node, "cores", json_new_number(cores));
    return node;
}

// ---- The view ----

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
    yaml_node *node, *part;
    yaml_put(root, "kind", json_new_text(kind_of(r)));
    NEED(put_experiments(root, r, err));
    yaml_put(root, "evidence", evidence_node(r));
    yaml_put(root, "turns", turns_node(r));
    yaml_put(root, "base_rates", facts_base_rates(r));
    yaml_put(root, "activities", activity_nodes());
    yaml_put(root, "rules", facts_rules());
    status rc = facts_plan(r, &node, err);
    yaml_put(root, "plan", node);
    if (rc == STATUS_OK && r->plan.count) rc = facts_put_walks(node, r, err);
    if (rc != STATUS_OK) return rc;
    rc = facts_published(r, &part, err);
    yaml_put(root, "published", part);
    if (rc != STATUS_OK || r->reproduction) return rc;
    rc = facts_charts(r, &part, err);
    yaml_put(root, "charts", part);
    return rc;
}
