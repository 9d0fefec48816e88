// SPDX-License-Identifier: MIT
// own_data.h - folders of the user's own data, as import-images makes them.
#ifndef LOCKSTEP_PIPELINE_OWN_DATA_H
#define LOCKSTEP_PIPELINE_OWN_DATA_H

#include "base/error.h"
#include "pipeline/settings.h"

// Returns the first file of a data set that the folder lacks; NULL: none.
const char *own_data_lacks(const char *folder);
// STATUS_INPUT if the folder that DATA names lacks one of its files.
status own_data_check(const settings *s, error *err) MUST_CHECK;

#endif
