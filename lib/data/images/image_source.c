// SPDX-License-Identifier: MIT
#include "data/images/image_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/paths.h"
#include "data/source/archive.h"

// Reads the names in an archive up to the first picture or array; one that cannot be read is none.
static image_source_kind kind_of_file(const char *path) {
    image_source_kind kind = SOURCE_ARRAYS;
    archive_reader *r = NULL;
    const char *member;
    bool known = archive_reader_open_file(path, ARCHIVE_MEMBERS, &r, NULL) != STATUS_OK;
    while (!known && archive_reader_next(r, &member, NULL) == STATUS_OK && member) {
        const char *dot = strrchr(member, '.');
        if (image_ending_of(member) != ENDING_NONE)
            kind = SOURCE_PICTURES, known = true;
        else if (dot && strcmp(dot, ".npy") == 0)
            kind = SOURCE_ARRAYS, known = true;
        else if (idx_files_has_name(member))
            kind = SOURCE_IDX;
    }
    archive_reader_free(r);
    return kind;
}

// Images without labels are no data set.
static status refuse_one_idx(const char *path, error *err) {
    char *folder = paths_folder(path);
    error_set(err, STATUS_INPUT,
              "cannot import '%s': it is one of several IDX files, of images or of labels: pass "
              "their folder: --from %s",
              path, folder);
    free(folder);
    return STATUS_INPUT;
}

status image_source_open(const char *path, image_source *s, error *err) {
    struct stat st;
    *s = (image_source){0};
    if (stat(path, &st) != 0)
        return error_system(err, STATUS_INPUT, errno, "cannot read: '%s'", path);
    s->is_file = !S_ISDIR(st.st_mode);
    s->bytes = (uint64_t)st.st_size;
    if (s->is_file && idx_files_has_name(path)) return refuse_one_idx(path, err);
    if (s->is_file) s->kind = kind_of_file(path);
    if (s->kind == SOURCE_ARRAYS) return STATUS_OK;
    NEED(s->is_file ? image_tree_read_archive(path, &s->tree, err)
                    : image_tree_read_folder(path, &s->tree, err));
    s->kind = idx_files_are_in(&s->tree) ? SOURCE_IDX : SOURCE_PICTURES;
    return STATUS_OK;
}

status image_source_list(const char *path, const yaml_node *wanted, image_source *s, error *err) {
    if (s->kind == SOURCE_PICTURES)
        return image_folder_list(path, s->is_file, &s->tree, wanted, &s->folder, err);
    if (s->kind == SOURCE_IDX) idx_files_list(path, s->is_file, &s->tree, &s->idx);
    return STATUS_OK;
}

void image_source_release(image_source *s) {
    image_folder_release(&s->folder);
    idx_files_release(&s->idx);
    image_tree_release(&s->tree);
}
