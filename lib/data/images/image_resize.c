// SPDX-License-Identifier: MIT
#include "data/images/image_resize.h"

#include <stdlib.h>

#include "base/memory.h"

// The part of one axis that the square needs: output pixels first … first + count - 1 of `out`,
// computed from `in` pixels.
typedef struct axis {
    int64_t in, out, first;
    int count;
} axis;

static axis plan_axis(int side, int shorter, int size) {
    axis a = {.in = side, .out = (int64_t)size * side / shorter, .count = size};
    a.first = (a.out - size) / 2;
    return a;
}

// Lengths are in units of 1 / (2 · out) input pixels, in which all are integers. Below 2^40.
static int64_t half_width(const axis *a) {
    return 2 * (a->in > a->out ? a->in : a->out);
}

static int64_t centre(const axis *a, int k) {
    return (2 * (a->first + k) + 1) * a->in;
}

static int64_t place(const axis *a, int64_t i) {
    return (2 * i + 1) * a->out;
}

// The weights of each output pixel: input pixels begin[k] … begin[k] + count[k] - 1.
typedef struct weights {
    int64_t *begin, *count, *total; // [output pixels]
    int64_t *values;                // [output pixels][room]
    size_t room;
} weights;

static void weights_release(weights *w) {
    free(w->begin);
    free(w->values);
}

static void weigh(const axis *a, int k, weights *w) {
    const int64_t low = centre(a, k) - half_width(a), high = centre(a, k) + half_width(a);
    int64_t i = low > 0 ? low / (2 * a->out) : 0;
    while (place(a, i) <= low) i++;
    w->begin[k] = i;
    for (int64_t n = 0; i < a->in && place(a, i) < high; i++, n++) {
        const int64_t away = llabs(place(a, i) - centre(a, k));
        w->values[(size_t)k * w->room + (size_t)n] = half_width(a) - away;
        w->total[k] += half_width(a) - away;
        w->count[k] = n + 1;
    }
}

static void weights_init(weights *w, const axis *a) {
    const size_t count = (size_t)a->count;
    w->room = (size_t)(2 * a->in / a->out + 3);
    w->begin = memory_new(3 * count, sizeof *w->begin);
    w->values = memory_new(count, w->room * sizeof *w->values);
    w->count = w->begin + count;
    w->total = w->count + count;
    for (int k = 0; k < a->count; k++) weigh(a, k, w);
}

// Returns output pixel k of a line whose pixels are `step` bytes apart.
static uint8_t mean_of(const weights *w, int k, const uint8_t *line, size_t step) {
    const int64_t *value = w->values + (size_t)k * w->room;
    const uint8_t *from = line + (size_t)w->begin[k] * step;
    int64_t sum = w->total[k] / 2;
    for (int64_t n = 0; n < w->count[k]; n++, from += step) sum += value[n] * *from;
    return (uint8_t)(sum / w->total[k]);
}

// Returns the index, before turning, of pixel (y, x) of the upright square.
static size_t turned(int orientation, int size, int y, int x) {
    const int last = size - 1;
    int from_y = y, from_x = x;
    if (orientation > 4) { // 5 to 8 exchange rows and columns
        from_y = x;
        from_x = y;
    }
    if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7)
        from_y = last - from_y;
    if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8)
        from_x = last - from_x;
    return (size_t)from_y * (size_t)size + (size_t)from_x;
}

// Resamples every row to `size` means, over the whole height, then the columns of the result.
static void resample(const image *i, int size, const weights *across, const weights *down,
                     uint8_t *rows, uint8_t *square) {
    const size_t channels = (size_t)i->channels, wide = (size_t)size * channels;
    for (int y = 0; y < i->height; y++) {
        const uint8_t *line = i->pixels + (size_t)y * (size_t)i->width * channels;
        for (int x = 0; x < size; x++)
            for (size_t c = 0; c < channels; c++)
                rows[(size_t)y * wide + (size_t)x * channels + c] =
                    mean_of(across, x, line + c, channels);
    }
    for (size_t c = 0; c < channels; c++)
        for (int y = 0; y < size; y++)
            for (int x = 0; x < size; x++)
                *square++ = mean_of(down, y, rows + (size_t)x * channels + c, wide);
}

static void turn(const image *i, int size, const uint8_t *square, uint8_t *planes) {
    const size_t plane = (size_t)size * (size_t)size;
    for (int c = 0; c < i->channels; c++, square += plane)
        for (int y = 0; y < size; y++)
            for (int x = 0; x < size; x++) *planes++ = square[turned(i->orientation, size, y, x)];
}

status image_square(const image *i, int size, uint8_t *planes, error *err) {
    const int shorter = i->width < i->height ? i->width : i->height;
    const axis horizontal = plan_axis(i->width, shorter, size);
    const axis vertical = plan_axis(i->height, shorter, size);
    const size_t channels = (size_t)i->channels, side = (size_t)size;
    weights across = {0}, down = {0};
    uint8_t *rows = memory_try_new((size_t)i->height * side, channels, err);
    uint8_t *square = memory_try_new(side * side, channels, err);
    status rc = STATUS_FAILED;
    if (!rows || !square) goto out;
    weights_init(&across, &horizontal);
    weights_init(&down, &vertical);
    resample(i, size, &across, &down, rows, square);
    turn(i, size, square, planes);
    rc = STATUS_OK;
out:
    weights_release(&across);
    weights_release(&down);
    free(rows);
    free(square);
    return rc;
}
