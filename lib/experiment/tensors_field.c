// SPDX-License-Identifier: MIT
// Reads the settings of tensors: {PATTERN: {init, lr_factor, weight_decay, trained_epochs,
// frozen_epochs}}. In the resolved experiment they are a list, because the order of the patterns
// counts, and mappings have none. A list is read as well.
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/hint.h"
#include "base/memory.h"
#include "base/spelling.h"
#include "experiment/field_readers.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

// One pattern, and the tensors that begin as it says.
typedef struct entry {
    const char *pattern;
    const yaml_node *node; // its settings
} entry;

// ---- Patterns ----

static bool matches(const char *pattern, const model_tensor *t) {
    return fnmatch(pattern, t->name, 0) == 0;
}

// Reports that a pattern matches no trained tensor.
static status matches_none(const model *m, const entry *e, error *err) {
    const char *near = NULL;
    const char **names = memory_new((size_t)m->tensor_count, sizeof *names);
    size_t count = 0;
    for (int i = 0; i < m->tensor_count; i++) {
        const model_tensor *t = &m->tensors[i];
        if (!t->is_buffer) names[count++] = t->name;
        if (!t->is_buffer || strcmp(t->name, e->pattern) != 0) continue;
        free(names);
        return yaml_error(e->node, err,
                          "'tensors': '%s' is not trained: it holds running statistics", t->name);
    }
    near = spelling_nearest(e->pattern, names, count);
    free(names);
    return yaml_error(
        e->node, err, "'tensors': no trained tensor of model '%s' matches '%.140s'%s%s%s", m->name,
        e->pattern, near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

// ---- Settings ----

static status read_init(const yaml_node *node, init_kind *kind, error *err) {
    const char *words[INIT_KINDS], *word;
    char hint[HINT_BYTES];
    for (int k = 0; k < INIT_KINDS; k++) words[k] = init_kind_word((init_kind)k);
    NEED(yaml_string(node, "init", &word, err));
    for (int k = 0; k < INIT_KINDS; k++) {
        if (strcmp(word, words[k]) != 0) continue;
        *kind = (init_kind)k;
        return STATUS_OK;
    }
    return yaml_error(node, err,
                      "'init': expected one of default, kaiming_normal, kaiming_uniform, "
                      "xavier_uniform, zero, one, dirac, whiten, got '%.140s'%s",
                      word, hint_about(word, words, INIT_KINDS, HINT_FUNCTIONS, hint));
}

// The bounds are those of the optimizer's rate and decay, in single precision.
static status read_number(const yaml_node *node, const char *key, bool above, double *value,
                          error *err) {
    status rc = yaml_number(node, key, value, err);
    if (rc != STATUS_OK) return rc;
    const double least = above ? 0x1p-126 : 0;
    if (*value >= least && *value <= 1e6) return rc;
    return yaml_error(node, err, "'%s': expected a number %s 0 and at most 1e+06, got %.40s", key,
                      above ? "above" : "of at least", node->text);
}

static status read_epochs(const yaml_node *node, const char *key, int *epochs, yaml_node *out,
                          error *err) {
    int64_t count;
    status rc = yaml_integer(node, key, 0, MAX_EPOCHS, &count, err);
    if (rc != STATUS_OK) return rc;
    *epochs = (int)count;
    yaml_put(out, key, yaml_new_integer(count));
    return rc;
}

// Reads the settings of a pattern, in `s`, and writes those that are given to `out`.
static status read_settings(const entry *e, tensor_settings *s, yaml_node *out, error *err) {
    static const char *const keys[] = {"init", "lr_factor", "weight_decay", "trained_epochs",
                                       "frozen_epochs"};
    const yaml_node *init = yaml_find(e->node, "init"), *rate = yaml_find(e->node, "lr_factor");
    const yaml_node *decay = yaml_find(e->node, "weight_decay");
    const yaml_node *end = yaml_find(e->node, keys[3]), *first = yaml_find(e->node, keys[4]);
    NEED(yaml_check_keys(e->node, keys, COUNT(keys), err));
    if (e->node->count == 0)
        return yaml_error(e->node, err, "'tensors': '%.140s' sets nothing", e->pattern);
    if (init) {
        NEED(read_init(init, &s->init, err));
        yaml_put(out, keys[0], yaml_new_string(init_kind_word(s->init)));
    }
    if (rate) {
        NEED(read_number(rate, keys[1], true, &s->lr_factor, err));
        yaml_put(out, keys[1], yaml_new_number(s->lr_factor));
    }
    if (decay) {
        NEED(read_number(decay, keys[2], false, &s->weight_decay, err));
        yaml_put(out, keys[2], yaml_new_number(s->weight_decay));
    }
    if (end) NEED(read_epochs(end, keys[3], &s->trained_epochs, out, err));
    if (first) NEED(read_epochs(first, keys[4], &s->frozen_epochs, out, err));
    return STATUS_OK;
}

// Sets what a pattern gives to the tensors that it matches.
static status apply(experiment *e, const entry *one, const tensor_settings *given, error *err) {
    const bool init = yaml_find(one->node, "init"), rate = yaml_find(one->node, "lr_factor");
    const bool decay = yaml_find(one->node, "weight_decay");
    const bool end = yaml_find(one->node, "trained_epochs");
    const bool first = yaml_find(one->node, "frozen_epochs");
    bool any = false;
    for (int i = 0; i < e->model.tensor_count; i++) {
        const model_tensor *t = &e->model.tensors[i];
        tensor_settings *s = &e->tensors[i];
        if (t->is_buffer || !matches(one->pattern, t)) continue;
        any = true;
        if (init) s->init = given->init;
        if (rate) s->lr_factor = given->lr_factor;
        if (decay) s->weight_decay = given->weight_decay;
        s->has_weight_decay |= decay;
        if (end) s->trained_epochs = given->trained_epochs;
        if (first) s->frozen_epochs = given->frozen_epochs;
    }
    return any ? STATUS_OK : matches_none(&e->model, one, err);
}

// ---- All patterns ----

// Finds the entries of a mapping, or of a list of mappings of one key each.
static status list_entries(const yaml_node *node, entry list[EXPERIMENT_MAX_PATTERNS],
                           size_t *count, error *err) {
    *count = node->count;
    if (node->kind == YAML_SCALAR)
        return yaml_error(node, err, "'tensors': expected a mapping of patterns");
    if (node->count > EXPERIMENT_MAX_PATTERNS)
        return yaml_error(node, err, "'tensors': more than %d patterns",
                          (int)EXPERIMENT_MAX_PATTERNS);
    for (size_t i = 0; i < node->count; i++) {
        const yaml_node *item = node->items[i];
        const bool pair = node->kind == YAML_MAPPING;
        if (!pair && (item->kind != YAML_MAPPING || item->count != 1))
            return yaml_error(item, err, "'tensors': expected PATTERN: {...}");
        list[i] = pair ? (entry){node->keys[i], item} : (entry){item->keys[0], item->items[0]};
        if (list[i].node->kind != YAML_MAPPING)
            return yaml_error(list[i].node, err, "'tensors': '%.140s': expected a mapping",
                              list[i].pattern);
        if (strlen(list[i].pattern) >= EXPERIMENT_PATTERN_BYTES)
            return yaml_error(list[i].node, err,
                              "'tensors': '%.140s...': a pattern of more than %d bytes",
                              list[i].pattern, (int)EXPERIMENT_PATTERN_BYTES - 1);
        for (size_t k = 0; k < i; k++)
            if (strcmp(list[k].pattern, list[i].pattern) == 0)
                return yaml_error(list[i].node, err, "'tensors': '%.140s' is there twice",
                                  list[i].pattern);
    }
    return STATUS_OK;
}

static status read_entry(experiment_reading *r, const entry *one, yaml_node *resolved) {
    tensor_settings given = tensor_settings_default();
    yaml_node *item = field_new_flow(YAML_MAPPING);
    yaml_node *out = field_new_flow(YAML_MAPPING);
    yaml_append(resolved, item);
    yaml_put(item, one->pattern, out);
    NEED(read_settings(one, &given, out, r->err));
    return apply(r->e, one, &given, r->err);
}

// Checks the initial values once all patterns are known: a later one may replace those that do not
// suit a tensor. The message is about the last pattern that gives them.
static status check_inits(const experiment *e, const entry *list, size_t count, error *err) {
    for (int i = 0; i < e->model.tensor_count; i++) {
        const model_tensor *t = &e->model.tensors[i];
        const init_kind kind = e->tensors[i].init;
        const char *needs = t->is_buffer ? NULL : init_kind_needs(kind, &e->model, t);
        for (size_t k = count; needs && k-- > 0;) {
            const yaml_node *init = yaml_find(list[k].node, "init");
            if (init && matches(list[k].pattern, t))
                return yaml_error(init, err, "'init': '%s' cannot be for '%s': it needs %s",
                                  init_kind_word(kind), t->name, needs);
        }
    }
    return STATUS_OK;
}

status field_read_tensors(experiment_reading *r, const yaml_node *node, yaml_node **resolved) {
    experiment *e = r->e;
    entry list[EXPERIMENT_MAX_PATTERNS];
    size_t count;
    if (!node) return STATUS_OK;
    NEED(list_entries(node, list, &count, r->err));
    if (count == 0) return STATUS_OK;
    e->tensors = memory_new((size_t)e->model.tensor_count, sizeof *e->tensors);
    *resolved = yaml_new(YAML_SEQUENCE);
    for (int i = 0; i < e->model.tensor_count; i++) e->tensors[i] = tensor_settings_default();
    for (size_t i = 0; i < count; i++) NEED(read_entry(r, &list[i], *resolved));
    NEED(check_inits(e, list, count, r->err));
    NEED(parameter_groups_make(&e->parameter_groups, &e->model, e->tensors, r->err));
    if (e->parameter_groups.count > PARAMETER_GROUPS)
        return yaml_error(node, r->err,
                          "'tensors': more than %d groups of tensors that are trained "
                          "alike: there are %d",
                          (int)PARAMETER_GROUPS, e->parameter_groups.count);
    return STATUS_OK;
}
