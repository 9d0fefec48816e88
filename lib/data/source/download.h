// SPDX-License-Identifier: MIT
// download.h - a URL's content in a temporary file, through libcurl.
#ifndef LOCKSTEP_DATA_SOURCE_DOWNLOAD_H
#define LOCKSTEP_DATA_SOURCE_DOWNLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"

// Returns true if the text begins with SCHEME://.
bool download_is_url(const char *text);

// Fetches `url` (https, http or file; redirects only to https) into a nameless file in TMPDIR or
// /tmp, and returns its descriptor, positioned at the beginning; close() it. The proxy comes from
// the environment: http_proxy, https_proxy, all_proxy, no_proxy.
//
// Transient failures (a connection that breaks or stalls, the answers 408, 416, 429, 500 and 502 to
// 504) are tried DOWNLOAD_TRIES times, after 1, 2, 4 … seconds, each shortened by a random part of
// at most a half. LOCKSTEP_RETRY_SECONDS sets another first pause. A retry resumes if the server
// confirms that its file is unchanged (If-Range), and otherwise starts again.
//
// Network failures are STATUS_FAILED, a missing file:// is STATUS_INPUT. Refuses more than
// `max_bytes` and a server that sends less than 1000 bytes per second for a minute. `hint`, which
// may be NULL, is the message's advice if the server cannot be reached at all. Progress and retries
// are reported through `log`, which may be NULL. Messages show `url` redacted (base/redact.h).
enum { DOWNLOAD_TRIES = 5 };
status download_file(const char *url, uint64_t max_bytes, const char *hint, const logger *log,
                     int *fd, error *err) MUST_CHECK;

#endif
