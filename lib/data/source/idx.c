// SPDX-License-Identifier: MIT
#include "data/source/idx.h"

#include <string.h>

enum { TYPES_FROM = 0x08 };

// By the type's number, from TYPES_FROM on; "" is none.
static const char *const types[] = {"|u1", "|i1", "", ">i2", ">i4", ">f4", ">f8"};

static uint32_t big_endian(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static const char *type_of(uint8_t number) {
    const size_t at = (size_t)number - TYPES_FROM;
    return number >= TYPES_FROM && at < sizeof types / sizeof *types && *types[at] ? types[at]
                                                                                   : NULL;
}

status idx_parse(uint8_t *file, size_t bytes, const char *name, npy *x, error *err) {
    *x = (npy){0};
    if (bytes < 4 || file[0] || file[1] || !type_of(file[2]))
        return error_set(err, STATUS_INPUT, "cannot read IDX file: '%s': bad magic number", name);
    const int rank = file[3];
    if (rank < 1 || rank > NPY_MAX_RANK)
        return error_set(err, STATUS_INPUT,
                         "cannot read IDX file: '%s': %d dimensions, not 1 to %d", name, rank,
                         NPY_MAX_RANK);
    const size_t header = 4 + 4 * (size_t)rank;
    if (bytes < header)
        return error_set(err, STATUS_INPUT, "cannot read IDX file: '%s': it ends inside its header",
                         name);
    memcpy(x->type, type_of(file[2]), sizeof "|u1");
    size_t product = (size_t)(x->type[2] - '0');
    for (int i = 0; i < rank; i++) {
        x->shape[i] = big_endian(file + 4 + 4 * i);
        if (__builtin_mul_overflow(product, (size_t)x->shape[i], &product))
            return error_set(err, STATUS_INPUT,
                             "cannot read IDX file: '%s': its shape is too large", name);
    }
    if (product != bytes - header)
        return error_set(err, STATUS_INPUT,
                         "cannot read IDX file: '%s': %zu bytes of data, but its header says %zu",
                         name, bytes - header, product);
    x->rank = rank;
    x->data = file + header;
    x->data_bytes = product;
    npy_turn_round(x, (char *)file + header);
    return STATUS_OK;
}
