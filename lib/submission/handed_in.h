// SPDX-License-Identifier: MIT
// handed_in.h - what lies in the folders of `make grade`: submissions, and all that is none.
#ifndef LOCKSTEP_SUBMISSION_HANDED_IN_H
#define LOCKSTEP_SUBMISSION_HANDED_IN_H

#include "base/error.h"
#include "base/strvec.h"

typedef struct handed_in {
    strvec archives;        // the submissions: archives, and folders that one was unpacked to
    strvec places;          // of these, without links: one that is named twice counts once
    size_t found;           // submissions, with those that are named again
    strvec others, reasons; // all else, and why it is no submission
} handed_in;

// Adds what is in a folder and below it, in the order of the names; a file is added itself. The
// folders of HANDED_IN_KEPT in `artifacts` are left out, as the submissions in them are copies.
// STATUS_INPUT if there is no submission.
status handed_in_look(handed_in *in, const char *name, const char *artifacts,
                      error *err) MUST_CHECK;
void handed_in_release(handed_in *in);

// Where `verify` and `grade` keep their copies.
#define HANDED_IN_VERIFIED "verified"
#define HANDED_IN_GRADED   "graded"

// Names all submissions, and then all else, by what differs: the first part of the path, below the
// folder that has all of them, that no other one has: "Li Ming", for handed-in/Li Ming/a.tar.gz. Of
// one alone, below `root`, as it was given.
void handed_in_names(const handed_in *in, const char *root, strvec *names);

// Returns such a name without the ending of an archive, with '_' for unusual characters; free() it.
char *handed_in_folder_name(const char *name) MUST_CHECK;

#endif
