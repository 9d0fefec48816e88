// inherit.h - experiment files that show only what differs from another one (`base: NAME`).
#ifndef LOCKSTEP_EXPERIMENT_INHERIT_H
#define LOCKSTEP_EXPERIMENT_INHERIT_H

#include "base/error.h"
#include "base/yaml_tree.h"

enum { INHERIT_MAX_DEPTH = 8 }; // bases of bases

// Reads the experiment file `path`, and under it what it takes from its base: every key that it
// does not say itself, but for name and title, which are the base's own. Groups
// (optimizer, schedule, normalize, lr_scaling) are taken key by key; one of another kind takes
// nothing, since the keys of one kind mean nothing to another. `KEY: null` takes a key away.
//
// Every value keeps the file, line and column where it stands, and the root has no `base`.
// STATUS_INPUT, at the place of `base`, for one that cannot be found, is no experiment, comes back
// to a file that was read already, or is more than INHERIT_MAX_DEPTH files away.
status inherit_read(const char *path, yaml_node **root, error *err) MUST_CHECK;

#endif
