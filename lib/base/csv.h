// SPDX-License-Identifier: MIT
// csv.h - text as a field of a CSV file (RFC 4180).
#ifndef LOCKSTEP_BASE_CSV_H
#define LOCKSTEP_BASE_CSV_H

#include "base/text.h"

// Appends `string`, quoted if necessary. A string that begins with =, +, - or @, which a
// spreadsheet would take for a formula, gets a leading apostrophe; control characters and bytes
// that are not UTF-8 become '?'. For text only: numbers are written as they are.
void csv_append(text *out, const char *string);

#endif
