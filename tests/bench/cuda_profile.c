// SPDX-License-Identifier: MIT
// cuda_profile.c - times the operations of a training step on a GPU, one by one.
//
//     cuda_profile [--exact] [--serial-launches] LIBRARY DEVICE MODEL.yaml BATCH SHARDS REPEATS
//
// --exact, --serial-launches: as in engine_options.
// Prints comma-separated lines:
//     device,NAME
//     limit,WHAT,VALUE               memory and host in bytes/s, arithmetic in FLOP/s, launch in µs
//     operation,NAME,LAUNCHES,µs,BYTES,HOST_BYTES,FLOP
// lib/compute/cuda/library.h explains them. The last operation is the whole step. The images are
// random and on the device, like a data set in training.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "compute/cuda/library.h"
#include "nn/initial_values.h"
#include "nn/model.h"

enum { STEPS = 3, DATA_BATCHES = 4, OPERATIONS_MOST = 1024 };

static status open_library(const char *path, const cuda_library **library, error *err) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    cuda_library_entry *entry =
        handle ? (cuda_library_entry *)dlsym(handle, CUDA_LIBRARY_SYMBOL) : NULL;
    if (!entry) return error_set(err, STATUS_FAILED, "cannot open the library: %s", dlerror());
    *library = entry();
    if ((*library)->abi == CUDA_LIBRARY_ABI) return STATUS_OK;
    return error_set(err, STATUS_FAILED, "'%s' was not built with this program", path);
}

// ---- The work ----

typedef struct work {
    model m;
    int samples, shards, images;
    bool exact, serial_launches;
    int *count;             // of each shard
    uint8_t *bytes;         // of the data set
    const uint8_t **data;   // its images
    sample_target *targets; // of the batch, as the others
    const uint8_t **pixels;
    uint32_t *ids, *rows;
    float *parameters, *buffers;
} work;

static void release(work *w) {
    free(w->count), free(w->bytes), free(w->data), free(w->targets), free(w->pixels);
    free(w->ids), free(w->rows), free(w->parameters), free(w->buffers);
    model_release(&w->m);
}

static void allocate(work *w) {
    const size_t samples = (size_t)w->samples, images = (size_t)w->images;
    const program *p = &w->m.program;
    w->count = memory_new((size_t)w->shards, sizeof *w->count);
    w->bytes = memory_new(images, shape_size(p->input));
    w->data = memory_new(images, sizeof *w->data);
    w->targets = memory_new(samples, sizeof *w->targets);
    w->pixels = memory_new(samples, sizeof *w->pixels);
    w->ids = memory_new(samples, sizeof *w->ids);
    w->rows = memory_new(samples, sizeof *w->rows);
    w->parameters = memory_new(p->parameters, sizeof(float));
    w->buffers = memory_new(p->buffers, sizeof(float));
}

static uint32_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void fill(work *w) {
    const size_t size = shape_size(w->m.program.input);
    uint64_t state = 1;
    for (size_t i = 0; i < (size_t)w->images * size; i++)
        w->bytes[i] = (uint8_t)next_random(&state);
    for (int i = 0; i < w->images; i++) w->data[i] = w->bytes + (size_t)i * size;
    for (int i = 0; i < w->samples; i++) {
        w->rows[i] = next_random(&state) % (uint32_t)w->images;
        w->ids[i] = w->rows[i];
        w->pixels[i] = w->data[w->rows[i]];
        w->targets[i].label = next_random(&state) % (uint32_t)w->m.program.classes;
    }
    for (int v = 0; v < w->shards; v++)
        w->count[v] = w->samples / w->shards + (v < w->samples % w->shards);
    model_init_parameters(&w->m, 1, w->parameters, w->buffers);
}

static status prepare(work *w, const char *path, int samples, int shards, error *err) {
    w->samples = samples;
    w->shards = shards;
    w->images = DATA_BATCHES * samples;
    if (shards < 1 || samples < shards)
        return error_set(err, STATUS_USAGE, "a batch of %d in %d shards", samples, shards);
    status rc;
    TRY(model_read(&w->m, path, err));
    allocate(w);
    fill(w);
out:
    return rc;
}

static status train(const backend *be, engine *e, const work *w, error *err) {
    const batch b = {.shards = w->shards,
                     .count = w->count,
                     .end_shard = w->shards,
                     .pixels = w->pixels,
                     .targets = w->targets,
                     .ids = w->ids,
                     .rows = w->rows};
    update_rule rule = {.kind = OPTIMIZER_SGD, .lr = 0.001f, .hyper = {[HYPER_MOMENTUM] = 0.9f}};
    update_result result;
    status rc = STATUS_OK;
    be->write(e, w->parameters, w->buffers, NULL);
    for (; rule.step < STEPS; rule.step++) {
        TRY(be->run(e, &b, NULL, err));
        TRY(be->update(e, &rule, &result, err));
    }
out:
    return rc;
}

// ---- Measuring ----

static status open_engine(const backend *be, const work *w, int device, engine **e, error *err) {
    engine_options o = {.threads = 1,
                        .device = device,
                        .shards = w->shards,
                        .local_shards = w->shards,
                        .shard_samples = w->count[0],
                        .exact = w->exact,
                        .serial_launches = w->serial_launches,
                        .images = w->data,
                        .image_count = (uint32_t)w->images};
    for (int c = 0; c < ENGINE_MAX_CHANNELS; c++) o.mean[c] = o.std[c] = 0.5f;
    return be->open(&w->m.program, &o, OPTIMIZER_SGD, e, err);
}

static status measure(const cuda_library *library, const work *w, int device, int repeats,
                      error *err) {
    static operation_profile list[OPERATIONS_MOST];
    const backend *be = library->backend;
    device_limits limits;
    engine *e = NULL;
    int count;
    status rc;
    TRY(open_engine(be, w, device, &e, err));
    TRY(train(be, e, w, err));
    TRY(library->limits(e, &limits, err));
    TRY(library->profile(e, repeats, list, OPERATIONS_MOST, &count, err));
    printf("device,%s\n", be->describe(e).isa);
    printf("limit,memory,%.6g\nlimit,host,%.6g\nlimit,arithmetic,%.6g\nlimit,launch,%.6g\n",
           limits.bytes, limits.host_bytes, limits.flop, limits.launch_us);
    for (int i = 0; i < count && i < OPERATIONS_MOST; i++)
        printf("operation,%s,%d,%.6g,%.6g,%.6g,%.6g\n", list[i].name, list[i].launches, list[i].us,
               list[i].bytes, list[i].host_bytes, list[i].flop);
out:
    be->close(e);
    return rc;
}

// Returns whether the first argument is `flag`, and skips it.
static bool take_flag(int *argc, char ***argv, const char *flag) {
    if (*argc < 2 || strcmp((*argv)[1], flag) != 0) return false;
    --*argc, ++*argv;
    return true;
}

int main(int argc, char **argv) {
    const cuda_library *library = NULL;
    work w = {0};
    error err = {0};
    status rc;
    w.exact = take_flag(&argc, &argv, "--exact");
    w.serial_launches = take_flag(&argc, &argv, "--serial-launches");
    if (argc != 7) {
        fprintf(stderr, "usage: cuda_profile [--exact] [--serial-launches] LIBRARY DEVICE "
                        "MODEL.yaml BATCH SHARDS REPEATS\n");
        return STATUS_USAGE;
    }
    TRY(open_library(argv[1], &library, &err));
    TRY(prepare(&w, argv[3], atoi(argv[4]), atoi(argv[5]), &err));
    TRY(measure(library, &w, atoi(argv[2]), atoi(argv[6]), &err));
out:
    if (rc != STATUS_OK) fprintf(stderr, "cuda_profile: %s\n", err.message);
    release(&w);
    return (int)rc;
}
