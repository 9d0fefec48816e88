// SPDX-License-Identifier: MIT
#include "nn/tensor_settings.h"

#include <stdlib.h>

#include "base/memory.h"
#include "nn/whitening.h"

// ---- Initial values ----

const char *init_kind_word(init_kind kind) {
    static const char *const words[INIT_KINDS] = {
        [INIT_DEFAULT] = "default",
        [INIT_KAIMING_NORMAL] = "kaiming_normal",
        [INIT_KAIMING_UNIFORM] = "kaiming_uniform",
        [INIT_XAVIER_UNIFORM] = "xavier_uniform",
        [INIT_ZERO] = "zero",
        [INIT_ONE] = "one",
        [INIT_DIRAC] = "dirac",
        [INIT_WHITEN] = "whiten",
    };
    return words[kind];
}

static bool is_conv_weight(const model *m, const model_tensor *t) {
    const layer *l = &m->program.layers[t->layer];
    return l->kind == LAYER_CONV && !t->is_buffer && t->offset == l->weight;
}

static const char *whiten_needs(const model *m, const model_tensor *t) {
    const layer *l = &m->program.layers[t->layer];
    const size_t values = is_conv_weight(m, t) ? t->count / (size_t)t->shape[0] : 0;
    if (values == 0 || layer_source(&m->program, t->layer) >= 0 || l->pad_h || l->pad_w)
        return "the weight of a convolution of the input, without padding";
    if ((size_t)t->shape[0] > 2 * values)
        return "a convolution with at most two outputs for each value of its patches";
    return values > WHITENING_MAX_VALUES ? "patches of at most 256 values" : NULL;
}

const char *init_kind_needs(init_kind kind, const model *m, const model_tensor *t) {
    switch (kind) {
    case INIT_KAIMING_NORMAL:
    case INIT_KAIMING_UNIFORM:
    case INIT_XAVIER_UNIFORM:
        return t->rank > 1 ? NULL : "the weight of a convolution or of a linear layer";
    case INIT_DIRAC: return is_conv_weight(m, t) ? NULL : "the weight of a convolution";
    case INIT_WHITEN: return whiten_needs(m, t);
    case INIT_DEFAULT:
    case INIT_ZERO:
    case INIT_ONE:
    case INIT_KINDS: break;
    }
    return NULL;
}

// ---- Groups ----

tensor_settings tensor_settings_default(void) {
    return (tensor_settings){.lr_factor = 1, .trained_epochs = TRAINED_ALWAYS};
}

static bool are_updated_alike(const tensor_settings *a, const tensor_settings *b) {
    if (a->trained_epochs != b->trained_epochs) return false;
    if (a->trained_epochs == 0) return true;
    return !(a->lr_factor < b->lr_factor) && !(a->lr_factor > b->lr_factor) &&
           a->has_weight_decay == b->has_weight_decay && !(a->weight_decay < b->weight_decay) &&
           !(a->weight_decay > b->weight_decay);
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
                           uint64_t epoch, parameter_group *rule) {
    for (int g = 1; g < groups->count; g++) {
        const tensor_settings *s = &groups->settings[g];
        const int epochs = s->trained_epochs;
        rule[g - 1] = (parameter_group){
            .lr = (float)(lr * s->lr_factor),
            .weight_decay = (float)(s->has_weight_decay ? s->weight_decay : weight_decay),
            .frozen = epochs != TRAINED_ALWAYS && epoch >= (uint64_t)epochs};
    }
}
