// SPDX-License-Identifier: MIT
// template.h - text with places to fill: @NAME@.
#ifndef LOCKSTEP_PIPELINE_SUBMISSION_TEMPLATE_H
#define LOCKSTEP_PIPELINE_SUBMISSION_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

// Removes the paragraphs that begin with `marker`, "@OWN@"; if they are `kept`, only the marker.
void template_choose(char *page, const char *marker, bool kept);

// Returns `page` with each pair's first text replaced by its second, and without empty lines at the
// end; free() it. Other places stay.
char *template_fill(const char *page, const char *const pairs[][2], size_t count) MUST_CHECK;

#endif
