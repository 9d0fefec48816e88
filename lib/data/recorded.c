// SPDX-License-Identifier: MIT
#include "data/recorded.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/memory.h"
#include "base/paths.h"
#include "data/shard_files.h"
#include "data/tensor/tensor_file.h"

// The manifest of a folder; `root` is NULL if there is none that can be read.
typedef struct record {
    yaml_node *root;
    struct timespec written;
} record;

// A link may lead to another file than the one that was written next to the manifest.
static bool find_plain(const char *path, struct stat *info) {
    return lstat(path, info) == 0 && S_ISREG(info->st_mode);
}

// Equal times prove nothing: another write fits into a clock tick.
static bool is_before(struct timespec a, struct timespec b) {
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

// An mtime after the ctime was set by hand, and an mtime in the future comes from a wrong clock.
// Neither can date later changes.
static bool has_own_time(const struct stat *info) {
    struct timespec now;
    return !is_before(info->st_ctim, info->st_mtim) && clock_gettime(CLOCK_REALTIME, &now) == 0 &&
           !is_before(now, info->st_mtim);
}

// Takes the time before the text: if the manifest is replaced in between, its text is newer than
// the time, never older.
static void record_open(record *r, const char *file) {
    struct stat info;
    *r = (record){0};
    char *path = memory_format("%.*smanifest.yaml", (int)(paths_name(file) - file), file);
    if (find_plain(path, &info) && has_own_time(&info) &&
        manifest_read(path, &r->root, NULL) == STATUS_OK)
        r->written = info.st_mtim;
    free(path);
}

// Returns the recorded content hash; NULL if the file has to be read.
static const char *find_content(const record *r, const char *path, const struct stat *info) {
    if (!r->root || !is_before(info->st_ctim, r->written)) return NULL;
    const yaml_node *outputs = yaml_find(r->root, "outputs");
    for (size_t i = 0; i < outputs->count; i++) {
        const yaml_node *entry = outputs->items[i];
        const char *content = yaml_text_at(entry, "content");
        if (strcmp(yaml_text_at(entry, "path"), paths_name(path)) != 0) continue;
        if (strtoll(yaml_text_at(entry, "bytes"), NULL, 10) != info->st_size) return NULL;
        return strlen(content) == SHA256_TEXT_BYTES - 1 ? content : NULL;
    }
    return NULL;
}

static status add_file(manifest *m, const record *r, const char *path, error *err) {
    tensor_file f = {0};
    struct stat info;
    status rc = STATUS_OK;
    manifest_file file = {.path = path};
    if (find_plain(path, &info)) {
        file.content = find_content(r, path, &info);
        file.bytes = (uint64_t)info.st_size;
    }
    if (!file.content) {
        TRY(tensor_file_read(path, TENSOR_FILE_DEFAULT_MAX, &f, err));
        file.content = f.content;
        file.bytes = f.file_bytes;
    }
    manifest_add_input(m, &file);
out:
    tensor_file_release(&f);
    return rc;
}

void recorded_content(const char *path, char content[SHA256_TEXT_BYTES]) {
    struct stat info;
    record r;
    record_open(&r, path);
    const char *found = find_plain(path, &info) ? find_content(&r, path, &info) : NULL;
    memcpy(content, found ? found : "", found ? SHA256_TEXT_BYTES : 1);
    yaml_free(r.root);
}

void recorded_repeats(const char *path, const char *content, manifest_repeats *repeats) {
    record r;
    *repeats = (manifest_repeats){0};
    record_open(&r, path);
    if (!r.root) return;
    const yaml_node *results = yaml_find(r.root, "results");
    if (results && strcmp(manifest_output_content(r.root, "test.st.zst"), content) == 0) {
        repeats->images = strtoll(yaml_text_at(results, "test_images_in_train"), NULL, 10);
        repeats->samples = strtoll(yaml_text_at(results, "test_samples"), NULL, 10);
        snprintf(repeats->train, sizeof repeats->train, "%s",
                 manifest_output_content(r.root, "train.st.zst"));
    }
    yaml_free(r.root);
}

static status add_shards(manifest *m, const char *folder, error *err) {
    char **paths = NULL;
    int count = 0;
    record r = {0};
    status rc;
    TRY(shard_files_list(folder, &paths, &count, err));
    record_open(&r, paths[0]);
    for (int i = 0; i < count; i++) TRY(add_file(m, &r, paths[i], err));
out:
    for (int i = 0; i < count; i++) free(paths[i]);
    free(paths);
    yaml_free(r.root);
    return rc;
}

status recorded_add_file(manifest *m, const char *path, error *err) {
    record r;
    record_open(&r, path);
    status rc = add_file(m, &r, path, err);
    yaml_free(r.root);
    return rc;
}

status recorded_add_input(manifest *m, const char *path, error *err) {
    bool folder;
    NEED(shard_files_is_folder(path, &folder, err));
    return folder ? add_shards(m, path, err) : recorded_add_file(m, path, err);
}
