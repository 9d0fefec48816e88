// SPDX-License-Identifier: MIT
// golden_update.h - the rule of an "update" case of tests/golden/operations.safetensors.
#ifndef LOCKSTEP_TESTS_GOLDEN_UPDATE_H
#define LOCKSTEP_TESTS_GOLDEN_UPDATE_H

#include "ops.h"

#include <stdio.h>

#include "compute/backend.h"

// Reads the numbers of " key=1.5,2"; leaves those of a missing key as they are.
static inline void golden_numbers(const char *description, const char *key, float *to) {
    char wanted[32];
    snprintf(wanted, sizeof wanted, " %s=", key);
    const char *at = strstr(description, wanted);
    if (!at) return;
    char *end = (char *)at + strlen(wanted) - 1;
    do *to++ = (float)strtod(end + 1, &end);
    while (*end == ',');
}

static inline update_rule golden_rule(const char *description) {
    update_rule rule = {0};
    char word[32];
    int k = 0;
    assert_int_equal(sscanf(description, "update kind=%31s", word), 1);
    while (k < OPTIMIZER_KINDS && strcmp(optimizer_kind_traits[k].word, word) != 0) k++;
    if (k == OPTIMIZER_KINDS) fail_msg("there is no optimizer '%s'", word);
    rule.kind = (optimizer_kind)k;
    golden_numbers(description, "lr", &rule.lr);
    golden_numbers(description, "weight_decay", &rule.weight_decay);
#define KEY(first, key, ...) golden_numbers(description, key, &rule.hyper[HYPER_##first]);
    OPTIMIZER_KEYS(KEY)
#undef KEY
    return rule;
}

#endif
