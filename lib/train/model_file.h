// model_file.h - parameters and buffers as named tensors: model.st.zst, and checkpoints that others
// wrote.
#ifndef LOCKSTEP_TRAIN_MODEL_FILE_H
#define LOCKSTEP_TRAIN_MODEL_FILE_H

#include "base/error.h"
#include "compute/backend.h"
#include "data/tensor_file.h"
#include "nn/model.h"

// Pixels become (byte / 255 - mean) / std, channel by channel.
typedef struct normalization {
    int channels;
    float mean[ENGINE_MAX_CHANNELS], std[ENGINE_MAX_CHANNELS];
} normalization;

// Adds the model's tensors as PREFIXconv1.weight, …, pointing into the arenas. A NULL arena is left
// out.
status model_file_store(const model *m, const char *prefix, const float *parameters,
                        const float *buffers, tensor_file *f, error *err) MUST_CHECK;

// Copies PREFIXconv1.weight, … of the file named `path` into the arenas (gaps become zero). A NULL
// arena is left out. STATUS_INPUT, naming the tensor, when one is missing or has another shape.
status model_file_load(const model *m, const char *prefix, float *parameters, float *buffers,
                       const tensor_file *f, const char *path, error *err) MUST_CHECK;

// Writes model.st.zst: tensors under state_dict names; metadata `model`, `normalize` and, unless
// NULL, `classes` (a JSON list). `f` keeps the hashes; release it.
status model_file_write(const char *path, const model *m, const float *parameters,
                        const float *buffers, const normalization *n, const char *classes,
                        tensor_file *f, error *err) MUST_CHECK;

// Copies a whole checkpoint, the file named `path`, into both arenas. Every tensor of the model
// must be there and no other, but for PyTorch's num_batches_tracked.
status model_file_load_all(const model *m, float *parameters, float *buffers, const tensor_file *f,
                           const char *path, error *err) MUST_CHECK;

// {"mean":[...],"std":[...]} as canonical JSON; free() it.
status model_file_normalization_text(const normalization *n, char **text, error *err) MUST_CHECK;

// The model and the normalisation in the metadata of a model.st.zst. STATUS_INPUT, saying which
// option to give, when the file has none (a checkpoint by PyTorch).
status model_file_architecture(const tensor_file *f, const char *path, model *m,
                               error *err) MUST_CHECK;
status model_file_normalization(const tensor_file *f, const char *path, normalization *n,
                                error *err) MUST_CHECK;

#endif
