// SPDX-License-Identifier: MIT
#include "train/trainer_lengths.h"

// Samples of one shard: those at places p of the partition with p mod V = v.
static uint32_t shard_size(const experiment *e, uint32_t samples, int shard) {
    uint32_t shards = (uint32_t)e->virtual_shards;
    return samples / shards + ((uint32_t)shard < samples % shards);
}

static uint32_t per_step(const experiment *e) {
    return (uint32_t)(e->global_batch / e->virtual_shards);
}

uint64_t trainer_steps_per_epoch(const experiment *e, uint32_t samples) {
    if (e->drop_last) return shard_size(e, samples, e->virtual_shards - 1) / per_step(e);
    return (shard_size(e, samples, 0) + per_step(e) - 1) / per_step(e);
}

uint64_t trainer_epoch_samples(const experiment *e, uint32_t samples) {
    if (!e->drop_last) return samples;
    return trainer_steps_per_epoch(e, samples) * (uint64_t)e->global_batch;
}

uint64_t trainer_steps(const experiment *e, uint32_t samples) {
    return experiment_steps(e, trainer_steps_per_epoch(e, samples));
}

int trainer_epochs(const experiment *e, uint32_t samples) {
    return experiment_epochs(e, trainer_steps_per_epoch(e, samples));
}

uint64_t trainer_epoch_steps(const experiment *e, uint32_t samples, int epoch) {
    const uint64_t whole = trainer_steps_per_epoch(e, samples);
    const uint64_t left = trainer_steps(e, samples) - (uint64_t)epoch * whole;
    return left < whole ? left : whole;
}

static uint64_t step_samples(const experiment *e, uint32_t samples, uint64_t step) {
    uint64_t sum = 0, per = per_step(e);
    for (int v = 0; v < e->virtual_shards; v++) {
        uint64_t size = shard_size(e, samples, v), first = step * per;
        if (first < size) sum += size - first < per ? size - first : per;
    }
    return sum;
}

double trainer_epoch_loss(const checkpoint *c, const experiment *e, uint32_t samples, int epoch) {
    const uint64_t first = (uint64_t)epoch * trainer_steps_per_epoch(e, samples);
    const uint64_t steps = trainer_epoch_steps(e, samples, epoch);
    uint64_t seen = 0;
    double sum = 0;
    for (uint64_t i = 0; i < steps; i++) {
        const uint64_t n = step_samples(e, samples, i);
        sum += (double)c->timeline.loss[first + i] * (double)n;
        seen += n;
    }
    return sum / (double)seen;
}

double trainer_epoch_seconds(const checkpoint *c, const experiment *e, uint32_t samples,
                             int epoch) {
    const uint64_t first = (uint64_t)epoch * trainer_steps_per_epoch(e, samples);
    const uint64_t steps = trainer_epoch_steps(e, samples, epoch);
    uint64_t ns = 0;
    for (uint64_t i = 0; i < steps; i++) ns += c->timeline.wall[first + i];
    return (double)ns / 1e9;
}
