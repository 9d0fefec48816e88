// SPDX-License-Identifier: MIT
#include "audit/claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/claim_fields.h"
#include "base/foreign_file.h"
#include "base/memory.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

// ---- Rows --------------------------------------------------------------------------------------

static status read_list(claim *c, const yaml_node *list, claim_series kind, stated_list *l,
                        error *err) {
    NEED(field_list(list, series_key(kind), 1, err));
    c->lists = memory_grow(c->lists, &c->list_capacity, c->list_count + 1, sizeof *c->lists);
    *l = (stated_list){memory_new(list->count, sizeof *l->items), list->count};
    c->lists[c->list_count++] = l->items;
    for (size_t i = 0; i < list->count; i++)
        NEED(field_item(list->items[i], kind, &l->items[i], err));
    return STATUS_OK;
}

static status read_series(claim *c, const yaml_node *mapping, claim_row *row, error *err) {
    status rc = STATUS_OK;
    for (int k = 0; k < SERIES_KINDS && rc == STATUS_OK; k++) {
        const yaml_node *list = yaml_find(mapping, series_key((claim_series)k));
        if (list) rc = read_list(c, list, (claim_series)k, &row->series[k], err);
    }
    return rc;
}

// The experiments that stand for the row: one name, or a list.
static status check_experiments(const yaml_node *node, error *err) {
    const char *ignored;
    if (!node) return STATUS_OK;
    if (node->kind == YAML_SCALAR) return field_line(node, "experiment", &ignored, err);
    status rc = field_list(node, "experiment", 1, err);
    for (size_t i = 0; rc == STATUS_OK && i < node->count; i++)
        rc = field_line(node->items[i], "experiment", &ignored, err);
    return rc;
}

// Converts a fraction of at most `most` to percent.
static void fraction_to_percent(const yaml_node *node, stated *accuracy, double most) {
    if (accuracy->value <= most && !accuracy->has_unit) {
        char as_printed[STATED_TEXT_BYTES];
        snprintf(as_printed, sizeof as_printed, "%s",
                 node->kind == YAML_SCALAR ? node->text : accuracy->text);
        accuracy->value *= 100;
        accuracy->range.low *= 100;
        accuracy->range.high *= 100;
        stated_explain(accuracy, as_printed, accuracy->range);
    }
}

static status check_percent(const yaml_node *node, const char *key, const char *forms,
                            const stated *s, error *err) {
    if (!s->given || s->value <= 100) return STATUS_OK;
    return yaml_error(node, err, "'%s': expected %s, got %s", key, forms, s->text);
}

static status read_accuracy(const yaml_node *node, stated *accuracy, error *err) {
    if (accuracy->given) fraction_to_percent(node, accuracy, 1);
    return check_percent(node, "accuracy", "percent, or a fraction", accuracy, err);
}

// Each is a percentage. Accuracies of classes are fractions if all of them are at most 1.
static status check_percents(const yaml_node *mapping, claim_series kind, stated_list *l,
                             error *err) {
    const yaml_node *list = yaml_find(mapping, series_key(kind));
    bool fractions = kind == SERIES_CLASS_ACCURACIES;
    status rc = STATUS_OK;
    for (size_t i = 0; list && i < l->count; i++)
        fractions = fractions && l->items[i].value <= 1 && !l->items[i].has_unit;
    for (size_t i = 0; rc == STATUS_OK && list && i < l->count; i++) {
        if (fractions) fraction_to_percent(list->items[i], &l->items[i], 1);
        rc = check_percent(list->items[i], series_key(kind), "percent, at most 100", &l->items[i],
                           err);
    }
    return rc;
}

// Lists of other lengths could not be checked against each other.
static status check_classes(const yaml_node *mapping, const claim_row *row, error *err) {
    const size_t accuracies = row->series[SERIES_CLASS_ACCURACIES].count;
    const size_t samples = row->series[SERIES_CLASS_SAMPLES].count;
    if (!accuracies || !samples || accuracies == samples) return STATUS_OK;
    return yaml_error(mapping, err, "'class_accuracies' has %zu figures, 'class_samples' %zu",
                      accuracies, samples);
}

// Reads the values in `mapping` into `row`, over those already there.
static status read_row_values(claim *c, const yaml_node *mapping, claim_row *row, error *err) {
    static const char *const others[] = {"name", "where",      "measured", "source",
                                         "note", "experiment", "over"};
    const yaml_node *measured = yaml_find(mapping, "measured");
    const char *ignored;
    key_list known = {0};
    field_add_keys(&known, others, COUNT(others));
    field_add_row(&known);
    NEED(yaml_check_keys(mapping, known.keys, known.count, err));
    NEED(field_quantities(mapping, OF_ROWS, false, row->values, &row->again, err));
    NEED(read_series(c, mapping, row, err));
    NEED(field_name(mapping, "where", false, &row->where, err));
    NEED(check_experiments(yaml_find(mapping, "experiment"), err));
    if (yaml_find(mapping, "accuracy"))
        NEED(read_accuracy(yaml_find(mapping, "accuracy"), &row->values[QUANTITY_ACCURACY], err));
    if (yaml_find(mapping, "efficiency")) // which may be above 1
        fraction_to_percent(yaml_find(mapping, "efficiency"), &row->values[QUANTITY_EFFICIENCY], 2);
    NEED(check_percents(mapping, SERIES_CLASS_ACCURACIES, &row->series[SERIES_CLASS_ACCURACIES],
                        err));
    NEED(check_percents(mapping, SERIES_UTILIZATION, &row->series[SERIES_UTILIZATION], err));
    NEED(check_classes(mapping, row, err));
    NEED(field_labels(mapping, row->labels, err));
    NEED(field_source(mapping, &row->source, err));
    NEED(field_text(mapping, "note", &ignored, err));
    if (measured) NEED(yaml_boolean(measured, "measured", &row->measured, err));
    return STATUS_OK;
}

// A throughput of each device becomes that of all. `node` is the row's, for the message.
static status count_devices(const yaml_node *node, claim_row *row, error *err) {
    stated *rate = &row->values[QUANTITY_IMAGES_PER_SECOND];
    const stated *devices = &row->values[QUANTITY_DEVICES];
    for (size_t i = 0; i < 1 + row->again.count; i++, rate = &row->again.values[i - 1]) {
        if (!rate->given || !rate->per_device) continue;
        if (!devices->given)
            return yaml_error(
                node, err, "'%.60s': its throughput is that of each device: 'devices' is missing",
                row->name);
        stated_of_all(rate, devices);
    }
    return STATUS_OK;
}

static const claim_row *find_row(const claim *c, const char *name) {
    for (size_t i = 0; i < c->row_count; i++)
        if (!strcmp(c->rows[i].name, name)) return &c->rows[i];
    return NULL;
}

static status read_rows(claim *c, error *err) {
    const yaml_node *list = yaml_find(c->root, "rows"), *common = yaml_find(c->root, "common");
    claim_row shared = {.where = "", .measured = true};
    if (!list) return yaml_error(c->root, err, "'rows' is missing");
    NEED(field_list(list, "rows", 1, err));
    if (common) NEED(read_row_values(c, common, &shared, err));
    if (common && yaml_find(common, "name"))
        return yaml_error(yaml_find(common, "name"), err,
                          "'common': a name cannot be common to all rows");
    c->rows = memory_new(list->count, sizeof *c->rows);
    for (size_t i = 0; i < list->count; i++) {
        claim_row row = shared;
        NEED(read_row_values(c, list->items[i], &row, err));
        NEED(field_name(list->items[i], "name", true, &row.name, err));
        if (find_row(c, row.name))
            return yaml_error(list->items[i], err, "two rows are called '%.60s'", row.name);
        NEED(count_devices(list->items[i], &row, err));
        c->rows[c->row_count++] = row;
    }
    return STATUS_OK;
}

// ---- Statements --------------------------------------------------------------------------------

static status check_statement_keys(const yaml_node *mapping, const statement_info *info,
                                   error *err) {
    static const char *const others[] = {"kind", "of", "where", "source", "note"};
    key_list known = {0};
    field_add_keys(&known, others, COUNT(others));
    if (info == &statement_infos[STATEMENT_SAYS]) known.keys[known.count++] = "about";
    if (info->than || info == &statement_infos[STATEMENT_SAYS] ||
        info->may & QUANTITY_BIT(QUANTITY_RATIO))
        known.keys[known.count++] = "than";
    if (info->basis) known.keys[known.count++] = "basis";
    field_add_quantities(&known, info->may);
    return yaml_check_keys(mapping, known.keys, known.count, err);
}

static status check_given(const yaml_node *mapping, const claim_statement *s, error *err) {
    unsigned must = statement_infos[s->kind].must, given = 0;
    for (int q = 0; q < QUANTITIES; q++) {
        if (s->values[q].given) given |= 1u << q;
        if (must >> q & 1u && !s->values[q].given)
            return yaml_error(mapping, err, "'%s' is missing: a statement of kind '%s' needs it",
                              quantity_key((quantity)q), statement_infos[s->kind].name);
    }
    if ((s->kind == STATEMENT_CODE || s->kind == STATEMENT_DIFFERENCE) && !given)
        return yaml_error(mapping, err, "a statement of kind '%s' needs a figure",
                          statement_infos[s->kind].name);
    if ((given & QUANTITY_BIT(QUANTITY_BY_PERCENT)) && (given & QUANTITY_BIT(QUANTITY_RATIO)))
        return yaml_error(mapping, err, "'by_percent' and 'ratio': expected only one of them");
    return STATUS_OK;
}

static status find_rows(const claim *c, const yaml_node *node, claim_statement *s, error *err) {
    if (s->of_name) s->of = find_row(c, s->of_name);
    if (s->than_name) s->than = find_row(c, s->than_name);
    if (s->of && s->of == s->than)
        return yaml_error(node, err, "'of' and 'than': expected two rows, got '%.60s' twice",
                          s->of_name);
    return STATUS_OK;
}

static void add_statement(claim *c, const claim_statement *s) {
    c->statements =
        memory_grow(c->statements, &c->statement_capacity, c->statement_count + 1, sizeof *s);
    c->statements[c->statement_count++] = *s;
}

// `of: [a, b, c]`: one statement per row, or per pair if the statement compares two rows.
static status add_list(claim *c, const yaml_node *node, claim_statement *s, bool pairs,
                       error *err) {
    const yaml_node *list = yaml_find(node, "of");
    NEED(field_list(list, "of", pairs ? 2 : 1, err));
    for (size_t i = 0; i < list->count; i++) {
        NEED(field_line(list->items[i], "of", pairs ? &s->than_name : &s->of_name, err));
        if (!pairs) {
            NEED(find_rows(c, node, s, err));
            add_statement(c, s);
        }
        for (size_t k = i + 1; pairs && k < list->count; k++) {
            NEED(field_line(list->items[k], "of", &s->of_name, err));
            NEED(find_rows(c, node, s, err));
            add_statement(c, s);
        }
    }
    return STATUS_OK;
}

static status read_statement(claim *c, const yaml_node *node, error *err) {
    claim_statement s = {.where = "", .note = "", .list = node};
    const yaml_node *of = node->kind == YAML_MAPPING ? yaml_find(node, "of") : NULL;
    NEED(field_kind(node, &s.kind, err));
    const statement_info *info = &statement_infos[s.kind];
    const bool says = s.kind == STATEMENT_SAYS, same = s.kind == STATEMENT_SAME_ACCURACY;
    const bool list = (says || same) && of && of->kind == YAML_SEQUENCE;
    NEED(check_statement_keys(node, info, err));
    NEED(field_quantities(node, info->may, s.kind == STATEMENT_DIFFERENCE, s.values, NULL, err));
    if (!list) NEED(field_name(node, "of", info->of, &s.of_name, err));
    if (!list || says) NEED(field_name(node, "than", info->than, &s.than_name, err));
    NEED(field_basis(node, &s.basis, err));
    NEED(field_source(node, &s.source, err));
    NEED(field_name(node, "where", false, &s.where, err));
    NEED(field_name(node, "note", false, &s.note, err));
    NEED(check_given(node, &s, err));
    if (says) NEED(field_topics(node, &s.topics, err));
    if (s.kind == STATEMENT_CODE && yaml_find(node, "accuracy"))
        NEED(read_accuracy(yaml_find(node, "accuracy"), &s.values[QUANTITY_ACCURACY], err));
    if (list) return add_list(c, node, &s, same, err);
    NEED(find_rows(c, node, &s, err));
    add_statement(c, &s);
    return STATUS_OK;
}

// ---- Columns that compare a row with another one ---

static bool is_on_one_device(const claim_row *r) {
    return r->values[QUANTITY_DEVICES].given && r->values[QUANTITY_DEVICES].value == 1;
}

// The name of the only other row on one device; NULL if there are none or several.
static const char *find_base(const claim *c, const claim_row *row) {
    const char *base = NULL;
    for (const claim_row *r = c->rows; r < c->rows + c->row_count; r++) {
        if (r == row || !is_on_one_device(r)) continue;
        if (base) return NULL;
        base = r->name;
    }
    return base;
}

// A column is a statement about its row and the row `over`: by default the one called `base`, if
// that is not NULL. *of_name is NULL for that row itself, about which there is nothing to say.
static status begin_column(const claim *c, const claim_row *row, const yaml_node *node,
                           const char *base, claim_statement *s, error *err) {
    const yaml_node *common = yaml_find(c->root, "common");
    const bool own = !common || yaml_find(node, "over");
    *s = (claim_statement){.kind = STATEMENT_SPEEDUP,
                           .where = row->where,
                           .note = "",
                           .source = row->source,
                           .basis = QUANTITIES,
                           .of_name = row->name,
                           .than_name = base,
                           .list = node};
    NEED(field_name(own ? node : common, "over", !base, &s->than_name, err));
    if (strcmp(s->than_name, row->name) != 0) return find_rows(c, node, s, err);
    s->of_name = NULL;
    return STATUS_OK;
}

static status read_speed_up(claim *c, const claim_row *row, const yaml_node *node, error *err) {
    claim_statement s;
    if (!row->values[QUANTITY_SPEED_UP].given) return STATUS_OK;
    NEED(begin_column(c, row, node, NULL, &s, err));
    s.values[QUANTITY_RATIO] = row->values[QUANTITY_SPEED_UP];
    if (s.of_name) add_statement(c, &s);
    return STATUS_OK;
}

// An efficiency is a speed-up divided by how many times the devices there are: "(93% x 4 = 3.72)".
static status read_efficiency(claim *c, const claim_row *row, const yaml_node *node, error *err) {
    const stated *efficiency = &row->values[QUANTITY_EFFICIENCY];
    char as_printed[STATED_TEXT_BYTES];
    claim_statement s;
    if (!efficiency->given) return STATUS_OK;
    NEED(
        begin_column(c, row, node, is_on_one_device(row) ? row->name : find_base(c, row), &s, err));
    if (!s.of_name) return STATUS_OK;
    const stated *devices = &row->values[QUANTITY_DEVICES];
    const stated *base = s.than ? &s.than->values[QUANTITY_DEVICES] : devices;
    if (!devices->given || !base->given)
        return yaml_error(node, err, "'efficiency': 'devices' is missing in the row '%.60s'",
                          devices->given ? s.than_name : row->name);
    const double times = devices->value / base->value;
    stated *ratio = &s.values[QUANTITY_RATIO];
    *ratio = *efficiency;
    ratio->value *= times / 100;
    ratio->range = interval_multiply(ratio->range, interval_exact(times / 100));
    snprintf(as_printed, sizeof as_printed, "%.14s%% x %.6g", efficiency->text, times);
    stated_explain(ratio, as_printed, ratio->range);
    s.efficiency = efficiency;
    add_statement(c, &s);
    return STATUS_OK;
}

// A row's own `over` says nothing without a speed-up or an efficiency; that of `common` is for the
// rows that have one.
static status check_over(const claim *c, error *err) {
    const yaml_node *rows = yaml_find(c->root, "rows");
    for (size_t i = 0; i < c->row_count; i++) {
        const yaml_node *over = yaml_find(rows->items[i], "over");
        const stated *values = c->rows[i].values;
        if (over && !values[QUANTITY_SPEED_UP].given && !values[QUANTITY_EFFICIENCY].given)
            return yaml_error(
                over, err,
                "'over' needs 'speed_up' or 'efficiency', the figure relative to that row");
    }
    return STATUS_OK;
}

static status read_statements(claim *c, error *err) {
    const yaml_node *list = yaml_find(c->root, "statements"), *rows = yaml_find(c->root, "rows");
    NEED(check_over(c, err));
    for (size_t i = 0; i < c->row_count; i++) {
        NEED(read_speed_up(c, &c->rows[i], rows->items[i], err));
        NEED(read_efficiency(c, &c->rows[i], rows->items[i], err));
    }
    if (!list) return STATUS_OK;
    NEED(field_list(list, "statements", 0, err));
    for (size_t i = 0; i < list->count; i++) NEED(read_statement(c, list->items[i], err));
    return STATUS_OK;
}

// ---- The file ----------------------------------------------------------------------------------

static status read_claim(claim *c, error *err) {
    static const char *const keys[] = {"schema", "name",   "title", "note",
                                       "source", "common", "rows",  "statements"};
    static const char *const schema = "lockstep.claim/1";
    const char *text;
    size_t ignored;
    const yaml_node *word = c->root->kind == YAML_MAPPING ? yaml_find(c->root, "schema") : NULL;
    if (c->root->kind == YAML_MAPPING && !word)
        return yaml_error(c->root, err, "'schema' is missing: a claim has the line 'schema: %s'",
                          schema);
    if (word) NEED(field_word(word, "schema", &schema, 1, &ignored, err));
    NEED(yaml_check_keys(c->root, keys, COUNT(keys), err));
    NEED(field_name(c->root, "name", true, &c->name, err));
    NEED(field_text(c->root, "title", &text, err));
    NEED(field_text(c->root, "note", &text, err));
    NEED(field_text(c->root, "source", &text, err));
    NEED(read_rows(c, err));
    return read_statements(c, err);
}

status claim_read(const char *path, claim *c, error *err) {
    *c = (claim){0};
    status rc = yaml_read_file(path, &c->root, err);
    if (rc == STATUS_OK) rc = read_claim(c, err);
    const bool mapping = c->root && c->root->kind == YAML_MAPPING;
    if (rc == STATUS_INPUT && !mapping) rc = foreign_file("cannot audit", path, WANTED_CLAIM, err);
    return rc;
}

status claim_read_text(const char *text, const char *name, claim *c, error *err) {
    *c = (claim){0};
    status rc = yaml_read_text(text, strlen(text), name, &c->root, err);
    return rc == STATUS_OK ? read_claim(c, err) : rc;
}

void claim_release(claim *c) {
    for (size_t i = 0; i < c->list_count; i++) free(c->lists[i]);
    free(c->lists);
    free(c->rows);
    free(c->statements);
    yaml_free(c->root);
    *c = (claim){0};
}
