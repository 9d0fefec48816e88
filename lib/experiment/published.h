// published.h - what claims say was published about an experiment (docs/formats.md, Claims).
//
// A row of a claim names the experiment that stands for it, or STUDY/VARIANT. What the row has
// becomes an entry of the list `published` of that run in a plan: its figures as they were printed,
// with their source and place.
#ifndef LOCKSTEP_EXPERIMENT_PUBLISHED_H
#define LOCKSTEP_EXPERIMENT_PUBLISHED_H

#include "base/error.h"
#include "base/yaml_tree.h"

typedef struct published {
    yaml_node *entries; // a list of them for each name
    yaml_node *claims;  // the paths that were read
} published;

// Begins with the claims of the catalogue that the file `from` lies in (names.h), or, where it lies
// in none, with the claim.yaml beside it. STATUS_INPUT for a claim that has no list of rows,
// or has no number where an experiment's figure is; the rest is for `audit`. Release also after a
// failure.
status published_read(published *p, const char *from, error *err) MUST_CHECK;
// One more claim, if it was not read yet.
status published_add(published *p, const char *path, error *err) MUST_CHECK;
void published_release(published *p);

// The entries of an experiment, or of the variant of a study (NULL: none); NULL without.
const yaml_node *published_find(const published *p, const char *study, const char *name);
// Puts a copy of them into the run of a plan, where there are any.
status published_put(const published *p, yaml_node *run, const char *study, const char *name,
                     error *err) MUST_CHECK;

#endif
