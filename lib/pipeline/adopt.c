// SPDX-License-Identifier: MIT
// Moves run folders of an earlier version, which lay where the links are now, into the store.
//
// The new manifests are written next to the old ones first. Then the folder is moved into the
// store, as runs/KEY12/.adopted-PID, its manifests are replaced, and it gets its number. If a call
// is killed in between, the next one can complete the move.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_lock.h"
#include "base/memory.h"
#include "base/output.h"
#include "data/manifest.h"
#include "pipeline/store.h"

static const char *const stages[] = {"train", "evaluate"};
enum { STAGES = sizeof stages / sizeof *stages };

// Depth of a stage below ARTIFACTS in the store: runs/KEY12/N/train.
enum { STORE_DEPTH = 4 };

static int depth_of(const char *place) {
    int depth = 2; // its last component, and the stage's folder
    for (const char *c = place; *c; c++) depth += *c == '/';
    return depth;
}

// Adapts a recorded path that leaves the run, "../../../data/…", to a folder `deeper` levels
// deeper; a path inside the run ("../train/…") is unchanged.
static char *moved_path(const char *path, int deeper) {
    if (strncmp(path, "../../", 6) != 0) return memory_string(path);
    for (; deeper < 0 && strncmp(path, "../", 3) == 0; deeper++) path += 3;
    char *moved = memory_string(path);
    for (; deeper > 0; deeper--) {
        char *longer = memory_format("../%s", moved);
        free(moved);
        moved = longer;
    }
    return moved;
}

static void move_paths(yaml_node *list, int deeper) {
    for (size_t i = 0; i < list->count; i++) {
        char *path = moved_path(yaml_find(list->items[i], "path")->text, deeper);
        yaml_put(list->items[i], "path", yaml_new_string(path));
        free(path);
    }
}

static char *new_manifest(const char *folder, const char *stage) {
    return memory_format("%s/%s/.manifest-adopted.yaml", folder, stage);
}

// Writes the stage's manifest for after the move: with this version's key, paths relative to the
// new folder, and the old key.
static status rewrite(const char *folder, const char *stage, int deeper, error *err) {
    char key[SHA256_TEXT_BYTES];
    yaml_node *root = NULL;
    char *path = memory_format("%s/%s/manifest.yaml", folder, stage);
    char *made = new_manifest(folder, stage);
    status rc = STATUS_OK;
    if (access(path, F_OK) != 0) goto out;
    TRY(manifest_read(path, &root, err));
    TRY(manifest_key_of(root, key, err));
    yaml_node *run = (yaml_node *)yaml_find(root, "run");
    const yaml_node *old = yaml_find(root, "key");
    if (run && old && run->kind == YAML_MAPPING)
        yaml_put(run, "key_before_adoption", yaml_copy(old));
    yaml_put(root, "key", yaml_new_string(key));
    move_paths((yaml_node *)yaml_find(root, "inputs"), deeper);
    rc = manifest_write_tree(root, made, err);
out:
    yaml_free(root);
    free(made);
    free(path);
    return rc;
}

// Sets *found if the folder is a finished training, and `key`.
static status key_of(const char *folder, bool *found, char key[SHA256_TEXT_BYTES], error *err) {
    yaml_node *root = NULL;
    error unreadable;
    char *path = memory_format("%s/train/manifest.yaml", folder);
    status rc = manifest_try_read(path, &root, NULL, 0, err);
    *found = root && manifest_key_of(root, key, &unreadable) == STATUS_OK;
    yaml_free(root);
    free(path);
    return rc;
}

static status move_aside(const char *folder, char **message, error *err) {
    char *aside = NULL;
    for (int i = 1; i < 1000; i++) {
        free(aside);
        aside = memory_format("%s.unfinished-%d", folder, i);
        if (access(aside, F_OK) == 0) continue;
        if (rename(folder, aside) == 0) *message = memory_format("moved to %s: unfinished", aside);
        break;
    }
    status rc =
        *message ? STATUS_OK : error_system(err, STATUS_FAILED, errno, "cannot move '%s'", folder);
    free(aside);
    return rc;
}

static status rename_folder(const char *from, const char *to, error *err) {
    if (rename(from, to) == 0) return STATUS_OK;
    return error_system(err, STATUS_FAILED, errno, "cannot move '%s' to '%s'", from, to);
}

// Replaces a stage's manifest, unless that was done before.
static status take_manifest(const char *folder, const char *stage, error *err) {
    char *path = memory_format("%s/%s/manifest.yaml", folder, stage);
    char *made = new_manifest(folder, stage);
    status rc = STATUS_OK;
    if (access(made, F_OK) == 0) rc = rename_folder(made, path, err);
    free(made);
    free(path);
    return rc;
}

// Renames runs/KEY12/.adopted-PID to the run's next number.
static status complete(const char *artifacts, const char *key, const char *interrupted, int *number,
                       char **message, error *err) {
    execution_list list = {0};
    char *folder = NULL;
    status rc = STATUS_OK;
    for (int i = 0; i < STAGES; i++) TRY(take_manifest(interrupted, stages[i], err));
    TRY(store_read(artifacts, key, &list, err));
    *number = store_next_number(&list);
    folder = store_execution_folder(artifacts, key, *number);
    TRY(folder ? rename_folder(interrupted, folder, err) : STATUS_FAILED);
    *message = memory_format("kept as %s", folder);
out:
    free(folder);
    store_release(&list);
    return rc;
}

static status move_in(const char *artifacts, const char *place, const char *folder, const char *key,
                      char **message, error *err) {
    const int deeper = STORE_DEPTH - depth_of(place);
    char *run = store_folder(artifacts, key);
    char *interrupted = memory_format("%s/.adopted-%ld", run, (long)getpid());
    int number;
    status rc = STATUS_OK;
    for (int i = 0; i < STAGES; i++) TRY(rewrite(folder, stages[i], deeper, err));
    TRY(output_make_folder(run, err));
    TRY(rename_folder(folder, interrupted, err));
    TRY(complete(artifacts, key, interrupted, &number, message, err));
    TRY(store_link(artifacts, place, key, number, err));
out:
    free(interrupted);
    free(run);
    return rc;
}

// Two calls that adopt at the same time would mistake each other's folders for interrupted ones. -1
// if nothing can be written; the next operation reports that.
static int lock_adoption(const char *artifacts, error *err) {
    char *runs = memory_format("%s/runs", artifacts);
    char *path = memory_format("%s/runs/.adopt.lock", artifacts);
    int fd = -1;
    if (output_make_folder(runs, err) == STATUS_OK)
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0) (void)file_lock(fd, true);
    free(path);
    free(runs);
    return fd;
}

static status adopt(const char *artifacts, const char *place, const char *folder, char **message,
                    error *err) {
    char key[SHA256_TEXT_BYTES];
    struct stat info;
    bool found;
    status rc = STATUS_OK;
    if (lstat(folder, &info) != 0 || !S_ISDIR(info.st_mode)) return rc; // another call moved it
    TRY(store_check_unused(folder, err));
    TRY(key_of(folder, &found, key, err));
    rc = found ? move_in(artifacts, place, folder, key, message, err)
               : move_aside(folder, message, err);
out:
    return rc;
}

status store_adopt(const char *artifacts, const char *place, char **message, error *err) {
    struct stat info;
    *message = NULL;
    char *folder = memory_format("%s/%s", artifacts, place);
    status rc = STATUS_OK;
    if (lstat(folder, &info) == 0 && S_ISDIR(info.st_mode)) {
        int held = lock_adoption(artifacts, err);
        rc = adopt(artifacts, place, folder, message, err);
        if (held >= 0) close(held);
    }
    free(folder);
    return rc;
}

// ---- Interrupted adoptions ----

static int is_interrupted(const struct dirent *entry) {
    return strncmp(entry->d_name, ".adopted-", strlen(".adopted-")) == 0;
}

// Finds an interrupted adoption of the run; *interrupted is NULL if there is none.
static status find_interrupted(const char *artifacts, const char *key, char **interrupted) {
    struct dirent **found = NULL;
    char *run = store_folder(artifacts, key);
    *interrupted = NULL;
    int count = scandir(run, &found, is_interrupted, alphasort);
    if (count > 0) *interrupted = memory_format("%s/%s", run, found[0]->d_name);
    status rc = count > 0 && !*interrupted ? STATUS_FAILED : STATUS_OK;
    for (int i = 0; i < count; i++) free(found[i]);
    free(found);
    free(run);
    return rc;
}

static status finish_of(const char *artifacts, const char *key, char **message, error *err) {
    char *interrupted;
    int number;
    status rc = find_interrupted(artifacts, key, &interrupted);
    if (rc != STATUS_OK || !interrupted) return rc;
    free(interrupted);
    int held = lock_adoption(artifacts, err);
    rc = find_interrupted(artifacts, key, &interrupted);
    if (rc == STATUS_OK && interrupted)
        rc = complete(artifacts, key, interrupted, &number, message, err);
    free(interrupted);
    if (held >= 0) close(held);
    return rc;
}

status store_finish_adoption(const char *artifacts, char **message, error *err) {
    char **keys;
    size_t count;
    *message = NULL;
    status rc = store_keys(artifacts, &keys, &count, err);
    if (rc != STATUS_OK) return rc;
    for (size_t i = 0; rc == STATUS_OK && !*message && i < count; i++)
        rc = finish_of(artifacts, keys[i], message, err);
    store_keys_free(keys, count);
    return rc;
}
