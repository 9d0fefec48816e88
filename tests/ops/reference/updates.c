// SPDX-License-Identifier: MIT
// The optimizers as torch.optim computes them.
#include <math.h>

#include "../reference.h"

static void sgd(const update_rule *rule, double g, double *parameter, double *momentum) {
    g += (double)rule->weight_decay * *parameter;
    const double part = (double)rule->hyper[HYPER_MOMENTUM];
    *momentum = part * *momentum + g;
    *parameter -=
        (double)rule->lr * (rule->hyper[HYPER_NESTEROV] != 0 ? g + part * *momentum : *momentum);
}

static void adam(const update_rule *rule, double g, double *parameter, double *m, double *v) {
    const double beta1 = (double)rule->hyper[HYPER_BETA1], beta2 = (double)rule->hyper[HYPER_BETA2];
    const double t = (double)rule->step + 1;
    if (rule->kind == OPTIMIZER_ADAMW)
        *parameter -= (double)rule->lr * (double)rule->weight_decay * *parameter;
    else
        g += (double)rule->weight_decay * *parameter;
    *m = beta1 * *m + (1 - beta1) * g;
    *v = beta2 * *v + (1 - beta2) * g * g;
    double mean = *m / (1 - pow(beta1, t)), square = *v / (1 - pow(beta2, t));
    *parameter -= (double)rule->lr * mean / (sqrt(square) + (double)rule->hyper[HYPER_EPS]);
}

static void adadelta(const update_rule *rule, double g, double *parameter, double *squares,
                     double *deltas) {
    const double rho = (double)rule->hyper[HYPER_RHO], eps = (double)rule->hyper[HYPER_EPS];
    g += (double)rule->weight_decay * *parameter;
    *squares = rho * *squares + (1 - rho) * g * g;
    const double delta = sqrt(*deltas + eps) / sqrt(*squares + eps) * g;
    *deltas = rho * *deltas + (1 - rho) * delta * delta;
    *parameter -= (double)rule->lr * delta;
}

void reference_update(const update_rule *rule, const uint8_t *groups, double scale, size_t n,
                      const double *gradient, double *parameters, double *state) {
    for (size_t i = 0; i < n; i++) {
        bool frozen;
        const update_rule own =
            parameter_group_rule(rule, groups ? groups[i / ARENA_ALIGNMENT] : 0, &frozen);
        double g = scale * gradient[i];
        if (frozen) continue;
        switch (rule->kind) {
        case OPTIMIZER_SGD: sgd(&own, g, &parameters[i], &state[i]); break;
        case OPTIMIZER_ADAM:
        case OPTIMIZER_ADAMW: adam(&own, g, &parameters[i], &state[i], &state[n + i]); break;
        case OPTIMIZER_ADADELTA: adadelta(&own, g, &parameters[i], &state[i], &state[n + i]); break;
        }
    }
}
