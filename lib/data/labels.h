// labels.h - the class of each sample. Files hold U8 up to 256 classes and U32 above that; readers
// take either whatever the number of classes, and in memory a label is a uint32_t.
#ifndef LOCKSTEP_DATA_LABELS_H
#define LOCKSTEP_DATA_LABELS_H

#include <stdint.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "data/tensor/tensor_file.h"

enum { LABELS_MAX_CLASSES = 1000 };

// The tensor "labels" of a file: U8 or U32 [samples], else STATUS_INPUT as tensor_file_require.
status labels_require(const tensor_file *f, const char *path, int64_t samples, const tensor **found,
                      error *err) MUST_CHECK;

// Copies all labels of what labels_require found. One that is not below `classes` is STATUS_INPUT,
// naming its place; `what` is what cannot be read: "dataset".
status labels_copy(const tensor *labels, const char *what, const char *path, int classes,
                   uint32_t *to, error *err) MUST_CHECK;

// Adds the tensor, of the type that `classes` asks for. The labels are copied.
status labels_add(tensor_file *f, const uint32_t *labels, int64_t samples, int classes,
                  error *err) MUST_CHECK;

// The names of the classes, as the metadata `classes` of data sets, models and predictions have
// them: a JSON list of `classes` texts. A YAML_SEQUENCE of scalars, yaml_free it; NULL where `text`
// is NULL or no such list.
yaml_node *labels_names(const char *text, int classes);

#endif
