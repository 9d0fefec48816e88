// SPDX-License-Identifier: MIT
// plugin.h - files that belong to the tools and are opened on demand: shared objects, so that the
// tools start even if the libraries that these need are missing, small tables, and experiments.
#ifndef LOCKSTEP_BASE_PLUGIN_H
#define LOCKSTEP_BASE_PLUGIN_H

#include "base/error.h"

// Finds the path at which `file` is, or would be; free() it. It is the value of the environment
// variable, if that is set; `variable` may be NULL. Else it is the first of these that exists,
// relative to the folder of the running program:
//
//     ../lib/FILE, ../share/lockstep/FILE    as built
//     lib/FILE, share/FILE                   as installed: `make install` makes these two folders
//                                            as links to LIBDIR/lockstep and DATADIR
status plugin_find(const char *file, const char *variable, char **path, error *err) MUST_CHECK;

#endif
