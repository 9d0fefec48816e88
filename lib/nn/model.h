// SPDX-License-Identifier: MIT
// model.h - a network from its YAML description: layers, shapes, tensor names, places in the
// arenas.
#ifndef LOCKSTEP_NN_MODEL_H
#define LOCKSTEP_NN_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "compute/program.h"

enum { TENSOR_NAME_BYTES = LAYER_NAME_BYTES + sizeof ".running_mean" - 1 };

// One tensor of the state_dict.
typedef struct model_tensor {
    char name[TENSOR_NAME_BYTES]; // "conv1.weight", "bn1.running_mean"
    int rank;
    int64_t shape[4];
    size_t offset, count; // in its arena
    bool is_buffer;       // lives in the buffer arena
    int layer;            // index into program.layers
} model_tensor;

typedef struct model {
    char name[64];
    program program;
    model_tensor
        *tensors; // in the order of the layers; batch norm: weight, bias, running_mean, running_var
    int tensor_count;
    yaml_node *description; // schema, name, input, layers: every default written out
    char *canonical;        // the description as canonical JSON: metadata of model.st.zst
} model;

// Reads a model file (schema lockstep.model/1), or a tree that json_to_yaml made from the metadata
// of a checkpoint. STATUS_INPUT, with file, line and column, for an unknown layer or key, a kernel
// larger than its input, a linear layer before flatten, or a last layer that gives an image.
status model_read(model *m, const char *path, error *err) MUST_CHECK;
status model_from_yaml(model *m, const yaml_node *root, error *err) MUST_CHECK;
void model_release(model *m);

// Returns the tensor of that name, or NULL.
const model_tensor *model_find(const model *m, const char *name);

// Multiply-adds of the given layer for one sample: forward, input gradient, weight gradient. Only
// convolutions and linear layers count; the first layer with parameters needs no input gradient.
typedef struct layer_cost {
    double forward, input_gradient, weight_gradient;
} layer_cost;
layer_cost model_cost(const model *m, int layer);

#endif
