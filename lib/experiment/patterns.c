// SPDX-License-Identifier: MIT
#include "experiment/patterns.h"

#include <string.h>

// The resolved list has items {PATTERN: {...}}; it is absent if there are none.
static const yaml_node *list_of(const experiment *e) {
    return yaml_find(e->resolved, "tensors");
}

static size_t length(const yaml_node *list) {
    return list ? list->count : 0;
}

static const char *pattern_at(const yaml_node *list, size_t i) {
    return list->items[i]->keys[0];
}

static const yaml_node *settings_at(const yaml_node *list, size_t i) {
    return list->items[i]->items[0];
}

// Returns the index of a pattern in a list; its length if it is not there.
static size_t find(const yaml_node *list, const char *pattern) {
    size_t i = 0;
    while (i < length(list) && strcmp(pattern_at(list, i), pattern) != 0) i++;
    return i;
}

bool patterns_merge(const experiment *from, const experiment *to,
                    pattern_pair pairs[PATTERN_PAIRS_MAX], size_t *count) {
    const yaml_node *a = list_of(from), *b = list_of(to);
    size_t next = 0; // of a
    *count = 0;
    for (size_t i = 0; i <= length(b); i++) {
        const size_t at = i < length(b) ? find(a, pattern_at(b, i)) : length(a);
        const bool both = i < length(b) && at < length(a);
        if (both && at < next) return false;
        for (; (both || i == length(b)) && next < at; next++) {
            // One that b has, too, but later, is not in order.
            if (find(b, pattern_at(a, next)) < length(b)) return false;
            pairs[(*count)++] = (pattern_pair){pattern_at(a, next), settings_at(a, next), NULL};
        }
        if (i < length(b))
            pairs[(*count)++] = (pattern_pair){pattern_at(b, i), both ? settings_at(a, at) : NULL,
                                               settings_at(b, i)};
        if (both) next++;
    }
    return true;
}

bool patterns_differ(const pattern_pair *pair) {
    return !pair->from || !pair->to || !yaml_equal(pair->from, pair->to);
}

static void append(yaml_node *list, const char *pattern, const yaml_node *settings) {
    yaml_node *item = yaml_new(YAML_MAPPING);
    yaml_append(list, item);
    yaml_put(item, pattern, yaml_copy(settings));
}

void patterns_mix(const pattern_pair *pairs, size_t count, uint64_t kept, yaml_node **list) {
    size_t k = 0;
    *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < count; i++) {
        const bool differs = patterns_differ(&pairs[i]), stays = differs && kept >> k & 1u;
        const yaml_node *settings = stays ? pairs[i].from : pairs[i].to;
        k += differs;
        if (settings) append(*list, pairs[i].pattern, settings);
    }
    if ((*list)->count > 0) return;
    yaml_free(*list);
    *list = NULL;
}
