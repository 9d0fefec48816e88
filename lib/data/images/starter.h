// SPDX-License-Identifier: MIT
// starter.h - an experiment and a model to begin with, for a data set that was just imported.
#ifndef LOCKSTEP_DATA_IMAGES_STARTER_H
#define LOCKSTEP_DATA_IMAGES_STARTER_H

#include "base/error.h"
#include "data/source/raw_dataset.h"

// Writes FOLDER/NAME.yaml, an experiment, and FOLDER/models/NAME.yaml, its model, for the shape and
// the classes of the data set NAME. They are the user's to edit: no manifest contains them. A file
// that exists is left as it is, unless it is what was written for the data set `before` (its name,
// shape, classes and training samples; NULL: none). *path is the experiment's, and *kept tells
// whether one of the two was left; free() *path.
status starter_write(const raw_dataset *data, const raw_dataset *before, const char *folder,
                     char **path, bool *kept, error *err) MUST_CHECK;

#endif
