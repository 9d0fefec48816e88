#include "train/run_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"

// A collection on one line, as people write it: {kind: sgd, lr: 0.1}.
static status flow_text(const yaml_node *value, char **text, error *err) {
    size_t bytes;
    yaml_node *flow = yaml_copy(value, err);
    if (!flow) return STATUS_FAILED;
    flow->flow = true;
    status rc = yaml_write_text(flow, text, &bytes, err);
    yaml_free(flow);
    while (rc == STATUS_OK && bytes && (*text)[bytes - 1] == '\n') (*text)[--bytes] = 0;
    return rc;
}

static status value_text(const yaml_node *value, char **text, error *err) {
    if (value && value->kind != YAML_SCALAR) return flow_text(value, text, err);
    if (value && value->quoted) return json_from_yaml(value, text, err);
    *text = memory_string(value ? value->text : "null", err);
    return *text ? STATUS_OK : STATUS_FAILED;
}

status plan_assignment(const char *key, const yaml_node *value, char **assignment, error *err) {
    char *text;
    *assignment = NULL;
    status rc = value_text(value, &text, err);
    if (rc != STATUS_OK) return rc;
    *assignment = memory_format(err, "%s=%s", key, text);
    free(text);
    return *assignment ? STATUS_OK : STATUS_FAILED;
}

status plan_new(const char *kind, const char *experiment, yaml_node **plan, error *err) {
    status rc = STATUS_FAILED;
    *plan = yaml_new(YAML_MAPPING, err);
    if (!*plan) return rc;
    TRY(yaml_put(*plan, "schema", yaml_new_string("lockstep.plan/1", err), err));
    TRY(yaml_put(*plan, "kind", yaml_new_string(kind, err), err));
    TRY(yaml_put(*plan, "experiment", yaml_new_string(experiment, err), err));
out:
    if (rc != STATUS_OK) {
        yaml_free(*plan);
        *plan = NULL;
    }
    return rc;
}

status plan_add_run(yaml_node *plan, const char *name, yaml_node **run, error *err) {
    status rc = STATUS_OK;
    if (!yaml_find(plan, "runs")) TRY(yaml_put(plan, "runs", yaml_new(YAML_SEQUENCE, err), err));
    yaml_node *made = yaml_new(YAML_MAPPING, err);
    TRY(yaml_append((yaml_node *)yaml_find(plan, "runs"), made, err));
    TRY(yaml_put(made, "name", yaml_new_string(name, err), err));
    TRY(yaml_put(made, "set", yaml_new(YAML_SEQUENCE, err), err));
    *run = made;
out:
    return rc;
}

status plan_add_set(yaml_node *run, const char *assignment, error *err) {
    return yaml_append((yaml_node *)yaml_find(run, "set"), yaml_new_string(assignment, err), err);
}

// ---- Lines ----

// Appends `word` to the text that *line holds.
static status append(char **line, const char *separator, const char *word, error *err) {
    char *longer = memory_format(err, "%s%s%s", *line, separator, word);
    if (!longer) return STATUS_FAILED;
    free(*line);
    *line = longer;
    return STATUS_OK;
}

status plan_lines(const yaml_node *plan, char **lines, error *err) {
    const yaml_node *runs = yaml_find(plan, "runs"), *file = yaml_find(plan, "experiment");
    status rc = STATUS_OK;
    *lines = memory_string("", err);
    if (!*lines) return STATUS_FAILED;
    for (size_t i = 0; i < runs->count; i++) {
        const yaml_node *set = yaml_find(runs->items[i], "set");
        TRY(append(lines, "", yaml_find(runs->items[i], "name")->text, err));
        TRY(append(lines, "\t", file->text, err));
        for (size_t k = 0; k < set->count; k++) TRY(append(lines, "\t", set->items[k]->text, err));
        TRY(append(lines, "\n", "", err));
    }
out:
    if (rc != STATUS_OK) {
        free(*lines);
        *lines = NULL;
    }
    return rc;
}
