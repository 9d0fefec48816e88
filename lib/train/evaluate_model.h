// SPDX-License-Identifier: MIT
// evaluate_model.h - evaluates a checkpoint on a dataset: predictions.st.zst and its manifest.
#ifndef LOCKSTEP_TRAIN_EVALUATE_MODEL_H
#define LOCKSTEP_TRAIN_EVALUATE_MODEL_H

#include <stdint.h>

#include "base/error.h"
#include "compute/devices.h"
#include "data/dataset.h"
#include "data/manifest.h"
#include "data/tta.h"
#include "train/evaluation.h"
#include "train/trained_model.h"

typedef struct evaluate_settings {
    model_source model;
    const char *data;       // a path, or "-"
    const devices *devices; // opened; computes on the first
    int threads;
    const char *isa;   // NULL: the best
    tta_kind tta;      // the views of each image, whose logits are averaged
    const logger *log; // NULL: silent
} evaluate_settings;

typedef struct evaluate_model {
    const evaluate_settings *settings;
    trained_model model;
    dataset data;
    float *logits;
    evaluation result;
    char isa[DEVICE_NAME_BYTES]; // instruction set or GPU that computed
    double compute_seconds;      // inference and counting, without I/O
} evaluate_model;

// Reads the checkpoint and the data, checks that they match, and puts parameters and inputs into
// `m`. Release `e` even after a failure.
status evaluate_model_init(evaluate_model *e, const evaluate_settings *s, manifest *m,
                           error *err) MUST_CHECK;
// Puts into `m` only the components of the stage's key. If manifests next to the model and the data
// record their content hashes, only the model's metadata is read (data/recorded.h).
status evaluate_model_describe(const evaluate_settings *s, manifest *m, error *err) MUST_CHECK;
void evaluate_model_release(evaluate_model *e);

// Computes logits and result.
status evaluate_model_compute(evaluate_model *e, error *err) MUST_CHECK;

// Writes predictions.st.zst, then manifest.yaml, into the folder, which must exist.
status evaluate_model_write(evaluate_model *e, const char *folder, manifest *m,
                            error *err) MUST_CHECK;

#endif
