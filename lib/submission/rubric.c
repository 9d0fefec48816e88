// SPDX-License-Identifier: MIT
#include "submission/rubric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/printed.h"
#include "base/yaml_tree.h"

static const char SCHEMA[] = "lockstep.rubric/1";
static const double MOST_POINTS = 1e6;

static status read_points(const yaml_node *node, const char *key, double *points, error *err) {
    NEED(yaml_number(node, key, points, err));
    if (fabs(*points) <= MOST_POINTS) return STATUS_OK;
    return yaml_error(node, err, "'%s': expected points of at most %g", key, MOST_POINTS);
}

// `files: 10` is of what is equal; a mapping has the points of each outcome.
static status read_subject(const yaml_node *node, const char *subject, double *points, error *err) {
    const char *outcomes[CHECK_OUTCOMES];
    if (node->kind != YAML_MAPPING) return read_points(node, subject, &points[CHECK_EQUAL], err);
    for (int o = 0; o < CHECK_OUTCOMES; o++) outcomes[o] = check_outcome_name((check_outcome)o);
    NEED(yaml_check_keys(node, outcomes, CHECK_OUTCOMES, err));
    for (int o = 0; o < CHECK_OUTCOMES; o++) {
        const yaml_node *value = yaml_find(node, outcomes[o]);
        if (value) NEED(read_points(value, outcomes[o], &points[o], err));
    }
    return STATUS_OK;
}

static status read_checks(const yaml_node *checks, rubric *r, error *err) {
    const char *subjects[CHECK_SUBJECTS];
    for (int s = 0; s < CHECK_SUBJECTS; s++) subjects[s] = check_subject_name((check_subject)s);
    if (checks->kind != YAML_MAPPING)
        return yaml_error(checks, err, "'checks': expected a mapping, such as {test: 20}");
    NEED(yaml_check_keys(checks, subjects, CHECK_SUBJECTS, err));
    for (int s = 0; s < CHECK_SUBJECTS; s++) {
        const yaml_node *value = yaml_find(checks, subjects[s]);
        if (value) NEED(read_subject(value, subjects[s], r->checks[s], err));
    }
    return STATUS_OK;
}

// An accuracy as people write it: 65%, 65 or 0.65.
static status read_least(const yaml_node *node, double *least, error *err) {
    printed_figure p;
    const bool number = node && node->kind == YAML_SCALAR &&
                        printed_read(node->text, PRINTED_PERCENT, &p) && p.value <= 100;
    if (!number) return yaml_error(node, err, "'least': expected an accuracy: 65%% or 0.65");
    *least = p.value <= 1 && !p.has_unit ? p.value : p.value / 100;
    return STATUS_OK;
}

static status read_accuracies(const yaml_node *list, rubric *r, error *err) {
    static const char *const keys[] = {"least", "points"};
    if (list->kind != YAML_SEQUENCE || list->count > RUBRIC_ACCURACIES)
        return yaml_error(list, err, "'accuracy': expected a list of at most %d {least, points}",
                          RUBRIC_ACCURACIES);
    for (size_t i = 0; i < list->count; i++) {
        const yaml_node *step = list->items[i], *points;
        if (step->kind != YAML_MAPPING || !yaml_find(step, "least") ||
            !(points = yaml_find(step, "points")))
            return yaml_error(step, err, "'accuracy': expected {least: 65%%, points: 10}");
        NEED(yaml_check_keys(step, keys, 2, err));
        NEED(read_least(yaml_find(step, "least"), &r->accuracies[i].least, err));
        NEED(read_points(points, "points", &r->accuracies[i].points, err));
        r->accuracy_count++;
    }
    return STATUS_OK;
}

static status read_rubric(const yaml_node *root, rubric *r, error *err) {
    static const char *const keys[] = {"schema", "checks", "accuracy", "same_execution"};
    if (root->kind != YAML_MAPPING || strcmp(yaml_text_at(root, "schema"), SCHEMA) != 0)
        return yaml_error(root, err, "no rubric: it begins with 'schema: %s'", SCHEMA);
    NEED(yaml_check_keys(root, keys, sizeof keys / sizeof *keys, err));
    const yaml_node *checks = yaml_find(root, "checks"), *list = yaml_find(root, "accuracy");
    const yaml_node *copied = yaml_find(root, "same_execution");
    if (checks) NEED(read_checks(checks, r, err));
    if (list) NEED(read_accuracies(list, r, err));
    if (copied) NEED(read_points(copied, "same_execution", &r->same_execution, err));
    return STATUS_OK;
}

status rubric_read(const char *path, rubric *r, error *err) {
    yaml_node *root = NULL;
    *r = (rubric){0};
    status rc = yaml_read_file(path, &root, err);
    if (rc == STATUS_OK) rc = read_rubric(root, r, err);
    yaml_free(root);
    return rc;
}

double rubric_points(const rubric *r, const verification *v, bool copied) {
    double points = copied ? r->same_execution : 0, highest = 0;
    size_t reached = r->accuracy_count;
    if (v->refused || v->ungraded) return NAN;
    for (int s = 0; s < CHECK_SUBJECTS; s++)
        points += r->checks[s][verification_outcome(v, (check_subject)s)];
    for (size_t i = 0; i < r->accuracy_count && v->accuracies && !v->recorded; i++) {
        const double least = r->accuracies[i].least;
        if (v->highest < least || (reached < r->accuracy_count && least < highest)) continue;
        reached = i;
        highest = least;
    }
    if (reached < r->accuracy_count) points += r->accuracies[reached].points;
    return fmax(0, points);
}
