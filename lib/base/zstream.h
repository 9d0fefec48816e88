// zstream.h - zstd frames as streams (the only file that includes <zstd.h> is zstream.c).
//
// A reader takes any number of frames, with or without content size and checksum, passes over
// skippable frames, and hands on as it is what does not begin with zstd's magic number. It decodes
// no more than it is asked for, so that the caller's bound on the size holds whatever a frame says
// of itself. Frames may hold ZREADER_FREE bytes, and ZREADER_RATIO times as many as the file has:
// what is far smaller than its content is refused, as it would fill the memory out of nothing.
// Memory: the window that a frame asks for; more than 128 MiB is refused.
#ifndef LOCKSTEP_BASE_ZSTREAM_H
#define LOCKSTEP_BASE_ZSTREAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/output.h"

#define ZREADER_FREE (UINT64_C(256) << 20)
enum { ZREADER_RATIO = 200 };

typedef struct zreader zreader;

// "-": standard input. STATUS_INPUT when the file cannot be opened.
status zreader_open(const char *path, zreader **reader, error *err) MUST_CHECK;

// Reads `bytes` of content; *got is smaller only at the end of the last frame. A damaged or cut
// frame, or bytes behind the last frame that are none, are STATUS_INPUT, naming the byte offset in
// the file.
status zreader_read(zreader *r, void *data, size_t bytes, size_t *got, error *err) MUST_CHECK;

// The most content that is read from the file; of one that is no zstd, and of a pipe, UINT64_MAX.
uint64_t zreader_most(const zreader *r);

// Bytes of content handed out so far.
uint64_t zreader_content(const zreader *r);

// Size of the file as it is and SHA-256 of its bytes; once, after the end was read.
uint64_t zreader_file_bytes(const zreader *r);
const char *zreader_sha256(zreader *r);

void zreader_free(zreader *r); // NULL is fine

// Reads all of a file, decompressed where it is zstd, and puts a zero behind it; free() *data. More
// than `max_bytes` are refused.
status zreader_read_file(const char *path, uint64_t max_bytes, char **data, size_t *bytes,
                         error *err) MUST_CHECK;

// A writer puts one frame, with content size and checksum, into an output.
typedef struct zwriter zwriter;

// `content` is the exact number of bytes that will follow. `out` stays the caller's.
status zwriter_open(output *out, uint64_t content, zwriter **writer, error *err) MUST_CHECK;
status zwriter_write(zwriter *w, const void *data, size_t bytes, error *err) MUST_CHECK;

// Ends the frame. Does not commit the output.
status zwriter_end(zwriter *w, error *err) MUST_CHECK;

void zwriter_free(zwriter *w); // NULL is fine

#endif
