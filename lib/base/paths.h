// paths.h - how a file is called as seen from a folder.
#ifndef LOCKSTEP_BASE_PATHS_H
#define LOCKSTEP_BASE_PATHS_H

#include <limits.h>

#include "base/error.h"

// The folder of `path`, without links, ending in '/'. Empty where it cannot be found out.
void paths_real_folder(const char *path, char folder[PATH_MAX + 1]);
// `path` as seen from `folder` (which ends in '/'), in a new string. Links to folders are followed;
// a link to a file is not. What cannot be resolved stays as it is.
char *paths_relative(const char *path, const char *folder, error *err) MUST_CHECK;

#endif
