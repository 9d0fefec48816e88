// SPDX-License-Identifier: MIT
// torch.h - writes a trained model as a folder for PyTorch: model.py builds the network from layers
// of torch.nn, and reads the weights, model.safetensors, without any other package.
//
//     import model
//     network = model.load()                      # in eval mode
//     logits = network(model.normalize(pixels))   # uint8 [N, channels, height, width]
//
// The state_dict has the names of model.st.zst, so `evaluate --model` takes a state_dict that was
// trained further in PyTorch.
#ifndef LOCKSTEP_TRAIN_EXPORT_TORCH_H
#define LOCKSTEP_TRAIN_EXPORT_TORCH_H

#include "base/error.h"
#include "train/trained_model.h"

// Makes the folder and writes both files. Equal models give equal bytes. STATUS_USAGE if one of
// them is the checkpoint, `path`. STATUS_INPUT for names of layers that cannot be attributes of one
// module: 'a' and 'a.b'.
status torch_write(const trained_model *m, const char *path, const char *folder,
                   error *err) MUST_CHECK;

#endif
