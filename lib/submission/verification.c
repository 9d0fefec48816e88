// SPDX-License-Identifier: MIT
#include "submission/verification.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/printable.h"

const char *check_subject_name(check_subject s) {
    static const char *const names[CHECK_SUBJECTS] = {
        [CHECK_FILES] = "files",           [CHECK_FIGURES] = "figures", [CHECK_REPORT] = "report",
        [CHECK_EXPERIMENT] = "experiment", [CHECK_DATA] = "data",       [CHECK_TEST] = "test",
        [CHECK_TRAINING] = "training"};
    return names[s];
}

const char *check_outcome_name(check_outcome o) {
    static const char *const names[] = {"equal", "not shown", "different"};
    return names[o];
}

check_outcome verification_outcome(const verification *v, check_subject s) {
    check_outcome heaviest = CHECK_EQUAL;
    for (int k = 0; s == CHECK_SUBJECTS && k < CHECK_SUBJECTS; k++) {
        const check_outcome one = verification_outcome(v, (check_subject)k);
        if (one > heaviest) heaviest = one;
    }
    size_t count = 0;
    for (size_t i = 0; i < v->count; i++) {
        if (v->checks[i].subject != s) continue;
        count++;
        if (v->checks[i].outcome > heaviest) heaviest = v->checks[i].outcome;
    }
    return s != CHECK_SUBJECTS && !count ? CHECK_NOT_SHOWN : heaviest;
}

void verification_add(verification *v, check_subject s, check_outcome o, const char *format, ...) {
    va_list args;
    v->checks = memory_grow(v->checks, &v->capacity, v->count + 1, sizeof *v->checks);
    va_start(args, format);
    char *text = memory_format_list(format, args);
    va_end(args);
    text[printable(text, true)] = 0;
    v->checks[v->count++] = (check){s, o, text};
}

// A child has printed its message itself.
status verification_add_failure(verification *v, check_subject s, status rc, const char *name,
                                const error *why, error *err) {
    const char *text = *why->message ? why->message : "a tool refused it";
    if (rc == STATUS_OK) return rc;
    if (rc == STATUS_STOPPED) return error_set(err, rc, "%s", why->message);
    if (rc == STATUS_FAILED) v->failed = true;
    verification_add(v, s, rc == STATUS_FAILED ? CHECK_NOT_SHOWN : CHECK_DIFFERENT, "%s: %s", name,
                     text);
    return STATUS_OK;
}

void verification_add_accuracy(verification *v, double accuracy, bool again) {
    if (!v->accuracies || accuracy < v->lowest) v->lowest = accuracy;
    if (!v->accuracies || accuracy > v->highest) v->highest = accuracy;
    v->accuracies++;
    v->recorded = v->recorded || !again;
}

const char *verification_verdict(const verification *v) {
    if (v->ungraded) return "not graded";
    return v->refused ? "refused" : check_outcome_name(verification_outcome(v, CHECK_SUBJECTS));
}

// ---- As a tree ----

static void put_text(yaml_node *object, const char *key, const char *text) {
    if (text) yaml_put(object, key, json_new_string(text));
}

static void put_list(yaml_node *object, const char *key, const strvec *texts) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    yaml_put(object, key, list);
    for (size_t i = 0; i < texts->count; i++) yaml_append(list, json_new_string(texts->items[i]));
}

static void put_checks(yaml_node *object, const verification *v) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    yaml_put(object, "checks", list);
    for (size_t i = 0; i < v->count; i++) {
        const check *one = &v->checks[i];
        yaml_node *item = yaml_new(YAML_MAPPING);
        yaml_append(list, item);
        put_text(item, "subject", check_subject_name(one->subject));
        put_text(item, "outcome", check_outcome_name(one->outcome));
        put_text(item, "text", one->text);
    }
}

// "accuracy": [lowest, highest], a fraction.
static void put_accuracy(yaml_node *object, const verification *v) {
    if (!v->accuracies) return;
    yaml_node *ends = yaml_new(YAML_SEQUENCE);
    yaml_put(object, v->recorded ? "accuracy_recorded" : "accuracy", ends);
    yaml_append(ends, yaml_new_number(v->lowest));
    yaml_append(ends, yaml_new_number(v->highest));
}

yaml_node *verification_to_tree(const verification *v) {
    yaml_node *tree = yaml_new(YAML_MAPPING);
    put_text(tree, "submission", v->archive);
    put_text(tree, "outcome", verification_verdict(v));
    put_text(tree, "author", v->author);
    put_text(tree, "student", v->student);
    put_accuracy(tree, v);
    put_text(tree, "refused", v->ungraded ? v->ungraded : v->refused);
    put_text(tree, "report", v->report);
    put_text(tree, "own_page", v->own_page);
    if (v->beside.count) put_list(tree, "beside", &v->beside);
    put_checks(tree, v);
    put_list(tree, "traces", &v->traces);
    if (v->failed) yaml_put(tree, "failed", yaml_new_boolean(true));
    return tree;
}

static char *text_in(const yaml_node *tree, const char *key) {
    return yaml_find(tree, key) ? memory_string(yaml_text_at(tree, key)) : NULL;
}

static void read_list(const yaml_node *tree, const char *key, strvec *texts) {
    const yaml_node *list = yaml_find(tree, key);
    for (size_t i = 0; list && i < list->count; i++) strvec_add(texts, list->items[i]->text);
}

static void read_checks(const yaml_node *tree, verification *v) {
    const yaml_node *list = yaml_find(tree, "checks");
    for (size_t i = 0; list && i < list->count; i++) {
        const yaml_node *item = list->items[i];
        int subject = 0, outcome = 0;
        while (strcmp(check_subject_name((check_subject)subject), yaml_text_at(item, "subject")) !=
               0)
            subject++;
        while (strcmp(check_outcome_name((check_outcome)outcome), yaml_text_at(item, "outcome")) !=
               0)
            outcome++;
        verification_add(v, (check_subject)subject, (check_outcome)outcome, "%s",
                         yaml_text_at(item, "text"));
    }
}

verification verification_of_tree(const yaml_node *tree) {
    verification v = {.recorded = yaml_find(tree, "accuracy_recorded") != NULL,
                      .failed = yaml_find(tree, "failed") != NULL};
    const char *accuracy = v.recorded ? "accuracy_recorded" : "accuracy";
    const yaml_node *ends = yaml_find(tree, accuracy);
    v.archive = text_in(tree, "submission");
    v.author = text_in(tree, "author");
    v.student = text_in(tree, "student");
    v.refused = text_in(tree, "refused");
    v.report = text_in(tree, "report");
    v.own_page = text_in(tree, "own_page");
    if (ends) {
        v.accuracies = 1;
        v.lowest = strtod(ends->items[0]->text, NULL);
        v.highest = strtod(ends->items[1]->text, NULL);
    }
    read_list(tree, "beside", &v.beside);
    read_list(tree, "traces", &v.traces);
    read_checks(tree, &v);
    return v;
}

void verification_release(verification *v) {
    for (size_t i = 0; i < v->count; i++) free(v->checks[i].text);
    free(v->checks);
    free(v->archive);
    free(v->author);
    free(v->student);
    free(v->report);
    free(v->own_page);
    free(v->refused);
    free(v->ungraded);
    strvec_release(&v->traces);
    strvec_release(&v->beside);
    *v = (verification){0};
}
