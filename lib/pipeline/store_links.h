// SPDX-License-Identifier: MIT
// store_links.h - the links from the folders of experiments to executions in the store (store.h).
#ifndef LOCKSTEP_PIPELINE_STORE_LINKS_H
#define LOCKSTEP_PIPELINE_STORE_LINKS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/strvec.h"

// Makes ARTIFACTS/`place` a link to an execution, unless it is one already. A link to another
// execution is replaced atomically; anything else there is STATUS_FAILED.
status store_link(const char *artifacts, const char *place, const char *key, int number,
                  error *err) MUST_CHECK;
// Is ARTIFACTS/`place` a link to an execution that was trained and evaluated?
bool store_links_finished(const char *artifacts, const char *place);
// Adds the paths of the links to executions of KEY12, in ARTIFACTS, to `links`.
void store_find_links(const char *artifacts, const char *key, strvec *links);
// Removes these links, adding their paths to `removed`.
status store_remove_links(const char *artifacts, const char *key, strvec *removed,
                          error *err) MUST_CHECK;

#endif
