// SPDX-License-Identifier: MIT
// model_file.h - parameters and buffers as named tensors, in model.st.zst and in a state.
// (Checkpoints of other programs: model_import.h.)
#ifndef LOCKSTEP_TRAIN_MODEL_FILE_H
#define LOCKSTEP_TRAIN_MODEL_FILE_H

#include "base/error.h"
#include "compute/backend.h"
#include "data/pixel_statistics.h"
#include "data/tensor/tensor_file.h"
#include "nn/model.h"

// Pixels become (byte / 255 - mean) / std, channel by channel.
typedef struct normalization {
    int channels;
    float mean[ENGINE_MAX_CHANNELS], std[ENGINE_MAX_CHANNELS];
} normalization;

// Returns whether pixels from 0 to 1 can have these means and deviations, and their normalised
// values are finite. If not, `why` is the reason.
enum { NORMALIZATION_WHY_BYTES = PIXEL_WHY_BYTES };
bool normalization_check(const normalization *n, char why[NORMALIZATION_WHY_BYTES]);

// Adds the model's tensors as PREFIXconv1.weight, …, pointing into the arenas. A NULL arena is left
// out.
void model_file_store(const model *m, const char *prefix, const float *parameters,
                      const float *buffers, tensor_file *f);

// Copies PREFIXconv1.weight, … of the file named `path` into the arenas (gaps become zero). A NULL
// arena is left out. STATUS_INPUT, naming the tensor, if one is missing or has another shape.
status model_file_load(const model *m, const char *prefix, float *parameters, float *buffers,
                       const tensor_file *f, const char *path, error *err) MUST_CHECK;

// Puts together the content of model.st.zst: tensors under state_dict names, pointing into the
// arenas; metadata `model`, `normalize` and, unless NULL, `classes` (a JSON list). Release `f`.
void model_file_describe(const model *m, const float *parameters, const float *buffers,
                         const normalization *n, const char *classes, tensor_file *f);
// Writes model.st.zst. `f` holds the hashes; release it.
status model_file_write(const char *path, const model *m, const float *parameters,
                        const float *buffers, const normalization *n, const char *classes,
                        tensor_file *f, error *err) MUST_CHECK;

// Returns {"mean":[...],"std":[...]} as canonical JSON; free() it.
char *model_file_normalization_text(const normalization *n) MUST_CHECK;

#endif
