// SPDX-License-Identifier: MIT
// The commands `verify` and `grade`: submissions are verified one after another, and compared with
// each other.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/printable.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_run.h"
#include "pipeline/replay/replay.h"
#include "pipeline/submission/grade_table.h"
#include "pipeline/work.h"

// Adds a name that no archive before it has.
static status add_name(grading *g, const char *archive) {
    char *name = handed_in_folder_name(archive);
    status rc = STATUS_OK;
    for (int number = 2; rc == STATUS_OK && words_has(&g->names, name); number++) {
        char *base = handed_in_folder_name(archive);
        free(name);
        name = base ? memory_format("%s-%d", base, number) : NULL;
        free(base);
        if (!name) rc = STATUS_FAILED;
    }
    if (rc == STATUS_OK) words_add(&g->names, name);
    free(name);
    return rc;
}

// ---- Comparing submissions ----

// STATUS_FAILED if a check could not be made, STATUS_FINDING if a submission was refuted or
// refused.
static status conclude(const grading *g, error *err) {
    size_t refuted = 0, failed = 0;
    for (size_t i = 0; i < g->count; i++) {
        const verification *v = &g->items[i];
        failed += v->failed;
        refuted += v->refused || verification_outcome(v, CHECK_SUBJECTS) == CHECK_DIFFERENT;
    }
    if (failed)
        return error_set(err, STATUS_FAILED,
                         "%zu of %zu submissions: a check failed, and was not made", failed,
                         g->count);
    if (!refuted) return STATUS_OK;
    if (g->count == 1)
        return error_set(err, STATUS_FINDING, "'%s' contradicts its files", g->items[0].archive);
    return error_set(err, STATUS_FINDING, "%zu of %zu submissions contradict their files", refuted,
                     g->count);
}

// ---- As text ----

static void print_checks(const verification *v) {
    for (size_t i = 0; i < v->count; i++)
        printf("%-11s %-10s %s\n", check_subject_name(v->checks[i].subject),
               check_outcome_name(v->checks[i].outcome), v->checks[i].text);
}

static void print_one(const grading *g) {
    const verification *v = &g->items[0];
    print_checks(v);
    printf("%-11s %-10s who trained the models, and how long it took\n", "origin", "not shown");
    if (v->report) printf("the report, made again: %s\n", v->report);
    printf("segments chosen by SEED=%llu\n", (unsigned long long)g->choice);
    printf("%s: %s\n", v->archive, check_outcome_name(verification_outcome(v, CHECK_SUBJECTS)));
}

static void print_copies(const grading *g, const verification *v) {
    const char *before = ": same execution as ";
    const size_t first = grade_find_copy(g, v, 0);
    if (first < g->count) fputs(v->archive, stdout);
    for (size_t i = first; i < g->count; i = grade_find_copy(g, v, i + 1)) {
        printf("%s%s", before, g->items[i].archive);
        before = ", ";
    }
    if (first < g->count) putchar('\n');
}

// The table, and then every finding.
static void print_table(const grading *g) {
    bool recorded = false;
    grade_print_rows(g);
    for (size_t i = 0; i < g->count; i++) {
        const verification *v = &g->items[i];
        recorded = recorded || v->recorded;
        if (v->refused) printf("%s: refused: %s\n", v->archive, v->refused);
        for (size_t k = 0; k < v->count; k++)
            if (v->checks[k].outcome == CHECK_DIFFERENT)
                printf("%s: %s: %s\n", v->archive, check_subject_name(v->checks[k].subject),
                       v->checks[k].text);
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
    for (size_t i = grade_find_copy(g, v, 0); i < g->count; i = grade_find_copy(g, v, i + 1))
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
    status rc = STATUS_OK;
    for (size_t i = 0; i < g->count; i++) {
        const verification *v = &g->items[i];
        yaml_node *item = yaml_new(YAML_MAPPING);
        yaml_append(list, item);
        yaml_put(item, "submission", json_new_string(v->archive));
        yaml_put(item, "outcome", json_new_string(grade_verdict(v)));
        if (v->author) yaml_put(item, "author", json_new_string(v->author));
        put_accuracy(item, v);
        if (v->refused) yaml_put(item, "refused", json_new_string(v->refused));
        if (v->report) yaml_put(item, "report", json_new_string(v->report));
        put_checks(item, v);
        put_copies(item, g, v);
    }
    put_others(list, g->in);
    rc = json_print(list, err);
    yaml_free(list);
    return rc;
}

// ---- The commands ----

static status draw_choice(const pipeline *p, uint64_t *choice, error *err) {
    const char *given = p->settings->values[SETTING_SEED];
    if (!given) return replay_draw_seed(choice, err);
    *choice = strtoull(given, NULL, 10);
    return STATUS_OK;
}

// The table is printed when all are verified; until then, a line for each shows the progress.
static status verify_all(pipeline *p, const words *archives, grading *g, error *err) {
    status rc;
    TRY(draw_choice(p, &g->choice, err));
    g->items = memory_new(archives->count, sizeof *g->items);
    for (size_t i = 0; i < archives->count; i++) {
        TRY(add_name(g, archives->items[i]));
        if (archives->count > 1)
            log_info(p->log, "%zu of %zu: %s", i + 1, archives->count, archives->items[i]);
        TRY(verify_archive(p, archives->items[i], g->names.items[i], g->choice, &g->items[i], err));
        g->count++;
    }
out:
    return rc;
}

static void release(grading *g) {
    for (size_t i = 0; i < g->count; i++) verification_release(&g->items[i]);
    free(g->items);
    words_release(&g->names);
}

static status verify_and_print(pipeline *p, const handed_in *in, void (*print)(const grading *),
                               error *err) {
    grading g = {.in = in};
    status rc;
    TRY(data_check_own(p, err));
    work_remove_old(p);
    TRY(verify_all(p, &in->archives, &g, err));
    if (g.count == 1 && !in->others.count && g.items[0].refused)
        TRY(error_set(err, STATUS_INPUT, "%s", g.items[0].refused));
    if (p->json)
        TRY(print_json(&g, err));
    else
        print(&g);
    rc = conclude(&g, err);
out:
    release(&g);
    return rc;
}

status pipeline_verify(pipeline *p, error *err) {
    const handed_in in = {.archives = p->settings->names};
    return verify_and_print(p, &in, print_one, err);
}

status pipeline_grade(pipeline *p, error *err) {
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
