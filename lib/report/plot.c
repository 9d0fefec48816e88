// SPDX-License-Identifier: MIT
#include "report/plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/plugin.h"
#include "report/drawing.h"

// Columns of a name that takes the whole width of a legend.
enum { WHOLE_LEGEND = 44 };

// ---- Values ----

static bool is_set(const yaml_node *node, const char *key) {
    return strcmp(yaml_text_at(node, key), "true") == 0;
}

// What the chart's numbers are multiplied by.
static double scale_of(const plot *p) {
    const double given = yaml_number_at(p->chart, "scale");
    return isnan(given) ? 1 : given;
}

// gnuplot divides whole numbers as such, so all are written as real ones.
static void write_number(text *out, double value) {
    char digits[32];
    snprintf(digits, sizeof digits, "%.9g", value);
    text_append(out, isfinite(value) ? digits : "NaN");
    if (isfinite(value) && !strpbrk(digits, ".e")) text_append(out, ".0");
}

// In single quotes gnuplot takes every character literally; a quote is doubled, but not as the
// first character, which would end an empty string.
static void write_string(text *out, const char *string) {
    for (; *string == '\''; string++) text_append(out, "\"'\" . ");
    text_append(out, "'");
    for (; *string; string++) {
        if (*string == '\'') text_append(out, "'");
        text_bytes(out, *string == '\n' ? " " : string, 1);
    }
    text_append(out, "'");
}

static void put_string(text *out, const char *name, const char *string) {
    text_format(out, "%s = ", name);
    write_string(out, string);
    text_append(out, "\n");
}

// Begins "array OWNER_KEY[COUNT] = [", with "_" for the dots of a path.
static void begin_array(text *out, const char *owner, const char *key, size_t count) {
    text_format(out, "array %s_", owner);
    for (; *key; key++) text_bytes(out, *key == '.' ? "_" : key, 1);
    text_format(out, "[%zu] = [", count);
}

static void put_labels(text *out, const char *owner, char *const *labels, size_t count) {
    begin_array(out, owner, "label", count);
    for (size_t i = 0; i < count; i++) {
        if (i) text_append(out, ",");
        write_string(out, labels[i]);
    }
    text_append(out, "]\n");
    begin_array(out, owner, "label_width", count);
    for (size_t i = 0; i < count; i++)
        text_format(out, "%s%zu", i ? "," : "", text_columns(labels[i]));
    text_append(out, "]\n");
}

static void put_chart(text *out, const plot *p) {
    static const char *const flags[] = {"seconds", "percent", "joined", "log", "more_is_better"};
    put_string(out, "x_title", p->x);
    put_string(out, "y_title", p->y);
    put_string(out, "chart_key", yaml_text_at(p->chart, "key"));
    text_append(out, "chart_scale = ");
    write_number(out, scale_of(p));
    text_append(out, "\nchart_reference = ");
    write_number(out, yaml_number_at(p->chart, "reference"));
    text_append(out, "\n");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        text_format(out, "chart_%s = %d\n", flags[i], is_set(p->chart, flags[i]));
}

static void put_items(text *out, const plot *p) {
    static const char *const numbers[] = {"colour", "value",   "low",     "high",
                                          "from",   "to",      "x.value", "x.low",
                                          "x.high", "y.value", "y.low",   "y.high"},
                             *const flags[] = {"pale", "faint", "simulated", "total"};
    text_format(out, "items = %zu\n", p->count);
    put_labels(out, "item", p->labels, p->count);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        begin_array(out, "item", numbers[k], p->count);
        for (size_t i = 0; i < p->count; i++) {
            if (i) text_append(out, ",");
            write_number(out, yaml_number_at(p->items[i], numbers[k]));
        }
        text_append(out, "]\n");
    }
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++) {
        begin_array(out, "item", flags[k], p->count);
        for (size_t i = 0; i < p->count; i++)
            text_format(out, "%s%d", i ? "," : "", is_set(p->items[i], flags[k]));
        text_append(out, "]\n");
    }
}

// ---- Curves ----

// The numbers of a curve's points on an axis. A point without both is a gap.
static const yaml_node *list_of(const yaml_node *item, const char *axis) {
    const yaml_node *list = yaml_find(item, axis);
    return list && list->kind == YAML_SEQUENCE ? list : NULL;
}

static double number_in(const yaml_node *list, size_t at) {
    return yaml_scalar_type(list->items[at]) == YAML_NULL ? (double)NAN
                                                          : strtod(list->items[at]->text, NULL);
}

static bool has_points(const yaml_node *item) {
    const yaml_node *x = list_of(item, "x"), *y = list_of(item, "y");
    for (size_t i = 0; i < x->count; i++)
        if (isfinite(number_in(x, i)) && isfinite(number_in(y, i))) return true;
    return false;
}

static bool same_list(const yaml_node *a, const yaml_node *b) {
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = strcmp(a->items[i]->text, b->items[i]->text) == 0;
    return same;
}

static bool same_points(const yaml_node *a, const yaml_node *b) {
    return is_set(a, "faint") == is_set(b, "faint") &&
           same_list(list_of(a, "x"), list_of(b, "x")) &&
           same_list(list_of(a, "y"), list_of(b, "y"));
}

static const char same[] = " = ", more[] = " = …";

static bool is_cut(const char *name) {
    const size_t length = strlen(name), end = strlen(more);
    return length >= end && strcmp(name + length - end, more) == 0;
}

// Adds a name to that of a curve, if there is room.
static void join_names(char **name, const char *other) {
    if (!*other || is_cut(*name)) return;
    const bool fits = text_columns(*name) + strlen(same) + text_columns(other) <= WHOLE_LEGEND;
    char *joined = !**name ? memory_string(other)
                   : fits  ? memory_format("%s%s%s", *name, same, other)
                           : memory_format("%s%s", *name, more);
    free(*name);
    *name = joined;
}

// Leaves one of equal curves, and none without a point.
static void join_curves(plot *p) {
    size_t kept = 0;
    for (size_t i = 0; i < p->count; i++) {
        size_t equal = 0;
        while (equal < kept && !same_points(p->items[equal], p->items[i])) equal++;
        if (equal < kept) join_names(&p->labels[equal], p->labels[i]);
        if (equal < kept || !has_points(p->items[i])) {
            free(p->labels[i]);
            continue;
        }
        p->items[kept] = p->items[i];
        p->labels[kept++] = p->labels[i];
    }
    p->count = kept;
}

// A block of lines an item, with two empty ones between them.
static void put_series(text *out, const plot *p) {
    text_append(out, "$series << EOD\n");
    for (size_t i = 0; i < p->count; i++) {
        const yaml_node *x = list_of(p->items[i], "x"), *y = list_of(p->items[i], "y");
        if (i) text_append(out, "\n\n");
        for (size_t k = 0; k < x->count; k++) {
            write_number(out, number_in(x, k));
            text_append(out, " ");
            write_number(out, number_in(y, k));
            text_append(out, "\n");
        }
    }
    text_append(out, "EOD\n");
    begin_array(out, "item", "points", p->count);
    for (size_t i = 0; i < p->count; i++)
        text_format(out, "%s%zu", i ? "," : "", list_of(p->items[i], "x")->count);
    text_append(out, "]\n");
}

// ---- Stacked bars ----

static double part_of(const plot *p, size_t item, size_t part) {
    return strtod(yaml_find(p->items[item], "values")->items[part]->text, NULL);
}

static bool has_part(const plot *p, size_t part) {
    for (size_t i = 0; i < p->count; i++)
        if (part_of(p, i, part) > 0) return true;
    return false;
}

// Returns the number of parts that a bar has, which go to `used`; all, if no bar has any.
static size_t used_parts(const plot *p, size_t count, size_t *used) {
    size_t kept = 0;
    for (size_t k = 0; k < count; k++)
        if (has_part(p, k)) used[kept++] = k;
    for (size_t k = 0; !kept && k < count; k++) used[k] = k;
    return kept ? kept : count;
}

static void put_stack(text *out, const plot *p) {
    const yaml_node *names = yaml_find(p->chart, "parts"), *hues = yaml_find(p->chart, "colours");
    const double scale = scale_of(p);
    size_t *used = memory_new(names->count, sizeof *used);
    char **labels = memory_new(names->count, sizeof *labels);
    const size_t count = used_parts(p, names->count, used);
    for (size_t k = 0; k < count; k++)
        labels[k] = memory_string(p->word(p->context, "parts", names->items[used[k]]->text));
    text_format(out, "parts = %zu\n", count);
    put_labels(out, "part", labels, count);
    begin_array(out, "part", "colour", count);
    for (size_t k = 0; k < count; k++)
        text_format(out, "%s%s", k ? "," : "", hues->items[used[k]]->text);
    text_append(out, "]\n$values << EOD\n");
    for (size_t i = 0; i < p->count; i++)
        for (size_t k = 0; k < count; k++) {
            write_number(out, scale * part_of(p, i, used[k]));
            text_append(out, k + 1 < count ? " " : "\n");
        }
    text_append(out, "EOD\n");
    for (size_t k = 0; k < count; k++) free(labels[k]);
    free(labels);
    free(used);
}

// ---- All ----

status plot_script(plot *p, text *script, error *err) {
    const char *kind = yaml_text_at(p->chart, "kind");
    char *folder = NULL, *path = NULL;
    status rc;
    TRY(plugin_find("report/plots", NULL, &folder, err));
    path = memory_format("%s/%s.gp", folder, kind);
    if (access(path, R_OK) != 0) {
        rc = error_system(err, STATUS_FAILED, errno, "cannot find the drawing's script '%s'", path);
        goto out;
    }
    if (list_of(p->items[0], "x")) join_curves(p);
    put_string(script, "plots", folder);
    put_string(script, "hatch", DRAWING_HATCH);
    text_format(script, "width = %d\n", DRAWING_WIDTH);
    put_chart(script, p);
    put_items(script, p);
    if (list_of(p->items[0], "x")) put_series(script, p);
    if (yaml_find(p->chart, "parts")) put_stack(script, p);
    text_append(script, "load ");
    write_string(script, path);
    text_append(script, "\n");
out:
    free(path);
    free(folder);
    return rc;
}
