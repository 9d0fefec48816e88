// SPDX-License-Identifier: MIT
// zstream.h - zstd frames as streams (the only file that includes <zstd.h> is zstream.c).
//
// A reader takes any number of frames, with or without content size and checksum, skips skippable
// frames, and passes through unchanged a file that does not begin with zstd's magic number. It
// decodes no more than the caller requests, so that the caller's bound on the size holds whatever a
// frame declares. Frames may hold ZREADER_ALLOWANCE bytes plus ZREADER_RATIO times the size of the
// file; more is refused, because a tiny file could fill the memory. Memory: the window that a frame
// asks for; more than 128 MiB is refused.
#ifndef LOCKSTEP_BASE_ZSTREAM_H
#define LOCKSTEP_BASE_ZSTREAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/output.h"

#define ZREADER_ALLOWANCE (UINT64_C(256) << 20)
enum { ZREADER_RATIO = 200 };

typedef struct zreader zreader;

// "-": standard input. STATUS_INPUT if the file cannot be opened.
status zreader_open(const char *path, zreader **reader, error *err) MUST_CHECK;

// Reads `bytes` of content; *got is smaller only at the end of the last frame. A damaged or
// truncated frame, or bytes after the last frame that are not a frame, are STATUS_INPUT; the
// message names the byte offset in the file.
status zreader_read(zreader *r, void *data, size_t bytes, size_t *got, error *err) MUST_CHECK;

// Returns the most content that is read from the file; UINT64_MAX if it is not zstd, or is a pipe.
uint64_t zreader_max_content(const zreader *r);

// Returns the bytes of content read so far.
uint64_t zreader_content(const zreader *r);

// Return the size of the file as it is and the SHA-256 of its bytes; only once, after the end was
// read.
uint64_t zreader_file_bytes(const zreader *r);
const char *zreader_sha256(zreader *r);

void zreader_free(zreader *r); // NULL is fine

// Reads a whole file, decompressed if it is zstd, and adds a zero at the end; free() *data. Refuses
// more than `max_bytes`.
status zreader_read_file(const char *path, uint64_t max_bytes, char **data, size_t *bytes,
                         error *err) MUST_CHECK;

// A writer writes one frame, with content size and checksum, to an output.
typedef struct zwriter zwriter;

// `content` is the exact number of bytes that will follow. `out` stays the caller's.
status zwriter_open(output *out, uint64_t content, zwriter **writer, error *err) MUST_CHECK;
status zwriter_write(zwriter *w, const void *data, size_t bytes, error *err) MUST_CHECK;

// Ends the frame. Does not commit the output.
status zwriter_end(zwriter *w, error *err) MUST_CHECK;

void zwriter_free(zwriter *w); // NULL is fine

#endif
