// SPDX-License-Identifier: MIT
#include "experiment/field_readers.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/paths.h"
#include "compute/backend.h"
#include "data/dataset.h"
#include "data/pixel_statistics.h"
#include "experiment/lookup.h"

bool field_is_set(const yaml_node *node) {
    return node && node->origin == ERROR_IN_ASSIGNMENT;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

// ---- Lists of numbers ----

status field_need_list(const yaml_node *node, const char *key, error *err) {
    if (node->kind == YAML_SEQUENCE) return STATUS_OK;
    return yaml_error(node, err, "'%s': expected a list", key);
}

yaml_node *field_new_flow(yaml_kind kind) {
    yaml_node *node = yaml_new(kind);
    node->flow = true;
    return node;
}

status field_read_numbers(const yaml_node *node, const char *key, size_t min_count,
                          size_t max_count, double *values, yaml_node **list, error *err) {
    NEED(field_need_list(node, key, err));
    if (node->count < min_count || node->count > max_count)
        return min_count == max_count
                   ? yaml_error(node, err, "'%s': expected %zu numbers, got %zu", key, min_count,
                                node->count)
                   : yaml_error(node, err, "'%s': expected %zu to %zu numbers, got %zu", key,
                                min_count, max_count, node->count);
    *list = field_new_flow(YAML_SEQUENCE);
    for (size_t i = 0; i < node->count; i++) {
        NEED(yaml_number(node->items[i], key, &values[i], err));
        yaml_append(*list, yaml_new_number(values[i]));
    }
    return STATUS_OK;
}

// `is_possible` checks each value, as a float.
static status read_channels(experiment_reading *r, const yaml_node *node, const char *key,
                            bool (*is_possible)(double value, char why[PIXEL_WHY_BYTES]),
                            float *values, yaml_node **list) {
    double numbers[EXPERIMENT_MAX_CHANNELS];
    char why[PIXEL_WHY_BYTES];
    int channels = r->e->model.program.input.channels;
    if (channels > EXPERIMENT_MAX_CHANNELS)
        return yaml_error(node, r->err, "'%s': the model's input has more than %d channels", key,
                          EXPERIMENT_MAX_CHANNELS);
    status rc =
        field_read_numbers(node, key, (size_t)channels, (size_t)channels, numbers, list, r->err);
    for (size_t i = 0; rc == STATUS_OK && i < node->count; i++) {
        values[i] = (float)numbers[i];
        // The double is what was written; the float is what counts.
        if (!is_possible(numbers[i], why) || !is_possible((double)values[i], why))
            rc = yaml_error(node->items[i], r->err, "'%s': %s", key, why);
    }
    r->e->normalize_channels = channels;
    return rc;
}

static bool both_or_none(const experiment_reading *r) {
    return !yaml_get(r->root, "normalize.mean") == !yaml_get(r->root, "normalize.std");
}

status field_read_mean(experiment_reading *r, const yaml_node *node, yaml_node **resolved) {
    if (!both_or_none(r))
        return yaml_error(yaml_find(r->root, "normalize"), r->err,
                          "'normalize' needs both 'mean' and 'std'");
    r->e->has_normalize = node != NULL;
    return node ? read_channels(r, node, "normalize.mean", pixel_mean_is_possible, r->e->mean,
                                resolved)
                : STATUS_OK;
}

status field_read_std(experiment_reading *r, const yaml_node *node, yaml_node **resolved) {
    if (!node) return STATUS_OK;
    status rc =
        read_channels(r, node, "normalize.std", pixel_deviation_is_possible, r->e->std, resolved);
    for (size_t i = 0; rc == STATUS_OK && i < node->count; i++)
        if (!engine_can_normalise(r->e->mean[i], r->e->std[i]))
            rc = yaml_error(
                node->items[i], r->err,
                "'normalize': with mean %g and standard deviation %g pixels are not finite",
                (double)r->e->mean[i], (double)r->e->std[i]);
    return rc;
}

status field_read_milestones(experiment_reading *r, const yaml_node *node, yaml_node **resolved) {
    static const char key[] = "schedule.milestones";
    schedule *s = &r->e->schedule;
    NEED(field_need_list(node, key, r->err));
    if (!node->count || node->count > SCHEDULE_MAX_MILESTONES)
        return yaml_error(node, r->err, "'%s': expected 1 to %d epochs", key,
                          SCHEDULE_MAX_MILESTONES);
    *resolved = field_new_flow(YAML_SEQUENCE);
    int64_t value, last = 0;
    for (size_t i = 0; i < node->count; i++, last = value) {
        NEED(yaml_integer(node->items[i], key, 1, MAX_EPOCHS, &value, r->err));
        if (value <= last)
            return yaml_error(node->items[i], r->err, "'%s' must increase, got %d after %d", key,
                              (int)value, (int)last);
        s->milestones[s->milestone_count++] = (int)value;
        yaml_append(*resolved, yaml_new_integer(value));
    }
    return STATUS_OK;
}

// Reads one [epoch, factor] of a linear schedule.
static status read_point(experiment_reading *r, const yaml_node *node, yaml_node *list) {
    static const char key[] = "schedule.points";
    schedule *s = &r->e->schedule;
    double point[2];
    yaml_node *pair = NULL;
    status rc = field_read_numbers(node, key, 2, 2, point, &pair, r->err);
    if (pair) yaml_append(list, pair);
    if (rc != STATUS_OK) return rc;
    if (!(point[0] >= 0 && point[0] <= MAX_EPOCHS))
        return yaml_error(node->items[0], r->err, "'%s': expected an epoch from 0 to %d, got %.40s",
                          key, MAX_EPOCHS, node->items[0]->text);
    if (s->point_count && point[0] <= s->points[s->point_count - 1].epoch)
        return yaml_error(node->items[0], r->err, "'%s' must increase, got epoch %g after %g", key,
                          point[0], s->points[s->point_count - 1].epoch);
    if (!(point[1] >= 0 && point[1] <= 1e6))
        return yaml_error(node->items[1], r->err,
                          "'%s': expected a factor from 0 to 1e+06, got %.40s", key,
                          node->items[1]->text);
    s->points[s->point_count++] = (schedule_point){point[0], point[1]};
    return STATUS_OK;
}

status field_read_points(experiment_reading *r, const yaml_node *node, yaml_node **resolved) {
    static const char key[] = "schedule.points";
    NEED(field_need_list(node, key, r->err));
    if (!node->count || node->count > SCHEDULE_MAX_POINTS)
        return yaml_error(node, r->err, "'%s': expected 1 to %d pairs [epoch, factor], got %zu",
                          key, SCHEDULE_MAX_POINTS, node->count);
    *resolved = field_new_flow(YAML_SEQUENCE);
    for (size_t i = 0; i < node->count; i++) NEED(read_point(r, node->items[i], *resolved));
    return STATUS_OK;
}

// ---- Names, model, stages ----

// Reads a word that may become a folder name; *text lives in *resolved.
static status read_name(experiment_reading *r, const char *key, size_t longest,
                        const yaml_node *node, yaml_node **resolved, const char **text) {
    const char *name;
    NEED(yaml_string(node, key, &name, r->err));
    if (!paths_is_plain_name(name))
        return yaml_error(node, r->err,
                          "'%s': expected letters, digits, '.', '_' and '-', not beginning with "
                          "'.' or '-', got '%.60s'",
                          key, name);
    if (strlen(name) > longest)
        return yaml_error(node, r->err, "'%s': expected at most %zu characters, got %zu", key,
                          longest, strlen(name));
    *resolved = yaml_new_string(name);
    *text = (*resolved)->text;
    return STATUS_OK;
}

status field_read_name(experiment_reading *r, const yaml_node *node, yaml_node **resolved) {
    return read_name(r, "name", 100, node, resolved, &r->e->name);
}

// Reads the name that a dataset file has in its metadata.
status field_read_dataset(experiment_reading *r, const yaml_node *node, yaml_node **resolved) {
    return read_name(r, "dataset", DATASET_NAME_BYTES - 1, node, resolved, &r->e->dataset);
}

status field_read_title(experiment_reading *r, const yaml_node *node, yaml_node **resolved) {
    const char *title = r->e->name;
    NEED(node ? yaml_string(node, "title", &title, r->err) : STATUS_OK);
    *resolved = yaml_new_string(title);
    r->e->title = (*resolved)->text;
    return STATUS_OK;
}

// A name or a path is relative to the file that contains it, which may be the base; a path in --set
// is relative to the current folder.
static status find_model(const experiment_reading *r, const yaml_node *node, char **path) {
    bool set = field_is_set(node);
    const char *from = set ? r->path : node->file;
    if (set && lookup_is_path(node->text)) from = "";
    return lookup_file(from, "models", node->text, path, r->err);
}

// A name without a file is probably misspelt.
static status check_model(const experiment_reading *r, const yaml_node *node) {
    const char *from = field_is_set(node) ? r->path : node->file;
    char *near = NULL;
    if (lookup_is_path(node->text) || access(r->e->model_path, F_OK) == 0) return STATUS_OK;
    status rc = lookup_nearest(from, "models", node->text, &near, r->err);
    if (rc == STATUS_OK && near)
        rc = yaml_error(node, r->err, "'model': there is no model '%s': did you mean '%s'?",
                        node->text, near);
    else if (rc == STATUS_OK)
        rc = yaml_error(node, r->err, "'model': there is no model '%s': '%s' does not exist",
                        node->text, r->e->model_path);
    free(near);
    return rc;
}

status field_read_model(experiment_reading *r, const yaml_node *node, yaml_node **resolved) {
    const char *name;
    status rc = yaml_string(node, "model", &name, r->err);
    if (rc != STATUS_OK) return rc;
    rc = find_model(r, node, &r->e->model_path);
    if (rc == STATUS_OK) rc = check_model(r, node);
    if (rc != STATUS_OK) return rc;
    const char *path = r->e->model_path;
    error local;
    rc = model_read(&r->e->model, path, &local);
    // A message about a place inside the file is kept as it is; a missing file is an error in the
    // experiment.
    if (rc == STATUS_INPUT && local.origin == ERROR_ELSEWHERE)
        rc = yaml_error(node, r->err, "'model': %s", local.message);
    else if (rc != STATUS_OK)
        rc = error_pass(&local, r->err);
    if (rc != STATUS_OK) return rc;
    *resolved = yaml_new_string(r->e->model.name);
    return STATUS_OK;
}

// The path is found as a model's. The resolved experiment has the name alone, so that it does not
// depend on the place of the file. Only training opens it.
status field_read_weights(experiment_reading *r, const yaml_node *node, yaml_node **resolved) {
    const char *path;
    if (!node) return STATUS_OK;
    NEED(yaml_string(node, "initial_weights.file", &path, r->err));
    const char *name = path + lookup_folder_length(path);
    if (!*name) return yaml_error(node, r->err, "'initial_weights.file': expected a file");
    const char *from = field_is_set(node) || *path == '/' ? "" : node->file;
    r->e->weights_path = memory_format("%.*s%s", lookup_folder_length(from), from, path);
    *resolved = yaml_new_string(name);
    return STATUS_OK;
}

status field_read_except(experiment_reading *r, const yaml_node *node, yaml_node **resolved) {
    static const char key[] = "initial_weights.except";
    const char *pattern;
    if (!node) return STATUS_OK;
    if (!r->e->weights_path)
        return yaml_error(node, r->err, "'%s' needs 'initial_weights.file'", key);
    status rc = field_need_list(node, key, r->err);
    if (rc != STATUS_OK || node->count == 0) return rc;
    r->e->weights_except = *resolved = field_new_flow(YAML_SEQUENCE);
    for (size_t i = 0; rc == STATUS_OK && i < node->count; i++) {
        rc = yaml_string(node->items[i], key, &pattern, r->err);
        if (rc == STATUS_OK) yaml_append(*resolved, yaml_new_string(pattern));
    }
    return rc;
}

static int find_layer(const program *p, const char *name) {
    for (int i = 0; i < p->count; i++)
        if (!strcmp(p->layers[i].name, name)) return i;
    return -1;
}

status field_read_stages(experiment_reading *r, const yaml_node *node, yaml_node **resolved) {
    const program *p = &r->e->model.program;
    if (!node) return STATUS_OK;
    NEED(field_need_list(node, "stages", r->err));
    *resolved = field_new_flow(YAML_SEQUENCE);
    int last = 0;
    for (size_t i = 0; i < node->count; i++) {
        const char *name;
        NEED(yaml_string(node->items[i], "stages", &name, r->err));
        int index = find_layer(p, name);
        if (index < 0)
            return yaml_error(node->items[i], r->err, "'stages': model '%s' has no layer '%.60s'",
                              r->e->model.name, name);
        if (index <= last)
            return yaml_error(
                node->items[i], r->err,
                "'stages': '%.60s' must come after the first layer of the previous stage", name);
        if (!program_can_cut(p, index))
            return yaml_error(node->items[i], r->err,
                              "'stages': '%.60s': a stage begins with a convolution or a linear "
                              "layer, and not within a residual block",
                              name);
        last = index;
        yaml_append(*resolved, yaml_new_string(name));
    }
    return STATUS_OK;
}

// Published figures belong in claims: an experiment describes a computation, not results obtained
// elsewhere.
status field_read_published(experiment_reading *r, const yaml_node *node, yaml_node **resolved) {
    (void)resolved;
    if (!node) return STATUS_OK;
    return yaml_error(node, r->err,
                      "'published': published figures belong in a claim: a row of claim.yaml with "
                      "'experiment: %s' (docs/formats.md, Claims)",
                      r->e->name ? r->e->name : "NAME");
}
