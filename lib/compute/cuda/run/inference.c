// SPDX-License-Identifier: MIT
// Inference: images of any data set, in chunks of up to a step's number of samples.
#include <string.h>

#include "base/clock.h"
#include "compute/cuda/run/cuda_engine.h"

static void copy_images(const engine *e, const uint8_t *const *pixels, size_t samples) {
    const step_input *h = &e->input.host;
    const size_t bytes = shape_size(e->plan.program->input), lanes = (size_t)e->plan.lanes;
    for (size_t s = 0; s * lanes < samples; s++) {
        const size_t left = samples - s * lanes;
        h->count[s] = (int)(left < lanes ? left : lanes);
    }
    for (size_t n = 0; n < samples; n++) {
        h->rows[n] = (uint32_t)n;
        memcpy(h->images + n * bytes, pixels[n], bytes);
    }
}

static void store_logits(const engine *e, size_t samples, float *logits) {
    const size_t classes = (size_t)e->plan.program->classes, lanes = (size_t)e->plan.lanes;
    const float *from = e->results.logits_host;
    for (size_t n = 0; n < samples; n++)
        for (size_t j = 0; j < classes; j++)
            logits[n * classes + j] = from[(n / lanes * classes + j) * lanes + n % lanes];
}

static status infer_part(engine *e, const uint8_t *const *pixels, size_t samples, float *logits,
                         error *err) {
    const size_t lanes = (size_t)e->plan.lanes, shards = (samples + lanes - 1) / lanes;
    const size_t bytes = shards * (size_t)e->plan.program->classes * lanes * sizeof(float);
    status rc;
    copy_images(e, pixels, samples);
    e->shards.run_first = 0;
    e->shards.run_end = (int)shards;
    TRY(cuda_send(e, true, err));
    TRY(cuda_run_inference(e, err));
    TRY(cuda_enqueue_copy(&e->device, e->results.logits_host, cuda_last_unit(&e->plan)->z, bytes,
                          cudaMemcpyDeviceToHost, "reading logits", err));
    TRY(cuda_sync(e, err));
    store_logits(e, samples, logits);
out:
    return rc;
}

status cuda_infer(engine *e, const uint8_t *const *pixels, size_t samples, float *logits,
                  error *err) {
    const uint64_t begin = clock_now();
    const size_t room = (size_t)e->plan.options.local_shards * (size_t)e->plan.lanes;
    status rc;
    TRY(cuda_begin(&e->device, err));
    TRY(cuda_run_waiting(e, err));
    TRY(cuda_sync(e, err));
    cuda_prepare_inference(e);
    for (size_t done = 0; done < samples && rc == STATUS_OK; done += room) {
        const size_t left = samples - done;
        rc = infer_part(e, pixels + done, left < room ? left : room,
                        logits + done * (size_t)e->plan.program->classes, err);
    }
    e->clock.marked = 0;
    e->clock.times.ns[PHASE_FORWARD] += clock_now() - begin;
out:
    return rc;
}
