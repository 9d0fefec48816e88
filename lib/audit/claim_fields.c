// SPDX-License-Identifier: MIT
#include "audit/claim_fields.h"

#include <stdio.h>
#include <string.h>

#include "base/spelling.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

// The limits keep an audit fast, as checks compare all rows and statements with each other.
enum { MAX_ITEMS = 1000, MAX_LINE = 120 };

#define FIGURE(unit) STATED_IN(PRINTED_##unit)

// ---- Keys --------------------------------------------------------------------------------------

static const struct quantity_info {
    const char *key;
    stated_kind kind;
    double min;
    bool above; // the value must be greater than min
} quantities[QUANTITIES] = {
    [QUANTITY_BATCH] = {"batch", STATED_COUNT, 1, false},
    [QUANTITY_GLOBAL_BATCH] = {"global_batch", STATED_COUNT, 1, false},
    [QUANTITY_SAMPLES] = {"samples", STATED_COUNT, 1, false},
    [QUANTITY_EPOCHS] = {"epochs", STATED_SETTING, 0, true},
    [QUANTITY_LR] = {"lr", STATED_SETTING, 0, true},
    [QUANTITY_DEVICES] = {"devices", STATED_COUNT, 1, false},
    [QUANTITY_LOADER_WORKERS] = {"loader_workers", STATED_COUNT, 0, false},
    [QUANTITY_TEST_SAMPLES] = {"test_samples", STATED_COUNT, 1, false},
    [QUANTITY_REPEATS] = {"repeats", STATED_COUNT, 1, false},
    [QUANTITY_TOTAL_SECONDS] = {"total_seconds", FIGURE(SECONDS), 0, true},
    [QUANTITY_SECONDS_PER_EPOCH] = {"seconds_per_epoch", FIGURE(SECONDS), 0, true},
    [QUANTITY_IMAGES_PER_SECOND] = {"images_per_second", FIGURE(IMAGE_RATE), 0, true},
    [QUANTITY_BATCH_MS] = {"batch_ms", FIGURE(MS), 0, true},
    [QUANTITY_LOAD_SECONDS] = {"load_seconds_per_step", FIGURE(SECONDS), 0, false},
    [QUANTITY_UPDATE_SECONDS] = {"update_seconds_per_step", FIGURE(SECONDS), 0, false},
    [QUANTITY_OTHER_SECONDS] = {"other_seconds", FIGURE(SECONDS), 0, false},
    [QUANTITY_ACCURACY] = {"accuracy", FIGURE(PERCENT), 0, false},
    [QUANTITY_TRAIN_LOSS] = {"train_loss", STATED_FIGURE, 0, false},
    [QUANTITY_SPEED_UP] = {"speed_up", FIGURE(TIMES), 0, true},
    [QUANTITY_EFFICIENCY] = {"efficiency", FIGURE(PERCENT), 0, true},
    [QUANTITY_BY_PERCENT] = {"by_percent", FIGURE(PERCENT), 0, false},
    [QUANTITY_RATIO] = {"ratio", FIGURE(TIMES), 0, true},
    [QUANTITY_POINTS] = {"points", FIGURE(PERCENT), -100, false},
    [QUANTITY_MS] = {"ms", FIGURE(MS), 0, false},
    [QUANTITY_COMMUNICATION_MS] = {"communication_ms", FIGURE(MS), 0, false},
    [QUANTITY_NEEDS_DEVICES] = {"needs_devices", STATED_COUNT, 1, false},
};

// Other keys of a row's quantities, and how they state them. A throughput is one of images or, by
// its unit, of batches.
static const struct {
    const char *key;
    quantity of;
    stated_kind kind;
    bool needs_unit;
} others[] = {
    {"error", QUANTITY_ACCURACY, FIGURE(ERROR), false},
    {"samples_per_second", QUANTITY_IMAGES_PER_SECOND, FIGURE(IMAGE_RATE), false},
    {"iterations_per_second", QUANTITY_BATCH_MS, FIGURE(BATCH_RATE), false},
    {"steps_per_second", QUANTITY_BATCH_MS, FIGURE(BATCH_RATE), false},
    {"batches_per_second", QUANTITY_BATCH_MS, FIGURE(BATCH_RATE), false},
    {"throughput", QUANTITY_IMAGES_PER_SECOND, FIGURE(IMAGE_RATE), true},
};

static const char *const labels[LABELS] = {"strategy", "dataset",   "model", "optimizer",
                                           "augment",  "precision", "device"};
static const struct {
    const char *key;
    stated_kind kind;
} series_keys[SERIES_KINDS] = {
    [SERIES_EPOCH_SECONDS] = {"epoch_seconds", FIGURE(SECONDS)},
    [SERIES_EPOCH_LOSSES] = {"epoch_losses", STATED_FIGURE},
    [SERIES_CLASS_ACCURACIES] = {"class_accuracies", FIGURE(PERCENT)},
    [SERIES_CLASS_SAMPLES] = {"class_samples", STATED_COUNT},
    [SERIES_UTILIZATION] = {"utilization", FIGURE(PERCENT)},
};
// The topics that are not keys of a row.
static const char *const topics[] = {"time", "measured", "source", "communication", "code"};
static const char *const strategies[] = {"single", "dp", "ddp", "mp"};

#define BIT(q) QUANTITY_BIT(QUANTITY_##q)
#define TIME_FIGURES \
    (BIT(TOTAL_SECONDS) | BIT(SECONDS_PER_EPOCH) | BIT(IMAGES_PER_SECOND) | BIT(BATCH_MS))

#define FIGURES (TIME_FIGURES | BIT(ACCURACY) | BIT(TRAIN_LOSS))

_Static_assert(QUANTITIES <= 32 && TOPICS <= 64, "sets of both are integers");
_Static_assert(COUNT(others) <= RESTATED_MOST, "each may state a quantity again");

const statement_info statement_infos[STATEMENT_KINDS] = {
    [STATEMENT_SLOWER] = {"slower", BIT(BY_PERCENT) | BIT(RATIO), 0, true, true, true},
    [STATEMENT_FASTER] = {"faster", BIT(BY_PERCENT) | BIT(RATIO), 0, true, true, true},
    [STATEMENT_SPEEDUP] = {"speedup", BIT(RATIO), BIT(RATIO), true, true, true},
    [STATEMENT_DIFFERENCE] = {"difference", FIGURES, 0, true, true, false},
    [STATEMENT_ACCURACY_DIFFERENCE] = {"accuracy_difference", BIT(POINTS), 0, true, true, false},
    [STATEMENT_SAME_ACCURACY] = {"same_accuracy", 0, 0, true, true, false},
    [STATEMENT_LOAD_TO_UPDATE] = {"load_to_update", BIT(RATIO), BIT(RATIO), true, false, false},
    [STATEMENT_OVERHEAD] = {"overhead", BIT(MS), BIT(MS), true, true, false},
    [STATEMENT_PART] = {"part", BIT(MS), BIT(MS), true, true, false},
    [STATEMENT_PROJECTION] = {"projection",
                              TIME_FIGURES | BIT(RATIO) | BIT(DEVICES) | BIT(COMMUNICATION_MS),
                              BIT(DEVICES), true, false, false},
    [STATEMENT_EFFECTIVE_BATCH] = {"effective_batch", BIT(BATCH), 0, true, false, false},
    [STATEMENT_CODE] = {"code", OF_ROWS | BIT(NEEDS_DEVICES), 0, false, false, false},
    [STATEMENT_SAYS] = {"says", 0, 0, false, false, false},
};

const quantity time_bases[TIME_BASES] = {QUANTITY_TOTAL_SECONDS, QUANTITY_SECONDS_PER_EPOCH,
                                         QUANTITY_IMAGES_PER_SECOND, QUANTITY_BATCH_MS};

const char *quantity_key(quantity q) {
    return quantities[q].key;
}

const char *label_key(claim_label l) {
    return labels[l];
}

const char *statement_name(statement_kind k) {
    return statement_infos[k].name;
}

void field_add_keys(key_list *list, const char *const *keys, size_t count) {
    for (size_t i = 0; i < count; i++) list->keys[list->count++] = keys[i];
}

// Statements of differences and projections have only the quantities' own keys.
static bool has_others(unsigned set) {
    return (set & OF_ROWS) == OF_ROWS;
}

void field_add_quantities(key_list *list, unsigned set) {
    for (int q = 0; q < QUANTITIES; q++)
        if (set >> q & 1u) list->keys[list->count++] = quantities[q].key;
    for (size_t i = 0; has_others(set) && i < COUNT(others); i++)
        list->keys[list->count++] = others[i].key;
}

// ---- Values ------------------------------------------------------------------------------------

status field_word(const yaml_node *node, const char *key, const char *const *words, size_t count,
                  size_t *index, error *err) {
    const char *word;
    NEED(yaml_string(node, key, &word, err));
    for (*index = 0; *index < count; ++*index)
        if (!strcmp(word, words[*index])) return STATUS_OK;
    const char *near = spelling_nearest(word, words, count);
    char expected[160] = "";
    for (size_t i = 0; i < count; i++) {
        strncat(expected, i ? ", " : "", sizeof expected - strlen(expected) - 1);
        strncat(expected, words[i], sizeof expected - strlen(expected) - 1);
    }
    return yaml_error(node, err, "'%s': expected one of %s, got '%.60s'%s%s%s", key, expected, word,
                      near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

status field_source(const yaml_node *mapping, claim_source *source, error *err) {
    const char *word = NULL;
    status rc = field_text(mapping, "source", &word, err);
    if (rc == STATUS_OK && word) *source = strcmp(word, "none") ? SOURCE_NAMED : SOURCE_NONE;
    return rc;
}

status field_list(const yaml_node *node, const char *key, size_t min, error *err) {
    if (node->kind != YAML_SEQUENCE || node->count < min)
        return yaml_error(node, err, "'%s': expected a list%s", key,
                          min ? " that is not empty" : "");
    if (node->count > MAX_ITEMS)
        return yaml_error(node, err, "'%s': expected at most %d items, got %zu", key, MAX_ITEMS,
                          node->count);
    return STATUS_OK;
}

status field_text(const yaml_node *mapping, const char *key, const char **text, error *err) {
    const yaml_node *node = yaml_find(mapping, key);
    return node ? yaml_string(node, key, text, err) : STATUS_OK;
}

// "(error 8.27 = 91.73)", "(12.5 it/s = 80)".
static void explain_other(stated *s, const yaml_node *node, stated_kind kind) {
    char as_printed[STATED_TEXT_BYTES];
    const bool list = node->kind != YAML_SCALAR, batches = kind == FIGURE(BATCH_RATE);
    if (kind == FIGURE(IMAGE_RATE) || list) return;
    snprintf(as_printed, sizeof as_printed, "%s%s%s", batches ? "" : "error ", node->text,
             batches && !s->has_unit ? " it/s" : "");
    stated_explain(s, as_printed, s->range);
}

// Reads a quantity that is stated by another key. `given`: the quantities of the mapping so far.
static status read_other(const yaml_node *node, size_t i, unsigned *given, stated *values,
                         restated *again, error *err) {
    const char *key = others[i].key;
    quantity of = others[i].of;
    stated_kind kind = others[i].kind;
    printed_figure p;
    stated s;
    if (others[i].needs_unit && node->kind == YAML_SCALAR &&
        printed_read(node->text, PRINTED_BATCH_RATE, &p) && p.has_unit) {
        of = QUANTITY_BATCH_MS;
        kind = FIGURE(BATCH_RATE);
    }
    NEED(stated_read(node, key, kind, quantities[of].min, quantities[of].above, &s, err));
    if (others[i].needs_unit && !s.has_unit)
        return yaml_error(node, err, "'%s': its unit is missing: write %s images/s or %s it/s", key,
                          node->text ? node->text : "332", node->text ? node->text : "12");
    if (kind == FIGURE(ERROR) && s.value > 100)
        return yaml_error(node, err, "'%s': expected percent, got %s", key, node->text);
    explain_other(&s, node, kind);
    if (!(*given & QUANTITY_BIT(of))) {
        values[of] = s;
    } else if (again) {
        again->of[again->count] = of;
        again->values[again->count++] = s;
    } else
        return yaml_error(node, err, "'%s': '%s' is stated by another key, too: leave one", key,
                          quantities[of].key);
    *given |= QUANTITY_BIT(of);
    return STATUS_OK;
}

// Do the keys of the mapping state one of the quantities that were stated several times before?
static bool states_anew(const yaml_node *mapping, const restated *again) {
    bool found = false;
    for (size_t i = 0; i < again->count; i++) {
        found = found || yaml_find(mapping, quantities[again->of[i]].key);
        for (size_t k = 0; k < COUNT(others); k++)
            found = found || (others[k].of == again->of[i] && yaml_find(mapping, others[k].key));
    }
    return found;
}

status field_quantities(const yaml_node *mapping, unsigned set, bool any, stated *values,
                        restated *again, error *err) {
    unsigned given = 0;
    status rc = STATUS_OK;
    if (again && states_anew(mapping, again)) again->count = 0;
    for (int q = 0; q < QUANTITIES && rc == STATUS_OK; q++) {
        const struct quantity_info *info = &quantities[q];
        const yaml_node *node = set >> q & 1u ? yaml_find(mapping, info->key) : NULL;
        if (!node) continue;
        rc = stated_read(node, info->key, info->kind, any ? -1e15 : info->min, !any && info->above,
                         &values[q], err);
        given |= QUANTITY_BIT(q);
    }
    for (size_t i = 0; has_others(set) && i < COUNT(others) && rc == STATUS_OK; i++) {
        const yaml_node *node = yaml_find(mapping, others[i].key);
        if (node) rc = read_other(node, i, &given, values, again, err);
    }
    return rc;
}

status field_line(const yaml_node *node, const char *key, const char **line, error *err) {
    const yaml_type type = node->kind == YAML_SCALAR ? yaml_scalar_type(node) : YAML_NULL;
    status rc = STATUS_OK;
    *line = node->text;
    if (type != YAML_INTEGER && type != YAML_NUMBER) rc = yaml_string(node, key, line, err);
    if (rc != STATUS_OK) return rc;
    bool good = **line && strlen(*line) <= MAX_LINE;
    for (const char *p = *line; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127) good = false;
    return good ? STATUS_OK
                : yaml_error(node, err, "'%s': expected one line of at most %d bytes", key,
                             MAX_LINE);
}

status field_name(const yaml_node *mapping, const char *key, bool required, const char **name,
                  error *err) {
    const yaml_node *node = yaml_find(mapping, key);
    if (!node) return required ? yaml_error(mapping, err, "'%s' is missing", key) : STATUS_OK;
    return field_line(node, key, name, err);
}

status field_labels(const yaml_node *mapping, const char **row_labels, error *err) {
    status rc = STATUS_OK;
    for (int l = 0; l < LABELS && rc == STATUS_OK; l++) {
        const yaml_node *node = yaml_find(mapping, labels[l]);
        size_t ignored;
        if (!node) continue;
        rc = l == LABEL_STRATEGY
                 ? field_word(node, labels[l], strategies, COUNT(strategies), &ignored, err)
                 : field_line(node, labels[l], &row_labels[l], err);
        if (rc == STATUS_OK) row_labels[l] = node->text;
    }
    return rc;
}

status field_basis(const yaml_node *mapping, quantity *basis, error *err) {
    const char *words[TIME_BASES];
    size_t index = 0;
    for (size_t i = 0; i < TIME_BASES; i++) words[i] = quantities[time_bases[i]].key;
    const yaml_node *node = yaml_find(mapping, "basis");
    *basis = QUANTITIES;
    if (!node) return STATUS_OK;
    status rc = field_word(node, "basis", words, TIME_BASES, &index, err);
    if (rc == STATUS_OK) *basis = time_bases[index];
    return rc;
}

status field_kind(const yaml_node *mapping, statement_kind *kind, error *err) {
    const yaml_node *node = mapping->kind == YAML_MAPPING ? yaml_find(mapping, "kind") : NULL;
    const char *names[STATEMENT_KINDS];
    size_t index = 0;
    if (!node) return yaml_error(mapping, err, "a statement's 'kind' is missing");
    for (size_t i = 0; i < STATEMENT_KINDS; i++) names[i] = statement_infos[i].name;
    status rc = field_word(node, "kind", names, STATEMENT_KINDS, &index, err);
    *kind = (statement_kind)index;
    return rc;
}

status field_topics(const yaml_node *mapping, uint64_t *set, error *err) {
    const yaml_node *node = yaml_find(mapping, "about");
    const char *words[TOPICS];
    if (!node) return yaml_error(mapping, err, "'about' is missing");
    for (int q = 0; q < QUANTITIES; q++) words[q] = quantities[q].key;
    for (int l = 0; l < LABELS; l++) words[LABEL_TOPIC(l)] = labels[l];
    for (int t = TOPIC_TIME; t < TOPICS; t++) words[t] = topics[t - TOPIC_TIME];
    const bool list = node->kind == YAML_SEQUENCE;
    if (list) NEED(field_list(node, "about", 1, err));
    for (size_t i = 0; i < (list ? node->count : 1); i++) {
        size_t index;
        NEED(field_word(list ? node->items[i] : node, "about", words, TOPICS, &index, err));
        *set |= UINT64_C(1) << index;
    }
    return STATUS_OK;
}

void field_add_row(key_list *list) {
    field_add_quantities(list, OF_ROWS);
    field_add_keys(list, labels, COUNT(labels));
    for (int k = 0; k < SERIES_KINDS; k++) list->keys[list->count++] = series_keys[k].key;
}

const char *series_key(claim_series kind) {
    return series_keys[kind].key;
}

status field_item(const yaml_node *node, claim_series kind, stated *item, error *err) {
    return stated_read(node, series_keys[kind].key, series_keys[kind].kind, 0, false, item, err);
}
