// SPDX-License-Identifier: MIT
#include "report/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/drawing.h"

enum { PLOT_COLOURS = 8 };
// Of medium lightness, to be readable on white and on near-black.
static const char *const colours[PLOT_COLOURS] = {"#3b82c4", "#d9762b", "#2f9e6e", "#b05fb4",
                                                  "#c9504a", "#a5823a", "#1c9cb0", "#9aa3ab"};
enum { WIDTH = DRAWING_WIDTH, HEIGHT = 290, LEGEND_ROW = 20, BAR_COLUMNS = 3, LONG_NAME = 22 };
// Characters of a name that takes the whole width, or leaves room for a second one, or for two
// more.
enum { WHOLE_LEGEND = 44, HALF_LEGEND = 18, THIRD_LEGEND = 11 };

// ---- Common to all ----

static bool is_set(const yaml_node *node, const char *key) {
    return strcmp(yaml_text_at(node, key), "true") == 0;
}

// What the chart's numbers are multiplied by.
static double scale_of(const plot *p) {
    const double given = yaml_number_at(p->chart, "scale");
    return isnan(given) ? 1 : given;
}

// In single quotes gnuplot takes every character literally; a quote is doubled.
static void quote(text *out, const char *string) {
    text_append(out, "'");
    for (; *string; string++) {
        if (*string == '\'') text_append(out, "'");
        text_bytes(out, *string == '\n' ? " " : string, 1);
    }
    text_append(out, "'");
}

static void write_preamble(text *out, int height, const char *x) {
    text_format(out, "set terminal svg size %d,%d dynamic noenhanced font 'sans,13' linewidth 1\n",
                WIDTH, height);
    text_append(out, "set encoding utf8\nset key samplen 2\nset border 3 lw 0.6\nset tics nomirror "
                     "out scale 0.5\n");
    text_append(out, "set grid ytics lt 1 lw 0.4 lc rgb '#999999'\nset xlabel ");
    quote(out, x);
    text_append(out, " offset 0,0.4\n");
}

// Returns 1, 2 or 5 times a power of ten, at least `rough`.
static double round_step(double rough) {
    const double unit = pow(10, floor(log10(rough)));
    return rough <= unit       ? unit
           : rough <= 2 * unit ? 2 * unit
           : rough <= 5 * unit ? 5 * unit
                               : 10 * unit;
}

static int legend_height(size_t entries, size_t columns) {
    return (int)((entries + columns - 1) / columns) * LEGEND_ROW;
}

// Writes a legend above a drawing of that height, centred on the whole width: gnuplot would centre
// it over the axes and let long entries run out of the picture.
static void write_legend_above(text *out, size_t entries, size_t columns, int height) {
    double top = 1 - (legend_height(entries, columns) + 6.0) / height;
    text_append(out, "set key at screen 0.5, screen 0.99 center top horizontal Left reverse ");
    text_format(out, "samplen 1.2 maxcols %zu\nset tmargin at screen %.4f\n", columns, top);
}

// ---- Curves ----

// Points that are not finite are gaps. Equal curves with different names are drawn once and share a
// legend entry.
typedef struct curve {
    const char *name; // in the legend; "": not in it
    int colour;       // any number from 0; colours repeat after PLOT_COLOURS
    bool faint;       // thin and pale: raw values, drawn under their mean
    double *x, *y;
    size_t count;
} curve;

static double *read_numbers(const yaml_node *list) {
    double *numbers = memory_new(list->count, sizeof *numbers);
    for (size_t i = 0; i < list->count; i++)
        numbers[i] = yaml_scalar_type(list->items[i]) == YAML_NULL
                         ? (double)NAN
                         : strtod(list->items[i]->text, NULL);
    return numbers;
}

static curve *read_curves(const plot *p) {
    curve *curves = memory_new(p->count, sizeof *curves);
    for (size_t i = 0; i < p->count; i++) {
        const yaml_node *item = p->items[i], *x = yaml_find(item, "x");
        curves[i] = (curve){.name = p->labels[i],
                            .colour = (int)yaml_number_at(item, "colour"),
                            .faint = is_set(item, "faint"),
                            .x = read_numbers(x),
                            .y = read_numbers(yaml_find(item, "y")),
                            .count = x->count};
    }
    return curves;
}

static void write_curve_data(text *out, const curve *c, size_t index) {
    text_format(out, "$c%zu << EOD\n", index);
    for (size_t i = 0; i < c->count; i++) {
        if (isfinite(c->x[i]) && isfinite(c->y[i]))
            text_format(out, "%.6g %.6g\n", c->x[i], c->y[i]);
        else
            text_append(out, "\n"); // an empty line breaks the curve
    }
    text_append(out, "EOD\n");
}

static bool has_points(const curve *c) {
    for (size_t i = 0; i < c->count; i++)
        if (isfinite(c->x[i]) && isfinite(c->y[i])) return true;
    return false;
}

static bool same_number(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static bool same_points(const curve *a, const curve *b) {
    bool same = a->faint == b->faint && a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = same_number(a->x[i], b->x[i]) && same_number(a->y[i], b->y[i]);
    return same;
}

// Does an earlier, equal curve cover this one?
static bool is_covered(const curve *curves, size_t at) {
    for (size_t i = 0; i < at; i++)
        if (same_points(&curves[i], &curves[at])) return true;
    return false;
}

// Appends the names of a curve and of those that it covers, as many as there is room for.
static void append_names(text *out, const curve *curves, size_t count, size_t at) {
    for (size_t i = at; i < count; i++) {
        if (!*curves[i].name || !same_points(&curves[i], &curves[at])) continue;
        if (out->length) text_append(out, " = ");
        if (out->length &&
            text_columns(text_string(out)) + text_columns(curves[i].name) > WHOLE_LEGEND) {
            text_append(out, "…");
            return;
        }
        text_append(out, curves[i].name);
    }
}

// Writes ticks at whole epochs, or at round numbers of seconds.
static void write_x_ticks(text *out, bool seconds, const curve *curves, size_t count) {
    double last = seconds ? 0 : 1;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < curves[i].count; k++)
            if (isfinite(curves[i].x[k])) last = fmax(last, curves[i].x[k]);
    if (seconds)
        text_format(out, "set xrange [0:%g]\nset xtics 0, %g\n", last > 0 ? 1.02 * last : 1,
                    round_step((last > 0 ? last : 1) / 8));
    else
        text_format(out, "set xrange [0:%g]\nset xtics 0, %g\n", ceil(last),
                    fmax(1, round_step(last / 8)));
}

static void write_curve_style(text *out, const curve *c) {
    const char *colour = colours[c->colour % PLOT_COLOURS];
    if (c->faint)
        text_format(out, "with lines lw 0.6 lc rgb '#99%s'", colour + 1);
    else
        text_format(out, "with lines lw 2 lc rgb '%s'", colour);
}

// Marks the points of a curve with few points; a single point would be invisible otherwise.
static bool needs_points(const curve *c) {
    return !c->faint && c->count <= 40;
}

static void write_points(text *out, const curve *c, size_t index) {
    text_format(out, ", $c%zu using 1:2 with points pt 7 ps 0.6 lc rgb '%s' notitle", index,
                colours[c->colour % PLOT_COLOURS]);
}

static void write_plot_command(text *out, const curve *curves, size_t count) {
    size_t drawn = 0;
    for (size_t i = 0; i < count; i++) {
        const curve *c = &curves[i];
        if (!has_points(c) || is_covered(curves, i)) continue;
        text names = {0};
        append_names(&names, curves, count, i);
        text_append(out, drawn++ ? ", " : "plot ");
        text_format(out, "$c%zu using 1:2 ", i);
        write_curve_style(out, c);
        text_append(out, names.length ? " title " : " notitle");
        if (names.length) quote(out, text_string(&names));
        if (needs_points(c)) write_points(out, c, i);
        text_release(&names);
    }
    text_append(out, "\n");
}

// Counts the legend entries, and the columns that they leave room for.
static size_t count_entries(const curve *curves, size_t count, size_t *columns) {
    size_t entries = 0;
    *columns = 2;
    for (size_t i = 0; i < count; i++) {
        text names = {0};
        if (!is_covered(curves, i)) append_names(&names, curves, count, i);
        entries += names.length > 0;
        if (text_columns(text_string(&names)) > HALF_LEGEND) *columns = 1;
        text_release(&names);
    }
    return entries;
}

int plot_curves(const plot *p, text *script) {
    const bool percent = is_set(p->chart, "percent");
    curve *curves = read_curves(p);
    size_t columns, named = count_entries(curves, p->count, &columns);
    const int height = HEIGHT + legend_height(named, columns);
    write_preamble(script, height, p->x);
    text_append(script, "set ylabel ");
    quote(script, p->y);
    text_append(script, percent ? " offset 0,0\n" : " offset 1,0\n");
    if (percent) text_append(script, "set format y '%g %%'\n");
    if (named) write_legend_above(script, named, columns, height);
    write_x_ticks(script, is_set(p->chart, "seconds"), curves, p->count);
    for (size_t i = 0; i < p->count; i++) write_curve_data(script, &curves[i], i);
    write_plot_command(script, curves, p->count);
    for (size_t i = 0; i < p->count; i++) {
        free(curves[i].x);
        free(curves[i].y);
    }
    free(curves);
    return height;
}

// ---- Horizontal bars ----

// The position of the names of horizontal bars, and the room for them: at the left of the bars, or
// above them if one is so long that it would leave no room for the drawing.
typedef struct bar_layout {
    bool above;
    int row;           // pixels from bar to bar
    double half, name; // of a row: half a bar's height, from its middle to its name
} bar_layout;

static bar_layout layout_bars(const plot *p) {
    for (size_t i = 0; i < p->count; i++)
        if (text_columns(p->labels[i]) > LONG_NAME)
            return (bar_layout){.above = true, .row = 44, .half = 0.2, .name = 0.41};
    return (bar_layout){.row = 34, .half = 0.33};
}

// Writes the names of horizontal bars, the first at the top.
static void write_bar_names(text *out, const plot *p, bar_layout layout) {
    const size_t count = p->count;
    text_format(out, "set yrange [0.4:%zu.6]\n", count);
    if (layout.above) {
        text_append(out, "set lmargin at screen 0.03\nset rmargin at screen 0.96\nunset ytics\n");
        for (size_t bar = 0; bar < count; bar++) {
            text_append(out, "set label ");
            quote(out, p->labels[bar]);
            text_format(out, " at graph 0, first %g left front\n",
                        (double)(count - bar) + layout.name);
        }
        return;
    }
    text_append(out, "set ytics (");
    for (size_t bar = 0; bar < count; bar++) {
        text_append(out, bar ? ", " : "");
        quote(out, p->labels[bar]);
        text_format(out, " %zu", count - bar);
    }
    text_append(out, ") scale 0\n");
}

// ---- Stacked bars ----

// The bars of a chart: value[bar · parts + part].
typedef struct stack {
    const plot *p;
    const yaml_node *names; // of the parts
    size_t parts;
    double *value, *length; // length: of a whole bar
} stack;

static void read_stack(const plot *p, stack *s) {
    const yaml_node *names = yaml_find(p->chart, "parts");
    const double scale = scale_of(p);
    *s = (stack){p, names, names->count, memory_new(p->count * names->count, sizeof *s->value),
                 memory_new(p->count, sizeof *s->length)};
    for (size_t i = 0; i < p->count * s->parts; i++) {
        const yaml_node *values = yaml_find(p->items[i / s->parts], "values");
        s->value[i] = scale * strtod(values->items[i % s->parts]->text, NULL);
        s->length[i / s->parts] += s->value[i];
    }
}

static const char *part_name(const stack *s, size_t part) {
    return s->p->word(s->p->context, "parts", s->names->items[part]->text);
}

static bool is_hatched(const stack *s, size_t bar) {
    return is_set(s->p->items[bar], "simulated");
}

// Writes a box for each bar of simulated times, to cover the whole bar.
static void write_hatches(text *out, const stack *s, double half) {
    text_append(out, "$hatch << EOD\n");
    for (size_t bar = 0; bar < s->p->count; bar++) {
        const double row = (double)(s->p->count - bar), x = s->length[bar];
        if (is_hatched(s, bar))
            text_format(out, "%.6g %g %.6g %.6g %g %g\n", x, row, fmin(0, x), fmax(0, x),
                        row - half, row + half);
    }
    text_append(out, "EOD\n");
}

static void plot_hatches(text *out, const stack *s) {
    bool any = false;
    for (size_t bar = 0; bar < s->p->count; bar++) any |= is_hatched(s, bar);
    if (any)
        text_format(out, ", $hatch using 1:2:3:4:5:6 with boxxyerror lw 0 lc rgb '%s' notitle",
                    DRAWING_HATCH);
}

static void write_bar_data(text *out, const stack *s, double half) {
    for (size_t part = 0; part < s->parts; part++) {
        text_format(out, "$p%zu << EOD\n", part);
        for (size_t bar = 0; bar < s->p->count; bar++) {
            const double *value = s->value + bar * s->parts;
            double start = 0;
            for (size_t i = 0; i < part; i++) start += value[i];
            double row = (double)(s->p->count - bar);
            text_format(out, "%.6g %g %.6g %.6g %g %g\n", start, row, start, start + value[part],
                        row - half, row + half);
        }
        text_append(out, "EOD\n");
    }
}

// Does any bar have this part? If none does, it is not in the legend.
static bool has_part(const stack *s, size_t part) {
    for (size_t bar = 0; bar < s->p->count; bar++)
        if (s->value[bar * s->parts + part] > 0) return true;
    return false;
}

// Counts the legend entries, and the columns that they leave room for.
static size_t count_parts(const stack *s, size_t *columns) {
    size_t count = 0;
    *columns = BAR_COLUMNS;
    for (size_t part = 0; part < s->parts; part++) {
        count += has_part(s, part);
        if (text_columns(part_name(s, part)) > THIRD_LEGEND) *columns = BAR_COLUMNS - 1;
    }
    return count;
}

int plot_stacked(const plot *p, text *script) {
    const bar_layout layout = layout_bars(p);
    const yaml_node *colour = yaml_find(p->chart, "colours");
    stack s;
    size_t columns, drawn = 0;
    read_stack(p, &s);
    const size_t parts = count_parts(&s, &columns);
    const int height = 80 + legend_height(parts, columns) + (int)p->count * layout.row;
    write_preamble(script, height, p->x);
    text_append(script, "unset grid\nset grid xtics lt 1 lw 0.4 lc rgb '#999999'\nset border 1\n");
    text_append(script, "set style fill solid 1 noborder\n");
    write_legend_above(script, parts, columns, height);
    double longest = 0;
    for (size_t bar = 0; bar < p->count; bar++) longest = fmax(longest, s.length[bar]);
    text_format(script, "set xrange [0:*]\nset xtics %g\n",
                round_step((longest > 0 ? longest : 1) / 5));
    write_bar_names(script, p, layout);
    write_bar_data(script, &s, layout.half);
    write_hatches(script, &s, layout.half);
    for (size_t part = 0; part < s.parts; part++) {
        if (parts && !has_part(&s, part)) continue;
        text_append(script, drawn++ ? ", " : "plot ");
        text_format(script, "$p%zu using 1:2:3:4:5:6 with boxxyerror lw 0 lc rgb '%s' title ", part,
                    colours[strtoul(colour->items[part]->text, NULL, 10) % PLOT_COLOURS]);
        quote(script, part_name(&s, part));
    }
    plot_hatches(script, &s);
    text_append(script, "\n");
    free(s.value);
    free(s.length);
    return height;
}

// ---- Rows ----

// The common parts of drawings with rows.
static void begin_rows(text *out, const plot *p, bar_layout layout, int height) {
    write_preamble(out, height, p->x);
    text_append(out, "unset key\nunset grid\nset border 1\nset style fill solid 1 noborder\n"
                     "set grid xtics lt 1 lw 0.4 lc rgb '#999999'\n");
    write_bar_names(out, p, layout);
}

static void write_reference(text *out, double x) {
    if (isfinite(x))
        text_format(out,
                    "set arrow from %g, graph 0 to %g, graph 1 nohead dt 2 lw 1 lc rgb 'black'\n",
                    x, x);
}

// A distance between ticks that leaves room for their numbers: about four in the drawn range.
static void write_range(text *out, const interval *range) {
    const double low = range->low, high = range->high;
    const double step = round_step((high > low ? high - low : fmax(fabs(high), 1)) / 4);
    const double margin = (high > low ? high - low : step) / 20;
    text_format(out, "set xrange [%.6g:%.6g]\nset xtics %g\n", low - margin, high + margin, step);
}

static void widen(double value, interval *range) {
    if (!isfinite(value)) return;
    range->low = fmin(range->low, value); // of NAN and a number, the number
    range->high = fmax(range->high, value);
}

// The range of these numbers of all items.
static void widen_by(const plot *p, double scale, const char *const *keys, size_t count,
                     interval *range) {
    for (size_t i = 0; i < p->count; i++)
        for (size_t k = 0; k < count; k++)
            widen(scale * yaml_number_at(p->items[i], keys[k]), range);
}

// Draws the interval of a row; an undecided one pale.
static void write_interval(text *out, const plot *p, size_t i, double scale) {
    const double low = scale * yaml_number_at(p->items[i], "low"),
                 high = scale * yaml_number_at(p->items[i], "high");
    const bool pale = is_set(p->items[i], "pale");
    const size_t at = p->count - i;
    if (isfinite(low) && isfinite(high))
        text_format(out,
                    "set arrow from %.6g, first %zu to %.6g, first %zu nohead lw %g lc rgb "
                    "'%s%s'\n",
                    low, at, high, at, pale ? 5.0 : 3.0, pale ? "#88" : "#", colours[0] + 1);
}

int plot_intervals(const plot *p, text *script) {
    static const char *const keys[] = {"value", "low", "high"};
    const double reference = yaml_number_at(p->chart, "reference"), scale = scale_of(p);
    const bar_layout layout = layout_bars(p);
    const int height = 75 + (int)p->count * layout.row;
    interval range = {reference, reference};
    text points = {0};
    widen_by(p, scale, keys, sizeof keys / sizeof *keys, &range);
    begin_rows(script, p, layout, height);
    write_range(script, &range);
    write_reference(script, reference);
    for (size_t i = 0; i < p->count; i++) {
        const double value = scale * yaml_number_at(p->items[i], "value");
        write_interval(script, p, i, scale);
        if (isfinite(value) && !is_set(p->items[i], "pale"))
            text_format(&points, "%.6g %zu\n", value, p->count - i);
    }
    text_format(script, "$points << EOD\n%sEOD\nplot ", text_string(&points));
    if (points.length)
        text_format(script, "$points using 1:2 with points pt 7 ps 1 lc rgb '%s'\n", colours[0]);
    else
        text_append(script, "NaN notitle\n");
    text_release(&points);
    return height;
}

// ---- Points ----

// A label beside its point, in characters: to the right of it, or to the left of one in the right
// half.
typedef struct point_label {
    double left, right, line;
    bool before; // to the left
} point_label;

typedef struct cloud {
    const plot *p;
    interval x, y; // that the drawing shows
    bool joined;   // by a line, in their order
    bool log;      // the x axis
} cloud;

static point_label place_label(const cloud *c, size_t i) {
    enum { COLUMNS = 44, LINES = 14 }; // of a drawing on a narrow page
    const double gap = 0.7, width = (double)strlen(c->p->labels[i]);
    const double at = yaml_number_at(c->p->items[i], "x.value"),
                 line = yaml_number_at(c->p->items[i], "y.value");
    const double x = c->log ? log(at / c->x.low) / log(c->x.high / c->x.low)
                            : (at - c->x.low) / (c->x.high - c->x.low);
    const bool before = x > 0.5;
    const double left = COLUMNS * x + (before ? -gap - width : gap);
    return (point_label){left, left + width,
                         LINES * (line - c->y.low) / (c->y.high - c->y.low) + 0.6, before};
}

static bool labels_meet(const point_label *a, const point_label *b) {
    return a->left < b->right && b->left < a->right && fabs(a->line - b->line) < 1.1;
}

// Moves a label up and down, one line further each time, until it meets none of those before it.
// Returns by how many lines.
static double move_label(point_label *labels, size_t at) {
    enum { TRIES = 20 };
    const double line = labels[at].line;
    for (int n = 1; n <= TRIES; n++) {
        size_t i = 0;
        while (i < at && !labels_meet(&labels[i], &labels[at])) i++;
        if (i == at) break;
        labels[at].line = line + (n % 2 ? -1.2 : 1.2) * ((n + 1) / 2);
    }
    return labels[at].line - line;
}

static void write_label(text *out, const cloud *c, size_t i, const point_label *label,
                        double moved) {
    text_append(out, "set label ");
    quote(out, c->p->labels[i]);
    text_format(out, " at %.6g, first %.6g %s offset %g,%g front\n",
                yaml_number_at(c->p->items[i], "x.value"),
                yaml_number_at(c->p->items[i], "y.value"), label->before ? "right" : "left",
                label->before ? -0.7 : 0.7, 0.6 + moved);
}

static void write_labels(text *out, const cloud *c) {
    point_label *labels = memory_new(c->p->count, sizeof *labels);
    for (size_t i = 0; i < c->p->count; i++) {
        labels[i] = place_label(c, i);
        if (*c->p->labels[i]) write_label(out, c, i, &labels[i], move_label(labels, i));
    }
    free(labels);
}

// Each point has a colour of its own, unless a line joins them.
static const char *point_colour(const cloud *c, size_t i) {
    return colours[c->joined ? 0 : i % PLOT_COLOURS];
}

// Draws the intervals of a point in both directions.
static void write_point(text *out, const cloud *c, size_t i) {
    static const char line[] =
        "set arrow from %.6g, first %.6g to %.6g, first %.6g nohead lw %g lc rgb '%s%s'\n";
    const yaml_node *item = c->p->items[i];
    const double x = yaml_number_at(item, "x.value"), x_low = yaml_number_at(item, "x.low"),
                 x_high = yaml_number_at(item, "x.high"), y = yaml_number_at(item, "y.value"),
                 y_low = yaml_number_at(item, "y.low"), y_high = yaml_number_at(item, "y.high");
    const bool pale = is_set(item, "pale");
    const char *faint = pale ? "#88" : "#", *colour = point_colour(c, i) + 1;
    const double width = pale ? 3.0 : 1.6;
    if (isfinite(x_low) && isfinite(x_high))
        text_format(out, line, x_low, y, x_high, y, width, faint, colour);
    if (isfinite(y_low) && isfinite(y_high))
        text_format(out, line, x, y_low, x, y_high, width, faint, colour);
}

static void append_place(text *out, const yaml_node *item) {
    text_format(out, "%.6g %.6g\n", yaml_number_at(item, "x.value"),
                yaml_number_at(item, "y.value"));
}

static void write_points_of(text *out, const cloud *c) {
    const plot *p = c->p;
    for (size_t i = 0; i < p->count; i++) {
        text_format(out, "$p%zu << EOD\n", i);
        append_place(out, p->items[i]);
        text_append(out, "EOD\n");
    }
    text_append(out, "$all << EOD\n");
    for (size_t i = 0; i < p->count; i++) append_place(out, p->items[i]);
    text_append(out, "EOD\nplot ");
    if (c->joined) text_format(out, "$all using 1:2 with lines lw 2 lc rgb '%s', ", colours[0]);
    text_append(out, "NaN notitle"); // also where all are pale
    for (size_t i = 0; i < p->count; i++)
        if (!is_set(p->items[i], "pale"))
            text_format(out, ", $p%zu using 1:2 with points pt 7 ps 1 lc rgb '%s'", i,
                        point_colour(c, i));
    text_append(out, "\n");
}

// What the drawing shows: all points and intervals, with room for labels.
static cloud view_cloud(const plot *p) {
    static const char *const x[] = {"x.value", "x.low", "x.high"}, *const y[] = {"y.value", "y.low",
                                                                                 "y.high"};
    cloud c = {p, {NAN, NAN}, {NAN, NAN}, is_set(p->chart, "joined"), is_set(p->chart, "log")};
    widen_by(p, 1, x, sizeof x / sizeof *x, &c.x);
    widen_by(p, 1, y, sizeof y / sizeof *y, &c.y);
    const double width = c.x.high - c.x.low, low = c.x.low;
    c.x.low = c.log ? low / 1.5 : c.joined ? low - width / 20 : 0;
    c.x.high = c.log ? c.x.high * 1.5 : width > 0 ? c.x.high + width / 20 : 1.05 * c.x.high;
    return c;
}

int plot_points(const plot *p, text *script) {
    cloud c = view_cloud(p);
    const double height = c.y.high > c.y.low ? c.y.high - c.y.low : 1;
    const char *key = yaml_text_at(p->chart, "key"); // of an experiment: what the x axis is
    c.y.low -= height / 20;
    c.y.high += height / 8;
    write_preamble(script, HEIGHT, *key ? key : p->x);
    text_append(script, "unset key\nset ylabel ");
    quote(script, p->y);
    text_format(script, "\nset yrange [%.6g:%.6g]\nset ytics %g\n", c.y.low, c.y.high,
                round_step(height / 5));
    if (is_set(p->chart, "percent")) text_append(script, "set format y '%g %%'\n");
    if (c.log) text_append(script, "set logscale x\n");
    text_format(script, "set xrange [%.6g:%.6g]\n", c.x.low, c.x.high);
    for (size_t i = 0; i < p->count; i++) write_point(script, &c, i);
    write_labels(script, &c);
    write_points_of(script, &c);
    return HEIGHT;
}

// ---- A walk ----

// A step of a walk from one value to another.
typedef struct walk_step {
    double from, to, low, high; // low, high: of `to`
    bool total, pale;           // total: it has a point only; pale: undecided
} walk_step;

static walk_step read_step(const yaml_node *item) {
    return (walk_step){yaml_number_at(item, "from"), yaml_number_at(item, "to"),
                       yaml_number_at(item, "low"),  yaml_number_at(item, "high"),
                       is_set(item, "total"),        is_set(item, "pale")};
}

// A step to the good side is green, one to the bad side red.
static const char *step_colour(const plot *p, const walk_step *s) {
    enum { GOOD = 2, BAD = 4 };
    return colours[(s->to > s->from) == is_set(p->chart, "more_is_better") ? GOOD : BAD];
}

static void write_step(text *out, const plot *p, size_t at, double half) {
    const walk_step s = read_step(p->items[at]);
    const double row = (double)(p->count - at);
    if (!s.total && s.from != s.to)
        text_format(out,
                    "set object rectangle from %.6g, first %g to %.6g, first %g fillcolor rgb "
                    "'%s%s' fillstyle solid noborder behind\n",
                    s.from, row - half, s.to, row + half, s.pale ? "#aa" : "#",
                    step_colour(p, &s) + 1);
    if (at + 1 < p->count) // to the next row
        text_format(out,
                    "set arrow from %.6g, first %g to %.6g, first %g nohead lw 0.8 dt 3 lc rgb "
                    "'black'\n",
                    s.to, row, s.to, row - 1);
    if (isfinite(s.low) && isfinite(s.high))
        text_format(out,
                    "set arrow from %.6g, first %g to %.6g, first %g nohead lw 1.4 lc rgb "
                    "'black'\n",
                    s.low, row, s.high, row);
}

int plot_walk(const plot *p, text *script) {
    static const char *const keys[] = {"from", "to", "low", "high"};
    const bar_layout layout = layout_bars(p);
    const int height = 75 + (int)p->count * layout.row;
    interval range = {NAN, NAN};
    widen_by(p, 1, keys, sizeof keys / sizeof *keys, &range);
    begin_rows(script, p, layout, height);
    write_range(script, &range);
    for (size_t i = 0; i < p->count; i++) write_step(script, p, i, layout.half);
    text_append(script, "$points << EOD\n");
    for (size_t i = 0; i < p->count; i++) {
        const walk_step s = read_step(p->items[i]);
        if (s.total || s.from == s.to) text_format(script, "%.6g %zu\n", s.to, p->count - i);
    }
    text_format(script, "EOD\nplot $points using 1:2 with points pt 7 ps 1 lc rgb '%s'\n",
                colours[0]);
    return height;
}
