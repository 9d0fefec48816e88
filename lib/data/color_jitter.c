// SPDX-License-Identifier: MIT
#include "data/color_jitter.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

color_jitter_choice color_jitter_choose(const augmentation *a, const augment_key *key, int place) {
    const random_stream s = augment_stream(RANDOM_COLOR_JITTER, key, place);
    color_jitter_choice c = {.count = 0};
    uint32_t order[COLOR_PROPERTIES];
    random_permutation(&s, order, COLOR_PROPERTIES);
    for (int i = 0; i < COLOR_PROPERTIES; i++) {
        const color_property property = (color_property)order[i];
        const double range = a->jitter[property], middle = property == COLOR_HUE ? 0 : 1;
        const double low = property == COLOR_HUE ? -range : fmax(0, 1 - range);
        if (range == 0) continue;
        const double amount = augment_between(&s, COLOR_PROPERTIES + order[i], low, middle + range);
        c.changes[c.count++] = (color_change){property, amount};
    }
    return c;
}

// ---- Brightness, contrast, saturation: images are blended with another one ----

static uint8_t blend(float ratio, uint8_t byte, float rest, float other) {
    const float v = ratio * (float)byte + rest * other;
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static void blend_with_one(size_t bytes, double ratio, float other, uint8_t *image) {
    const float part = (float)ratio, rest = (float)(1 - ratio);
    for (size_t i = 0; i < bytes; i++) image[i] = blend(part, image[i], rest, other);
}

// Returns the luma of a pixel; `plane` is the distance between its channels.
static uint8_t grey_of(const uint8_t *pixel, size_t plane) {
    return (uint8_t)(0.2989F * (float)pixel[0] + 0.587F * (float)pixel[plane] +
                     0.114F * (float)pixel[2 * plane]);
}

static float mean_grey(shape size, const uint8_t *image) {
    const size_t plane = (size_t)size.height * (size_t)size.width;
    uint64_t sum = 0;
    for (size_t i = 0; i < plane; i++)
        sum += size.channels == 3 ? grey_of(image + i, plane) : image[i];
    return (float)((double)sum / (double)plane);
}

static void saturate(size_t plane, double ratio, uint8_t *image) {
    const float part = (float)ratio, rest = (float)(1 - ratio);
    for (size_t i = 0; i < plane; i++) {
        const float grey = grey_of(image + i, plane);
        for (size_t c = 0; c < 3 * plane; c += plane)
            image[i + c] = blend(part, image[i + c], rest, grey);
    }
}

// ---- Hue ----

typedef struct hsv {
    float hue, saturation, value; // 0 … 1; a hue of 1 is that of 0
} hsv;

// The fractional part of -1 < x < 2, as Python's x % 1.0.
static float fraction_of(float x) {
    return x >= 1 ? x - 1 : x < 0 ? x + 1 : x;
}

static hsv to_hsv(float r, float g, float b) {
    const float most = fmaxf(r, fmaxf(g, b)), range = most - fminf(r, fminf(g, b));
    if (range == 0) return (hsv){0, 0, most};
    const float rc = (most - r) / range, gc = (most - g) / range, bc = (most - b) / range;
    const float sixths = r == most ? bc - gc : g == most ? 2 + rc - bc : 4 + gc - rc;
    return (hsv){fraction_of(sixths / 6 + 1), range / most, most};
}

static uint8_t byte_of(float v) {
    return (uint8_t)(fminf(fmaxf(v, 0), 1) * 255.999F);
}

static void from_hsv(hsv color, uint8_t *r, uint8_t *g, uint8_t *b) {
    const float whole = floorf(color.hue * 6), part = color.hue * 6 - whole;
    const float s = color.saturation, v = color.value;
    const uint8_t most = byte_of(v), least = byte_of(v * (1 - s));
    const uint8_t falling = byte_of(v * (1 - s * part)), rising = byte_of(v * (1 - s * (1 - part)));
    const uint8_t reds[] = {most, falling, least, least, rising, most};
    const uint8_t greens[] = {rising, most, most, falling, least, least};
    const uint8_t blues[] = {least, least, rising, most, most, falling};
    const int sixth = (int)whole % 6;
    *r = reds[sixth];
    *g = greens[sixth];
    *b = blues[sixth];
}

static void turn_hue(size_t plane, double turns, uint8_t *image) {
    for (size_t i = 0; i < plane; i++) {
        uint8_t *r = image + i, *g = r + plane, *b = g + plane;
        hsv color = to_hsv((float)*r / 255, (float)*g / 255, (float)*b / 255);
        color.hue = fraction_of(color.hue + (float)turns);
        from_hsv(color, r, g, b);
    }
}

// ---- An image ----

void image_color_jitter(shape size, const color_jitter_choice *c, const uint8_t *from,
                        uint8_t *to) {
    const size_t plane = (size_t)size.height * (size_t)size.width, bytes = shape_size(size);
    const bool colored = size.channels == 3;
    memcpy(to, from, bytes);
    for (int i = 0; i < c->count; i++) {
        const double amount = c->changes[i].amount;
        switch (c->changes[i].property) {
        case COLOR_BRIGHTNESS: blend_with_one(bytes, amount, 0, to); break;
        case COLOR_CONTRAST: blend_with_one(bytes, amount, mean_grey(size, to), to); break;
        case COLOR_SATURATION:
            if (colored) saturate(plane, amount, to);
            break;
        case COLOR_HUE:
            if (colored) turn_hue(plane, amount, to);
            break;
        }
    }
}
