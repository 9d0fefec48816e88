// SPDX-License-Identifier: MIT
// Writing datasets: tensors and metadata of one split, and the statistics in them.
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/yaml_tree.h"
#include "data/dataset.h"
#include "data/labels.h"

status dataset_add_tensors(tensor_file *f, uint32_t samples, int channels, int height, int width,
                           int classes, const uint8_t *images, const uint32_t *labels,
                           const uint32_t *ids, error *err) {
    const int64_t shape[4] = {samples, channels, height, width};
    status rc;
    TRY(tensor_file_add(f, "images", TENSOR_U8, 4, shape, images, false, err));
    TRY(labels_add(f, labels, samples, classes, err));
    TRY(tensor_file_add(f, "ids", TENSOR_U32, 1, shape, ids, false, err));
out:
    return rc;
}

static status add_list(tensor_file *f, const char *key, yaml_node *list, error *err) {
    char *text = NULL;
    status rc = json_from_yaml(list, &text, err);
    if (rc == STATUS_OK) rc = tensor_file_add_metadata(f, key, text, err);
    free(text);
    return rc;
}

static status add_names(tensor_file *f, const char *key, const char *const *names, int count,
                        error *err) {
    status rc = STATUS_OK;
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (int i = 0; i < count; i++) yaml_append(list, yaml_new_string(names[i]));
    rc = add_list(f, key, list, err);
    yaml_free(list);
    return rc;
}

static status add_numbers(tensor_file *f, const char *key, const float *values, int count,
                          error *err) {
    status rc = STATUS_OK;
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (int i = 0; i < count; i++) yaml_append(list, yaml_new_float(values[i]));
    rc = add_list(f, key, list, err);
    yaml_free(list);
    return rc;
}

status dataset_describe(tensor_file *f, const dataset_info *info, const uint8_t *images,
                        const uint32_t *labels, const uint32_t *ids, error *err) {
    status rc;
    TRY(dataset_add_tensors(f, info->samples, info->channels, info->height, info->width,
                            info->classes, images, labels, ids, err));
    TRY(tensor_file_add_metadata(f, "dataset", info->name, err));
    TRY(tensor_file_add_metadata(f, "split", info->split, err));
    TRY(add_names(f, "classes", info->class_names, info->classes, err));
    TRY(add_numbers(f, "mean", info->mean, info->channels, err));
    TRY(add_numbers(f, "std", info->std, info->channels, err));
out:
    return rc;
}

void dataset_statistics(const uint8_t *images, uint32_t samples, int channels, int pixels,
                        float *mean, float *std) {
    size_t plane = (size_t)pixels, stride = plane * (size_t)channels;
    double n = (double)samples * (double)pixels;
    for (int c = 0; c < channels; c++) {
        uint64_t sum = 0, squares = 0;
        for (uint32_t i = 0; i < samples; i++) {
            const uint8_t *p = images + i * stride + (size_t)c * plane;
            for (size_t k = 0; k < plane; k++) {
                sum += p[k];
                squares += (uint32_t)p[k] * p[k];
            }
        }
        // n² · variance = n · Σx² - (Σx)² can exceed 64 bits; an integer until the square root.
        unsigned __int128 spread =
            (unsigned __int128)((uint64_t)samples * (uint64_t)pixels) * squares -
            (unsigned __int128)sum * sum;
        mean[c] = n > 0 ? (float)((double)sum / (n * 255)) : 0;
        std[c] = spread ? (float)(sqrt((double)spread) / (n * 255)) : 1;
    }
}
