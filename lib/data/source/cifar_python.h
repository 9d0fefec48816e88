// SPDX-License-Identifier: MIT
// cifar_python.h - CIFAR's "python version": pickled dictionaries, as torchvision stores them.
#ifndef LOCKSTEP_DATA_SOURCE_CIFAR_PYTHON_H
#define LOCKSTEP_DATA_SOURCE_CIFAR_PYTHON_H

#include "data/source/members.h"

enum { CIFAR_PIXEL_BYTES = 3 * 32 * 32 };

// A member_conversion: passes on the records of the binary version, one after another. The size of
// `m` decides how many label bytes they have: one, `labels`, or two, `coarse_labels` and
// `fine_labels`.
status cifar_python_convert(const member *m, const uint8_t *file, size_t bytes, member_part *part,
                            void *context, error *err) MUST_CHECK;

#endif
