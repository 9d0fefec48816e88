// SPDX-License-Identifier: MIT
// The header is a Python dictionary; the parser supports only the form that NumPy itself writes.
#include "data/tensor/npy.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC_BYTES = sizeof NPY_MAGIC - 1 };

typedef struct parsing {
    npy *to;
    const char *name;
    char *bytes;
    size_t size;
    char *header; // zero-terminated
} parsing;

status npy_refuse(const char *name, const char *why, error *err) {
    return error_set(err, STATUS_INPUT, "cannot read npy file: '%s': %s", name, why);
}

static status split(parsing *p, error *err) {
    uint32_t length = 0;
    size_t head = MAGIC_BYTES + 4;
    if (p->size < head || memcmp(p->bytes, NPY_MAGIC, MAGIC_BYTES) != 0)
        return npy_refuse(p->name, "no npy magic at byte 0", err);
    int version = p->bytes[MAGIC_BYTES];
    if (version < 1 || version > 3)
        return npy_refuse(p->name, "unknown format version at byte 6", err);
    size_t width = version == 1 ? 2 : 4;
    head = MAGIC_BYTES + 2 + width;
    if (p->size >= head) memcpy(&length, p->bytes + MAGIC_BYTES + 2, width);
    if (p->size < head || length == 0 || length > p->size - head)
        return npy_refuse(p->name, "it ends inside the header", err);
    p->header = p->bytes + head;
    p->to->data = p->header + length;
    p->to->data_bytes = p->size - head - length;
    p->header[length - 1] = '\0'; // overwrites the newline
    return STATUS_OK;
}

// Returns the text after "'KEY':", or NULL.
static const char *value_of(const parsing *p, const char *key) {
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *found = strstr(p->header, quoted);
    return found ? found + strlen(quoted) + strspn(found + strlen(quoted), " ") : NULL;
}

static status parse_shape(parsing *p, error *err) {
    npy *n = p->to;
    const char *at = value_of(p, "shape");
    if (!at || *at++ != '(') return npy_refuse(p->name, "its header has no shape", err);
    for (at += strspn(at, " "); *at != ')'; at += strspn(at, ", ")) {
        if (n->rank == NPY_MAX_RANK)
            return npy_refuse(p->name, "it has more than 8 dimensions", err);
        char *end;
        errno = 0;
        long long size = isdigit((unsigned char)*at) ? strtoll(at, &end, 10) : -1;
        if (size < 0 || errno) return npy_refuse(p->name, "its header has a bad shape", err);
        n->shape[n->rank++] = size;
        at = end;
        if (*at != ',' && *at != ')' && *at != ' ')
            return npy_refuse(p->name, "its header has a bad shape", err);
    }
    return STATUS_OK;
}

static status parse_type(parsing *p, error *err) {
    const char *type = value_of(p, "descr"), *order = value_of(p, "fortran_order");
    if (!type || *type != '\'') return npy_refuse(p->name, "its header has no descr", err);
    if (strcspn(type + 1, "'") != 3 || type[3] < '1' || type[3] > '8')
        return npy_refuse(p->name, "unsupported dtype (supported: |u1 <u4 <u8 <i8 <f4 <f8)", err);
    memcpy(p->to->type, type + 1, 3);
    if (!order || strncmp(order, "False", 5) != 0)
        return npy_refuse(p->name, "it is in Fortran order: save numpy.ascontiguousarray(x)", err);
    return STATUS_OK;
}

static status check_size(const parsing *p, error *err) {
    const npy *n = p->to;
    size_t needed = (size_t)(n->type[2] - '0');
    bool fits = true;
    for (int i = 0; i < n->rank; i++)
        fits &= !__builtin_mul_overflow(needed, (size_t)n->shape[i], &needed);
    if (fits && needed == n->data_bytes) return STATUS_OK;
    return npy_refuse(p->name, "its size does not match its shape", err);
}

status npy_parse(char *bytes, size_t size, const char *name, npy *n, error *err) {
    parsing p = {.to = n, .name = name, .bytes = bytes, .size = size};
    status rc;
    *n = (npy){0};
    TRY(split(&p, err));
    TRY(parse_type(&p, err));
    TRY(parse_shape(&p, err));
    TRY(check_size(&p, err));
out:
    return rc;
}
