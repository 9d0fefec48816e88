// SPDX-License-Identifier: MIT
#include "pipeline/submission/template.h"

#include <string.h>

#include "base/text.h"

void template_choose(char *page, const char *marker, bool kept) {
    for (char *at = page; (at = strstr(at, marker));) {
        const char *end = strstr(at, "\n\n"), *rest = at + strlen(marker);
        if (!kept) rest = end ? end + 2 : at + strlen(at);
        memmove(at, rest, strlen(rest) + 1);
    }
}

// Returns the pair whose first text is at `place`; NULL if there is none.
static const char *const *find_pair(const char *place, const char *const pairs[][2], size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strncmp(place, pairs[i][0], strlen(pairs[i][0])) == 0) return pairs[i];
    return NULL;
}

char *template_fill(const char *page, const char *const pairs[][2], size_t count) {
    text filled = {0};
    while (*page) {
        const char *const *pair = find_pair(page, pairs, count);
        if (pair)
            text_append(&filled, pair[1]);
        else
            text_bytes(&filled, page, 1);
        page += pair ? strlen(pair[0]) : 1;
    }
    char *result = text_take(&filled);
    for (size_t n = result ? strlen(result) : 0;
         n > 1 && result[n - 1] == '\n' && result[n - 2] == '\n';)
        result[--n] = 0;
    text_release(&filled);
    return result;
}
