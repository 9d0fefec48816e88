// Accuracy by class and confusion matrices.
#include <stdio.h>
#include <string.h>

#include "report/sections.h"
#include "results/statistics.h"

// Larger matrices do not help a reader.
enum { CONFUSION_MAX = 20 };

static const yaml_node *classes_of(const run *one) {
    const yaml_node *list = one->evaluate ? yaml_get(one->evaluate, "results.per_class") : NULL;
    return list && list->kind == YAML_SEQUENCE && list->count ? list : NULL;
}

static const char *class_name(const yaml_node *entry) {
    const char *name = run_text(entry, "name");
    return *name ? name : run_text(entry, "class");
}

// The classes of CIFAR-10 have a name in each language; others are shown as they are.
static const char *class_label(const results *r, const char *name) {
    static const wording known[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                    "dog",      "frog",       "horse", "ship", "truck"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0) return say(r, known[i]);
    return name;
}

// Of runs with equal predictions only the first is shown.
static bool shows_classes(const results *r, size_t at) {
    const run *one = &r->list.runs[at];
    const char *content =
        run_text(run_file(one->evaluate, "outputs", "predictions.st.zst"), "content");
    for (size_t i = 0; i < at && *content; i++) {
        const yaml_node *file = run_file(r->list.runs[i].evaluate, "outputs", "predictions.st.zst");
        if (strcmp(run_text(file, "content"), content) == 0) return false;
    }
    return classes_of(one) != NULL;
}

// The class of that name; NULL when the run has none.
static const yaml_node *find_class(const run *one, const char *name) {
    const yaml_node *list = classes_of(one);
    for (size_t i = 0; list && i < list->count; i++)
        if (strcmp(class_name(list->items[i]), name) == 0) return list->items[i];
    return NULL;
}

static status class_cells(document *d, const run *one, const char *name, error *err) {
    const yaml_node *entry = find_class(one, name);
    run_class c;
    if (!entry) {
        document_cell(d, CELL_NUMBER, "%s", "");
        document_cell(d, CELL_NUMBER, "%s", "");
        return STATUS_OK;
    }
    status rc = run_read_class(entry, &c, err);
    if (rc != STATUS_OK) return rc;
    cell_percent(d, c.accuracy);
    cell_range(d, statistics_wilson(c.right, c.count));
    return STATUS_OK;
}

static size_t count_evaluated(const results *r, const run **first) {
    size_t count = 0;
    *first = NULL;
    for (size_t i = 0; i < r->list.count; i++) {
        if (!shows_classes(r, i)) continue;
        if (!*first) *first = &r->list.runs[i];
        count++;
    }
    return count;
}

static void class_head(const results *r, document *d) {
    document_cell(d, CELL_TEXT, "%s", say(r, "Class"));
    document_cell(d, CELL_TEXT, "%s", say(r, "Samples"));
    for (size_t i = 0; i < r->list.count; i++) {
        if (!shows_classes(r, i)) continue;
        document_cell(d, CELL_TEXT, "%s", r->list.runs[i].name);
        document_cell(d, CELL_TEXT, "%s", say(r, "95 % interval"));
    }
}

static status class_table(const results *r, document *d, error *err) {
    const run *first;
    size_t columns = 2 + 2 * count_evaluated(r, &first);
    const yaml_node *classes = classes_of(first);
    document_table(d, columns, "");
    class_head(r, d);
    for (size_t k = 0; k < classes->count; k++) {
        run_class c;
        status rc = run_read_class(classes->items[k], &c, err);
        if (rc != STATUS_OK) return rc;
        document_cell(d, CELL_STRONG, "%s", class_label(r, c.name));
        cell_count(d, c.count);
        for (size_t i = 0; i < r->list.count; i++) {
            if (!shows_classes(r, i)) continue;
            rc = class_cells(d, &r->list.runs[i], c.name, err);
            if (rc != STATUS_OK) return rc;
        }
    }
    document_add(d, BLOCK_NOTE, "%s", say(r, "With Wilson's 95 % intervals."));
    return STATUS_OK;
}

static status matrix_row(const results *r, document *d, const yaml_node *row, const run_class *c,
                         size_t count, error *err) {
    document_cell(d, CELL_STRONG, "%s", class_label(r, c->name));
    for (size_t k = 0; k < count; k++) {
        int64_t n = 0;
        const yaml_node *node = row->kind == YAML_SEQUENCE && k < row->count ? row->items[k] : NULL;
        if (!node) return yaml_error(row, err, "'confusion': expected %zu counts", count);
        status rc = yaml_integer(node, "confusion", 0, INT64_MAX, &n, err);
        if (rc != STATUS_OK) return rc;
        cell_count(d, n);
        document_shade(d, c->count > 0 ? 0.85 * (double)n / (double)c->count : 0);
    }
    return STATUS_OK;
}

static status matrix(const results *r, document *d, const run *one, error *err) {
    const yaml_node *classes = classes_of(one);
    const yaml_node *rows = yaml_get(one->evaluate, "results.confusion");
    if (!rows) return STATUS_OK;
    if (classes->count > CONFUSION_MAX) {
        document_add(d, BLOCK_NOTE,
                     say(r, "The confusion matrix of %s has %zu classes and is left out here; its "
                            "manifest holds it."),
                     one->name, classes->count);
        return STATUS_OK;
    }
    if (rows->kind != YAML_SEQUENCE || rows->count != classes->count)
        return yaml_error(rows, err, "'confusion': expected %zu rows", classes->count);
    char caption[256];
    snprintf(
        caption, sizeof caption,
        say(r, "Confusion matrix of %s: rows are the true class, columns what the model said."),
        one->name);
    document_table(d, classes->count + 1, caption);
    document_cell(d, CELL_TEXT, "%s", "");
    for (size_t i = 0; i < classes->count; i++)
        document_cell(d, CELL_TEXT, "%s", class_label(r, class_name(classes->items[i])));
    for (size_t i = 0; i < classes->count; i++) {
        run_class c;
        status rc = run_read_class(classes->items[i], &c, err);
        if (rc == STATUS_OK) rc = matrix_row(r, d, rows->items[i], &c, classes->count, err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

status section_class_table(const results *r, document *d, error *err) {
    const run *first;
    if (!count_evaluated(r, &first)) return STATUS_OK;
    document_add(d, BLOCK_HEADING, "%s", say(r, "Accuracy by class"));
    return class_table(r, d, err);
}

status section_classes(const results *r, document *d, error *err) {
    status rc = section_class_table(r, d, err);
    for (size_t i = 0; rc == STATUS_OK && i < r->list.count; i++)
        if (shows_classes(r, i)) rc = matrix(r, d, &r->list.runs[i], err);
    return rc;
}
