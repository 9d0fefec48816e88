// SPDX-License-Identifier: MIT
// earlier_import.h - the data set that an earlier import has left in the folder of a new one. Runs
// may refer to it, so it is kept: in a folder beside it, FOLDER-KEY6, where KEY6 begins its key.
#ifndef LOCKSTEP_DATA_IMAGES_EARLIER_IMPORT_H
#define LOCKSTEP_DATA_IMAGES_EARLIER_IMPORT_H

#include "base/error.h"
#include "data/dataset.h"
#include "data/manifest.h"

typedef struct earlier_import {
    char *kept;       // its folder; NULL: there is none
    yaml_node *root;  // its manifest
    dataset training; // its header; `samples` is 0 if it cannot be read
} earlier_import;

// Before the new files are written: keeps the files of an import with another key than that of `m`.
// STATUS_FAILED if they cannot be kept; nothing is changed then. Release in any case.
status earlier_import_keep(const char *folder, const manifest *m, earlier_import *e,
                           error *err) MUST_CHECK;
// After that: drops what was kept if the new files hold the same.
void earlier_import_settle(earlier_import *e, const manifest *m);
void earlier_import_release(earlier_import *e);

#endif
