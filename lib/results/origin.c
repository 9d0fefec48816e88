// SPDX-License-Identifier: MIT
#include "results/origin.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/paths.h"
#include "base/text.h"
#include "data/manifest.h"

// Removes the last part. False if there is none to remove: the path is empty, or ends in "..".
static bool remove_part(text *t) {
    if (!t->length) return false;
    char *slash = strrchr(t->data, '/'), *last = slash ? slash + 1 : t->data;
    if (strcmp(last, "..") == 0) return false;
    // The slash goes too, unless it is the root, whose parent is itself.
    t->length = (size_t)(slash && slash > t->data ? slash - t->data : last - t->data);
    t->data[t->length] = 0;
    return true;
}

static void append_part(text *t, const char *part, size_t length) {
    if (length == 0 || (length == 1 && *part == '.')) return;
    if (length == 2 && strncmp(part, "..", 2) == 0 && remove_part(t)) return;
    if (t->length && t->data[t->length - 1] != '/') text_append(t, "/");
    text_bytes(t, part, length);
}

char *origin_tidy_path(const char *folder, const char *path) {
    text tidy = {0};
    if (strcmp(path, "-") == 0) return memory_string(path);
    char *whole = paths_in(folder, path);
    if (*whole == '/') text_append(&tidy, "/");
    for (const char *part = whole; *part;) {
        size_t length = strcspn(part, "/");
        append_part(&tidy, part, length);
        part += length + strspn(part + length, "/");
    }
    free(whole);
    char *result = text_take(&tidy);
    text_release(&tidy);
    return result;
}

status origin_of(const char *folder, const yaml_node *input, char **producer, yaml_node **root,
                 error *err) {
    *producer = NULL;
    *root = NULL;
    const char *path = yaml_text_at(input, "path");
    if (!*path || strcmp(path, "-") == 0) return STATUS_OK;
    char *file = paths_in(folder, path);
    *producer = paths_folder(file);
    free(file);
    return paths_allow(R_OK, "%s/manifest.yaml", *producer)
               ? manifest_read_in(root, err, "%s", *producer)
               : STATUS_OK;
}

// An input's content hash; for a shard, that of the file that it was cut from.
static const char *source_of(const yaml_node *input) {
    const char *source = yaml_text_at(input, "source");
    return *source ? source : yaml_text_at(input, "content");
}

// The first input is the training data (or the first inputs, if it is in shards of one source); the
// test data follows, if there is any.
const char *origin_train_data(const run *r) {
    const yaml_node *input = yaml_get(r->train, "inputs.0");
    return input ? source_of(input) : "";
}

const char *origin_test_data(const run *r) {
    const yaml_node *root = r->evaluate ? r->evaluate : r->train;
    const yaml_node *inputs = root ? yaml_find(root, "inputs") : NULL;
    // Without an evaluation the accuracy is the trainer's own; without test data there is none.
    if (!inputs || isnan(r->accuracy)) return "";
    const char *first = inputs->count ? source_of(inputs->items[0]) : "";
    for (size_t i = 1; i < inputs->count; i++)
        if (strcmp(source_of(inputs->items[i]), first) != 0) return source_of(inputs->items[i]);
    return "";
}

status origin_repeated_images(const run *r, int64_t *count, int64_t *samples, error *err) {
    const yaml_node *stage = r->evaluate ? r->evaluate : r->train;
    const yaml_node *inputs = stage ? yaml_find(stage, "inputs") : NULL;
    const char *test = origin_test_data(r), *train = origin_train_data(r);
    *count = 0;
    for (size_t i = 0; inputs && i < inputs->count; i++) {
        const yaml_node *repeats = yaml_find(inputs->items[i], "repeats");
        if (!repeats || strcmp(source_of(inputs->items[i]), test) != 0 ||
            strcmp(yaml_text_at(repeats, "train"), train) != 0)
            continue;
        NEED(run_count(repeats, "images", count, err));
        NEED(run_count(repeats, "samples", samples, err));
    }
    return STATUS_OK;
}
