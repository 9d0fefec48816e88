// model_import.h - the weights of a checkpoint of any origin, for --init and evaluate.
//
// Tensors have PyTorch's state_dict names. Prefixes of wrappers are taken off:
// "module." (DataParallel, DistributedDataParallel) and "_orig_mod." (torch.compile), in any order.
// F16 and BF16 become F32 exactly, F64 is rounded to nearest. num_batches_tracked is ignored.
#ifndef LOCKSTEP_TRAIN_MODEL_IMPORT_H
#define LOCKSTEP_TRAIN_MODEL_IMPORT_H

#include "base/log.h"
#include "train/model_file.h"

// Copies a whole checkpoint, the file named `path`, into both arenas (gaps become zero). Every
// tensor of the model must be there once and no other: else STATUS_INPUT naming the tensor, with
// the shape it has and the one expected. A value that is not finite, or a running variance below 0,
// is STATUS_INPUT, too. `log` (NULL: nothing) tells in one line of prefixes and
// conversions.
status model_import(const model *m, float *parameters, float *buffers, const tensor_file *f,
                    const char *path, const logger *log, error *err) MUST_CHECK;

// The model and the normalisation in the metadata of a checkpoint. STATUS_INPUT, saying which
// option to give, when the file has none or those of another program (a checkpoint by PyTorch).
status model_import_architecture(const tensor_file *f, const char *path, model *m,
                                 error *err) MUST_CHECK;
status model_import_normalization(const tensor_file *f, const char *path, normalization *n,
                                  error *err) MUST_CHECK;

#endif
