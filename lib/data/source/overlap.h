// SPDX-License-Identifier: MIT
// overlap.h - test images that are training images, too: an accuracy on them says nothing.
#ifndef LOCKSTEP_DATA_SOURCE_OVERLAP_H
#define LOCKSTEP_DATA_SOURCE_OVERLAP_H

#include "data/source/raw_dataset.h"

// Counts the test images whose pixels are those of a training image, whatever the labels. Files are
// not compared: one picture may be saved in several ways, and equal files have equal pixels.
status overlap_count(const raw_dataset *r, uint32_t *count, error *err) MUST_CHECK;

#endif
