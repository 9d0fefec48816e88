// SPDX-License-Identifier: MIT
#include "results/reasons.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

// What is no difference of two values. `format` has %a and %b for what it is about.
static const struct {
    const char *of, *format;
} sentences[] = {
    {"untrained", "%a has no training run"},
    {"no times", "%a has no times"},
    {"restarted", "%a was restarted after a process died: its times come from several executions"},
    {"resumed", "%a was resumed: its times come from several executions"},
    {"unknown data", "data unknown"},
    {"another round", "it is not of a round with the other runs"},
    {"no basis", "this report has no run on one rank"},
    {"no model of the device", "there is no scaling model for the device %a"},
    {"another machine", "the collectives were measured on another machine: %a, %b"},
    {"other devices", "the collectives were measured on %a"},
    {"another reduction", "the run uses --reduce %a, the collectives were measured with %b"},
    {"no collective", "no collective was measured with %a ranks"},
    {"other hosts", "hosts of the run: %a, of the collectives: %b"},
    {"another transport", "the run reduces over %a, the collectives were measured over %b"},
    {"unknown messages", "the size of its messages is unknown"},
    {"no phases", "%a: the manifest has no phases"},
};

static void append_sentence(text *out, const char *format, const reason *r) {
    for (; *format; format++) {
        if (*format != '%') {
            text_bytes(out, format, 1);
            continue;
        }
        const char *value = *++format == 'a' ? r->a : r->b;
        text_append(out, value ? value : "");
    }
}

void reasons_append(const reason_list *list, text *out) {
    for (size_t i = 0; i < list->count; i++) {
        const reason *r = &list->items[i];
        const char *format = r->a ? NULL : "differs";
        if (i) text_append(out, "; ");
        bool said = false;
        for (size_t k = 0; k < sizeof sentences / sizeof *sentences; k++) {
            if (strcmp(sentences[k].of, r->of) != 0) continue;
            append_sentence(out, sentences[k].format, r);
            said = true;
        }
        if (said) continue;
        text_format(out, "%s ", r->of);
        append_sentence(out, format ? format : "%a vs %b", r);
    }
}
