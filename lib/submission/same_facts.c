// SPDX-License-Identifier: MIT
#include "submission/same_facts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static bool is_number(const yaml_node *scalar) {
    const yaml_type type = yaml_scalar_type(scalar);
    return type == YAML_INTEGER || type == YAML_NUMBER;
}

static bool same_scalars(const yaml_node *a, const yaml_node *b) {
    static const double tolerance = 1e-9; // relative
    if (!is_number(a) || !is_number(b))
        return yaml_scalar_type(a) == yaml_scalar_type(b) && strcmp(a->text, b->text) == 0;
    const double x = strtod(a->text, NULL), y = strtod(b->text, NULL);
    return fabs(x - y) <= tolerance * fmax(fabs(x), fabs(y));
}

// The place of a difference in the member `name`.
static char *differ_in(const yaml_node *a, const yaml_node *b, const char *name) {
    char *inside = a && b ? facts_differ(a, b) : memory_string("");
    char *place = inside ? memory_format("%s%s%s", name, *inside ? "." : "", inside) : NULL;
    free(inside);
    return place;
}

char *facts_differ(const yaml_node *a, const yaml_node *b) {
    char number[24], *place = NULL;
    if (a->kind != b->kind) return memory_string("");
    if (a->kind == YAML_SCALAR) return same_scalars(a, b) ? NULL : memory_string("");
    const yaml_node *more = a->count > b->count ? a : b, *less = more == a ? b : a;
    for (size_t i = 0; !place && i < more->count; i++) {
        snprintf(number, sizeof number, "%zu", i);
        if (more->kind == YAML_MAPPING)
            place = differ_in(more->items[i], yaml_find(less, more->keys[i]), more->keys[i]);
        else
            place = differ_in(more->items[i], i < less->count ? less->items[i] : NULL, number);
    }
    return place;
}
