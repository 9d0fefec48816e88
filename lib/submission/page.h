// SPDX-License-Identifier: MIT
// page.h - the report of a submission, made from the files in its folder alone.
//
// It is made once to be packed, and again to be verified: the same files, options and version give
// the same text.
#ifndef LOCKSTEP_SUBMISSION_PAGE_H
#define LOCKSTEP_SUBMISSION_PAGE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/strvec.h"
#include "base/yaml_tree.h"
#include "pipeline/pipeline.h"

// Below the folder of a submission. The discussion is there if its author wrote one;
// PAGE_TEMPLATES, and PAGE_OWN_FOLDER, the page that they make, if its author has templates.
#define PAGE_FOLDER     "report"
#define PAGE_OWN_FOLDER "report-own"
#define PAGE_TEMPLATES  "templates"
#define PAGE_PLAN       "plan.yaml"
#define PAGE_DISCUSSION "discussion.md"

typedef enum page_kind {
    PAGE_OURS,
    PAGE_OWN
} page_kind; // by Lockstep's templates, or its author's

// Options of `report` that determine its text: --lang, --title, --author, --student. Adds those
// among REPORT_FLAGS, or those in the manifest of a report that is already there.
void page_options_of_flags(const strvec *flags, strvec *options);
void page_options_of_manifest(const yaml_node *report, strvec *options);

// Returns the key of run `k` (a seed) of `entry`, a run of a plan; NULL if it is none.
const char *page_key(const yaml_node *entry, size_t k);

// Makes FOLDER/report and FOLDER/figures, or FOLDER/report-own, from the runs that FOLDER/plan.yaml
// lists. `test` is the test data, for the pictures of wrong predictions; NULL: none. If the tool
// refuses, its status is returned with its message in `err`.
status page_make(const pipeline *p, const char *folder, page_kind kind, const strvec *options,
                 const char *test, error *err) MUST_CHECK;

#endif
