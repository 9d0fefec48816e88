// SPDX-License-Identifier: MIT
#include "data/images/idx_files.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/paths.h"
#include "data/images/image_tree.h"
#include "data/source/archive.h"
#include "data/source/idx.h"

enum { CHUNK_BYTES = 1 << 20 };

// ---- Names ----

static bool is_packed(const char *name) {
    const size_t length = strlen(name);
    return length > 3 && strcasecmp(name + length - 3, ".gz") == 0;
}

// Returns the length of NAME in "NAME-idx3-ubyte.gz"; 0 for another name.
static size_t stem_of(const char *name) {
    static const char *const elements[] = {"ubyte", "byte", "short", "int", "float", "double"};
    const size_t length = strlen(name) - (is_packed(name) ? 3 : 0);
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        const size_t own = strlen(elements[i]) + sizeof "-idx3-" - 1;
        const char *end = length > own ? name + length - own : NULL;
        if (end && strchr("-._", *end) && strncasecmp(end + 1, "idx", 3) == 0 &&
            isdigit((unsigned char)end[4]) && strchr("-._", end[5]) &&
            strncasecmp(end + 6, elements[i], strlen(elements[i])) == 0)
            return (size_t)(end - name);
    }
    return 0;
}

bool idx_files_has_name(const char *path) {
    return stem_of(paths_name(path)) > 0;
}

// Returns the place of an array by the words in its name: the last one that means a part, and the
// last one that means images or labels. NULL if there is none of the latter.
static named_array *place_of(array_list *l, const char *path) {
    char *name = memory_string(paths_name(path));
    const char *part = "", *kind = NULL;
    char *rest = name;
    name[stem_of(name)] = 0;
    for (char *word; (word = strtok_r(rest, "-._ ", &rest));) {
        if (strcasecmp(word, "t10k") == 0) word = memcpy(word, "test", sizeof "test");
        if (array_list_is_part(word)) part = word;
        if (array_list_place(l, word)) kind = word;
    }
    char *whole = memory_format("%s_%s", part, kind ? kind : "");
    named_array *place = kind ? array_list_place(l, whole) : NULL;
    free(whole);
    free(name);
    return place;
}

// ---- The list ----

bool idx_files_are_in(const image_tree *t) {
    bool any = false;
    for (size_t i = 0; i < t->count; i++) {
        const image_entry *e = &t->entries[i];
        if (e->folder || e->hidden) continue;
        if (image_ending_of(e->path) != ENDING_NONE) return false;
        any = any || idx_files_has_name(e->path);
    }
    return any;
}

// Is it a packed file that is there unpacked, too?
static bool is_twice(const image_tree *t, const char *path) {
    if (!is_packed(path)) return false;
    char *plain = memory_format("%.*s", (int)strlen(path) - 3, path);
    const bool twice = image_tree_find(t, plain) != NULL;
    free(plain);
    return twice;
}

void idx_files_list(const char *path, bool is_archive, image_tree *t, idx_files *f) {
    *f = (idx_files){.path = path, .is_archive = is_archive, .tree = *t};
    *t = (image_tree){0};
    for (size_t i = 0; i < f->tree.count; i++) {
        image_entry *e = &f->tree.entries[i];
        if (e->folder || e->hidden) continue;
        if (idx_files_has_name(e->path) && !is_twice(&f->tree, e->path)) e->list = 0;
        strvec_add(e->list == 0 ? &f->names : &f->others, e->path);
    }
}

void idx_files_release(idx_files *f) {
    strvec_release(&f->names);
    strvec_release(&f->others);
    image_tree_release(&f->tree);
}

// ---- Reading ----

// Reads the current member to its end.
static status read_member(archive_reader *r, char **bytes, size_t *count, error *err) {
    size_t capacity = 0, got = 0;
    *count = 0;
    do {
        NEED(memory_try_grow((void **)bytes, &capacity, *count + CHUNK_BYTES, 1, err));
        NEED(archive_reader_read(r, *bytes + *count, CHUNK_BYTES, &got, err));
        *count += got;
    } while (got);
    return STATUS_OK;
}

// Reads a file, which may be compressed.
static status read_single(archive_reader *r, char **bytes, size_t *count, error *err) {
    const char *unnamed;
    NEED(archive_reader_next(r, &unnamed, err));
    return read_member(r, bytes, count, err);
}

static status read_file(const char *path, char **bytes, size_t *count, error *err) {
    archive_reader *r = NULL;
    status rc = archive_reader_open_file(path, ARCHIVE_SINGLE, &r, err);
    if (rc == STATUS_OK) rc = read_single(r, bytes, count, err);
    archive_reader_free(r);
    return rc;
}

// Unpacks a member that is a .gz file, in memory.
static status unpack(const char *name, char **bytes, size_t *count, error *err) {
    archive_reader *r = NULL;
    char *packed = *bytes;
    const int fd = memfd_create("member", MFD_CLOEXEC);
    status rc = STATUS_OK;
    *bytes = NULL;
    if (fd < 0 || write(fd, packed, *count) != (ssize_t)*count || lseek(fd, 0, SEEK_SET) < 0)
        TRY(error_system(err, STATUS_FAILED, errno, "cannot hold '%s' in memory", name));
    TRY(archive_reader_open(fd, name, ARCHIVE_SINGLE, &r, err));
    TRY(read_single(r, bytes, count, err));
out:
    archive_reader_free(r);
    if (fd >= 0) close(fd);
    free(packed);
    return rc;
}

// Takes over `bytes`.
static status take(const idx_files *f, const char *name, char *bytes, size_t count, array_list *l,
                   error *err) {
    named_array *place = place_of(l, name);
    strvec_add(&l->names, name);
    if (!place || place->name) {
        free(bytes);
        return place ? error_set(err, STATUS_INPUT,
                                 "cannot import '%s': '%.200s' and '%.200s' are the same part: of "
                                 "several sets, put the files of one into a folder",
                                 f->path, place->name, name)
                     : error_set(err, STATUS_INPUT,
                                 "cannot import '%s': '%.200s' says neither 'images' nor 'labels': "
                                 "rename it, as train-images-idx3-ubyte",
                                 f->path, name);
    }
    place->name = memory_string(name);
    place->bytes = bytes;
    return idx_parse((uint8_t *)bytes, count, name, &place->array, err);
}

static status read_folder(const idx_files *f, array_list *l, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < f->names.count; i++) {
        char *path = memory_format("%s/%s", f->path, f->names.items[i]), *bytes = NULL;
        size_t count;
        rc = read_file(path, &bytes, &count, err);
        if (rc == STATUS_OK)
            rc = take(f, f->names.items[i], bytes, count, l, err);
        else
            free(bytes);
        free(path);
    }
    return rc;
}

static status read_members(const idx_files *f, archive_reader *r, array_list *l, error *err) {
    const char *member;
    for (;;) {
        char *bytes = NULL;
        size_t count;
        NEED(archive_reader_next(r, &member, err));
        if (!member) return STATUS_OK;
        const image_entry *e = image_tree_find(&f->tree, member);
        if (!e || e->list != 0) continue;
        status rc = read_member(r, &bytes, &count, err);
        if (rc == STATUS_OK && is_packed(e->path)) rc = unpack(e->path, &bytes, &count, err);
        if (rc == STATUS_OK)
            rc = take(f, e->path, bytes, count, l, err);
        else
            free(bytes);
        if (rc != STATUS_OK) return rc;
    }
}

status idx_files_read(const idx_files *f, array_list *l, error *err) {
    *l = (array_list){0};
    strvec_add_all(&l->others, &f->others);
    if (!f->is_archive) return read_folder(f, l, err);
    archive_reader *r = NULL;
    status rc = archive_reader_open_file(f->path, ARCHIVE_MEMBERS, &r, err);
    if (rc == STATUS_OK) rc = read_members(f, r, l, err);
    archive_reader_free(r);
    return rc;
}
