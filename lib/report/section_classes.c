// Accuracy by class and confusion matrices.
#include <stdio.h>
#include <string.h>

#include "report/sections.h"

// Larger matrices do not help a reader.
enum { CONFUSION_MAX = 20, CLASS_TEXT = 256 };

// Of runs with equal predictions only the first is shown.
static bool shows_classes(const results *r, size_t at) {
    const run *one = &r->list.runs[at];
    const char *content =
        run_text(run_file(one->evaluate, "outputs", "predictions.st.zst"), "content");
    for (size_t i = 0; i < at && *content; i++) {
        const yaml_node *file = run_file(r->list.runs[i].evaluate, "outputs", "predictions.st.zst");
        if (strcmp(run_text(file, "content"), content) == 0) return false;
    }
    return one->class_count > 0;
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

static void class_row(const results *r, document *d, const run *first, const run_class *c) {
    char metric[CLASS_TEXT];
    document_cell(d, CELL_STRONG, "%s", c->name);
    snprintf(metric, sizeof metric, "class.%s.samples", c->name);
    cell_figure(r, d, first->name, metric);
    snprintf(metric, sizeof metric, "class.%s", c->name);
    for (size_t i = 0; i < r->list.count; i++) {
        if (!shows_classes(r, i)) continue;
        cell_figure(r, d, r->list.runs[i].name, metric);
        cell_figure_range(r, d, r->list.runs[i].name, metric);
    }
}

static void class_table(const results *r, document *d) {
    const run *first;
    document_table(d, 2 + 2 * count_evaluated(r, &first), "");
    class_head(r, d);
    for (size_t k = 0; k < first->class_count; k++) class_row(r, d, first, &first->classes[k]);
    document_add(d, BLOCK_NOTE, "%s", say(r, "With Wilson's 95 % intervals."));
}

static status matrix_row(document *d, const yaml_node *row, const run_class *c, size_t count,
                         error *err) {
    document_cell(d, CELL_STRONG, "%s", c->name);
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
    const yaml_node *rows = yaml_get(one->evaluate, "results.confusion");
    const size_t count = one->class_count;
    if (!rows) return STATUS_OK;
    if (count > CONFUSION_MAX) {
        document_add(d, BLOCK_NOTE,
                     say(r, "The confusion matrix of %s has %zu classes and is left out here; its "
                            "manifest holds it."),
                     one->name, count);
        return STATUS_OK;
    }
    if (rows->kind != YAML_SEQUENCE || rows->count != count)
        return yaml_error(rows, err, "'confusion': expected %zu rows", count);
    char caption[256];
    snprintf(
        caption, sizeof caption,
        say(r, "Confusion matrix of %s: rows are the true class, columns what the model said."),
        one->name);
    document_table(d, count + 1, caption);
    document_cell(d, CELL_TEXT, "%s", "");
    for (size_t i = 0; i < count; i++) document_cell(d, CELL_TEXT, "%s", one->classes[i].name);
    for (size_t i = 0; i < count; i++) {
        status rc = matrix_row(d, rows->items[i], &one->classes[i], count, err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

void section_class_table(const results *r, document *d) {
    const run *first;
    if (!count_evaluated(r, &first)) return;
    document_add(d, BLOCK_HEADING, "%s", say(r, "Accuracy by class"));
    class_table(r, d);
}

status section_classes(const results *r, document *d, error *err) {
    status rc = STATUS_OK;
    section_class_table(r, d);
    for (size_t i = 0; rc == STATUS_OK && i < r->list.count; i++)
        if (shows_classes(r, i)) rc = matrix(r, d, &r->list.runs[i], err);
    return rc;
}
