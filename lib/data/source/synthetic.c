// SPDX-License-Identifier: MIT
#include "data/source/synthetic.h"

#include <stdlib.h>

#include "base/random.h"
#include "data/dataset.h"

const char *const synthetic_shape_names[SYNTHETIC_SHAPES] = {
    "disc",       "ring",     "square",   "triangle",     "cross",
    "horizontal", "vertical", "diagonal", "checkerboard", "gradient",
};

// Shapes in the order of the names; HORIZONTAL and later ones fill the image.
enum {
    DISC,
    RING,
    SQUARE,
    TRIANGLE,
    CROSS,
    HORIZONTAL,
    VERTICAL,
    DIAGONAL,
    CHECKERBOARD,
    GRADIENT
};

// Blocks (of four elements) below this one hold an image's parameters; its noise bytes follow.
enum { FIRST_NOISE_BLOCK = 64 };

// Draws the parameters of one image in sequence.
typedef struct dice {
    random_stream stream;
    uint32_t next;
} dice;

static int below(dice *d, int n) {
    return (int)random_below(&d->stream, d->next++, (uint32_t)(n > 1 ? n : 1));
}

// All random choices for one image. Coordinates are in half pixels, so that centres can lie between
// pixels.
typedef struct scene {
    int shape;
    int x, y, radius;             // centre and half-size of a figure
    int period, phase_x, phase_y; // of stripes and squares, in pixels
    int slope_x, slope_y;         // of a gradient or of diagonal stripes
    int ramp_low, ramp_span;      // the gradient's values over the image
    int left, top, right, bottom; // covered rectangle, in pixels; empty when left = right
    int back[DATASET_MAX_CHANNELS], front[DATASET_MAX_CHANNELS], cover[DATASET_MAX_CHANNELS];
    int noise; // amplitude
} scene;

static int smaller(int a, int b) {
    return a < b ? a : b;
}

static void place_figure(scene *p, dice *d, const synthetic *s) {
    int side = 2 * smaller(s->height, s->width); // in half pixels
    p->radius = side / 5 + below(d, side / 5);
    if (p->radius < 1) p->radius = 1;
    int room_x = 2 * s->width - 2 * p->radius, room_y = 2 * s->height - 2 * p->radius;
    p->x = p->radius + below(d, room_x);
    p->y = p->radius + below(d, room_y);
}

static void place_pattern(scene *p, dice *d, const synthetic *s) {
    p->period = 2 + below(d, smaller(s->height, s->width) / 5);
    p->phase_x = below(d, 2 * p->period);
    p->phase_y = below(d, 2 * p->period);
    p->slope_x = 1 + below(d, 3);
    p->slope_y = below(d, 7) - 3;
    if (below(d, 2)) p->slope_x = -p->slope_x;
    int end_x = p->slope_x * (s->width - 1), end_y = p->slope_y * (s->height - 1);
    p->ramp_low = smaller(end_x, 0) + smaller(end_y, 0);
    p->ramp_span = abs(end_x) + abs(end_y);
    if (p->ramp_span < 1) p->ramp_span = 1;
}

static void place_cover(scene *p, dice *d, const synthetic *s) {
    int width = below(d, s->width / 3 + 1), height = 1 + below(d, s->height / 3);
    p->left = below(d, s->width - width + 1);
    p->top = below(d, s->height - height + 1);
    p->right = p->left + width;
    p->bottom = p->top + height;
}

static void choose_colours(scene *p, dice *d, int channels) {
    for (int c = 0; c < channels; c++) {
        p->back[c] = below(d, 256);
        // At least 40 apart, also when wrapping round at 256.
        p->front[c] = (p->back[c] + 40 + below(d, 177)) & 255;
        p->cover[c] = below(d, 256);
    }
    p->noise = 16 + below(d, 49);
}

// Returns the front colour's share of pixel (column, row), out of 256.
static int coverage(const scene *p, int column, int row) {
    int x = 2 * column + 1 - p->x, y = 2 * row + 1 - p->y, r = p->radius;
    int far = abs(x) > abs(y) ? abs(x) : abs(y), near = smaller(abs(x), abs(y));
    int square = x * x + y * y;
    int across = (column + p->phase_x) / p->period, down = (row + p->phase_y) / p->period;
    bool in = false;
    switch (p->shape) {
    case DISC: in = square <= r * r; break;
    case RING: in = square <= r * r && 25 * square >= 9 * r * r; break;
    case SQUARE: in = far <= r; break;
    case TRIANGLE: in = abs(y) <= r && 2 * abs(x) <= y + r; break;
    case CROSS: in = far <= r && 4 * near <= r; break;
    case HORIZONTAL: in = down & 1; break;
    case VERTICAL: in = across & 1; break;
    case DIAGONAL:
        // 4096 keeps the sum positive: division must round the same way on both sides of zero.
        in = (column + (p->slope_x < 0 ? -row : row) + p->phase_x + 4096) / p->period & 1;
        break;
    case CHECKERBOARD: in = (across + down) & 1; break;
    case GRADIENT:
        return 256 * (p->slope_x * column + p->slope_y * row - p->ramp_low) / p->ramp_span;
    }
    return in ? 256 : 0;
}

static uint8_t clamp(int value) {
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

// Byte `i` of the image's noise; `block` keeps the last four words, filled at each sixteenth byte.
static int noise_byte(const random_stream *stream, size_t i, uint32_t block[4]) {
    if (i % 16 == 0) random_block(stream, (uint32_t)(FIRST_NOISE_BLOCK + i / 16), block);
    return (int)(block[i % 16 / 4] >> (i % 4 * 8) & 255);
}

static void paint(const synthetic *s, const scene *p, const random_stream *stream, uint8_t *image) {
    uint32_t block[4] = {0};
    size_t i = 0;
    for (int c = 0; c < s->channels; c++)
        for (int row = 0; row < s->height; row++)
            for (int column = 0; column < s->width; column++, i++) {
                bool covered =
                    column >= p->left && column < p->right && row >= p->top && row < p->bottom;
                int part = coverage(p, column, row);
                int value = p->back[c] + (p->front[c] - p->back[c]) * part / 256;
                if (covered) value = p->cover[c];
                int noise = (noise_byte(stream, i, block) - 128) * p->noise / 128;
                image[i] = clamp(value + noise);
            }
}

uint32_t synthetic_draw(const synthetic *s, int split, uint32_t index, uint8_t *image) {
    dice d = {{s->seed, RANDOM_SYNTHETIC, (uint32_t)split, 0, index}, 0};
    const int class = below(&d, s->classes);
    scene p = {.shape = class % SYNTHETIC_SHAPES};
    if (s->noise) {
        size_t bytes = (size_t)s->channels * (size_t)s->height * (size_t)s->width;
        uint32_t block[4] = {0};
        for (size_t i = 0; i < bytes; i++) image[i] = (uint8_t)noise_byte(&d.stream, i, block);
        return (uint32_t) class;
    }
    place_figure(&p, &d, s);
    place_pattern(&p, &d, s);
    place_cover(&p, &d, s);
    choose_colours(&p, &d, s->channels);
    paint(s, &p, &d.stream, image);
    return (uint32_t) class;
}
