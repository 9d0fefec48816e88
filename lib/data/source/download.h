// download.h - a URL's content in a temporary file, through libcurl.
#ifndef LOCKSTEP_DATA_SOURCE_DOWNLOAD_H
#define LOCKSTEP_DATA_SOURCE_DOWNLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"

// Does it begin as a URL does (SCHEME://)?
bool download_is_url(const char *text);

// Fetches `url` (https, http or file; redirects only to https) into a file without a name in TMPDIR
// or /tmp, and gives its descriptor, at the beginning; close() it. A proxy is taken from the
// environment: http_proxy, https_proxy, all_proxy, no_proxy.
//
// What may be better a moment later (a connection that breaks or stalls, the answers 408, 429 and
// 500 to 504) is tried DOWNLOAD_TRIES times, after 1, 2, 4 … seconds, of which a random part of at
// most a half is taken off; LOCKSTEP_RETRY_SECONDS is another first pause. It goes on where it was
// when the server says that its file is still the same (If-Range), and else from the start.
//
// Network failures are STATUS_FAILED, a file:// that is not there STATUS_INPUT. Refused: more than
// `max_bytes`, and a server that sends less than 1000 bytes a second for a minute. `hint`, which
// may be NULL, is what to do when the server cannot be reached at all, for the message. Progress,
// and what is tried again, goes through `log`, which may be NULL. Messages hold of `url` what
// base/redact.h leaves.
enum { DOWNLOAD_TRIES = 5 };
status download_file(const char *url, uint64_t max_bytes, const char *hint, const logger *log,
                     int *fd, error *err) MUST_CHECK;

#endif
