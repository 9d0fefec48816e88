// naming.h - from the names that a user gives to files, names in reports, and folders.
#ifndef LOCKSTEP_PIPELINE_NAMING_H
#define LOCKSTEP_PIPELINE_NAMING_H

#include <stdbool.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "pipeline/pipeline.h"

// The files of the experiments that the settings name: by name in the catalogue, by path, or, with
// RUNS, by the key of a kept run, whose experiment stands in the store. *study, where a study may
// be named, says whether the only one is; elsewhere a study is refused (STATUS_USAGE).
// STATUS_INPUT where there is no such file.
status naming_find(const pipeline *p, bool study_may_be, words *files, bool *study,
                   error *err) MUST_CHECK;
// The file of the list that LIST names, or the one that is used without; free() it. NULL, with err
// filled, where there is none.
char *naming_list(const pipeline *p, error *err) MUST_CHECK;

// "…/vgg.yaml" is "vgg"; free() it.
char *naming_base(const char *path, error *err) MUST_CHECK;

// How run number `i` of `files` is called in reports, and the folder below ARTIFACTS that its links
// stand in; free() both. The folder of a run that is named by its key is NAME-KEY, as those of its
// name belong to the experiment's file; so is its name, where another one has it, too.
status naming_of_run(const pipeline *p, const words *files, size_t i, char **name, char **folder,
                     error *err) MUST_CHECK;

// `name`, which it takes over, as a folder may be called: cut, with a hash, where it is too long.
// free() it. NULL stays NULL.
char *naming_shortened(char *name, error *err) MUST_CHECK;
// PREFIX-FOLDER-FOLDER of the plan's runs; cut, with a hash, where it gets too long for a folder.
// free() it.
char *naming_joined(const char *prefix, const yaml_node *plan, error *err) MUST_CHECK;

// What a report of settings that are not the file's own is called after: "-epochs=3,seed=1"; "" for
// none. Characters that mean something to a shell become '_', with a hash. free() it.
char *naming_suffix(const settings *s, error *err) MUST_CHECK;

#endif
