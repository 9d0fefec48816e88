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
status train_manifest_parameters(const experiment *e, yaml_node *parameters, error *err) MUST_CHECK;

// `parameters.backend`: the arithmetic (devices_arithmetic): "cuda", or "mixed" if a run was
// resumed with another one. Each gives different bits, so each is a separate stage. "cpu", which
// GPUs have unless `--math fast` is given, is not written.
status train_manifest_backend(manifest *m, const char *kind, error *err) MUST_CHECK;

// `parameters.reduce`, if sums over ranks or replicas did not follow the tree: {kind: fast,
// world_size: 4}, since the order of sums depends on the world size, or {kind: mixed}, with
// `world_size` 0, if the order changed within the run. Exact sums are the default and are not
// written.
status train_manifest_reduce(manifest *m, const char *kind, int world_size, error *err) MUST_CHECK;

// `parameters.init_except`: the patterns of --init-except, if there are any.
#define INIT_EXCEPT "init_except"
status train_manifest_init_except(manifest *m, const cli_list *except, error *err) MUST_CHECK;

// Adds the files of a dataset to the inputs.
status train_manifest_dataset(manifest *m, const dataset *d, error *err) MUST_CHECK;

// Adds a tensor file, read or written as `path`, to the inputs or the outputs.
status train_manifest_input(manifest *m, const char *path, const tensor_file *f,
                            error *err) MUST_CHECK;
status train_manifest_output(manifest *m, const char *path, const tensor_file *f,
                             error *err) MUST_CHECK;

// Returns the list of devices for `execution`: [cpu], ["cuda:0", "cuda:1"]. NULL, with `err` set,
// if memory runs out.
yaml_node *train_manifest_device_list(const devices *d, error *err) MUST_CHECK;
// Adds `run.gpus`, a description of the GPUs among the devices; nothing if there are none.
status train_manifest_gpus(manifest *m, const devices *d, error *err) MUST_CHECK;
// Adds measured figures to `run.gpus`: figures[i] belongs to d->gpus[i].
status train_manifest_gpu_figures(manifest *m, const devices *d, const gpu_figures *figures,
                                  error *err) MUST_CHECK;

// Adds `run.execution`: a mapping for a run with one segment, a list for a resumed run.
status train_manifest_execution(manifest *m, const checkpoint *c, error *err) MUST_CHECK;
// Adds `results` and `run.execution` of a finished run over `samples` training samples;
// `model_content` is the content hash of its model.st.zst.
status train_manifest_results(manifest *m, const checkpoint *c, const experiment *e,
                              uint32_t samples, const char *model_content, error *err) MUST_CHECK;

#endif
