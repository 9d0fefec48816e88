// SPDX-License-Identifier: MIT
#include "nn/initial_values.h"

#include <math.h>

#include "base/elementary.h"
#include "nn/whitening.h"

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
        random_stream s = {.seed = layer_seed(l, seed), .purpose = RANDOM_INIT};
        size_t channels = (size_t)l->out.channels;
        if (layer_statistics(l)) fill(buffers + l->variance, layer_statistics(l), 1);
        if (layer_traits_of(l)->tensors == TENSORS_CHANNELS) {
            fill(parameters + l->weight, channels, 1);
        } else if (layer_weights(l)) {
            double fan_in = (double)layer_weights(l) / (double)channels;
            float bound = (float)(1 / sqrt(fan_in));
            fill_uniform(&s, bound, parameters + l->weight, layer_weights(l));
            s.sample = 1;
            fill_uniform(&s, bound, parameters + l->bias, layer_biases(l));
        }
    }
}

// ---- Tensors with other values ----

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

// ---- Normal numbers ----

// Returns the sine of `turn` / 2^32 of a circle. Of its quarters the second runs backward, and the
// last two are negative.
static double sine_of_turn(uint32_t turn) {
    const double quarter = 0x1p30;
    const uint32_t part = turn & 0x3fffffffu;
    const double sine = elementary_sine((turn >> 30 & 1 ? quarter - part : part) / quarter);
    return turn >> 31 ? -sine : sine;
}

double normal_number(const random_stream *s, uint64_t element) {
    const uint64_t pair = element & ~UINT64_C(1);
    const double uniform = (random_bits(s, pair) + 0.5) * 0x1p-32; // never 0
    const uint32_t turn = random_bits(s, pair + 1);
    const uint32_t quarter = UINT32_C(1) << 30; // the cosine is a sine, a quarter ahead
    return sqrt(-2 * elementary_log(uniform)) * sine_of_turn(element & 1 ? turn : turn + quarter);
}

// ---- Their values ----

// The stream of model_init_parameters.
static random_stream stream_of(const model *m, const model_tensor *t, uint64_t seed) {
    const layer *l = &m->program.layers[t->layer];
    return (random_stream){.seed = layer_seed(l, seed),
                           .purpose = RANDOM_INIT,
                           .sample = t->offset == l->weight ? 0 : 1};
}

static void fill_normal(const random_stream *s, double deviation, float *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(deviation * normal_number(s, (uint64_t)i));
}

// As torch.nn.init.dirac_ does with the first filters, one for each channel; the others keep their
// values.
static void fill_dirac(const model_tensor *t, float *values) {
    const size_t outputs = (size_t)t->shape[0], inputs = (size_t)t->shape[1];
    const size_t height = (size_t)t->shape[2], width = (size_t)t->shape[3], plane = height * width;
    const size_t filters = outputs < inputs ? outputs : inputs;
    fill(values, filters * inputs * plane, 0);
    for (size_t f = 0; f < filters; f++)
        values[(f * inputs + f) * plane + height / 2 * width + width / 2] = 1;
}

void model_init_tensor(const model *m, const model_tensor *t, init_kind kind, uint64_t seed,
                       float *values) {
    const random_stream s = stream_of(m, t, seed);
    const double fan_in = (double)t->count / (double)t->shape[0];
    const double fan_out = t->rank > 1 ? (double)t->count / (double)t->shape[1] : 1;
    switch (kind) {
    case INIT_KAIMING_NORMAL: fill_normal(&s, sqrt(2 / fan_in), values, t->count); break;
    case INIT_KAIMING_UNIFORM: fill_uniform(&s, (float)sqrt(6 / fan_in), values, t->count); break;
    case INIT_XAVIER_UNIFORM:
        fill_uniform(&s, (float)sqrt(6 / (fan_in + fan_out)), values, t->count);
        break;
    case INIT_ZERO: fill(values, t->count, 0); break;
    case INIT_ONE: fill(values, t->count, 1); break;
    case INIT_DIRAC: fill_dirac(t, values); break;
    case INIT_DEFAULT: // model_init_parameters
    case INIT_WHITEN:  // whitening.h
    case INIT_KINDS: break;
    }
}
