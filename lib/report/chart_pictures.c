// SPDX-License-Identifier: MIT
// Draws a chart of pictures: images, each with its class and the predicted one.
#include "base/text.h"
#include "report/drawing.h"
#include "report/plot.h"

// In the units of the drawing. A tile is an image with two lines of text below it.
enum { COLUMNS = 4, TILE = 98, GAP = 16, LINE = 13, TILE_HEIGHT = TILE + 2 * LINE + GAP };

// A line of text that ends where the tile does.
static void draw_line(const char *before, const char *string, int x, int y, text *out) {
    text_format(out, "<svg x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" overflow=\"hidden\">", x, y,
                TILE, LINE + 3);
    text_format(out, "<text y=\"%d\">%s", LINE - 2, before);
    text_markup(out, string);
    text_append(out, "</text></svg>\n");
}

static void draw_picture(const plot *p, int at, text *out) {
    const yaml_node *item = p->items[at];
    const int x = at % COLUMNS * (TILE + GAP), y = at / COLUMNS * TILE_HEIGHT, below = y + TILE + 2;
    text_format(out,
                "<image x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,%s\"/>\n",
                x, y, TILE, TILE, yaml_text_at(item, "png"));
    draw_line("", p->word(p->context, "classes", yaml_text_at(item, "class")), x, below, out);
    draw_line("→ ", p->word(p->context, "classes", yaml_text_at(item, "predicted")), x,
              below + LINE, out);
    text_format(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.0f %%</text>\n", x + TILE,
                below + LINE - 2, 100 * yaml_number_at(item, "probability"));
}

void plot_pictures(const plot *p, text *svg) {
    const int count = (int)p->count, rows = (count + COLUMNS - 1) / COLUMNS;
    const int height = rows * TILE_HEIGHT - GAP + 4;
    drawing_begin(svg, p->id, p->title, height);
    text_append(svg, "<g fill=\"currentColor\" font-size=\"11\">\n");
    for (int i = 0; i < count; i++) draw_picture(p, i, svg);
    text_append(svg, "</g>\n</svg>\n");
}
