// SPDX-License-Identifier: MIT
// handed_in.h - what lies in the folders of `make grade`: submissions, and all that is none.
#ifndef LOCKSTEP_SUBMISSION_HANDED_IN_H
#define LOCKSTEP_SUBMISSION_HANDED_IN_H

#include "base/error.h"
#include "base/strvec.h"

typedef struct handed_in {
    strvec archives;        // the submissions: archives, and folders that one was unpacked to
    strvec others, reasons; // all else, and why it is no submission
} handed_in;

// Adds what is in a folder and below it, in the order of the names; a file is added itself.
// `verified`: the folder of this name is left out, as the submissions in it are copies.
// STATUS_INPUT if there is no submission.
status handed_in_look(handed_in *in, const char *name, const char *verified, error *err) MUST_CHECK;
void handed_in_release(handed_in *in);

// Returns the archive's name without its ending, with '_' for unusual characters; free() it.
char *handed_in_folder_name(const char *archive) MUST_CHECK;

#endif
