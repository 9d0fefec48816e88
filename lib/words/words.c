// SPDX-License-Identifier: MIT
#include "words/words.h"

#include <stdlib.h>
#include <string.h>

typedef struct pair {
    const char *english, *other;
} pair;

static const pair zh[] = {
#include "words/zh.inc"
};

typedef struct dictionary {
    const char *name;
    const pair *pairs;
    size_t count;
} dictionary;

static const dictionary dictionaries[LANGUAGES] = {
    [LANGUAGE_EN] = {"en", NULL, 0}, [LANGUAGE_ZH] = {"zh", zh, sizeof zh / sizeof *zh}};

static int by_english(const void *key, const void *element) {
    return strcmp(key, ((const pair *)element)->english);
}

const char *words_in(language l, const char *english) {
    const dictionary *d = &dictionaries[l];
    const pair *found =
        d->count ? bsearch(english, d->pairs, d->count, sizeof *d->pairs, by_english) : NULL;
    return found ? found->other : english;
}

bool words_pair(language l, size_t index, const char **english, const char **other) {
    const dictionary *d = &dictionaries[l];
    if (index >= d->count) return false;
    *english = d->pairs[index].english;
    *other = d->pairs[index].other;
    return true;
}

const char *language_name(language l) {
    return dictionaries[l].name;
}

bool language_find(const char *name, language *l) {
    for (int i = 0; i < LANGUAGES; i++) {
        if (strcmp(name, dictionaries[i].name) != 0) continue;
        *l = (language)i;
        return true;
    }
    return false;
}
