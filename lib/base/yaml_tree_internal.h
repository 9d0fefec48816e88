// SPDX-License-Identifier: MIT
// yaml_tree_internal.h - shared by the tree (yaml_tree.c) and its text (yaml_text.c).
#ifndef LOCKSTEP_BASE_YAML_TREE_INTERNAL_H
#define LOCKSTEP_BASE_YAML_TREE_INTERNAL_H

#include "base/yaml_tree.h"

enum { WORD_SHOWN = 60 }; // characters of a bad value that a message quotes

yaml_node *yaml_new_scalar(const char *text, bool quoted) MUST_CHECK;

// yaml_put for a key that is known to be new.
void yaml_add(yaml_node *mapping, const char *key, yaml_node *item);

// YAML 1.1 reads these as booleans, 1.2 as strings: yes, no, on, off.
bool yaml_is_ambiguous(const char *text);
// Returns whether some reader of YAML 1.1 or 1.2 would take the plain text for something other than
// a string.
bool yaml_must_be_quoted(const char *text);

// Returns a node for messages about the item's key. It must not be freed.
yaml_node yaml_key_of(const yaml_node *item);

// In a flow mapping, a comma ends a value: {accuracy: 92,4} has a key '4' without a value. If that
// is the item's key, returns the key before it, and how to write the number.
const char *yaml_split_number(const yaml_node *mapping, const yaml_node *item, char *hint,
                              size_t size);

#endif
