// SPDX-License-Identifier: MIT
// claims.h - whose folder a name below ARTIFACTS is.
//
// A folder of links or of a report is named by the base names of files, and of the folder of DATA;
// two of these may have the same. ARTIFACTS/.names/NAME records the files whose results have the
// name: one path per line, relative to ARTIFACTS.
#ifndef LOCKSTEP_PIPELINE_CLAIMS_H
#define LOCKSTEP_PIPELINE_CLAIMS_H

#include "base/error.h"
#include "pipeline/pipeline.h"
#include "pipeline/words.h"

// The names of a call, each with its sources, as text, and a note for the user ("": none).
typedef struct claims {
    words names, sources, notes;
} claims;

// Takes ownership of `name`, and returns the name of the folder for the results of these files (and
// of DATA): `name`, or NAME-HASH while `name` belongs to others that still exist. Remembers it in
// `c`. free() it. NULL, with `err` set, on failure; NULL stays NULL.
char *claims_take(const pipeline *p, claims *c, char *name, const words *files) MUST_CHECK;
// Records the names, and says which are not the first choice. One that cannot be recorded, as on a
// read-only disk, is left out.
void claims_keep(const pipeline *p, const claims *c);
void claims_release(claims *c);

#endif
