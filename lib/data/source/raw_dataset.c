// SPDX-License-Identifier: MIT
#include "data/source/raw_dataset.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/named_files.h"
#include "data/labels.h"
#include "data/pixel_statistics.h"

static const char *const split_names[RAW_SPLITS] = {"train", "test"};

status raw_dataset_allocate(raw_dataset *r, int split, error *err) {
    raw_split *s = &r->splits[split];
    const size_t bytes = raw_dataset_image_bytes(r);
    s->owned[0] = s->images = memory_try_new(s->samples, bytes, err);
    s->owned[1] = s->labels = memory_try_new(s->samples, sizeof *s->labels, err);
    return s->images && s->labels ? STATUS_OK : STATUS_FAILED;
}

void raw_dataset_release(raw_dataset *r) {
    for (int i = 0; i < RAW_SPLITS; i++)
        for (int k = 0; k < 3; k++) free(r->splits[i].owned[k]);
    memset(r, 0, sizeof *r);
}

status raw_dataset_check_labels(const raw_dataset *r, error *err) {
    for (int i = 0; i < RAW_SPLITS; i++)
        for (uint32_t k = 0; k < r->splits[i].samples; k++)
            if (r->splits[i].labels[k] >= (uint32_t)r->classes)
                return error_set(err, STATUS_INPUT,
                                 "cannot use %s: label %u of sample %u of the %s split: there are "
                                 "%d classes",
                                 r->name, r->splits[i].labels[k], k, split_names[i], r->classes);
    return STATUS_OK;
}

static void keep_samples(raw_split *s, size_t bytes, const uint32_t *label_of, uint32_t none) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->samples; i++) {
        const uint32_t label = label_of[s->labels[i]];
        if (label == none) continue;
        memmove(s->images + (size_t)kept * bytes, s->images + (size_t)i * bytes, bytes);
        s->labels[kept++] = label;
    }
    s->samples = kept;
}

status raw_dataset_keep(raw_dataset *r, const yaml_node *wanted, const char **names, error *err) {
    const size_t classes = (size_t)r->classes, bytes = raw_dataset_image_bytes(r);
    size_t *chosen = memory_new(wanted->count, sizeof *chosen);
    uint32_t *label_of = memory_new(classes, sizeof *label_of);
    status rc = STATUS_OK;
    TRY(labels_choose(wanted, r->class_names, classes, chosen, err));
    for (size_t k = 0; k < classes; k++) label_of[k] = UINT32_MAX;
    for (size_t i = 0; i < wanted->count; i++) {
        label_of[chosen[i]] = (uint32_t)i;
        names[i] = r->class_names[chosen[i]];
    }
    for (int i = 0; i < RAW_SPLITS; i++) keep_samples(&r->splits[i], bytes, label_of, UINT32_MAX);
    r->classes = (int)wanted->count;
    r->class_names = names;
out:
    free(chosen);
    free(label_of);
    return rc;
}

// ---- Output ----

static bool is_stream(const raw_output *o) {
    return strcmp(o->out, "-") == 0;
}

static int split_number(const char *name) {
    for (int i = 0; i < RAW_SPLITS; i++)
        if (strcmp(name, split_names[i]) == 0) return i;
    return -1;
}

status raw_output_check(const raw_output *o, error *err) {
    if (!o->out || !*o->out)
        return error_set(err, STATUS_USAGE, "--out is missing: pass a folder, or '-' with --split");
    if (o->split && split_number(o->split) < 0)
        return error_set(err, STATUS_USAGE, "bad value of --split: '%s': expected train or test",
                         o->split);
    if (is_stream(o) && !o->split)
        return error_set(err, STATUS_USAGE,
                         "--out - writes one split: choose it with --split train|test");
    if (!is_stream(o) && o->split)
        return error_set(err, STATUS_USAGE, "--split is for --out -: a folder gets both splits");
    if (!is_stream(o) && o->manifest)
        return error_set(err, STATUS_USAGE,
                         "--manifest is for --out -: a folder gets its manifest.yaml");
    return STATUS_OK;
}

static status check_stream(const raw_output *o, const char *mirrors, const char *const *from,
                           size_t count, error *err) {
    const named_file outputs[] = {{"--out", o->out}, {"--manifest", o->manifest}};
    const named_file table = {"--mirrors", mirrors};
    status rc = named_files_check(&table, 1, outputs, 2, err);
    for (size_t i = 0; rc == STATUS_OK && i < count; i++) {
        const named_file input = {"--from", from[i]};
        rc = named_files_check(&input, 1, outputs, 2, err);
    }
    return rc == STATUS_OK ? named_files_check(NULL, 0, outputs, 2, err) : rc;
}

status raw_output_open(raw_output *o, const char *mirrors, const char *const *from, size_t count,
                       const logger *log, error *err) {
    status rc = raw_output_check(o, err);
    if (rc != STATUS_OK) return rc;
    if (is_stream(o)) return check_stream(o, mirrors, from, count, err);
    return output_folder_open(o->out, log, &o->folder, err);
}

void raw_output_close(raw_output *o, status rc) {
    output_folder_close(&o->folder, rc);
}

void raw_output_describe(const raw_output *o, manifest *m) {
    if (!o->split) return;
    yaml_put(manifest_parameters(m), "split", yaml_new_string(o->split));
}

// ---- Writing ----

typedef struct statistics {
    float mean[DATASET_MAX_CHANNELS], std[DATASET_MAX_CHANNELS];
} statistics;

static void describe_split(int split, uint32_t samples, manifest *m) {
    yaml_node *results = manifest_results(m);
    const char *key = split == RAW_TRAIN ? "train_samples" : "test_samples";
    yaml_put(results, key, yaml_new_integer(samples));
}

static status write_split(const raw_dataset *r, int split, const statistics *st, const char *path,
                          manifest *m, error *err) {
    const raw_split *s = &r->splits[split];
    const dataset_info info = {r->name,  split_names[split], s->samples, r->channels, r->height,
                               r->width, r->class_names,     r->classes, st->mean,    st->std};
    tensor_file f = {0};
    status rc = STATUS_FAILED;
    uint32_t *ids = memory_try_new(s->samples, sizeof *ids, err);
    if (!ids) return rc;
    for (uint32_t i = 0; i < s->samples; i++) ids[i] = i;
    TRY(dataset_describe(&f, &info, s->images, s->labels, ids, err));
    TRY(tensor_file_write(path, &f, err));
    const manifest_file written = {
        .path = path, .bytes = f.file_bytes, .sha256 = f.sha256, .content = f.content};
    manifest_add_output(m, &written);
    describe_split(split, s->samples, m);
out:
    tensor_file_release(&f);
    free(ids);
    return rc;
}

static status write_stream(const raw_dataset *r, const statistics *st, const raw_output *o,
                           manifest *m, error *err) {
    status rc = write_split(r, split_number(o->split), st, "-", m, err);
    if (rc == STATUS_OK && o->manifest) rc = manifest_write(m, o->manifest, err);
    return rc;
}

static status write_folder(const raw_dataset *r, const statistics *st, const char *folder,
                           manifest *m, error *err) {
    char *paths[RAW_SPLITS] = {NULL};
    int written = 0;
    status rc = STATUS_OK;
    for (int i = 0; i < RAW_SPLITS; i++) {
        paths[i] = memory_format("%s/%s.st.zst", folder, split_names[i]);
    }
    TRY(manifest_remove_old(m, folder, err));
    for (; written < RAW_SPLITS; written++)
        TRY(write_split(r, written, st, paths[written], m, err));
    TRY(manifest_write_in(m, folder, err));
out:
    if (rc != STATUS_OK)
        for (int i = 0; i < written; i++) (void)unlink(paths[i]);
    for (int i = 0; i < RAW_SPLITS; i++) free(paths[i]);
    return rc;
}

typedef struct hashed {
    uint64_t hash;
    const uint8_t *image;
} hashed;

// Images of equal hash are compared, so that this only has to be fast.
static uint64_t hash_of(const uint8_t *image, size_t bytes) {
    uint64_t hash = bytes, word;
    for (size_t at = 0; at < bytes; at += sizeof word) {
        const size_t left = bytes - at;
        word = 0;
        memcpy(&word, image + at, left < sizeof word ? left : sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return hash;
}

static int by_hash(const void *a, const void *b) {
    const hashed *x = a, *y = b;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static bool is_among(const hashed *sorted, size_t count, const hashed *one, size_t bytes) {
    size_t low = 0;
    for (size_t high = count; low < high;) {
        const size_t middle = low + (high - low) / 2;
        if (sorted[middle].hash < one->hash)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < count && sorted[low].hash == one->hash; low++)
        if (memcmp(sorted[low].image, one->image, bytes) == 0) return true;
    return false;
}

// Counts the test images whose pixels are those of a training image, whatever the labels. Files are
// not compared: one picture may be saved in several ways, and equal files have equal pixels.
static status count_overlap(const raw_dataset *r, uint32_t *count, error *err) {
    const raw_split *train = &r->splits[RAW_TRAIN], *test = &r->splits[RAW_TEST];
    const size_t bytes = raw_dataset_image_bytes(r);
    hashed *sorted = memory_try_new(train->samples, sizeof *sorted, err);
    *count = 0;
    if (!sorted) return STATUS_FAILED;
    for (uint32_t i = 0; i < train->samples; i++) {
        const uint8_t *image = train->images + (size_t)i * bytes;
        sorted[i] = (hashed){hash_of(image, bytes), image};
    }
    qsort(sorted, train->samples, sizeof *sorted, by_hash);
    for (uint32_t i = 0; i < test->samples; i++) {
        const uint8_t *image = test->images + (size_t)i * bytes;
        const hashed one = {hash_of(image, bytes), image};
        *count += is_among(sorted, train->samples, &one, bytes);
    }
    free(sorted);
    return STATUS_OK;
}

status raw_dataset_write(const raw_dataset *r, const raw_output *o, const logger *log, manifest *m,
                         error *err) {
    statistics st;
    const raw_split *train = &r->splits[RAW_TRAIN];
    uint32_t count;
    NEED(count_overlap(r, &count, err));
    if (count) yaml_put(manifest_results(m), "test_images_in_train", yaml_new_integer(count));
    pixel_statistics(train->images, train->samples, r->channels, r->height * r->width, st.mean,
                     st.std);
    NEED(is_stream(o) ? write_stream(r, &st, o, m, err) : write_folder(r, &st, o->out, m, err));
    if (count)
        log_warn(log,
                 "%u of %u test images are also training images: an accuracy on them says "
                 "nothing",
                 count, r->splits[RAW_TEST].samples);
    return STATUS_OK;
}
