// SPDX-License-Identifier: MIT
#include "data/augment.h"

#include <stddef.h>
#include <string.h>

#include "data/color_jitter.h"

// ---- Crop and flip ----

void image_crop(shape size, int padding, crop_choice c, const uint8_t *from, uint8_t *to) {
    const ptrdiff_t width = size.width, down = c.top - padding, right = c.left - padding;
    const ptrdiff_t keep = width - (right < 0 ? -right : right); // columns of the image that stay
    memset(to, 0, shape_size(size));
    if (keep <= 0) return;
    for (ptrdiff_t plane = 0; plane < size.channels; plane++)
        for (ptrdiff_t y = 0; y < size.height; y++) {
            if (y + down < 0 || y + down >= size.height) continue;
            const uint8_t *row = from + (plane * size.height + y + down) * width;
            uint8_t *out = to + (plane * size.height + y) * width;
            memcpy(out + (right < 0 ? -right : 0), row + (right > 0 ? right : 0), (size_t)keep);
        }
}

void image_crop_reflect(shape size, int padding, crop_choice c, const uint8_t *from, uint8_t *to) {
    const int down = c.top - padding, right = c.left - padding;
    for (ptrdiff_t plane = 0; plane < size.channels; plane++)
        for (int y = 0; y < size.height; y++) {
            const ptrdiff_t source = augment_reflect(y + down, size.height);
            const uint8_t *row = from + (plane * size.height + source) * size.width;
            for (int x = 0; x < size.width; x++)
                *to++ = row[augment_reflect(x + right, size.width)];
        }
}

void image_flip(shape size, const uint8_t *from, uint8_t *to) {
    const ptrdiff_t rows = (ptrdiff_t)size.channels * size.height, width = size.width;
    for (ptrdiff_t row = 0; row < rows; row++, from += width, to += width)
        for (ptrdiff_t x = 0; x < width; x++) to[x] = from[width - 1 - x];
}

// ---- Affine map ----

// Copies one pixel in all planes.
static inline void copy_pixel(shape size, const uint8_t *from, int64_t row, int64_t column,
                              uint8_t *to) {
    const int64_t plane = (int64_t)size.height * size.width;
    const bool inside = augment_inside(size, row, column);
    const int64_t at = inside ? row * size.width + column : 0;
    for (int64_t c = 0; c < size.channels * plane; c += plane) to[c] = inside ? from[at + c] : 0;
}

// Walks the lines incrementally; each pixel is the one that augment_source computes.
static void follow_lines(shape size, const augment_map *m, const uint8_t *from, uint8_t *to) {
    const augment_line *row = &m->row.line, *column = &m->column.line;
    int64_t first_row = row->start, first_column = column->start;
    for (int y = 0; y < size.height; y++, first_row += row->per_y, first_column += column->per_y) {
        int64_t r = first_row, c = first_column;
        for (int x = 0; x < size.width; x++, r += row->per_x, c += column->per_x)
            copy_pixel(size, from, r >> 16, c >> 16, to++);
    }
}

static void follow_ramps(shape size, const augment_map *m, const uint8_t *from, uint8_t *to) {
    double row = m->row.ramp.start;
    for (int y = 0; y < size.height; y++, row += m->row.ramp.step) {
        double column = m->column.ramp.start;
        for (int x = 0; x < size.width; x++, column += m->column.ramp.step)
            copy_pixel(size, from, augment_pixel_of(row), augment_pixel_of(column), to++);
    }
}

static void follow_walks(shape size, const augment_map *m, const uint8_t *from, uint8_t *to) {
    const augment_walk *row = &m->row.walk, *column = &m->column.walk;
    double first_row = row->start, first_column = column->start;
    for (int y = 0; y < size.height; y++, first_row += row->per_y, first_column += column->per_y) {
        double r = first_row, c = first_column;
        for (int x = 0; x < size.width; x++, r += row->per_x, c += column->per_x)
            copy_pixel(size, from, augment_pixel_of(r), augment_pixel_of(c), to++);
    }
}

void image_affine(shape size, affine_choice c, const uint8_t *from, uint8_t *to) {
    const augment_map m = augment_map_affine(size, c);
    if (m.kind == MAP_RAMPS)
        follow_ramps(size, &m, from, to);
    else if (m.kind == MAP_WALKS)
        follow_walks(size, &m, from, to);
    else
        follow_lines(size, &m, from, to);
}

// ---- Resized crop ----

enum { RUN = 64 }; // columns whose taps are computed once

static void resample_columns(shape size, const augment_map *m, int begin, int count,
                             const uint8_t *from, uint8_t *to) {
    const ptrdiff_t width = size.width;
    augment_taps columns[RUN];
    for (int i = 0; i < count; i++)
        columns[i] = augment_taps_at(m->column.span, size.width, begin + i);
    for (int y = 0; y < size.height; y++) {
        const augment_taps row = augment_taps_at(m->row.span, size.height, y);
        for (ptrdiff_t plane = 0; plane < size.channels; plane++) {
            const uint8_t *first = from + (plane * size.height + row.first) * width;
            const uint8_t *last = from + (plane * size.height + row.last) * width;
            uint8_t *out = to + (plane * size.height + y) * width + begin;
            for (int i = 0; i < count; i++) {
                const augment_taps *c = &columns[i];
                out[i] = augment_blend(&row, augment_blend(c, first[c->first], first[c->last]),
                                       augment_blend(c, last[c->first], last[c->last]));
            }
        }
    }
}

void image_resized_crop(shape size, resized_crop_choice c, const uint8_t *from, uint8_t *to) {
    const augment_map m = augment_map_resample(c);
    for (int x = 0; x < size.width; x += RUN)
        resample_columns(size, &m, x, size.width - x < RUN ? size.width - x : RUN, from, to);
}

// ---- Cutout ----

void image_cutout(shape size, int side, cutout_choice c, const uint8_t *fill, const uint8_t *from,
                  uint8_t *to) {
    const int top = c.top < 0 ? 0 : c.top, left = c.left < 0 ? 0 : c.left;
    const int bottom = c.top + side < size.height ? c.top + side : size.height;
    const int right = c.left + side < size.width ? c.left + side : size.width;
    memcpy(to, from, shape_size(size));
    if (left >= right) return;
    for (ptrdiff_t plane = 0; plane < size.channels; plane++)
        for (ptrdiff_t y = top; y < bottom; y++)
            memset(to + (plane * size.height + y) * size.width + left, fill[plane],
                   (size_t)(right - left));
}

// ---- A sample ----

static void apply(const augment_list *list, const augment_key *key, int place, shape size,
                  const uint8_t *from, uint8_t *to) {
    static const uint8_t black[AUGMENT_MAX_CHANNELS];
    const augmentation *a = &list->items[place];
    switch (a->kind) {
    case AUGMENT_RANDOM_CROP:
        (a->reflect ? image_crop_reflect
                    : image_crop)(size, a->padding, augment_choose_crop(a, key, place), from, to);
        break;
    case AUGMENT_HORIZONTAL_FLIP:
        if (augment_choose_flip(a, key, place))
            image_flip(size, from, to);
        else
            memcpy(to, from, shape_size(size));
        break;
    case AUGMENT_RANDOM_AFFINE:
        image_affine(size, augment_choose_affine(a, key, place, size), from, to);
        break;
    case AUGMENT_CUTOUT:
        image_cutout(size, a->size, augment_choose_cutout(a, key, place, size),
                     a->mean ? list->mean : black, from, to);
        break;
    case AUGMENT_RESIZED_CROP:
        image_resized_crop(size, augment_choose_resized_crop(a, key, place, size), from, to);
        break;
    case AUGMENT_COLOR_JITTER: {
        const color_jitter_choice c = color_jitter_choose(a, key, place);
        image_color_jitter(size, &c, from, to);
        break;
    }
    }
}

bool augment_needs_host(const augment_list *list) {
    for (int k = 0; k < list->count; k++)
        if (list->items[k].kind == AUGMENT_COLOR_JITTER) return true;
    return false;
}

void augment_sample(const augment_list *list, const augment_key *key, shape size,
                    const uint8_t *from, uint8_t *scratch, uint8_t *to) {
    if (list->count == 0) memcpy(to, from, shape_size(size));
    // Alternates between the two buffers so that the last result ends up in `to`.
    for (int i = 0; i < list->count; i++) {
        uint8_t *out = (list->count - i) % 2 ? to : scratch;
        apply(list, key, i, size, from, out);
        from = out;
    }
}
