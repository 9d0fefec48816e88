// SPDX-License-Identifier: MIT
// paths.h - paths relative to a folder, and names that may become parts of paths.
#ifndef LOCKSTEP_BASE_PATHS_H
#define LOCKSTEP_BASE_PATHS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strvec.h"

// Returns the last part of a path.
const char *paths_name(const char *path);
// Returns the folder that a path is in: "." if it names none. free() it.
char *paths_folder(const char *path) MUST_CHECK;
// Returns the length of a path without its ending .yaml, or the whole length if it has none.
size_t paths_stem(const char *path);
// Is this part of a path, of `length` bytes, a name that systems put beside other files by
// themselves: .DS_Store, ._FILE and __MACOSX of macOS, Thumbs.db and desktop.ini of Windows?
bool paths_is_litter(const char *name, size_t length);
// Is any part of the path such a name?
bool paths_has_litter(const char *path);
// Are both there, and the same file or folder, through any links?
bool paths_same(const char *a, const char *b);
// Is it the name of a YAML file that is not hidden?
bool paths_is_yaml(const char *name);
// Returns whether there is a folder, or a link to one.
bool paths_is_folder(const char *path);
// Is there a file or folder at the path that the format gives? `how`: as for access(2).
bool paths_allow(int how, const char *format, ...) PRINTF_LIKE(2, 3);
// Returns `path` as seen from `folder`: itself if it is absolute. free() it.
char *paths_in(const char *folder, const char *path) MUST_CHECK;

// Adds the names in a folder that are chosen (NULL: all but those that begin with '.'), sorted: as
// texts, or `by_number` those of equal beginnings by the numbers in them. False, with errno, if the
// folder cannot be read.
bool paths_list(const char *folder, bool (*chosen)(const char *name), bool by_number,
                strvec *names);

// Writes the folder of `path`, with links resolved and ending in '/'; "" if it cannot be resolved.
void paths_real_folder(const char *path, char folder[PATH_MAX + 1]);
// Returns `path` relative to `folder` (which ends in '/'), in a new string. Links to folders are
// followed; a link to a file is not. A path that cannot be resolved stays as it is.
char *paths_relative(const char *path, const char *folder) MUST_CHECK;

// Returns whether `name` may become the name of a folder and a part of commands: it has only
// letters, digits, '.', '_' and '-', at least one of them, and does not begin with '.' or '-'.
bool paths_is_plain_name(const char *name);

#endif
