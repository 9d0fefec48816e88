// SPDX-License-Identifier: MIT
#include "train/average.h"

#include <string.h>

static double power(double base, int exponent) {
    double result = 1;
    for (int i = 0; i < exponent; i++) result *= base;
    return result;
}

bool average_is_due(const averaging *a, uint64_t step, uint64_t total) {
    if (a->kind == AVERAGING_NONE) return false;
    return step % (uint64_t)a->every == 0 || (a->kind == AVERAGING_LOOKAHEAD && step == total);
}

double average_share(const averaging *a, uint64_t step, uint64_t total) {
    if (step % (uint64_t)a->every) return 1;
    if (a->kind == AVERAGING_EMA) return a->decay;
    return power(a->decay, a->every) * power((double)step / (double)total, a->ramp);
}

static void mix(float *average, const float *weights, size_t n, double share) {
    for (size_t i = 0; i < n; i++)
        average[i] = (float)(share * (double)average[i] + (1 - share) * (double)weights[i]);
}

void average_take(const averaging *a, checkpoint *c, uint64_t total, bool *changed) {
    const size_t n = c->model->program.parameters, buffers = c->model->program.buffers;
    const double share = average_share(a, c->step, total);
    if (share < 1) {
        mix(c->average, c->parameters, n, share);
        mix(c->average_buffers, c->buffers, buffers, share);
    }
    *changed = a->kind == AVERAGING_LOOKAHEAD;
    if (!*changed) return;
    memcpy(c->parameters, c->average, n * sizeof *c->parameters);
    if (buffers) memcpy(c->buffers, c->average_buffers, buffers * sizeof *c->buffers);
}
