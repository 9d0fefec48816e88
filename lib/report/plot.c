#include "report/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"

// Of middle lightness, so that each reads on white and on near-black.
static const char *const colours[PLOT_COLOURS] = {"#3b82c4", "#d9762b", "#2f9e6e", "#b05fb4",
                                                  "#c9504a", "#1c9cb0", "#a5823a", "#7d8790"};

enum { WIDTH = 440, HEIGHT = 290, LEGEND_ROW = 20, BAR_COLUMNS = 3, LONG_NAME = 22 };
enum { HALF_LEGEND = 18 }; // characters of a name that leaves room for another one beside it

// ---- Running gnuplot ----

// A file in memory that holds `script`, ready to be read; -1 on failure.
static int memory_file(const char *script, size_t length) {
    int fd = memfd_create("lockstep-plot", MFD_CLOEXEC);
    if (fd < 0) return -1;
    for (size_t done = 0; done < length;) {
        ssize_t n = write(fd, script + done, length - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            close(fd);
            return -1;
        }
        done += (size_t)n;
    }
    if (lseek(fd, 0, SEEK_SET) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool read_back(int fd, text *out) {
    char buffer[1 << 14];
    if (lseek(fd, 0, SEEK_SET) < 0) return false;
    for (;;) {
        ssize_t n = read(fd, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        if (n == 0) return true;
        text_bytes(out, buffer, (size_t)n);
    }
}

// Starts gnuplot with files in memory for its input and output: no pipe that could block or break.
// Returns 0 or an errno value.
static int spawn_gnuplot(int in, int out, pid_t *child) {
    const char *path = getenv("PATH");
    char path_entry[4096];
    snprintf(path_entry, sizeof path_entry, "PATH=%s", path ? path : "/usr/bin:/bin");
    char locale[] = "LC_ALL=C.UTF-8", program[] = "gnuplot", defaults[] = "-d", dash[] = "-";
    char *environment[] = {path_entry, locale, NULL};
    char *arguments[] = {program, defaults, dash, NULL};
    posix_spawn_file_actions_t actions;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure) return failure;
    failure = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    if (!failure) failure = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (!failure)
        failure =
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!failure) failure = posix_spawnp(child, program, &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}

// Puts what gnuplot draws into `svg`; else says why not.
static void run_gnuplot(const text *script, text *svg, char why[128]) {
    int in = memory_file(text_string(script), script->length), out = memory_file("", 0);
    pid_t child = -1;
    int failure = in < 0 || out < 0 ? errno : spawn_gnuplot(in, out, &child), state = 0;
    if (failure == ENOENT) {
        snprintf(why, 128, "gnuplot was not found");
    } else if (failure) {
        snprintf(why, 128, "gnuplot could not be started (error %d)", failure);
    } else {
        while (waitpid(child, &state, 0) < 0 && errno == EINTR) continue;
        if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
            snprintf(why, 128, "gnuplot failed");
        else if (!read_back(out, svg) || !strstr(text_string(svg), "<svg"))
            snprintf(why, 128, "gnuplot wrote no drawing: does it have the svg terminal?");
    }
    if (in >= 0) close(in);
    if (out >= 0) close(out);
}

// ---- Cleaning its SVG ----

// Removes every piece from `open` to the next `close`, both included.
static void remove_between(text *t, const char *open, const char *close) {
    text result;
    text_init(&result, t->err);
    const char *rest = text_string(t);
    for (const char *start, *end; (start = strstr(rest, open)); rest = end + strlen(close)) {
        end = strstr(start + strlen(open), close);
        if (!end) break;
        text_bytes(&result, rest, (size_t)(start - rest));
    }
    text_append(&result, rest);
    text_release(t);
    *t = result;
}

// gnuplot opens a group for each change of pen; most stay empty.
static void remove_empty_groups(text *t) {
    static const char end[] = "\">\n</g>\n";
    text result;
    text_init(&result, t->err);
    const char *rest = text_string(t);
    for (const char *hit; (hit = strstr(rest, end)); rest = hit + sizeof end - 1) {
        const char *start = hit;
        while (start > rest && *start != '<') start--;
        bool group = strncmp(start, "<g ", 3) == 0;
        text_bytes(&result, rest, (size_t)((group ? start : hit + sizeof end - 1) - rest));
    }
    text_append(&result, rest);
    text_release(t);
    *t = result;
}

static void escape_attribute(text *out, const char *string) {
    for (; *string; string++) {
        if (*string == '&')
            text_append(out, "&amp;");
        else if (*string == '<')
            text_append(out, "&lt;");
        else if (*string == '"')
            text_append(out, "&quot;");
        else
            text_bytes(out, string, 1);
    }
}

// Text inherits font and colour from the page, nothing has an id that another drawing may have, and
// the size is a viewBox alone.
static void clean(text *svg, const char *id, const char *title, int height) {
    remove_between(svg, "<?xml", "?>");
    remove_between(svg, "<svg", ">");
    remove_between(svg, "<title>", "</title>");
    remove_between(svg, "<desc>", "</desc>");
    remove_between(svg, "<defs>", "</defs>");
    remove_between(svg, "<rect x=\"0\" y=\"0\"", "/>"); // the background
    remove_between(svg, " font-family=\"", "\"");
    remove_between(svg, " id=\"", "\"");
    remove_between(svg, " color=\"", "\"");
    remove_empty_groups(svg);
    char dot[64];
    snprintf(dot, sizeof dot, "href='#%s-dot'", id);
    text_replace(svg, "xlink:href='#gpPt6'", dot); // the only symbol that scripts here use
    text_replace(svg, "' color='", "' fill='");
    text_replace(svg, "=\"black\"", "=\"currentColor\"");
    text_replace(svg, "='black'", "='currentColor'");
    text_replace(svg, "<tspan >", "<tspan>");
    text_replace(svg, "\n\n", "\n");
    text page;
    text_init(&page, svg->err);
    text_format(&page, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"%s-title\" ",
                WIDTH, height, id);
    text_format(&page, "xmlns=\"http://www.w3.org/2000/svg\">\n<title id=\"%s-title\">", id);
    escape_attribute(&page, title);
    text_format(&page, "</title>\n<defs><circle id=\"%s-dot\" r=\"1\" stroke=\"none\"/></defs>",
                id);
    text_append(&page, text_string(svg));
    text_release(svg);
    *svg = page;
}

static status draw(const text *script, const char *id, const char *title, int height, char **svg,
                   char why[128], error *err) {
    text drawing;
    text_init(&drawing, err);
    *svg = NULL;
    *why = 0;
    status rc = text_status(script);
    if (rc == STATUS_OK) run_gnuplot(script, &drawing, why);
    if (rc == STATUS_OK && !*why) {
        clean(&drawing, id, title, height);
        *svg = text_take(&drawing);
        if (!*svg) rc = STATUS_FAILED;
    }
    text_release(&drawing);
    return rc;
}

// ---- Scripts ----

// In single quotes gnuplot takes every character as it is; a quote is doubled.
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

static int legend_height(size_t entries, size_t columns) {
    return (int)((entries + columns - 1) / columns) * LEGEND_ROW;
}

// A legend above a drawing of that height, in the middle of its whole width: gnuplot would centre
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

static void write_curve_style(text *out, const plot_curve *c) {
    const char *colour = colours[c->colour % PLOT_COLOURS];
    if (c->faint)
        text_format(out, "with lines lw 0.6 lc rgb '#99%s'", colour + 1); // 0x99: transparency
    else
        text_format(out, "with lines lw 2 lc rgb '%s'", colour);
}

// A curve of few points shows them; one of a single point would show nothing else.
static bool wants_discs(const plot_curve *c) {
    return !c->faint && c->count <= 40;
}

static void write_discs(text *out, const plot_curve *c, size_t index) {
    text_format(out, ", $c%zu using 1:2 with points pt 7 ps 0.6 lc rgb '%s' notitle", index,
                colours[c->colour % PLOT_COLOURS]);
}

static void write_plot_command(text *out, const plot_curve *curves, size_t count) {
    size_t drawn = 0;
    for (size_t i = 0; i < count; i++) {
        const plot_curve *c = &curves[i];
        if (!has_points(c)) continue;
        text_append(out, drawn++ ? ", " : "plot ");
        text_format(out, "$c%zu using 1:2 ", i);
        write_curve_style(out, c);
        text_append(out, c->name ? " title " : " notitle");
        if (c->name) quote(out, c->name);
        if (wants_discs(c)) write_discs(out, c, i);
    }
    text_append(out, "\n");
}

status plot_curves(const plot_axes *axes, const plot_curve *curves, size_t count, char **svg,
                   char why[128], error *err) {
    size_t named = 0, columns = 2;
    for (size_t i = 0; i < count; i++) {
        named += curves[i].name != NULL;
        if (curves[i].name && text_columns(curves[i].name) > HALF_LEGEND) columns = 1;
    }
    int height = HEIGHT + legend_height(named, columns);
    text script;
    text_init(&script, err);
    write_preamble(&script, height, axes->x);
    text_append(&script, "set ylabel ");
    quote(&script, axes->y);
    text_append(&script, axes->percent ? " offset 0,0\n" : " offset 1,0\n");
    if (axes->percent) text_append(&script, "set format y '%g %%'\n");
    if (named) write_legend_above(&script, named, columns, height);
    for (size_t i = 0; i < count; i++) write_curve_data(&script, &curves[i], i);
    write_plot_command(&script, curves, count);
    status rc = draw(&script, axes->id, axes->title, height, svg, why, err);
    text_release(&script);
    return rc;
}

// Where the names of horizontal bars stand, and what room that takes: beside the bars, or above
// them where one is so long that it would leave no room for the drawing.
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

// The names of horizontal bars, the first one on top.
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

status plot_stacked(const plot_bars *b, char **svg, char why[128], error *err) {
    const bar_layout layout = layout_bars(b->bars, b->bar_count);
    int height = 75 + legend_height(b->part_count, BAR_COLUMNS) + (int)b->bar_count * layout.row;
    text script;
    text_init(&script, err);
    write_preamble(&script, height, b->x);
    text_append(&script, "unset grid\nset grid xtics lt 1 lw 0.4 lc rgb '#999999'\nset border 1\n");
    text_append(&script, "set style fill solid 1 noborder\n");
    write_legend_above(&script, b->part_count, BAR_COLUMNS, height);
    text_append(&script, "set xrange [0:*]\n");
    write_bar_names(&script, b->bars, b->bar_count, layout);
    write_bar_data(&script, b, layout.half);
    for (size_t part = 0; part < b->part_count; part++) {
        text_append(&script, part ? ", " : "plot ");
        text_format(&script, "$p%zu using 1:2:3:4:5:6 with boxxyerror lw 0 lc rgb '%s' title ",
                    part, colours[part % PLOT_COLOURS]);
        quote(&script, b->parts[part]);
    }
    text_append(&script, "\n");
    status rc = draw(&script, b->id, b->title, height, svg, why, err);
    text_release(&script);
    return rc;
}

// Bars, then whiskers: a bar of each place, and a range where there is one.
static void write_values(text *out, const plot_values *v, double half) {
    text_append(out, "$bars << EOD\n");
    for (size_t i = 0; i < v->count; i++) {
        double row = (double)(v->count - i), x = v->value[i];
        if (!isfinite(x)) continue;
        text_format(out, "%.6g %g %.6g %.6g %g %g\n", x, row, fmin(0, x), fmax(0, x), row - half,
                    row + half);
    }
    text_append(out, "EOD\n$ranges << EOD\n");
    for (size_t i = 0; i < v->count; i++)
        if (isfinite(v->value[i]) && isfinite(v->low[i]) && isfinite(v->high[i]))
            text_format(out, "%.6g %zu %.6g %.6g\n", v->value[i], v->count - i, v->low[i],
                        v->high[i]);
    text_append(out, "EOD\n");
}

// A distance between ticks that leaves room for their numbers: about four in the range drawn.
static double tick_step(const plot_values *v) {
    double low = 0, high = isfinite(v->reference) ? v->reference : 0;
    for (size_t i = 0; i < v->count; i++) {
        if (!isfinite(v->value[i])) continue;
        low = fmin(low, fmin(v->value[i], isfinite(v->low[i]) ? v->low[i] : 0));
        high = fmax(high, fmax(v->value[i], isfinite(v->high[i]) ? v->high[i] : 0));
    }
    double rough = (high > low ? high - low : 1) / 4, unit = pow(10, floor(log10(rough)));
    return rough <= unit       ? unit
           : rough <= 2 * unit ? 2 * unit
           : rough <= 5 * unit ? 5 * unit
                               : 10 * unit;
}

static bool any_range(const plot_values *v) {
    for (size_t i = 0; i < v->count; i++)
        if (isfinite(v->value[i]) && isfinite(v->low[i]) && isfinite(v->high[i])) return true;
    return false;
}

status plot_whiskers(const plot_values *v, char **svg, char why[128], error *err) {
    const bar_layout layout = layout_bars(v->names, v->count);
    int height = 75 + (int)v->count * layout.row;
    text script;
    text_init(&script, err);
    write_preamble(&script, height, v->x);
    text_append(&script, "unset key\nunset grid\nset border 1\nset style fill solid 1 noborder\n"
                         "set grid xtics lt 1 lw 0.4 lc rgb '#999999'\n"
                         "set xrange [*<0:0<*]\n");
    text_format(&script, "set xtics %g\n", tick_step(v));
    text_append(&script, "set arrow from 0, graph 0 to 0, graph 1 nohead lw 0.8 lc rgb 'black'\n");
    if (isfinite(v->reference))
        text_format(&script,
                    "set arrow from %g, graph 0 to %g, graph 1 nohead dt 2 lw 1 lc rgb 'black'\n",
                    v->reference, v->reference);
    write_bar_names(&script, v->names, v->count, layout);
    write_values(&script, v, layout.half);
    text_format(&script, "plot $bars using 1:2:3:4:5:6 with boxxyerror lw 0 lc rgb '%s'",
                colours[0]);
    if (any_range(v))
        text_append(&script, ", $ranges using 1:2:3:4 with xerrorbars pt 0 lw 1.4 lc rgb 'black'");
    text_append(&script, "\n");
    status rc = draw(&script, v->id, v->title, height, svg, why, err);
    text_release(&script);
    return rc;
}
