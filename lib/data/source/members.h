// SPDX-License-Identifier: MIT
// members.h - a dataset's published files, found and checked in any source: an archive, a folder,
// or a server.
//
// A member is identified by its name alone, in any folder of an archive, and checked by its size
// and SHA-256. So any mirror and any compression will do, and no altered file passes. Capitals do
// not matter in a name, nor which of '-', '_' and '.' it has: unpackers and other libraries write
// train-images.idx3-ubyte. A folder of a member's name may hold it.
#ifndef LOCKSTEP_DATA_SOURCE_MEMBERS_H
#define LOCKSTEP_DATA_SOURCE_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/sha256.h"
#include "data/manifest.h"
#include "data/source/dataset_list.h"

// Receives the next bytes of a member that is being converted.
typedef status member_part(void *context, const uint8_t *data, size_t bytes, error *err);
// Converts `file`, a whole member in another form, and passes its bytes to `part` in order. The
// result is then checked against size and pins.
typedef status member_conversion(const dataset_member *m, const uint8_t *file, size_t bytes,
                                 member_part *part, void *context, error *err);

// Receives the next bytes of member `which`, in order from offset 0, and never more than its size.
// Nothing is verified before the member's end: keep the bytes, and use them only after members_read
// has returned STATUS_OK.
typedef status member_sink(void *context, size_t which, uint64_t offset, const uint8_t *data,
                           size_t bytes, error *err);

// What a reader does with the members.
typedef struct member_use {
    member_sink *sink;
    void *context;
    member_conversion *convert; // from files called by an alias; NULL: no member has one
} member_use;

// The origin of what was read, for the manifest.
typedef struct member_origin {
    const char *from;               // the source that was used
    uint64_t bytes;                 // of the archive, if there was one
    char sha256[SHA256_TEXT_BYTES]; // likewise; else empty
    bool found[MEMBERS_MAX];
    char content[MEMBERS_MAX][SHA256_TEXT_BYTES]; // SHA-256 of each member
    bool pinned[MEMBERS_MAX];                     // found, and checked by a hash
} member_origin;

// Reads all members from the first source that has them; without any source, from the official
// address. A source is a URL, an archive or a folder. If one fails, a warning is logged and the
// next one is tried; the last one's failure is returned. A missing, truncated or altered member,
// and a second one with other content, is STATUS_INPUT; the message names it, with the expected and
// the actual hash. URLs are redacted in messages and manifests (base/redact.h).
status members_read(const dataset_entry *d, const char *const *sources, size_t source_count,
                    const logger *log, const member_use *use, member_origin *origin,
                    error *err) MUST_CHECK;

// Puts the pins into the manifest (`parameters`): the same for every source of the members.
void members_describe_pins(const dataset_entry *d, manifest *m);
// Puts the members found into the manifest (`results.members`), those checked by size and structure
// only (`results.unpinned`), and their source (`run.source`).
void members_describe_origin(const dataset_entry *d, const member_origin *origin, manifest *m);

#endif
