// SPDX-License-Identifier: MIT
#include "submission/grade.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/printable.h"
#include "base/text.h"
#include "pipeline/data_stages.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_runs.h"
#include "submission/handed_in.h"
#include "submission/replay.h"
#include "submission/verify.h"

// Many verified submissions.
typedef struct grading {
    verification *items;
    size_t count;
    const handed_in *in;
    strvec names; // of the folders below ARTIFACTS/verified
    uint64_t choice;
} grading;

// Adds a name that no archive before it has.
static void add_name(grading *g, const char *archive) {
    char *base = handed_in_folder_name(archive), *name = memory_string(base);
    for (int number = 2; strvec_has(&g->names, name); number++) {
        free(name);
        name = memory_format("%s-%d", base, number);
    }
    strvec_add(&g->names, name);
    free(name);
    free(base);
}

// ---- Comparing submissions ----

// "refused", or the outcome of all checks.
static const char *verdict_of(const verification *v) {
    return v->refused ? "refused" : check_outcome_name(verification_outcome(v, CHECK_SUBJECTS));
}

// Returns the next submission after `from` that has a trace of `v`; g->count if there is none.
static size_t find_copy(const grading *g, const verification *v, size_t from) {
    for (size_t i = from; i < g->count; i++)
        for (size_t k = 0; &g->items[i] != v && k < v->traces.count; k++)
            if (strvec_has(&g->items[i].traces, v->traces.items[k])) return i;
    return g->count;
}

// How many submissions have which outcome.
typedef struct tally {
    size_t compared, different, refused, ungraded;
    size_t failed; // a check of them failed at run time
} tally;

static tally count_outcomes(const grading *g) {
    tally t = {.ungraded = g->in->others.count};
    for (size_t i = 0; i < g->count; i++) {
        const verification *v = &g->items[i];
        t.failed += v->failed;
        t.refused += v->refused != NULL;
        t.compared += !v->refused;
        t.different += !v->refused && verification_outcome(v, CHECK_SUBJECTS) == CHECK_DIFFERENT;
    }
    return t;
}

// What is no submission contradicts nothing, so it is counted by itself.
static void append_tally(text *out, const tally *t) {
    if (t->failed)
        text_format(out, "%zu of %zu submissions: a check failed, and was not made; ", t->failed,
                    t->compared);
    text_format(out, "%zu of %zu submissions contradict%s files; %zu refused, %zu not graded",
                t->different, t->compared, t->different == 1 ? "s its" : " their", t->refused,
                t->ungraded);
}

// STATUS_FAILED if a check could not be made, STATUS_FINDING if a submission was refuted,
// STATUS_INPUT if one was refused. Otherwise, and without --json, the counts end the output.
static status conclude(const pipeline *p, const grading *g, error *err) {
    const tally t = count_outcomes(g);
    text closing = {0};
    status rc = t.failed      ? STATUS_FAILED
                : t.different ? STATUS_FINDING
                : t.refused   ? STATUS_INPUT
                              : STATUS_OK;
    append_tally(&closing, &t);
    if (rc == STATUS_FINDING && p->settings->command == COMMAND_VERIFY)
        rc = error_set(err, rc, "'%s' contradicts its files", g->items[0].archive);
    else if (rc != STATUS_OK)
        rc = error_set(err, rc, "%s", text_string(&closing));
    else if (!p->json && p->settings->command == COMMAND_GRADE)
        puts(text_string(&closing));
    text_release(&closing);
    return rc;
}

// ---- The rows of a table ----

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
    if (v->own_page) text_format(out, "%sown page", out->length ? "; " : "");
    if (v->beside.count)
        text_format(out, "%s%zu file%s beside it", out->length ? "; " : "", v->beside.count,
                    v->beside.count == 1 ? "" : "s");
    size_t copies = 0;
    for (size_t i = find_copy(g, v, 0); i < g->count; i = find_copy(g, v, i + 1)) copies++;
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
    text_append(&t->cells[COLUMN_VERDICT], verdict_of(v));
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

// Prints verdict, submission, author, accuracy and what was found of each, in 100 columns, and then
// what was not graded.
static void print_rows(const grading *g) {
    static const char *const titles[COLUMNS] = {"verdict", "submission", "author", "accuracy",
                                                "found"};
    table t = {0};
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

// ---- As text ----

static void print_checks(const verification *v) {
    for (size_t i = 0; i < v->count; i++)
        printf("%-11s %-10s %s\n", check_subject_name(v->checks[i].subject),
               check_outcome_name(v->checks[i].outcome), v->checks[i].text);
}

// Of many, the first: an archive of a whole folder may have thousands.
static void print_beside(const verification *v) {
    if (v->beside.count)
        printf("%s: beside the submission in it, not read: %s%s\n", v->archive, v->beside.items[0],
               v->beside.count > 1 ? ", …" : "");
}

static void print_one(const grading *g) {
    const verification *v = &g->items[0];
    print_checks(v);
    print_beside(v);
    printf("%-11s %-10s who trained the models, and how long it took\n", "origin", "not shown");
    if (v->report) printf("the report, made again: %s\n", v->report);
    if (v->own_page) printf("by its author's own templates: %s\n", v->own_page);
    printf("segments chosen by SEED=%llu\n", (unsigned long long)g->choice);
    printf("%s: %s\n", v->archive, check_outcome_name(verification_outcome(v, CHECK_SUBJECTS)));
}

static void print_copies(const grading *g, const verification *v) {
    const char *before = ": same execution as ";
    const size_t first = find_copy(g, v, 0);
    if (first < g->count) fputs(v->archive, stdout);
    for (size_t i = first; i < g->count; i = find_copy(g, v, i + 1)) {
        printf("%s%s", before, g->items[i].archive);
        before = ", ";
    }
    if (first < g->count) putchar('\n');
}

// The table, and then every finding.
static void print_table(const grading *g) {
    bool recorded = false;
    print_rows(g);
    for (size_t i = 0; i < g->count; i++) {
        const verification *v = &g->items[i];
        recorded = recorded || v->recorded;
        if (v->refused) printf("%s: refused: %s\n", v->archive, v->refused);
        for (size_t k = 0; k < v->count; k++)
            if (v->checks[k].outcome == CHECK_DIFFERENT)
                printf("%s: %s: %s\n", v->archive, check_subject_name(v->checks[k].subject),
                       v->checks[k].text);
        print_beside(v);
        print_copies(g, v);
    }
    if (recorded) puts("(accuracy): as recorded; its model was not tested again");
    printf("not shown: who trained the models, and how long it took; segments chosen by "
           "SEED=%llu\n",
           (unsigned long long)g->choice);
}

// ---- As JSON ----

static void put_checks(yaml_node *object, const verification *v) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    yaml_put(object, "checks", list);
    for (size_t i = 0; i < v->count; i++) {
        const check *one = &v->checks[i];
        yaml_node *item = yaml_new(YAML_MAPPING);
        yaml_append(list, item);
        yaml_put(item, "subject", json_new_string(check_subject_name(one->subject)));
        yaml_put(item, "outcome", json_new_string(check_outcome_name(one->outcome)));
        yaml_put(item, "text", json_new_string(one->text));
    }
}

static void put_copies(yaml_node *object, const grading *g, const verification *v) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    yaml_put(object, "same_execution", list);
    for (size_t i = find_copy(g, v, 0); i < g->count; i = find_copy(g, v, i + 1))
        yaml_append(list, json_new_string(g->items[i].archive));
}

// "accuracy": [lowest, highest], a fraction.
static void put_accuracy(yaml_node *object, const verification *v) {
    if (!v->accuracies) return;
    yaml_node *ends = yaml_new(YAML_SEQUENCE);
    yaml_put(object, v->recorded ? "accuracy_recorded" : "accuracy", ends);
    yaml_append(ends, yaml_new_number(v->lowest));
    yaml_append(ends, yaml_new_number(v->highest));
}

// "beside": [PATH, …], in the archive.
static void put_beside(yaml_node *object, const verification *v) {
    if (!v->beside.count) return;
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    yaml_put(object, "beside", list);
    for (size_t i = 0; i < v->beside.count; i++)
        yaml_append(list, json_new_string(v->beside.items[i]));
}

static void put_others(yaml_node *list, const handed_in *in) {
    for (size_t i = 0; i < in->others.count; i++) {
        yaml_node *item = yaml_new(YAML_MAPPING);
        yaml_append(list, item);
        yaml_put(item, "submission", json_new_string(in->others.items[i]));
        yaml_put(item, "outcome", json_new_string("not graded"));
        yaml_put(item, "refused", json_new_string(in->reasons.items[i]));
    }
}

static status print_json(const grading *g, error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < g->count; i++) {
        const verification *v = &g->items[i];
        yaml_node *item = yaml_new(YAML_MAPPING);
        yaml_append(list, item);
        yaml_put(item, "submission", json_new_string(v->archive));
        yaml_put(item, "outcome", json_new_string(verdict_of(v)));
        if (v->author) yaml_put(item, "author", json_new_string(v->author));
        put_accuracy(item, v);
        if (v->refused) yaml_put(item, "refused", json_new_string(v->refused));
        if (v->report) yaml_put(item, "report", json_new_string(v->report));
        if (v->own_page) yaml_put(item, "own_page", json_new_string(v->own_page));
        put_beside(item, v);
        put_checks(item, v);
        put_copies(item, g, v);
    }
    put_others(list, g->in);
    return json_answer(list, err);
}

// ---- The commands ----

static status draw_choice(const pipeline *p, uint64_t *choice, error *err) {
    const char *given = p->settings->values[SETTING_SEED];
    if (!given) return replay_draw_seed(choice, err);
    *choice = strtoull(given, NULL, 10);
    return STATUS_OK;
}

// The table is printed when all are verified; until then, a line for each shows the progress.
static status verify_all(pipeline *p, const strvec *archives, grading *g, error *err) {
    NEED(draw_choice(p, &g->choice, err));
    g->items = memory_new(archives->count, sizeof *g->items);
    for (size_t i = 0; i < archives->count; i++) {
        add_name(g, archives->items[i]);
        if (archives->count > 1)
            log_info(p->log, "%zu of %zu: %s", i + 1, archives->count, archives->items[i]);
        NEED(
            verify_archive(p, archives->items[i], g->names.items[i], g->choice, &g->items[i], err));
        g->count++;
    }
    return STATUS_OK;
}

static void release(grading *g) {
    for (size_t i = 0; i < g->count; i++) verification_release(&g->items[i]);
    free(g->items);
    strvec_release(&g->names);
}

static status verify_and_print(pipeline *p, const handed_in *in, void (*print)(const grading *),
                               error *err) {
    grading g = {.in = in};
    status rc;
    TRY(own_data_check(p->settings, err));
    work_remove_old(p);
    TRY(verify_all(p, &in->archives, &g, err));
    if (g.count == 1 && !in->others.count && g.items[0].refused)
        TRY(error_set(err, STATUS_INPUT, "%s", g.items[0].refused));
    if (p->json)
        TRY(print_json(&g, err));
    else
        print(&g);
    rc = conclude(p, &g, err);
out:
    release(&g);
    return rc;
}

status submission_verify(pipeline *p, error *err) {
    const handed_in in = {.archives = p->settings->names};
    return verify_and_print(p, &in, print_one, err);
}

status submission_grade(pipeline *p, error *err) {
    handed_in in = {0};
    char *verified = memory_format("%s/verified", p->artifacts);
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < p->settings->names.count; i++)
        rc = handed_in_look(&in, p->settings->names.items[i], verified, err);
    for (size_t i = 0; i < in.others.count; i++) (void)printable(in.others.items[i], true);
    if (rc == STATUS_OK) rc = verify_and_print(p, &in, print_table, err);
    handed_in_release(&in);
    free(verified);
    return rc;
}
