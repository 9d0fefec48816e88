// SPDX-License-Identifier: MIT
// archive.h - the members of an archive, one after another, through libarchive (its read API only).
//
// Nothing is ever extracted to disk. Reads tar and zip in every compression that libarchive handles
// itself (gzip, bzip2, xz, zstd, lz4, compress), never through other programs. Refuses, naming the
// member: absolute paths, paths with "..", links and devices. Also refuses archives of more than
// ARCHIVE_MAX_BYTES uncompressed, whether their headers state that or their data reach it; of more
// than ARCHIVE_MAX_MEMBERS members; and, beyond ARCHIVE_FREE_BYTES, of more than ARCHIVE_MAX_RATIO
// times their own size.
#ifndef LOCKSTEP_DATA_SOURCE_ARCHIVE_H
#define LOCKSTEP_DATA_SOURCE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define ARCHIVE_MAX_BYTES  (UINT64_C(4) << 30)
#define ARCHIVE_FREE_BYTES (UINT64_C(256) << 20)
enum { ARCHIVE_MAX_MEMBERS = 100000, ARCHIVE_MAX_RATIO = 200 };

typedef enum archive_kind {
    ARCHIVE_MEMBERS, // many files in one
    ARCHIVE_FOLDERS, // the same, and archive_reader_next does not skip folders
    ARCHIVE_SINGLE,  // one compressed file without a name, such as x.gz
} archive_kind;

// Returns the length of the ending, such as ".gz", that makes the name of `length` bytes that of
// something packed; 0: none. Not all of these formats are read.
size_t archive_ending(const char *name, size_t length);

typedef struct archive_reader archive_reader;

// Reads from `fd`, which stays the caller's and must outlive the reader. `name` is for messages and
// is not copied. Every failure below is STATUS_INPUT: the archive is not valid.
status archive_reader_open(int fd, const char *name, archive_kind kind, archive_reader **reader,
                           error *err) MUST_CHECK;

// Reads the file, which is also the name for messages.
status archive_reader_open_file(const char *path, archive_kind kind, archive_reader **reader,
                                error *err) MUST_CHECK;

// Advances to the next plain file: *member is its path, valid until the next call, or NULL at the
// end. Skips the unread rest of the previous member, and folders.
status archive_reader_next(archive_reader *r, const char **member, error *err) MUST_CHECK;

// Is the current member a folder?
bool archive_reader_at_folder(const archive_reader *r);

// Reads up to `room` bytes of the member; *got = 0 at its end.
status archive_reader_read(archive_reader *r, void *data, size_t room, size_t *got,
                           error *err) MUST_CHECK;

// Frees the reader. NULL is fine.
void archive_reader_free(archive_reader *r);

#endif
