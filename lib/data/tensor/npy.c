// SPDX-License-Identifier: MIT
// The header is a Python dictionary; the parser supports only the form that NumPy itself writes.
#include "data/tensor/npy.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/tensor/tensor_half.h"

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

// Elements that are not read: their letter in a dtype, what they are, and what to save instead.
static const struct {
    char kind;
    const char *what, *instead;
} others[] = {
    {'U', "strings", "for labels, save numpy.unique(y, return_inverse=True)[1]"},
    {'S', "strings", "for labels, save numpy.unique(y, return_inverse=True)[1]"},
    {'O', "pickled Python objects", "save one array of numbers, such as numpy.stack(x)"},
    {'c', "complex numbers", "save real ones"},
    {'M', "times", "save numbers"},
    {'m', "times", "save numbers"},
    {'[', "records", "save one array for each field"},
    {'f', "long floats", "save x.astype('float64')"},
};

// `type` is what follows 'descr': in quotes, or a list.
static status refuse_elements(const parsing *p, const char *type, error *err) {
    const bool quoted = *type == '\'';
    const char *text = type + quoted;
    const int length = (int)(quoted ? strcspn(text, "'") : 1);
    const char kind = quoted && length > 1 ? text[1] : *text;
    char why[160];
    size_t k = 0;
    while (k < sizeof others / sizeof *others && others[k].kind != kind) k++;
    const bool known = k < sizeof others / sizeof *others;
    snprintf(why, sizeof why, "it holds %s (%.*s%s): %s", known ? others[k].what : "elements",
             length < 20 ? length : 20, text, quoted ? "" : "...]",
             known ? others[k].instead : "save numbers of 1, 2, 4 or 8 bytes");
    return npy_refuse(p->name, why, err);
}

static status parse_type(parsing *p, error *err) {
    const char *type = value_of(p, "descr"), *order = value_of(p, "fortran_order");
    if (!type || !*type) return npy_refuse(p->name, "its header has no descr", err);
    if (*type != '\'' || strcspn(type + 1, "'") != 3 || !strchr("<>|=", type[1]) ||
        !strchr("buif", type[2]) || !strchr("1248", type[3]))
        return refuse_elements(p, type, err);
    memcpy(p->to->type, type + 1, 3);
    if (!order || strncmp(order, "False", 5) != 0)
        return npy_refuse(p->name, "it is in Fortran order: save numpy.ascontiguousarray(x)", err);
    return STATUS_OK;
}

static size_t width_of(const npy *n) {
    return (size_t)(n->type[2] - '0');
}

void npy_turn_round(npy *n, char *data) {
    const size_t width = width_of(n);
    if (n->type[0] == '>')
        for (char *at = data; at < data + n->data_bytes; at += width)
            for (size_t k = 0; k < width / 2; k++) {
                const char first = at[k];
                at[k] = at[width - 1 - k];
                at[width - 1 - k] = first;
            }
    n->type[0] = width > 1 ? '<' : '|';
}

static status check_size(const parsing *p, error *err) {
    const npy *n = p->to;
    size_t needed = width_of(n);
    bool fits = true;
    for (int i = 0; i < n->rank; i++)
        fits &= !__builtin_mul_overflow(needed, (size_t)n->shape[i], &needed);
    if (fits && needed == n->data_bytes) return STATUS_OK;
    return npy_refuse(p->name, "its size does not match its shape", err);
}

status npy_parse(char *bytes, size_t size, const char *name, npy *n, error *err) {
    parsing p = {.to = n, .name = name, .bytes = bytes, .size = size};
    *n = (npy){0};
    NEED(split(&p, err));
    NEED(parse_type(&p, err));
    NEED(parse_shape(&p, err));
    NEED(check_size(&p, err));
    npy_turn_round(n, bytes + (size - n->data_bytes));
    return STATUS_OK;
}

const char *npy_elements(const npy *n) {
    const char kind = n->type[1];
    return kind == 'b' ? "booleans" : kind == 'f' ? "floats" : "integers";
}

size_t npy_count(const npy *n) {
    return n->data_bytes / width_of(n);
}

double npy_value(const npy *n, size_t i) {
    const size_t width = width_of(n);
    const char *from = (const char *)n->data + i * width;
    uint64_t bits = 0;
    memcpy(&bits, from, width);
    if (n->type[1] == 'f') {
        double wide;
        memcpy(&wide, &bits, sizeof wide);
        return width == 8   ? wide
               : width == 4 ? (double)float_from_bits((uint32_t)bits)
                            : (double)float_from_f16((uint16_t)bits);
    }
    const int unused = 64 - 8 * (int)width;
    if (n->type[1] == 'i') return (double)((int64_t)(bits << unused) >> unused);
    return (double)bits;
}
