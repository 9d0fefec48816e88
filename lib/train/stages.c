// SPDX-License-Identifier: MIT
#include "train/stages.h"

#include <math.h>
#include <string.h>

static int find_layer(const program *p, const char *name) {
    for (int i = 0; i < p->count; i++)
        if (strcmp(p->layers[i].name, name) == 0) return i;
    return -1;
}

static status cut_by_name(const experiment *e, const yaml_node *names, int *first, error *err) {
    const program *p = &e->model.program;
    for (size_t s = 0; s < names->count; s++) {
        const char *name = names->items[s]->text;
        const int at = find_layer(p, name);
        if (at < 0)
            return error_set(err, STATUS_USAGE,
                             "cannot cut the model: stage '%s': model '%s' has no such layer", name,
                             e->model.name);
        if (!program_can_cut(p, at) || at <= first[s])
            return error_set(err, STATUS_USAGE,
                             "cannot cut the model: stage '%s': a stage begins with a convolution "
                             "or a linear layer, after the previous stage and not beside other "
                             "branches",
                             name);
        first[s + 1] = at;
    }
    return STATUS_OK;
}

// Multiply-adds per sample before layer `end`.
static double cost_before(const experiment *e, int end) {
    double sum = 0;
    for (int i = 0; i < end; i++) {
        const layer_cost c = model_cost(&e->model, i);
        sum += c.forward + c.input_gradient + c.weight_gradient;
    }
    return sum;
}

static int beginnings_after(const program *p, int at) {
    int n = 0;
    for (int i = at + 1; i < p->count; i++) n += program_can_cut(p, i);
    return n;
}

// The layer after `after` whose preceding cost is nearest to `target`, with room for `left` more
// stages; -1: there is none.
static int nearest_cut(const experiment *e, int after, int left, double target) {
    const program *p = &e->model.program;
    int best = -1;
    for (int i = after + 1; i < p->count; i++) {
        if (!program_can_cut(p, i) || beginnings_after(p, i) < left) continue;
        if (best < 0 || fabs(cost_before(e, i) - target) < fabs(cost_before(e, best) - target))
            best = i;
    }
    return best;
}

status stages_cut(const experiment *e, int count, int *first, error *err) {
    const program *p = &e->model.program;
    const yaml_node *names = yaml_find(e->resolved, "stages");
    first[0] = 0;
    first[count] = p->count;
    if (names && names->kind == YAML_SEQUENCE && names->count == (size_t)(count - 1))
        return cut_by_name(e, names, first, err);
    const double total = cost_before(e, p->count);
    for (int s = 1; s < count; s++) {
        first[s] = nearest_cut(e, first[s - 1], count - 1 - s, total * s / count);
        if (first[s] < 0)
            return error_set(err, STATUS_USAGE,
                             "cannot cut the model: '%s' has too few convolutions and linear "
                             "layers for %d stages",
                             e->model.name, count);
    }
    return STATUS_OK;
}
