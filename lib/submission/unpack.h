// SPDX-License-Identifier: MIT
// unpack.h - unpacks the archive of a submission, or copies the folder that one was unpacked to.
#ifndef LOCKSTEP_SUBMISSION_UNPACK_H
#define LOCKSTEP_SUBMISSION_UNPACK_H

#include <stdbool.h>

#include "base/error.h"
#include "base/strvec.h"

// Writes the files of the submission in `archive` to `folder`, which is made: of the archive's one
// folder that unpack_is_folder finds, or of its top, or of the one archive in it, as file shares
// and mail programs pack one again. `archive` may also be a folder of a submission, which is
// copied. What systems put beside files (paths_is_litter) is passed over. All else beside the
// submission is added to `beside`, by its path in the archive, and not kept.
//
// STATUS_INPUT for an archive without a submission, or with several; for anything else than plain
// files, each once; and beyond the limits of data/source/archive.h. Then nothing, or a part of the
// files, may be there.
status unpack_submission(const char *archive, const char *folder, strvec *beside,
                         error *err) MUST_CHECK;

// Returns the ending of an archive's name, ".tar.gz"; NULL if it has none of those that are read.
const char *unpack_ending(const char *name);

// Is it a folder with the files of a submission, plan.yaml or run-again.sh, and experiments/?
bool unpack_is_folder(const char *path);

#endif
