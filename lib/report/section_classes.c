// SPDX-License-Identifier: MIT
// Accuracy by class and confusion matrices.
#include <stdio.h>
#include <string.h>

#include "report/sections.h"

enum { CLASS_TEXT = 256 };

const char *class_label(const results *r, const char *name) {
    static const wording known[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                    "dog",      "frog",       "horse", "ship", "truck"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0) return say(r, known[i]);
    return name;
}

bool shows_classes(const results *r, size_t at) {
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
    document_cell(d, CELL_STRONG, "%s", class_label(r, c->name));
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

static void matrix_row(const results *r, document *d, const run *one, const run_class *c) {
    char metric[2 * CLASS_TEXT];
    document_cell(d, CELL_STRONG, "%s", class_label(r, c->name));
    for (size_t i = 0; i < one->class_count; i++) {
        snprintf(metric, sizeof metric, "confusion.%s.%s", c->name, one->classes[i].name);
        cell_figure(r, d, one->name, metric);
    }
}

static void matrix(const results *r, document *d, const run *one) {
    char caption[256];
    if (!one->confusion) return;
    if (one->class_count > METRIC_CONFUSION) {
        document_add(d, BLOCK_NOTE,
                     say(r, "The confusion matrix of %s has %zu classes and is not shown; it is in "
                            "the manifest."),
                     one->name, one->class_count);
        return;
    }
    snprintf(caption, sizeof caption,
             say(r, "Confusion matrix of %s: rows are true classes, columns predicted classes."),
             one->name);
    document_table(d, one->class_count + 1, caption);
    document_cell(d, CELL_TEXT, "%s", "");
    for (size_t i = 0; i < one->class_count; i++)
        document_cell(d, CELL_TEXT, "%s", class_label(r, one->classes[i].name));
    for (size_t i = 0; i < one->class_count; i++) matrix_row(r, d, one, &one->classes[i]);
}

void section_class_table(const results *r, document *d) {
    const run *first;
    if (!count_evaluated(r, &first)) return;
    document_add(d, BLOCK_HEADING, "%s", say(r, "Accuracy by class"));
    class_table(r, d);
}

void section_classes(const results *r, document *d) {
    section_class_table(r, d);
    for (size_t i = 0; i < r->list.count; i++)
        if (shows_classes(r, i)) matrix(r, d, &r->list.runs[i]);
}
