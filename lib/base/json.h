// SPDX-License-Identifier: MIT
// json.h - JSON through jansson: canonical text, conversion from and to YAML trees, and the --json
// output of the tools.
//
// Canonical JSON: compact, object keys in byte order, UTF-8 as it is; scalars that came from YAML
// become null, numbers, booleans or strings by YAML's core rules (quoted ones are strings);
// integers keep all their digits, other numbers are written by number_text (number_text.h). Equal
// content gives equal bytes. In a text that is not UTF-8, the bytes that are not ASCII become '?'.
#ifndef LOCKSTEP_BASE_JSON_H
#define LOCKSTEP_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/yaml_tree.h"

// Returns the tree as canonical JSON; free() it.
char *json_from_yaml(const yaml_node *node) MUST_CHECK;

// Prints the tree as canonical JSON and a line feed to standard output: the --json output of every
// tool.
status json_print(const yaml_node *node, error *err) MUST_CHECK;
// The same of a tree that was made for it, which it frees.
status json_answer(yaml_node *answer, error *err) MUST_CHECK;

// Returns a new number, or a JSON null if it is not finite, which JSON cannot express.
yaml_node *json_new_number(double value) MUST_CHECK;
// The same for a count that is unknown below 0, and for a string that is unknown if it is NULL or
// empty.
yaml_node *json_new_count(int64_t value) MUST_CHECK;
yaml_node *json_new_text(const char *text) MUST_CHECK;
// Returns a new string, whatever it looks like. If the text is not UTF-8, its bytes that are not
// ASCII become '?'.
yaml_node *json_new_string(const char *text) MUST_CHECK;
// Returns a new list of a text's lines.
yaml_node *json_new_lines(const char *text) MUST_CHECK;

// Reads JSON into a tree. `name` is for messages. Objects become mappings; strings become quoted
// scalars.
status json_to_yaml(const char *text, const char *name, yaml_node **root, error *err) MUST_CHECK;

// For code that calls jansson itself, before it does: from then on jansson ends the process if
// there is no memory. Left alone, version 2.14 loses characters of strings that it reads or writes,
// and reports success.
void json_begin(void);

// Returns the version of jansson at run time: "2.14".
const char *json_library_version(void);

#endif
