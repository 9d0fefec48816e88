#include "data/augment.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/random.h"

static random_stream stream_of(random_purpose purpose, const augment_key *key, int place) {
    return (random_stream){.seed = key->seed,
                           .purpose = purpose,
                           .layer = (uint32_t)place,
                           .epoch = key->epoch,
                           .sample = key->id};
}

// ---- Crop ----

crop_choice augment_choose_crop(const augmentation *a, const augment_key *key, int place) {
    const random_stream s = stream_of(RANDOM_CROP, key, place);
    const uint32_t places = 2 * (uint32_t)a->padding + 1;
    return (crop_choice){(int)random_below(&s, 0, places), (int)random_below(&s, 1, places)};
}

void image_crop(image_size size, int padding, crop_choice c, const uint8_t *from, uint8_t *to) {
    const ptrdiff_t width = size.width, down = c.top - padding, right = c.left - padding;
    const ptrdiff_t keep = width - (right < 0 ? -right : right); // columns of the image that stay
    memset(to, 0, image_bytes(size));
    if (keep <= 0) return;
    for (ptrdiff_t plane = 0; plane < size.channels; plane++)
        for (ptrdiff_t y = 0; y < size.height; y++) {
            if (y + down < 0 || y + down >= size.height) continue;
            const uint8_t *row = from + (plane * size.height + y + down) * width;
            uint8_t *out = to + (plane * size.height + y) * width;
            memcpy(out + (right < 0 ? -right : 0), row + (right > 0 ? right : 0), (size_t)keep);
        }
}

// ---- Flip ----

int augment_choose_flip(const augmentation *a, const augment_key *key, int place) {
    const random_stream s = stream_of(RANDOM_FLIP, key, place);
    return (double)random_uniform(&s, 0) < a->p;
}

void image_flip(image_size size, const uint8_t *from, uint8_t *to) {
    const ptrdiff_t rows = (ptrdiff_t)size.channels * size.height, width = size.width;
    for (ptrdiff_t row = 0; row < rows; row++, from += width, to += width)
        for (ptrdiff_t x = 0; x < width; x++) to[x] = from[width - 1 - x];
}

// ---- Affine map ----

static double between(const random_stream *s, uint64_t element, double low, double high) {
    return low + (high - low) * (double)random_uniform(s, element);
}

affine_choice augment_choose_affine(const augmentation *a, const augment_key *key, int place,
                                    image_size size) {
    const random_stream s = stream_of(RANDOM_AFFINE, key, place);
    const double right = a->translate[0] * size.width, down = a->translate[1] * size.height;
    return (affine_choice){.angle = between(&s, 0, -a->degrees, a->degrees),
                           .right = (int)rint(between(&s, 1, -right, right)),
                           .down = (int)rint(between(&s, 2, -down, down)),
                           .scale = between(&s, 3, a->scale[0], a->scale[1])};
}

// Sine and cosine of an angle in [-180, 180] degrees, to an ulp or two: Taylor's series behind a
// reduction to [-45, 45] that is exact. The C library's differ in the last bit between versions.
static void rotation(double degrees, double *sine, double *cosine) {
    const double pi = 3.14159265358979323846;
    const double turns = rint(degrees / 90), x = (degrees - 90 * turns) * (pi / 180), xx = x * x;
    double s = 1, c = 1;
    for (int k = 9; k >= 1; k--) {
        s = 1 - xx / (2 * k * (2 * k + 1)) * s;
        c = 1 - xx / (2 * k * (2 * k - 1)) * c;
    }
    s *= x;
    const int quarter = (int)turns & 3;
    *sine = (quarter & 1 ? c : s) * (quarter & 2 ? -1 : 1);
    *cosine = (quarter & 1 ? s : c) * (quarter == 1 || quarter == 2 ? -1 : 1);
}

// Source coordinates of output pixel (x, y), in pixels: column = m[0]·x + m[1]·y + m[2], row =
// m[3]·x + m[4]·y + m[5]. In the order of torchvision's operations.
static void inverse_matrix(image_size size, affine_choice c, double m[6]) {
    const double centre_x = size.width * 0.5, centre_y = size.height * 0.5;
    double sine, cosine;
    rotation(c.angle, &sine, &cosine);
    m[0] = m[4] = cosine / c.scale;
    m[1] = sine / c.scale;
    m[3] = -m[1];
    m[2] = m[0] * (-centre_x - c.right) + m[1] * (-centre_y - c.down) + centre_x;
    m[5] = m[3] * (-centre_x - c.right) + m[4] * (-centre_y - c.down) + centre_y;
}

// One pixel of all planes.
static inline void copy_pixel(image_size size, const uint8_t *from, int64_t row, int64_t column,
                              uint8_t *to) {
    const int64_t plane = (int64_t)size.height * size.width;
    // Below zero is above any height and width.
    const bool inside =
        (uint64_t)row < (uint64_t)size.height && (uint64_t)column < (uint64_t)size.width;
    const int64_t at = inside ? row * size.width + column : 0;
    for (int64_t c = 0; c < size.channels * plane; c += plane) to[c] = inside ? from[at + c] : 0;
}

static int64_t fixed(double v) {
    return (int64_t)floor(v * 65536 + 0.5);
}

// Of the middle of each output pixel, with 16 bits behind the point.
static void map_fixed(image_size size, const double m[6], const uint8_t *from, uint8_t *to) {
    const int64_t column_step = fixed(m[0]), row_step = fixed(m[3]);
    int64_t column0 = fixed(m[2] + m[0] * 0.5 + m[1] * 0.5);
    int64_t row0 = fixed(m[5] + m[3] * 0.5 + m[4] * 0.5);
    for (int y = 0; y < size.height; y++, column0 += fixed(m[1]), row0 += fixed(m[4])) {
        int64_t column = column0, row = row0;
        for (int x = 0; x < size.width; x++, column += column_step, row += row_step)
            copy_pixel(size, from, row >> 16, column >> 16, to++);
    }
}

// What Pillow does without a rotation: it adds up coordinates in double. The terms are the same for
// each row and column, and sums of doubles are the same everywhere.
static void map_scaled(image_size size, const double m[6], const uint8_t *from, uint8_t *to) {
    double row = m[5] + m[4] * 0.5;
    for (int y = 0; y < size.height; y++, row += m[4]) {
        double column = m[2] + m[0] * 0.5;
        for (int x = 0; x < size.width; x++, column += m[0])
            copy_pixel(size, from, (int64_t)floor(row), (int64_t)floor(column), to++);
    }
}

void image_affine(image_size size, affine_choice c, const uint8_t *from, uint8_t *to) {
    double m[6];
    inverse_matrix(size, c, m);
    if (c.angle == 0)
        map_scaled(size, m, from, to);
    else
        map_fixed(size, m, from, to);
}

// ---- A sample ----

static void apply(const augmentation *a, const augment_key *key, int place, image_size size,
                  const uint8_t *from, uint8_t *to) {
    switch (a->kind) {
    case AUGMENT_RANDOM_CROP:
        image_crop(size, a->padding, augment_choose_crop(a, key, place), from, to);
        break;
    case AUGMENT_HORIZONTAL_FLIP:
        if (augment_choose_flip(a, key, place))
            image_flip(size, from, to);
        else
            memcpy(to, from, image_bytes(size));
        break;
    case AUGMENT_RANDOM_AFFINE:
        image_affine(size, augment_choose_affine(a, key, place, size), from, to);
        break;
    }
}

void augment_sample(const augment_list *list, const augment_key *key, image_size size,
                    const uint8_t *from, uint8_t *scratch, uint8_t *to) {
    if (list->count == 0) memcpy(to, from, image_bytes(size));
    // Back and forth between the two, so that the last one ends in `to`.
    for (int i = 0; i < list->count; i++) {
        uint8_t *out = (list->count - i) % 2 ? to : scratch;
        apply(&list->items[i], key, i, size, from, out);
        from = out;
    }
}
