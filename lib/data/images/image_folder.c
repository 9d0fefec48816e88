// SPDX-License-Identifier: MIT
#include "data/images/image_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/printable.h"
#include "base/yaml_tree.h"
#include "data/labels.h"

typedef struct names {
    char **items;
    size_t count, capacity;
} names;

static void names_release(names *n) {
    for (size_t i = 0; i < n->count; i++) free(n->items[i]);
    free(n->items);
    *n = (names){0};
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static status add_name(names *n, const char *name, error *err) {
    status rc = memory_grow((void **)&n->items, &n->capacity, n->count + 1, sizeof *n->items, err);
    if (rc != STATUS_OK) return rc;
    n->items[n->count] = memory_string(name, err);
    return n->items[n->count] ? (n->count++, STATUS_OK) : STATUS_FAILED;
}

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static status sort_in(const char *folder, const char *name, names *folders, names *files,
                      error *err) {
    if (*name == '.') return STATUS_OK;
    char *path = memory_format(err, "%s/%s", folder, name);
    if (!path) return STATUS_FAILED;
    const bool inner = is_folder(path);
    free(path);
    return add_name(inner ? folders : files, name, err);
}

// Lists a folder's entries in byte order, without those that begin with a dot.
static status read_folder(const char *path, names *folders, names *files, error *err) {
    DIR *dir = opendir(path);
    if (!dir) return error_system(err, STATUS_INPUT, errno, "cannot read folder: '%s'", path);
    status rc = STATUS_OK;
    for (struct dirent *entry; rc == STATUS_OK && (errno = 0, entry = readdir(dir));)
        rc = sort_in(path, entry->d_name, folders, files, err);
    if (rc == STATUS_OK && errno)
        rc = error_system(err, STATUS_INPUT, errno, "cannot read folder: '%s'", path);
    closedir(dir);
    if (folders->count) qsort(folders->items, folders->count, sizeof(char *), by_bytes);
    if (files->count) qsort(files->items, files->count, sizeof(char *), by_bytes);
    return rc;
}

// ---- The files of a class ----

static bool is_image(const char *name) {
    static const char *const endings[] = {".jpg", ".jpeg", ".png"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot, endings[i]) == 0) return true;
    return false;
}

static status pass_over(image_folder *f, const char *inner, const char *name, error *err) {
    if (f->passed_over++) return STATUS_OK;
    f->first_passed_over = memory_format(err, "%s/%s", inner, name);
    return f->first_passed_over ? STATUS_OK : STATUS_FAILED;
}

static status add_file(image_list *l, const char *inner, const char *name, int class, error *err) {
    status rc = memory_grow((void **)&l->files, &l->capacity, l->count + 1, sizeof *l->files, err);
    if (rc != STATUS_OK) return rc;
    image_file *file = &l->files[l->count];
    file->path = memory_format(err, "%s/%s", inner, name);
    if (!file->path) return STATUS_FAILED;
    file->name = strrchr(file->path, '/') + 1;
    file->class = class;
    l->count++;
    return STATUS_OK;
}

// `inner`: the class's folder, relative to the top folder.
static status list_class(image_folder *f, image_list *l, const char *inner, int class, error *err) {
    names folders = {0}, files = {0};
    const size_t before = l->count;
    char *path = memory_format(err, "%s/%s", f->path, inner);
    status rc = path ? read_folder(path, &folders, &files, err) : STATUS_FAILED;
    if (rc == STATUS_OK && folders.count)
        rc = error_set(err, STATUS_INPUT,
                       "cannot import '%s': '%s/%s' is a folder inside a class folder", f->path,
                       inner, folders.items[0]);
    for (size_t i = 0; rc == STATUS_OK && i < files.count; i++)
        rc = is_image(files.items[i]) ? add_file(l, inner, files.items[i], class, err)
                                      : pass_over(f, inner, files.items[i], err);
    if (rc == STATUS_OK && l->count == before)
        rc = error_set(err, STATUS_INPUT,
                       "cannot import '%s': class '%s' has no .jpg, .jpeg or .png", f->path, inner);
    names_release(&folders);
    names_release(&files);
    free(path);
    return rc;
}

// ---- Classes ----

static status check_class_name(const image_folder *f, const char *name, error *err) {
    bool plain = printable_is_utf8(name);
    for (const char *c = name; *c && plain; c++) plain = (unsigned char)*c >= 0x20 && *c != 0x7f;
    if (plain) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot import '%s': a class name is not UTF-8 or contains control characters",
                     f->path);
}

static status take_classes(image_folder *f, names *folders, error *err) {
    if (folders->count < 2 || folders->count > LABELS_MAX_CLASSES)
        return error_set(err, STATUS_INPUT,
                         "cannot import '%s': %zu folders in it, expected one for each of 2 to %d "
                         "classes",
                         f->path, folders->count, LABELS_MAX_CLASSES);
    for (size_t i = 0; i < folders->count; i++) {
        status rc = check_class_name(f, folders->items[i], err);
        if (rc != STATUS_OK) return rc;
    }
    f->classes = folders->items;
    f->class_count = (int)folders->count;
    *folders = (names){0};
    return STATUS_OK;
}

static status check_same_classes(const image_folder *f, const char *inner, const names *folders,
                                 error *err) {
    for (int k = 0; k < f->class_count || k < (int)folders->count; k++) {
        const char *first = k < f->class_count ? f->classes[k] : NULL;
        const char *second = k < (int)folders->count ? folders->items[k] : NULL;
        if (first && second && strcmp(first, second) == 0) continue;
        const bool lacks = first && (!second || strcmp(first, second) < 0);
        return error_set(err, STATUS_INPUT, "cannot import '%s': class '%s' is in '%s' only",
                         f->path, lacks ? first : second, lacks ? "train" : inner);
    }
    return STATUS_OK;
}

// Fills one list. `inner`: "" or the name of a folder of class folders.
static status list_part(image_folder *f, int list, const char *inner, error *err) {
    names folders = {0}, files = {0};
    char *path = memory_format(err, *inner ? "%s/%s" : "%s%s", f->path, inner);
    status rc = path ? read_folder(path, &folders, &files, err) : STATUS_FAILED;
    if (rc == STATUS_OK)
        rc = list ? check_same_classes(f, inner, &folders, err) : take_classes(f, &folders, err);
    for (int k = 0; rc == STATUS_OK && k < f->class_count; k++) {
        char *class = memory_format(err, *inner ? "%s/%s" : "%s%s", inner, f->classes[k]);
        rc = class ? list_class(f, &f->lists[list], class, k, err) : STATUS_FAILED;
        free(class);
    }
    for (size_t i = 0; rc == STATUS_OK && i < files.count; i++)
        rc = pass_over(f, *inner ? inner : ".", files.items[i], err);
    names_release(&folders);
    names_release(&files);
    free(path);
    return rc;
}

static bool has_folder(const image_folder *f, const char *name) {
    char *path = memory_format(NULL, "%s/%s", f->path, name);
    const bool there = path && is_folder(path);
    free(path);
    return there;
}

status image_folder_list(const char *path, image_folder *f, error *err) {
    *f = (image_folder){.path = path};
    const char *test = has_folder(f, "test") ? "test" : "val";
    f->is_split = has_folder(f, "train") && has_folder(f, test);
    if (!f->is_split) return list_part(f, 0, "", err);
    status rc = list_part(f, 0, "train", err);
    return rc == STATUS_OK ? list_part(f, 1, test, err) : rc;
}

void image_folder_release(image_folder *f) {
    for (int k = 0; k < f->class_count; k++) free(f->classes[k]);
    free(f->classes);
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < f->lists[k].count; i++) free(f->lists[k].files[i].path);
        free(f->lists[k].files);
    }
    free(f->first_passed_over);
    *f = (image_folder){0};
}

static status hash_one(const image_folder *f, const image_file *file, sha256 *all, error *err) {
    char content[SHA256_TEXT_BYTES] = "";
    struct stat st;
    char *path = memory_format(err, "%s/%s", f->path, file->path);
    if (!path) return STATUS_FAILED;
    // Opening a pipe would block until it has a writer.
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
        sha256_file(path, content, NULL) != STATUS_OK)
        content[0] = '\0';
    sha256_update(all, file->path, strlen(file->path) + 1);
    sha256_update(all, content, strlen(content) + 1);
    free(path);
    return STATUS_OK;
}

status image_folder_hash(const image_folder *f, char text[SHA256_TEXT_BYTES], error *err) {
    sha256 *all = sha256_new(err);
    if (!all) return STATUS_FAILED;
    status rc = STATUS_OK;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; rc == STATUS_OK && i < f->lists[k].count; i++)
            rc = hash_one(f, &f->lists[k].files[i], all, err);
    sha256_finish(all, text);
    sha256_free(all);
    return rc;
}
