// SPDX-License-Identifier: MIT
#include "data/source/idx.h"

enum { UNSIGNED_BYTE = 0x08 };

static uint32_t big_endian(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

status idx_parse(uint8_t *file, size_t bytes, const char *name, int rank, idx *x, error *err) {
    *x = (idx){0};
    if (bytes < 4 || file[0] || file[1])
        return error_set(err, STATUS_INPUT, "cannot read IDX file: '%s': bad magic number", name);
    if (file[2] != UNSIGNED_BYTE)
        return error_set(err, STATUS_INPUT,
                         "cannot read IDX file: '%s': element type 0x%02x, expected unsigned bytes",
                         name, file[2]);
    if (rank < 1 || rank > IDX_MAX_RANK || file[3] != rank)
        return error_set(err, STATUS_INPUT,
                         "cannot read IDX file: '%s': %d dimensions, expected %d", name, file[3],
                         rank);
    size_t header = 4 + 4 * (size_t)rank, product = 1;
    if (bytes < header)
        return error_set(err, STATUS_INPUT, "cannot read IDX file: '%s': it ends inside its header",
                         name);
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
    x->bytes = product;
    return STATUS_OK;
}
