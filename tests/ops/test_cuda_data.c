// SPDX-License-Identifier: MIT
// The data set on the device: an engine that holds it, and receives a step's rows and their
// augmentations, must give the same bits as an engine that receives the pixels from augment_sample.
// Lists of augmentations are random but always the same. LOCKSTEP_CUDA_LIBRARY names the backend,
// as for test_cuda_engine.c.
#include "ops.h"

#include <stdio.h>

#include "../few.h"
#include "base/yaml_tree.h"
#include "compute/devices.h"
#include "data/augment.h"
#include "nn/initial_values.h"
#include "nn/model.h"

static const backend *be; // set by main

enum { IMAGES = 50, STEPS = 5, SHARDS = 3, SHARD_SAMPLES = 7, SAMPLES = SHARDS * SHARD_SAMPLES };
static const uint64_t SEED = 11;

// ---- A data set and a model ----

typedef struct fixture {
    model m;
    uint8_t *bytes;
    const uint8_t *images[IMAGES]; // some of them apart from the others in memory
    uint32_t ids[IMAGES];
    float *parameters, *buffers;
} fixture;

// Shapes that fill the kernel's tiles, and shapes that do not.
static const struct {
    const char *input, *layers;
} models[] = {
    {"[3, 9, 14]", "[conv: {out: 4, kernel: 3, stride: 3}, batch_norm, relu, flatten, "
                   "dropout: {p: 0.3}, linear: {out: 10}]"},
    {"[1, 16, 16]", "[flatten, linear: {out: 10}]"},
    {"[2, 1, 5]", "[flatten, linear: {out: 10}]"},
};
enum { MODELS = sizeof models / sizeof *models };

static void load_model(int which, model *m) {
    char text[500];
    error err = {0};
    yaml_node *root = NULL;
    snprintf(text, sizeof text, "schema: lockstep.model/1\nname: test\ninput: %s\nlayers: %s\n",
             models[which].input, models[which].layers);
    status rc = yaml_read_text(text, strlen(text), "model", &root, &err);
    if (rc == STATUS_OK) rc = model_from_yaml(m, root, &err);
    yaml_free(root);
    if (rc != STATUS_OK) fail_msg("%s", err.message);
}

static void begin(fixture *f, int which) {
    const random_stream s = {.seed = 5, .purpose = RANDOM_SYNTHETIC};
    load_model(which, &f->m);
    const program *p = &f->m.program;
    const size_t image = shape_size(p->input), places = 2 * IMAGES;
    f->bytes = calloc(places, image);
    f->parameters = calloc(p->parameters, sizeof(float));
    f->buffers = calloc(p->buffers + 1, sizeof(float));
    assert_true(f->bytes && f->parameters && f->buffers);
    model_init_parameters(&f->m, 7, f->parameters, f->buffers);
    for (size_t i = 0; i < places * image; i++)
        f->bytes[i] = (uint8_t)(1 + random_below(&s, i, 255));
    for (uint32_t i = 0; i < IMAGES; i++) {
        f->images[i] = f->bytes + (i < 20 ? i : 2 * i - 20) * image;
        f->ids[i] = 3 * i + 1;
    }
}

static void end(fixture *f) {
    free(f->bytes), free(f->parameters), free(f->buffers);
    model_release(&f->m);
}

// ---- Lists ----

// For images whose smaller side has `least` pixels.
static const augment_list *any_list(uint32_t round, int least) {
    static augment_list list;
    const random_stream s = {.seed = 6, .purpose = RANDOM_SYNTHETIC, .sample = round};
    for (int c = 0; c < AUGMENT_MAX_CHANNELS; c++) list.mean[c] = (uint8_t)(90 + c);
    list.count = round == 1 ? AUGMENT_MAX : (int)random_below(&s, 0, 5);
    double kinds = 5; // one resized crop at most
    for (int k = 0; k < list.count; k++) {
        double u[8];
        for (uint64_t i = 0; i < 8; i++)
            u[i] = (double)random_uniform(&s, 8 * ((uint64_t)k + 1) + i);
        augmentation *a = &list.items[k];
        *a = (augmentation){
            .kind = (augment_kind)(kinds * u[0]), .padding = (int)(6 * u[1]), .p = u[2]};
        a->alternate = u[2] < 0.5;
        a->mean = u[2] < 0.5;
        a->size = 1 + (int)(4 * u[1]);
        a->reflect = a->padding < least && u[3] < 0.5;
        a->degrees = u[3] < 0.3 ? 0 : 180 * u[4];
        a->translate[0] = a->translate[1] = 0.4 * u[5];
        a->scale[0] = u[6] < 0.3 ? 1 : u[6] < 0.4 ? 1e-4 : 0.5 + u[6];
        a->scale[1] = a->scale[0] * (1 + 0.5 * u[7]);
        if (a->kind != AUGMENT_RESIZED_CROP) continue;
        kinds = 4;
        a->scale[1] = u[6];
        a->scale[0] = u[6] * u[7];
        for (int i = 0; i < 2; i++)
            a->log_ratio[i] = elementary_log(a->ratio[i] = 0.5 + 2 * i * u[4]);
    }
    return &list;
}

// ---- Steps ----

static const int counts[STEPS][SHARDS] = {{7, 7, 7}, {7, 7, 7}, {7, 7, 7}, {5, 4, 4}, {7, 7, 7}};

// A step's samples, with their pixels for an engine without the data set.
typedef struct samples {
    batch b;
    uint32_t rows[SAMPLES], ids[SAMPLES];
    sample_target targets[SAMPLES];
    uint8_t *augmented, *scratch;
    const uint8_t *pixels[SAMPLES];
} samples;

static void choose_samples(samples *s, const fixture *f, int step, int first_shard) {
    const random_stream stream = {.seed = 9, .purpose = RANDOM_ORDER, .epoch = (uint32_t)step};
    size_t n = 0;
    for (int v = first_shard; v < SHARDS; v++)
        for (int i = 0; i < counts[step][v]; i++, n++) {
            const uint64_t place = (uint64_t)(v * SHARD_SAMPLES + i);
            s->rows[n] = random_below(&stream, place, IMAGES);
            s->ids[n] = f->ids[s->rows[n]];
            s->targets[n] = (sample_target){.label = s->rows[n] % 10};
        }
    s->b = (batch){.shards = SHARDS,
                   .count = counts[step],
                   .first_shard = first_shard,
                   .end_shard = SHARDS,
                   .targets = s->targets,
                   .ids = s->ids,
                   .rows = s->rows,
                   .epoch = (uint32_t)step / 2};
}

static void augment_samples(samples *s, const fixture *f, const augment_list *list) {
    const shape size = f->m.program.input;
    const size_t image = shape_size(size);
    for (size_t n = 0; n < SAMPLES; n++) {
        const augment_key key = {SEED, s->b.epoch, s->ids[n]};
        s->pixels[n] = s->augmented + n * image;
        augment_sample(list, &key, size, f->images[s->rows[n]], s->scratch,
                       s->augmented + n * image);
    }
    s->b.pixels = s->pixels;
    s->b.rows = NULL;
}

// All results of a sequence of steps.
typedef struct trail {
    float *gradients, *logits, *parameters; // per step; per step; at the end
    uint64_t digests[STEPS];
    size_t gradient_floats, memory;
} trail;

static void trail_init(trail *t, const fixture *f) {
    const program *p = &f->m.program;
    t->gradient_floats = gradient_floats(p);
    t->gradients = calloc(STEPS * t->gradient_floats, sizeof(float));
    t->logits = calloc((size_t)STEPS * IMAGES * (size_t)p->classes, sizeof(float));
    t->parameters = calloc(p->parameters, sizeof(float));
    assert_true(t->gradients && t->logits && t->parameters);
}

static void trail_release(trail *t) {
    free(t->gradients), free(t->logits), free(t->parameters);
}

static engine *open_engine(const fixture *f, const augment_list *list, bool kept, int first_shard) {
    engine_options o = {.threads = 1,
                        .shards = SHARDS,
                        .local_shards = SHARDS - first_shard,
                        .shard_samples = SHARD_SAMPLES,
                        .seed = SEED,
                        .images = kept ? f->images : NULL,
                        .image_count = kept ? IMAGES : 0,
                        .augment = kept ? list : NULL};
    error err;
    engine *e = NULL;
    for (int c = 0; c < ENGINE_MAX_CHANNELS; c++) o.mean[c] = 0.4f, o.std[c] = 0.2f;
    if (be->open(&f->m.program, &o, OPTIMIZER_SGD, &e, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    be->write(e, f->parameters, f->buffers, NULL);
    return e;
}

// Between the steps, inference: on pixels that are passed in, whether or not the engine holds the
// data.
static void one_step(engine *e, const fixture *f, const samples *s, int step, trail *t) {
    static const update_rule rule = {
        .kind = OPTIMIZER_SGD, .lr = 0.1f, .hyper = {[HYPER_MOMENTUM] = 0.9f}};
    const size_t bytes = t->gradient_floats * sizeof(float);
    float *const logits = t->logits + (size_t)step * IMAGES * (size_t)f->m.program.classes;
    update_result result;
    int count;
    error err;
    if (be->run(e, &s->b, NULL, &err) != STATUS_OK) fail_msg("%s", err.message);
    memcpy(t->gradients + (size_t)step * t->gradient_floats, be->gradients(e, &count)[0], bytes);
    if (s->b.first_shard > 0)
        memcpy(be->reduced(e), t->gradients + (size_t)step * t->gradient_floats, bytes);
    if (be->update(e, &rule, &result, &err) != STATUS_OK) fail_msg("%s", err.message);
    t->digests[step] = result.digest;
    if (step % 2 == 0 && be->infer(e, f->images, IMAGES, logits, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

static void train(const fixture *f, const augment_list *list, bool kept, int first_shard,
                  trail *t) {
    samples s = {0};
    const size_t image = shape_size(f->m.program.input);
    s.augmented = calloc(SAMPLES, image);
    s.scratch = calloc(1, image);
    assert_true(s.augmented && s.scratch);
    engine *e = open_engine(f, list, kept, first_shard);
    trail_init(t, f);
    t->memory = be->describe(e).memory;
    for (int step = 0; step < STEPS; step++) {
        choose_samples(&s, f, step, first_shard);
        if (!kept) augment_samples(&s, f, list);
        one_step(e, f, &s, step, t);
    }
    error err = {0};
    if (be->read(e, t->parameters, NULL, NULL, &err) != STATUS_OK) fail_msg("%s", err.message);
    be->close(e);
    free(s.augmented), free(s.scratch);
}

static void same_trails(const trail *a, const trail *b, const fixture *f) {
    const program *p = &f->m.program;
    const size_t logits = (size_t)STEPS * IMAGES * (size_t)p->classes;
    assert_memory_equal(a->gradients, b->gradients, STEPS * a->gradient_floats * sizeof(float));
    assert_memory_equal(a->logits, b->logits, logits * sizeof(float));
    assert_memory_equal(a->parameters, b->parameters, p->parameters * sizeof(float));
    assert_memory_equal(a->digests, b->digests, sizeof a->digests);
}

// ---- Tests ----

static void check_list(const fixture *f, const augment_list *list, int first_shard) {
    trail brought, kept;
    train(f, list, false, first_shard, &brought);
    train(f, list, true, first_shard, &kept);
    same_trails(&kept, &brought, f);
    assert_int_equal(kept.memory, brought.memory + IMAGES * shape_size(f->m.program.input));
    trail_release(&brought), trail_release(&kept);
}

// In every order of the emulation; the order of a GPU cannot be selected.
static void test_same_bits(void **state) {
    static const char *const orders[] = {"forward", "backward", "shuffle"};
    (void)state;
    for (int which = 0; which < MODELS; which++) {
        fixture f;
        begin(&f, which);
        const shape size = f.m.program.input;
        const int least = size.height < size.width ? size.height : size.width;
        // A sanitizer gets two lists in each order, and others for each model.
        for (uint32_t round = 0; round < 24; round++) {
            if (fewest_cases() && (round / 3 + (uint32_t)which) % 4) continue;
            setenv("LOCKSTEP_EMULATED_ORDER", orders[round % 3], 1);
            check_list(&f, any_list(round, least), round % 4 == 3 ? 1 : 0);
        }
        unsetenv("LOCKSTEP_EMULATED_ORDER");
        end(&f);
    }
}

// A list changes the bits: the test above compares something.
static void test_lists_matter(void **state) {
    static const augment_list none = {0};
    static const augment_list flip = {.count = 1,
                                      .items = {{.kind = AUGMENT_HORIZONTAL_FLIP, .p = 0.5}}};
    (void)state;
    fixture f;
    trail a, b;
    begin(&f, 0);
    train(&f, &none, true, 0, &a);
    train(&f, &flip, true, 0, &b);
    for (int step = 0; step < STEPS; step++) assert_true(a.digests[step] != b.digests[step]);
    trail_release(&a), trail_release(&b);
    end(&f);
}

// A device without room for the data set: each step passes its images, and the device augments
// them. Only the emulation can be that small.
static void test_too_large(void **state) {
    (void)state;
    fixture f;
    trail whole, none;
    char room[32];
    begin(&f, 1);
    const size_t bytes = IMAGES * shape_size(f.m.program.input);
    train(&f, any_list(1, 16), true, 0, &whole);
    snprintf(room, sizeof room, "%zu", whole.memory + bytes / 2);
    setenv("LOCKSTEP_EMULATED_MEMORY", room, 1);
    train(&f, any_list(1, 16), true, 0, &none);
    unsetenv("LOCKSTEP_EMULATED_MEMORY");
    same_trails(&none, &whole, &f);
    if (getenv("LOCKSTEP_CUDA_LIBRARY") && strstr(getenv("LOCKSTEP_CUDA_LIBRARY"), "emulated"))
        assert_int_equal(none.memory, whole.memory - bytes);
    trail_release(&whole), trail_release(&none);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_lists_matter),
        cmocka_unit_test(test_too_large),
    };
    error err = {0};
    if (backend_open("cuda", &be, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
