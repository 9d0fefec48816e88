// SPDX-License-Identifier: MIT
// redact.h - text without the secrets that URLs carry, for manifests and messages.
#ifndef LOCKSTEP_BASE_REDACT_H
#define LOCKSTEP_BASE_REDACT_H

#include "base/error.h"

// Returns a copy of `string` in which every URL (SCHEME://…, up to a blank) lacks the parts that
// may hold credentials: user and password, the values of the query, and the fragment.
// "https://me:pw@host/a?token=x#y" becomes "https://***@host/a?token=***#***". Other text stays as
// it is. free() it.
char *redact_urls(const char *string) MUST_CHECK;

#endif
