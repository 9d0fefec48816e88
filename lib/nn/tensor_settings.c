// SPDX-License-Identifier: MIT
#include "nn/tensor_settings.h"

#include <stdlib.h>

#include "base/memory.h"

tensor_settings tensor_settings_default(void) {
    return (tensor_settings){.lr_factor = 1, .trained_epochs = TRAINED_ALWAYS};
}

void tensor_settings_init(const model *m, const tensor_settings *settings, uint64_t seed,
                          float *parameters) {
    for (int i = 0; i < m->tensor_count; i++) {
        const model_tensor *t = &m->tensors[i];
        if (!t->is_buffer) model_init_tensor(m, t, settings[i].init, seed, parameters + t->offset);
    }
}

// ---- Parameter groups ----

static bool are_updated_alike(const tensor_settings *a, const tensor_settings *b) {
    if (a->trained_epochs != b->trained_epochs) return false;
    if (a->trained_epochs == 0) return true;
    return a->frozen_epochs == b->frozen_epochs && !(a->lr_factor < b->lr_factor) &&
           !(a->lr_factor > b->lr_factor) && a->has_weight_decay == b->has_weight_decay &&
           !(a->weight_decay < b->weight_decay) && !(a->weight_decay > b->weight_decay);
}

// Returns the group for these settings, after adding it if there is none. The count may exceed the
// room.
static int group_for(parameter_groups *groups, const tensor_settings *s) {
    for (int g = 0; g < groups->count && g < PARAMETER_GROUPS; g++)
        if (are_updated_alike(&groups->settings[g], s)) return g;
    if (groups->count < PARAMETER_GROUPS) groups->settings[groups->count] = *s;
    return groups->count++;
}

status parameter_groups_make(parameter_groups *groups, const model *m,
                             const tensor_settings *settings, error *err) {
    const size_t lines = (m->program.parameters + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT;
    *groups = (parameter_groups){.count = 1, .settings = {tensor_settings_default()}};
    uint8_t *of_line = memory_try_new(lines, sizeof *of_line, err);
    if (!of_line) return STATUS_FAILED;
    for (int i = 0; i < m->tensor_count; i++) {
        const model_tensor *t = &m->tensors[i];
        if (t->is_buffer) continue;
        const int group = group_for(groups, &settings[i]);
        const size_t first = t->offset / ARENA_ALIGNMENT;
        const size_t end = (t->offset + t->count + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT;
        for (size_t k = first; k < end; k++) of_line[k] = (uint8_t)group;
    }
    if (groups->count > 1 && groups->count <= PARAMETER_GROUPS)
        groups->of_line = of_line;
    else
        free(of_line);
    return STATUS_OK;
}

void parameter_groups_release(parameter_groups *groups) {
    free(groups->of_line);
    *groups = (parameter_groups){0};
}

void parameter_groups_rule(const parameter_groups *groups, double lr, double weight_decay,
                           uint64_t step, uint64_t steps_per_epoch, parameter_group *rule) {
    const uint64_t epoch = step / steps_per_epoch;
    for (int g = 1; g < groups->count; g++) {
        const tensor_settings *s = &groups->settings[g];
        const uint64_t first = (uint64_t)s->frozen_epochs;
        const int end = s->trained_epochs;
        rule[g - 1] = (parameter_group){
            .lr = (float)(lr * s->lr_factor),
            .weight_decay = (float)(s->has_weight_decay ? s->weight_decay : weight_decay),
            .first_step = first * steps_per_epoch,
            .frozen = epoch < first || (end != TRAINED_ALWAYS && epoch >= (uint64_t)end)};
    }
}

uint32_t parameter_groups_frozen(const parameter_groups *groups, const parameter_group *rule) {
    uint32_t frozen = 0;
    for (int g = 1; g < groups->count; g++)
        if (rule[g - 1].frozen) frozen |= (uint32_t)1 << g;
    return frozen;
}
