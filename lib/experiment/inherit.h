// SPDX-License-Identifier: MIT
// inherit.h - experiment files that give only the differences from another one (`base: NAME`).
#ifndef LOCKSTEP_EXPERIMENT_INHERIT_H
#define LOCKSTEP_EXPERIMENT_INHERIT_H

#include "base/error.h"
#include "base/yaml_tree.h"

enum { INHERIT_MAX_DEPTH = 8 }; // bases of bases

// Reads the experiment file `path`. It inherits every key from its base that it does not set
// itself, except name and title. Sections (optimizer, schedule, normalize, lr_scaling) are
// inherited key by key; a section of another kind inherits nothing, since the keys of one kind have
// no meaning for another. `KEY: null` removes a key.
//
// Every value keeps its file, line and column; the root has no `base`. STATUS_INPUT, at the place
// of `base`, if the base cannot be found, is not an experiment, leads back to a file already read,
// or is more than INHERIT_MAX_DEPTH files away.
status inherit_read(const char *path, yaml_node **root, error *err) MUST_CHECK;

#endif
