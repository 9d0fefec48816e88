// SPDX-License-Identifier: MIT
// tensor_text.h - tensors as text: elements and listings.
#ifndef LOCKSTEP_DATA_TENSOR_TENSOR_TEXT_H
#define LOCKSTEP_DATA_TENSOR_TENSOR_TEXT_H

#include "base/error.h"
#include "base/yaml_tree.h"
#include "data/tensor/tensor_file.h"

struct text;

enum { TENSOR_ELEMENT_TEXT_BYTES = 40 };

// Writes the element, with enough digits to read back the same value. Returns the length.
int tensor_element_text(char text[TENSOR_ELEMENT_TEXT_BYTES], const tensor *t, int64_t index);

// The inverse: all of `text` must be one value that the type can hold, else false.
bool tensor_element_parse(const char *text, tensor_type type, void *element);

// Appends the listing of `tensor info`: YAML, one tensor per line.
void tensor_describe(const tensor_file *f, const char *path, struct text *out);

// The same for --json: a mapping of file, bytes, sha256, content, metadata (a mapping) and tensors
// (a list of name, dtype, shape and bytes). Free with yaml_free.
yaml_node *tensor_describe_tree(const tensor_file *f, const char *path);

#endif
