// SPDX-License-Identifier: MIT
// update.cu - the end of a step, in one launch: optimizers, element by element, and the digest of
// the updated parameters; batch norm's running statistics, one block per norm; the step's result.
//
// The same bits as cpu/kernels/update.c from the same numbers: the same operations in the same
// order; fused rounding only where the source says fma; division and square root rounded to nearest
// (nvcc's default); subnormal momentum flushed to zero. Only the bits of a NaN may differ.
#include "compute/cuda/kernels/last_block.cuh"

enum {
    BLOCK = 128,
    EACH = 4, // elements per thread; a task's first and end are multiples of it, as in all arenas
    BLOCKS_MOST = 2048 // more would only queue up to add to the digest
};

// ---- Batch norm's running statistics ----

static __device__ __forceinline__ void follow(float *running, float sum, double weight,
                                              double momentum) {
    if (weight > 0)
        *running = (float)((1.0 - momentum) * (double)*running + momentum * ((double)sum / weight));
}

// One step for all channels of a norm, by one block.
static __device__ __forceinline__ void follow_norm(const norm_running_list &list, unsigned which) {
    const norm_running_task t = list.items[which];
    double elements = 0, with_variance = 0;
    for (int v = 0; v < list.shards; v++) {
        const double count = (double)list.all_count[v] * t.positions;
        elements += count;
        if (count >= 2) with_variance += count;
    }
    if (list.sync) with_variance = elements >= 2 ? elements : 0;
    for (int channel = (int)threadIdx.x; channel < t.channels; channel += (int)blockDim.x) {
        follow(&t.mean[channel], t.mean_sum[channel], elements, t.momentum);
        follow(&t.variance[channel], t.variance_sum[channel], with_variance, t.momentum);
    }
}

// ---- Optimizers ----

// What an update reads of step_numbers, in registers.
struct rule : update_numbers {
    bool frozen;
};

static __device__ rule rule_of(const step_numbers &n) {
    rule whole;
    static_cast<update_numbers &>(whole) = n.update;
    whole.frozen = false;
    return whole;
}

// The rule of the parameters at i to i + EACH, which are of one group.
static __device__ rule rule_at(const cuda_update_task &t, const rule &whole, size_t i) {
    const unsigned group = t.parameter_groups[i / ARENA_ALIGNMENT];
    rule own = whole;
    if (group == 0) return own;
    const group_numbers *g = &t.numbers->groups[group - 1];
    own.lr = g->lr;
    own.weight_decay = g->weight_decay;
    own.correction1 = g->correction1;
    own.correction2 = g->correction2;
    own.frozen = g->frozen;
    return own;
}

// Decaying momentum ends in zero, as on the CPU.
static __device__ float flush(float v) {
    return v >= 0x1p-126f || v <= -0x1p-126f || v != v ? v : 0.0f;
}

static __device__ void sgd(const rule &n, float g, float *p, float *s) {
    g = fmaf(n.weight_decay, *p, g);
    const float momentum = n.hyper[HYPER_MOMENTUM];
    *s = flush(fmaf(momentum, *s, g));
    const float step = n.hyper[HYPER_NESTEROV] != 0 ? fmaf(momentum, *s, g) : *s;
    *p = fmaf(-n.lr, step, *p);
}

template <bool DECOUPLED>
static __device__ void adam(const rule &n, float g, float *p, float *s, float *s2) {
    if (DECOUPLED)
        *p = fmaf(-n.lr * n.weight_decay, *p, *p);
    else
        g = fmaf(n.weight_decay, *p, g);
    const float beta1 = n.hyper[HYPER_BETA1], beta2 = n.hyper[HYPER_BETA2];
    *s = flush(fmaf(beta1, *s, (1.0f - beta1) * g));
    *s2 = flush(fmaf(beta2, *s2, (1.0f - beta2) * (g * g)));
    const float root = sqrtf(*s2 * n.correction2) + n.hyper[HYPER_EPS];
    *p = fmaf(-n.lr * n.correction1, *s / root, *p);
}

static __device__ void adadelta(const rule &n, float g, float *p, float *s, float *s2) {
    const float rho = n.hyper[HYPER_RHO], rest = 1.0f - rho, eps = n.hyper[HYPER_EPS];
    g = fmaf(n.weight_decay, *p, g);
    *s = flush(fmaf(rho, *s, rest * (g * g)));
    const float delta = sqrtf(*s2 + eps) / sqrtf(*s + eps) * g;
    *s2 = flush(fmaf(rho, *s2, rest * (delta * delta)));
    *p = fmaf(-n.lr, delta, *p);
}

// Updates element i and returns its part of the digest; the parts are added modulo 2^64.
template <optimizer_kind KIND>
static __device__ uint64_t update_one(const rule &n, size_t i, float g, float *p, float *s,
                                      float *s2) {
    g *= n.scale;
    if (!n.frozen) switch (KIND) {
        case OPTIMIZER_SGD: sgd(n, g, p, s); break;
        case OPTIMIZER_ADAM: adam<false>(n, g, p, s, s2); break;
        case OPTIMIZER_ADAMW: adam<true>(n, g, p, s, s2); break;
        case OPTIMIZER_ADADELTA: adadelta(n, g, p, s, s2); break;
        }
    uint32_t key = (uint32_t)i * 0x9E3779B1u;
    key = (key ^ key >> 15) | 1;
    return (uint64_t)__float_as_uint(*p) * key;
}

static __device__ float4 *four(float *p) {
    return reinterpret_cast<float4 *>(p);
}

template <optimizer_kind KIND>
static __device__ uint64_t update_four(const cuda_update_task &t, const rule &n, size_t i) {
    const float4 g = *reinterpret_cast<const float4 *>(t.gradient + i);
    float4 p = *four(t.parameters + i), s = *four(t.state + i), s2 = {0, 0, 0, 0};
    if (optimizer_states(KIND) > 1) s2 = *four(t.state2 + i);
    uint64_t digest = update_one<KIND>(n, i, g.x, &p.x, &s.x, &s2.x);
    digest += update_one<KIND>(n, i + 1, g.y, &p.y, &s.y, &s2.y);
    digest += update_one<KIND>(n, i + 2, g.z, &p.z, &s.z, &s2.z);
    digest += update_one<KIND>(n, i + 3, g.w, &p.w, &s.w, &s2.w);
    *four(t.parameters + i) = p;
    *four(t.state + i) = s;
    if (optimizer_states(KIND) > 1) *four(t.state2 + i) = s2;
    return digest;
}

static __device__ void store_result(const cuda_update_task &t) {
    step_output *result = &t.results[t.numbers->result];
    result->digest = __ldcg(&t.progress->digest);
    result->loss = *t.loss;
    t.progress->digest = 0;
}

// The norms' blocks come first: they wait for memory the longest.
template <optimizer_kind KIND>
static __global__ void __launch_bounds__(BLOCK) update(cuda_update_task t) {
    wait_for_kernels_before();
    const unsigned norms = (unsigned)t.norms.count, blocks = gridDim.x - norms;
    if (blockIdx.x < norms) {
        follow_norm(t.norms, blockIdx.x);
        return;
    }
    const rule whole = rule_of(*t.numbers);
    const size_t thread = (size_t)(blockIdx.x - norms) * BLOCK + threadIdx.x;
    const size_t round = (size_t)blocks * BLOCK * EACH;
    uint64_t digest = 0;
    for (size_t i = t.first + thread * EACH; i < t.end; i += round)
        digest += update_four<KIND>(t, t.parameter_groups ? rule_at(t, whole, i) : whole, i);
    digest = block_sum(digest);
    if (threadIdx.x == 0)
        atomicAdd(reinterpret_cast<unsigned long long *>(&t.progress->digest), digest);
    if (is_last_block(&t.progress->blocks, blocks) && threadIdx.x == 0) store_result(t);
}

// One block if there is nothing to update, because a result is due.
void cuda_update(launch_stream s, const cuda_update_task *t) {
    unsigned blocks = t->first < t->end ? blocks_for(t->end - t->first, BLOCK * EACH) : 1;
    if (blocks > BLOCKS_MOST) blocks = BLOCKS_MOST;
    blocks += (unsigned)t->norms.count;
    switch (t->kind) {
#define LAUNCH_UPDATE(KIND, ...) \
    case OPTIMIZER_##KIND: LAUNCH(update<OPTIMIZER_##KIND>, blocks, BLOCK, s, *t); break;
        OPTIMIZERS(LAUNCH_UPDATE)
#undef LAUNCH_UPDATE
    }
}
