// SPDX-License-Identifier: MIT
#include "data/dataset.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/yaml_tree.h"
#include "data/labels.h"
#include "data/pixel_statistics.h"
#include "data/recorded.h"
#include "data/shard_files.h"

enum { MAX_SIDE = 1 << 14 };

// One file's tensors and metadata, apart from the fields that go straight into the dataset.
typedef struct file_view {
    const char *path;
    const tensor_file *file;
    const tensor *images, *labels, *ids;
} file_view;

static const char *metadata(const file_view *v, const char *key, error *err) {
    const char *value = tensor_file_metadata(v->file, key);
    if (!value)
        error_set(err, STATUS_INPUT, "cannot read dataset: '%s': its metadata has no '%s'", v->path,
                  key);
    return value;
}

static status copy_name(const file_view *v, const char *key, char *to, size_t room, error *err) {
    const char *value = metadata(v, key, err);
    if (!value) return STATUS_INPUT;
    if (!*value || strlen(value) >= room)
        return error_set(err, STATUS_INPUT,
                         "cannot read dataset: '%s': %s in the metadata must be 1 to %zu bytes",
                         v->path, key, room - 1);
    memcpy(to, value, strlen(value) + 1);
    return STATUS_OK;
}

// Reads a JSON list from the metadata as a YAML sequence.
static status read_list(const file_view *v, const char *key, yaml_node **list, error *err) {
    *list = NULL;
    const char *value = metadata(v, key, err);
    if (!value) return STATUS_INPUT;
    status rc = json_to_yaml(value, key, list, err);
    if (rc == STATUS_OK && (*list)->kind != YAML_SEQUENCE)
        rc = error_set(err, STATUS_INPUT, "%s in the metadata is not a list", key);
    if (rc != STATUS_OK) {
        (void)error_prefix(err, "cannot read dataset: '%s': ", v->path);
        yaml_free(*list);
        *list = NULL;
    }
    return rc;
}

static status read_numbers(const file_view *v, const char *key, int count,
                           bool (*is_possible)(double value, char why[PIXEL_WHY_BYTES]),
                           float *values, error *err) {
    char why[PIXEL_WHY_BYTES];
    yaml_node *list;
    status rc = read_list(v, key, &list, err);
    if (rc != STATUS_OK) return rc;
    if (list->count != (size_t)count) {
        rc = error_set(err, STATUS_INPUT,
                       "cannot read dataset: '%s': %s in the metadata has %zu values for %d "
                       "channels",
                       v->path, key, list->count, count);
        goto out;
    }
    for (int c = 0; c < count; c++) {
        double value;
        rc = yaml_number(list->items[c], key, &value, err);
        if (rc != STATUS_OK) {
            (void)error_prefix(err, "cannot read dataset: '%s': ", v->path);
            goto out;
        }
        values[c] = (float)value;
        if (!is_possible((double)values[c], why)) {
            rc = error_set(err, STATUS_INPUT, "cannot read dataset: '%s': %s in the metadata: %s",
                           v->path, key, why);
            goto out;
        }
    }
out:
    yaml_free(list);
    return rc;
}

static status read_class_count(const file_view *v, int *classes, error *err) {
    yaml_node *list;
    status rc = read_list(v, "classes", &list, err);
    if (rc != STATUS_OK) return rc;
    if (list->count < 1 || list->count > LABELS_MAX_CLASSES)
        rc = error_set(err, STATUS_INPUT,
                       "cannot read dataset: '%s': %zu classes in the metadata, expected 1 to %d",
                       v->path, list->count, LABELS_MAX_CLASSES);
    *classes = (int)list->count;
    yaml_free(list);
    return rc;
}

// A tensor that nothing reads, such as the weights of samples, is no part of a data set.
static status check_no_other(const file_view *v, error *err) {
    for (size_t i = 0; i < v->file->count; i++) {
        const tensor *t = &v->file->tensors[i];
        if (t != v->images && t != v->labels && t != v->ids)
            return error_set(err, STATUS_INPUT,
                             "cannot read dataset: '%s': nothing reads its tensor '%.60s': a data "
                             "set has images, labels and ids",
                             v->path, t->name);
    }
    return STATUS_OK;
}

static status read_shape(file_view *v, dataset *d, error *err) {
    const int64_t any[4] = {-1, -1, -1, -1};
    status rc = tensor_file_require(v->file, v->path, "images", TENSOR_U8, 4, any, &v->images, err);
    if (rc != STATUS_OK) return rc;
    const int64_t *shape = v->images->shape;
    if (shape[0] < 1 || shape[0] > UINT32_MAX || shape[1] < 1 || shape[1] > DATASET_MAX_CHANNELS ||
        shape[2] < 1 || shape[2] > MAX_SIDE || shape[3] < 1 || shape[3] > MAX_SIDE)
        return error_set(err, STATUS_INPUT,
                         "cannot read dataset: '%s': images have shape [%lld, %lld, %lld, %lld]; "
                         "expected 1 or more images of 1 to %d channels and sides of 1 to %d",
                         v->path, (long long)shape[0], (long long)shape[1], (long long)shape[2],
                         (long long)shape[3], DATASET_MAX_CHANNELS, MAX_SIDE);
    rc = labels_require(v->file, v->path, shape[0], &v->labels, err);
    if (rc != STATUS_OK) return rc;
    rc = tensor_file_require(v->file, v->path, "ids", TENSOR_U32, 1, shape, &v->ids, err);
    if (rc == STATUS_OK) rc = check_no_other(v, err);
    d->channels = (int)shape[1];
    d->height = (int)shape[2];
    d->width = (int)shape[3];
    return rc;
}

// Reads everything that the first file states about the whole dataset.
static status read_description(file_view *v, dataset *d, error *err) {
    NEED(read_shape(v, d, err));
    NEED(copy_name(v, "dataset", d->name, sizeof d->name, err));
    NEED(copy_name(v, "split", d->split, sizeof d->split, err));
    NEED(read_class_count(v, &d->classes, err));
    NEED(read_numbers(v, "mean", d->channels, pixel_mean_is_possible, d->mean, err));
    return read_numbers(v, "std", d->channels, pixel_deviation_is_possible, d->std, err);
}

// Checks that a later file agrees with the first one.
static status check_same(file_view *v, const dataset *d, error *err) {
    dataset other = {0};
    NEED(read_shape(v, &other, err));
    if (other.channels != d->channels || other.height != d->height || other.width != d->width)
        return error_set(err, STATUS_INPUT,
                         "cannot read dataset: '%s': images are %d x %d x %d, but %d x %d x %d in "
                         "'%s'",
                         v->path, other.channels, other.height, other.width, d->channels, d->height,
                         d->width, d->paths[0]);
    static const char *const keys[] = {"dataset", "split", "classes", "mean", "std"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *value = metadata(v, keys[i], err);
        if (!value) return STATUS_INPUT;
        if (strcmp(value, tensor_file_metadata(&d->files[0], keys[i])) != 0)
            return error_set(err, STATUS_INPUT,
                             "cannot read dataset: '%s': %s differs from that of '%s'", v->path,
                             keys[i], d->paths[0]);
    }
    return STATUS_OK;
}

// Appends the samples of a file after the first `at`.
static status take_samples(const file_view *v, dataset *d, uint32_t at, uint32_t *labels,
                           uint32_t *ids, error *err) {
    size_t count = (size_t)v->images->shape[0], stride = dataset_sample_bytes(d);
    for (size_t i = 0; i < count; i++)
        d->pixels[at + i] = (const uint8_t *)v->images->data + i * stride;
    memcpy(ids + at, v->ids->data, count * sizeof *ids);
    return labels_copy(v->labels, "dataset", v->path, d->classes, labels + at, err);
}

static status count_samples(dataset *d, error *err) {
    uint64_t total = 0;
    for (int i = 0; i < d->file_count; i++) {
        const tensor *labels = tensor_file_find(&d->files[i], "labels");
        total += (uint64_t)labels->shape[0];
    }
    if (total > UINT32_MAX)
        return error_set(err, STATUS_INPUT, "cannot read dataset: '%s': more than 2^32 - 1 samples",
                         d->paths[0]);
    d->samples = (uint32_t)total;
    return STATUS_OK;
}

// Fills the per-sample arrays from all files.
static status index_samples(dataset *d, error *err) {
    const size_t total = d->samples;
    // One block: the pointers first, for their alignment.
    char *block =
        memory_try_new(total, sizeof *d->pixels + sizeof *d->ids + sizeof *d->labels, err);
    if (!block) return STATUS_FAILED;
    d->storage = block;
    d->pixels = (const uint8_t **)(void *)block;
    uint32_t *ids = (uint32_t *)(void *)(d->pixels + total);
    uint32_t *labels = ids + total;
    d->ids = ids;
    d->labels = labels;
    uint32_t at = 0;
    for (int i = 0; i < d->file_count; i++) {
        file_view v = {.path = d->paths[i], .file = &d->files[i]};
        v.images = tensor_file_find(v.file, "images");
        v.labels = tensor_file_find(v.file, "labels");
        v.ids = tensor_file_find(v.file, "ids");
        NEED(take_samples(&v, d, at, labels, ids, err));
        at += (uint32_t)v.labels->shape[0];
    }
    return STATUS_OK;
}

// A file without a manifest, or changed since its manifest was written, is read and checked whole
// even if only its header is wanted.
static status read_file(const char *path, bool header, tensor_file *f, error *err) {
    char content[SHA256_TEXT_BYTES] = "";
    if (header) recorded_content(path, content);
    status rc = STATUS_OK;
    if (!*content) return tensor_file_read(path, TENSOR_FILE_DEFAULT_MAX, f, err);
    rc = tensor_file_read_header(path, f, err);
    if (rc == STATUS_OK) memcpy(f->content, content, sizeof content);
    return rc;
}

static void name_file(const char *path, dataset *d) {
    d->paths = memory_new(1, sizeof *d->paths);
    d->file_count = 1;
    d->paths[0] = memory_string(path);
}

static status read_any(const char *path, bool header, dataset *d, error *err) {
    bool folder;
    status rc = shard_files_is_folder(path, &folder, err);
    if (rc != STATUS_OK) return rc;
    if (folder)
        rc = shard_files_list(path, &d->paths, &d->file_count, err);
    else
        name_file(path, d);
    if (rc != STATUS_OK) return rc;
    d->shards = folder ? d->file_count : 0;
    d->files = memory_new((size_t)d->file_count, sizeof *d->files);
    for (int i = 0; i < d->file_count; i++) {
        rc = read_file(d->paths[i], header, &d->files[i], err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

// One shard alone is not a dataset: the user meant its folder, or mixed up two files.
static status check_unsharded(dataset *d, error *err) {
    if (tensor_file_metadata(&d->files[0], "shards"))
        return error_set(
            err, STATUS_INPUT,
            "cannot read dataset: '%s': it is one of several shards; pass their folder",
            d->paths[0]);
    memcpy(d->source, d->files[0].content, sizeof d->source);
    return STATUS_OK;
}

// ---- Shards ----

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
    NEED(number(d, v, "shards", &shards, err));
    NEED(number(d, v, "shard", &shard, err));
    NEED(number(d, v, "shard_seed", &seed, err));
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
    return STATUS_OK;
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

// Checks that the files are the shards of one partition of one source, in order and of the right
// sizes, and fills shard_seed and source.
static status check_shards(dataset *d, error *err) {
    for (int v = 0; v < d->shards; v++) NEED(check_shard(d, v, err));
    for (int v = 0; v < d->shards; v++) NEED(check_size(d, v, err));
    return STATUS_OK;
}

// ---- Reading ----

// Returns true if every file was read whole.
static bool has_samples(const dataset *d) {
    for (int i = 0; i < d->file_count; i++)
        if (!tensor_file_find(&d->files[i], "labels")->data) return false;
    return true;
}

static status read_dataset(const char *path, bool header, dataset *d, error *err) {
    memset(d, 0, sizeof *d);
    status rc;
    TRY(read_any(path, header, d, err));
    file_view first = {.path = d->paths[0], .file = &d->files[0]};
    TRY(read_description(&first, d, err));
    for (int i = 1; i < d->file_count; i++) {
        file_view v = {.path = d->paths[i], .file = &d->files[i]};
        TRY(check_same(&v, d, err));
    }
    TRY(count_samples(d, err));
    if (has_samples(d)) TRY(index_samples(d, err));
    TRY(d->shards ? check_shards(d, err) : check_unsharded(d, err));
out:
    if (rc != STATUS_OK) dataset_release(d);
    return rc;
}

status dataset_read(const char *path, dataset *d, error *err) {
    return read_dataset(path, false, d, err);
}

status dataset_read_header(const char *path, dataset *d, error *err) {
    return read_dataset(path, true, d, err);
}

void dataset_release(dataset *d) {
    for (int i = 0; i < d->file_count; i++) {
        if (d->paths) free(d->paths[i]);
        if (d->files) tensor_file_release(&d->files[i]);
    }
    free(d->paths);
    free(d->files);
    free(d->storage);
    memset(d, 0, sizeof *d);
}

size_t dataset_sample_bytes(const dataset *d) {
    return (size_t)d->channels * (size_t)d->height * (size_t)d->width;
}

// ---- Writing ----

status dataset_add_tensors(tensor_file *f, uint32_t samples, int channels, int height, int width,
                           int classes, const uint8_t *images, const uint32_t *labels,
                           const uint32_t *ids, error *err) {
    const int64_t shape[4] = {samples, channels, height, width};
    tensor_file_add(f, "images", TENSOR_U8, 4, shape, images);
    NEED(labels_add(f, labels, samples, classes, err));
    tensor_file_add(f, "ids", TENSOR_U32, 1, shape, ids);
    return STATUS_OK;
}

// Takes ownership of the list.
static void add_list(tensor_file *f, const char *key, yaml_node *list) {
    char *text = json_from_yaml(list);
    tensor_file_add_metadata(f, key, text);
    free(text);
    yaml_free(list);
}

static void add_names(tensor_file *f, const char *key, const char *const *names, int count) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (int i = 0; i < count; i++) yaml_append(list, yaml_new_string(names[i]));
    add_list(f, key, list);
}

static void add_numbers(tensor_file *f, const char *key, const float *values, int count) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (int i = 0; i < count; i++) yaml_append(list, yaml_new_float(values[i]));
    add_list(f, key, list);
}

status dataset_describe(tensor_file *f, const dataset_info *info, const uint8_t *images,
                        const uint32_t *labels, const uint32_t *ids, error *err) {
    NEED(dataset_add_tensors(f, info->samples, info->channels, info->height, info->width,
                             info->classes, images, labels, ids, err));
    tensor_file_add_metadata(f, "dataset", info->name);
    tensor_file_add_metadata(f, "split", info->split);
    add_names(f, "classes", info->class_names, info->classes);
    add_numbers(f, "mean", info->mean, info->channels);
    add_numbers(f, "std", info->std, info->channels);
    return STATUS_OK;
}
