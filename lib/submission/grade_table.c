// SPDX-License-Identifier: MIT
// The table of `make grade`.
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/text.h"
#include "submission/grading.h"

enum { COLUMNS_OF_A_FILE = 100, LEAST_COLUMNS = 60, GAP = 2, LEAST_FOUND = 26, MOST_AUTHOR = 20 };

typedef enum column {
    COLUMN_VERDICT,
    COLUMN_NAME,
    COLUMN_AUTHOR,
    COLUMN_ACCURACY,
    COLUMN_POINTS,
    COLUMN_FOUND,
    COLUMNS
} column;

typedef struct table {
    text cells[COLUMNS];
    size_t widths[COLUMNS], width;
} table;

// "28.40 %", or "28.40–31.20 %" of several runs; in brackets, if it is only recorded.
static void append_accuracy(text *out, const verification *v) {
    if (!v->accuracies) return;
    text_append(out, v->recorded ? "(" : "");
    text_format(out, "%.2f", 100 * v->lowest);
    if (v->highest > v->lowest) text_format(out, "–%.2f", 100 * v->highest);
    text_append(out, v->recorded ? " %)" : " %");
}

static void fill_row(table *t, const grading *g, size_t row) {
    for (int c = 0; c < COLUMNS; c++) t->cells[c].length = 0;
    for (int c = 0; c < COLUMNS; c++) text_append(&t->cells[c], "");
    text_append(&t->cells[COLUMN_VERDICT], grading_verdict(g, row));
    text_append(&t->cells[COLUMN_NAME], g->names.items[row]);
    grading_append_found(g, row, &t->cells[COLUMN_FOUND]);
    if (row >= g->count) return;
    text_append(&t->cells[COLUMN_AUTHOR], g->items[row].author ? g->items[row].author : "");
    append_accuracy(&t->cells[COLUMN_ACCURACY], &g->items[row]);
    const double points = grading_points(g, row);
    if (!isnan(points)) text_format(&t->cells[COLUMN_POINTS], "%.6g", points);
}

// Prints a cell in its width. A longer one is cut in the middle.
static void print_cell(const char *string, size_t width) {
    text shown = {0};
    text_append(&shown, string);
    text_cut_middle(&shown, width);
    printf("%s%*s", text_string(&shown), (int)(width - text_columns(text_string(&shown))), "");
    text_release(&shown);
}

// Prints words up to the width, and the others on lines of their own, below the first.
static void print_found(const char *string, size_t width, size_t margin) {
    size_t used = 0;
    for (; *string; string += strspn(string, " ")) {
        char word[512];
        const size_t length = strcspn(string, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, string);
        const size_t columns = text_columns(word) < width ? text_columns(word) : width;
        if (used && used + 1 + columns > width) {
            printf("\n%*s", (int)margin, "");
            used = 0;
        }
        if (used) putchar(' ');
        print_cell(word, columns);
        used += columns + (used > 0);
        string += length;
    }
}

static void print_row(const table *t) {
    size_t margin = 0;
    for (int c = 0; c < COLUMN_FOUND; c++) {
        if (!t->widths[c]) continue;
        print_cell(text_string(&t->cells[c]), t->widths[c]);
        printf("%*s", GAP, "");
        margin += t->widths[c] + GAP;
    }
    const size_t left = t->width > margin + LEAST_FOUND ? t->width - margin : LEAST_FOUND;
    print_found(text_string(&t->cells[COLUMN_FOUND]), left, margin);
    putchar('\n');
}

// Are two names alike when they are cut to that width?
static bool are_alike(const grading *g, size_t width) {
    strvec cut = {0};
    bool alike = false;
    for (size_t i = 0; i < grading_rows(g) && !alike; i++) {
        text name = {0};
        text_append(&name, g->names.items[i]);
        text_cut_middle(&name, width);
        alike = strvec_has(&cut, text_string(&name));
        strvec_add(&cut, text_string(&name));
        text_release(&name);
    }
    strvec_release(&cut);
    return alike;
}

// The widths of the columns: a column that all rows leave empty has none. A name that must be cut
// is as long as it takes to tell it from the others.
static void measure(table *t, const grading *g, const char *const titles[]) {
    size_t others = 0;
    for (size_t i = 0; i < grading_rows(g); i++) {
        fill_row(t, g, i);
        for (int c = 0; c < COLUMN_FOUND; c++) {
            const size_t own = text_columns(text_string(&t->cells[c]));
            if (own > t->widths[c]) t->widths[c] = own;
        }
    }
    for (int c = 0; c < COLUMN_FOUND; c++)
        if (t->widths[c] && t->widths[c] < strlen(titles[c])) t->widths[c] = strlen(titles[c]);
    if (t->widths[COLUMN_AUTHOR] > MOST_AUTHOR) t->widths[COLUMN_AUTHOR] = MOST_AUTHOR;
    for (int c = 0; c < COLUMN_FOUND; c++)
        if (c != COLUMN_NAME && t->widths[c]) others += t->widths[c] + GAP;
    const size_t longest = t->widths[COLUMN_NAME], taken = LEAST_FOUND + GAP + others;
    size_t most = strlen(titles[COLUMN_NAME]);
    if (t->width > taken + most) most = t->width - taken;
    while (most < longest && are_alike(g, most)) most++;
    if (longest > most) t->widths[COLUMN_NAME] = most;
}

void grading_print_rows(const grading *g) {
    static const char *const titles[COLUMNS] = {"verdict",  "submission", "author",
                                                "accuracy", "points",     "found"};
    const int columns = progress_terminal_columns(STDOUT_FILENO, COLUMNS_OF_A_FILE);
    table t = {.width = (size_t)(columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns)};
    measure(&t, g, titles);
    for (int c = 0; c < COLUMNS; c++) {
        t.cells[c].length = 0;
        text_append(&t.cells[c], titles[c]);
    }
    print_row(&t);
    for (size_t i = 0; i < grading_rows(g); i++) {
        fill_row(&t, g, i);
        print_row(&t);
    }
    for (int c = 0; c < COLUMNS; c++) text_release(&t.cells[c]);
}
