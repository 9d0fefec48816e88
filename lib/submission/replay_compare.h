// SPDX-License-Identifier: MIT
// replay_compare.h - compares the files of a run with those of the same steps, trained again. Used
// by replay.c and replay_segment.c only.
#ifndef LOCKSTEP_SUBMISSION_REPLAY_COMPARE_H
#define LOCKSTEP_SUBMISSION_REPLAY_COMPARE_H

#include "data/tensor/tensor_file.h"

// Compares loss and digest of the steps [first, end); the names of the series in the files begin
// with these prefixes. Sets *differs to the first step, from 1, that differs or that one of them
// has not, or to 0. `path` names `a` in messages.
status replay_compare_steps(const tensor_file *a, const char *a_prefix, const char *path,
                            const tensor_file *b, const char *b_prefix, uint64_t first,
                            uint64_t end, uint64_t *differs, error *err) MUST_CHECK;

// Compares all tensors but the series of steps and epochs. Returns the name of the first one that
// only one of them has, or that has not the same bytes; NULL if all are equal.
const char *replay_compare_tensors(const tensor_file *a, const tensor_file *b);

// Compares a model's tensors with those of a state whose names begin with `prefix`. Returns the
// first name, without the prefix, as above.
const char *replay_compare_prefixed(const tensor_file *model, const tensor_file *state,
                                    const char *prefix);

// Compares the metadata. Returns the first key that only one of them has, or that has another value
// in the other; NULL if all are equal.
const char *replay_compare_metadata(const tensor_file *a, const tensor_file *b);

#endif
