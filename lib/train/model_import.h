// SPDX-License-Identifier: MIT
// model_import.h - imports the weights of a checkpoint of any program, for --init and evaluate.
//
// Tensors have PyTorch's state_dict names. Prefixes of wrappers are removed: that of a module which
// contains the network, whatever its name ("model.", "net."), where the model knows names without
// it; then "module." (DataParallel, DistributedDataParallel) and "_orig_mod." (torch.compile), in
// any order. F16 and BF16 are converted to F32 exactly; F64 is rounded to nearest.
// num_batches_tracked is ignored.
#ifndef LOCKSTEP_TRAIN_MODEL_IMPORT_H
#define LOCKSTEP_TRAIN_MODEL_IMPORT_H

#include "base/cli.h"
#include "base/log.h"
#include "train/model_file.h"

// Tensors that a checkpoint does not give.
typedef struct import_exceptions {
    const cli_list *patterns; // of names (fnmatch)
    const char *written_as;   // what messages call them: an option, or a key of the experiment
    status fault;             // of a pattern that matches nothing
} import_exceptions;

// Copies a whole checkpoint, the file named `path`, into both arenas (gaps become zero). The file
// must have every tensor of the model once, and no others: else STATUS_INPUT, naming the tensor,
// its shape and the one expected. A value that is not finite, or a running variance below 0, is
// STATUS_INPUT, too. Prefixes and conversions are reported to `log` (NULL: silent) in one line.
//
// A tensor whose name matches one of the patterns of `except` is not taken: the arenas then hold
// initial values, and the model's tensors of these names keep them; the file may lack them, or have
// them in another shape. A pattern that matches no tensor of the model or of the file is its
// `fault`, with a near name; so are patterns that match all tensors of the model. NULL: the tool
// takes no patterns, and messages do not offer any.
status model_import(const model *m, float *parameters, float *buffers, const tensor_file *f,
                    const char *path, const import_exceptions *except, const logger *log,
                    error *err) MUST_CHECK;

// STATUS_INPUT, saying what the file is, for this program's tensor files that hold no model, such
// as a data set. model_import calls it before it refuses a name.
status model_import_check(const tensor_file *f, const char *path, error *err) MUST_CHECK;

// Reads the model and the normalisation from a checkpoint's metadata. STATUS_INPUT, naming the
// option to give, if the file has none, or those of another program (a PyTorch checkpoint).
status model_import_architecture(const tensor_file *f, const char *path, model *m,
                                 error *err) MUST_CHECK;
status model_import_normalization(const tensor_file *f, const char *path, normalization *n,
                                  error *err) MUST_CHECK;

#endif
