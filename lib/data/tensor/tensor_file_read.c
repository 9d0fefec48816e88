// SPDX-License-Identifier: MIT
// Reads tensor files. Nothing in a file is trusted: sizes are bounded before memory is allocated,
// and every refusal names the byte offset.
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/foreign_file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/zstream.h"
#include "data/tensor/tensor_file.h"
#include "data/tensor/tensor_file_internal.h"

enum { LENGTH_BYTES = 8, MAX_HEADER = 100 * 1000 * 1000, MAX_VALUES = 1 << 20 };
static const uint64_t PIPE_MAX = (uint64_t)4 << 30;

// The header's entry for one tensor. The JSON tree owns the name.
typedef struct entry {
    const char *name;
    tensor_type type;
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
    uint64_t begin, end; // in the data
} entry;

typedef struct reading {
    const char *path;
    uint64_t limit;
    zreader *z;
    sha256 *content;
    char *header;
    size_t header_bytes;
    json_t *root;
    entry *entries; // `count` entries
    size_t count;
    tensor_file *file;
} reading;

// Reports every refusal. `offset` counts uncompressed bytes from the header's length field.
static status PRINTF_LIKE(4, 5)
    refuse(const reading *r, uint64_t offset, error *err, const char *format, ...) {
    char why[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return error_set(err, STATUS_INPUT,
                     "cannot read tensor file: '%s': %s (at byte %llu of the uncompressed data)",
                     r->path, why, (unsigned long long)offset);
}

// Returns the offset of `name` in the header, for messages. A name that JSON escapes is not found:
// the offset is then that of the header.
static uint64_t find_in_header(const reading *r, const char *name) {
    const char *from = r->header, *end = r->header + r->header_bytes;
    size_t length = strlen(name);
    while ((from = memmem(from, (size_t)(end - from), name, length))) {
        if (from > r->header && from[-1] == '"' && from[length] == '"')
            return LENGTH_BYTES + (uint64_t)(from - 1 - r->header);
        from++;
    }
    return LENGTH_BYTES;
}

#define REFUSE_TENSOR(r, e, err, ...) \
    refuse(r, find_in_header(r, (e)->name), err, "tensor '%.200s' " __VA_ARGS__)

static status read_exactly(reading *r, void *data, size_t bytes, const char *what, error *err) {
    size_t got;
    NEED(zreader_read(r->z, data, bytes, &got, err));
    sha256_update(r->content, data, got);
    if (got < bytes)
        return refuse(r, zreader_content(r->z), err,
                      "it ends inside %s: %zu of %zu bytes are there", what, got, bytes);
    return STATUS_OK;
}

static status read_header(reading *r, error *err) {
    uint64_t length = 0;
    NEED(read_exactly(r, &length, sizeof length, "the header's length", err));
    if (length > MAX_HEADER)
        return refuse(r, 0, err,
                      "not a tensor file: its header would have %llu bytes, more than %d",
                      (unsigned long long)length, MAX_HEADER);
    if (LENGTH_BYTES + length > r->limit)
        return refuse(r, 0, err, "a header of %llu bytes is more than the limit of %llu bytes",
                      (unsigned long long)length, (unsigned long long)r->limit);
    r->header_bytes = (size_t)length;
    r->header = memory_try_new(r->header_bytes + 1, 1, err);
    if (!r->header) return STATUS_FAILED;
    r->header[r->header_bytes] = '\0'; // find_in_header may look one byte past the end
    return read_exactly(r, r->header, r->header_bytes, "the header", err);
}

// The parsed tree takes many times the memory of its text, so the number of values is bounded.
static status parse_header(reading *r, error *err) {
    size_t values = 0;
    for (size_t i = 0; i < r->header_bytes; i++) values += r->header[i] == ',';
    if (values > MAX_VALUES)
        return refuse(r, LENGTH_BYTES, err, "the header holds more than %d values", MAX_VALUES);
    json_error_t problem;
    json_begin();
    r->root = json_loadb(r->header, r->header_bytes, JSON_REJECT_DUPLICATES, &problem);
    if (r->root && json_is_object(r->root)) return STATUS_OK;
    if (r->root) return refuse(r, LENGTH_BYTES, err, "the header is not a JSON object");
    return refuse(r, LENGTH_BYTES + (uint64_t)problem.position, err,
                  "the header is not valid JSON: %s", problem.text);
}

static bool is_printable(const char *name) {
    for (; *name; name++)
        if ((unsigned char)*name < 0x20 || *name == 0x7f) return false;
    return true;
}

static status take_type(const reading *r, entry *e, const json_t *type, error *err) {
    if (!json_is_string(type)) return REFUSE_TENSOR(r, e, err, "has no dtype", e->name);
    const char *name = json_string_value(type);
    if (tensor_type_parse(name, &e->type)) return STATUS_OK;
    return REFUSE_TENSOR(
        r, e, err, "has unsupported dtype '%.40s' (supported: U8 U32 U64 I64 F16 BF16 F32 F64)",
        e->name, is_printable(name) ? name : "?");
}

static status take_shape(const reading *r, entry *e, const json_t *shape, error *err) {
    if (!json_is_array(shape)) return REFUSE_TENSOR(r, e, err, "has no shape", e->name);
    if (json_array_size(shape) > TENSOR_MAX_RANK)
        return REFUSE_TENSOR(r, e, err, "has %zu dimensions, more than %d", e->name,
                             json_array_size(shape), TENSOR_MAX_RANK);
    e->rank = (int)json_array_size(shape);
    for (int i = 0; i < e->rank; i++) {
        const json_t *size = json_array_get(shape, (size_t)i);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return REFUSE_TENSOR(
                r, e, err, "has a size in its shape that is not a non-negative integer", e->name);
        e->shape[i] = json_integer_value(size);
    }
    return STATUS_OK;
}

static status take_offsets(const reading *r, entry *e, const json_t *offsets, error *err) {
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end) ||
        json_integer_value(begin) < 0 || json_integer_value(end) < json_integer_value(begin))
        return REFUSE_TENSOR(r, e, err, "has data_offsets that are not [begin, end]", e->name);
    e->begin = (uint64_t)json_integer_value(begin);
    e->end = (uint64_t)json_integer_value(end);
    uint64_t bytes;
    if (!tensor_shape_bytes(e->type, e->rank, e->shape, &bytes))
        return REFUSE_TENSOR(r, e, err, "has a shape whose number of bytes overflows", e->name);
    if (bytes != e->end - e->begin)
        return REFUSE_TENSOR(
            r, e, err, "has %llu bytes by its shape, but %llu bytes by its data_offsets", e->name,
            (unsigned long long)bytes, (unsigned long long)(e->end - e->begin));
    return STATUS_OK;
}

static status take_tensor(const reading *r, entry *e, const json_t *value, error *err) {
    if (!is_printable(e->name))
        return refuse(r, LENGTH_BYTES, err, "a tensor's name holds control characters");
    const char *key;
    json_t *item;
    json_object_foreach((json_t *)(uintptr_t)value, key, item) {
        if (strcmp(key, "dtype") != 0 && strcmp(key, "shape") != 0 &&
            strcmp(key, "data_offsets") != 0)
            return REFUSE_TENSOR(r, e, err, "has a key other than dtype, shape and data_offsets",
                                 e->name);
    }
    NEED(take_type(r, e, json_object_get(value, "dtype"), err));
    NEED(take_shape(r, e, json_object_get(value, "shape"), err));
    return take_offsets(r, e, json_object_get(value, "data_offsets"), err);
}

static int by_key(const void *a, const void *b) {
    return strcmp(((const tensor_pair *)a)->key, ((const tensor_pair *)b)->key);
}

static status take_metadata(reading *r, json_t *metadata, error *err) {
    tensor_file *f = r->file;
    if (!json_is_object(metadata))
        return refuse(r, find_in_header(r, TENSOR_METADATA_KEY), err,
                      TENSOR_METADATA_KEY " is not a JSON object");
    const char *key;
    json_t *value;
    json_object_foreach(metadata, key, value) {
        if (!is_printable(key))
            return refuse(r, LENGTH_BYTES, err, "a metadata key holds control characters");
        if (!json_is_string(value))
            return refuse(r, find_in_header(r, key), err, "metadata '%.200s' is not a string", key);
        tensor_file_add_metadata(f, key, json_string_value(value));
    }
    if (f->metadata_count) qsort(f->metadata, f->metadata_count, sizeof *f->metadata, by_key);
    return STATUS_OK;
}

static status take_entries(reading *r, error *err) {
    r->entries = memory_new(json_object_size(r->root), sizeof *r->entries);
    const char *key;
    json_t *value;
    json_object_foreach(r->root, key, value) {
        status rc = STATUS_OK;
        if (strcmp(key, TENSOR_METADATA_KEY) == 0) {
            rc = take_metadata(r, value, err);
        } else {
            entry *e = &r->entries[r->count++];
            e->name = key;
            rc = take_tensor(r, e, value, err);
        }
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

static int by_offset(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return strcmp(x->name, y->name);
}

// Sorts by offset and checks that the tensors cover the data without gap or overlap.
static status check_tiling(reading *r, error *err) {
    uint64_t data = LENGTH_BYTES + r->header_bytes, end = 0;
    if (r->count) qsort(r->entries, r->count, sizeof *r->entries, by_offset);
    for (size_t i = 0; i < r->count; i++) {
        const entry *e = &r->entries[i];
        if (e->begin < end)
            return refuse(r, data + e->begin, err, "tensor '%.200s' overlaps tensor '%.200s'",
                          e->name, r->entries[i - 1].name);
        if (e->begin > end)
            return refuse(r, data + end, err,
                          "%llu bytes before tensor '%.200s' belong to no tensor",
                          (unsigned long long)(e->begin - end), e->name);
        end = e->end;
    }
    if (end > r->limit - data)
        return refuse(r, 0, err, "it holds %llu bytes uncompressed, more than the limit of %llu",
                      (unsigned long long)data + end, (unsigned long long)r->limit);
    return STATUS_OK;
}

static size_t room(const entry *e) {
    return (e->end - e->begin + MEMORY_ALIGNMENT - 1) / MEMORY_ALIGNMENT * MEMORY_ALIGNMENT;
}

// One buffer, not zeroed: a header that claims more data than the file has costs no memory.
static status allocate(reading *r, error *err) {
    size_t bytes = MEMORY_ALIGNMENT;
    for (size_t i = 0; i < r->count; i++) bytes += room(&r->entries[i]);
    if (posix_memalign(&r->file->buffer, MEMORY_ALIGNMENT, bytes) == 0) return STATUS_OK;
    r->file->buffer = NULL;
    return error_set(err, STATUS_FAILED,
                     "out of memory: cannot allocate %zu bytes for tensor file '%s'", bytes,
                     r->path);
}

// Takes names, types and shapes from the header.
static void describe_tensors(reading *r) {
    for (size_t i = 0; i < r->count; i++) {
        const entry *e = &r->entries[i];
        tensor *t = tensor_file_append(r->file, e->name);
        t->type = e->type;
        t->rank = e->rank;
        memcpy(t->shape, e->shape, sizeof t->shape);
        t->bytes = (size_t)(e->end - e->begin);
    }
}

static status read_tensors(reading *r, error *err) {
    unsigned char *at = r->file->buffer;
    for (size_t i = 0; i < r->count; i++) {
        const entry *e = &r->entries[i];
        tensor *t = &r->file->tensors[i];
        t->data = at;
        at += room(e);
        char what[256];
        snprintf(what, sizeof what, "tensor '%.200s'", e->name);
        NEED(read_exactly(r, t->data, t->bytes, what, err));
    }
    return STATUS_OK;
}

// Reading on to the end also checks the last frame's checksum.
static status check_end(reading *r, error *err) {
    unsigned char extra;
    size_t got;
    uint64_t end = zreader_content(r->z);
    status rc = zreader_read(r->z, &extra, 1, &got, err);
    if (rc == STATUS_OK && got) return refuse(r, end, err, "bytes follow the last tensor");
    return rc;
}

// The limit follows from the file's size, so that every file that was written can be read.
static uint64_t default_limit(const reading *r, const char *path) {
    struct stat info;
    const uint64_t most = zreader_max_content(r->z);
    if (most != UINT64_MAX) return most;
    const bool file = stat(path, &info) == 0 && S_ISREG(info.st_mode);
    return file && (uint64_t)info.st_size > PIPE_MAX ? (uint64_t)info.st_size : PIPE_MAX;
}

// Reads everything before the data.
static status read_description(reading *r, const char *path, error *err) {
    NEED(zreader_open(path, &r->z, err));
    if (r->limit == TENSOR_FILE_DEFAULT_MAX) r->limit = default_limit(r, path);
    r->content = sha256_new();
    NEED(read_header(r, err));
    NEED(parse_header(r, err));
    NEED(take_entries(r, err));
    NEED(check_tiling(r, err));
    describe_tensors(r);
    return STATUS_OK;
}

static status read_data(reading *r, error *err) {
    NEED(allocate(r, err));
    NEED(read_tensors(r, err));
    NEED(check_end(r, err));
    sha256_finish(r->content, r->file->content);
    memcpy(r->file->sha256, zreader_sha256(r->z), sizeof r->file->sha256);
    r->file->file_bytes = zreader_file_bytes(r->z);
    return STATUS_OK;
}

static status read_file(const char *path, uint64_t max_bytes, bool data, tensor_file *f,
                        error *err) {
    *f = (tensor_file){0};
    reading r = {.path = strcmp(path, "-") == 0 ? "standard input" : path, .file = f};
    r.limit = max_bytes;
    status rc = read_description(&r, path, err);
    if (rc == STATUS_OK && data) rc = read_data(&r, err);
    if (rc != STATUS_OK) tensor_file_release(f);
    if (rc == STATUS_INPUT)
        rc = foreign_file("cannot read tensor file:", path, WANTED_TENSORS, err);
    json_decref(r.root);
    free(r.entries);
    free(r.header);
    sha256_free(r.content);
    zreader_free(r.z);
    return rc;
}

status tensor_file_read(const char *path, uint64_t max_bytes, tensor_file *f, error *err) {
    return read_file(path, max_bytes, true, f, err);
}

status tensor_file_read_header(const char *path, tensor_file *f, error *err) {
    return read_file(path, TENSOR_FILE_DEFAULT_MAX, false, f, err);
}
