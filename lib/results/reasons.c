// SPDX-License-Identifier: MIT
#include "results/reasons.h"

#include <stdlib.h>

#include "base/memory.h"

void reasons_add(reason_list *list, const char *of, const char *a, const char *b) {
    list->items = memory_grow(list->items, &list->capacity, list->count + 1, sizeof *list->items);
    list->items[list->count++] =
        (reason){of, a ? memory_string(a) : NULL, b ? memory_string(b) : NULL};
}

void reasons_release(reason_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].a);
        free(list->items[i].b);
    }
    free(list->items);
    *list = (reason_list){0};
}
