// SPDX-License-Identifier: MIT
#include "data/source/pickle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/source/pickle_internal.h"

status pickle_refuse(const pickle_machine *m, const char *format, ...) {
    char why[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return error_set(m->err, STATUS_INPUT, "cannot read pickle: '%s': %s, at byte %zu", m->name,
                     why, m->opcode_at);
}

pickle_value *pickle_new(pickle_machine *m, pickle_kind kind) {
    if (++m->values > PICKLE_MAX_VALUES) {
        (void)pickle_refuse(m, "more than %d values", PICKLE_MAX_VALUES);
        return NULL;
    }
    pickle_value *v = memory_new(1, sizeof *v);
    v->kind = kind;
    v->before = m->result->last;
    m->result->last = v;
    return v;
}

void pickle_release(pickle *p) {
    while (p->last) {
        pickle_value *v = p->last;
        p->last = v->before;
        free(v->owned);
        free(v->items);
        free(v);
    }
    *p = (pickle){0};
}

const pickle_value *pickle_find(const pickle_value *v, const char *key) {
    for (size_t i = 0; v->kind == PICKLE_DICTIONARY && i + 1 < v->count; i += 2) {
        const pickle_value *k = v->items[i];
        if (k->kind == PICKLE_STRING && k->length == strlen(key) &&
            memcmp(k->bytes, key, k->length) == 0)
            return v->items[i + 1];
    }
    return NULL;
}
