// SPDX-License-Identifier: MIT
// augmentation.h - the source of each pixel of an augmented image: random crops, flips, affine
// maps, resized crops and erased squares of bytes, before normalisation. Shared by the CPU
// (data/augment.h, whole images) and CUDA devices (cuda/kernels/load.cu, one pixel per thread).
//
// The augmentation of a sample depends only on (seed, place in the list, epoch, sample id), so any
// number of loader workers, ranks, devices and restarts gives the same pixels. Pixels from outside
// the image are 0, unless the entry says otherwise.
//
// Each entry of a list turns an image into another of the same size. A *map* gives the source
// position of each pixel of the result. To find the source of a single pixel, apply the maps of a
// list from the last entry to the first. One entry of a list may *resample*: then a pixel is the
// mean of up to four.
//
// The geometry of crops, flips, affine maps and resized crops is torchvision's, on PIL images: the
// same parameters give the same pixels. Cutout is DeVries and Taylor's (arXiv 1708.04552), for even
// sizes with the same squares as their program. The alternating flip is that of cifar10-airbench
// (K. Jordan, arXiv 2404.00498). Coordinates are integers, computed from doubles by sums, products,
// quotients and rint, each rounded once (-ffp-contract=off, -fmad=false), so all processors and
// devices agree. Where Pillow adds up doubles instead of fixed-point numbers, so does this file.
#ifndef LOCKSTEP_COMPUTE_AUGMENTATION_H
#define LOCKSTEP_COMPUTE_AUGMENTATION_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/elementary.h"
#include "base/random.h"
#include "compute/program.h"

enum { AUGMENT_MAX = 16, AUGMENT_MAX_PADDING = 64, AUGMENT_MAX_CHANNELS = 16 };

typedef enum augment_kind {
    AUGMENT_RANDOM_CROP,     // RandomCrop(size of the image, padding, padding_mode)
    AUGMENT_HORIZONTAL_FLIP, // RandomHorizontalFlip(p), or alternating
    AUGMENT_RANDOM_AFFINE,   // RandomAffine(degrees, translate, scale), nearest, about the centre
    AUGMENT_CUTOUT,          // a square with a random centre is erased
    AUGMENT_RESIZED_CROP,    // RandomResizedCrop(size of the image, scale, ratio), bilinear; once
    AUGMENT_COLOR_JITTER,    // ColorJitter(brightness, contrast, saturation, hue)
} augment_kind;

typedef enum color_property {
    COLOR_BRIGHTNESS,
    COLOR_CONTRAST,
    COLOR_SATURATION,
    COLOR_HUE,
} color_property;
enum { COLOR_PROPERTIES = COLOR_HUE + 1 };

typedef struct augmentation {
    augment_kind kind;
    int padding;         // crop: 0 … AUGMENT_MAX_PADDING
    bool reflect;        // crop: pixels outside are those inside, mirrored at the pixels of the
                         // border; `padding` is then below height and width
    bool alternate;      // flip: at random in epoch 0, then the other way round in every epoch
    bool mean;           // cutout: filled with the list's `mean`, not with 0
    int size;            // cutout: side of the square, in pixels; at least 1
    double p;            // flip: probability
    double degrees;      // affine: the angle is in [-degrees, degrees); 0 … 180
    double translate[2]; // affine: largest shift, as fractions of width and height; 0 … 1
    double scale[2];     // affine: smallest, largest; above 0. Resized crop: parts of the area
    double ratio[2];     // resized crop: smallest, largest width / height
    double log_ratio[2]; // their logarithms
    double jitter[COLOR_PROPERTIES]; // jitter: largest change of each; 0: none
} augmentation;

// Applied in order, each to the result of the previous one.
typedef struct augment_list {
    int count;
    augmentation items[AUGMENT_MAX];
    uint8_t mean[AUGMENT_MAX_CHANNELS]; // the byte that each channel has on average
} augment_list;

typedef struct augment_key {
    uint64_t seed;
    uint32_t epoch, id;
} augment_key;

// ---- Random choices for a sample ----
//
// Elements of the stream (purpose, layer = place in the list, epoch, sample id). Crop
// (RANDOM_CROP): row, column. Flip (RANDOM_FLIP): one uniform number, compared with p; an
// alternating flip uses that of epoch 0 in all epochs. Affine (RANDOM_AFFINE): angle, shift to the
// right, shift down, scale. Cutout (RANDOM_CUTOUT): row, column of the centre. Resized crop
// (RANDOM_RESIZED_CROP): four for each try, the part of the area, the logarithm of the ratio, row
// and column.

HOST_DEVICE static inline random_stream augment_stream(random_purpose purpose,
                                                       const augment_key *key, int place) {
    random_stream s;
    s.seed = key->seed;
    s.purpose = purpose;
    s.layer = (uint32_t)place;
    s.epoch = key->epoch;
    s.sample = key->id;
    return s;
}

typedef struct crop_choice {
    int top, left; // in the padded image: 0 … 2·padding
} crop_choice;

HOST_DEVICE static inline crop_choice augment_choose_crop(const augmentation *a,
                                                          const augment_key *key, int place) {
    const random_stream s = augment_stream(RANDOM_CROP, key, place);
    const uint32_t places = 2 * (uint32_t)a->padding + 1;
    crop_choice c;
    c.top = (int)random_below(&s, 0, places);
    c.left = (int)random_below(&s, 1, places);
    return c;
}

HOST_DEVICE static inline bool augment_choose_flip(const augmentation *a, const augment_key *key,
                                                   int place) {
    random_stream s = augment_stream(RANDOM_FLIP, key, place);
    if (a->alternate) s.epoch = 0;
    const bool flip = (double)random_uniform(&s, 0) < a->p;
    return a->alternate && key->epoch % 2 ? !flip : flip;
}

typedef struct cutout_choice {
    int top, left; // of the square, which may reach beyond the image
} cutout_choice;

HOST_DEVICE static inline cutout_choice augment_choose_cutout(const augmentation *a,
                                                              const augment_key *key, int place,
                                                              shape size) {
    const random_stream s = augment_stream(RANDOM_CUTOUT, key, place);
    cutout_choice c;
    c.top = (int)random_below(&s, 0, (uint32_t)size.height) - a->size / 2;
    c.left = (int)random_below(&s, 1, (uint32_t)size.width) - a->size / 2;
    return c;
}

typedef struct affine_choice {
    double angle; // degrees, clockwise
    int right, down;
    double scale;
} affine_choice;

HOST_DEVICE static inline double augment_between(const random_stream *s, uint64_t element,
                                                 double low, double high) {
    return low + (high - low) * (double)random_uniform(s, element);
}

HOST_DEVICE static inline affine_choice augment_choose_affine(const augmentation *a,
                                                              const augment_key *key, int place,
                                                              shape size) {
    const random_stream s = augment_stream(RANDOM_AFFINE, key, place);
    const double right = a->translate[0] * size.width, down = a->translate[1] * size.height;
    affine_choice c;
    c.angle = augment_between(&s, 0, -a->degrees, a->degrees);
    c.right = (int)rint(augment_between(&s, 1, -right, right));
    c.down = (int)rint(augment_between(&s, 2, -down, down));
    c.scale = augment_between(&s, 3, a->scale[0], a->scale[1]);
    return c;
}

typedef struct resized_crop_choice {
    int top, left, height, width; // within the image
} resized_crop_choice;

// The middle of the image, as large as the ratios allow: after tries that do not fit.
HOST_DEVICE static inline resized_crop_choice augment_middle(const augmentation *a, shape size) {
    const double ratio = (double)size.width / size.height;
    resized_crop_choice c;
    c.height = size.height;
    c.width = size.width;
    if (ratio < a->ratio[0]) c.height = (int)rint(size.width / a->ratio[0]);
    if (ratio > a->ratio[1]) c.width = (int)rint(size.height * a->ratio[1]);
    c.top = (size.height - c.height) / 2;
    c.left = (size.width - c.width) / 2;
    return c;
}

// As torchvision's get_params: ten tries.
HOST_DEVICE static inline resized_crop_choice augment_choose_resized_crop(const augmentation *a,
                                                                          const augment_key *key,
                                                                          int place, shape size) {
    const random_stream s = augment_stream(RANDOM_RESIZED_CROP, key, place);
    const double whole = (double)size.height * size.width;
    for (uint64_t i = 0; i < 40; i += 4) {
        const double area = whole * augment_between(&s, i, a->scale[0], a->scale[1]);
        const double ratio =
            elementary_exp(augment_between(&s, i + 1, a->log_ratio[0], a->log_ratio[1]));
        const double width = rint(sqrt(area * ratio)), height = rint(sqrt(area / ratio));
        if (width < 1 || width > size.width || height < 1 || height > size.height) continue;
        resized_crop_choice c;
        c.height = (int)height;
        c.width = (int)width;
        c.top = (int)random_below(&s, i + 2, (uint32_t)(size.height - c.height) + 1);
        c.left = (int)random_below(&s, i + 3, (uint32_t)(size.width - c.width) + 1);
        return c;
    }
    return augment_middle(a, size);
}

// ---- Affine maps ----

// Sine and cosine of an angle between -180 and 180 degrees, to an ulp or two. The reduction to ±45
// degrees is exact.
HOST_DEVICE static inline void augment_rotation(double degrees, double *sine, double *cosine) {
    const double turns = rint(degrees / 90), x = (degrees - 90 * turns) / 90;
    const double s = elementary_short_sine(x), c = elementary_short_cosine(x);
    const int quarter = (int)turns & 3;
    *sine = (quarter & 1 ? c : s) * (quarter & 2 ? -1 : 1);
    *cosine = (quarter & 1 ? s : c) * (quarter == 1 || quarter == 2 ? -1 : 1);
}

// Source coordinates of output pixel (x, y), in pixels: column = m[0]·x + m[1]·y + m[2], row =
// m[3]·x + m[4]·y + m[5]. The operations are in torchvision's order.
HOST_DEVICE static inline void augment_inverse(shape size, affine_choice c, double m[6]) {
    const double centre_x = size.width * 0.5, centre_y = size.height * 0.5;
    double sine, cosine;
    augment_rotation(c.angle, &sine, &cosine);
    m[0] = m[4] = cosine / c.scale;
    m[1] = sine / c.scale;
    m[3] = -m[1];
    m[2] = m[0] * (-centre_x - c.right) + m[1] * (-centre_y - c.down) + centre_x;
    m[5] = m[3] * (-centre_x - c.right) + m[4] * (-centre_y - c.down) + centre_y;
}

// ---- Maps ----

// Source row and column of output pixel (y, x); for MAP_RESAMPLE see augment_taps.
typedef enum augment_map_kind {
    MAP_SHIFT,   // y + row.shift, x + column.shift
    MAP_REFLECT, // the same, mirrored at the pixels of the border
    MAP_MIRROR,  // y, width - 1 - x
    MAP_LINES,   // row.line and column.line, both at (y, x)
    MAP_WALKS,   // row.walk and column.walk, both at (y, x)
    MAP_RAMPS,   // row.ramp at y, column.ramp at x
    MAP_ERASE,   // y, x; none within both row.span and column.span
    MAP_RESAMPLE // row.span and column.span, enlarged to the size of the image
} augment_map_kind;

// start + x · per_x + y · per_y, in fixed point with 16 fractional bits, as in Pillow.
typedef struct augment_line {
    int64_t start, per_x, per_y;
} augment_line;

// start, then per_y added y times, then per_x added x times: as Pillow does if a corner of the
// image has a source beyond ±32768, which its fixed-point numbers cannot hold.
typedef struct augment_walk {
    double start, per_x, per_y;
} augment_walk;

// start, start + step, start + step + step, …: as Pillow does if nothing is rotated. It accumulates
// doubles, and sums of doubles in a fixed order are the same everywhere.
typedef struct augment_ramp {
    double start, step;
} augment_ramp;

// start … end - 1
typedef struct augment_span {
    int start, end;
} augment_span;

typedef union augment_axis {
    int shift;
    augment_line line;
    augment_walk walk;
    augment_ramp ramp;
    augment_span span;
} augment_axis;

typedef struct augment_map {
    augment_map_kind kind;
    bool mean; // a pixel without a source has the list's `mean`, not 0
    augment_axis row, column;
} augment_map;

HOST_DEVICE static inline augment_map augment_map_shift(int down, int right) {
    augment_map map;
    map.kind = MAP_SHIFT;
    map.mean = false;
    map.row.shift = down;
    map.column.shift = right;
    return map;
}

HOST_DEVICE static inline int64_t augment_fixed(double v) {
    return (int64_t)floor(v * 65536 + 0.5);
}

// The line through the pixel centres, from the steps per x and y and the value at (0, 0).
HOST_DEVICE static inline augment_line augment_map_line(double per_x, double per_y, double start) {
    augment_line line;
    line.start = augment_fixed(start + per_x * 0.5 + per_y * 0.5);
    line.per_x = augment_fixed(per_x);
    line.per_y = augment_fixed(per_y);
    return line;
}

// Likewise; the order of the sum is another one.
HOST_DEVICE static inline augment_walk augment_map_walk(double per_x, double per_y, double start) {
    augment_walk walk;
    walk.start = start + per_y * 0.5 + per_x * 0.5;
    walk.per_x = per_x;
    walk.per_y = per_y;
    return walk;
}

// Can fixed-point numbers hold the source of the corner (x, y) of the image?
HOST_DEVICE static inline bool augment_fits(const double m[6], int x, int y) {
    const double most = 32768;
    return fabs(x * m[0] + y * m[1] + m[2]) < most && fabs(x * m[3] + y * m[4] + m[5]) < most;
}

HOST_DEVICE static inline bool augment_corners_fit(shape size, const double m[6]) {
    return augment_fits(m, 0, 0) && augment_fits(m, size.width, size.height) &&
           augment_fits(m, 0, size.height) && augment_fits(m, size.width, 0);
}

HOST_DEVICE static inline augment_ramp augment_map_ramp(double step, double start) {
    augment_ramp ramp;
    ramp.start = start + step * 0.5;
    ramp.step = step;
    return ramp;
}

HOST_DEVICE static inline augment_map augment_map_affine(shape size, affine_choice c) {
    augment_map map;
    double m[6];
    augment_inverse(size, c, m);
    map.mean = false;
    if (c.angle == 0) {
        map.kind = MAP_RAMPS;
        map.row.ramp = augment_map_ramp(m[4], m[5]);
        map.column.ramp = augment_map_ramp(m[0], m[2]);
    } else if (augment_corners_fit(size, m)) {
        map.kind = MAP_LINES;
        map.row.line = augment_map_line(m[3], m[4], m[5]);
        map.column.line = augment_map_line(m[0], m[1], m[2]);
    } else {
        map.kind = MAP_WALKS;
        map.row.walk = augment_map_walk(m[3], m[4], m[5]);
        map.column.walk = augment_map_walk(m[0], m[1], m[2]);
    }
    return map;
}

HOST_DEVICE static inline augment_map augment_map_erase(const augmentation *a, cutout_choice c) {
    augment_map map;
    map.kind = MAP_ERASE;
    map.mean = a->mean;
    map.row.span.start = c.top;
    map.row.span.end = c.top + a->size;
    map.column.span.start = c.left;
    map.column.span.end = c.left + a->size;
    return map;
}

HOST_DEVICE static inline augment_map augment_map_resample(resized_crop_choice c) {
    augment_map map;
    map.kind = MAP_RESAMPLE;
    map.mean = false;
    map.row.span.start = c.top;
    map.row.span.end = c.top + c.height;
    map.column.span.start = c.left;
    map.column.span.end = c.left + c.width;
    return map;
}

// Returns the map of entry `a`, at this place of a list, for one sample.
HOST_DEVICE static inline augment_map augment_map_of(const augmentation *a, const augment_key *key,
                                                     int place, shape size) {
    augment_map map = augment_map_shift(0, 0);
    switch (a->kind) {
    case AUGMENT_RANDOM_CROP: {
        const crop_choice c = augment_choose_crop(a, key, place);
        map = augment_map_shift(c.top - a->padding, c.left - a->padding);
        if (a->reflect) map.kind = MAP_REFLECT;
        return map;
    }
    case AUGMENT_HORIZONTAL_FLIP:
        if (augment_choose_flip(a, key, place)) map.kind = MAP_MIRROR;
        return map;
    case AUGMENT_RANDOM_AFFINE:
        return augment_map_affine(size, augment_choose_affine(a, key, place, size));
    case AUGMENT_CUTOUT: return augment_map_erase(a, augment_choose_cutout(a, key, place, size));
    case AUGMENT_RESIZED_CROP:
        return augment_map_resample(augment_choose_resized_crop(a, key, place, size));
    case AUGMENT_COLOR_JITTER: break; // changes values: not for devices, see augment_needs_host
    }
    return map;
}

// Mirrors a position that is outside 0 … size - 1 by less than `size` at the first or last pixel.
HOST_DEVICE static inline int64_t augment_reflect(int64_t at, int size) {
    if (at < 0) return -at;
    return at < size ? at : 2 * (int64_t)size - 2 - at;
}

HOST_DEVICE static inline bool augment_within(augment_span s, int64_t at) {
    return at >= s.start && at < s.end;
}

HOST_DEVICE static inline int64_t augment_line_at(const augment_line *l, int y, int x) {
    return (l->start + l->per_x * x + l->per_y * y) >> 16;
}

// Rounds down. Any number that is no pixel's becomes -1, also one that no integer could hold.
HOST_DEVICE static inline int64_t augment_pixel_of(double v) {
    return v >= 0 && v < 2147483648.0 ? (int64_t)v : -1;
}

HOST_DEVICE static inline double augment_steps(double v, double step, int times) {
    for (int i = 0; i < times; i++) v += step;
    return v;
}

HOST_DEVICE static inline int64_t augment_walk_at(const augment_walk *w, int y, int x) {
    return augment_pixel_of(augment_steps(augment_steps(w->start, w->per_y, y), w->per_x, x));
}

HOST_DEVICE static inline int64_t augment_ramp_at(const augment_ramp *r, int times) {
    return augment_pixel_of(augment_steps(r->start, r->step, times));
}

HOST_DEVICE static inline bool augment_inside(shape size, int64_t row, int64_t column) {
    // As unsigned numbers, negative ones exceed any height and width.
    return (uint64_t)row < (uint64_t)size.height && (uint64_t)column < (uint64_t)size.width;
}

// Replaces the position of a result pixel by its source position. False: it has none; its value is
// then augment_outside.
HOST_DEVICE static inline bool augment_source(const augment_map *m, shape size, int *y, int *x) {
    int64_t row = *y, column = *x;
    switch (m->kind) {
    case MAP_SHIFT:
        row += m->row.shift;
        column += m->column.shift;
        break;
    case MAP_REFLECT:
        row = augment_reflect(row + m->row.shift, size.height);
        column = augment_reflect(column + m->column.shift, size.width);
        break;
    case MAP_MIRROR: column = size.width - 1 - column; break;
    case MAP_LINES:
        row = augment_line_at(&m->row.line, *y, *x);
        column = augment_line_at(&m->column.line, *y, *x);
        break;
    case MAP_WALKS:
        row = augment_walk_at(&m->row.walk, *y, *x);
        column = augment_walk_at(&m->column.walk, *y, *x);
        break;
    case MAP_RAMPS:
        row = augment_ramp_at(&m->row.ramp, *y);
        column = augment_ramp_at(&m->column.ramp, *x);
        break;
    case MAP_ERASE:
        if (augment_within(m->row.span, row) && augment_within(m->column.span, column))
            return false;
        break;
    case MAP_RESAMPLE: break; // not here: see augment_pixel
    }
    *y = (int)row;
    *x = (int)column;
    return augment_inside(size, row, column);
}

// Returns the byte of a pixel of channel `channel` for which map `m` of the list has no source.
HOST_DEVICE static inline uint8_t augment_outside(const augment_list *list, const augment_map *m,
                                                  int channel) {
    return m->mean ? list->mean[channel] : (uint8_t)0;
}

// ---- Resampling ----

enum { AUGMENT_TAP_BITS = 22 };

// The two source rows of a row, or columns of a column, and their weights, in fixed point. They are
// Pillow's for an image that grows.
typedef struct augment_taps {
    int first, last;
    int32_t weight[2];
} augment_taps;

// Returns those of row or column `at` of `size`, to which a span grows.
HOST_DEVICE static inline augment_taps augment_taps_at(augment_span s, int size, int at) {
    const int length = s.end - s.start;
    const double centre = (at + 0.5) * ((double)length / size);
    const int first = (int)(centre - 1 + 0.5), next = first + 1;
    const bool both = next < length && next < (int)(centre + 1 + 0.5);
    const double near = 1 - fabs(first - centre + 0.5);
    const double far = both ? 1 - fabs(next - centre + 0.5) : 0;
    augment_taps t;
    t.first = s.start + first;
    t.last = t.first + both;
    t.weight[0] = (int32_t)(0.5 + near / (near + far) * (1 << AUGMENT_TAP_BITS));
    t.weight[1] = (int32_t)(0.5 + far / (near + far) * (1 << AUGMENT_TAP_BITS));
    return t;
}

HOST_DEVICE static inline uint8_t augment_blend(const augment_taps *t, uint8_t first,
                                                uint8_t last) {
    return (uint8_t)((first * t->weight[0] + last * t->weight[1] + (1 << (AUGMENT_TAP_BITS - 1))) >>
                     AUGMENT_TAP_BITS);
}

// ---- Pixels ----

// One channel of an image, and the maps of a list for it.
typedef struct augment_plane {
    const augment_list *list;
    const augment_map *maps; // [list->count]
    shape size;
    int channel;
    const uint8_t *bytes; // [height][width]
} augment_plane;

// Returns the byte at (y, x) after the first `count` maps, none of which resamples.
HOST_DEVICE static inline uint8_t augment_moved(const augment_plane *p, int count, int y, int x) {
    while (count-- > 0)
        if (!augment_source(&p->maps[count], p->size, &y, &x))
            return augment_outside(p->list, &p->maps[count], p->channel);
    return p->bytes[y * p->size.width + x];
}

// Returns the byte at (y, x) after all maps.
HOST_DEVICE static inline uint8_t augment_pixel(const augment_plane *p, int y, int x) {
    int k = p->list->count - 1;
    for (; k >= 0 && p->maps[k].kind != MAP_RESAMPLE; k--)
        if (!augment_source(&p->maps[k], p->size, &y, &x))
            return augment_outside(p->list, &p->maps[k], p->channel);
    if (k < 0) return p->bytes[y * p->size.width + x];
    const augment_taps row = augment_taps_at(p->maps[k].row.span, p->size.height, y);
    const augment_taps column = augment_taps_at(p->maps[k].column.span, p->size.width, x);
    const uint8_t first = augment_blend(&column, augment_moved(p, k, row.first, column.first),
                                        augment_moved(p, k, row.first, column.last));
    const uint8_t last = augment_blend(&column, augment_moved(p, k, row.last, column.first),
                                       augment_moved(p, k, row.last, column.last));
    return augment_blend(&row, first, last);
}

// ---- Targets ----

// The class that a sample's logits are compared with; after mixup, two of them. The loss is (1 -
// share) · the cross-entropy of `label` + share · that of `other`.
typedef struct sample_target {
    uint32_t label, other; // classes
    float share;           // 0 … 1; 0: `other` has no effect
} sample_target;

#endif
