// SPDX-License-Identifier: MIT
// Plans the ladder from one experiment to another, one factor at a time.
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/paths.h"
#include "experiment/experiment.h"
#include "experiment/factors.h"
#include "experiment/lookup.h"
#include "experiment/plan.h"
#include "experiment/published.h"

// ---- The other experiments in the folders of the two: a rung may be one of them ----

typedef struct known_experiments {
    experiment *items; // as in their files, without --set
    size_t count, capacity;
    published published; // claims about them
} known_experiments;

// A file that cannot be read as an experiment is not one, and no error here.
static status add_known(known_experiments *k, const char *path, error *err) {
    experiment e;
    error local = {0};
    status rc = experiment_read(&e, path, NULL, 0, &local);
    if (rc == STATUS_FAILED) return error_pass(&local, err);
    if (rc != STATUS_OK) return STATUS_OK;
    k->items = memory_grow(k->items, &k->capacity, k->count + 1, sizeof *k->items);
    k->items[k->count++] = e;
    return rc;
}

// Adds all files in the folder of `path`, except `a` and `b`.
static status add_folder(known_experiments *k, const char *path, const char *a, const char *b,
                         error *err) {
    status rc = STATUS_OK;
    strvec names = {0};
    const int length = lookup_folder_length(path);
    char *folder = memory_format("%.*s", length ? length : 1, length ? path : ".");
    if (!paths_list(folder, paths_is_yaml, false, &names))
        rc = error_system(err, STATUS_INPUT, errno, "cannot read the folder '%s'", folder);
    for (size_t i = 0; rc == STATUS_OK && i < names.count; i++) {
        char *file = memory_format("%.*s%s", length, path, names.items[i]);
        if (strcmp(file, a) != 0 && strcmp(file, b) != 0) rc = add_known(k, file, err);
        free(file);
    }
    strvec_release(&names);
    free(folder);
    return rc;
}

// Reads the experiment files `a` and `b`, then all others in their folders, by name, and the claims
// about them. Skips files there that are not experiments.
static status read_known(known_experiments *k, const char *a, const char *b, error *err) {
    int of_a = lookup_folder_length(a), of_b = lookup_folder_length(b);
    NEED(published_read(&k->published, a, err));
    NEED(published_add_beside(&k->published, b, err));
    NEED(add_known(k, a, err));
    NEED(add_known(k, b, err));
    NEED(add_folder(k, a, a, b, err));
    if (of_a != of_b || strncmp(a, b, (size_t)of_a) != 0) NEED(add_folder(k, b, a, b, err));
    return STATUS_OK;
}

static void release_known(known_experiments *k) {
    for (size_t i = 0; i < k->count; i++) experiment_release(&k->items[i]);
    free(k->items);
    published_release(&k->published);
}

// Returns the experiment that equals `e` for the purpose of published figures
// (factors_find_published), or NULL. With `any_epochs` the number of epochs may differ. Of several,
// prefers one with published figures, then the one with the fewest keys that differ from `e`, then
// the first one read.
static const experiment *find_known(const known_experiments *k, const experiment *e,
                                    bool any_epochs) {
    const experiment *best = NULL;
    int best_rank = 0;
    for (size_t i = 0; i < k->count; i++) {
        const experiment *one = &k->items[i];
        difference_list list;
        if (!factors_are_published(e, one, any_epochs)) continue;
        factors_find(one, e, &list);
        bool figures = published_find(&k->published, NULL, one->name) != NULL;
        int rank = (figures ? 2 * DIFFERENCES_MAX : DIFFERENCES_MAX) - (int)list.count;
        if (best && rank <= best_rank) continue;
        best = one;
        best_rank = rank;
    }
    return best;
}

// ---- The ladder ----

enum { SETS_MAX = DIFFERENCES_MAX + 8, NAME_BYTES = 120, WHY_BYTES = 512 };

typedef struct ladder {
    const char *from_path, *to_path;
    experiment from, to, now; // `now`: the current rung
    difference_list differences;
    uint64_t pending;   // bit f: factor f still has to change
    char *model;        // the name of the model of `to` in a --set
    const char **set;   // the assignments that lead to `now`
    size_t given, sets; // the caller's, which are not freed here; all
    yaml_node *plan;
    known_experiments known;
    bool epochs_given;         // --set sets the epochs of all runs
    const experiment *figures; // the file of the last published figures so far
} ladder;

// ---- The model ----

// Finds the name of the model of `to` for a --set that is used with the file of `from`: its name,
// if that resolves to the same file from there, else its path.
static status name_model(ladder *l, error *err) {
    const char *path = l->to.model_path, *file = path + lookup_folder_length(path);
    size_t length = strlen(file);
    char *found = NULL, *name = NULL;
    status rc = STATUS_OK;
    l->model = memory_string(path);
    name = memory_format("%.*s", (int)(length > 5 ? length - 5 : 0), file);
    TRY(lookup_file(l->from_path, "models", name, &found, err));
    if (strcmp(found, path) == 0) {
        free(l->model);
        l->model = name;
        name = NULL;
    }
out:
    free(found);
    free(name);
    return rc;
}

// The initial weights of `to`, whose file is found from the current folder.
static char *name_weights(const ladder *l, const yaml_node *value) {
    yaml_node *weights = yaml_copy(value);
    yaml_put(weights, "file", yaml_new_string(l->to.weights_path));
    char *assignment = plan_assignment("initial_weights", weights);
    yaml_free(weights);
    return assignment;
}

static status add_set(ladder *l, const char *key, const yaml_node *value, error *err) {
    char *assignment;
    if (value && strcmp(key, "initial_weights") == 0) {
        assignment = name_weights(l, value);
    } else if (strcmp(key, "architecture") != 0) {
        assignment = plan_assignment(key, value);
    } else {
        if (!l->model && name_model(l, err) != STATUS_OK) return STATUS_FAILED;
        assignment = memory_format("model=%s", l->model);
    }
    l->set[l->sets++] = assignment;
    return STATUS_OK;
}

// Adds the assignment of `tensors` in which the patterns of the factors in `kept` are still as in
// `from`.
static status add_patterns(ladder *l, uint64_t kept, error *err) {
    pattern_pair pairs[PATTERN_PAIRS_MAX];
    size_t count;
    if (!patterns_merge(&l->from, &l->to, pairs, &count))
        return error_set(err, STATUS_FAILED, "cannot change the patterns of 'tensors' one by one");
    yaml_node *list = patterns_mix(pairs, count, kept >> FACTORS);
    status rc = add_set(l, "tensors", list, err);
    yaml_free(list);
    return rc;
}

static void drop_sets(ladder *l, size_t keep) {
    while (l->sets > keep) free((char *)l->set[--l->sets]);
}

// ---- Steps ----

// Changes these factors and reads the result; if it is not a valid experiment, changes nothing.
static status change(ladder *l, uint64_t factors, error *err) {
    status rc = STATUS_OK;
    experiment next = {0};
    size_t before = l->sets;
    for (size_t i = 0; i < l->differences.count; i++) {
        const difference *d = &l->differences.items[i];
        if (factors >> d->factor & 1u && !d->pattern) TRY(add_set(l, d->key, d->to, err));
    }
    if (factors >> FACTORS) TRY(add_patterns(l, l->pending & ~factors, err));
    TRY(experiment_read(&next, l->from_path, l->set, l->sets, err));
    experiment_release(&l->now);
    l->now = next;
    l->pending &= ~factors;
out:
    if (rc != STATUS_OK) drop_sets(l, before);
    return rc;
}

// Takes the next step: the first factor that can change now, else the first ones together. `why` is
// the reason that held the first one back, or "".
static status step(ladder *l, uint64_t *factors, char why[WHY_BYTES], error *err) {
    uint64_t together = 0;
    *why = 0;
    for (int place = 0; place < l->differences.factors; place++) {
        *factors = UINT64_C(1) << factor_at(&l->differences, place);
        if (!(l->pending & *factors)) continue;
        status rc = change(l, *factors, err);
        if (rc == STATUS_OK || rc == STATUS_FAILED) return rc;
        const char *reason = err->origin == ERROR_IN_ASSIGNMENT ? error_reason(err) : err->message;
        if (!*why) snprintf(why, WHY_BYTES, "%.*s", WHY_BYTES - 1, reason);
    }
    for (int place = 0; place < l->differences.factors; place++) {
        together |= l->pending & UINT64_C(1) << factor_at(&l->differences, place);
        *factors = together;
        if (!together || change(l, together, err) != STATUS_OK) continue;
        return STATUS_OK;
    }
    return err->code;
}

// ---- Runs ----

// Puts an empty list that is written on one line.
static yaml_node *put_list(yaml_node *mapping, const char *key) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    yaml_put(mapping, key, list);
    list->flow = true;
    return list;
}

// Puts `KEY: [from, to]`.
static void put_pair(yaml_node *changes, const char *key, const char *from, const char *to) {
    yaml_node *pair = put_list(changes, key);
    yaml_append(pair, yaml_new_string(from));
    yaml_append(pair, yaml_new_string(to));
}

static char *shown(const ladder *l, const difference *d, const yaml_node *node) {
    if (strcmp(d->key, "architecture") == 0)
        return memory_string(node == d->from ? l->from.model.name : l->to.model.name);
    return node ? plan_value_text(node) : memory_string("none");
}

// `changes: {KEY: [from, to]}`, for the keys of these factors.
static void put_changes(const ladder *l, yaml_node *run, uint64_t factors) {
    yaml_node *changes = yaml_new(YAML_MAPPING);
    yaml_put(run, "changes", changes);
    for (size_t i = 0; i < l->differences.count; i++) {
        const difference *d = &l->differences.items[i];
        if (!(factors >> d->factor & 1u)) continue;
        char *from = shown(l, d, d->from), *to = shown(l, d, d->to);
        put_pair(changes, d->name, from, to);
        free(from);
        free(to);
    }
}

// `published_factors: [...]`: the published differences between the files of two runs with figures.
// Absent if there are none: then both runs are the same in the publication.
static void put_published_factors(yaml_node *run, const experiment *from, const experiment *to) {
    difference_list found;
    uint64_t done = 0;
    factors_find_published(from, to, &found);
    if (!found.count) return;
    yaml_node *list = put_list(run, "published_factors");
    for (size_t i = 0; i < found.count; i++) {
        const int f = found.items[i].factor;
        const bool rest = f == FACTOR_REST;
        const char *name = rest ? found.items[i].name : factor_name(&found, f);
        if (!rest && done >> f & 1u) continue;
        done |= UINT64_C(1) << f;
        yaml_append(list, yaml_new_string(name));
    }
}

// `same_as: NAME`, and `same_but`, the keys in which the run still differs from that file.
static void put_same(yaml_node *run, const experiment *is, const experiment *known) {
    difference_list found;
    factors_find(known, is, &found);
    yaml_put(run, "same_as", yaml_new_string(known->name));
    if (!found.count) return;
    yaml_node *list = put_list(run, "same_but");
    for (size_t i = 0; i < found.count; i++)
        yaml_append(list, yaml_new_string(found.items[i].name));
}

// Adds the file that the run equals, if there is one, and the figures published about it. The
// figures of a control run are not compared along the ladder.
static void put_known(ladder *l, yaml_node *run, const experiment *is, bool aside) {
    const experiment *known = find_known(&l->known, is, l->epochs_given);
    const yaml_node *figures =
        known ? published_find(&l->known.published, NULL, known->name) : NULL;
    if (known) put_same(run, is, known);
    if (!figures) return;
    yaml_put(run, "published", yaml_copy(figures));
    yaml_put(run, "published_epochs", yaml_new_number(known->epochs));
    if (aside) return;
    if (l->figures) put_published_factors(run, l->figures, known);
    l->figures = known;
}

// Adds the run `is`: the assignments that lead to it, and the file that it equals.
static yaml_node *add_run(ladder *l, const char *slug, const char *role, const experiment *is) {
    char name[NAME_BYTES + 8], assignment[NAME_BYTES + 16];
    const yaml_node *runs = yaml_find(l->plan, "runs");
    snprintf(name, sizeof name, "%02zu-%.100s", runs ? runs->count : 0, slug);
    snprintf(assignment, sizeof assignment, "name=%s", name);
    yaml_node *run = plan_add_run(l->plan, name);
    yaml_put(run, "role", yaml_new_string(role));
    for (size_t i = 0; i < l->sets; i++) plan_add_set(run, l->set[i]);
    plan_add_set(run, assignment);
    put_known(l, run, is, strcmp(role, "control") == 0);
    return run;
}

// Leaves the characters that a name may have.
static void make_plain(char *name) {
    char *to = name;
    for (const char *at = name; *at; at++)
        if (isalnum((unsigned char)*at) || strchr("._-", *at)) *to++ = *at;
    *to = 0;
}

static const char *name_step(const ladder *l, uint64_t factors, char name[NAME_BYTES]) {
    const char *rest = NULL;
    size_t used = 0, rest_count = 0;
    *name = 0;
    for (size_t i = 0; i < l->differences.count; i++) {
        if (l->differences.items[i].factor != FACTOR_REST) continue;
        rest = l->differences.items[i].name;
        rest_count++;
    }
    for (int place = 0; place < l->differences.factors && used < NAME_BYTES; place++) {
        const int f = factor_at(&l->differences, place);
        bool alone = f == FACTOR_REST && rest_count == 1;
        if (!(factors >> f & 1u)) continue;
        used += (size_t)snprintf(name + used, NAME_BYTES - used, "%s%s", used ? "-and-" : "",
                                 alone ? rest : factor_name(&l->differences, f));
    }
    make_plain(name);
    return name;
}

static void put_reason(const ladder *l, yaml_node *run, uint64_t factors, const char *why) {
    int place = 0;
    if (!*why) return;
    while (!((factors | l->pending) >> factor_at(&l->differences, place) & 1u)) place++;
    const char *name = factor_name(&l->differences, factor_at(&l->differences, place));
    yaml_put(run, "kept", yaml_new_string(name));
    yaml_put(run, "because", yaml_new_string(why));
}

static void add_step(ladder *l, uint64_t factors, const char *why) {
    char name[NAME_BYTES];
    yaml_node *run = add_run(l, name_step(l, factors, name), "step", &l->now);
    yaml_node *list = put_list(run, "factors");
    for (int place = 0; place < l->differences.factors; place++) {
        const int f = factor_at(&l->differences, place);
        if (factors >> f & 1u) yaml_append(list, yaml_new_string(factor_name(&l->differences, f)));
    }
    put_changes(l, run, factors);
    put_reason(l, run, factors, why);
}

// ---- The control run ----

// Does plain SGD keep its rate although the batch changes?
static bool rate_stays(const ladder *l) {
    for (size_t i = 0; i < l->differences.count; i++)
        if (l->differences.items[i].factor == FACTOR_RATE) return false;
    return l->from.optimizer.kind == OPTIMIZER_SGD && l->from.lr_scaling.kind == LR_SCALING_NONE;
}

// Adds an assignment of the control run, and `changes: {KEY: [from, to]}` to display it.
static void control_set(ladder *l, yaml_node *changes, const char *key, const char *from,
                        const char *to) {
    l->set[l->sets++] = memory_format("%s=%s", key, to);
    put_pair(changes, key, from, to);
}

// Adds a run of the same batch with a linearly scaled rate, after an epoch of warm-up if it grows.
static status add_control(ladder *l, error *err) {
    status rc = STATUS_OK;
    experiment control = {0};
    yaml_node *changes = yaml_new(YAML_MAPPING);
    size_t before = l->sets;
    bool grows = l->now.global_batch > l->from.global_batch;
    const schedule *s = &l->now.schedule;
    bool rises = s->warmup_epochs > 0 || !schedule_kind_traits[s->kind].warms_up;
    bool warm_up = grows && l->now.epochs > 1 && !rises;
    char scaling[64];
    snprintf(scaling, sizeof scaling, "{kind: linear, base_batch: %d}", l->from.global_batch);
    control_set(l, changes, "lr_scaling", "none", scaling);
    if (warm_up) control_set(l, changes, "schedule.warmup_epochs", "0", "1");
    TRY(experiment_read(&control, l->from_path, l->set, l->sets, err));
    yaml_put(add_run(l, "global-batch-scaled-rate", "control", &control), "changes", changes);
    changes = NULL; // yaml_put owns it now
out:
    experiment_release(&control);
    yaml_free(changes);
    drop_sets(l, before);
    return rc;
}

// ---- From the first rung to the last ----

static status check_arrival(const ladder *l, error *err) {
    const yaml_node *here = l->now.resolved, *there = l->to.resolved;
    for (size_t i = 0; i < there->count; i++) {
        const yaml_node *mine = yaml_find(here, there->keys[i]);
        if (factors_is_label(there->keys[i]) || (mine && yaml_equal(mine, there->items[i])))
            continue;
        return error_set(err, STATUS_FAILED, "cannot get from '%s' to '%s': '%s' still differs",
                         l->from_path, l->to_path, there->keys[i]);
    }
    return STATUS_OK;
}

static status begin(ladder *l, const char *const *set, size_t set_count, error *err) {
    NEED(experiment_read(&l->from, l->from_path, set, set_count, err));
    NEED(experiment_read(&l->to, l->to_path, set, set_count, err));
    factors_find(&l->from, &l->to, &l->differences);
    for (size_t i = 0; i < l->differences.count; i++)
        l->pending |= UINT64_C(1) << l->differences.items[i].factor;
    if (!l->pending)
        return error_set(err, STATUS_USAGE, "cannot explain '%s' by '%s': they would run the same",
                         l->to.name, l->from.name);
    l->set = memory_new(set_count + SETS_MAX, sizeof *l->set);
    for (size_t i = 0; i < set_count; i++) l->set[l->sets++] = set[i];
    l->given = set_count;
    // Without this, V would follow the world size if the file does not set it.
    NEED(add_set(l, "virtual_shards", yaml_find(l->from.resolved, "virtual_shards"), err));
    if (l->to.repeats > l->from.repeats)
        NEED(add_set(l, "repeats", yaml_find(l->to.resolved, "repeats"), err));
    l->plan = plan_new("ladder", l->from_path);
    yaml_put(l->plan, "from", yaml_new_string(l->from.name));
    yaml_put(l->plan, "to", yaml_new_string(l->to.name));
    NEED(read_known(&l->known, l->from_path, l->to_path, err));
    for (size_t i = 0; i < set_count; i++)
        l->epochs_given |= strncmp(set[i], "epochs=", strlen("epochs=")) == 0;
    add_run(l, l->from.name, "start", &l->from);
    return STATUS_OK;
}

static status walk(ladder *l, error *err) {
    while (l->pending) {
        uint64_t factors = 0;
        char why[WHY_BYTES];
        NEED(step(l, &factors, why, err));
        add_step(l, factors, why);
        if (factors >> FACTOR_BATCH & 1u && rate_stays(l)) NEED(add_control(l, err));
    }
    return check_arrival(l, err);
}

status plan_ladder(const char *from, const char *to, const char *const *set, size_t set_count,
                   yaml_node **plan, error *err) {
    ladder l = {.from_path = from, .to_path = to};
    status rc = begin(&l, set, set_count, err);
    if (rc == STATUS_OK) rc = walk(&l, err);
    *plan = rc == STATUS_OK ? l.plan : NULL;
    if (rc != STATUS_OK) yaml_free(l.plan);
    drop_sets(&l, l.given);
    free(l.set);
    free(l.model);
    experiment_release(&l.from);
    experiment_release(&l.to);
    experiment_release(&l.now);
    release_known(&l.known);
    return rc;
}
