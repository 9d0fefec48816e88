// SPDX-License-Identifier: MIT
#include "submission/grade.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/named_files.h"
#include "base/output.h"
#include "base/printable.h"
#include "base/text.h"
#include "pipeline/data_stages.h"
#include "pipeline/owned_names.h"
#include "pipeline/pipeline.h"
#include "submission/grading.h"
#include "submission/handed_in.h"
#include "submission/replay.h"
#include "submission/verify.h"
#include "submission/verify_apart.h"

// ---- Rows ----

size_t grading_rows(const grading *g) {
    return g->count + g->in->others.count;
}

const char *grading_verdict(const grading *g, size_t row) {
    return row < g->count ? verification_verdict(&g->items[row]) : "not graded";
}

double grading_points(const grading *g, size_t row) {
    if (row >= g->count || !g->rubric) return (double)NAN;
    const verification *v = &g->items[row];
    return rubric_points(g->rubric, v, grading_find_copy(g, v, 0) < g->count);
}

size_t grading_find_copy(const grading *g, const verification *v, size_t from) {
    for (size_t i = from; i < g->count; i++)
        for (size_t k = 0; &g->items[i] != v && k < v->traces.count; k++)
            if (strvec_has(&g->items[i].traces, v->traces.items[k])) return i;
    return g->count;
}

// Appends the subjects of that outcome: "figures, report".
static void append_subjects(text *out, const verification *v, check_outcome o, const char *before) {
    bool first = true;
    for (int s = 0; s < CHECK_SUBJECTS; s++) {
        if (verification_outcome(v, (check_subject)s) != o) continue;
        text_format(out, "%s%s", !first ? ", " : before, check_subject_name((check_subject)s));
        first = false;
    }
}

void grading_append_found(const grading *g, size_t row, text *out) {
    if (row >= g->count) {
        text_append(out, g->in->reasons.items[row - g->count]);
        return;
    }
    const verification *v = &g->items[row];
    if (v->refused || v->ungraded) {
        text_append(out, v->ungraded ? v->ungraded : "no submission");
        return;
    }
    append_subjects(out, v, CHECK_DIFFERENT, "");
    append_subjects(out, v, CHECK_NOT_SHOWN, out->length ? "; not shown: " : "not shown: ");
    if (v->own_page) text_format(out, "%sown page", out->length ? "; " : "");
    if (v->beside.count)
        text_format(out, "%s%zu file%s beside it", out->length ? "; " : "", v->beside.count,
                    v->beside.count == 1 ? "" : "s");
    size_t copies = 0;
    for (size_t i = grading_find_copy(g, v, 0); i < g->count; i = grading_find_copy(g, v, i + 1))
        copies++;
    if (copies)
        text_format(out, "%ssame execution as %zu other%s", out->length ? "; " : "", copies,
                    copies == 1 ? "" : "s");
}

// ---- The closing line ----

// How many submissions have which outcome.
typedef struct tally {
    size_t compared, different, refused, ungraded;
    size_t failed; // a check of them failed at run time
} tally;

static tally count_outcomes(const grading *g) {
    tally t = {.ungraded = g->in->others.count};
    for (size_t i = 0; i < g->count; i++) {
        const verification *v = &g->items[i];
        const bool compared = !v->refused && !v->ungraded;
        t.failed += v->failed;
        t.refused += v->refused != NULL;
        t.ungraded += v->ungraded != NULL;
        t.compared += compared;
        t.different += compared && verification_outcome(v, CHECK_SUBJECTS) == CHECK_DIFFERENT;
    }
    return t;
}

// What is no submission contradicts nothing, so it is counted by itself.
static void append_tally(text *out, const tally *t) {
    if (t->failed) text_format(out, "a check failed, and was not made, of %zu; ", t->failed);
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

// ---- As text ----

static void print_checks(const verification *v) {
    for (size_t i = 0; i < v->count; i++)
        printf("%-11s %-10s %s\n", check_subject_name(v->checks[i].subject),
               check_outcome_name(v->checks[i].outcome), v->checks[i].text);
}

// Of many, the first: an archive of a whole folder may have thousands.
static void print_beside(const char *name, const verification *v) {
    if (v->beside.count)
        printf("%s: beside the submission in it, not read: %s%s\n", name, v->beside.items[0],
               v->beside.count > 1 ? ", …" : "");
}

static void print_one(const pipeline *p, const grading *g) {
    (void)p;
    const verification *v = &g->items[0];
    print_checks(v);
    print_beside(v->archive, v);
    printf("%-11s %-10s who trained the models, and how long it took\n", "origin", "not shown");
    if (v->report) printf("the report, made again: %s\n", v->report);
    if (v->own_page) printf("by its author's own templates: %s\n", v->own_page);
    printf("segments chosen by SEED=%llu\n", (unsigned long long)g->choice);
    printf("%s: %s\n", v->archive, check_outcome_name(verification_outcome(v, CHECK_SUBJECTS)));
}

static void print_copies(const grading *g, size_t row) {
    const char *before = ": same execution as ";
    const verification *v = &g->items[row];
    const size_t first = grading_find_copy(g, v, 0);
    if (first < g->count) fputs(g->names.items[row], stdout);
    for (size_t i = first; i < g->count; i = grading_find_copy(g, v, i + 1)) {
        printf("%s%s", before, g->names.items[i]);
        before = ", ";
    }
    if (first < g->count) putchar('\n');
}

// Every finding about a submission, each on a line that begins with its name.
static void print_findings(const grading *g, size_t row) {
    const char *name = g->names.items[row];
    const verification *v = &g->items[row];
    if (v->refused) printf("%s: refused: %s\n", name, v->refused);
    for (size_t k = 0; k < v->count; k++)
        if (v->checks[k].outcome == CHECK_DIFFERENT)
            printf("%s: %s: %s\n", name, check_subject_name(v->checks[k].subject),
                   v->checks[k].text);
    print_beside(name, v);
    print_copies(g, row);
}

// The table, and then every finding.
static void print_table(const pipeline *p, const grading *g) {
    bool recorded = false, reports = false;
    grading_print_rows(g);
    for (size_t i = 0; i < g->count; i++) {
        print_findings(g, i);
        recorded = recorded || g->items[i].recorded;
        reports = reports || g->items[i].report;
    }
    if (recorded) puts("(accuracy): as recorded; its model was not tested again");
    if (reports)
        printf("the reports, made again: %s/" HANDED_IN_GRADED ", a folder for each\n",
               p->artifacts);
    printf("not shown: who trained the models, and how long it took; segments chosen by "
           "SEED=%llu\n",
           (unsigned long long)g->choice);
}

// ---- As JSON ----

static void put_copies(yaml_node *object, const grading *g, const verification *v) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    yaml_put(object, "same_execution", list);
    for (size_t i = grading_find_copy(g, v, 0); i < g->count; i = grading_find_copy(g, v, i + 1))
        yaml_append(list, json_new_string(g->items[i].archive));
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
        yaml_node *item = verification_to_tree(&g->items[i]);
        yaml_append(list, item);
        yaml_remove(item, "traces");
        yaml_remove(item, "failed");
        put_copies(item, g, &g->items[i]);
        if (g->rubric) yaml_put(item, "points", json_new_number(grading_points(g, i)));
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

// Returns the folder below ARTIFACTS for the copy of a submission: "graded/Li_Ming". It belongs to
// the file or folder that was handed in (owned_names.h): one of the same name gets another, and so
// does one in `others`.
static char *take_folder(const pipeline *p, const strvec *others, owned_names *owned,
                         const char *name, const char *archive) {
    const bool verify = p->settings->command == COMMAND_VERIFY;
    const char *place = verify ? HANDED_IN_VERIFIED : HANDED_IN_GRADED;
    char *base = handed_in_folder_name(name);
    char *folder = memory_format("%s/%s", place, base);
    strvec files = {0};
    for (int number = 2; strvec_has(others, folder); number++) {
        free(folder);
        folder = memory_format("%s/%s-%d", place, base, number);
    }
    strvec_add(&files, archive);
    folder = owned_names_take(p, owned, folder, &files);
    strvec_release(&files);
    free(base);
    return folder;
}

static status verify_one(pipeline *p, grading *g, size_t i, strvec *folders, error *err) {
    const char *archive = g->in->archives.items[i];
    owned_names owned = {0};
    verification *v = &g->items[i];
    char *folder = take_folder(p, folders, &owned, g->names.items[i], archive);
    status rc = p->settings->command == COMMAND_GRADE
                    ? verify_apart(p, archive, folder, g->choice, p->settings->time_limit, v, err)
                    : verify_archive(p, archive, folder, g->choice, v, err);
    strvec_add(folders, folder);
    if (rc == STATUS_OK && !v->refused && !v->ungraded) owned_names_keep(p, &owned);
    owned_names_release(&owned);
    free(folder);
    return rc;
}

// The table is printed when all are verified; until then, a line for each shows the progress.
static status verify_all(pipeline *p, grading *g, error *err) {
    const size_t count = g->in->archives.count;
    strvec folders = {0};
    status rc = draw_choice(p, &g->choice, err);
    g->items = memory_new(count, sizeof *g->items);
    for (; rc == STATUS_OK && g->count < count; g->count += rc == STATUS_OK) {
        if (count > 1)
            log_info(p->log, "%zu of %zu: %s", g->count + 1, count, g->names.items[g->count]);
        rc = verify_one(p, g, g->count, &folders, err);
    }
    strvec_release(&folders);
    return rc;
}

static void release(grading *g) {
    for (size_t i = 0; i < g->in->archives.count && g->items; i++)
        verification_release(&g->items[i]);
    free(g->items);
    strvec_release(&g->names);
}

// Before anything is verified.
static status check_csv(const pipeline *p, const handed_in *in, error *err) {
    const named_file csv = {"CSV", p->settings->values[SETTING_CSV]};
    if (!csv.path) return STATUS_OK;
    for (size_t i = 0; i < in->archives.count; i++) {
        const named_file archive = {"SUBMISSIONS", in->archives.items[i]};
        NEED(named_files_check(&archive, 1, &csv, 1, err));
    }
    return output_check_file(csv.path, err);
}

static status verify_and_print(pipeline *p, const handed_in *in, const rubric *r,
                               void (*print)(const pipeline *, const grading *), error *err) {
    const char *csv = p->settings->values[SETTING_CSV];
    grading g = {.in = in, .rubric = r};
    status rc;
    handed_in_names(in, p->settings->names.items[0], &g.names);
    for (size_t i = 0; i < g.names.count; i++) (void)printable(g.names.items[i], true);
    TRY(own_data_check(p->settings, err));
    work_remove_old(p);
    TRY(verify_all(p, &g, err));
    if (csv) TRY(grading_write_csv(&g, csv, err));
    if (g.count == 1 && !in->others.count && g.items[0].refused)
        TRY(error_set(err, STATUS_INPUT, "%s", g.items[0].refused));
    if (p->json)
        TRY(print_json(&g, err));
    else
        print(p, &g);
    rc = conclude(p, &g, err);
out:
    release(&g);
    return rc;
}

status submission_verify(pipeline *p, error *err) {
    const handed_in in = {.archives = p->settings->names};
    return verify_and_print(p, &in, NULL, print_one, err);
}

status submission_grade(pipeline *p, error *err) {
    const char *points = p->settings->values[SETTING_RUBRIC];
    handed_in in = {0};
    rubric r;
    status rc = points ? rubric_read(points, &r, err) : STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < p->settings->names.count; i++)
        rc = handed_in_look(&in, p->settings->names.items[i], p->artifacts, err);
    for (size_t i = 0; i < in.others.count; i++) (void)printable(in.others.items[i], true);
    if (rc == STATUS_OK) rc = check_csv(p, &in, err);
    if (rc == STATUS_OK) rc = verify_and_print(p, &in, points ? &r : NULL, print_table, err);
    handed_in_release(&in);
    return rc;
}
