// SPDX-License-Identifier: MIT
// Tensors as NumPy's .npy files.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_file.h"
#include "base/zstream.h"
#include "data/tensor/npy.h"
#include "data/tensor/tensor_exchange.h"

enum { HEADER_ALIGNMENT = 64, MAGIC_BYTES = sizeof NPY_MAGIC - 1 };

static const char *const descriptions[] = {
    [TENSOR_U8] = "|u1",  [TENSOR_U32] = "<u4", [TENSOR_U64] = "<u8",
    [TENSOR_I64] = "<i8", [TENSOR_F32] = "<f4", [TENSOR_F64] = "<f8",
    [TENSOR_F16] = "<f2", [TENSOR_BF16] = "", // npy has none
};

status tensor_write_npy(const tensor *t, output *out, error *err) {
    char text[512];
    status rc = STATUS_OK;
    if (!*descriptions[t->type])
        return error_set(err, STATUS_USAGE, "cannot export: '%s': npy has no %s; use csv", t->name,
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
    TRY(output_write(out, NPY_MAGIC, MAGIC_BYTES, err));
    TRY(output_write(out, "\1\0", 2, err));
    TRY(output_write(out, &length, sizeof length, err));
    TRY(output_format(out, err, "%s%*s\n", text, padding, ""));
    TRY(output_write(out, t->data, t->bytes, err));
out:
    return rc;
}

status tensor_read_npy(const char *path, uint64_t max_bytes, const char *name, tensor_file *f,
                       error *err) {
    status rc = STATUS_OK;
    npy n = {0};
    char *bytes = NULL;
    size_t size;
    unsigned type = 0;
    TRY(zreader_read_file(path, max_bytes, &bytes, &size, err));
    rc = npy_parse(bytes, size, path, &n, err);
    if (rc == STATUS_INPUT && strncmp(bytes, NPY_MAGIC, MAGIC_BYTES) != 0)
        rc = foreign_file("cannot read npy file:", path, WANTED_ARRAYS, err);
    TRY(rc);
    while (type < TENSOR_TYPES && strcmp(n.type, descriptions[type]) != 0) type++;
    if (type == TENSOR_TYPES) {
        char why[100];
        snprintf(why, sizeof why, "it holds %s %s (supported: |u1 <u4 <u8 <i8 <f2 <f4 <f8)", n.type,
                 npy_elements(&n));
        TRY(npy_refuse(path, why, err));
    }
    TRY(tensor_file_add(f, name, (tensor_type)type, n.rank, n.shape, n.data, true, err));
out:
    free(bytes);
    return rc;
}
