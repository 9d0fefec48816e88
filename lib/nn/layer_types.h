// SPDX-License-Identifier: MIT
// layer_types.h - the kinds of layers, for model.c: their words in model files, and the functions
// that read a layer's options and set its output shape and tensors.
#ifndef LOCKSTEP_NN_LAYER_TYPES_H
#define LOCKSTEP_NN_LAYER_TYPES_H

#include "nn/model.h"

// Limits far above any model that is trained here; they keep every size and product in range.
enum {
    MAX_LAYERS = 1000,
    MAX_FEATURES = 1 << 24, // of one activation
    MAX_WINDOW = 1 << 12,   // kernel, stride, padding
    MAX_PARAMETERS = 1 << 29,
};

// A model being read.
typedef struct builder {
    model *m;
    size_t layer_capacity, tensor_capacity;
    shape at;  // input of the next layer
    bool flat; // after flatten
    int counted[LAYER_KINDS];
    yaml_node *written; // the layers of the description
    error *err;
} builder;

// A layer being read: its YAML options (NULL: none were given) and the results.
typedef struct reading {
    const yaml_node *place; // for messages
    const yaml_node *options;
    yaml_node *written; // every option, for the description
    layer *l;
} reading;

typedef struct layer_type {
    const char *word;   // in model files
    const char *prefix; // of default names
    const char *options[7];
    status (*read)(builder *b, reading *r);
} layer_type;

extern const layer_type layer_types[LAYER_KINDS];

static inline const yaml_node *layer_option(const reading *r, const char *key) {
    return r->options ? yaml_find(r->options, key) : NULL;
}

#endif
