// SPDX-License-Identifier: MIT
#include "report/drawing.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/filter.h"
#include "base/printable.h"

// DRAWING_HATCH as gnuplot writes it.
static const char hatch_fill[] = "'rgb(  1,   2,   3)'";

// In seconds. Drawings take a fraction of a second; a program that takes this long has hung.
enum { TIMEOUT_SECONDS = 60 };

// ---- Cleaning gnuplot's SVG ----

// Removes every piece from `open` to the next `close`, both included.
static void remove_between(text *t, const char *open, const char *close) {
    text result = {0};
    const char *rest = text_string(t);
    for (const char *start, *end; (start = strstr(rest, open)); rest = end + strlen(close)) {
        end = strstr(start + strlen(open), close);
        if (!end) break;
        text_bytes(&result, rest, (size_t)(start - rest));
    }
    text_append(&result, rest);
    text_replace_by(t, &result);
}

// gnuplot opens a group for each change of pen; most stay empty.
static void remove_empty_groups(text *t) {
    static const char end[] = "\">\n</g>\n";
    text result = {0};
    const char *rest = text_string(t);
    for (const char *hit; (hit = strstr(rest, end)); rest = hit + sizeof end - 1) {
        const char *start = hit;
        while (start > rest && *start != '<') start--;
        bool group = strncmp(start, "<g ", 3) == 0;
        text_bytes(&result, rest, (size_t)((group ? start : hit + sizeof end - 1) - rest));
    }
    text_append(&result, rest);
    text_replace_by(t, &result);
}

void drawing_begin(text *out, const char *id, const char *title, int height) {
    text_format(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"%s-title\" ",
                DRAWING_WIDTH, height, id);
    text_format(out, "xmlns=\"http://www.w3.org/2000/svg\">\n<title id=\"%s-title\">", id);
    text_markup(out, title);
    text_append(out, "</title>\n");
}

// The script chose it, and gnuplot writes it as viewBox="0 0 WIDTH HEIGHT".
static int height_of(const char *svg) {
    int height = 0;
    const char *box = strstr(svg, "viewBox=");
    if (box) (void)sscanf(box, "viewBox=\"0 0 %*d %d\"", &height);
    return height;
}

// Text inherits font and colour from the page, ids cannot clash with those of other drawings, and
// the size is only a viewBox.
static void clean(text *svg, const char *id, const char *title) {
    const int height = height_of(text_string(svg));
    remove_between(svg, "<?xml", "?>");
    remove_between(svg, "<svg", ">");
    remove_between(svg, "<title>", "</title>");
    remove_between(svg, "<desc>", "</desc>");
    remove_between(svg, "<defs>", "</defs>");
    remove_between(svg, "<rect x=\"0\" y=\"0\"", "/>"); // the background
    remove_between(svg, " font-family=\"", "\"");
    remove_between(svg, " id=\"", "\"");
    remove_between(svg, " color=\"", "\"");
    remove_between(svg, "<use xlink:href='#gpDot'", "/>"); // of whiskers, with no size
    remove_empty_groups(svg);
    char own[64];
    snprintf(own, sizeof own, "href='#%s-dot'", id);
    text_replace(svg, "xlink:href='#gpPt6'", own); // the only symbol used by the scripts
    snprintf(own, sizeof own, "'url(#%s-hatch)'", id);
    text_replace(svg, hatch_fill, own);
    text_replace(svg, "' color='", "' fill='");
    text_replace(svg, "=\"black\"", "=\"currentColor\"");
    text_replace(svg, "='black'", "='currentColor'");
    text_replace(svg, "=\"rgb(  0,   0,   0)\"", "=\"currentColor\"");
    text_replace(svg, "='rgb(  0,   0,   0)'", "='currentColor'"); // whiskers and connectors
    text_replace(svg, "<tspan >", "<tspan>");
    text_replace(svg, "\n\n", "\n");
    text page = {0};
    drawing_begin(&page, id, title, height);
    text_format(&page, "<defs><circle id=\"%s-dot\" r=\"1\" stroke=\"none\"/>", id);
    text_format(&page, "<pattern id=\"%s-hatch\" width=\"6\" height=\"6\" ", id);
    text_append(&page, "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><path "
                       "d=\"M1.5 0V6\" stroke=\"#fff\" stroke-width=\"2.6\" "
                       "stroke-opacity=\".7\"/></pattern></defs>");
    text_append(&page, text_string(svg));
    text_replace_by(svg, &page);
}

// ---- Running gnuplot ----

// One script after another, each as if it were the first. The svg terminal ends a drawing when its
// output is closed.
static status run_gnuplot(const drawing *drawings, size_t count, text *output, error *err) {
    char program[] = "gnuplot", defaults[] = "-d", dash[] = "-";
    char *arguments[] = {program, defaults, dash, NULL};
    text scripts = {0};
    bool found = true;
    for (size_t i = 0; i < count; i++)
        if (drawings[i].script.length)
            text_format(&scripts, "%sunset output\nreset session\n",
                        text_string(&drawings[i].script));
    status rc = STATUS_OK;
    if (scripts.length) rc = filter_run(arguments, &scripts, TIMEOUT_SECONDS, output, &found, err);
    if (rc == STATUS_OK && !found) rc = error_set(err, STATUS_FAILED, "'gnuplot' was not found");
    text_release(&scripts);
    return rc;
}

// Returns the length of the first drawing in gnuplot's output; 0 if it is not whole.
static size_t length_of_first(const char *output) {
    static const char close[] = "</svg>\n";
    const char *end = strstr(output, close);
    return end && strstr(output, "<svg") < end ? (size_t)(end - output) + strlen(close) : 0;
}

static void take_first(drawing *d, const char *output, size_t length) {
    text svg = {0};
    text_bytes(&svg, output, length);
    clean(&svg, d->id, d->title);
    d->svg = text_take(&svg);
    (void)printable(d->svg, false);
}

// Takes drawings from the output and moves *output behind them. Returns the first that is not
// there; NULL: all are.
static const drawing *take_drawings(drawing *drawings, size_t count, const char **output) {
    for (size_t i = 0; i < count; i++) {
        if (!drawings[i].script.length) continue;
        *output += strspn(*output, "\n"); // between two drawings
        const size_t length = length_of_first(*output);
        if (!length) return &drawings[i];
        take_first(&drawings[i], *output, length);
        *output += length;
    }
    return NULL;
}

status drawings_make(drawing *drawings, size_t count, error *err) {
    text output = {0};
    status rc = run_gnuplot(drawings, count, &output, err);
    const char *rest = text_string(&output);
    const drawing *missing = take_drawings(drawings, count, &rest);
    if (rc == STATUS_OK && missing)
        rc = error_set(err, STATUS_FAILED,
                       strstr(rest, "<svg")
                           ? "'gnuplot' wrote only a part of it"
                           : "'gnuplot' wrote no drawing: does it have the svg terminal?");
    if (rc != STATUS_OK)
        rc = missing ? error_prefix(err, "cannot draw '%s': ", missing->id)
                     : error_prefix(err, "cannot draw: ");
    text_release(&output);
    return rc;
}

void drawing_release(drawing *d) {
    free(d->id);
    free(d->title);
    free(d->svg);
    text_release(&d->script);
}

// ---- Files ----

void drawing_to_file(const char *svg, text *out) {
    static const char begin[] = "<svg ";
    const char *rest = strchr(svg, '>') + 1;
    text_append(out, "<svg font-family=\"sans-serif\" ");
    text_bytes(out, svg + strlen(begin), (size_t)(rest - svg) - strlen(begin));
    text_append(out, "\n<style>svg{color:#000}@media(prefers-color-scheme:dark)"
                     "{svg{color:#e3e6e8}}</style>");
    text_append(out, rest);
}

// Programs that could not write all of a drawing may still exit with 0.
status drawing_to_pdf(const text *svg, text *pdf, error *err) {
    char program[] = "rsvg-convert", format[] = "--format=pdf";
    char *arguments[] = {program, format, NULL};
    bool found;
    status rc = filter_run(arguments, svg, TIMEOUT_SECONDS, pdf, &found, err);
    const size_t tail = strlen("%%EOF\n");
    if (rc == STATUS_OK && found &&
        (pdf->length < tail || strncmp(pdf->data, "%PDF", 4) != 0 ||
         !memmem(pdf->data + pdf->length - tail, tail, "%%EOF", 5)))
        rc = error_set(err, STATUS_FAILED, "cannot draw: 'rsvg-convert' wrote no whole PDF");
    return rc;
}
