// SPDX-License-Identifier: MIT
#include "data/pixel_statistics.h"

#include <math.h>
#include <stdio.h>

void pixel_statistics(const uint8_t *images, uint32_t samples, int channels, int pixels,
                      float *mean, float *std) {
    size_t plane = (size_t)pixels, stride = plane * (size_t)channels;
    double n = (double)samples * (double)pixels;
    for (int c = 0; c < channels; c++) {
        uint64_t sum = 0, squares = 0;
        for (uint32_t i = 0; i < samples; i++) {
            const uint8_t *p = images + i * stride + (size_t)c * plane;
            for (size_t k = 0; k < plane; k++) {
                sum += p[k];
                squares += (uint32_t)p[k] * p[k];
            }
        }
        // n² · variance = n · Σx² - (Σx)² can exceed 64 bits; an integer until the square root.
        unsigned __int128 spread =
            (unsigned __int128)((uint64_t)samples * (uint64_t)pixels) * squares -
            (unsigned __int128)sum * sum;
        mean[c] = n > 0 ? (float)((double)sum / (n * 255)) : 0;
        std[c] = spread ? (float)(sqrt((double)spread) / (n * 255)) : 1;
    }
}

static bool refuse_above_1(const char *what, double value, char why[PIXEL_WHY_BYTES]) {
    if (value <= 255)
        snprintf(why, PIXEL_WHY_BYTES,
                 "%s of pixels from 0 to 1 is at most 1, got %g; if it is of bytes: %g / 255 = "
                 "%.4g",
                 what, value, value, value / 255);
    else
        snprintf(why, PIXEL_WHY_BYTES, "%s of pixels from 0 to 1 is at most 1, got %g", what,
                 value);
    return false;
}

bool pixel_mean_is_possible(double mean, char why[PIXEL_WHY_BYTES]) {
    if (mean >= 0 && mean <= 1) return true;
    if (!(mean < 0)) return refuse_above_1("a mean", mean, why);
    const double meant = mean < -1 ? -mean / 255 : -mean;
    if (mean < -255)
        snprintf(why, PIXEL_WHY_BYTES, "a mean of pixels from 0 to 1 is at least 0, got %g", mean);
    else
        snprintf(why, PIXEL_WHY_BYTES,
                 "a mean of pixels from 0 to 1 is at least 0, got %g; it is subtracted, so give "
                 "%.4g",
                 mean, meant);
    return false;
}

bool pixel_deviation_is_possible(double deviation, char why[PIXEL_WHY_BYTES]) {
    if (deviation > 0 && deviation <= 1) return true;
    if (!(deviation <= 0)) return refuse_above_1("a standard deviation", deviation, why);
    snprintf(why, PIXEL_WHY_BYTES, "a standard deviation must be above 0, got %g", deviation);
    return false;
}

bool pixel_statistics_are_far(const float given[2], const float own[2]) {
    enum { FAR = 20 };
    const double mean = fabs((double)own[0] - (double)given[0]) / (double)given[1];
    return mean > FAR || (double)own[1] / (double)given[1] > FAR;
}
