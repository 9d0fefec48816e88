// SPDX-License-Identifier: MIT
#include "results/leader.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

size_t leader_in_time(const comparison *const *with_first, size_t count) {
    size_t at = count, first = count;
    for (size_t i = 0; i < count; i++) {
        if (!with_first[i]) first = i;
        if (!with_first[i] || with_first[i]->time.kind == VERDICT_NONE) continue;
        if (at == count || with_first[i]->speedup.value > with_first[at]->speedup.value) at = i;
    }
    return at < count && with_first[at]->speedup.value < 1 ? first : at;
}

size_t leader_in_accuracy(const double *accuracies, size_t count) {
    size_t at = count;
    for (size_t i = 0; i < count; i++)
        if (!isnan(accuracies[i]) && (at == count || accuracies[i] > accuracies[at])) at = i;
    return at;
}

status leader_compare(const seed_group *const *groups, size_t count, size_t at,
                      const varied_keys *varied, leader *l, error *err) {
    comparison **family = memory_new(count, sizeof *family);
    size_t others = 0;
    status rc = STATUS_OK;
    *l = (leader){.at = at, .against = memory_new(count, sizeof *l->against), .count = count};
    for (size_t i = 0; at < count && rc == STATUS_OK && i < count; i++) {
        if (i == at) continue;
        rc = compare(groups[i], groups[at], varied, &l->against[i], err);
        family[others++] = &l->against[i];
    }
    if (rc == STATUS_OK)
        compare_together(family, others);
    else
        leader_release(l);
    free(family);
    return rc;
}

void leader_release(leader *l) {
    for (size_t i = 0; i < l->count; i++) comparison_release(&l->against[i]);
    free(l->against);
    *l = (leader){0};
}

standing leader_standing_in_time(const leader *l, size_t i) {
    const comparison *c = &l->against[i];
    if (l->at == l->count) return STANDING_UNKNOWN;
    if (i == l->at) return STANDING_FIRST;
    const bool behind = c->time.kind == VERDICT_COST
                            ? c->speedup.range.high < 1
                            : verdict_is_difference(&c->time) && c->speedup.value < 1;
    if (c->time.kind == VERDICT_NONE) return STANDING_UNKNOWN;
    return behind ? STANDING_BEHIND : STANDING_LEVEL;
}
