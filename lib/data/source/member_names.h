// SPDX-License-Identifier: MIT
// member_names.h - finds the files of a data set by their names, in every spelling (members.h).
#ifndef LOCKSTEP_DATA_SOURCE_MEMBER_NAMES_H
#define LOCKSTEP_DATA_SOURCE_MEMBER_NAMES_H

#include "base/error.h"
#include "data/source/dataset_list.h"

// The forms of a member: NAME, NAME.gz, and its alias.
typedef enum member_form {
    MEMBER_PLAIN,
    MEMBER_PACKED,
    MEMBER_OTHER_FORM,
    MEMBER_FORMS
} member_form;

// Returns the member that the last part of `path` names, and its form; or -1.
int member_find(const dataset_entry *d, const char *path, member_form *form);

// Finds the file of a member in a folder, or in a folder of its name in there. Of several the least
// path counts, whatever the order of the folder. *path is NULL if there is none; free() it.
status member_find_file(const dataset_member *m, member_form form, const char *folder, char **path,
                        error *err) MUST_CHECK;

#endif
