// SPDX-License-Identifier: MIT
#include "data/images/array_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

enum { NAME_BYTES = 32 };

static const struct {
    const char *word;
    array_part part;
} part_words[] = {
    {"training", ARRAYS_TRAIN},   {"train", ARRAYS_TRAIN},    {"testing", ARRAYS_TEST},
    {"test", ARRAYS_TEST},        {"val", ARRAYS_VALIDATION}, {"validation", ARRAYS_VALIDATION},
    {"valid", ARRAYS_VALIDATION}, {"", ARRAYS_ALL},
};

static const struct {
    const char *word;
    bool labels;
} array_words[] = {
    {"x", false},    {"image", false}, {"images", false}, {"img", false},
    {"imgs", false}, {"data", false},  {"pixels", false}, {"y", true},
    {"label", true}, {"labels", true}, {"target", true},  {"targets", true},
};

// The images or labels of a part: "train" and "x" in either order.
static named_array *place_in_part(array_list *l, const char *letters, size_t k) {
    const char *word = part_words[k].word;
    const size_t length = strlen(letters), own = strlen(word);
    for (size_t w = 0; w < sizeof array_words / sizeof *array_words; w++) {
        const char *rest = array_words[w].word;
        const size_t other = strlen(rest);
        if (length != own + other) continue;
        const bool before = !memcmp(letters, word, own) && !memcmp(letters + own, rest, other);
        const bool after = !memcmp(letters, rest, other) && !memcmp(letters + other, word, own);
        if (before || after)
            return &(array_words[w].labels ? l->labels : l->images)[part_words[k].part];
    }
    return NULL;
}

// Capitals, '_' and other signs do not matter.
named_array *array_list_place(array_list *l, const char *name) {
    char letters[NAME_BYTES];
    size_t count = 0;
    named_array *place = NULL;
    for (; *name; name++) {
        if (isdigit((unsigned char)*name) || count == sizeof letters - 1) return NULL;
        if (isalpha((unsigned char)*name)) letters[count++] = (char)tolower((unsigned char)*name);
    }
    letters[count] = '\0';
    for (size_t k = 0; !place && k < sizeof part_words / sizeof *part_words; k++)
        place = place_in_part(l, letters, k);
    return place;
}

bool array_list_is_part(const char *word) {
    for (size_t k = 0; k < sizeof part_words / sizeof *part_words; k++)
        if (*word && strcasecmp(word, part_words[k].word) == 0) return true;
    return false;
}

bool array_list_has(const array_list *l, array_part part) {
    return l->images[part].bytes && l->labels[part].bytes;
}

void array_list_unused(const array_list *l, const array_part *parts, int count, strvec *unused) {
    for (size_t i = 0; i < l->names.count; i++) {
        const char *name = l->names.items[i];
        bool used = false;
        for (int k = 0; k < count; k++)
            used = used || strcmp(name, l->images[parts[k]].name) == 0 ||
                   strcmp(name, l->labels[parts[k]].name) == 0;
        if (!used) strvec_add(unused, name);
    }
}

char *array_list_text(const strvec *names) {
    enum { MOST = 12 };
    text list = {0};
    for (size_t i = 0; i < names->count && i < MOST; i++)
        text_format(&list, "%s%.60s", i ? ", " : "", names->items[i]);
    if (names->count > MOST) text_append(&list, ", …");
    if (!names->count) text_append(&list, "none");
    return text_take(&list);
}

static void release(named_array *arrays) {
    for (int k = 0; k < ARRAY_PARTS; k++) {
        free(arrays[k].name);
        free(arrays[k].bytes);
    }
}

void array_list_release(array_list *l) {
    release(l->images);
    release(l->labels);
    strvec_release(&l->names);
    strvec_release(&l->others);
    *l = (array_list){0};
}
