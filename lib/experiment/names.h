// names.h - which file is meant by a name that stands in another file.
//
// A word with a slash, or that ends in .yaml, is a path as seen from the file that it stands in.
// Any other word is a name. It is sought beside that file and then folder by folder upward. The
// search ends at a folder called `experiments`, which is a catalogue (catalog.h): an experiment or
// a study may lie anywhere below it.
#ifndef LOCKSTEP_EXPERIMENT_NAMES_H
#define LOCKSTEP_EXPERIMENT_NAMES_H

#include <stdbool.h>

#include "base/error.h"
#include "experiment/catalog.h"

// How much of a file's path is its folder, with the slash; 0: the current one.
int names_folder_length(const char *path);

// Is the word a path?
bool names_is_path(const char *word);

// FOLDER/NAME.yaml in the folder of `from`, or in one above it. Where there is none, *path is the
// one that would lie nearest: reading it says why not. free() it.
status names_find(const char *from, const char *folder, const char *word, char **path,
                  error *err) MUST_CHECK;

// The same for experiments and studies, which lie in these folders themselves, in FOLDER ("": none
// such) of one of them, or anywhere in the catalogue. STATUS_INPUT where a catalogue was searched
// and has none of that name, with the nearest.
status names_find_run(const char *from, const char *folder, const char *word, char **path,
                      error *err) MUST_CHECK;

// The catalogue that the file `from` lies in. *found is false where it lies in none; else release
// the catalogue.
status names_catalog(const char *from, catalog *c, bool *found, error *err) MUST_CHECK;

#endif
