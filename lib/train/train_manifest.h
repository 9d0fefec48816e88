// SPDX-License-Identifier: MIT
// train_manifest.h - the manifest of a training: parameters and inputs, which make its key, and
// results.
#ifndef LOCKSTEP_TRAIN_TRAIN_MANIFEST_H
#define LOCKSTEP_TRAIN_TRAIN_MANIFEST_H

#include "base/cli.h"
#include "base/error.h"
#include "compute/devices.h"
#include "data/dataset.h"
#include "data/manifest.h"
#include "experiment/experiment.h"
#include "train/checkpoint.h"

// `parameters`: the resolved experiment.
void train_manifest_parameters(const experiment *e, yaml_node *parameters);

// `parameters.backend`: the arithmetic (devices_arithmetic): "cuda", or "mixed" if a run was
// resumed with another one. Each gives different bits, so each is a separate stage. "cpu", which
// GPUs have unless `--math fast` is given, is not written.
void train_manifest_backend(manifest *m, const char *kind);

// `parameters.reduce`, if sums over ranks or replicas did not follow the tree: {kind: fast,
// world_size: 4}, since the order of sums depends on the world size, or {kind: mixed}, with
// `world_size` 0, if the order changed within the run. Exact sums are the default and are not
// written.
void train_manifest_reduce(manifest *m, const char *kind, int world_size);

// `parameters.init_except`: the patterns of --init-except, if there are any.
#define INIT_EXCEPT "init_except"
void train_manifest_init_except(manifest *m, const cli_list *except);

// Adds the files of a dataset to the inputs.
void train_manifest_dataset(manifest *m, const dataset *d);

// Adds a tensor file, read or written as `path`, to the inputs or the outputs.
void train_manifest_input(manifest *m, const char *path, const tensor_file *f);
void train_manifest_output(manifest *m, const char *path, const tensor_file *f);

// Returns the list of devices for `execution`: [cpu], ["cuda:0", "cuda:1"]. NULL, with `err` set,
// if memory runs out.
yaml_node *train_manifest_device_list(const devices *d) MUST_CHECK;
// Adds `run.gpus`, a description of the GPUs among the devices; nothing if there are none.
void train_manifest_gpus(manifest *m, const devices *d);
// Adds measured figures to `run.gpus`: figures[i] belongs to d->gpus[i].
void train_manifest_gpu_figures(manifest *m, const devices *d, const gpu_figures *figures);

// Adds `run.execution`: a mapping for a run with one segment, a list for a resumed run.
void train_manifest_execution(manifest *m, const checkpoint *c);
// Adds `results` and `run.execution` of a finished run over `samples` training samples;
// `model_content` is the content hash of its model.st.zst.
void train_manifest_results(manifest *m, const checkpoint *c, const experiment *e, uint32_t samples,
                            const char *model_content);

#endif
