// SPDX-License-Identifier: MIT
#include "data/shard_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

void shard_files_name(int shard, int shards, char name[SHARD_NAME_BYTES]) {
    snprintf(name, SHARD_NAME_BYTES, "shard-%05d-of-%05d.st.zst", shard, shards);
}

bool shard_files_parse_name(const char *name, int *shard, int *shards) {
    // The name must print back identically: sscanf alone accepts signs and spaces too.
    char again[SHARD_NAME_BYTES];
    *shard = *shards = -1;
    if (sscanf(name, "shard-%5d-of-%5d", shard, shards) != 2) return false;
    shard_files_name(*shard, *shards, again);
    return strcmp(name, again) == 0 && *shards >= 1 && *shards <= SHARDS_MAX && *shard >= 0 &&
           *shard < *shards;
}

status shard_files_is_folder(const char *path, bool *folder, error *err) {
    struct stat st;
    *folder = false;
    if (strcmp(path, "-") == 0) return STATUS_OK;
    if (stat(path, &st))
        return error_system(err, STATUS_INPUT, errno, "cannot read dataset: '%s'", path);
    *folder = S_ISDIR(st.st_mode);
    return STATUS_OK;
}

// Marks in found[] the shards in the folder, and sets *shards to the V in their names.
static status scan(const char *folder, bool found[SHARDS_MAX], int *shards, error *err) {
    DIR *dir = opendir(folder);
    if (!dir) return error_system(err, STATUS_INPUT, errno, "cannot read dataset: '%s'", folder);
    status rc = STATUS_OK;
    errno = 0;
    for (struct dirent *entry; rc == STATUS_OK && (entry = readdir(dir)); errno = 0) {
        int shard, of;
        if (!shard_files_parse_name(entry->d_name, &shard, &of)) continue;
        if (*shards && of != *shards)
            rc = error_set(err, STATUS_INPUT,
                           "cannot read dataset: '%s': holds shards of two deals, %d-way and "
                           "%d-way: remove one set",
                           folder, *shards < of ? *shards : of, *shards < of ? of : *shards);
        *shards = of;
        found[shard] = true;
    }
    if (rc == STATUS_OK && errno)
        rc = error_system(err, STATUS_INPUT, errno, "cannot read dataset: '%s'", folder);
    closedir(dir);
    return rc;
}

// A folder without shards: often that of the data sets, or one of pictures.
static status refuse_folder(const char *folder, error *err) {
    char *path = memory_format("%s/train.st.zst", folder);
    status rc = STATUS_OK;
    if (access(path, F_OK) == 0)
        rc = error_set(err, STATUS_INPUT,
                       "cannot read dataset: '%s': no shard-*-of-*.st.zst in this folder; pass a "
                       "file of it, such as '%s'",
                       folder, path);
    else
        rc = error_set(err, STATUS_INPUT,
                       "cannot read dataset: '%s': no shard-*-of-*.st.zst in this folder; pass a "
                       "dataset file, or a folder that 'shard' wrote; 'import-images' makes a "
                       "dataset of pictures",
                       folder);
    free(path);
    return rc;
}

status shard_files_list(const char *folder, char ***paths, int *count, error *err) {
    bool found[SHARDS_MAX] = {false};
    int shards = 0;
    char name[SHARD_NAME_BYTES];
    *paths = NULL;
    *count = 0;
    NEED(scan(folder, found, &shards, err));
    if (!shards) return refuse_folder(folder, err);
    for (int v = 0; v < shards; v++) {
        if (found[v]) continue;
        shard_files_name(v, shards, name);
        return error_set(err, STATUS_INPUT, "cannot read dataset: '%s/%s': this shard is missing",
                         folder, name);
    }
    char **list = memory_new((size_t)shards, sizeof *list);
    *paths = list;
    *count = shards;
    for (int v = 0; v < shards; v++) {
        shard_files_name(v, shards, name);
        list[v] = memory_format("%s/%s", folder, name); // the caller frees what is there
    }
    return STATUS_OK;
}
