// SPDX-License-Identifier: MIT
// owned_names.h - whose folder a name below ARTIFACTS is.
//
// A folder of links or of a report is named by the base names of files, and of the folder of DATA;
// two of these may have the same. ARTIFACTS/.names/NAME records the files whose results have the
// name, which may be in a folder, verified/NAME: one path per line, relative to ARTIFACTS.
#ifndef LOCKSTEP_PIPELINE_OWNED_NAMES_H
#define LOCKSTEP_PIPELINE_OWNED_NAMES_H

#include "base/error.h"
#include "base/strvec.h"
#include "pipeline/pipeline.h"

// The names of a call, each with its sources, as text, and a note for the user ("": none).
typedef struct owned_names {
    strvec names, sources, notes;
} owned_names;

// Takes ownership of `name`, and returns the name of the folder for the results of these files (and
// of DATA): `name`, or NAME-HASH while `name` belongs to others that still exist. Remembers it in
// `c`. free() it.
char *owned_names_take(const pipeline *p, owned_names *c, char *name,
                       const strvec *files) MUST_CHECK;
// Records the names, and says which are not the first choice. One that cannot be recorded, as on a
// read-only disk, is left out.
void owned_names_keep(const pipeline *p, const owned_names *c);
void owned_names_release(owned_names *c);

#endif
