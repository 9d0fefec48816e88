// SPDX-License-Identifier: MIT
// Tensors as CSV: one element per cell, one index of the first dimension per line. Errors name line
// and column.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/zstream.h"
#include "data/tensor/tensor_exchange.h"
#include "data/tensor/tensor_text.h"

status tensor_write_csv(const tensor *t, output *out, error *err) {
    char text[TENSOR_ELEMENT_TEXT_BYTES + 1];
    int64_t elements = tensor_elements(t), lines = t->rank ? t->shape[0] : 1;
    int64_t columns = lines ? elements / lines : 0;
    for (int64_t i = 0; i < elements; i++) {
        int length = tensor_element_text(text, t, i);
        text[length++] = (i + 1) % columns ? ',' : '\n';
        status rc = output_write(out, text, (size_t)length, err);
        if (rc != STATUS_OK) return rc;
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
    status rc = memory_try_grow(&t->elements, &t->capacity, t->count + 1, size, err);
    if (rc != STATUS_OK) return rc;
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
        status rc = take_cell(t, cell, ++column, err);
        if (rc != STATUS_OK) return rc;
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
        status rc = take_line(t, line, err);
        if (rc != STATUS_OK) return rc;
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
    TRY(tensor_file_add(f, name, type, t.columns > 1 ? 2 : 1, shape, t.elements, true, err));
out:
    free(t.elements);
    free(text);
    return rc;
}
