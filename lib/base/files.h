// SPDX-License-Identifier: MIT
// files.h - reads and copies whole files, and removes trees.
#ifndef LOCKSTEP_BASE_FILES_H
#define LOCKSTEP_BASE_FILES_H

#include "base/error.h"

// Copies a file. The copy appears whole or not at all.
status copy_file(const char *from, const char *to, error *err) MUST_CHECK;

// Reads a text file of at most 64 MiB as a string; free() it. STATUS_INPUT for a longer one.
status read_file(const char *path, char **text, error *err) MUST_CHECK;

// Removes a tree, as rm -r, without following links. STATUS_FAILED on the first file that cannot be
// removed.
status remove_tree(const char *path, error *err) MUST_CHECK;

#endif
