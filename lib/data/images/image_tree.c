// SPDX-License-Identifier: MIT
#include "data/images/image_tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/paths.h"
#include "data/source/archive.h"

enum { FOLLOWED_DEPTH = 4 };
static const size_t MAX_NAME_BYTES = (size_t)256 << 20;

void image_tree_release(image_tree *t) {
    for (size_t i = 0; i < t->count; i++) free(t->entries[i].path);
    free(t->entries);
    *t = (image_tree){0};
}

size_t image_tree_end(const image_tree *t, size_t at) {
    size_t end = at + 1;
    while (end < t->count && t->entries[end].depth > t->entries[at].depth) end++;
    return end;
}

// ---- Order ----

// The end of a path comes before a slash, and that before any other byte.
static int rank(const char *at) {
    return !*at ? 0 : *at == '/' ? 1 : 1 + (unsigned char)*at;
}

static int compare(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return rank(a) - rank(b);
}

static int by_path(const void *a, const void *b) {
    const image_entry *x = a, *y = b;
    return compare(x->path, y->path);
}

// ---- Entries ----

// Takes over `path`.
static status add(image_tree *t, char *path, bool folder, error *err) {
    image_entry entry = {.path = path, .depth = *path != 0, .folder = folder, .list = -1};
    for (const char *c = path; *c; c++) {
        entry.depth += *c == '/';
        entry.hidden |= *c == '.' && (c == path || c[-1] == '/');
    }
    t->bytes += strlen(path) + 1;
    if (t->bytes > MAX_NAME_BYTES) {
        free(path);
        return error_set(err, STATUS_INPUT, "more than %zu bytes of names", MAX_NAME_BYTES);
    }
    t->entries = memory_grow(t->entries, &t->capacity, t->count + 1, sizeof entry);
    t->entries[t->count++] = entry;
    return STATUS_OK;
}

// ---- A folder ----

static bool is_folder(const char *path, bool follow) {
    struct stat st;
    return (follow ? stat(path, &st) : lstat(path, &st)) == 0 && S_ISDIR(st.st_mode);
}

static status add_found(const char *top, const char *inner, int depth, const char *name,
                        image_tree *t, error *err) {
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || paths_is_litter(name, strlen(name)))
        return STATUS_OK;
    char *own = memory_format(*inner ? "%s/%s" : "%s%s", inner, name);
    char *whole = memory_format("%s/%s", top, own);
    const bool folder = is_folder(whole, depth < FOLLOWED_DEPTH);
    free(whole);
    return add(t, own, folder, err);
}

static status read_entry(const char *top, size_t at, image_tree *t, error *err) {
    const image_entry entry = t->entries[at]; // adding others may move it
    if (entry.depth >= IMAGE_TREE_DEPTH && entry.hidden) return STATUS_OK;
    if (entry.depth >= IMAGE_TREE_DEPTH)
        return error_set(err, STATUS_INPUT,
                         "cannot import '%s': '%.200s' is in more than %d folders", top, entry.path,
                         IMAGE_TREE_DEPTH - 1);
    char *path = memory_format(*entry.path ? "%s/%s" : "%s%s", top, entry.path);
    status rc = STATUS_OK;
    DIR *dir = opendir(path);
    if (!dir && !entry.hidden)
        rc = error_system(err, STATUS_INPUT, errno, "cannot read folder: '%s'", path);
    for (struct dirent *found; dir && rc == STATUS_OK && (errno = 0, found = readdir(dir));)
        rc = add_found(top, entry.path, entry.depth, found->d_name, t, err);
    if (dir && rc == STATUS_OK && errno)
        rc = error_system(err, STATUS_INPUT, errno, "cannot read folder: '%s'", path);
    if (dir) closedir(dir);
    free(path);
    return rc;
}

status image_tree_read_folder(const char *path, image_tree *t, error *err) {
    *t = (image_tree){0};
    status rc = add(t, memory_string(""), true, err);
    for (size_t i = 0; rc == STATUS_OK && i < t->count; i++)
        if (t->entries[i].folder) rc = read_entry(path, i, t, err);
    if (rc == STATUS_OK) qsort(t->entries, t->count, sizeof *t->entries, by_path);
    return rc;
}

// ---- An archive ----

// Returns a member's name without empty parts and ".": "" if it is litter.
static char *tidy(const char *member) {
    char *path = memory_new(strlen(member) + 1, 1), *to = path;
    if (paths_has_litter(member)) return path;
    for (const char *part = member; *part;) {
        const size_t length = strcspn(part, "/");
        if (length && !(length == 1 && *part == '.')) {
            if (to > path) *to++ = '/';
            memcpy(to, part, length);
            to += length;
        }
        part += length + (part[length] == '/');
    }
    return path;
}

// Adds the folders of a path, except those of the previous entry: archives need not name them.
static status add_parents(image_tree *t, const char *path, error *err) {
    const char *last = t->entries[t->count - 1].path;
    size_t shared = 0, depth = 0;
    status rc = STATUS_OK;
    for (size_t i = 0; last[i] && last[i] == path[i]; i++)
        if (path[i] == '/') shared = i + 1;
    for (size_t i = 0; rc == STATUS_OK && path[i]; i++) {
        if (path[i] != '/') continue;
        if (++depth >= IMAGE_TREE_DEPTH)
            return error_set(err, STATUS_INPUT, "member '%.200s' is in more than %d folders", path,
                             IMAGE_TREE_DEPTH - 1);
        if (i >= shared) rc = add(t, memory_format("%.*s", (int)i, path), true, err);
    }
    return rc;
}

// Members of one folder need not follow each other, so it may have been added several times.
static status drop_repeated(image_tree *t, error *err) {
    size_t kept = 0;
    for (size_t i = 1; i < t->count; i++) {
        image_entry *a = &t->entries[kept], *b = &t->entries[i];
        if (strcmp(a->path, b->path) != 0) {
            t->entries[++kept] = *b;
            continue;
        }
        if (!a->folder || !b->folder) {
            error_set(err, STATUS_INPUT, "member '%.200s' occurs twice", b->path);
            memmove(t->entries + kept + 1, t->entries + i, (t->count - i) * sizeof *a);
            t->count -= i - kept - 1;
            return STATUS_INPUT;
        }
        free(b->path);
    }
    t->count = kept + 1;
    return STATUS_OK;
}

static status add_member(image_tree *t, const char *member, bool folder, error *err) {
    char *path = tidy(member);
    status rc = *path ? add_parents(t, path, err) : STATUS_OK;
    if (rc == STATUS_OK && *path) return add(t, path, folder, err);
    free(path);
    return rc;
}

status image_tree_read_archive(const char *path, image_tree *t, error *err) {
    archive_reader *r = NULL;
    const char *member;
    *t = (image_tree){0};
    status rc;
    TRY(archive_reader_open_file(path, ARCHIVE_FOLDERS, &r, err));
    TRY(add(t, memory_string(""), true, err));
    for (;;) {
        TRY(archive_reader_next(r, &member, err));
        if (!member) break;
        rc = add_member(t, member, archive_reader_at_folder(r), err);
        if (rc != STATUS_OK) {
            (void)error_prefix(err, "cannot import '%s': ", path);
            goto out;
        }
    }
    qsort(t->entries, t->count, sizeof *t->entries, by_path);
    rc = drop_repeated(t, err);
    if (rc != STATUS_OK) (void)error_prefix(err, "cannot import '%s': ", path);
out:
    archive_reader_free(r);
    return rc;
}

const image_entry *image_tree_find(const image_tree *t, const char *member) {
    const image_entry wanted = {.path = tidy(member)};
    const image_entry *own = bsearch(&wanted, t->entries, t->count, sizeof wanted, by_path);
    free(wanted.path);
    return own && !own->folder ? own : NULL; // litter has the path of the top
}

// ---- What a name says ----

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static bool is_one_of(const char *word, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(word, words[i]) == 0) return true;
    return false;
}

image_ending image_ending_of(const char *name) {
    static const char *const read[] = {"jpg", "jpeg", "png"};
    static const char *const other[] = {"avif", "bmp", "dib", "gif",  "heic", "heif", "jfif",
                                        "jp2",  "jpe", "jxl", "pbm",  "pgm",  "pnm",  "ppm",
                                        "svg",  "tga", "tif", "tiff", "webp"};
    const char *dot = strrchr(name, '.');
    if (!dot) return ENDING_NONE;
    if (is_one_of(dot + 1, read, LENGTH(read))) return ENDING_READ;
    return is_one_of(dot + 1, other, LENGTH(other)) ? ENDING_OTHER : ENDING_NONE;
}

// Cuts off one of the endings that do not count.
static bool shorten(char *word) {
    static const char *const endings[] = {"set", "data", "images", "集"};
    const size_t length = strlen(word);
    for (size_t i = 0; i < LENGTH(endings); i++) {
        const size_t own = strlen(endings[i]);
        if (own >= length || strcasecmp(word + length - own, endings[i]) != 0) continue;
        word[length - own] = 0;
        return true;
    }
    return false;
}

image_role image_role_of(const char *folder) {
    static const struct {
        const char *word;
        image_role role;
    } words[] = {
        {"train", IMAGE_ROLE_TRAIN},
        {"training", IMAGE_ROLE_TRAIN},
        {"训练", IMAGE_ROLE_TRAIN},
        {"test", IMAGE_ROLE_TEST},
        {"testing", IMAGE_ROLE_TEST},
        {"测试", IMAGE_ROLE_TEST},
        {"val", IMAGE_ROLE_VALIDATION},
        {"valid", IMAGE_ROLE_VALIDATION},
        {"validation", IMAGE_ROLE_VALIDATION},
        {"验证", IMAGE_ROLE_VALIDATION},
        {"images", IMAGE_ROLE_CONTENT},
        {"imgs", IMAGE_ROLE_CONTENT},
        {"jpegimages", IMAGE_ROLE_CONTENT},
        {"labels", IMAGE_ROLE_CONTENT},
        {"masks", IMAGE_ROLE_CONTENT},
        {"annotations", IMAGE_ROLE_CONTENT},
    };
    char word[32];
    size_t length = 0;
    for (; *folder; folder++) {
        if (strchr(" _-0123456789", *folder)) continue;
        if (length + 1 == sizeof word) return IMAGE_ROLE_NONE;
        word[length++] = *folder;
    }
    word[length] = 0;
    do
        for (size_t i = 0; i < LENGTH(words); i++)
            if (strcasecmp(word, words[i].word) == 0) return words[i].role;
    while (shorten(word));
    return IMAGE_ROLE_NONE;
}
