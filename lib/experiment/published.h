// SPDX-License-Identifier: MIT
// published.h - the figures that claims record as published about an experiment (docs/formats.md,
// Claims).
//
// A claim's row names the experiment that stands for it, or STUDY/VARIANT. The row becomes an entry
// of the list `published` of that run in a plan: its figures as printed, with source and place.
#ifndef LOCKSTEP_EXPERIMENT_PUBLISHED_H
#define LOCKSTEP_EXPERIMENT_PUBLISHED_H

#include "base/error.h"
#include "base/strvec.h"
#include "base/yaml_tree.h"

typedef struct published {
    yaml_node *entries; // a list of entries for each name
    strvec claims;      // the paths read
} published;

// Reads the claims of the catalogue that the file `from` lies in (lookup.h), or, if it lies in
// none, the claim.yaml in the same folder. STATUS_INPUT if a claim has no list of rows, or an
// experiment's figure is not a number; other checks are left to `audit`. Such a claim in another
// folder of the catalogue than that of `from` is left out instead. Release `p` even after a
// failure.
status published_read(published *p, const char *from, error *err) MUST_CHECK;
// Reads one more claim, unless it was read already.
status published_add(published *p, const char *path, error *err) MUST_CHECK;
// The same for the claim.yaml in the folder of `from`, if there is one.
status published_add_beside(published *p, const char *from, error *err) MUST_CHECK;
void published_release(published *p);

// Returns the entries of an experiment, or of a variant of `study` (NULL: none); NULL if there are
// none.
const yaml_node *published_find(const published *p, const char *study, const char *name);
// Puts a copy of them, if any, into a plan's run.
void published_put(const published *p, yaml_node *run, const char *study, const char *name);

#endif
