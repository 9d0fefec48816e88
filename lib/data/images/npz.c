// SPDX-License-Identifier: MIT
#include "data/images/npz.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/source/archive.h"

enum { CHUNK_BYTES = 1 << 20 };

static status read_array(archive_reader *r, named_array *a, const char *name, const char *path,
                         error *err) {
    size_t bytes = 0, capacity = 0, got;
    char *shown = NULL;
    status rc = STATUS_OK;
    a->name = memory_string(name);
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

static status take_member(archive_reader *r, const char *member, const char *path, array_list *l,
                          error *err) {
    static const char end[] = ".npy";
    const size_t length = strlen(member), own = sizeof end - 1;
    if (length <= own || strcmp(member + length - own, end) != 0) {
        strvec_add(&l->others, member);
        return STATUS_OK;
    }
    strvec_format(&l->names, "%.*s", (int)(length - own), member);
    const char *name = l->names.items[l->names.count - 1];
    named_array *place = array_list_place(l, name);
    if (place && place->name)
        return error_set(err, STATUS_INPUT,
                         "cannot use '%s': arrays '%.60s' and '%.60s' mean the same: keep one",
                         path, place->name, name);
    return place ? read_array(r, place, name, path, err) : STATUS_OK;
}

status npz_read(const char *path, array_list *l, error *err) {
    archive_reader *r = NULL;
    const char *member;
    status rc;
    *l = (array_list){0};
    TRY(archive_reader_open_file(path, ARCHIVE_MEMBERS, &r, err));
    for (;;) {
        TRY(archive_reader_next(r, &member, err));
        if (!member) break;
        TRY(take_member(r, member, path, l, err));
    }
out:
    archive_reader_free(r);
    return rc;
}
