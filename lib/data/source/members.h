// members.h - the files that a dataset is published as, found and checked wherever they come from:
// an archive, a folder, or a server.
//
// A member is known by its name alone, whatever folder of an archive it is in, and by its size and
// SHA-256: so any mirror and any packing will do, and nothing unexpected gets through.
#ifndef LOCKSTEP_DATA_SOURCE_MEMBERS_H
#define LOCKSTEP_DATA_SOURCE_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/sha256.h"
#include "data/manifest.h"

enum { MEMBERS_MAX = 8, MEMBER_FOLDERS = 2 };

typedef struct member member;

// Takes the next bytes of a member that is being converted.
typedef status member_part(void *context, const uint8_t *data, size_t bytes, error *err);
// Makes a member of `file`, which is the whole of one in another form: hands its bytes to `part`,
// in order. Pins and sizes are then checked of these.
typedef status member_conversion(const member *m, const uint8_t *file, size_t bytes,
                                 member_part *part, void *context, error *err);

struct member {
    const char *name;
    const char *alias; // its name in another form, for member_set.convert; NULL: it has none
    uint64_t bytes;
    const char *sha256;        // NULL: not known; then packed_sha256 should be
    const char *packed_sha256; // of NAME.gz as published; checked when that is what is read
    bool optional;
};

typedef struct member_set {
    const char *dataset; // for messages and manifests
    const char *setting; // of make, which names a source as --from does: "MNIST_FROM"
    const member *members;
    size_t count;
    bool archive;                        // published as one archive; else each member as NAME.gz
    const char *folders[MEMBER_FOLDERS]; // where unpacking puts them: inside a folder, these are
                                         // looked at too
    member_conversion *convert;          // from files named by alias
    const char *url; // published at: the URL of the archive, or a base that NAME.gz is added to
} member_set;

// Takes the next bytes of member `which`, which come in order from offset 0 on, and never more than
// its size. Nothing is verified before the member's end: keep what was taken, and use it only when
// members_read has returned STATUS_OK.
typedef status member_sink(void *context, size_t which, uint64_t offset, const uint8_t *data,
                           size_t bytes, error *err);

// What was read, for the manifest.
typedef struct member_origin {
    const char *from;               // the source that was taken
    uint64_t bytes;                 // of the archive, when there was one
    char sha256[SHA256_TEXT_BYTES]; // likewise; else empty
    bool found[MEMBERS_MAX];
    char content[MEMBERS_MAX][SHA256_TEXT_BYTES]; // SHA-256 of each member
    bool pinned[MEMBERS_MAX];                     // found, and checked by a hash
} member_origin;

// Reads all members from the first of the sources that has them; without any, from the official
// address. A source is a URL, an archive or a folder; that one does not serve is said as a warning,
// and the next is tried; the last one's failure is returned. A missing, doubled, cut or altered
// member is STATUS_INPUT, naming it, with the hash expected and the one found. Messages and
// manifests hold of URLs what base/redact.h leaves.
status members_read(const member_set *set, const char *const *sources, size_t source_count,
                    const logger *log, member_sink *sink, void *context, member_origin *origin,
                    error *err) MUST_CHECK;

// The manifest's part: what is pinned (`parameters`: the same wherever the members come from)…
status members_describe_pins(const member_set *set, manifest *m, error *err) MUST_CHECK;
// … and what was found (`results.members`; `results.unpinned`: those of them that were checked by
// size and structure only), and where (`run.source`).
status members_describe_origin(const member_set *set, const member_origin *origin, manifest *m,
                               error *err) MUST_CHECK;

#endif
