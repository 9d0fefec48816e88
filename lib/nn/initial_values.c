// SPDX-License-Identifier: MIT
// The parameters and buffers at the beginning of training.
#include <math.h>

#include "base/random.h"
#include "nn/model.h"

static void fill(float *values, size_t count, float value) {
    for (size_t i = 0; i < count; i++) values[i] = value;
}

// Uniform in ±bound. 2u - 1 is exact, so only one rounding remains.
static void fill_uniform(const random_stream *s, float bound, float *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        values[i] = bound * (2.0f * random_uniform(s, (uint64_t)i) - 1.0f);
}

void model_init_parameters(const model *m, uint64_t seed, float *parameters, float *buffers) {
    const program *p = &m->program;
    fill(parameters, p->parameters, 0);
    fill(buffers, p->buffers, 0);
    for (int i = 0; i < p->count; i++) {
        const layer *l = &p->layers[i];
        random_stream s = {.seed = seed, .purpose = RANDOM_INIT, .layer = (uint32_t)l->number};
        size_t channels = (size_t)l->out.channels;
        if (l->kind == LAYER_BATCH_NORM) {
            fill(parameters + l->weight, channels, 1);
            fill(buffers + l->variance, channels, 1);
        } else if (layer_weights(l)) {
            double fan_in = (double)layer_weights(l) / (double)channels;
            float bound = (float)(1 / sqrt(fan_in));
            fill_uniform(&s, bound, parameters + l->weight, layer_weights(l));
            s.sample = 1;
            if (l->has_bias) fill_uniform(&s, bound, parameters + l->bias, channels);
        }
    }
}
