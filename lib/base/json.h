// json.h - the two JSON jobs of the project, through jansson: canonical text, and a bridge from
// YAML trees.
//
// Canonical JSON: compact, object keys in byte order, UTF-8 as it is; scalars that came from YAML
// become null, numbers, booleans or strings by YAML's core rules (quoted ones are strings);
// integers with all their digits, other numbers as their number_text (number_text.h). Equal content
// gives equal bytes.
#ifndef LOCKSTEP_BASE_JSON_H
#define LOCKSTEP_BASE_JSON_H

#include "base/error.h"
#include "base/yaml_tree.h"

// The tree as canonical JSON in a new string; free() it.
status json_from_yaml(const yaml_node *node, char **text, error *err) MUST_CHECK;

// The other way. `name` is for messages. Objects become mappings; strings become quoted scalars.
status json_to_yaml(const char *text, const char *name, yaml_node **root, error *err) MUST_CHECK;

// The version of jansson that runs: "2.14".
const char *json_library_version(void);

#endif
