// plugin.h - files that belong to the tools and are opened when they are asked for: shared objects,
// so that the tools start where the libraries that those need are not, and small tables.
#ifndef LOCKSTEP_BASE_PLUGIN_H
#define LOCKSTEP_BASE_PLUGIN_H

#include "base/error.h"

// Where `file` is, or would be; free() it. That is what the environment variable says, if it is
// set; else, as seen from the folder of the running program, the first that is there of
// ../lib/FILE, FILE in the folder lockstep of ../lib, ../lib64 and ../lib/MACHINE-linux-gnu, and
// ../share/lockstep/FILE.
status plugin_find(const char *file, const char *variable, char **path, error *err) MUST_CHECK;

#endif
