// SPDX-License-Identifier: MIT
#include "data/images/image_names.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static bool is_one_of(const char *word, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(word, words[i]) == 0) return true;
    return false;
}

image_ending image_ending_of(const char *name) {
    static const char *const read[] = {"jpg", "jpeg", "png"};
    static const char *const other[] = {"avif", "bmp", "dib", "gif",  "heic", "heif", "jfif",
                                        "jp2",  "jpe", "jxl", "pbm",  "pgm",  "pnm",  "ppm",
                                        "svg",  "tga", "tif", "tiff", "webp"};
    const char *dot = strrchr(name, '.');
    if (!dot) return ENDING_NONE;
    if (is_one_of(dot + 1, read, LENGTH(read))) return ENDING_READ;
    return is_one_of(dot + 1, other, LENGTH(other)) ? ENDING_OTHER : ENDING_NONE;
}

// Cuts off one of the endings that do not count.
static bool shorten(char *word) {
    static const char *const endings[] = {"set", "data", "images", "集"};
    const size_t length = strlen(word);
    for (size_t i = 0; i < LENGTH(endings); i++) {
        const size_t own = strlen(endings[i]);
        if (own >= length || strcasecmp(word + length - own, endings[i]) != 0) continue;
        word[length - own] = 0;
        return true;
    }
    return false;
}

image_role image_role_of(const char *folder) {
    static const struct {
        const char *word;
        image_role role;
    } words[] = {
        {"train", ROLE_TRAIN},         {"training", ROLE_TRAIN},   {"训练", ROLE_TRAIN},
        {"test", ROLE_TEST},           {"testing", ROLE_TEST},     {"测试", ROLE_TEST},
        {"val", ROLE_VALIDATION},      {"valid", ROLE_VALIDATION}, {"validation", ROLE_VALIDATION},
        {"验证", ROLE_VALIDATION},     {"images", ROLE_CONTENT},   {"imgs", ROLE_CONTENT},
        {"jpegimages", ROLE_CONTENT},  {"labels", ROLE_CONTENT},   {"masks", ROLE_CONTENT},
        {"annotations", ROLE_CONTENT},
    };
    char word[32];
    size_t length = 0;
    for (; *folder; folder++) {
        if (strchr(" _-0123456789", *folder)) continue;
        if (length + 1 == sizeof word) return ROLE_NONE;
        word[length++] = *folder;
    }
    word[length] = 0;
    do
        for (size_t i = 0; i < LENGTH(words); i++)
            if (strcasecmp(word, words[i].word) == 0) return words[i].role;
    while (shorten(word));
    return ROLE_NONE;
}
