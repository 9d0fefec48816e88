// SPDX-License-Identifier: MIT
// lookup.h - finds the file that a name in another file stands for.
//
// A word with a slash, or that ends in .yaml, is a path relative to the file that contains it. Any
// other word is a name. It is searched in that file's folder, then folder by folder upward, up to a
// folder called `experiments`; then in the places of catalog.h: `experiments` in the current
// folder, and the installed one. A folder called `experiments` is a catalogue: an experiment or a
// study may lie anywhere below it. At last, an experiment may be the one that import-images has
// written next to its data, in data/NAME of the current folder.
#ifndef LOCKSTEP_EXPERIMENT_LOOKUP_H
#define LOCKSTEP_EXPERIMENT_LOOKUP_H

#include <stdbool.h>

#include "base/error.h"
#include "experiment/catalog.h"

// Returns the length of the folder part of a file's path, with the slash; 0: the current folder.
int lookup_folder_length(const char *path);

// Is the word a path?
bool lookup_is_path(const char *word);

// Finds FOLDER/NAME.yaml in the folder of `from`, in one above it, or in a place. If there is none,
// *path is the path nearest to `from`: reading it reports the error. free() it.
status lookup_file(const char *from, const char *folder, const char *word, char **path,
                   error *err) MUST_CHECK;

// Finds the name nearest to `word` in the folders that lookup_file searches, for a message; NULL if
// none is near. free() it.
status lookup_nearest(const char *from, const char *folder, const char *word, char **near,
                      error *err) MUST_CHECK;

// The same as lookup_file for experiments and studies, which lie in these folders themselves, in
// FOLDER of one of them (unless it is ""), or anywhere in the catalogue. STATUS_INPUT, with the
// nearest name, if a catalogue was searched and has none of that name.
status lookup_run(const char *from, const char *folder, const char *word, char **path,
                  error *err) MUST_CHECK;

// Finds the file that a word on a command line stands for: a path, a file that exists, or the name
// of an experiment in one of the places of catalog.h or next to its data. free() *path.
status lookup_word(const char *word, char **path, error *err) MUST_CHECK;

// The name of the data set in a folder of import-images, which may differ from the folder's. NULL
// if there is no manifest to tell. free() it.
char *lookup_dataset_in(const char *folder);

// Finds the experiment that import-images has written next to its data in `folder`: NAME.yaml or,
// for `any` name, the one called after the data set; else NULL. free() it.
char *lookup_beside(const char *folder, const char *name, bool any);

// The same for data/NAME in the current folder.
char *lookup_with_data(const char *name);

// Reads the catalogue that the file `from` lies in. *found is false if it lies in none; else
// release the catalogue.
status lookup_catalog(const char *from, catalog *c, bool *found, error *err) MUST_CHECK;

#endif
