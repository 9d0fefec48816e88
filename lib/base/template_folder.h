// SPDX-License-Identifier: MIT
// template_folder.h - a folder of templates that somebody gives in place of Lockstep's.
#ifndef LOCKSTEP_BASE_TEMPLATE_FOLDER_H
#define LOCKSTEP_BASE_TEMPLATE_FOLDER_H

#include "base/error.h"
#include "base/strvec.h"

// Adds the names of its templates, NAME.md, in order. STATUS_INPUT if it cannot be read, or has
// none or more than 100.
status template_folder_list(const char *folder, strvec *names, error *err) MUST_CHECK;

#endif
