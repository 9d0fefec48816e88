// SPDX-License-Identifier: MIT
#include "data/source/dataset_list.h"

#include <string.h>

#include "base/spelling.h"

// clang-format off
#define LIST(type, ...) (type[]){__VA_ARGS__}
#define CLASSES(...)                                                                               \
    .class_names = LIST(const char *const, __VA_ARGS__),                                           \
    .classes = sizeof LIST(const char *const, __VA_ARGS__) / sizeof(char *)
#define MEMBERS(...)                                                                               \
    .members = LIST(const dataset_member, __VA_ARGS__),                                                    \
    .member_count = sizeof LIST(const dataset_member, __VA_ARGS__) / sizeof(dataset_member)
#define DATASET(reader, ...) {__VA_ARGS__},
// clang-format on

const dataset_entry dataset_list[DATASETS] = {
#include "data/source/datasets.inc"
};

const dataset_entry *dataset_find(const char *name) {
    for (size_t i = 0; i < DATASETS; i++)
        if (strcmp(dataset_list[i].name, name) == 0) return &dataset_list[i];
    return NULL;
}

const char *dataset_namesake(const char *name) {
    static const char SIGNS[] = " -_.";
    for (size_t i = 0; i < DATASETS; i++)
        if (spelling_alike(name, dataset_list[i].name, SIGNS)) return dataset_list[i].name;
    return spelling_alike(name, DATASET_SYNTHETIC, SIGNS) ? DATASET_SYNTHETIC : NULL;
}
