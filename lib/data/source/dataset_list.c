// SPDX-License-Identifier: MIT
#include "data/source/dataset_list.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

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

static bool reads_alike(const char *a, const char *b) {
    for (;; a++, b++) {
        while (*a && !isalnum((unsigned char)*a)) a++;
        while (*b && !isalnum((unsigned char)*b)) b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
        if (!*a) return true;
    }
}

const char *dataset_namesake(const char *name) {
    for (size_t i = 0; i < DATASETS; i++)
        if (reads_alike(name, dataset_list[i].name)) return dataset_list[i].name;
    return reads_alike(name, DATASET_SYNTHETIC) ? DATASET_SYNTHETIC : NULL;
}
