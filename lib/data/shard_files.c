// SPDX-License-Identifier: MIT
#include "data/shard_files.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/progress.h"
#include "data/partition.h"

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

// ---- Reading ----

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
    status rc = scan(folder, found, &shards, err);
    if (rc != STATUS_OK) return rc;
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

// Reads a metadata value that is a plain decimal number.
static status number(const dataset *d, int file, const char *key, uint64_t *value, error *err) {
    const char *text = tensor_file_metadata(&d->files[file], key);
    if (!text)
        return error_set(err, STATUS_INPUT,
                         "cannot read dataset: '%s': its metadata has no '%s': not a shard",
                         d->paths[file], key);
    char *end;
    errno = 0;
    unsigned long long parsed = strtoull(text, &end, 10);
    if (errno || *end || strspn(text, "0123456789") != strlen(text) || !*text)
        return error_set(err, STATUS_INPUT,
                         "cannot read dataset: '%s': %s in the metadata is '%.40s', not a number",
                         d->paths[file], key, text);
    *value = parsed;
    return STATUS_OK;
}

static uint32_t dealt_size(uint32_t samples, int shards, int shard) {
    uint32_t v = (uint32_t)shards;
    return samples / v + ((uint32_t)shard < samples % v);
}

static status check_shard(dataset *d, int v, error *err) {
    const char *path = d->paths[v];
    const char *source = tensor_file_metadata(&d->files[v], "source");
    uint64_t shards, shard, seed;
    status rc;
    TRY(number(d, v, "shards", &shards, err));
    TRY(number(d, v, "shard", &shard, err));
    TRY(number(d, v, "shard_seed", &seed, err));
    if (shards != (uint64_t)d->shards || shard != (uint64_t)v)
        return error_set(err, STATUS_INPUT,
                         "cannot read dataset: '%s': holds shard %" PRIu64 " of %" PRIu64
                         ", contrary to its name",
                         path, shard, shards);
    if (!source || strlen(source) != SHA256_TEXT_BYTES - 1)
        return error_set(
            err, STATUS_INPUT,
            "cannot read dataset: '%s': its metadata has no content hash under 'source'", path);
    if (v == 0) {
        d->shard_seed = seed;
        memcpy(d->source, source, sizeof d->source);
    }
    if (seed != d->shard_seed || strcmp(source, d->source) != 0)
        return error_set(err, STATUS_INPUT,
                         "cannot read dataset: '%s': its %s differs from that of '%s': shards of "
                         "two deals are mixed",
                         path, seed != d->shard_seed ? "shard_seed" : "source", d->paths[0]);
out:
    return rc;
}

// Sizes are checked last: one foreign file among the shards makes all of them look wrong.
static status check_size(const dataset *d, int v, error *err) {
    int64_t size = tensor_file_find(&d->files[v], "labels")->shape[0];
    uint32_t expected = dealt_size(d->samples, d->shards, v);
    if (size == expected) return STATUS_OK;
    return error_set(
        err, STATUS_INPUT,
        "cannot read dataset: '%s': %lld samples, expected %u of %u samples in %d shards",
        d->paths[v], (long long)size, expected, d->samples, d->shards);
}

status shard_files_check(dataset *d, error *err) {
    status rc = STATUS_OK;
    for (int v = 0; v < d->shards; v++) TRY(check_shard(d, v, err));
    for (int v = 0; v < d->shards; v++) TRY(check_size(d, v, err));
out:
    return rc;
}

// ---- Writing ----

// Room for the largest shard.
typedef struct gather {
    uint8_t *images;
    uint32_t *labels, *ids;
} gather;

static status gather_init(gather *g, const dataset *d, uint32_t samples, error *err) {
    g->images = memory_try_new(samples, dataset_sample_bytes(d), err);
    g->labels = memory_try_new(samples, sizeof *g->labels, err);
    g->ids = memory_try_new(samples, sizeof *g->ids, err);
    return g->images && g->labels && g->ids ? STATUS_OK : STATUS_FAILED;
}

static void gather_release(gather *g) {
    free(g->images);
    free(g->labels);
    free(g->ids);
}

static status describe(tensor_file *f, const dataset *d, int shards, int shard, uint64_t shard_seed,
                       error *err) {
    static const char *const keys[] = {"dataset", "split", "classes", "mean", "std"};
    char text[24];
    status rc = STATUS_OK;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        TRY(tensor_file_add_metadata(f, keys[i], tensor_file_metadata(&d->files[0], keys[i]), err));
    snprintf(text, sizeof text, "%d", shards);
    TRY(tensor_file_add_metadata(f, "shards", text, err));
    snprintf(text, sizeof text, "%d", shard);
    TRY(tensor_file_add_metadata(f, "shard", text, err));
    snprintf(text, sizeof text, "%" PRIu64, shard_seed);
    TRY(tensor_file_add_metadata(f, "shard_seed", text, err));
    TRY(tensor_file_add_metadata(f, "source", d->source, err));
out:
    return rc;
}

static status write_shard(const dataset *d, const partition *p, int v, uint64_t shard_seed,
                          gather *g, const char *path, manifest *m, error *err) {
    size_t stride = dataset_sample_bytes(d);
    uint32_t size = p->size[v];
    for (uint32_t k = 0; k < size; k++) {
        uint32_t i = p->sample[v][k];
        memcpy(g->images + k * stride, d->pixels[i], stride);
        g->labels[k] = d->labels[i];
        g->ids[k] = d->ids[i];
    }
    tensor_file f = {0};
    status rc;
    TRY(dataset_add_tensors(&f, size, d->channels, d->height, d->width, d->classes, g->images,
                            g->labels, g->ids, err));
    TRY(describe(&f, d, p->shards, v, shard_seed, err));
    TRY(tensor_file_write(path, &f, err));
    const manifest_file written = {
        .path = path, .bytes = f.file_bytes, .sha256 = f.sha256, .content = f.content};
    manifest_add_output(m, &written);
out:
    tensor_file_release(&f);
    return rc;
}

// Removes the shards in `folder` of every partition but one into `keep` files (0: removes all).
// Failure is harmless: a reader of the folder refuses a mixture.
static void remove_others(const char *folder, int keep) {
    DIR *dir = opendir(folder);
    if (!dir) return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        int shard, shards;
        if (shard_files_parse_name(entry->d_name, &shard, &shards) && shards != keep)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    }
    closedir(dir);
}

status shard_files_write(const dataset *d, int shards, uint64_t shard_seed, const char *folder,
                         const logger *log, manifest *m, error *err) {
    partition parts = {0};
    gather g = {0};
    progress shown;
    char name[SHARD_NAME_BYTES], *path = NULL;
    status rc;
    progress_begin(&shown, log, "writing", "shards");
    TRY(partition_init(&parts, d, NULL, shards, shard_seed, err));
    TRY(gather_init(&g, d, parts.size[0], err));
    for (int v = 0; v < shards; v++) {
        shard_files_name(v, shards, name);
        free(path);
        path = memory_format("%s/%s", folder, name);
        rc = path ? write_shard(d, &parts, v, shard_seed, &g, path, m, err) : STATUS_FAILED;
        if (rc != STATUS_OK) {
            remove_others(folder, 0);
            goto out;
        }
        progress_show(&shown, (uint64_t)v + 1, (uint64_t)shards);
    }
    remove_others(folder, shards);
out:
    progress_end(&shown);
    free(path);
    gather_release(&g);
    partition_release(&parts);
    return rc;
}
