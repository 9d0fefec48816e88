// SPDX-License-Identifier: MIT
#include "experiment/experiment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/printable.h"
#include "compute/backend.h"
#include "experiment/experiment_fields.h"
#include "experiment/inherit.h"

enum { MAX_KNOWN = 64 }; // keys of one mapping

// ---- Known keys ----

// Lists the keys below `section` ("": top level), each once. They point into `room`.
static size_t known_keys(const char *section, char room[MAX_KNOWN][32],
                         const char *known[MAX_KNOWN]) {
    size_t count = 0, skip = strlen(section);
    for (size_t i = 0; i < experiment_field_count; i++) {
        const char *path = experiment_fields[i].path;
        if (skip && (strncmp(path, section, skip) != 0 || path[skip] != '.')) continue;
        const char *key = skip ? path + skip + 1 : path;
        snprintf(room[count], sizeof room[count], "%.*s", (int)strcspn(key, "."), key);
        // Keys of one section are adjacent in the table.
        if (count && !strcmp(room[count - 1], room[count])) continue;
        known[count] = room[count];
        count++;
    }
    return count;
}

size_t experiment_keys(const char *keys[EXPERIMENT_MOST_KEYS]) {
    for (size_t i = 0; i < experiment_field_count; i++) keys[i] = experiment_fields[i].path;
    return experiment_field_count;
}

void experiment_answer_option(const char *name, const char *value, char text[HINT_BYTES]) {
    const char *keys[EXPERIMENT_MOST_KEYS], *note;
    const char *key = hint_find(name, keys, experiment_keys(keys), HINT_KEYS, &note);
    if (key)
        snprintf(text, HINT_BYTES, "did you mean '--set %s=%.60s'?%s%s", key, value,
                 note ? " " : "", note ? note : "");
    else if (note)
        snprintf(text, HINT_BYTES, "%s", note);
}

// The paths that --set may name: fields, and whole sections.
static size_t known_paths(const char *known[EXPERIMENT_MOST_KEYS]) {
    static const char *const sections[] = {
        "normalize",  "optimizer",      "schedule", "lr_scaling", "average",
        "validation", "early_stopping", "stop_at",  "mixup",      "initial_weights"};
    size_t count = experiment_keys(known);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) known[count++] = sections[i];
    return count;
}

// "schedule: cosine" means "schedule: {kind: cosine}".
static status refuse_section(const yaml_node *value, const char *section, const char *key,
                             error *err) {
    if (value->kind != YAML_SCALAR || !*value->text)
        return yaml_error(value, err, "'%s': expected a mapping", section);
    return yaml_error(value, err, "'%s': expected a mapping, such as {%s: %.60s}", section, key,
                      value->text);
}

static status check_keys(const yaml_node *root, error *err) {
    char room[MAX_KNOWN][32];
    const char *known[MAX_KNOWN], *paths[EXPERIMENT_MOST_KEYS];
    const size_t path_count = known_paths(paths);
    size_t count = known_keys("", room, known);
    known[count++] = "base"; // already removed from the tree; a suggestion for misspelt keys
    status rc = yaml_check_keys_among(root, known, count, paths, path_count, err);
    for (size_t i = 0; rc == STATUS_OK && i < root->count; i++) {
        const char *key = root->keys[i];
        if (!experiment_is_section(key)) continue;
        count = known_keys(key, room, known);
        if (root->items[i]->kind != YAML_MAPPING)
            return refuse_section(root->items[i], key, known[0], err);
        rc = yaml_check_keys_among(root->items[i], known, count, paths, path_count, err);
    }
    return rc;
}

// ---- --set -------------------------------------------------------------------------------------

static bool is_known_path(const char *path, const char *known[EXPERIMENT_MOST_KEYS],
                          size_t *count) {
    *count = known_paths(known);
    for (size_t i = 0; i < *count; i++)
        if (!strcmp(path, known[i])) return true;
    return false;
}

status experiment_check_assignments(const yaml_node *mapping, error *err) {
    const char *known[EXPERIMENT_MOST_KEYS];
    return yaml_check_keys(mapping, known, known_paths(known), err);
}

// Puts `value` at the path, creating a missing mapping in between; null removes the key, which
// restores its default. Takes ownership of `value`.
static void assign(yaml_node *root, const char *path, yaml_node *value) {
    yaml_node *parent = root;
    const char *dot = strchr(path, '.');
    if (dot) {
        char section[32];
        snprintf(section, sizeof section, "%.*s", (int)(dot - path), path);
        parent = (yaml_node *)yaml_find(root, section);
        if (!parent || parent->kind != YAML_MAPPING) {
            parent = yaml_new(YAML_MAPPING);
            parent->flow = true;
            yaml_put(root, section, parent);
        }
        path = dot + 1;
    }
    if (value->kind != YAML_SCALAR || yaml_scalar_type(value) != YAML_NULL) {
        yaml_put(parent, path, value);
        return;
    }
    yaml_remove(parent, path);
    yaml_free(value);
}

// Lists the keys of the section of an unknown path, or of an experiment; a key that is no section
// has none.
static void list_siblings(const char *path, char hint[HINT_BYTES]) {
    char room[MAX_KNOWN][32], section[32];
    const char *known[MAX_KNOWN], *dot = strchr(path, '.');
    size_t count = known_keys("", room, known);
    snprintf(section, sizeof section, "%.*s", dot ? (int)(dot - path) : 0, path);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(known[i], section) != 0 || experiment_is_section(section)) continue;
        snprintf(hint, HINT_BYTES, ": '%s' has no keys; --set gives it as a whole", section);
        return;
    }
    if (experiment_is_section(section)) count = known_keys(section, room, known);
    hint_list("the keys are", known, count, hint);
}

// Applies the assignment of this number. Its errors begin with "--set 'KEY=VALUE': ".
static status apply_set(yaml_node *root, const char *assignment, int number, error *err) {
    const char *equals = strchr(assignment, '='), *known[EXPERIMENT_MOST_KEYS];
    char hint[HINT_BYTES];
    size_t count;
    status rc = STATUS_FAILED;
    yaml_node *value = NULL;
    char *key = NULL, *origin = memory_format("--set '%s'", assignment);
    (void)printable(origin, true); // as messages show it
    if (!equals || equals == assignment || !equals[1]) {
        rc = error_set(err, STATUS_USAGE, "%s: expected KEY=VALUE", origin);
        goto out;
    }
    key = memory_format("%.*s", (int)(equals - assignment), assignment);
    if (!is_known_path(key, known, &count)) {
        if (!*hint_about(key, known, count, HINT_KEYS, hint)) list_siblings(key, hint);
        rc = error_set(err, STATUS_USAGE, "%s: unknown key '%.60s'%s", origin, key, hint);
        goto out;
    }
    rc = yaml_read_text(equals + 1, strlen(equals + 1), "value", &value, err);
    if (rc != STATUS_OK) {
        rc = error_prefix(err, "%s: ", origin);
        goto out;
    }
    yaml_set_origin(value, origin, ERROR_IN_ASSIGNMENT, number);
    assign(root, key, value);
    value = NULL;
out:
    if (rc == STATUS_USAGE || rc == STATUS_INPUT) {
        err->origin = ERROR_IN_ASSIGNMENT;
        err->assignment = number;
        err->place = (int)(strlen(origin) + strlen(": "));
    }
    yaml_free(value);
    free(key);
    free(origin);
    return rc;
}

// ---- Checks across keys ----

// Is the node from the file itself, not from its base?
static bool is_in_file(const yaml_node *node, const yaml_node *root) {
    return node && node->file && root->file && !strcmp(node->file, root->file);
}

// The node to report when keys do not fit together: one set by --set, else the first in the file
// itself, else the first one present.
static const yaml_node *node_at_fault(const yaml_node *root, const char *const *paths,
                                      size_t count) {
    const yaml_node *first = NULL;
    for (size_t i = 0; i < count; i++) {
        const yaml_node *node = yaml_get(root, paths[i]);
        if (field_is_set(node)) return node;
        if (node && (!first || (!is_in_file(first, root) && is_in_file(node, root)))) first = node;
    }
    return first ? first : root;
}

static status check_shards(const experiment *e, const yaml_node *root, error *err) {
    static const char *const keys[] = {"virtual_shards", "world_size", "global_batch"};
    static const char *const sizes[] = {"global_batch", "virtual_shards"};
    // The stages of a pipeline share no shards.
    if (e->strategy != STRATEGY_MP && e->virtual_shards % e->world_size)
        return yaml_error(node_at_fault(root, keys, 2), err,
                          "'virtual_shards' is %d: it must be a multiple of 'world_size', which "
                          "is %d",
                          e->virtual_shards, e->world_size);
    if (e->global_batch % e->virtual_shards)
        return yaml_error(node_at_fault(root, keys, 3), err,
                          "'virtual_shards' is %d: it must divide 'global_batch', which is %d",
                          e->virtual_shards, e->global_batch);
    if (e->global_batch / e->virtual_shards > ENGINE_MAX_SHARD_SAMPLES)
        return yaml_error(
            node_at_fault(root, sizes, 2), err,
            "'global_batch' is %d: at most %d samples per virtual shard, of which there are %d",
            e->global_batch, (int)ENGINE_MAX_SHARD_SAMPLES, e->virtual_shards);
    return STATUS_OK;
}

// Can the layers be cut into the experiment's number of stages? Each stage begins with a
// convolution or linear layer. (A tool that is given another number checks that itself.)
static status check_stages(const experiment *e, const yaml_node *root, error *err) {
    static const char *const keys[] = {"world_size", "model", "strategy"};
    int most = 1;
    if (e->strategy != STRATEGY_MP) return STATUS_OK;
    for (int i = 1; i < e->model.program.count; i++) most += program_can_cut(&e->model.program, i);
    if (most > EXPERIMENT_MAX_STAGES) most = EXPERIMENT_MAX_STAGES;
    if (e->world_size <= most) return STATUS_OK;
    return yaml_error(node_at_fault(root, keys, 3), err,
                      "'world_size' is %d: model '%s' can be cut into at most %d stages: each "
                      "begins with a convolution or a linear layer, and there are at most %d",
                      e->world_size, e->model.name, most, (int)EXPERIMENT_MAX_STAGES);
}

static status check_optimizer(const experiment *e, const yaml_node *root, error *err) {
    static const char *const nesterov[] = {"optimizer.nesterov", "optimizer.momentum", "optimizer"};
    static const char *const warmup[] = {"schedule.warmup_epochs", "epochs"};
    const double *hyper = e->optimizer.hyper;
    if (hyper[HYPER_NESTEROV] != 0 && !(hyper[HYPER_MOMENTUM] > 0))
        return yaml_error(node_at_fault(root, nesterov, 3), err,
                          "'optimizer.nesterov' needs a momentum above 0");
    if (e->schedule.warmup_epochs > e->epochs)
        return yaml_error(node_at_fault(root, warmup, 2), err,
                          "'schedule.warmup_epochs' is %d: more than the %g epochs",
                          e->schedule.warmup_epochs, e->epochs);
    return STATUS_OK;
}

static status check_mixup(const experiment *e, const yaml_node *root, error *err) {
    static const char *const size[] = {"mixup.alpha", "global_batch", "virtual_shards"};
    if (e->mixup_alpha > 0 && e->global_batch == e->virtual_shards)
        return yaml_error(node_at_fault(root, size, 3), err,
                          "'mixup' needs two samples or more in a shard: it blends each with "
                          "another one of its shard, and 'global_batch' / 'virtual_shards' is 1");
    return STATUS_OK;
}

// Only validation samples may choose: test data must not.
static status check_validation(const experiment *e, const yaml_node *root, error *err) {
    static const char *const keep[] = {"keep"}, *const stopping[] = {"early_stopping.patience"},
                             *const stop_at[] = {"stop_at.accuracy"},
                             *const delta[] = {"early_stopping.min_delta"},
                             *const seed[] = {"validation.seed"};
    const bool none = e->validation.samples == 0;
    if (none && e->keep == KEEP_BEST)
        return yaml_error(node_at_fault(root, keep, 1), err,
                          "'keep: best' needs 'validation': the best epoch is that with the best "
                          "accuracy on validation samples");
    if (e->keep == KEEP_BEST && e->epochs != floor(e->epochs))
        return yaml_error(node_at_fault(root, keep, 1), err,
                          "'keep: best' needs a whole number of 'epochs', not %g: if the run is "
                          "continued, the model after the shorter epoch is no model of an epoch",
                          e->epochs);
    if (none && e->early_stopping.patience)
        return yaml_error(node_at_fault(root, stopping, 1), err,
                          "'early_stopping' needs 'validation': it ends training by the accuracy "
                          "on validation samples");
    if (none && e->early_stopping.stop_at > 0)
        return yaml_error(node_at_fault(root, stop_at, 1), err,
                          "'stop_at' needs 'validation': it ends training by the accuracy on "
                          "validation samples; test data must not choose the number of epochs");
    if (!e->early_stopping.patience && e->early_stopping.min_delta > 0)
        return yaml_error(node_at_fault(root, delta, 1), err,
                          "'early_stopping.min_delta' needs 'early_stopping.patience'");
    if (none && e->validation.seed)
        return yaml_error(node_at_fault(root, seed, 1), err,
                          "'validation.seed' needs 'validation.samples'");
    return STATUS_OK;
}

// ---- Reading ----

static status resolve(experiment_reading *r) {
    experiment *e = r->e;
    const bool has_schema = yaml_find(r->root, "schema") != NULL;
    e->resolved = yaml_new(YAML_MAPPING);
    // The schema is the first field. It is read before the keys are checked: a claim or a study has
    // other keys, and the message should be that it is not an experiment.
    if (has_schema) NEED(experiment_read_field(r, &experiment_fields[0]));
    NEED(check_keys(r->root, r->err));
    for (size_t i = has_schema; i < experiment_field_count; i++)
        NEED(experiment_read_field(r, &experiment_fields[i]));
    NEED(check_shards(e, r->root, r->err));
    NEED(check_stages(e, r->root, r->err));
    NEED(check_optimizer(e, r->root, r->err));
    NEED(check_mixup(e, r->root, r->err));
    NEED(check_validation(e, r->root, r->err));
    yaml_put(e->resolved, "architecture", yaml_copy(e->model.description));
    return STATUS_OK;
}

status experiment_read(experiment *e, const char *path, const char *const *set, size_t set_count,
                       error *err) {
    *e = (experiment){0};
    error local = {0};
    yaml_node *root = NULL;
    experiment_reading r = {.e = e, .path = path, .err = &local};
    status rc = inherit_read(path, &root, &local);
    if (rc != STATUS_OK) goto out;
    for (size_t i = 0; i < set_count; i++) TRY(apply_set(root, set[i], (int)i, &local));
    r.root = root;
    rc = resolve(&r);
out:
    yaml_free(root);
    if (rc == STATUS_OK) return rc;
    experiment_release(e);
    // An assignment is a part of the command line.
    const bool usage = rc == STATUS_INPUT && local.origin == ERROR_IN_ASSIGNMENT;
    local.code = usage ? STATUS_USAGE : rc;
    return error_pass(&local, err);
}

static bool decides_learning_rate(const field *f) {
    static const char *const parts[] = {"global_batch", "epochs", "optimizer", "schedule",
                                        "lr_scaling"};
    const size_t length = strcspn(f->path, ".");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strlen(parts[i]) == length && !strncmp(f->path, parts[i], length)) return true;
    return false;
}

status experiment_read_updates(experiment *e, const yaml_node *parameters, error *err) {
    *e = (experiment){.resolved = yaml_new(YAML_MAPPING)};
    experiment_reading r = {.e = e, .path = "", .root = parameters, .err = err};
    status rc = STATUS_OK;
    for (size_t i = 0; i < experiment_field_count && rc == STATUS_OK; i++)
        if (decides_learning_rate(&experiment_fields[i]))
            rc = experiment_read_field(&r, &experiment_fields[i]);
    return rc;
}

void experiment_release(experiment *e) {
    model_release(&e->model);
    free(e->model_path);
    free(e->weights_path);
    free(e->tensors);
    parameter_groups_release(&e->parameter_groups);
    yaml_free(e->resolved);
    *e = (experiment){0};
}

// ---- Lengths ----

uint64_t experiment_steps(const experiment *e, uint64_t steps_per_epoch) {
    const double steps = e->epochs * (double)steps_per_epoch, whole = nearbyint(steps);
    return (uint64_t)(fabs(steps - whole) <= 1e-12 * steps ? whole : ceil(steps));
}

int experiment_epochs(const experiment *e, uint64_t steps_per_epoch) {
    return (int)((experiment_steps(e, steps_per_epoch) + steps_per_epoch - 1) / steps_per_epoch);
}

// ---- Comparing ----

static bool changes_bits(const char *key) {
    // "model" is only the name; "architecture" holds the description.
    static const char *const free_keys[] = {
        "schema", "name",       "title",          "model",           "repeats", "strategy",
        "stages", "world_size", "loader_workers", "target_accuracy", "tta"};
    for (size_t i = 0; i < sizeof free_keys / sizeof *free_keys; i++)
        if (!strcmp(key, free_keys[i])) return false;
    return true;
}

// Finds the first key of `a` whose value differs in `b`, and writes its whole path to `key`. For a
// section, that is the key within it. Ignores the key `but`, unless it is "".
static bool differs(const yaml_node *a, const yaml_node *b, const char *section, const char *but,
                    char key[64]) {
    for (size_t i = 0; i < a->count; i++) {
        const char *name = a->keys[i];
        if (!*section && (!changes_bits(name) || !strcmp(name, but))) continue;
        const yaml_node *x = a->items[i], *y = yaml_find(b, name);
        if (yaml_equal(x, y)) continue;
        if (!*section && experiment_is_section(name) && y && x->kind == YAML_MAPPING &&
            y->kind == YAML_MAPPING &&
            (differs(x, y, name, but, key) || differs(y, x, name, but, key)))
            return true;
        if (!strcmp(name, "architecture")) name = "model";
        snprintf(key, 64, "%s%s%s", section, *section ? "." : "", name);
        return true;
    }
    return false;
}

const char *experiment_difference(const yaml_node *a, const yaml_node *b, char key[64]) {
    return differs(a, b, "", "", key) || differs(b, a, "", "", key) ? key : NULL;
}

double experiment_epochs_of(const yaml_node *resolved) {
    const double epochs = yaml_number_at(resolved, "epochs");
    return isnan(epochs) ? 0 : epochs;
}

const char *experiment_continues(const yaml_node *before, const yaml_node *now, char why[256]) {
    enum { WHY = 256 };
    char key[64];
    const double had = experiment_epochs_of(before), wanted = experiment_epochs_of(now);
    const yaml_node *kind = yaml_get(now, "schedule.kind");
    const yaml_node *average = yaml_get(now, "average.kind");
    if (differs(before, now, "", "epochs", key) || differs(now, before, "", "epochs", key))
        snprintf(why, WHY, "it is from a run with a different '%s'", key);
    else if (wanted < had)
        snprintf(why, WHY, "it is from a run with more 'epochs': %.12g, not %.12g", had, wanted);
    else if (wanted > had && kind && kind->text && schedule_needs_total(kind->text))
        snprintf(why, WHY,
                 "it is from a run of %.12g 'epochs', not %.12g: in a %.20s schedule their number "
                 "sets the learning rate of every step",
                 had, wanted, kind->text);
    else if (wanted > had && average && average->text && !strcmp(average->text, "lookahead"))
        snprintf(why, WHY,
                 "it is from a run of %.12g 'epochs', not %.12g: with lookahead the last of them "
                 "ends with the averaged weights",
                 had, wanted);
    else
        return NULL;
    return why;
}

// ---- Early stopping ----

bool early_stopping_is_reached(const early_stopping *rule, double accuracy) {
    return rule->stop_at > 0 && accuracy >= rule->stop_at;
}

bool early_stopping_is_due(const early_stopping *rule, const double *accuracy, int epochs) {
    int best = 0;
    for (int i = 1; i < epochs; i++)
        if (accuracy[i] > accuracy[best] + rule->min_delta) best = i;
    return (rule->patience && epochs - 1 - best >= rule->patience) ||
           early_stopping_is_reached(rule, accuracy[epochs - 1]);
}

bool experiment_same_speed(const experiment *a, const experiment *b) {
    for (size_t i = 0; i < experiment_field_count; i++) {
        const field *f = &experiment_fields[i];
        const char *path = strcmp(f->path, "model") == 0 ? "architecture" : f->path;
        const yaml_node *own = yaml_get(a->resolved, path), *other = yaml_get(b->resolved, path);
        if (f->speed && (own && other ? !yaml_equal(own, other) : own != other)) return false;
    }
    return true;
}
