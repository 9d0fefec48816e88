// SPDX-License-Identifier: MIT
// layer_types.h - the words for layers in model files, for model.c, and the functions that read a
// layer's options and set its output shape; then its tensors.
#ifndef LOCKSTEP_NN_LAYER_TYPES_H
#define LOCKSTEP_NN_LAYER_TYPES_H

#include "nn/model.h"

// Limits far above any model that is trained here; they keep every size and product in range.
enum {
    MAX_LAYERS = 1000,
    MAX_FEATURES = 1 << 24, // of one activation
    MAX_WINDOW = 1 << 12,   // kernel, stride, padding
    MAX_PARAMETERS = 1 << 29,
    MAX_JOINED = 4096, // inputs after the first of all concat layers together
};

enum { INPUT_LAYER = -1 }; // the network's input, among the indices of layers

// A model being read.
typedef struct builder {
    model *m;
    size_t layer_capacity, tensor_capacity;
    int source; // the layer whose output the next layer reads, unless it says otherwise; or
                // INPUT_LAYER
    int counted[LAYER_KINDS];
    int joined;         // see MAX_JOINED
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

enum { LAYER_OPTIONS = 7 };

typedef struct layer_type {
    const char *word; // in model files
    layer_kind kind;
    const char *options[LAYER_OPTIONS]; // in addition to `name`, `from` and numbers
    status (*read)(builder *b, reading *r);
} layer_type;

// The first LAYER_KINDS describe the kinds of compute/layer_kinds.h. The others are abbreviations
// of these: the description has the layer that they stand for.
enum { LAYER_TYPES = LAYER_KINDS + 2 };
extern const layer_type layer_types[LAYER_TYPES];

// Reads the numbers of the layer's kind (compute/layer_kinds.h).
status layer_read_numbers(builder *b, reading *r) MUST_CHECK;

// Gives the layer the tensors of its kind, in their order in a state_dict: adds them to the model.
status layer_add_tensors(builder *b, const reading *r) MUST_CHECK;

// Refuses a layer whose output is too large.
status layer_refuse_size(builder *b, const reading *r) MUST_CHECK;

// The word in model files for INPUT_LAYER.
#define INPUT_NAME "input"
// Finds the layer that `node` names, among those read so far. *index is INPUT_LAYER for `input`.
status layer_find(const builder *b, const yaml_node *node, const char *key, int *index) MUST_CHECK;
// Returns the name by which layer_find finds it.
const char *layer_name(const builder *b, int index);
// Returns the shape of its output.
shape layer_shape(const builder *b, int index);

static inline const yaml_node *layer_option(const reading *r, const char *key) {
    return r->options ? yaml_find(r->options, key) : NULL;
}

#endif
