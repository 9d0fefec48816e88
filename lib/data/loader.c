// SPDX-License-Identifier: MIT
#include "data/loader.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"

typedef struct slot {
    batch batch;
    int *count;
    const uint8_t **pixels;
    sample_target *targets;
    uint32_t *ids, *rows;
    uint8_t *images; // if they are changed: one scratch image, then those of the batch; else NULL
    uint64_t step;   // the step that it holds, when ready
    bool ready;
} slot;

// Batches that each worker prepares ahead; fewer if their images take more memory than this.
enum { AHEAD = 8, AHEAD_LEAST = 2, AHEAD_BYTES = 32 << 20 };

typedef struct loader_worker {
    loader *owner;
    pthread_t thread;
    trace_track *track;
} loader_worker;

// Steps are tickets. The consumer takes `next`; workers take `ticket` … and put step s into slot s
// mod slot_count. The consumer still reads the slot of next - 1.
struct loader {
    loader_options options;
    uint64_t steps_per_epoch;
    slot *slots;
    uint64_t slot_count;
    uint64_t next, ticket;
    bool closing, resting;
    int filling; // workers that prepare a batch now
    pthread_mutex_t lock;
    pthread_cond_t room, ready, still;
    loader_worker *workers;
    int started;
};

int batch_samples(const batch *b) {
    int samples = 0;
    for (int v = 0; v < b->shards; v++) samples += b->count[v];
    return samples;
}

static bool changes_images(const loader_options *o) {
    return (o->augment && o->augment->count > 0) || o->mixup > 0;
}

static status slot_init(slot *s, const loader_options *o, error *err) {
    int shards = o->sampler->partition->shards;
    size_t room = (size_t)(o->end_shard - o->first_shard) * o->sampler->per_step;
    if (changes_images(o)) {
        s->images = memory_try_new(room + 1, dataset_sample_bytes(o->data), err);
        if (!s->images) return STATUS_FAILED;
    }
    s->count = memory_new((size_t)shards, sizeof *s->count);
    s->pixels = memory_try_new(room, sizeof *s->pixels, err);
    s->targets = memory_try_new(room, sizeof *s->targets, err);
    s->ids = memory_try_new(room, sizeof *s->ids, err);
    s->rows = memory_try_new(room, sizeof *s->rows, err);
    if (!s->pixels || !s->targets || !s->ids || !s->rows) return STATUS_FAILED;
    s->batch = (batch){.shards = shards,
                       .count = s->count,
                       .first_shard = o->first_shard,
                       .end_shard = o->end_shard,
                       .pixels = s->pixels,
                       .targets = s->targets,
                       .ids = s->ids,
                       .rows = s->rows};
    return STATUS_OK;
}

static uint8_t *image_at(const loader_options *o, const slot *s, size_t n) {
    return s->images + (n + 1) * dataset_sample_bytes(o->data);
}

// Returns the pixels of dataset sample `sample`, the n-th of the batch; augments it if asked to.
static const uint8_t *pixels_of(const loader_options *o, const slot *s, size_t n, uint32_t sample) {
    static const augment_list none = {0};
    const dataset *d = o->data;
    if (!s->images) return d->pixels[sample];
    const shape size = {d->channels, d->height, d->width};
    const augment_key key = {o->sampler->seed, s->batch.epoch, d->ids[sample]};
    uint8_t *to = image_at(o, s, n);
    augment_sample(o->augment ? o->augment : &none, &key, size, d->pixels[sample], s->images, to);
    return to;
}

// Mixes a shard, whose first sample is the n-th of the batch.
static void mix(const loader_options *o, const slot *s, size_t n, int count) {
    const mixup_shard shard = {.alpha = o->mixup,
                               .seed = o->sampler->seed,
                               .epoch = s->batch.epoch,
                               .count = count,
                               .bytes = dataset_sample_bytes(o->data),
                               .ids = s->ids + n,
                               .images = image_at(o, s, n),
                               .targets = s->targets + n,
                               .scratch = s->images};
    mixup_apply(&shard);
}

// The epoch of `step` must have been begun.
static void fill(const loader *l, slot *s, uint64_t step) {
    const loader_options *o = &l->options;
    uint32_t epoch = (uint32_t)(step / l->steps_per_epoch);
    size_t n = 0;
    s->batch.epoch = epoch;
    for (int v = 0; v < s->batch.shards; v++) {
        const uint32_t *samples;
        s->count[v] = sampler_step(o->sampler, epoch, step % l->steps_per_epoch, v, &samples);
        if (v < o->first_shard || v >= o->end_shard) continue;
        const size_t first = n;
        for (int i = 0; i < s->count[v]; i++, n++) {
            s->pixels[n] = pixels_of(o, s, n, samples[i]);
            s->targets[n] = (sample_target){.label = o->data->labels[samples[i]]};
            s->ids[n] = o->data->ids[samples[i]];
            s->rows[n] = samples[i];
        }
        if (o->mixup > 0) mix(o, s, first, s->count[v]);
    }
}

// Returns true if `step` may be prepared, while the loader does not rest. It needs a free slot, and
// beginning its epoch must not replace an order that is still read. Every step before `next` is
// ready, so the epochs before that of `next` are no longer read.
static bool may_prepare(const loader *l, uint64_t step) {
    uint64_t held = l->next > l->options.first_step ? 1 : 0;
    if (l->resting) return false;
    if (step >= l->next - held + l->slot_count) return false;
    return step / l->steps_per_epoch < l->next / l->steps_per_epoch + SAMPLER_EPOCHS;
}

// Returns true if the workers should be woken: half of the slots are free. If they share the cores
// with the threads that compute, they interrupt one of these, and a step ends with its slowest
// thread. So they are woken rarely, and together.
static bool should_prepare(const loader *l) {
    return l->ticket - l->next <= l->slot_count / 2;
}

static void *work(void *argument) {
    const loader_worker *w = argument;
    loader *l = w->owner;
    pthread_mutex_lock(&l->lock);
    for (;;) {
        while (!l->closing && l->ticket < l->options.end_step && !may_prepare(l, l->ticket))
            pthread_cond_wait(&l->room, &l->lock);
        if (l->closing || l->ticket >= l->options.end_step) break;
        uint64_t step = l->ticket++;
        slot *s = &l->slots[step % l->slot_count];
        s->ready = false;
        l->filling++;
        sampler_begin_epoch(l->options.sampler, (uint32_t)(step / l->steps_per_epoch));
        pthread_mutex_unlock(&l->lock);
        const uint64_t begin = trace_clock(w->track);
        fill(l, s, step);
        trace_operation(w->track, "batch", (int64_t)step, begin, trace_clock(w->track));
        pthread_mutex_lock(&l->lock);
        s->step = step;
        s->ready = true;
        if (--l->filling == 0 && l->resting) pthread_cond_signal(&l->still);
        if (step == l->next) pthread_cond_signal(&l->ready);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

// Blocks all signals in the workers: the training thread handles them.
static status start_workers(loader *l, error *err) {
    int reason = 0;
    for (int i = 0; i < l->options.workers; i++) {
        loader_worker *w = &l->workers[i];
        w->owner = l;
        trace_track_new(l->options.trace, &w->track, "loader %d", i);
    }
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (l->started < l->options.workers && !reason) {
        loader_worker *w = &l->workers[l->started];
        reason = pthread_create(&w->thread, NULL, work, w);
        if (!reason) l->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!reason) return STATUS_OK;
    return error_system(err, STATUS_FAILED, reason, "cannot start loader worker: '%d'", l->started);
}

// The batch that the consumer reads has a slot, too.
static uint64_t slots_for(const loader_options *o) {
    if (!o->workers) return 1;
    const size_t samples = (size_t)(o->end_shard - o->first_shard) * o->sampler->per_step;
    const size_t bytes = changes_images(o) ? samples * dataset_sample_bytes(o->data) : 0;
    uint64_t ahead = AHEAD;
    while (ahead > AHEAD_LEAST && ahead * bytes * (size_t)o->workers > AHEAD_BYTES) ahead--;
    return ahead * (uint64_t)o->workers + 1;
}

status loader_new(const loader_options *o, loader **out, error *err) {
    status rc = STATUS_OK;
    *out = NULL;
    loader *l = memory_new(1, sizeof *l);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->room, NULL);
    pthread_cond_init(&l->ready, NULL);
    pthread_cond_init(&l->still, NULL);
    l->options = *o;
    l->steps_per_epoch = sampler_steps_per_epoch(o->sampler);
    l->next = l->ticket = o->first_step;
    l->slot_count = slots_for(o);
    l->slots = memory_new(l->slot_count, sizeof *l->slots);
    l->workers = memory_new((size_t)o->workers, sizeof *l->workers);
    for (uint64_t i = 0; i < l->slot_count; i++) TRY(slot_init(&l->slots[i], o, err));
    TRY(start_workers(l, err));
    *out = l;
    return STATUS_OK;
out:
    loader_free(l);
    return rc;
}

const batch *loader_next(loader *l) {
    if (l->next >= l->options.end_step) return NULL;
    slot *s = &l->slots[l->next % l->slot_count];
    if (!l->options.workers) {
        sampler_begin_epoch(l->options.sampler, (uint32_t)(l->next / l->steps_per_epoch));
        fill(l, s, l->next++);
        return &s->batch;
    }
    pthread_mutex_lock(&l->lock);
    while (!s->ready || s->step != l->next) pthread_cond_wait(&l->ready, &l->lock);
    l->next++;
    if (should_prepare(l)) pthread_cond_broadcast(&l->room);
    pthread_mutex_unlock(&l->lock);
    return &s->batch;
}

void loader_rest(loader *l) {
    pthread_mutex_lock(&l->lock);
    l->resting = true;
    while (l->filling) pthread_cond_wait(&l->still, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

void loader_go(loader *l) {
    pthread_mutex_lock(&l->lock);
    l->resting = false;
    pthread_cond_broadcast(&l->room);
    pthread_mutex_unlock(&l->lock);
}

void loader_free(loader *l) {
    if (!l) return;
    pthread_mutex_lock(&l->lock);
    l->closing = true;
    pthread_cond_broadcast(&l->room);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->started; i++) pthread_join(l->workers[i].thread, NULL);
    for (uint64_t i = 0; l->slots && i < l->slot_count; i++) {
        free(l->slots[i].count);
        free(l->slots[i].pixels);
        free(l->slots[i].targets);
        free(l->slots[i].ids);
        free(l->slots[i].rows);
        free(l->slots[i].images);
    }
    free(l->slots);
    free(l->workers);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->room);
    pthread_cond_destroy(&l->ready);
    pthread_cond_destroy(&l->still);
    free(l);
}
