// SPDX-License-Identifier: MIT
#include "base/spelling.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

enum { LONGEST_WORD = 143 };

// By the usual table, of which only the last three rows are kept.
static size_t edit_distance(const char *a, const char *b) {
    size_t rows[3][LONGEST_WORD + 1], length = strlen(b), i;
    for (size_t j = 0; j <= length; j++) rows[0][j] = j;
    for (i = 1; a[i - 1]; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *top = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < best) best = above[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                top[j - 2] + 1 < best)
                best = top[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[(i - 1) % 3][length];
}

size_t spelling_distance(const char *a, const char *b) {
    return strlen(a) > LONGEST_WORD || strlen(b) > LONGEST_WORD ? SIZE_MAX : edit_distance(a, b);
}

bool spelling_alike(const char *a, const char *b, const char *signs) {
    for (;; a++, b++) {
        a += strspn(a, signs);
        b += strspn(b, signs);
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
        if (!*a) return true;
    }
}

const char *spelling_nearest(const char *word, const char *const *words, size_t count) {
    size_t length = strlen(word);
    if (length > LONGEST_WORD) return NULL;
    for (size_t i = 0; i < count && length; i++)
        if (spelling_alike(word, words[i], " -_")) return words[i];
    // A third of the word may be wrong, and one letter of even a short word.
    size_t limit = length / 3 > 1 ? length / 3 : 1;
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t distance = spelling_distance(word, words[i]);
        if (distance > limit || distance >= length) continue;
        nearest = words[i];
        if (distance == 0) break;
        limit = distance - 1;
    }
    return nearest;
}
