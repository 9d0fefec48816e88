// archive.h - the members of an archive, one after another, through libarchive (its read API only).
//
// Nothing is ever extracted to disk. tar and zip in every packing that libarchive reads by itself
// (gzip, bzip2, xz, zstd, lz4, compress): never through other programs. Refused, with the member's
// name: absolute paths, paths with "..", links, devices; and archives of more than
// ARCHIVE_MAX_BYTES uncompressed, by what their headers say or what comes out of them, of more than
// ARCHIVE_MAX_MEMBERS members, or that hold ARCHIVE_MAX_RATIO times their bytes, beyond
// ARCHIVE_FREE_BYTES.
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
    ARCHIVE_SINGLE,  // one compressed file without a name, such as x.gz
} archive_kind;

typedef struct archive_reader archive_reader;

// Reads from `fd`, which stays the caller's and must outlive the reader. `name` is for messages,
// and not copied. Every failure below is STATUS_INPUT: the archive is not what it should be.
status archive_reader_open(int fd, const char *name, archive_kind kind, archive_reader **reader,
                           error *err) MUST_CHECK;

// Goes to the next plain file: *member is its path, valid until the next call, or NULL at the end.
// What was left unread of the one before is skipped. Folders are passed over.
status archive_reader_next(archive_reader *r, const char **member, error *err) MUST_CHECK;

// Up to `room` bytes of the member; *got = 0 at its end.
status archive_reader_read(archive_reader *r, void *data, size_t room, size_t *got,
                           error *err) MUST_CHECK;

// NULL is fine.
void archive_reader_free(archive_reader *r);

#endif
