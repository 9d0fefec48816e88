// SPDX-License-Identifier: MIT
#include "base/zstream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/memory.h"
#include "base/sha256.h"

// Level 3 compresses at the speed of a disk; higher levels gain little on pixels and weights.
enum { LEVEL = 3, PIECE_BYTES = 1 << 24 };

struct zreader {
    int fd;
    const char *path;
    bool plain;           // not zstd: bytes are passed through
    bool in_frame;        // between the first and the last byte of a frame
    bool ended;           // no more bytes in the file
    uint64_t frame_start; // byte offset of the frame in the file
    uint64_t buffer_start;
    uint64_t content;
    uint64_t size; // of the whole file; 0 if not known
    ZSTD_DStream *stream;
    unsigned char *buffer;
    size_t capacity;
    ZSTD_inBuffer in; // the unread part of the buffer
    sha256 *hash;
    char sha256[SHA256_TEXT_BYTES];
};

// Puts the next bytes of the file into the buffer, after those still unread.
static status fill(zreader *r, error *err) {
    memmove(r->buffer, r->buffer + r->in.pos, r->in.size - r->in.pos);
    r->buffer_start += r->in.pos;
    r->in.size -= r->in.pos;
    r->in.pos = 0;
    ssize_t got;
    do got = read(r->fd, r->buffer + r->in.size, r->capacity - r->in.size);
    while (got < 0 && errno == EINTR);
    if (got < 0) return error_system(err, STATUS_INPUT, errno, "cannot read: '%s'", r->path);
    sha256_update(r->hash, r->buffer + r->in.size, (size_t)got);
    r->in.size += (size_t)got;
    r->ended = got == 0;
    return STATUS_OK;
}

static bool is_zstd(const unsigned char *bytes, size_t count) {
    static const unsigned char frame[] = {0x28, 0xB5, 0x2F, 0xFD};
    if (count < sizeof frame) return false;
    if (memcmp(bytes, frame, sizeof frame) == 0) return true;
    // Skippable frames: 0x184D2A50 … 0x184D2A5F, little-endian.
    return (bytes[0] & 0xF0) == 0x50 && bytes[1] == 0x2A && bytes[2] == 0x4D && bytes[3] == 0x18;
}

status zreader_open(const char *path, zreader **reader, error *err) {
    status rc = STATUS_OK;
    *reader = NULL;
    zreader *r = memory_new(1, sizeof *r);
    bool standard = strcmp(path, "-") == 0;
    r->path = standard ? "standard input" : path;
    r->fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0) TRY(error_system(err, STATUS_INPUT, errno, "cannot open: '%s'", r->path));
    r->capacity = ZSTD_DStreamInSize();
    r->buffer = memory_new(r->capacity, 1);
    r->in.src = r->buffer;
    r->hash = sha256_new();
    r->stream = ZSTD_createDStream();
    if (!r->stream) memory_die(0);
    while (r->in.size < 4 && !r->ended) TRY(fill(r, err));
    r->plain = !is_zstd(r->buffer, r->in.size);
    struct stat info;
    if (fstat(r->fd, &info) == 0 && S_ISREG(info.st_mode)) r->size = (uint64_t)info.st_size;
    *reader = r;
    r = NULL;
out:
    zreader_free(r);
    return rc;
}

static status refuse(const zreader *r, size_t code, error *err) {
    unsigned long long at = (unsigned long long)r->frame_start;
    switch ((int)ZSTD_getErrorCode(code)) { // the few of zstd's many
    case ZSTD_error_memory_allocation:
        return error_set(err, STATUS_FAILED, "out of memory: cannot read: '%s'", r->path);
    case ZSTD_error_checksum_wrong:
        return error_set(err, STATUS_INPUT,
                         "cannot read: '%s': wrong checksum in the zstd frame that begins at "
                         "byte %llu",
                         r->path, at);
    case ZSTD_error_prefix_unknown:
        return error_set(err, STATUS_INPUT,
                         "cannot read: '%s': the bytes after the last zstd frame, from byte %llu "
                         "on, are not a frame",
                         r->path, at);
    default:
        return error_set(err, STATUS_INPUT,
                         "cannot read: '%s': the zstd frame that begins at byte %llu is "
                         "damaged near byte %llu: %s",
                         r->path, at, (unsigned long long)(r->buffer_start + r->in.pos),
                         ZSTD_getErrorName(code));
    }
}

static status read_plain(zreader *r, ZSTD_outBuffer *out, error *err) {
    if (r->in.pos == r->in.size && !r->ended) NEED(fill(r, err));
    size_t n = r->in.size - r->in.pos, room = out->size - out->pos;
    if (n > room) n = room;
    memcpy((unsigned char *)out->dst + out->pos, r->buffer + r->in.pos, n);
    out->pos += n;
    r->in.pos += n;
    return STATUS_OK;
}

// One round of the decoder, which may hold decoded bytes even after it has consumed all input.
static status read_frames(zreader *r, ZSTD_outBuffer *out, error *err) {
    size_t before = out->pos;
    if (r->in.pos < r->in.size || r->in_frame) {
        if (!r->in_frame) r->frame_start = r->buffer_start + r->in.pos;
        size_t hint = ZSTD_decompressStream(r->stream, out, &r->in);
        if (ZSTD_isError(hint)) return refuse(r, hint, err);
        r->in_frame = hint != 0;
    }
    if (out->pos > before || r->in.pos < r->in.size) return STATUS_OK;
    if (!r->ended) return fill(r, err);
    if (r->in_frame)
        return error_set(err, STATUS_INPUT,
                         "cannot read: '%s': the file ends at byte %llu, inside the zstd "
                         "frame that begins at byte %llu",
                         r->path, (unsigned long long)zreader_file_bytes(r),
                         (unsigned long long)r->frame_start);
    return STATUS_OK;
}

static uint64_t max_content(uint64_t bytes) {
    return bytes > (UINT64_MAX - ZREADER_ALLOWANCE) / ZREADER_RATIO
               ? UINT64_MAX
               : ZREADER_ALLOWANCE + ZREADER_RATIO * bytes;
}

uint64_t zreader_max_content(const zreader *r) {
    return r->plain || !r->size ? UINT64_MAX : max_content(r->size);
}

// For a pipe, the bytes read so far count.
static status check_ratio(const zreader *r, uint64_t content, error *err) {
    const uint64_t bytes = r->size ? r->size : zreader_file_bytes(r);
    if (r->plain || content <= max_content(bytes)) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot read: '%s': it decompresses to more than %d times its %llu bytes; if "
                     "that is intended, decompress it first: zstd -d",
                     r->path, ZREADER_RATIO, (unsigned long long)bytes);
}

// In pieces, so that the ratio is checked before much memory is filled.
status zreader_read(zreader *r, void *data, size_t bytes, size_t *got, error *err) {
    ZSTD_outBuffer out = {.dst = data};
    status rc = STATUS_OK;
    while (out.pos < bytes && rc == STATUS_OK) {
        if (r->ended && r->in.pos == r->in.size && !r->in_frame) break;
        out.size = bytes - out.pos < PIECE_BYTES ? bytes : out.pos + PIECE_BYTES;
        rc = r->plain ? read_plain(r, &out, err) : read_frames(r, &out, err);
        if (rc == STATUS_OK) rc = check_ratio(r, r->content + out.pos, err);
    }
    r->content += out.pos;
    *got = out.pos;
    return rc;
}

uint64_t zreader_content(const zreader *r) {
    return r->content;
}

uint64_t zreader_file_bytes(const zreader *r) {
    return r->buffer_start + r->in.pos;
}

const char *zreader_sha256(zreader *r) {
    sha256_finish(r->hash, r->sha256);
    return r->sha256;
}

void zreader_free(zreader *r) {
    if (!r) return;
    if (r->fd >= 0) close(r->fd);
    ZSTD_freeDStream(r->stream);
    sha256_free(r->hash);
    free(r->buffer);
    free(r);
}

status zreader_read_file(const char *path, uint64_t max_bytes, char **data, size_t *bytes,
                         error *err) {
    status rc = STATUS_OK;
    void *all = NULL;
    size_t capacity = 0, used = 0, got;
    zreader *r = NULL;
    TRY(zreader_open(path, &r, err));
    do {
        TRY(memory_try_grow(&all, &capacity, used + r->capacity, 1, err));
        TRY(zreader_read(r, (unsigned char *)all + used, capacity - used - 1, &got, err));
        used += got;
        if (used > max_bytes)
            TRY(error_set(err, STATUS_INPUT, "cannot read: '%s': more than the limit of %llu bytes",
                          r->path, (unsigned long long)max_bytes));
    } while (got);
    ((char *)all)[used] = '\0';
    *data = all;
    *bytes = used;
    all = NULL;
out:
    free(all);
    zreader_free(r);
    return rc;
}

struct zwriter {
    output *out;
    ZSTD_CCtx *context;
    void *buffer;
    size_t capacity;
};

static status zstd_failed(size_t code, error *err) {
    return error_set(err, STATUS_FAILED, "cannot compress: %s", ZSTD_getErrorName(code));
}

status zwriter_open(output *out, uint64_t content, zwriter **writer, error *err) {
    status rc = STATUS_OK;
    *writer = NULL;
    zwriter *w = memory_new(1, sizeof *w);
    w->out = out;
    w->capacity = ZSTD_CStreamOutSize();
    w->buffer = memory_new(w->capacity, 1);
    w->context = ZSTD_createCCtx();
    if (!w->context) memory_die(0);
    size_t code = ZSTD_CCtx_setParameter(w->context, ZSTD_c_compressionLevel, LEVEL);
    if (!ZSTD_isError(code)) code = ZSTD_CCtx_setParameter(w->context, ZSTD_c_checksumFlag, 1);
    if (!ZSTD_isError(code)) code = ZSTD_CCtx_setPledgedSrcSize(w->context, content);
    if (ZSTD_isError(code)) TRY(zstd_failed(code, err));
    *writer = w;
    w = NULL;
out:
    zwriter_free(w);
    return rc;
}

static status compress(zwriter *w, ZSTD_inBuffer in, ZSTD_EndDirective mode, error *err) {
    size_t left;
    do {
        ZSTD_outBuffer out = {.dst = w->buffer, .size = w->capacity};
        left = ZSTD_compressStream2(w->context, &out, &in, mode);
        if (ZSTD_isError(left)) return zstd_failed(left, err);
        NEED(output_write(w->out, w->buffer, out.pos, err));
    } while (mode == ZSTD_e_end ? left != 0 : in.pos < in.size);
    return STATUS_OK;
}

status zwriter_write(zwriter *w, const void *data, size_t bytes, error *err) {
    return compress(w, (ZSTD_inBuffer){.src = data, .size = bytes}, ZSTD_e_continue, err);
}

status zwriter_end(zwriter *w, error *err) {
    return compress(w, (ZSTD_inBuffer){0}, ZSTD_e_end, err);
}

void zwriter_free(zwriter *w) {
    if (!w) return;
    ZSTD_freeCCtx(w->context);
    free(w->buffer);
    free(w);
}
