// plugin.h - files that belong to the tools and are opened on demand: shared objects, so that the
// tools start even if the libraries that these need are missing, and small tables.
#ifndef LOCKSTEP_BASE_PLUGIN_H
#define LOCKSTEP_BASE_PLUGIN_H

#include "base/error.h"

// Finds the path at which `file` is, or would be; free() it. It is the value of the environment
// variable, if that is set; else the first that exists, relative to the folder of the running
// program, of ../lib/FILE, lockstep/FILE in ../lib, ../lib64 and ../lib/MACHINE-linux-gnu, and
// ../share/lockstep/FILE.
status plugin_find(const char *file, const char *variable, char **path, error *err) MUST_CHECK;

#endif
