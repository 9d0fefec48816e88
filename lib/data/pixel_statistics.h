// SPDX-License-Identifier: MIT
// pixel_statistics.h - mean and standard deviation of the pixels of images, and which ones pixels
// from 0 to 1 can have. Those of bytes (125.3) would train a network whose images are almost
// constant.
#ifndef LOCKSTEP_DATA_PIXEL_STATISTICS_H
#define LOCKSTEP_DATA_PIXEL_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

// Computes the mean and (population) standard deviation of each channel, of pixels divided by 255,
// from exact integer sums. The deviation of a constant channel is 1, so that normalised values stay
// finite.
void pixel_statistics(const uint8_t *images, uint32_t samples, int channels, int pixels,
                      float *mean, float *std);

enum { PIXEL_WHY_BYTES = 160 };

// Return whether a mean is from 0 to 1, and a deviation above 0 and at most 1. If not, `why` is the
// reason, with the value that is meant if that is clear: "125.3 / 255 = 0.4914".
bool pixel_mean_is_possible(double mean, char why[PIXEL_WHY_BYTES]);
bool pixel_deviation_is_possible(double deviation, char why[PIXEL_WHY_BYTES]);

// Returns whether pixels with the second pair of mean and deviation are still far from mean 0 and
// deviation 1 when they are normalised with the first: above 20. No mean and deviation that were
// measured on other pictures are so far off; those that were divided by 255 twice are.
bool pixel_statistics_are_far(const float given[2], const float own[2]);

#endif
