// SPDX-License-Identifier: MIT
// The test images that a model got wrong with the highest probability, as a drawing.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/images/image.h"
#include "report/drawing.h"
#include "report/sections.h"
#include "results/mistakes.h"

// In the units of the drawing. A tile is an image with two lines of text below it.
enum { COLUMNS = 4, TILE = 98, GAP = 16, LINE = 13, TILE_HEIGHT = TILE + 2 * LINE + GAP };
enum { FIGURES_MAX = 3 };

static status draw_image(const mistakes *m, const mistake *one, int x, int y, text *out,
                         error *err) {
    const image i = {.width = m->width,
                     .height = m->height,
                     .channels = m->channels,
                     .orientation = 1,
                     .pixels = one->pixels};
    uint8_t *file;
    size_t bytes;
    status rc = image_encode_png(&i, &file, &bytes, err);
    if (rc != STATUS_OK) return rc;
    text_format(out,
                "<image x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,",
                x, y, TILE, TILE);
    text_base64(out, file, bytes);
    text_append(out, "\"/>\n");
    free(file);
    return STATUS_OK;
}

// A line of text that ends where the tile does.
static void draw_line(const char *before, const char *string, int x, int y, text *out) {
    text_format(out, "<svg x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" overflow=\"hidden\">", x, y,
                TILE, LINE + 3);
    text_format(out, "<text y=\"%d\">%s", LINE - 2, before);
    text_markup(out, string);
    text_append(out, "</text></svg>\n");
}

static status draw_tile(const results *r, const run *one, const mistakes *m, size_t at, text *out,
                        error *err) {
    const mistake *wrong = &m->items[at];
    const int x = (int)(at % COLUMNS) * (TILE + GAP), y = (int)(at / COLUMNS) * TILE_HEIGHT;
    const int below = y + TILE + 2;
    status rc = draw_image(m, wrong, x, y, out, err);
    if (rc != STATUS_OK) return rc;
    draw_line("", class_label(r, one->classes[wrong->label].name), x, below, out);
    draw_line("→ ", class_label(r, one->classes[wrong->predicted].name), x, below + LINE, out);
    text_format(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.0f %%</text>\n", x + TILE,
                below + LINE - 2, 100 * wrong->probability);
    return STATUS_OK;
}

static status draw(const results *r, const run *one, const mistakes *m, const char *id, char **svg,
                   error *err) {
    const int rows = (int)((m->count + COLUMNS - 1) / COLUMNS);
    text out = {0};
    status rc = STATUS_OK;
    drawing_begin(&out, id, say(r, "Wrong predictions"), rows * TILE_HEIGHT - GAP + 4);
    text_append(&out, "<g fill=\"currentColor\" font-size=\"11\">\n");
    for (size_t i = 0; rc == STATUS_OK && i < m->count; i++)
        rc = draw_tile(r, one, m, i, &out, err);
    text_append(&out, "</g>\n</svg>\n");
    *svg = rc == STATUS_OK ? text_take(&out) : NULL;
    text_release(&out);
    return rc == STATUS_OK && !*svg ? STATUS_FAILED : rc;
}

static status add_figure(const results *r, document *d, const run *one, size_t number,
                         const mistakes *m, error *err) {
    char id[32], caption[512], *svg;
    snprintf(id, sizeof id, "mistakes-%zu", number);
    status rc = draw(r, one, m, id, &svg, err);
    if (rc != STATUS_OK) return rc;
    snprintf(caption, sizeof caption,
             say(r, "Of %zu wrong predictions of %s, those with the highest probability: true "
                    "class and probability, → predicted class."),
             m->all, one->name);
    document_figure(d, id, svg, caption);
    return STATUS_OK;
}

status section_mistakes(const results *r, document *d, error *err) {
    size_t figures = 0;
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < r->list.count && figures < FIGURES_MAX; i++) {
        const run *one = &r->list.runs[i];
        mistakes m;
        if (!shows_classes(r, i)) continue;
        rc = mistakes_read(one, r->options.test, &m, err);
        if (rc == STATUS_OK && m.count) {
            if (!figures++) document_add(d, BLOCK_HEADING, "%s", say(r, "Wrong predictions"));
            rc = add_figure(r, d, one, figures, &m, err);
        }
        mistakes_release(&m);
    }
    return rc;
}
