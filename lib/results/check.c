// SPDX-License-Identifier: MIT
#include "results/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"

typedef struct band {
    const char *metric;
    double low, high;
} band;

typedef struct tally {
    text *out;       // one line per check; NULL if `list` is given
    yaml_node *list; // or one mapping per check
    int checked, outside;
    char first[256]; // the first figure outside its band, for the message
} tally;

static status read_band(const yaml_node *bands, size_t at, band *b, error *err) {
    const yaml_node *pair = bands->items[at];
    b->metric = bands->keys[at];
    if (pair->kind != YAML_SEQUENCE || pair->count != 2)
        return yaml_error(pair, err, "'%s': expected [LOW, HIGH]", b->metric);
    NEED(yaml_number(pair->items[0], b->metric, &b->low, err));
    NEED(yaml_number(pair->items[1], b->metric, &b->high, err));
    if (!(b->low <= b->high))
        return yaml_error(pair, err, "'%s': expected [LOW, HIGH] with LOW not above HIGH",
                          b->metric);
    return STATUS_OK;
}

static void list_value(tally *t, const char *name, const band *b, double value) {
    const bool inside = value >= b->low && value <= b->high;
    yaml_node *entry = yaml_new(YAML_MAPPING);
    char *id = memory_format("%s.%s", name, b->metric);
    yaml_put(entry, "figure", json_new_string(id));
    yaml_put(entry, "value", json_new_number(value));
    yaml_put(entry, "low", json_new_number(b->low));
    yaml_put(entry, "high", json_new_number(b->high));
    yaml_put(entry, "inside", yaml_new_boolean(inside));
    yaml_append(t->list, entry);
    free(id);
}

// `note` qualifies the value: a verdict, SIMULATED; "" if there is none.
static void check_value(tally *t, const char *name, const band *b, double value, const char *note) {
    const bool inside = value >= b->low && value <= b->high;
    const char *gap = *note ? ": " : "";
    t->checked++;
    if (t->list)
        list_value(t, name, b, value);
    else if (isnan(value))
        text_format(t->out, "unknown  %s.%s: no value to compare with [%g, %g]%s%s\n", name,
                    b->metric, b->low, b->high, gap, note);
    else
        text_format(t->out, "%-8s %s.%s = %.6g, expected [%g, %g]%s%s\n",
                    inside ? "inside" : "OUTSIDE", name, b->metric, value, b->low, b->high, gap,
                    note);
    if (inside) return;
    if (!t->outside++) snprintf(t->first, sizeof t->first, "%s.%s", name, b->metric);
}

// Does any run have that metric? A misspelt name must not pass as a missing value.
static bool metric_exists(const results *r, const char *metric) {
    for (size_t i = 0; i < r->figures.count; i++)
        if (strcmp(r->figures.items[i].metric, metric) == 0) return true;
    return false;
}

static status check_band(const results *r, const yaml_node *bands, size_t at, tally *t,
                         error *err) {
    band b;
    NEED(read_band(bands, at, &b, err));
    const figure *one = figures_find(&r->figures, b.metric);
    if (one) {
        b.metric = one->metric;
        check_value(t, one->owner, &b, one->value, one->note);
        return STATUS_OK;
    }
    if (!metric_exists(r, b.metric))
        return yaml_error(bands->items[at], err, "no figure is called '%s'; report.csv lists them",
                          b.metric);
    for (size_t i = r->comparison_count ? 1 : 0; i < r->group_count; i++) {
        const seed_group *g = &r->groups[i];
        const figure *of = figures_of_repeats(&r->figures, g, b.metric);
        check_value(t, g->name, &b, of ? of->value : NAN, of ? of->note : "");
    }
    return STATUS_OK;
}

static status check_bands(const results *r, const char *path, tally t, error *err) {
    yaml_node *bands;
    status rc = yaml_read_file(path, &bands, err);
    if (rc != STATUS_OK) return rc;
    if (bands->kind != YAML_MAPPING) {
        rc = yaml_error(bands, err, "expected 'METRIC: [LOW, HIGH]' lines");
        goto out;
    }
    for (size_t i = 0; i < bands->count; i++)
        if (strcmp(bands->keys[i], "schema") != 0) TRY(check_band(r, bands, i, &t, err));
    if (t.outside)
        rc = error_set(err, STATUS_FINDING, "outside the bands of '%s': %s%s", path, t.first,
                       t.outside > 1 ? " and others" : "");
out:
    yaml_free(bands);
    return rc;
}

status results_check(const results *r, const char *path, text *out, error *err) {
    return check_bands(r, path, (tally){.out = out}, err);
}

status results_check_list(const results *r, const char *path, yaml_node *list, error *err) {
    return check_bands(r, path, (tally){.list = list}, err);
}
