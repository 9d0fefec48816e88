// trained_model.h - a checkpoint and what its numbers mean: the network, the weights, how pixels
// become inputs, the names of the classes.
#ifndef LOCKSTEP_TRAIN_TRAINED_MODEL_H
#define LOCKSTEP_TRAIN_TRAINED_MODEL_H

#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/yaml_tree.h"
#include "compute/devices.h"
#include "nn/model.h"
#include "train/model_file.h"

typedef struct model_source {
    const char *path;         // the checkpoint
    const char *architecture; // a model file; NULL: what the checkpoint says
    const char *mean, *std;   // lists "0.5,0.5,0.5"; NULL, both: what the checkpoint says
    uint64_t max_bytes;       // as of tensor_file_read
    const logger *log;        // NULL: nothing is said
} model_source;

typedef struct trained_model {
    model model;
    normalization normalization; // a value for each channel of the model
    tensor_file checkpoint;
    float *parameters, *buffers; // the arenas
} trained_model;

// STATUS_INPUT for what is no checkpoint, or does not say what is not given; STATUS_USAGE for a
// list that is none. trained_model_release whatever happens.
status trained_model_read(trained_model *t, const model_source *s, error *err) MUST_CHECK;
// The same without the arenas, from the header of the file alone.
status trained_model_describe(trained_model *t, const model_source *s, error *err) MUST_CHECK;
void trained_model_release(trained_model *t);

// The names of its classes (labels_names), or NULL where the checkpoint does not say them.
yaml_node *trained_model_classes(const trained_model *t);

// The same as canonical JSON, a list of texts; free() it. NULL likewise.
status trained_model_class_list(const trained_model *t, char **text, error *err) MUST_CHECK;

// A new engine on the first of the devices, which are open, with these weights: for inference.
// The caller closes it.
status trained_model_open(const trained_model *t, const devices *on, int threads, const char *isa,
                          engine **e, error *err) MUST_CHECK;

#endif
