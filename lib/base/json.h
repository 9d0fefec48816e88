// json.h - the JSON jobs of the project, through jansson: canonical text, a bridge from YAML trees,
// and what --json of the tools prints.
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

// The tree as canonical JSON and a line feed on standard output: what --json of every tool prints.
status json_print(const yaml_node *node, error *err) MUST_CHECK;

// A new number; null where it is not finite, which JSON cannot say. NULL without memory,
// as below.
yaml_node *json_new_number(double value, error *err) MUST_CHECK;
// A new string, whatever it looks like; of one that is not UTF-8 what is not ASCII becomes '?'.
yaml_node *json_new_string(const char *text, error *err) MUST_CHECK;
// A new list of the lines of a text.
yaml_node *json_new_lines(const char *text, error *err) MUST_CHECK;

// The other way. `name` is for messages. Objects become mappings; strings become quoted scalars.
status json_to_yaml(const char *text, const char *name, yaml_node **root, error *err) MUST_CHECK;

// The version of jansson that runs: "2.14".
const char *json_library_version(void);

#endif
