// SPDX-License-Identifier: MIT
#include "report/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/drawing.h"

// Of medium lightness, to be readable on white and on near-black.
static const char *const colours[PLOT_COLOURS] = {"#3b82c4", "#d9762b", "#2f9e6e", "#b05fb4",
                                                  "#c9504a", "#a5823a", "#1c9cb0", "#9aa3ab"};
enum { WIDTH = DRAWING_WIDTH, HEIGHT = 290, LEGEND_ROW = 20, BAR_COLUMNS = 3, LONG_NAME = 22 };
// Characters of a name that takes the whole width, or leaves room for a second one, or for two
// more.
enum { WHOLE_LEGEND = 44, HALF_LEGEND = 18, THIRD_LEGEND = 11 };

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

static void write_curve_data(text *out, const plot_curve *c, size_t index) {
    text_format(out, "$c%zu << EOD\n", index);
    for (size_t i = 0; i < c->count; i++) {
        if (isfinite(c->x[i]) && isfinite(c->y[i]))
            text_format(out, "%.6g %.6g\n", c->x[i], c->y[i]);
        else
            text_append(out, "\n"); // an empty line breaks the curve
    }
    text_append(out, "EOD\n");
}

static bool has_points(const plot_curve *c) {
    for (size_t i = 0; i < c->count; i++)
        if (isfinite(c->x[i]) && isfinite(c->y[i])) return true;
    return false;
}

static bool same_number(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static bool same_points(const plot_curve *a, const plot_curve *b) {
    bool same = a->faint == b->faint && a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = same_number(a->x[i], b->x[i]) && same_number(a->y[i], b->y[i]);
    return same;
}

// Does an earlier, equal curve cover this one?
static bool is_covered(const plot_curve *curves, size_t at) {
    for (size_t i = 0; i < at; i++)
        if (same_points(&curves[i], &curves[at])) return true;
    return false;
}

// Appends the names of a curve and of those that it covers, as many as there is room for.
static void append_names(text *out, const plot_curve *curves, size_t count, size_t at) {
    for (size_t i = at; i < count; i++) {
        if (!curves[i].name || !same_points(&curves[i], &curves[at])) continue;
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
static void write_x_ticks(text *out, const plot_axes *axes, const plot_curve *curves,
                          size_t count) {
    double last = axes->seconds ? 0 : 1;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < curves[i].count; k++)
            if (isfinite(curves[i].x[k])) last = fmax(last, curves[i].x[k]);
    if (axes->seconds)
        text_format(out, "set xrange [0:%g]\nset xtics 0, %g\n", last > 0 ? 1.02 * last : 1,
                    round_step((last > 0 ? last : 1) / 8));
    else
        text_format(out, "set xrange [0:%g]\nset xtics 0, %g\n", ceil(last),
                    fmax(1, round_step(last / 8)));
}

static void write_curve_style(text *out, const plot_curve *c) {
    const char *colour = colours[c->colour % PLOT_COLOURS];
    if (c->faint)
        text_format(out, "with lines lw 0.6 lc rgb '#99%s'", colour + 1);
    else
        text_format(out, "with lines lw 2 lc rgb '%s'", colour);
}

// Marks the points of a curve with few points; a single point would be invisible otherwise.
static bool needs_points(const plot_curve *c) {
    return !c->faint && c->count <= 40;
}

static void write_points(text *out, const plot_curve *c, size_t index) {
    text_format(out, ", $c%zu using 1:2 with points pt 7 ps 0.6 lc rgb '%s' notitle", index,
                colours[c->colour % PLOT_COLOURS]);
}

static void write_plot_command(text *out, const plot_curve *curves, size_t count) {
    size_t drawn = 0;
    for (size_t i = 0; i < count; i++) {
        const plot_curve *c = &curves[i];
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
static size_t count_entries(const plot_curve *curves, size_t count, size_t *columns) {
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

status plot_curves(const plot_axes *axes, const plot_curve *curves, size_t count, char **svg,
                   error *err) {
    size_t columns, named = count_entries(curves, count, &columns);
    int height = HEIGHT + legend_height(named, columns);
    text script = {0};
    write_preamble(&script, height, axes->x);
    text_append(&script, "set ylabel ");
    quote(&script, axes->y);
    text_append(&script, axes->percent ? " offset 0,0\n" : " offset 1,0\n");
    if (axes->percent) text_append(&script, "set format y '%g %%'\n");
    if (named) write_legend_above(&script, named, columns, height);
    write_x_ticks(&script, axes, curves, count);
    for (size_t i = 0; i < count; i++) write_curve_data(&script, &curves[i], i);
    write_plot_command(&script, curves, count);
    status rc = drawing_make(&script, axes->id, axes->title, height, svg, err);
    text_release(&script);
    return rc;
}

// The position of the names of horizontal bars, and the room for them: at the left of the bars, or
// above them if one is so long that it would leave no room for the drawing.
typedef struct bar_layout {
    bool above;
    int row;           // pixels from bar to bar
    double half, name; // of a row: half a bar's height, from its middle to its name
} bar_layout;

static bar_layout layout_bars(const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (text_columns(names[i]) > LONG_NAME)
            return (bar_layout){.above = true, .row = 44, .half = 0.2, .name = 0.41};
    return (bar_layout){.row = 34, .half = 0.33};
}

// Writes a box for each hatched bar, to cover the whole bar.
static void write_hatches(text *out, const bool *hatched, const double *length, size_t count,
                          double half) {
    text_append(out, "$hatch << EOD\n");
    for (size_t bar = 0; hatched && bar < count; bar++) {
        const double row = (double)(count - bar), x = length[bar];
        if (hatched[bar] && isfinite(x))
            text_format(out, "%.6g %g %.6g %.6g %g %g\n", x, row, fmin(0, x), fmax(0, x),
                        row - half, row + half);
    }
    text_append(out, "EOD\n");
}

static void plot_hatches(text *out, const bool *hatched, const double *length, size_t count) {
    bool any = false;
    for (size_t bar = 0; hatched && bar < count; bar++)
        any = any || (hatched[bar] && isfinite(length[bar]));
    if (any)
        text_format(out, ", $hatch using 1:2:3:4:5:6 with boxxyerror lw 0 lc rgb '%s' notitle",
                    DRAWING_HATCH);
}

static void write_bar_data(text *out, const plot_bars *b, double half) {
    for (size_t part = 0; part < b->part_count; part++) {
        text_format(out, "$p%zu << EOD\n", part);
        for (size_t bar = 0; bar < b->bar_count; bar++) {
            const double *value = b->value + bar * b->part_count;
            double start = 0;
            for (size_t i = 0; i < part; i++) start += value[i];
            double row = (double)(b->bar_count - bar);
            text_format(out, "%.6g %g %.6g %.6g %g %g\n", start, row, start, start + value[part],
                        row - half, row + half);
        }
        text_append(out, "EOD\n");
    }
}

// Writes the names of horizontal bars, the first at the top.
static void write_bar_names(text *out, const char *const *names, size_t count, bar_layout layout) {
    text_format(out, "set yrange [0.4:%zu.6]\n", count);
    if (layout.above) {
        text_append(out, "set lmargin at screen 0.03\nset rmargin at screen 0.96\nunset ytics\n");
        for (size_t bar = 0; bar < count; bar++) {
            text_append(out, "set label ");
            quote(out, names[bar]);
            text_format(out, " at graph 0, first %g left front\n",
                        (double)(count - bar) + layout.name);
        }
        return;
    }
    text_append(out, "set ytics (");
    for (size_t bar = 0; bar < count; bar++) {
        text_append(out, bar ? ", " : "");
        quote(out, names[bar]);
        text_format(out, " %zu", count - bar);
    }
    text_append(out, ") scale 0\n");
}

// Returns the total length of each bar; free() it.
static double *bar_lengths(const plot_bars *b) {
    double *length = memory_new(b->bar_count, sizeof *length);
    for (size_t i = 0; i < b->bar_count * b->part_count; i++)
        length[i / b->part_count] += b->value[i];
    return length;
}

// Does any bar have this part? If none does, it is not in the legend.
static bool has_part(const plot_bars *b, size_t part) {
    for (size_t bar = 0; bar < b->bar_count; bar++)
        if (b->value[bar * b->part_count + part] > 0) return true;
    return false;
}

// Counts the legend entries, and the columns that they leave room for.
static size_t count_parts(const plot_bars *b, size_t *columns) {
    size_t count = 0;
    *columns = BAR_COLUMNS;
    for (size_t part = 0; part < b->part_count; part++) {
        count += has_part(b, part);
        if (text_columns(b->parts[part]) > THIRD_LEGEND) *columns = BAR_COLUMNS - 1;
    }
    return count;
}

status plot_stacked(const plot_bars *b, char **svg, error *err) {
    double *length = bar_lengths(b);
    const bar_layout layout = layout_bars(b->bars, b->bar_count);
    size_t columns;
    const size_t parts = count_parts(b, &columns);
    int height = 80 + legend_height(parts, columns) + (int)b->bar_count * layout.row;
    text script = {0};
    write_preamble(&script, height, b->x);
    text_append(&script, "unset grid\nset grid xtics lt 1 lw 0.4 lc rgb '#999999'\nset border 1\n");
    text_append(&script, "set style fill solid 1 noborder\n");
    write_legend_above(&script, parts, columns, height);
    double longest = 0;
    for (size_t bar = 0; bar < b->bar_count; bar++) longest = fmax(longest, length[bar]);
    text_format(&script, "set xrange [0:*]\nset xtics %g\n",
                round_step((longest > 0 ? longest : 1) / 5));
    write_bar_names(&script, b->bars, b->bar_count, layout);
    write_bar_data(&script, b, layout.half);
    write_hatches(&script, b->hatched, length, b->bar_count, layout.half);
    size_t drawn = 0;
    for (size_t part = 0; part < b->part_count; part++) {
        const size_t colour = b->colours ? (size_t)b->colours[part] : part;
        if (parts && !has_part(b, part)) continue;
        text_append(&script, drawn++ ? ", " : "plot ");
        text_format(&script, "$p%zu using 1:2:3:4:5:6 with boxxyerror lw 0 lc rgb '%s' title ",
                    part, colours[colour % PLOT_COLOURS]);
        quote(&script, b->parts[part]);
    }
    plot_hatches(&script, b->hatched, length, b->bar_count);
    text_append(&script, "\n");
    free(length);
    status rc = drawing_make(&script, b->id, b->title, height, svg, err);
    text_release(&script);
    return rc;
}

// The common parts of drawings with rows.
static void begin_rows(text *out, const char *x, const char *const *names, size_t count,
                       bar_layout layout, int height) {
    write_preamble(out, height, x);
    text_append(out, "unset key\nunset grid\nset border 1\nset style fill solid 1 noborder\n"
                     "set grid xtics lt 1 lw 0.4 lc rgb '#999999'\n");
    write_bar_names(out, names, count, layout);
}

static void write_reference(text *out, double x) {
    if (isfinite(x))
        text_format(out,
                    "set arrow from %g, graph 0 to %g, graph 1 nohead dt 2 lw 1 lc rgb 'black'\n",
                    x, x);
}

// A distance between ticks that leaves room for their numbers: about four in the drawn range.
static void write_range(text *out, double low, double high) {
    const double step = round_step((high > low ? high - low : fmax(fabs(high), 1)) / 4);
    const double margin = (high > low ? high - low : step) / 20;
    text_format(out, "set xrange [%.6g:%.6g]\nset xtics %g\n", low - margin, high + margin, step);
}

static void widen(double value, double *low, double *high) {
    if (!isfinite(value)) return;
    *low = fmin(*low, value); // of NAN and a number, the number
    *high = fmax(*high, value);
}

status plot_intervals_draw(const plot_intervals *p, char **svg, error *err) {
    const char **names = memory_new(p->count, sizeof *names);
    double low = p->reference, high = p->reference;
    text script = {0}, points = {0};
    for (size_t i = 0; i < p->count; i++) {
        const plot_interval *row = &p->rows[i];
        names[i] = row->name;
        widen(row->value, &low, &high);
        widen(row->low, &low, &high);
        widen(row->high, &low, &high);
    }
    const bar_layout layout = layout_bars(names, p->count);
    const int height = 75 + (int)p->count * layout.row;
    begin_rows(&script, p->x, names, p->count, layout, height);
    write_range(&script, low, high);
    write_reference(&script, p->reference);
    for (size_t i = 0; i < p->count; i++) {
        const plot_interval *row = &p->rows[i];
        const size_t at = p->count - i;
        if (isfinite(row->low) && isfinite(row->high))
            text_format(&script,
                        "set arrow from %.6g, first %zu to %.6g, first %zu nohead lw %g lc rgb "
                        "'%s%s'\n",
                        row->low, at, row->high, at, row->pale ? 5.0 : 3.0, row->pale ? "#88" : "#",
                        colours[0] + 1);
        if (isfinite(row->value) && !row->pale) text_format(&points, "%.6g %zu\n", row->value, at);
    }
    text_format(&script, "$points << EOD\n%sEOD\nplot ", text_string(&points));
    if (points.length)
        text_format(&script, "$points using 1:2 with points pt 7 ps 1 lc rgb '%s'\n", colours[0]);
    else
        text_append(&script, "NaN notitle\n");
    status rc = drawing_make(&script, p->id, p->title, height, svg, err);
    text_release(&script);
    text_release(&points);
    free(names);
    return rc;
}

// A label beside its point, in characters: to the right of it, or to the left of one in the right
// half.
typedef struct point_label {
    double left, right, line;
    bool before; // to the left
} point_label;

typedef struct cloud_view {
    double x_low, x_high, y_low, y_high;
    bool log;
} cloud_view;

static point_label place_label(const cloud_view *view, const plot_point *p) {
    enum { COLUMNS = 44, LINES = 14 }; // of a drawing on a narrow page
    const double gap = 0.7, width = p->name ? (double)strlen(p->name) : 0;
    const double x = view->log ? log(p->x / view->x_low) / log(view->x_high / view->x_low)
                               : (p->x - view->x_low) / (view->x_high - view->x_low);
    const bool before = x > 0.5;
    const double left = COLUMNS * x + (before ? -gap - width : gap);
    return (point_label){left, left + width,
                         LINES * (p->y - view->y_low) / (view->y_high - view->y_low) + 0.6, before};
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

static void write_label(text *out, const plot_point *p, const point_label *label, double moved) {
    text_append(out, "set label ");
    quote(out, p->name);
    text_format(out, " at %.6g, first %.6g %s offset %g,%g front\n", p->x, p->y,
                label->before ? "right" : "left", label->before ? -0.7 : 0.7, 0.6 + moved);
}

static void write_labels(text *out, const plot_cloud *c, const cloud_view *view) {
    point_label *labels = memory_new(c->count, sizeof *labels);
    for (size_t i = 0; i < c->count; i++) {
        labels[i] = place_label(view, &c->points[i]);
        if (c->points[i].name) write_label(out, &c->points[i], &labels[i], move_label(labels, i));
    }
    free(labels);
}

static void write_point(text *out, const plot_point *p, size_t at) {
    static const char line[] =
        "set arrow from %.6g, first %.6g to %.6g, first %.6g nohead lw %g lc rgb '%s%s'\n";
    const char *faint = p->pale ? "#88" : "#", *colour = colours[at % PLOT_COLOURS] + 1;
    const double width = p->pale ? 3.0 : 1.6;
    if (isfinite(p->x_low) && isfinite(p->x_high))
        text_format(out, line, p->x_low, p->y, p->x_high, p->y, width, faint, colour);
    if (isfinite(p->y_low) && isfinite(p->y_high))
        text_format(out, line, p->x, p->y_low, p->x, p->y_high, width, faint, colour);
}

// Each point has a colour of its own, unless a line joins them.
static void write_points_of(text *out, const plot_cloud *c) {
    for (size_t i = 0; i < c->count; i++)
        text_format(out, "$p%zu << EOD\n%.6g %.6g\nEOD\n", i, c->points[i].x, c->points[i].y);
    text_append(out, "$all << EOD\n");
    for (size_t i = 0; i < c->count; i++)
        text_format(out, "%.6g %.6g\n", c->points[i].x, c->points[i].y);
    text_append(out, "EOD\nplot ");
    if (c->joined) text_format(out, "$all using 1:2 with lines lw 2 lc rgb '%s', ", colours[0]);
    text_append(out, "NaN notitle"); // also where all are pale
    for (size_t i = 0; i < c->count; i++)
        if (!c->points[i].pale)
            text_format(out, ", $p%zu using 1:2 with points pt 7 ps 1 lc rgb '%s'", i,
                        colours[(c->joined ? 0 : i) % PLOT_COLOURS]);
    text_append(out, "\n");
}

status plot_cloud_draw(const plot_cloud *c, char **svg, error *err) {
    double low = (double)NAN, high = (double)NAN, least = (double)NAN, most = (double)NAN;
    text script = {0};
    for (size_t i = 0; i < c->count; i++) {
        const plot_point *p = &c->points[i];
        widen(p->x, &low, &high);
        widen(p->x_low, &low, &high);
        widen(p->x_high, &low, &high);
        widen(p->y, &least, &most);
        widen(p->y_low, &least, &most);
        widen(p->y_high, &least, &most);
    }
    const double height = most > least ? most - least : 1, width = high - low;
    const cloud_view view = {.x_low = c->log      ? low / 1.5
                                      : c->joined ? low - width / 20
                                                  : 0,
                             .x_high = c->log      ? high * 1.5
                                       : width > 0 ? high + width / 20
                                                   : 1.05 * high,
                             .y_low = least - height / 20,
                             .y_high = most + height / 8,
                             .log = c->log};
    write_preamble(&script, HEIGHT, c->x);
    text_append(&script, "unset key\nset ylabel ");
    quote(&script, c->y);
    text_format(&script, "\nset yrange [%.6g:%.6g]\nset ytics %g\n", view.y_low, view.y_high,
                round_step(height / 5));
    if (c->percent) text_append(&script, "set format y '%g %%'\n");
    if (c->log) text_append(&script, "set logscale x\n");
    text_format(&script, "set xrange [%.6g:%.6g]\n", view.x_low, view.x_high);
    for (size_t i = 0; i < c->count; i++) write_point(&script, &c->points[i], c->joined ? 0 : i);
    write_labels(&script, c, &view);
    write_points_of(&script, c);
    status rc = drawing_make(&script, c->id, c->title, HEIGHT, svg, err);
    text_release(&script);
    return rc;
}

// A step to the good side is green, one to the bad side red.
static const char *step_colour(const plot_walk *w, const plot_step *s) {
    enum { GOOD = 2, BAD = 4, NEUTRAL = 0 };
    if (s->total || s->from == s->to) return colours[NEUTRAL];
    return colours[(s->to > s->from) == w->more_is_better ? GOOD : BAD];
}

static void write_step(text *out, const plot_walk *w, size_t at, double half) {
    const plot_step *s = &w->steps[at];
    const double row = (double)(w->count - at);
    const char *colour = step_colour(w, s);
    if (!s->total && s->from != s->to)
        text_format(out,
                    "set object rectangle from %.6g, first %g to %.6g, first %g fillcolor rgb "
                    "'%s%s' fillstyle solid noborder behind\n",
                    s->from, row - half, s->to, row + half, s->pale ? "#aa" : "#", colour + 1);
    if (at + 1 < w->count) // to the next row
        text_format(out,
                    "set arrow from %.6g, first %g to %.6g, first %g nohead lw 0.8 dt 3 lc rgb "
                    "'black'\n",
                    s->to, row, s->to, row - 1);
    if (isfinite(s->low) && isfinite(s->high))
        text_format(out,
                    "set arrow from %.6g, first %g to %.6g, first %g nohead lw 1.4 lc rgb "
                    "'black'\n",
                    s->low, row, s->high, row);
}

status plot_walk_draw(const plot_walk *w, char **svg, error *err) {
    const char **names = memory_new(w->count, sizeof *names);
    double low = (double)NAN, high = (double)NAN;
    text script = {0};
    for (size_t i = 0; i < w->count; i++) {
        const plot_step *s = &w->steps[i];
        names[i] = s->name;
        widen(s->from, &low, &high);
        widen(s->to, &low, &high);
        widen(s->low, &low, &high);
        widen(s->high, &low, &high);
    }
    const bar_layout layout = layout_bars(names, w->count);
    const int height = 75 + (int)w->count * layout.row;
    begin_rows(&script, w->x, names, w->count, layout, height);
    write_range(&script, low, high);
    for (size_t i = 0; i < w->count; i++) write_step(&script, w, i, layout.half);
    text_append(&script, "$points << EOD\n");
    for (size_t i = 0; i < w->count; i++)
        if (w->steps[i].total || w->steps[i].from == w->steps[i].to)
            text_format(&script, "%.6g %zu\n", w->steps[i].to, w->count - i);
    text_format(&script, "EOD\nplot $points using 1:2 with points pt 7 ps 1 lc rgb '%s'\n",
                colours[0]);
    status rc = drawing_make(&script, w->id, w->title, height, svg, err);
    text_release(&script);
    free(names);
    return rc;
}
