// SPDX-License-Identifier: MIT
// arrays.h - an engine's arrays, in device memory and, for copies, in pinned host memory.
// cuda_plan.h has those of activations.
#ifndef LOCKSTEP_COMPUTE_CUDA_PLAN_ARRAYS_H
#define LOCKSTEP_COMPUTE_CUDA_PLAN_ARRAYS_H

#include "compute/cuda/plan/cuda_plan.h"
#include "compute/cuda/plan/shards.h"

// The arenas of the program, and the update's state.
typedef struct model_arrays {
    float *parameters, *buffers, *state[2];
    size_t own_first, own_end; // the part of the parameter arena that this engine updates
    uint8_t *parameter_groups; // engine_options.parameter_groups; NULL: none
    update_progress *progress;
} model_arrays;

// Batch norm's numbers, all channels of all norms in a row.
typedef struct norm_arrays {
    double *own, *all; // of one norm at a time; all is own if no other engine has shards
    double *parts;     // likewise
    unsigned *counters;
    double *own_host, *all_host;        // pinned; only if engines exchange
    float *mean, *mean_rest;            // [shard][channel]; their sum is the mean
    float *inv_std, *scale, *shift;     // [shard][channel]
    float *from_dy, *from_z, *from_one; // [shard][channel]
    float *run_scale, *run_shift;       // [channel]: inference
} norm_arrays;

// Gradient buffers stay on the device until the caller requests them (backend.h).
typedef struct gradient_arrays {
    size_t floats; // that are summed over shards: a gradient buffer's, up to whole ARENA_ALIGNMENTs
    size_t stride; // from one shard's gradient buffer to the next; reducing ranks need a little
                   // more (shards.h)
    float *of_shards; // [local shards][stride]
    // [gradient buffers of the cover][stride]; the first is the reduced one; with one local shard
    // it is also that shard's gradient buffer.
    float *sums;
    float *losses;           // [local shards][groups]
    unsigned *loss_counters; // [local shards]
    // Host copies, pinned.
    float *host[COVER_MOST];
    float *reduced_host;
    bool here;         // `host` holds those of the last step
    bool reduced;      // reduce() has made the sum, on the device
    bool reduced_here; // reduced_host is the update's source
} gradient_arrays;

// One block of memory, on the host (pinned) and on the device: the same layout.
typedef struct step_input {
    step_numbers *numbers;
    int *count;             // [local shards]
    int *all_count;         // [V]
    int *merges;            // [local shards]; REDUCE_SKIP for a shard without a sample
    int *first_group;       // [local shards]
    uint32_t *rows, *ids;   // [local shards][lanes]
    sample_target *targets; // [local shards][lanes]
    // [local shards · lanes][bytes of an image]: used if the data set is not on the device
    uint8_t *images;
} step_input;

// The host prepares and sends a step's input while the device still works on earlier steps. So
// there are STEPS_AHEAD sets of blocks, used in turn, each with its own graphs.
enum { STEPS_AHEAD = 8 };
typedef struct input_turn {
    step_input host, device;
    cudaEvent_t done; // the last step that used these blocks has finished
} input_turn;

// Everything that changes from step to step lies in one block of device memory, the *step input*,
// which one copy fills. The data set is on the device if it fits: then the step input only names
// its rows.
typedef struct input_arrays {
    input_turn ahead[STEPS_AHEAD];
    uint64_t steps;          // since opening
    step_input host, device; // of this step's turn
    size_t bytes;            // of a step input
    cudaEvent_t arrived;     // the last input sent
    // [STEPS_AHEAD]: step numbers with the rule, for an update that runs separately; pinned
    step_numbers *rules;
    uint8_t *data_set; // all images; NULL: none given, or too large
} input_arrays;

// Results of steps and of inference.
typedef struct result_arrays {
    step_output *device, *host;  // [ENGINE_PENDING]
    int samples[ENGINE_PENDING]; // of the steps with these results
    int pending;
    float *logits_host;
} result_arrays;

// For engines that run a step in parts.
typedef struct exchange_arrays {
    float *blocks;  // [features][GROUP] per group
    int all_groups; // of all V shards; below, each group's samples and targets
    int *samples, *samples_host;
    sample_target *targets, *targets_host;
} exchange_arrays;

status cuda_take_model(model_arrays *m, const cuda_plan *p, cuda_device *d, error *err) MUST_CHECK;
status cuda_take_norms(norm_arrays *n, const cuda_plan *p, cuda_device *d, error *err) MUST_CHECK;
// `most`: gradient buffers that leave the engine in a step.
status cuda_take_gradients(gradient_arrays *r, size_t most, const cuda_plan *p, cuda_device *d,
                           error *err) MUST_CHECK;
status cuda_take_inputs(input_arrays *in, const cuda_plan *p, cuda_device *d,
                        error *err) MUST_CHECK;
// The data set, if there is room: after all other allocations.
status cuda_take_data_set(input_arrays *in, const cuda_plan *p, cuda_device *d,
                          error *err) MUST_CHECK;
void cuda_close_inputs(input_arrays *in);
status cuda_take_results(result_arrays *r, const cuda_plan *p, cuda_device *d,
                         error *err) MUST_CHECK;
status cuda_take_exchange(exchange_arrays *x, const cuda_plan *p, cuda_device *d,
                          error *err) MUST_CHECK;

// tasks.c: finishes the plan's tasks, once the arrays are there.
status cuda_make_tasks(cuda_plan *p, const model_arrays *m, const norm_arrays *n,
                       const gradient_arrays *r, const result_arrays *results, cuda_device *d,
                       error *err) MUST_CHECK;

// Returns the turn of this step, in [0, STEPS_AHEAD).
static inline size_t cuda_turn(const input_arrays *in) {
    return (size_t)(in->steps % STEPS_AHEAD);
}

#endif
