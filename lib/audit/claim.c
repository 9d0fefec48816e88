#include "audit/claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/memory.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

// Checks compare each row and statement with each other.
enum { MAX_ITEMS = 1000, MAX_LINE = 120 };

// ---- Keys --------------------------------------------------------------------------------------

static const struct quantity_info {
    const char *key;
    stated_kind kind;
    double min;
    bool above; // min itself is outside
} quantities[QUANTITIES] = {
    [QUANTITY_BATCH] = {"batch", STATED_COUNT, 1, false},
    [QUANTITY_GLOBAL_BATCH] = {"global_batch", STATED_COUNT, 1, false},
    [QUANTITY_SAMPLES] = {"samples", STATED_COUNT, 1, false},
    [QUANTITY_EPOCHS] = {"epochs", STATED_COUNT, 1, false},
    [QUANTITY_LR] = {"lr", STATED_SETTING, 0, true},
    [QUANTITY_DEVICES] = {"devices", STATED_COUNT, 1, false},
    [QUANTITY_LOADER_WORKERS] = {"loader_workers", STATED_COUNT, 0, false},
    [QUANTITY_TEST_SAMPLES] = {"test_samples", STATED_COUNT, 1, false},
    [QUANTITY_REPEATS] = {"repeats", STATED_COUNT, 1, false},
    [QUANTITY_TOTAL_SECONDS] = {"total_seconds", STATED_FIGURE, 0, true},
    [QUANTITY_SECONDS_PER_EPOCH] = {"seconds_per_epoch", STATED_FIGURE, 0, true},
    [QUANTITY_BATCH_MS] = {"batch_ms", STATED_FIGURE, 0, true},
    [QUANTITY_LOAD_SECONDS] = {"load_seconds_per_step", STATED_FIGURE, 0, false},
    [QUANTITY_UPDATE_SECONDS] = {"update_seconds_per_step", STATED_FIGURE, 0, false},
    [QUANTITY_OTHER_SECONDS] = {"other_seconds", STATED_FIGURE, 0, false},
    [QUANTITY_ACCURACY] = {"accuracy", STATED_FIGURE, 0, false},
    [QUANTITY_TRAIN_LOSS] = {"train_loss", STATED_FIGURE, 0, false},
    [QUANTITY_BY_PERCENT] = {"by_percent", STATED_FIGURE, 0, false},
    [QUANTITY_RATIO] = {"ratio", STATED_RATIO, 0, true},
    [QUANTITY_POINTS] = {"points", STATED_FIGURE, -100, false},
    [QUANTITY_MS] = {"ms", STATED_FIGURE, 0, false},
    [QUANTITY_COMMUNICATION_MS] = {"communication_ms", STATED_FIGURE, 0, false},
    [QUANTITY_NEEDS_DEVICES] = {"needs_devices", STATED_COUNT, 1, false},
};

static const char *const labels[LABELS] = {"strategy", "dataset",   "model", "optimizer",
                                           "augment",  "precision", "device"};
static const char *const strategies[] = {"single", "dp", "ddp", "mp"};

#define BIT(q)       (1u << QUANTITY_##q)
#define OF_ROWS      (BIT(BY_PERCENT) - 1u)
#define TIME_FIGURES (BIT(TOTAL_SECONDS) | BIT(SECONDS_PER_EPOCH) | BIT(BATCH_MS))

_Static_assert(QUANTITIES <= 32, "sets of quantities are unsigned");

// What each kind of statement may give and must give.
static const struct statement_info {
    const char *name;
    unsigned may, must;
    bool of, than; // must name these rows
    bool basis;    // may say in which time
} statements[STATEMENT_KINDS] = {
    [STATEMENT_SLOWER] = {"slower", BIT(BY_PERCENT) | BIT(RATIO), 0, true, true, true},
    [STATEMENT_FASTER] = {"faster", BIT(BY_PERCENT) | BIT(RATIO), 0, true, true, true},
    [STATEMENT_SPEEDUP] = {"speedup", BIT(RATIO), BIT(RATIO), true, true, true},
    [STATEMENT_ACCURACY_DIFFERENCE] = {"accuracy_difference", BIT(POINTS), 0, true, true, false},
    [STATEMENT_SAME_ACCURACY] = {"same_accuracy", 0, 0, true, true, false},
    [STATEMENT_OVERHEAD] = {"overhead", BIT(MS), BIT(MS), true, true, false},
    [STATEMENT_PROJECTION] = {"projection",
                              TIME_FIGURES | BIT(RATIO) | BIT(DEVICES) | BIT(COMMUNICATION_MS),
                              BIT(DEVICES), true, false, false},
    [STATEMENT_EFFECTIVE_BATCH] = {"effective_batch", BIT(BATCH), BIT(BATCH), true, false, false},
    [STATEMENT_CODE] = {"code", OF_ROWS | BIT(NEEDS_DEVICES), 0, false, false, false},
};

const char *quantity_key(quantity q) {
    return quantities[q].key;
}

const char *label_key(label l) {
    return labels[l];
}

const char *statement_name(statement_kind k) {
    return statements[k].name;
}

// A list of known keys.
typedef struct key_list {
    const char *keys[(int)QUANTITIES + (int)LABELS + 12];
    size_t count;
} key_list;

static void add_keys(key_list *list, const char *const *keys, size_t count) {
    for (size_t i = 0; i < count; i++) list->keys[list->count++] = keys[i];
}

static void add_quantities(key_list *list, unsigned set) {
    for (int q = 0; q < QUANTITIES; q++)
        if (set >> q & 1u) list->keys[list->count++] = quantities[q].key;
}

// ---- Values ------------------------------------------------------------------------------------

// Which of `words` a string is.
static status read_word(const yaml_node *node, const char *key, const char *const *words,
                        size_t count, size_t *index, error *err) {
    const char *word;
    status rc = yaml_string(node, key, &word, err);
    if (rc != STATUS_OK) return rc;
    for (*index = 0; *index < count; ++*index)
        if (!strcmp(word, words[*index])) return STATUS_OK;
    const char *near = cli_nearest(word, words, count);
    char expected[160] = "";
    for (size_t i = 0; i < count; i++) {
        strncat(expected, i ? ", " : "", sizeof expected - strlen(expected) - 1);
        strncat(expected, words[i], sizeof expected - strlen(expected) - 1);
    }
    return yaml_error(node, err, "'%s': expected one of %s, got '%.60s'%s%s%s", key, expected, word,
                      near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static status read_source(const yaml_node *node, claim_source *source, error *err) {
    const char *word;
    if (!node) return STATUS_OK;
    status rc = yaml_string(node, "source", &word, err);
    if (rc == STATUS_OK) *source = strcmp(word, "none") ? SOURCE_GIVEN : SOURCE_NONE;
    return rc;
}

static status check_text(const yaml_node *mapping, const char *key, error *err) {
    const yaml_node *node = yaml_find(mapping, key);
    const char *ignored;
    return node ? yaml_string(node, key, &ignored, err) : STATUS_OK;
}

static status read_quantities(const yaml_node *mapping, unsigned set, stated *values, error *err) {
    status rc = STATUS_OK;
    for (int q = 0; q < QUANTITIES && rc == STATUS_OK; q++) {
        const struct quantity_info *info = &quantities[q];
        const yaml_node *node = set >> q & 1u ? yaml_find(mapping, info->key) : NULL;
        if (node)
            rc = stated_read(node, info->key, info->kind, info->min, info->above, &values[q], err);
    }
    return rc;
}

// Names and conditions are printed: one line, and not a long one.
static status read_line(const yaml_node *node, const char *key, const char **line, error *err) {
    status rc = yaml_string(node, key, line, err);
    if (rc != STATUS_OK) return rc;
    bool good = **line && strlen(*line) <= MAX_LINE;
    for (const char *p = *line; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127) good = false;
    return good ? STATUS_OK
                : yaml_error(node, err, "'%s': expected one line of at most %d bytes", key,
                             MAX_LINE);
}

// The name that a row has, or that a statement calls it by.
static status read_name(const yaml_node *mapping, const char *key, bool required, const char **name,
                        error *err) {
    const yaml_node *node = yaml_find(mapping, key);
    if (!node) return required ? yaml_error(mapping, err, "'%s' is missing", key) : STATUS_OK;
    return read_line(node, key, name, err);
}

// ---- Rows --------------------------------------------------------------------------------------

// An accuracy of at most 1 is a fraction. Percent from here on.
static status to_percent(const yaml_node *node, stated *accuracy, error *err) {
    if (!accuracy->given) return STATUS_OK;
    if (accuracy->value <= 1) {
        accuracy->value *= 100;
        accuracy->range.low *= 100;
        accuracy->range.high *= 100;
        if (!strchr(accuracy->text, ' '))
            snprintf(accuracy->text, sizeof accuracy->text, "%.6g", accuracy->value);
    }
    if (accuracy->value > 100)
        return yaml_error(node, err, "'accuracy': expected percent, or a fraction, got %s",
                          accuracy->text);
    return STATUS_OK;
}

static status read_labels(const yaml_node *mapping, claim_row *row, error *err) {
    status rc = STATUS_OK;
    for (int l = 0; l < LABELS && rc == STATUS_OK; l++) {
        const yaml_node *node = yaml_find(mapping, labels[l]);
        size_t ignored;
        if (!node) continue;
        rc = l == LABEL_STRATEGY
                 ? read_word(node, labels[l], strategies, COUNT(strategies), &ignored, err)
                 : read_line(node, labels[l], &row->labels[l], err);
        if (rc == STATUS_OK) row->labels[l] = node->text;
    }
    return rc;
}

// Reads what `mapping` has into `row`, over what is there.
static status read_row_values(const yaml_node *mapping, claim_row *row, error *err) {
    static const char *const others[] = {"name", "measured", "source", "note"};
    const yaml_node *measured = yaml_find(mapping, "measured");
    key_list known = {0};
    status rc;
    add_keys(&known, others, COUNT(others));
    add_quantities(&known, OF_ROWS);
    add_keys(&known, labels, COUNT(labels));
    TRY(yaml_check_keys(mapping, known.keys, known.count, err));
    TRY(read_quantities(mapping, OF_ROWS, row->values, err));
    if (yaml_find(mapping, "accuracy"))
        TRY(to_percent(yaml_find(mapping, "accuracy"), &row->values[QUANTITY_ACCURACY], err));
    TRY(read_labels(mapping, row, err));
    TRY(read_source(yaml_find(mapping, "source"), &row->source, err));
    TRY(check_text(mapping, "note", err));
    if (measured) TRY(yaml_boolean(measured, "measured", &row->measured, err));
out:
    return rc;
}

static status need_items(const yaml_node *node, const char *key, size_t min, error *err) {
    if (node->kind != YAML_SEQUENCE || node->count < min)
        return yaml_error(node, err, "'%s': expected a list%s", key,
                          min ? " that is not empty" : "");
    if (node->count > MAX_ITEMS)
        return yaml_error(node, err, "'%s': expected at most %d items, got %zu", key, MAX_ITEMS,
                          node->count);
    return STATUS_OK;
}

static const claim_row *find_row(const claim *c, const char *name) {
    for (size_t i = 0; i < c->row_count; i++)
        if (!strcmp(c->rows[i].name, name)) return &c->rows[i];
    return NULL;
}

static status read_rows(claim *c, error *err) {
    const yaml_node *list = yaml_find(c->root, "rows"), *common = yaml_find(c->root, "common");
    claim_row shared = {.measured = true};
    status rc = STATUS_OK;
    if (!list) return yaml_error(c->root, err, "'rows' is missing");
    TRY(need_items(list, "rows", 1, err));
    if (common) TRY(read_row_values(common, &shared, err));
    if (common && yaml_find(common, "name")) {
        rc = yaml_error(yaml_find(common, "name"), err, "'common': rows share no name");
        goto out;
    }
    c->rows = memory_new(list->count, sizeof *c->rows, err);
    if (!c->rows) return STATUS_FAILED;
    for (size_t i = 0; i < list->count; i++) {
        claim_row row = shared;
        TRY(read_row_values(list->items[i], &row, err));
        TRY(read_name(list->items[i], "name", true, &row.name, err));
        if (find_row(c, row.name)) {
            rc = yaml_error(list->items[i], err, "two rows are called '%.60s'", row.name);
            goto out;
        }
        c->rows[c->row_count++] = row;
    }
out:
    return rc;
}

// ---- Statements --------------------------------------------------------------------------------

static status read_basis(const yaml_node *node, quantity *basis, error *err) {
    static const quantity bases[] = {QUANTITY_TOTAL_SECONDS, QUANTITY_SECONDS_PER_EPOCH,
                                     QUANTITY_BATCH_MS};
    const char *words[COUNT(bases)];
    size_t index = 0;
    for (size_t i = 0; i < COUNT(bases); i++) words[i] = quantities[bases[i]].key;
    *basis = QUANTITIES;
    if (!node) return STATUS_OK;
    status rc = read_word(node, "basis", words, COUNT(words), &index, err);
    if (rc == STATUS_OK) *basis = bases[index];
    return rc;
}

static status read_kind(const yaml_node *mapping, statement_kind *kind, error *err) {
    const yaml_node *node = mapping->kind == YAML_MAPPING ? yaml_find(mapping, "kind") : NULL;
    const char *names[STATEMENT_KINDS];
    size_t index = 0;
    if (!node) return yaml_error(mapping, err, "a statement's 'kind' is missing");
    for (size_t i = 0; i < STATEMENT_KINDS; i++) names[i] = statements[i].name;
    status rc = read_word(node, "kind", names, STATEMENT_KINDS, &index, err);
    *kind = (statement_kind)index;
    return rc;
}

static status check_statement_keys(const yaml_node *mapping, const struct statement_info *info,
                                   error *err) {
    static const char *const others[] = {"kind", "of", "source", "note"};
    static const char *const than = "than", *const basis = "basis";
    key_list known = {0};
    add_keys(&known, others, COUNT(others));
    if (info->than || info->may & BIT(RATIO)) add_keys(&known, &than, 1);
    if (info->basis) add_keys(&known, &basis, 1);
    add_quantities(&known, info->may);
    return yaml_check_keys(mapping, known.keys, known.count, err);
}

static status check_given(const yaml_node *mapping, const claim_statement *s, error *err) {
    unsigned must = statements[s->kind].must, given = 0;
    for (int q = 0; q < QUANTITIES; q++) {
        if (s->values[q].given) given |= 1u << q;
        if (must >> q & 1u && !s->values[q].given)
            return yaml_error(mapping, err, "'%s' is missing: a statement of kind '%s' needs it",
                              quantities[q].key, statements[s->kind].name);
    }
    if (s->kind == STATEMENT_CODE && !given)
        return yaml_error(mapping, err,
                          "a statement of kind 'code' needs a value that the code has");
    if ((given & BIT(BY_PERCENT)) && (given & BIT(RATIO)))
        return yaml_error(mapping, err, "'by_percent' and 'ratio': expected only one of them");
    return STATUS_OK;
}

static status read_statement(const claim *c, const yaml_node *node, claim_statement *s,
                             error *err) {
    status rc;
    TRY(read_kind(node, &s->kind, err));
    const struct statement_info *info = &statements[s->kind];
    TRY(check_statement_keys(node, info, err));
    TRY(read_quantities(node, info->may, s->values, err));
    TRY(read_name(node, "of", info->of, &s->of_name, err));
    TRY(read_name(node, "than", info->than, &s->than_name, err));
    TRY(read_basis(yaml_find(node, "basis"), &s->basis, err));
    TRY(read_source(yaml_find(node, "source"), &s->source, err));
    TRY(check_text(node, "note", err));
    TRY(check_given(node, s, err));
    if (s->kind == STATEMENT_CODE && s->values[QUANTITY_ACCURACY].given)
        TRY(to_percent(node, &s->values[QUANTITY_ACCURACY], err));
    if (s->of_name) s->of = find_row(c, s->of_name);
    if (s->than_name) s->than = find_row(c, s->than_name);
    if (s->of && s->of == s->than)
        rc = yaml_error(node, err, "'of' and 'than': expected two rows, got '%.60s' twice",
                        s->of_name);
out:
    return rc;
}

static status read_statements(claim *c, error *err) {
    const yaml_node *list = yaml_find(c->root, "statements");
    if (!list) return STATUS_OK;
    status rc = need_items(list, "statements", 0, err);
    if (rc != STATUS_OK) return rc;
    c->statements = memory_new(list->count, sizeof *c->statements, err);
    if (!c->statements) return STATUS_FAILED;
    for (size_t i = 0; i < list->count && rc == STATUS_OK; i++) {
        rc = read_statement(c, list->items[i], &c->statements[i], err);
        c->statement_count++;
    }
    return rc;
}

// ---- The file ----------------------------------------------------------------------------------

static status read_claim(claim *c, error *err) {
    static const char *const keys[] = {"schema", "name",   "title", "note",
                                       "source", "common", "rows",  "statements"};
    static const char *const schema = "lockstep.claim/1";
    size_t ignored;
    status rc;
    if (c->root->kind == YAML_MAPPING && !yaml_find(c->root, "schema"))
        return yaml_error(c->root, err, "'schema' is missing");
    TRY(yaml_check_keys(c->root, keys, COUNT(keys), err));
    TRY(read_word(yaml_find(c->root, "schema"), "schema", &schema, 1, &ignored, err));
    TRY(read_name(c->root, "name", true, &c->name, err));
    TRY(check_text(c->root, "title", err));
    TRY(check_text(c->root, "note", err));
    TRY(check_text(c->root, "source", err));
    TRY(read_rows(c, err));
    TRY(read_statements(c, err));
out:
    return rc;
}

status claim_read(const char *path, claim *c, error *err) {
    *c = (claim){0};
    status rc = yaml_read_file(path, &c->root, err);
    return rc == STATUS_OK ? read_claim(c, err) : rc;
}

status claim_read_text(const char *text, const char *name, claim *c, error *err) {
    *c = (claim){0};
    status rc = yaml_read_text(text, strlen(text), name, &c->root, err);
    return rc == STATUS_OK ? read_claim(c, err) : rc;
}

void claim_release(claim *c) {
    free(c->rows);
    free(c->statements);
    yaml_free(c->root);
    *c = (claim){0};
}
