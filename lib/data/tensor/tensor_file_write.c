// SPDX-License-Identifier: MIT
// Writes tensor files in their only canonical form, over which the content hash is computed.
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/zstream.h"
#include "data/tensor/tensor_file.h"
#include "data/tensor/tensor_file_internal.h"

enum { HEADER_ALIGNMENT = 8 };

// The canonical data order: large elements first, so that alignment needs no gaps.
static int by_size_and_name(const void *a, const void *b) {
    const tensor *x = *(const tensor *const *)a, *y = *(const tensor *const *)b;
    size_t sx = tensor_type_bytes(x->type), sy = tensor_type_bytes(y->type);
    if (sx != sy) return sx < sy ? 1 : -1;
    return strcmp(x->name, y->name);
}

static const tensor **sorted_tensors(const tensor_file *f) {
    const tensor **order = memory_new(f->count, sizeof *order);
    for (size_t i = 0; i < f->count; i++) order[i] = &f->tensors[i];
    if (f->count) qsort(order, f->count, sizeof *order, by_size_and_name);
    return order;
}

static json_t *tensor_entry(const tensor *t, uint64_t begin) {
    json_t *shape = json_array();
    for (int i = 0; i < t->rank; i++)
        if (json_array_append_new(shape, json_integer(t->shape[i]))) break;
    if (json_array_size(shape) != (size_t)t->rank) {
        json_decref(shape);
        return NULL;
    }
    // pack takes ownership of the shape, also when it fails.
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", tensor_type_name(t->type), "shape", shape,
                     "data_offsets", (json_int_t)begin, (json_int_t)(begin + t->bytes));
}

static json_t *metadata_entry(const tensor_file *f, const char **bad) {
    json_t *object = json_object();
    for (size_t i = 0; object && i < f->metadata_count; i++) {
        const tensor_pair *pair = &f->metadata[i];
        if (json_object_set_new(object, pair->key, json_string(pair->value)) == 0) continue;
        *bad = pair->key;
        json_decref(object);
        return NULL;
    }
    return object;
}

// Refuses two tensors or two metadata of the same name.
static status check_names(const tensor_file *f, error *err) {
    for (size_t i = 0; i < f->count; i++) {
        const tensor *t = &f->tensors[i];
        if (strcmp(t->name, TENSOR_METADATA_KEY) == 0 || tensor_file_find(f, t->name) != t)
            return error_set(err, STATUS_FAILED, "cannot add tensor: '%s': the name is taken",
                             t->name);
    }
    for (size_t i = 0; i < f->metadata_count; i++)
        if (tensor_file_metadata(f, f->metadata[i].key) != f->metadata[i].value)
            return error_set(err, STATUS_FAILED, "cannot add metadata: '%s': the key is taken",
                             f->metadata[i].key);
    return STATUS_OK;
}

// Makes the header as an object. jansson fails if text is not UTF-8.
static status make_header(const tensor_file *f, const tensor *const *order, json_t **header,
                          error *err) {
    const char *bad = NULL;
    uint64_t begin = 0;
    json_t *root = json_object();
    if (f->metadata_count &&
        json_object_set_new(root, TENSOR_METADATA_KEY, metadata_entry(f, &bad)))
        goto refuse;
    for (size_t i = 0; i < f->count; i++) {
        bad = order[i]->name;
        if (json_object_set_new(root, bad, tensor_entry(order[i], begin))) goto refuse;
        begin += order[i]->bytes;
    }
    *header = root;
    return STATUS_OK;
refuse:
    json_decref(root);
    return error_set(err, STATUS_FAILED, "cannot describe tensor file: '%s': the text is not UTF-8",
                     bad ? bad : TENSOR_METADATA_KEY);
}

// Makes everything before the data: length, header and padding.
static status make_head(const tensor_file *f, const tensor *const *order, unsigned char **head,
                        size_t *bytes, error *err) {
    json_t *root = NULL;
    json_begin();
    NEED(check_names(f, err));
    NEED(make_header(f, order, &root, err));
    char *text = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(root);
    size_t length = strlen(text);
    uint64_t padded = (length + HEADER_ALIGNMENT - 1) / HEADER_ALIGNMENT * HEADER_ALIGNMENT;
    *bytes = sizeof padded + padded;
    *head = memory_new(*bytes, 1);
    memcpy(*head, &padded, sizeof padded);
    memcpy(*head + sizeof padded, text, length);
    memset(*head + sizeof padded + length, ' ', padded - length);
    free(text);
    return STATUS_OK;
}

typedef struct writing {
    output *out;
    zwriter *z; // NULL: not compressed
    sha256 *content;
} writing;

static status write_part(writing *w, const void *data, size_t bytes, error *err) {
    sha256_update(w->content, data, bytes);
    return w->z ? zwriter_write(w->z, data, bytes, err) : output_write(w->out, data, bytes, err);
}

static status write_content(writing *w, const char *path, bool compressed,
                            const tensor *const *order, size_t count, const unsigned char *head,
                            size_t head_bytes, error *err) {
    uint64_t total = head_bytes;
    for (size_t i = 0; i < count; i++) total += order[i]->bytes;
    w->content = sha256_new();
    NEED(output_open(path, &w->out, err));
    if (compressed) NEED(zwriter_open(w->out, total, &w->z, err));
    NEED(write_part(w, head, head_bytes, err));
    for (size_t i = 0; i < count; i++) NEED(write_part(w, order[i]->data, order[i]->bytes, err));
    if (compressed) NEED(zwriter_end(w->z, err));
    return output_commit(w->out, err);
}

static status write_file(const char *path, bool compressed, tensor_file *f, error *err) {
    status rc = STATUS_OK;
    writing w = {0};
    unsigned char *head = NULL;
    size_t head_bytes = 0;
    const tensor **order = sorted_tensors(f);
    TRY(make_head(f, order, &head, &head_bytes, err));
    TRY(write_content(&w, path, compressed, order, f->count, head, head_bytes, err));
    sha256_finish(w.content, f->content);
    memcpy(f->sha256, output_sha256(w.out), sizeof f->sha256);
    f->file_bytes = output_bytes(w.out);
out:
    zwriter_free(w.z);
    output_free(w.out);
    sha256_free(w.content);
    free(head);
    free(order);
    return rc;
}

status tensor_file_write(const char *path, tensor_file *f, error *err) {
    return write_file(path, true, f, err);
}

status tensor_file_write_plain(const char *path, tensor_file *f, error *err) {
    return write_file(path, false, f, err);
}
