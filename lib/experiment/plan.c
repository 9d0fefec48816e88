// SPDX-License-Identifier: MIT
#include "experiment/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "experiment/lookup.h"

// Writes a collection on one line, as people do: {kind: sgd, lr: 0.1}.
static char *flow_text(const yaml_node *value) {
    char *line;
    size_t bytes = 0;
    yaml_node *flow = yaml_copy(value);
    flow->flow = true;
    // It fails only for bytes that are not UTF-8, which no file has that was read.
    if (yaml_write_text(flow, &line, &bytes, NULL) != STATUS_OK) line = json_from_yaml(value);
    yaml_free(flow);
    while (bytes && line[bytes - 1] == '\n') line[--bytes] = 0;
    return line;
}

char *plan_value_text(const yaml_node *value) {
    if (!value) return memory_string("null");
    if (value->kind != YAML_SCALAR) return flow_text(value);
    return value->quoted ? json_from_yaml(value) : memory_string(value->text);
}

char *plan_assignment(const char *key, const yaml_node *value) {
    char *written = plan_value_text(value), *assignment = memory_format("%s=%s", key, written);
    free(written);
    return assignment;
}

yaml_node *plan_new(const char *kind, const char *file) {
    yaml_node *plan = yaml_new(YAML_MAPPING);
    yaml_put(plan, "schema", yaml_new_string("lockstep.plan/1"));
    yaml_put(plan, "kind", yaml_new_string(kind));
    if (file) yaml_put(plan, "experiment", yaml_new_string(file));
    return plan;
}

yaml_node *plan_add_run(yaml_node *plan, const char *name) {
    if (!yaml_find(plan, "runs")) yaml_put(plan, "runs", yaml_new(YAML_SEQUENCE));
    yaml_node *run = yaml_new(YAML_MAPPING);
    yaml_append((yaml_node *)yaml_find(plan, "runs"), run);
    yaml_put(run, "name", yaml_new_string(name));
    yaml_put(run, "set", yaml_new(YAML_SEQUENCE));
    return run;
}

void plan_add_set(yaml_node *run, const char *assignment) {
    yaml_append((yaml_node *)yaml_find(run, "set"), yaml_new_string(assignment));
}

void plan_add_value(yaml_node *run, const char *key, const yaml_node *value) {
    char *assignment = plan_assignment(key, value);
    plan_add_set(run, assignment);
    free(assignment);
}

void plan_add_mapping(yaml_node *run, const yaml_node *mapping) {
    for (size_t i = 0; mapping && i < mapping->count; i++)
        plan_add_value(run, mapping->keys[i], mapping->items[i]);
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

char *plan_lines(const yaml_node *plan) {
    text lines = {0};
    const yaml_node *runs = yaml_find(plan, "runs");
    const char *first = strcmp(yaml_find(plan, "kind")->text, "reproduction") ? "name" : "folder";
    for (size_t i = 0; i < runs->count; i++) {
        const yaml_node *one = runs->items[i], *set = yaml_find(one, "set");
        const yaml_node *file = yaml_find(one, "experiment");
        if (!file) file = yaml_find(plan, "experiment");
        text_format(&lines, "%s\t%s", yaml_find(one, first)->text, file->text);
        for (size_t k = 0; k < set->count; k++) text_format(&lines, "\t%s", set->items[k]->text);
        text_append(&lines, "\n");
    }
    return text_take(&lines);
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
    plan_add_mapping(trial, quick);
    status rc = plan_experiment(file, yaml_find(trial, "set"), &e, &local);
    experiment_release(&e);
    if (rc == STATUS_OK) return rc;
    const yaml_node *fault = plan_quick_fault(quick, before, &local);
    return fault ? yaml_error(fault, err, "run '%s': %s", name, error_reason(&local))
                 : yaml_error(quick, err, "run '%s': %s", name, local.message);
}
