// SPDX-License-Identifier: MIT
// replica.h - an executor with one engine on a contiguous range of shards, used by `single` (all
// shards) and `ddp` (the rank's own). The functions are hooks of strategy.h.
#ifndef LOCKSTEP_TRAIN_REPLICA_H
#define LOCKSTEP_TRAIN_REPLICA_H

#include "train/strategy.h"

status replica_open(const executor_options *o, executor **x, error *err) MUST_CHECK;
status replica_leave(executor *x, error *err) MUST_CHECK;
void replica_close(executor *x);
void replica_shards(const executor *x, int *first, int *end);
void replica_write(executor *x, const float *parameters, const float *buffers, const float *state);
status replica_read(executor *x, float *parameters, float *buffers, float *state,
                    error *err) MUST_CHECK;
status replica_step(executor *x, const batch *b, const update_rule *rule,
                    const bool request[REQUESTS], step_result *result, error *err) MUST_CHECK;
status replica_collect(executor *x, update_result *results, int count, error *err) MUST_CHECK;
status replica_infer(executor *x, const uint8_t *const *pixels, size_t samples, float *logits,
                     error *err) MUST_CHECK;
phase_times replica_times(executor *x);
engine_description replica_engines(const executor *x);
void replica_describe(const executor *x, yaml_node *segment);

#endif
