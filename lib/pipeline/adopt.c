// Run folders of an earlier version, which lay where the links are now.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "data/manifest.h"
#include "pipeline/store.h"

// How deep a stage lies below ARTIFACTS in the store: runs/KEY12/N/train.
enum { STORE_DEPTH = 4 };

static int depth_of(const char *place) {
    int depth = 2; // its own last part, and the stage's folder
    for (const char *c = place; *c; c++) depth += *c == '/';
    return depth;
}

// A recorded path that leaves the run, "../../../data/…", as seen from a folder that lies `deeper`
// levels deeper; what stays in the run ("../train/…") is as it was.
static char *moved_path(const char *path, int deeper, error *err) {
    if (strncmp(path, "../../", 6) != 0) return memory_string(path, err);
    for (; deeper < 0 && strncmp(path, "../", 3) == 0; deeper++) path += 3;
    char *moved = memory_string(path, err);
    for (; moved && deeper > 0; deeper--) {
        char *longer = memory_format(err, "../%s", moved);
        free(moved);
        moved = longer;
    }
    return moved;
}

static status move_paths(yaml_node *list, int deeper, error *err) {
    for (size_t i = 0; i < list->count; i++) {
        char *path = moved_path(yaml_find(list->items[i], "path")->text, deeper, err);
        status rc = path ? yaml_put(list->items[i], "path", yaml_new_string(path, err), err)
                         : STATUS_FAILED;
        free(path);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

// The manifest of a stage after the move: the key that this version gives it, paths that hold from
// where it lies, and the key that it had.
static status rewrite(const char *folder, const char *stage, int deeper, error *err) {
    char key[SHA256_TEXT_BYTES], *text = NULL;
    yaml_node *root = NULL;
    size_t bytes;
    char *path = memory_format(err, "%s/%s/manifest.yaml", folder, stage);
    status rc = path ? STATUS_OK : STATUS_FAILED;
    if (rc != STATUS_OK || access(path, F_OK) != 0) goto out;
    TRY(manifest_read(path, &root, err));
    TRY(manifest_key_of(root, key, err));
    yaml_node *run = (yaml_node *)yaml_find(root, "run");
    const yaml_node *old = yaml_find(root, "key");
    if (run && old && run->kind == YAML_MAPPING)
        TRY(yaml_put(run, "key_before_adoption", yaml_copy(old, err), err));
    TRY(yaml_put(root, "key", yaml_new_string(key, err), err));
    TRY(move_paths((yaml_node *)yaml_find(root, "inputs"), deeper, err));
    TRY(yaml_write_text(root, &text, &bytes, err));
    TRY(output_write_file(path, text, bytes, err));
out:
    free(text);
    yaml_free(root);
    free(path);
    return rc;
}

// *found: the folder is a finished training, with this key.
static status key_of(const char *folder, bool *found, char key[SHA256_TEXT_BYTES], error *err) {
    yaml_node *root = NULL;
    error unreadable;
    char *path = memory_format(err, "%s/train/manifest.yaml", folder);
    if (!path) return STATUS_FAILED;
    *found = access(path, F_OK) == 0 && manifest_read(path, &root, &unreadable) == STATUS_OK &&
             manifest_key_of(root, key, &unreadable) == STATUS_OK;
    yaml_free(root);
    free(path);
    return STATUS_OK;
}

static status move_aside(const char *folder, char **told, error *err) {
    char *aside = NULL;
    for (int i = 1; i < 1000; i++) {
        free(aside);
        aside = memory_format(err, "%s.unfinished-%d", folder, i);
        if (!aside) return STATUS_FAILED;
        if (access(aside, F_OK) == 0) continue;
        if (rename(folder, aside) == 0)
            *told = memory_format(err, "moved to %s: unfinished", aside);
        break;
    }
    status rc =
        *told ? STATUS_OK : error_system(err, STATUS_FAILED, errno, "cannot move '%s'", folder);
    free(aside);
    return rc;
}

static status rename_folder(const char *from, const char *to, error *err) {
    if (rename(from, to) == 0) return STATUS_OK;
    return error_system(err, STATUS_FAILED, errno, "cannot move '%s' to '%s'", from, to);
}

static status move_in(const char *artifacts, const char *place, const char *folder, const char *key,
                      char **told, error *err) {
    execution_list list = {0};
    char *run = NULL, *half = NULL, *new_folder = NULL;
    status rc;
    TRY(store_read(artifacts, key, &list, err));
    run = store_folder(artifacts, key, err);
    half = memory_format(err, "%s/runs/%.*s/.adopted-%d", artifacts, STORE_KEY_DIGITS, key,
                         store_next_number(&list));
    new_folder = store_execution_folder(artifacts, key, store_next_number(&list), err);
    if (!run || !half || !new_folder) {
        rc = STATUS_FAILED;
        goto out;
    }
    // It gets its number when its manifests are whole.
    TRY(output_make_folder(run, err));
    TRY(rename_folder(folder, half, err));
    const int deeper = STORE_DEPTH - depth_of(place);
    TRY(rewrite(half, "train", deeper, err));
    TRY(rewrite(half, "evaluate", deeper, err));
    TRY(rename_folder(half, new_folder, err));
    TRY(store_link(artifacts, place, key, store_next_number(&list), err));
    *told = memory_format(err, "kept as %s", new_folder);
    rc = *told ? STATUS_OK : STATUS_FAILED;
out:
    free(new_folder);
    free(half);
    free(run);
    store_release(&list);
    return rc;
}

status store_adopt(const char *artifacts, const char *place, char **told, error *err) {
    char key[SHA256_TEXT_BYTES];
    struct stat info;
    bool found;
    *told = NULL;
    char *folder = memory_format(err, "%s/%s", artifacts, place);
    if (!folder) return STATUS_FAILED;
    status rc = STATUS_OK;
    if (lstat(folder, &info) != 0 || !S_ISDIR(info.st_mode)) goto out;
    TRY(store_check_unused(folder, err));
    TRY(key_of(folder, &found, key, err));
    rc = found ? move_in(artifacts, place, folder, key, told, err) : move_aside(folder, told, err);
out:
    free(folder);
    return rc;
}
