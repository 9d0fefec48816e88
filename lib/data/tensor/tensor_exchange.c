// SPDX-License-Identifier: MIT
#include "data/tensor/tensor_exchange.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_file.h"
#include "base/memory.h"
#include "base/zstream.h"
#include "data/tensor/npy.h"
#include "data/tensor/tensor_text.h"

// ---- NumPy ----

enum { HEADER_ALIGNMENT = 64, MAGIC_BYTES = sizeof NPY_MAGIC - 1 };

static const char *const descriptions[] = {
    [TENSOR_U8] = "|u1",  [TENSOR_U32] = "<u4", [TENSOR_U64] = "<u8",
    [TENSOR_I64] = "<i8", [TENSOR_F32] = "<f4", [TENSOR_F64] = "<f8",
    [TENSOR_F16] = "<f2", [TENSOR_BF16] = "", // npy has none
};

status tensor_write_npy(const tensor *t, output *out, error *err) {
    char text[512], header[512 + HEADER_ALIGNMENT];
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
    NEED(output_write(out, NPY_MAGIC, MAGIC_BYTES, err));
    NEED(output_write(out, "\1\0", 2, err));
    NEED(output_write(out, &length, sizeof length, err));
    (void)snprintf(header, sizeof header, "%s%*s\n", text, padding, "");
    NEED(output_write(out, header, length, err));
    return output_write(out, t->data, t->bytes, err);
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
    void *data = memory_try_new_aligned(n.data_bytes, 1, err);
    TRY(data ? STATUS_OK : STATUS_FAILED);
    if (n.data_bytes) memcpy(data, n.data, n.data_bytes);
    tensor_file_give(f, name, (tensor_type)type, n.rank, n.shape, data);
out:
    free(bytes);
    return rc;
}

// ---- CSV: one element per cell. Errors name line and column. ----

status tensor_write_csv(const tensor *t, output *out, error *err) {
    char text[TENSOR_ELEMENT_TEXT_BYTES + 1];
    int64_t elements = tensor_elements(t), lines = t->rank ? t->shape[0] : 1;
    int64_t columns = lines ? elements / lines : 0;
    for (int64_t i = 0; i < elements; i++) {
        int length = tensor_element_text(text, t, i);
        text[length++] = (i + 1) % columns ? ',' : '\n';
        NEED(output_write(out, text, (size_t)length, err));
    }
    return STATUS_OK;
}

typedef struct table {
    const char *path;
    tensor_type type;
    void *elements; // `count` elements
    size_t capacity, count;
    int64_t lines, columns;
} table;

static status PRINTF_LIKE(4, 5)
    refuse(const table *t, int64_t column, error *err, const char *format, ...) {
    char why[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return error_set(err, STATUS_INPUT, "cannot read CSV file: '%s': line %lld, column %lld: %s",
                     t->path, (long long)t->lines + 1, (long long)column, why);
}

static status take_cell(table *t, char *cell, int64_t column, error *err) {
    cell += strspn(cell, " \t");
    for (size_t n = strlen(cell); n && strchr(" \t\r", cell[n - 1]); n--) cell[n - 1] = '\0';
    size_t size = tensor_type_bytes(t->type);
    NEED(memory_try_grow(&t->elements, &t->capacity, t->count + 1, size, err));
    if (!tensor_element_parse(cell, t->type, (char *)t->elements + t->count * size))
        return refuse(t, column, err, "'%.60s' is not a valid %s", cell, tensor_type_name(t->type));
    t->count++;
    return STATUS_OK;
}

static status take_line(table *t, char *line, error *err) {
    int64_t column = 0;
    for (char *cell = line; cell;) {
        char *comma = strchr(cell, ',');
        if (comma) *comma++ = '\0';
        NEED(take_cell(t, cell, ++column, err));
        cell = comma;
    }
    if (t->lines == 0) t->columns = column;
    if (column != t->columns)
        return refuse(t, column, err, "the line has %lld columns, the first has %lld",
                      (long long)column, (long long)t->columns);
    t->lines++;
    return STATUS_OK;
}

static status take_lines(table *t, char *text, size_t bytes, error *err) {
    if (memchr(text, '\0', bytes)) return refuse(t, 1, err, "the file contains a zero byte");
    for (char *line = text; *line;) {
        char *end = strchrnul(line, '\n'), *next = *end ? end + 1 : end;
        *end = '\0';
        NEED(take_line(t, line, err));
        line = next;
    }
    return STATUS_OK;
}

status tensor_read_csv(const char *path, uint64_t max_bytes, const char *name, tensor_type type,
                       tensor_file *f, error *err) {
    status rc = STATUS_OK;
    char *text = NULL;
    size_t bytes;
    table t = {.path = path, .type = type};
    TRY(zreader_read_file(path, max_bytes, &text, &bytes, err));
    TRY(take_lines(&t, text, bytes, err));
    int64_t shape[2] = {t.lines, t.columns};
    tensor_file_give(f, name, type, t.columns > 1 ? 2 : 1, shape, t.elements);
    t.elements = NULL;
out:
    free(t.elements);
    free(text);
    return rc;
}
