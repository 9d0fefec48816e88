// evaluate_model.h - a checkpoint against a dataset: predictions.st.zst and its manifest.
#ifndef LOCKSTEP_TRAIN_EVALUATE_MODEL_H
#define LOCKSTEP_TRAIN_EVALUATE_MODEL_H

#include <stdint.h>

#include "base/error.h"
#include "compute/devices.h"
#include "data/dataset.h"
#include "data/manifest.h"
#include "train/evaluation.h"
#include "train/trained_model.h"

typedef struct evaluate_settings {
    model_source model;
    const char *data;       // a path, or "-"
    const devices *devices; // opened: it computes on the first
    int threads;
    const char *isa;   // NULL: the best
    const logger *log; // NULL: nothing is said
} evaluate_settings;

typedef struct evaluate_model {
    const evaluate_settings *settings;
    trained_model model;
    dataset data;
    float *logits;
    evaluation result;
    char isa[DEVICE_NAME_BYTES]; // what computed: instruction set or GPU
    double compute_seconds;      // inference and counting, without reading and writing
} evaluate_model;

// Reads the checkpoint and the data, checks that they fit, and puts parameters and inputs into `m`.
// Release it also after a failure.
status evaluate_model_init(evaluate_model *e, const evaluate_settings *s, manifest *m,
                           error *err) MUST_CHECK;
// Puts into `m` only what the key of the stage is made from. Model and data are not read, but for
// the model's metadata, where manifests beside them tell their contents (data/recorded.h).
status evaluate_model_describe(const evaluate_settings *s, manifest *m, error *err) MUST_CHECK;
void evaluate_model_release(evaluate_model *e);

// Computes logits and result.
status evaluate_model_compute(evaluate_model *e, error *err) MUST_CHECK;

// Writes predictions.st.zst and then manifest.yaml into the folder, which must exist.
status evaluate_model_write(evaluate_model *e, const char *folder, manifest *m,
                            error *err) MUST_CHECK;

#endif
