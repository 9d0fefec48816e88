// SPDX-License-Identifier: MIT
// yaml_tree.h - YAML documents as a tree of nodes (yaml_tree.c), read and written through libyaml
// (yaml_text.c, the only file that includes <yaml.h>).
//
// Only the plain part of YAML that people write by hand is read: mappings, sequences and scalars,
// one document per file. Refused, with line and column: anchors, aliases, tags, duplicate keys,
// keys that are not scalars, a bare yes/no/on/off (YAML 1.1 and 1.2 disagree on them), more than
// YAML_MAX_DEPTH levels, more than YAML_MAX_BYTES.
#ifndef LOCKSTEP_BASE_YAML_TREE_H
#define LOCKSTEP_BASE_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { YAML_MAX_DEPTH = 8, YAML_MAX_BYTES = 1 << 20 };

typedef enum yaml_kind { YAML_SCALAR, YAML_SEQUENCE, YAML_MAPPING } yaml_kind;

typedef struct yaml_node yaml_node;
struct yaml_node {
    yaml_kind kind;
    char *text;  // scalar: its value
    bool quoted; // scalar: was (reading) or must be (writing) quoted: a string whatever it looks
                 // like
    bool flow;   // collection: written on one line, as {a: 1} or [1, 2]
    char **keys; // mapping: count of them
    yaml_node **items; // mapping: values; sequence: items
    size_t count, capacity;
    int line, column;         // where it was read, from 1; 0: the place is not known
    int key_line, key_column; // where its key was read, for an item of a mapping
    const char *file;         // name for messages; NULL for nodes made in memory
    char *file_storage;       // that name, in the node that was read as the root; else NULL
    error_origin origin;      // of `file`; ERROR_ELSEWHERE for nodes made in memory
    int assignment;           // ERROR_IN_ASSIGNMENT: as in `error`
};

// Reading. `name` is for messages. On failure STATUS_INPUT and *root = NULL.
status yaml_read_file(const char *path, yaml_node **root, error *err) MUST_CHECK;
status yaml_read_text(const char *text, size_t bytes, const char *name, yaml_node **root,
                      error *err) MUST_CHECK;

// Frees the node and all below it. NULL is fine. (Inline because libyaml exports a function of this
// name; an external one here would replace it inside libyaml, too.)
void yaml_node_free(yaml_node *node);
static inline void yaml_free(yaml_node *node) {
    yaml_node_free(node);
}

// Looking up. A path is keys and indices joined by dots: "optimizer.lr", "epochs.3.loss". NULL if
// absent.
const yaml_node *yaml_get(const yaml_node *node, const char *path);
// One key of a mapping, not a path: keys may hold dots.
const yaml_node *yaml_find(const yaml_node *mapping, const char *key);

// Return the scalar that a path leads to; "" or NAN if there is none of that kind.
const char *yaml_text_at(const yaml_node *root, const char *path);
double yaml_number_at(const yaml_node *root, const char *path);

// The type of a scalar by YAML's core rules. Quoted scalars are strings; a plain "0x1f" is one,
// too.
typedef enum yaml_type {
    YAML_NULL,
    YAML_BOOLEAN,
    YAML_INTEGER,
    YAML_NUMBER,
    YAML_STRING
} yaml_type;
yaml_type yaml_scalar_type(const yaml_node *scalar);

// Values. Each fails with STATUS_INPUT and "FILE:LINE:COLUMN: 'KEY': expected …, got …"; `key` is
// for the message.
status yaml_string(const yaml_node *node, const char *key, const char **value,
                   error *err) MUST_CHECK;
status yaml_integer(const yaml_node *node, const char *key, int64_t min, int64_t max,
                    int64_t *value, error *err) MUST_CHECK;
status yaml_number(const yaml_node *node, const char *key, double *value, error *err) MUST_CHECK;
status yaml_boolean(const yaml_node *node, const char *key, bool *value, error *err) MUST_CHECK;

// Returns STATUS_INPUT with "FILE:LINE:COLUMN: " before the message ("FILE: " if the place is not
// known, nothing for a node made in memory), and the node's origin in the error.
status yaml_error(const yaml_node *node, error *err, const char *format, ...) PRINTF_LIKE(3, 4);

// Fails on the first key of `mapping` that is not among `known` (count names), with the answer of
// base/hint.h, or with all known keys. The second also seeks an answer among `paths`, which are
// valid elsewhere: "optimizer.lr".
status yaml_check_keys(const yaml_node *mapping, const char *const *known, size_t count,
                       error *err) MUST_CHECK;
status yaml_check_keys_among(const yaml_node *mapping, const char *const *known, size_t count,
                             const char *const *paths, size_t path_count, error *err) MUST_CHECK;

// Building. yaml_put and yaml_append take ownership of `item`.
yaml_node *yaml_new(yaml_kind kind) MUST_CHECK;
yaml_node *yaml_new_string(const char *text) MUST_CHECK; // quoted if it must be
yaml_node *yaml_new_integer(int64_t value) MUST_CHECK;
yaml_node *yaml_new_number(double value) MUST_CHECK; // its number_text (number_text.h)
// A float as a number of nine digits, which no other float has: 0.1f is 0.100000001.
yaml_node *yaml_new_float(float value) MUST_CHECK;
yaml_node *yaml_new_boolean(bool value) MUST_CHECK;
void yaml_put(yaml_node *mapping, const char *key, yaml_node *item); // replaces
void yaml_append(yaml_node *sequence, yaml_node *item);
yaml_node *yaml_copy(const yaml_node *node) MUST_CHECK;
// Makes messages about the tree begin with "NAME: ", without line and column. `assignment`: 0,
// unless the origin is ERROR_IN_ASSIGNMENT.
void yaml_set_origin(yaml_node *root, const char *name, error_origin origin, int assignment);
// Removes a key if it is there.
void yaml_remove(yaml_node *mapping, const char *key);
// Returns whether both trees are the same: kinds, keys in any order, items in order, scalars by
// text.
bool yaml_equal(const yaml_node *a, const yaml_node *b);

// Writing: block style, two spaces, keys in the order of the tree.
status yaml_write_file(const yaml_node *root, const char *path, error *err) MUST_CHECK;
// The same into a string; free() it.
status yaml_write_text(const yaml_node *root, char **text, size_t *bytes, error *err) MUST_CHECK;
// Only strings that are UTF-8 (printable_is_utf8) can be written.

// Returns the version of libyaml at run time: "0.2.5".
const char *yaml_library_version(void);

#endif
