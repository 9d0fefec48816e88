// download.h - a URL's content in a temporary file, through libcurl.
#ifndef LOCKSTEP_DATA_DOWNLOAD_H
#define LOCKSTEP_DATA_DOWNLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"

// Does it begin as a URL does (SCHEME://)?
bool download_is_url(const char *text);

// Fetches `url` (https, http or file; redirects only to https) into a file without a name in TMPDIR
// or /tmp, and gives its descriptor, at the beginning; close() it. Network failures are
// STATUS_FAILED, a file:// that is not there STATUS_INPUT. Refused: more than `max_bytes`, and a
// server that sends nothing for a minute. Progress goes through `log`, which may be NULL.
status download_file(const char *url, uint64_t max_bytes, const logger *log, int *fd,
                     error *err) MUST_CHECK;

#endif
