// SPDX-License-Identifier: MIT
#include "pipeline/submission/grade_table.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

const char *grade_verdict(const verification *v) {
    return v->refused ? "refused" : check_outcome_name(verification_outcome(v, CHECK_SUBJECTS));
}

size_t grade_find_copy(const grading *g, const verification *v, size_t from) {
    for (size_t i = from; i < g->count; i++)
        for (size_t k = 0; &g->items[i] != v && k < v->traces.count; k++)
            if (words_has(&g->items[i].traces, v->traces.items[k])) return i;
    return g->count;
}

enum { TABLE_COLUMNS = 100, GAP = 2, LEAST_FOUND = 26, MOST_AUTHOR = 16 };

typedef enum column {
    COLUMN_VERDICT,
    COLUMN_NAME,
    COLUMN_AUTHOR,
    COLUMN_ACCURACY,
    COLUMN_FOUND,
    COLUMNS
} column;

typedef struct table {
    text cells[COLUMNS];
    size_t widths[COLUMNS];
} table;

// Appends the subjects of that outcome: "figures, report".
static void append_subjects(text *out, const verification *v, check_outcome o, const char *before) {
    bool first = true;
    for (int s = 0; s < CHECK_SUBJECTS; s++) {
        if (verification_outcome(v, (check_subject)s) != o) continue;
        text_format(out, "%s%s", !first ? ", " : before, check_subject_name((check_subject)s));
        first = false;
    }
}

static void append_found(text *out, const grading *g, const verification *v) {
    if (v->refused)
        text_append(out, "no submission");
    else
        append_subjects(out, v, CHECK_DIFFERENT, "");
    if (!v->refused)
        append_subjects(out, v, CHECK_NOT_SHOWN, out->length ? "; not shown: " : "not shown: ");
    size_t copies = 0;
    for (size_t i = grade_find_copy(g, v, 0); i < g->count; i = grade_find_copy(g, v, i + 1))
        copies++;
    if (copies)
        text_format(out, "%ssame execution as %zu other%s", out->length ? "; " : "", copies,
                    copies == 1 ? "" : "s");
}

// "28.40 %", or "28.40–31.20 %" of several runs; in brackets, if it is only recorded.
static void append_accuracy(text *out, const verification *v) {
    if (!v->accuracies) return;
    text_append(out, v->recorded ? "(" : "");
    text_format(out, "%.2f", 100 * v->lowest);
    if (v->highest > v->lowest) text_format(out, "–%.2f", 100 * v->highest);
    text_append(out, v->recorded ? " %)" : " %");
}

static void fill_row(table *t, const grading *g, size_t i) {
    for (int c = 0; c < COLUMNS; c++) t->cells[c].length = 0;
    for (int c = 0; c < COLUMNS; c++) text_append(&t->cells[c], "");
    if (i >= g->count) {
        text_append(&t->cells[COLUMN_VERDICT], "not graded");
        text_append(&t->cells[COLUMN_NAME], g->in->others.items[i - g->count]);
        text_append(&t->cells[COLUMN_FOUND], g->in->reasons.items[i - g->count]);
        return;
    }
    const verification *v = &g->items[i];
    text_append(&t->cells[COLUMN_VERDICT], grade_verdict(v));
    text_append(&t->cells[COLUMN_NAME], v->archive);
    text_append(&t->cells[COLUMN_AUTHOR], v->author ? v->author : "");
    append_accuracy(&t->cells[COLUMN_ACCURACY], v);
    append_found(&t->cells[COLUMN_FOUND], g, v);
}

// Returns where the last `columns` columns of the string begin.
static const char *tail_of(const char *string, size_t columns) {
    while (text_columns(string) > columns) {
        string++;
        while ((*string & 0xC0) == 0x80) string++;
    }
    return string;
}

// Prints a cell in its width. Of a longer one, the end counts: the student's folder, the file.
static void print_cell(const char *string, size_t width) {
    const bool fits = text_columns(string) <= width;
    const char *shown = fits ? string : tail_of(string, width - 1);
    const size_t columns = text_columns(shown) + !fits;
    printf("%s%s%*s", fits ? "" : "…", shown, (int)(width - columns), "");
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
    print_found(text_string(&t->cells[COLUMN_FOUND]), TABLE_COLUMNS - margin, margin);
    putchar('\n');
}

// The widths of the columns: a column that all rows leave empty has none.
static void measure(table *t, const grading *g, const char *const titles[]) {
    size_t others = 0;
    for (size_t i = 0; i < g->count + g->in->others.count; i++) {
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
    const size_t most = TABLE_COLUMNS - LEAST_FOUND - GAP - others;
    if (t->widths[COLUMN_NAME] > most) t->widths[COLUMN_NAME] = most;
}

void grade_print_rows(const grading *g) {
    static const char *const titles[COLUMNS] = {"verdict", "submission", "author", "accuracy",
                                                "found"};
    table t = {0};
    for (int c = 0; c < COLUMNS; c++) text_init(&t.cells[c]);
    measure(&t, g, titles);
    for (int c = 0; c < COLUMNS; c++) {
        t.cells[c].length = 0;
        text_append(&t.cells[c], titles[c]);
    }
    print_row(&t);
    for (size_t i = 0; i < g->count + g->in->others.count; i++) {
        fill_row(&t, g, i);
        print_row(&t);
    }
    for (int c = 0; c < COLUMNS; c++) text_release(&t.cells[c]);
}
