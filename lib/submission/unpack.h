// SPDX-License-Identifier: MIT
// unpack.h - unpacks the archive of a submission, or copies the folder that one was unpacked to.
#ifndef LOCKSTEP_SUBMISSION_UNPACK_H
#define LOCKSTEP_SUBMISSION_UNPACK_H

#include <stdbool.h>

#include "base/error.h"

// Writes the files of `archive` below `folder`, which is made, without the name of the one folder
// that they all lie in. STATUS_INPUT for anything else than an archive of one folder with plain
// files, each once (limits: data/source/archive.h). Then a part of the files may be there.
// `archive` may also be a folder of such files, which are copied under the same conditions.
status unpack_submission(const char *archive, const char *folder, error *err) MUST_CHECK;

// Is it a folder with the files of a submission?
bool unpack_is_folder(const char *path);

#endif
