// From one experiment to another, one factor at a time.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "train/experiment.h"
#include "train/run_plan.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

// In the order of the walk.
typedef enum factor {
    FACTOR_WORKERS,
    FACTOR_WORLD,
    FACTOR_SHARDS,
    FACTOR_BATCH,
    FACTOR_RATE,
    FACTOR_EPOCHS,
    FACTOR_REST,
    FACTORS
} factor;

static const char *const factor_names[FACTORS] = {
    "loader-workers", "world-size", "virtual-shards", "global-batch", "learning-rate",
    "epochs",         "rest"};

// The keys of every factor but the last, which has all others. Stages are a matter of who computes.
static const struct {
    const char *key;
    factor factor;
} factor_keys[] = {
    {"loader_workers", FACTOR_WORKERS}, {"strategy", FACTOR_WORLD},
    {"world_size", FACTOR_WORLD},       {"stages", FACTOR_WORLD},
    {"virtual_shards", FACTOR_SHARDS},  {"sync_batch_norm", FACTOR_SHARDS},
    {"global_batch", FACTOR_BATCH},     {"optimizer.lr", FACTOR_RATE},
    {"lr_scaling", FACTOR_RATE},        {"schedule", FACTOR_RATE},
    {"epochs", FACTOR_EPOCHS},
};

// A key whose value differs; a node is NULL where the key is absent.
typedef struct difference {
    const char *key;
    factor factor;
    const yaml_node *from, *to;
} difference;

enum { DIFFERENCES_MAX = 40, SETS_MAX = DIFFERENCES_MAX + 8, NAME_BYTES = 120, WHY_BYTES = 512 };

typedef struct ladder {
    const char *from_path, *to_path;
    experiment from, to, now; // `now`: where the walk has come to
    difference differences[DIFFERENCES_MAX];
    size_t difference_count;
    unsigned pending;   // bit f: factor f still has to change
    char *model;        // what to call the model of `to` in a --set
    const char **set;   // the assignments that lead to `now`
    size_t given, sets; // of them were given, and are not ours to free; all
    yaml_node *plan;
} ladder;

// ---- What differs ----

// Keys that change neither the work nor its result.
static bool is_label(const char *key) {
    static const char *const labels[] = {"schema",          "name",     "title", "model", "repeats",
                                         "target_accuracy", "published"};
    for (size_t i = 0; i < COUNT(labels); i++)
        if (strcmp(key, labels[i]) == 0) return true;
    return false;
}

static bool has_factor(const char *key) {
    for (size_t i = 0; i < COUNT(factor_keys); i++)
        if (strcmp(key, factor_keys[i].key) == 0) return true;
    return false;
}

static bool covers_but_rate(const yaml_node *a, const yaml_node *b) {
    for (size_t i = 0; i < a->count; i++) {
        const yaml_node *other = yaml_find(b, a->keys[i]);
        if (strcmp(a->keys[i], "lr") == 0) continue;
        if (!other || !yaml_equal(a->items[i], other)) return false;
    }
    return true;
}

static bool differ_in_rate_alone(const yaml_node *a, const yaml_node *b) {
    return covers_but_rate(a, b) && covers_but_rate(b, a);
}

static void add_difference(ladder *l, const char *key, factor f) {
    const yaml_node *from = yaml_get(l->from.resolved, key), *to = yaml_get(l->to.resolved, key);
    bool same = from && to ? yaml_equal(from, to) : from == to;
    if (same || l->difference_count == DIFFERENCES_MAX) return;
    l->differences[l->difference_count++] = (difference){key, f, from, to};
    l->pending |= 1u << f;
}

static void add_rest(ladder *l, const yaml_node *of, const yaml_node *done) {
    bool rate_alone = differ_in_rate_alone(yaml_find(l->from.resolved, "optimizer"),
                                           yaml_find(l->to.resolved, "optimizer"));
    for (size_t i = 0; i < of->count; i++) {
        const char *key = of->keys[i];
        if (is_label(key) || has_factor(key) || (done && yaml_find(done, key))) continue;
        if (rate_alone && strcmp(key, "optimizer") == 0) continue;
        add_difference(l, key, FACTOR_REST);
    }
}

// The rate of one kind of optimizer means nothing to another: there it changes with the optimizer.
static void find_differences(ladder *l) {
    bool same_kind = l->from.optimizer.kind == l->to.optimizer.kind;
    for (size_t i = 0; i < COUNT(factor_keys); i++)
        if (same_kind || strcmp(factor_keys[i].key, "optimizer.lr") != 0)
            add_difference(l, factor_keys[i].key, factor_keys[i].factor);
    add_rest(l, l->from.resolved, NULL);
    add_rest(l, l->to.resolved, l->from.resolved);
}

// ---- The model ----

static int folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) + 1 : 0;
}

// The model of `to`, as a --set beside the file of `from` must name it.
static status name_model(ladder *l, error *err) {
    yaml_node *root;
    status rc = yaml_read_file(l->to_path, &root, err);
    if (rc != STATUS_OK) return rc;
    const char *name = yaml_find(root, "model")->text;
    int length = folder_length(l->to_path);
    size_t end = strlen(name);
    bool path = strchr(name, '/') || (end > 5 && strcmp(name + end - 5, ".yaml") == 0);
    bool together = length == folder_length(l->from_path) &&
                    strncmp(l->to_path, l->from_path, (size_t)length) == 0;
    if (*name == '/' || (together && !path))
        l->model = memory_string(name, err);
    else if (path)
        l->model = memory_format(err, "%.*s%s", length, l->to_path, name);
    else
        l->model = memory_format(err, "%.*smodels/%s.yaml", length, l->to_path, name);
    yaml_free(root);
    return l->model ? STATUS_OK : STATUS_FAILED;
}

static status add_set(ladder *l, const char *key, const yaml_node *value, error *err) {
    char *assignment = NULL;
    if (strcmp(key, "architecture") != 0) {
        status rc = plan_assignment(key, value, &assignment, err);
        if (rc != STATUS_OK) return rc;
    } else {
        if (!l->model && name_model(l, err) != STATUS_OK) return STATUS_FAILED;
        assignment = memory_format(err, "model=%s", l->model);
        if (!assignment) return STATUS_FAILED;
    }
    l->set[l->sets++] = assignment;
    return STATUS_OK;
}

static void drop_sets(ladder *l, size_t keep) {
    while (l->sets > keep) free((char *)l->set[--l->sets]);
}

// ---- Steps ----

// Changes these factors and reads what comes out; where that is no experiment, all stays as it was.
static status change(ladder *l, unsigned factors, error *err) {
    status rc = STATUS_OK;
    experiment next = {0};
    size_t before = l->sets;
    for (size_t i = 0; i < l->difference_count; i++) {
        const difference *d = &l->differences[i];
        if (factors >> d->factor & 1u) TRY(add_set(l, d->key, d->to, err));
    }
    TRY(experiment_read(&next, l->from_path, l->set, l->sets, err));
    experiment_release(&l->now);
    l->now = next;
    l->pending &= ~factors;
out:
    if (rc != STATUS_OK) drop_sets(l, before);
    return rc;
}

// A message about an assignment, without the assignment.
static void keep_reason(const error *from, char why[WHY_BYTES]) {
    const char *text = from->message, *end = strstr(text, "': ");
    if (strncmp(text, "--set '", 7) == 0 && end) text = end + 3;
    snprintf(why, WHY_BYTES, "%.*s", WHY_BYTES - 1, text);
}

// The next step: the first factor that can change now; else the first ones together. `why` says
// what kept the first one; "" when nothing did.
static status step(ladder *l, unsigned *factors, char why[WHY_BYTES], error *err) {
    unsigned together = 0;
    *why = 0;
    for (int f = 0; f < FACTORS; f++) {
        *factors = 1u << f;
        if (!(l->pending & *factors)) continue;
        status rc = change(l, *factors, err);
        if (rc == STATUS_OK || rc == STATUS_FAILED) return rc;
        if (!*why) keep_reason(err, why);
    }
    for (int f = 0; f < FACTORS; f++) {
        together |= l->pending & 1u << f;
        *factors = together;
        if (!together || change(l, together, err) != STATUS_OK) continue;
        return STATUS_OK;
    }
    return err->code;
}

// ---- Runs ----

static const char *shown(const ladder *l, const difference *d, const yaml_node *node, char **text,
                         error *err) {
    if (strcmp(d->key, "architecture") == 0)
        return node == d->from ? l->from.model.name : l->to.model.name;
    if (plan_assignment("", node, text, err) != STATUS_OK) return NULL;
    return node ? *text + 1 : "none";
}

// `changes: {KEY: [from, to]}`, of the keys of these factors.
static status put_changes(const ladder *l, yaml_node *run, unsigned factors, error *err) {
    status rc = STATUS_FAILED;
    char *from = NULL, *to = NULL;
    yaml_node *changes = yaml_new(YAML_MAPPING, err);
    TRY(yaml_put(run, "changes", changes, err));
    for (size_t i = 0; i < l->difference_count; i++) {
        const difference *d = &l->differences[i];
        if (!(factors >> d->factor & 1u)) continue;
        const char *a = shown(l, d, d->from, &from, err), *b = shown(l, d, d->to, &to, err);
        const char *key = strcmp(d->key, "architecture") == 0 ? "model" : d->key;
        yaml_node *pair = yaml_new(YAML_SEQUENCE, err);
        TRY(yaml_put(changes, key, pair, err));
        pair->flow = true;
        TRY(a && b ? STATUS_OK : STATUS_FAILED);
        TRY(yaml_append(pair, yaml_new_string(a, err), err));
        TRY(yaml_append(pair, yaml_new_string(b, err), err));
        free(from);
        free(to);
        from = to = NULL;
    }
out:
    free(from);
    free(to);
    return rc;
}

// A run with the assignments that lead here, and what follows them.
static status add_run(const ladder *l, const char *slug, const char *role, yaml_node **run,
                      error *err) {
    char name[NAME_BYTES + 8], assignment[NAME_BYTES + 16];
    const yaml_node *runs = yaml_find(l->plan, "runs");
    status rc = STATUS_OK;
    snprintf(name, sizeof name, "%02zu-%.100s", runs ? runs->count : 0, slug);
    snprintf(assignment, sizeof assignment, "name=%s", name);
    TRY(plan_add_run(l->plan, name, run, err));
    TRY(yaml_put(*run, "role", yaml_new_string(role, err), err));
    for (size_t i = 0; i < l->sets; i++) TRY(plan_add_set(*run, l->set[i], err));
    TRY(plan_add_set(*run, assignment, err));
out:
    return rc;
}

// Published figures are about `from` and `to`, not about what lies between.
static status add_published(const ladder *l, yaml_node *run, error *err) {
    char *assignment;
    status rc = plan_assignment("published", l->pending ? NULL : l->to.published, &assignment, err);
    if (rc == STATUS_OK) rc = plan_add_set(run, assignment, err);
    free(assignment);
    return rc;
}

static const char *name_step(const ladder *l, unsigned factors, char name[NAME_BYTES]) {
    const char *rest = NULL;
    size_t used = 0, rest_count = 0;
    *name = 0;
    for (size_t i = 0; i < l->difference_count; i++) {
        if (l->differences[i].factor != FACTOR_REST) continue;
        rest = l->differences[i].key;
        rest_count++;
    }
    if (rest && strcmp(rest, "architecture") == 0) rest = "model";
    for (int f = 0; f < FACTORS && used < NAME_BYTES; f++) {
        bool alone = f == FACTOR_REST && rest_count == 1;
        if (!(factors >> f & 1u)) continue;
        used += (size_t)snprintf(name + used, NAME_BYTES - used, "%s%s", used ? "-and-" : "",
                                 alone ? rest : factor_names[f]);
    }
    return name;
}

static status put_reason(yaml_node *run, unsigned factors, unsigned pending, const char *why,
                         error *err) {
    int first = 0;
    if (!*why) return STATUS_OK;
    while (!((factors | pending) >> first & 1u)) first++;
    const char *name = factor_names[first];
    status rc = yaml_put(run, "kept", yaml_new_string(name, err), err);
    return rc == STATUS_OK ? yaml_put(run, "because", yaml_new_string(why, err), err) : rc;
}

static status add_step(ladder *l, unsigned factors, const char *why, error *err) {
    status rc = STATUS_OK;
    char name[NAME_BYTES];
    yaml_node *run, *list = NULL;
    TRY(add_run(l, name_step(l, factors, name), "step", &run, err));
    TRY(add_published(l, run, err));
    list = yaml_new(YAML_SEQUENCE, err);
    TRY(yaml_put(run, "factors", list, err));
    list->flow = true;
    for (int f = 0; f < FACTORS; f++)
        if (factors >> f & 1u) TRY(yaml_append(list, yaml_new_string(factor_names[f], err), err));
    TRY(put_changes(l, run, factors, err));
    TRY(put_reason(run, factors, l->pending, why, err));
out:
    return rc;
}

// ---- Beside the way ----

// Does the rate of plain SGD stay where it is though the batch changes?
static bool rate_stays(const ladder *l) {
    for (size_t i = 0; i < l->difference_count; i++)
        if (l->differences[i].factor == FACTOR_RATE) return false;
    return l->from.optimizer.kind == OPTIMIZER_SGD && l->from.lr_scaling.kind == LR_SCALING_NONE;
}

// One assignment of the control, and `changes: {KEY: [from, to]}` to show it by.
static status control_set(ladder *l, yaml_node *changes, const char *key, const char *from,
                          const char *to, error *err) {
    status rc = STATUS_OK;
    yaml_node *pair = yaml_new(YAML_SEQUENCE, err);
    char *assignment = memory_format(err, "%s=%s", key, to);
    if (assignment) l->set[l->sets++] = assignment;
    TRY(yaml_put(changes, key, pair, err));
    pair->flow = true;
    TRY(yaml_append(pair, yaml_new_string(from, err), err));
    TRY(yaml_append(pair, yaml_new_string(to, err), err));
out:
    return assignment ? rc : STATUS_FAILED;
}

// The same batch with a rate that follows it linearly, after an epoch of warm-up where it grows.
static status add_control(ladder *l, error *err) {
    status rc = STATUS_OK;
    yaml_node *run, *changes = yaml_new(YAML_MAPPING, err);
    size_t before = l->sets;
    bool grows = l->now.global_batch > l->from.global_batch;
    bool warm_up = grows && l->now.epochs > 1 && l->now.schedule.warmup_epochs == 0;
    char scaling[64];
    snprintf(scaling, sizeof scaling, "{kind: linear, base_batch: %d}", l->from.global_batch);
    if (!changes) return STATUS_FAILED;
    TRY(control_set(l, changes, "lr_scaling", "none", scaling, err));
    if (warm_up) TRY(control_set(l, changes, "schedule.warmup_epochs", "0", "1", err));
    TRY(add_run(l, "global-batch-scaled-rate", "control", &run, err));
    TRY(plan_add_set(run, "published=null", err));
    rc = yaml_put(run, "changes", changes, err);
    changes = NULL; // yaml_put took it over
out:
    yaml_free(changes);
    drop_sets(l, before);
    return rc;
}

// ---- The walk ----

static status check_arrival(const ladder *l, error *err) {
    const yaml_node *here = l->now.resolved, *there = l->to.resolved;
    for (size_t i = 0; i < there->count; i++) {
        const yaml_node *mine = yaml_find(here, there->keys[i]);
        if (is_label(there->keys[i]) || (mine && yaml_equal(mine, there->items[i]))) continue;
        return error_set(err, STATUS_FAILED, "cannot come from '%s' to '%s': '%s' still differs",
                         l->from_path, l->to_path, there->keys[i]);
    }
    return STATUS_OK;
}

static status begin(ladder *l, const char *const *set, size_t set_count, error *err) {
    status rc = STATUS_FAILED;
    yaml_node *run;
    TRY(experiment_read(&l->from, l->from_path, set, set_count, err));
    TRY(experiment_read(&l->to, l->to_path, set, set_count, err));
    find_differences(l);
    if (!l->pending)
        return error_set(err, STATUS_USAGE,
                         "cannot explain '%s' by '%s': they do not differ in anything that is run",
                         l->to.name, l->from.name);
    TRY((l->set = memory_new(set_count + SETS_MAX, sizeof *l->set, err)) ? STATUS_OK
                                                                         : STATUS_FAILED);
    for (size_t i = 0; i < set_count; i++) l->set[l->sets++] = set[i];
    l->given = set_count;
    // A file without V would let it follow the world size.
    TRY(add_set(l, "virtual_shards", yaml_find(l->from.resolved, "virtual_shards"), err));
    if (l->to.repeats > l->from.repeats)
        TRY(add_set(l, "repeats", yaml_find(l->to.resolved, "repeats"), err));
    TRY(plan_new("ladder", l->from_path, &l->plan, err));
    TRY(yaml_put(l->plan, "from", yaml_new_string(l->from.name, err), err));
    TRY(yaml_put(l->plan, "to", yaml_new_string(l->to.name, err), err));
    TRY(add_run(l, l->from.name, "start", &run, err));
out:
    return rc;
}

static status walk(ladder *l, error *err) {
    status rc = STATUS_OK;
    while (l->pending) {
        unsigned factors;
        char why[WHY_BYTES];
        TRY(step(l, &factors, why, err));
        TRY(add_step(l, factors, why, err));
        if (factors >> FACTOR_BATCH & 1u && rate_stays(l)) TRY(add_control(l, err));
    }
    rc = check_arrival(l, err);
out:
    return rc;
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
    return rc;
}
