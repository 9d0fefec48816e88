// SPDX-License-Identifier: MIT
// run_names.h - maps the names that a user gives to files, names in reports, and folders.
#ifndef LOCKSTEP_PIPELINE_RUN_NAMES_H
#define LOCKSTEP_PIPELINE_RUN_NAMES_H

#include <stdbool.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "pipeline/pipeline.h"

// Finds the files of the experiments that the settings name: by name in the catalogue or next to
// their data (import-images), by path, or, with RUNS, by the key of a kept run, whose experiment is
// in the store. If a study may be named, *study is true if the only file is one; otherwise a study
// is STATUS_USAGE. STATUS_INPUT if there is no such file.
status run_names_find(const pipeline *p, bool study_may_be, strvec *files, bool *study,
                      error *err) MUST_CHECK;
// Returns the list file that LIST names, or the default one; free() it. NULL, with `err` set, if
// there is none.
char *run_names_list(const pipeline *p, error *err) MUST_CHECK;

// Returns the base name: "vgg" for "…/vgg.yaml"; free() it.
char *run_names_base(const char *path) MUST_CHECK;

// Finds the name of run number `i` of `files` in reports, and the folder below ARTIFACTS for its
// links; free() both. A run that is given by its key has the folder NAME-KEY, as the folder NAME
// belongs to the experiment's file. If several have the same name, NAME-KEY is also its name.
status run_names_of(const pipeline *p, const strvec *files, size_t i, char **name, char **folder,
                    error *err) MUST_CHECK;

// Takes ownership of `name` and returns it as a folder name: if it is too long, cut, with a hash.
// free() it.
char *run_names_shortened(char *name) MUST_CHECK;
// Returns FOLDER-FOLDER… of the plan's runs; cut, with a hash, if it is too long for a folder.
// free() it.
char *run_names_joined(const yaml_node *plan) MUST_CHECK;

// Names have two suffixes, as the settings of the command line change two things. Both are "" if
// nothing is set. Characters that a name may not have are left out, and long ones cut; then a hash
// of the whole is appended.
//
// run_names_suffix: settings that make other runs, for the folder that has their links and reports:
// "-epochs=3,data=flowers,threads=2" (SET, EPOCHS, DATA, THREADS, MATH). So the folder of an
// experiment's own name shows the settings in its file.
// run_names_report_suffix: settings that only choose other seeds or labels of these runs, for plans
// and reports: "-seed=1,repeats=3"; with `language`, other languages than English: "-lang=zh". A
// link's own name has the seed. free() them.
char *run_names_suffix(const settings *s) MUST_CHECK;
char *run_names_report_suffix(const settings *s, bool language) MUST_CHECK;

#endif
