// SPDX-License-Identifier: MIT
// tensor_diff.h - the differences between two tensors, two tensor files or two runs.
#ifndef LOCKSTEP_DATA_TENSOR_TENSOR_DIFF_H
#define LOCKSTEP_DATA_TENSOR_TENSOR_DIFF_H

#include "base/error.h"
#include "base/yaml_tree.h"
#include "data/tensor/tensor_file.h"

// Two elements agree if |a - b| <= absolute + relative·|b|. If both tolerances are 0, their bits
// must be equal: then 0 and -0 differ, and equal NaNs agree.
typedef struct tensor_tolerance {
    double absolute, relative;
} tensor_tolerance;

// Appends one line (a string) per difference to the list `differences`. `a` and `b` are two files,
// or two folders of training runs, whose model.st.zst and steps.st.zst are compared.
//
// A file with a U64 vector `digest` is a series of steps. Of such files only `digest` and `loss`
// are compared, not times or metadata, and the first step (from 1) at which the digests differ is
// named.
status tensor_diff(const char *a, const char *b, tensor_tolerance tolerance, uint64_t max_bytes,
                   yaml_node *differences, error *err) MUST_CHECK;

#endif
