// torch.h - a trained model as a folder for PyTorch: model.py, which builds the network of layers
// of torch.nn, and model.safetensors, the weights, which model.py reads without a further package.
//
//     import model
//     network = model.load()                      # in eval mode
//     logits = network(model.normalize(pixels))   # uint8 [N, channels, height, width]
//
// The state_dict has the names of model.st.zst, so weights that PyTorch goes on training come back
// by `evaluate --model`.
#ifndef LOCKSTEP_TRAIN_EXPORT_TORCH_H
#define LOCKSTEP_TRAIN_EXPORT_TORCH_H

#include "base/error.h"
#include "train/trained_model.h"

// Makes the folder and writes both files. Equal models give equal bytes. `path` is where the model
// came from: STATUS_USAGE where one of the two is that file. STATUS_INPUT, too, for names of layers
// that cannot be attributes of one module: 'a' and 'a.b'.
status torch_write(const trained_model *m, const char *path, const char *folder,
                   error *err) MUST_CHECK;

#endif
