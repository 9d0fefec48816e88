// replica.h - a worker that is one engine on a contiguous range of the shards: what `single` (all
// of them) and `ddp` (a rank's own) have in common. These are hooks of strategy.h.
#ifndef LOCKSTEP_TRAIN_REPLICA_H
#define LOCKSTEP_TRAIN_REPLICA_H

#include "train/strategy.h"

status replica_open(const worker_options *o, worker **w, error *err) MUST_CHECK;
void replica_close(worker *w);
void replica_shards(const worker *w, int *first, int *end);
void replica_write(worker *w, const float *parameters, const float *buffers, const float *state);
status replica_read(worker *w, float *parameters, float *buffers, float *state,
                    error *err) MUST_CHECK;
status replica_step(worker *w, const batch *b, const update_rule *rule, const bool wish[WISHES],
                    step_result *result, error *err) MUST_CHECK;
status replica_collect(worker *w, update_result *results, int count, error *err) MUST_CHECK;
status replica_infer(worker *w, const uint8_t *const *pixels, size_t samples, float *logits,
                     error *err) MUST_CHECK;
phase_times replica_times(worker *w);
const char *replica_isa(const worker *w);
size_t replica_memory(const worker *w);
bool replica_has_images(const worker *w);
status replica_describe(const worker *w, yaml_node *segment, error *err) MUST_CHECK;

#endif
