// SPDX-License-Identifier: MIT
#include "data/images/npz.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/source/archive.h"

enum { CHUNK_BYTES = 1 << 20 };

// Reads into `a`, and takes `name` over.
static status read_array(archive_reader *r, npz_array *a, char *name, const char *path,
                         error *err) {
    size_t bytes = 0, capacity = 0, got;
    char *shown = NULL;
    status rc = STATUS_OK;
    a->name = name;
    do {
        TRY(memory_try_grow((void **)&a->bytes, &capacity, bytes + CHUNK_BYTES, 1, err));
        TRY(archive_reader_read(r, a->bytes + bytes, CHUNK_BYTES, &got, err));
        bytes += got;
    } while (got);
    shown = memory_format("%s:%s.npy", path, name);
    rc = npy_parse(a->bytes, bytes, shown, &a->array, err);
out:
    free(shown);
    return rc;
}

static status take_member(archive_reader *r, const char *member, const char *path, npz_place *place,
                          npz_array *arrays, char names[NPZ_NAMES_BYTES], error *err) {
    static const char end[] = ".npy";
    const size_t length = strlen(member), used = strlen(names);
    if (length < sizeof end || strcmp(member + length - (sizeof end - 1), end) != 0)
        return STATUS_OK;
    char *name = memory_format("%.*s", (int)(length - (sizeof end - 1)), member);
    snprintf(names + used, NPZ_NAMES_BYTES - used, "%s%s", used ? ", " : "", name);
    const int at = place(name);
    if (at >= 0 && !arrays[at].name) return read_array(r, &arrays[at], name, path, err);
    const status rc =
        at < 0 ? STATUS_OK
               : error_set(err, STATUS_INPUT,
                           "cannot use '%s': arrays '%.60s' and '%.60s' mean the same: keep one",
                           path, arrays[at].name, name);
    free(name);
    return rc;
}

status npz_read(const char *path, npz_place *place, npz_array *arrays, size_t count,
                char names[NPZ_NAMES_BYTES], error *err) {
    archive_reader *r = NULL;
    const char *member;
    status rc;
    names[0] = '\0';
    memset(arrays, 0, count * sizeof *arrays);
    TRY(archive_reader_open_file(path, ARCHIVE_MEMBERS, &r, err));
    for (;;) {
        TRY(archive_reader_next(r, &member, err));
        if (!member) break;
        TRY(take_member(r, member, path, place, arrays, names, err));
    }
out:
    archive_reader_free(r);
    return rc;
}

void npz_release(npz_array *arrays, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(arrays[i].name);
        free(arrays[i].bytes);
        arrays[i] = (npz_array){0};
    }
}
