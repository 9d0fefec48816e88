// train_manifest.h - the manifest of a training: parameters and inputs, which make its key, and
// what came out.
#ifndef LOCKSTEP_TRAIN_TRAIN_MANIFEST_H
#define LOCKSTEP_TRAIN_TRAIN_MANIFEST_H

#include "base/error.h"
#include "compute/devices.h"
#include "data/dataset.h"
#include "data/manifest.h"
#include "experiment/experiment.h"
#include "train/checkpoint.h"

// `parameters`: the resolved experiment.
status train_manifest_parameters(const experiment *e, yaml_node *parameters, error *err) MUST_CHECK;

// `parameters.backend`: which kind of device computed, "cuda", or "mixed" where a run was resumed
// on another. Each has bits of its own, so they are stages of their own. A "cpu" goes without
// saying.
status train_manifest_backend(manifest *m, const char *kind, error *err) MUST_CHECK;

// `parameters.reduce`, where sums over ranks or replicas did not go along the tree: {kind: fast,
// world_size: 4}, for their order depends on how many bring one; {kind: mixed}, with `world_size`
// 0, where that was not the same for the whole run. Exact sums go without saying.
status train_manifest_reduce(manifest *m, const char *kind, int world_size, error *err) MUST_CHECK;

// Adds the files of a dataset to the inputs.
status train_manifest_dataset(manifest *m, const dataset *d, error *err) MUST_CHECK;

// Adds a tensor file, which was read or written as `path`, to the inputs or the outputs.
status train_manifest_input(manifest *m, const char *path, const tensor_file *f,
                            error *err) MUST_CHECK;
status train_manifest_output(manifest *m, const char *path, const tensor_file *f,
                             error *err) MUST_CHECK;

// The list of devices, as `execution` has it: [cpu], ["cuda:0", "cuda:1"]. NULL, with err filled,
// when there is no memory.
yaml_node *train_manifest_device_list(const devices *d, error *err) MUST_CHECK;
// `run.gpus`: what the GPUs among them are; nothing where there is none.
status train_manifest_gpus(manifest *m, const devices *d, error *err) MUST_CHECK;
// Adds to them what they did: figures[i] is about d->gpus[i].
status train_manifest_gpu_figures(manifest *m, const devices *d, const gpu_figures *figures,
                                  error *err) MUST_CHECK;

// `results` and `run.execution` of a finished run over `samples` training samples; `model_content`
// is the content hash of its model.st.zst.
status train_manifest_results(manifest *m, const checkpoint *c, const experiment *e,
                              uint32_t samples, const char *model_content, error *err) MUST_CHECK;

#endif
