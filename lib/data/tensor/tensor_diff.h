// tensor_diff.h - what differs between two tensors, two tensor files, two runs.
#ifndef LOCKSTEP_DATA_TENSOR_TENSOR_DIFF_H
#define LOCKSTEP_DATA_TENSOR_TENSOR_DIFF_H

#include "base/error.h"
#include "base/yaml_tree.h"
#include "data/tensor/tensor_file.h"

// Two elements agree when |a - b| <= absolute + relative·|b|. Both 0: when their bits are equal, so
// that 0 and -0 differ and equal NaNs agree.
typedef struct tensor_tolerance {
    double absolute, relative;
} tensor_tolerance;

// Appends one line (a string) for each thing that differs to the list `differences`. `a` and `b`
// are two files, or two folders of training runs, whose model.st.zst and steps.st.zst are compared.
//
// A file with a U64 vector `digest` is a series of steps: of it `digest` and `loss` are compared,
// not times nor metadata, and the first step (from 1) at which the digests differ is named.
status tensor_diff(const char *a, const char *b, tensor_tolerance tolerance, uint64_t max_bytes,
                   yaml_node *differences, error *err) MUST_CHECK;

#endif
