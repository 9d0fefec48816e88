// Tensors as NumPy's .npy files. Their header is a Python dictionary; only what NumPy itself writes
// into it is understood.
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/zstream.h"
#include "data/tensor_exchange.h"
#include "data/tensor_file_internal.h"

static const char magic[] = "\x93NUMPY";
enum { MAGIC_BYTES = sizeof magic - 1, HEADER_ALIGNMENT = 64 };

static const char *const descriptions[] = {
    [TENSOR_U8] = "|u1",  [TENSOR_U32] = "<u4", [TENSOR_U64] = "<u8",
    [TENSOR_I64] = "<i8", [TENSOR_F32] = "<f4", [TENSOR_F64] = "<f8",
    [TENSOR_F16] = "<f2", [TENSOR_BF16] = "", // npy has none
};

status tensor_write_npy(const tensor *t, output *out, error *err) {
    char text[512];
    status rc = STATUS_OK;
    if (!*descriptions[t->type])
        return error_set(err, STATUS_USAGE, "cannot export: '%s': npy has no %s; take csv", t->name,
                         tensor_type_name(t->type));
    int used = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                        descriptions[t->type]);
    for (int i = 0; i < t->rank; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%" PRId64 "%s", t->shape[i],
                         t->rank == 1 || i + 1 < t->rank ? "," : "");
    used += snprintf(text + used, sizeof text - (size_t)used, "), }");
    // Magic, version, length, header and its newline fill a multiple of 64 bytes.
    int head = MAGIC_BYTES + 4, padding = HEADER_ALIGNMENT - (head + used + 1) % HEADER_ALIGNMENT;
    padding %= HEADER_ALIGNMENT;
    uint16_t length = (uint16_t)(used + padding + 1);
    TRY(output_write(out, magic, MAGIC_BYTES, err));
    TRY(output_write(out, "\1\0", 2, err));
    TRY(output_write(out, &length, sizeof length, err));
    TRY(output_format(out, err, "%s%*s\n", text, padding, ""));
    TRY(output_write(out, t->data, t->bytes, err));
out:
    return rc;
}

// A file that was read, and its parts.
typedef struct npy {
    const char *path;
    char *bytes;
    size_t size;
    char *header; // a Python dictionary, ended by a zero
    const char *data;
    size_t data_bytes;
    tensor_type type;
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
} npy;

static status refuse(const npy *n, const char *why, error *err) {
    return error_set(err, STATUS_INPUT, "cannot read npy file: '%s': %s", n->path, why);
}

static status split(npy *n, error *err) {
    uint32_t length = 0;
    size_t head = MAGIC_BYTES + 4;
    if (n->size < head || memcmp(n->bytes, magic, MAGIC_BYTES) != 0)
        return refuse(n, "no npy magic at byte 0", err);
    int version = n->bytes[MAGIC_BYTES];
    if (version < 1 || version > 3) return refuse(n, "unknown format version at byte 6", err);
    size_t width = version == 1 ? 2 : 4;
    head = MAGIC_BYTES + 2 + width;
    if (n->size >= head) memcpy(&length, n->bytes + MAGIC_BYTES + 2, width);
    if (n->size < head || length == 0 || length > n->size - head)
        return refuse(n, "it ends inside the header", err);
    n->header = n->bytes + head;
    n->data = n->header + length;
    n->data_bytes = n->size - head - length;
    n->header[length - 1] = '\0'; // where the newline was
    return STATUS_OK;
}

// The text behind "'KEY':", or NULL.
static const char *value_of(const npy *n, const char *key) {
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *found = strstr(n->header, quoted);
    return found ? found + strlen(quoted) + strspn(found + strlen(quoted), " ") : NULL;
}

static status parse_shape(npy *n, error *err) {
    const char *at = value_of(n, "shape");
    if (!at || *at++ != '(') return refuse(n, "its header has no shape", err);
    for (at += strspn(at, " "); *at != ')'; at += strspn(at, ", ")) {
        if (n->rank == TENSOR_MAX_RANK) return refuse(n, "it has more than 8 dimensions", err);
        char *end;
        errno = 0;
        long long size = isdigit((unsigned char)*at) ? strtoll(at, &end, 10) : -1;
        if (size < 0 || errno) return refuse(n, "its header has a bad shape", err);
        n->shape[n->rank++] = size;
        at = end;
        if (*at != ',' && *at != ')' && *at != ' ')
            return refuse(n, "its header has a bad shape", err);
    }
    return STATUS_OK;
}

static status parse_header(npy *n, error *err) {
    const char *type = value_of(n, "descr"), *order = value_of(n, "fortran_order");
    if (!type || *type != '\'') return refuse(n, "its header has no descr", err);
    unsigned i = 0;
    while (i < TENSOR_TYPES && strncmp(type + 1, descriptions[i], 3) != 0) i++;
    if (i == TENSOR_TYPES || type[4] != '\'')
        return refuse(n, "its dtype is not read (|u1 <u4 <u8 <i8 <f2 <f4 <f8 are)", err);
    n->type = (tensor_type)i;
    if (!order || strncmp(order, "False", 5) != 0)
        return refuse(n, "it is in Fortran order: save numpy.ascontiguousarray(x)", err);
    return parse_shape(n, err);
}

status tensor_read_npy(const char *path, uint64_t max_bytes, const char *name, tensor_file *f,
                       error *err) {
    status rc = STATUS_OK;
    npy n = {.path = path};
    TRY(zreader_read_file(path, max_bytes, &n.bytes, &n.size, err));
    TRY(split(&n, err));
    TRY(parse_header(&n, err));
    uint64_t needed;
    if (!tensor_shape_bytes(n.type, n.rank, n.shape, &needed) || needed != n.data_bytes)
        TRY(refuse(&n, "its size does not fit its shape", err));
    TRY(tensor_file_add(f, name, n.type, n.rank, n.shape, n.data, true, err));
out:
    free(n.bytes);
    return rc;
}
