// SPDX-License-Identifier: MIT
// labels.h - the class of each sample. Files hold U8 up to 256 classes and U32 above that; readers
// accept either type for any number of classes. In memory a label is a uint32_t.
#ifndef LOCKSTEP_DATA_LABELS_H
#define LOCKSTEP_DATA_LABELS_H

#include <stdint.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "data/tensor/tensor_file.h"

enum { LABELS_MAX_CLASSES = 1000 };

// Finds the tensor "labels": U8 or U32 [samples], else STATUS_INPUT as in tensor_file_require.
status labels_require(const tensor_file *f, const char *path, int64_t samples, const tensor **found,
                      error *err) MUST_CHECK;

// Copies all labels that labels_require found. A label that is not below `classes` is STATUS_INPUT,
// and the message names its place. `what` names the kind of file in that message: "dataset".
status labels_copy(const tensor *labels, const char *what, const char *path, int classes,
                   uint32_t *to, error *err) MUST_CHECK;

// Adds the tensor, U8 or U32 depending on `classes`. The labels must outlive the file.
status labels_add(tensor_file *f, const uint32_t *labels, int64_t samples, int classes,
                  error *err) MUST_CHECK;

// Reads the metadata `classes` of a data set, model or predictions: a JSON list of `classes` names.
// A YAML_SEQUENCE of scalars, yaml_free it; NULL if `text` is NULL or not such a list.
yaml_node *labels_names(const char *text, int classes);

// Reads the names of an option --classes, "cat,dog", as such a list; blanks around them do not
// count.
yaml_node *labels_split(const char *text) MUST_CHECK;

// Finds each of the names `wanted`, a list from labels_split, among the `count` names of a data
// set: chosen[i] is the place of wanted->items[i]. STATUS_USAGE if one is not there, which the
// message answers with the names that are, if one occurs twice, or if they are fewer than 2.
status labels_choose(const yaml_node *wanted, const char *const *names, size_t count,
                     size_t *chosen, error *err) MUST_CHECK;

#endif
