// SPDX-License-Identifier: MIT
#include "experiment/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "experiment/lookup.h"

// Writes a collection on one line, as people do: {kind: sgd, lr: 0.1}.
static status flow_text(const yaml_node *value, char **text, error *err) {
    size_t bytes;
    yaml_node *flow = yaml_copy(value);
    flow->flow = true;
    status rc = yaml_write_text(flow, text, &bytes, err);
    yaml_free(flow);
    while (rc == STATUS_OK && bytes && (*text)[bytes - 1] == '\n') (*text)[--bytes] = 0;
    return rc;
}

static status value_text(const yaml_node *value, char **text, error *err) {
    if (value && value->kind != YAML_SCALAR) return flow_text(value, text, err);
    *text = value && value->quoted ? json_from_yaml(value)
                                   : memory_string(value ? value->text : "null");
    return STATUS_OK;
}

status plan_assignment(const char *key, const yaml_node *value, char **assignment, error *err) {
    char *text;
    *assignment = NULL;
    NEED(value_text(value, &text, err));
    *assignment = memory_format("%s=%s", key, text);
    free(text);
    return STATUS_OK;
}

void plan_new(const char *kind, const char *file, yaml_node **plan) {
    *plan = yaml_new(YAML_MAPPING);
    yaml_put(*plan, "schema", yaml_new_string("lockstep.plan/1"));
    yaml_put(*plan, "kind", yaml_new_string(kind));
    if (file) yaml_put(*plan, "experiment", yaml_new_string(file));
}

void plan_add_run(yaml_node *plan, const char *name, yaml_node **run) {
    if (!yaml_find(plan, "runs")) yaml_put(plan, "runs", yaml_new(YAML_SEQUENCE));
    yaml_node *made = yaml_new(YAML_MAPPING);
    yaml_append((yaml_node *)yaml_find(plan, "runs"), made);
    yaml_put(made, "name", yaml_new_string(name));
    yaml_put(made, "set", yaml_new(YAML_SEQUENCE));
    *run = made;
}

void plan_add_set(yaml_node *run, const char *assignment) {
    yaml_append((yaml_node *)yaml_find(run, "set"), yaml_new_string(assignment));
}

status plan_add_value(yaml_node *run, const char *key, const yaml_node *value, error *err) {
    char *assignment;
    status rc = plan_assignment(key, value, &assignment, err);
    if (rc == STATUS_OK) plan_add_set(run, assignment);
    free(assignment);
    return rc;
}

status plan_add_mapping(yaml_node *run, const yaml_node *mapping, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && mapping && i < mapping->count; i++)
        rc = plan_add_value(run, mapping->keys[i], mapping->items[i], err);
    return rc;
}

// ---- Files named in files ----

status plan_find(const char *from, const char *folder, const yaml_node *value, const char *key,
                 char **path, error *err) {
    const char *name;
    error local;
    *path = NULL;
    status rc = yaml_string(value, key, &name, err);
    if (rc != STATUS_OK) return rc;
    rc = lookup_run(from, folder, name, path, &local);
    if (rc == STATUS_INPUT) return yaml_error(value, err, "'%s': %s", key, local.message);
    return rc == STATUS_OK ? rc : error_pass(&local, err);
}

status plan_experiment(const char *file, const yaml_node *set, experiment *e, error *err) {
    const char **words = memory_new(set->count, sizeof *words);
    for (size_t i = 0; i < set->count; i++) words[i] = set->items[i]->text;
    status rc = experiment_read(e, file, words, set->count, err);
    free(words);
    return rc;
}

static status check_schema(const yaml_node *root, const char *expected, error *err) {
    const yaml_node *node = yaml_find(root, "schema");
    const char *schema;
    if (!node) return yaml_error(root, err, "'schema' is missing: add 'schema: %s'", expected);
    status rc = yaml_string(node, "schema", &schema, err);
    if (rc != STATUS_OK || strcmp(schema, expected) == 0) return rc;
    return yaml_error(node, err, "'schema': expected %s, got '%.60s'", expected, schema);
}

status plan_read_source(const char *path, const char *schema, const char *const *keys,
                        size_t key_count, yaml_node **root, error *err) {
    status rc = STATUS_OK;
    TRY(yaml_read_file(path, root, err));
    if ((*root)->kind != YAML_MAPPING)
        rc = yaml_error(*root, err, "expected a mapping: %s", schema);
    if (rc == STATUS_OK) rc = check_schema(*root, schema, err);
    if (rc == STATUS_OK) rc = yaml_check_keys(*root, keys, key_count, err);
out:
    if (rc != STATUS_OK) {
        yaml_free(*root);
        *root = NULL;
    }
    return rc;
}

// ---- Lines ----

// Appends `word` to the text that *line holds.
static void append(char **line, const char *separator, const char *word) {
    char *longer = memory_format("%s%s%s", *line, separator, word);
    free(*line);
    *line = longer;
}

void plan_lines(const yaml_node *plan, char **lines) {
    const yaml_node *runs = yaml_find(plan, "runs");
    const char *first = strcmp(yaml_find(plan, "kind")->text, "reproduction") ? "name" : "folder";
    *lines = memory_string("");
    for (size_t i = 0; i < runs->count; i++) {
        const yaml_node *one = runs->items[i], *set = yaml_find(one, "set");
        const yaml_node *file = yaml_find(one, "experiment");
        if (!file) file = yaml_find(plan, "experiment");
        append(lines, "", yaml_find(one, first)->text);
        append(lines, "\t", file->text);
        for (size_t k = 0; k < set->count; k++) append(lines, "\t", set->items[k]->text);
        append(lines, "\n", "");
    }
}

// ---- `quick` of a reproduction ----

const yaml_node *plan_quick_fault(const yaml_node *quick, size_t first, const error *why) {
    if (!quick || why->origin != ERROR_IN_ASSIGNMENT) return NULL;
    const size_t given = (size_t)why->assignment;
    return given >= first && given < first + quick->count ? quick->items[given - first] : NULL;
}

status plan_try_quick(yaml_node *trial, const yaml_node *quick, const char *file, const char *name,
                      error *err) {
    experiment e = {0};
    error local = {0};
    const size_t before = yaml_find(trial, "set")->count;
    if (!quick) return STATUS_OK;
    status rc = plan_add_mapping(trial, quick, err);
    if (rc != STATUS_OK) return rc;
    rc = plan_experiment(file, yaml_find(trial, "set"), &e, &local);
    experiment_release(&e);
    if (rc == STATUS_OK) return rc;
    const yaml_node *fault = plan_quick_fault(quick, before, &local);
    return fault ? yaml_error(fault, err, "run '%s': %s", name, error_reason(&local))
                 : yaml_error(quick, err, "run '%s': %s", name, local.message);
}
