// SPDX-License-Identifier: MIT
// Batches: the same for any number of workers, any start of the run, any rests, and any shards.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "data/loader.h"

enum { SAMPLES = 61, EPOCHS = 3, HEIGHT = 2, WIDTH = 3, PIXELS = HEIGHT * WIDTH };

typedef struct fixture {
    dataset data;
    uint8_t images[SAMPLES][PIXELS];
    uint32_t labels[SAMPLES];
    uint32_t ids[SAMPLES];
    const uint8_t *pixels[SAMPLES];
    partition partition;
    sampler sampler;
    double mixup; // of loaders opened next
} fixture;

// Small images; ids that are not indices.
static void begin(fixture *f, int shards, int global_batch) {
    error err = {0};
    memset(f, 0, sizeof *f);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        for (uint32_t k = 0; k < PIXELS; k++) f->images[i][k] = (uint8_t)(i + 37 * k);
        f->labels[i] = (uint32_t)(i % 7);
        f->ids[i] = 1000 + i;
        f->pixels[i] = f->images[i];
    }
    f->data = (dataset){.samples = SAMPLES,
                        .channels = 1,
                        .height = HEIGHT,
                        .width = WIDTH,
                        .classes = 7,
                        .pixels = f->pixels,
                        .labels = f->labels,
                        .ids = f->ids};
    assert_int_equal(partition_init(&f->partition, &f->data, NULL, shards, 5, &err), STATUS_OK);
    assert_int_equal(sampler_init(&f->sampler, &f->partition, global_batch, 9, &err), STATUS_OK);
}

static void end(fixture *f) {
    sampler_release(&f->sampler);
    partition_release(&f->partition);
}

static const augment_list augmentations = {
    .count = 3,
    .items = {{.kind = AUGMENT_RANDOM_CROP, .padding = 1},
              {.kind = AUGMENT_HORIZONTAL_FLIP, .p = 0.5},
              {.kind = AUGMENT_RANDOM_AFFINE, .degrees = 90, .scale = {0.8, 1.2}}}};

static loader *open_loader(fixture *f, int first, int end_shard, int workers, uint64_t first_step,
                           const augment_list *augment) {
    error err = {0};
    loader *l;
    const loader_options o = {.data = &f->data,
                              .sampler = &f->sampler,
                              .first_shard = first,
                              .end_shard = end_shard,
                              .workers = workers,
                              .first_step = first_step,
                              .end_step = sampler_steps_per_epoch(&f->sampler) * EPOCHS,
                              .augment = augment,
                              .mixup = f->mixup};
    assert_int_equal(loader_new(&o, &l, &err), STATUS_OK);
    return l;
}

// Appends a batch's contents to `trail`, as a log does; returns the new length.
static size_t record(const batch *b, int64_t *trail, size_t n) {
    size_t local = 0;
    trail[n++] = b->epoch;
    for (int v = 0; v < b->shards; v++) {
        trail[n++] = b->count[v];
        if (v >= b->first_shard && v < b->end_shard) local += (size_t)b->count[v];
    }
    for (size_t i = 0; i < local; i++) {
        for (int k = 0; k < PIXELS; k++) trail[n++] = b->pixels[i][k];
        trail[n++] = b->targets[i].label;
        trail[n++] = b->targets[i].other;
        trail[n++] = (int64_t)(b->targets[i].share * MIXUP_ONE);
        trail[n++] = b->ids[i];
        trail[n++] = b->rows[i];
    }
    return n;
}

// Of the images that a loader reads.
typedef struct change {
    const augment_list *augment;
    double mixup;
} change;

static size_t run(int shards, int batch_size, int workers, uint64_t first_step, const change *of,
                  int64_t *trail) {
    fixture f;
    size_t n = 0;
    begin(&f, shards, batch_size);
    f.mixup = of->mixup;
    loader *l = open_loader(&f, 0, shards, workers, first_step, of->augment);
    for (const batch *b; (b = loader_next(l));) n = record(b, trail, n);
    assert_null(loader_next(l));
    loader_free(l);
    end(&f);
    return n;
}

enum { TRAIL = 8192 };

static const change changes[4] = {{NULL, 0}, {&augmentations, 0}, {NULL, 0.3}, {&augmentations, 1}};

// Batches of 61 and 60: one and two steps per epoch, so that workers run epochs ahead.
static void test_workers_do_not_matter(void **state) {
    (void)state;
    static const struct {
        int shards, batch;
    } cases[] = {{1, 8}, {4, 12}, {3, 3}, {1, 61}, {4, 60}, {1, 200}};
    static int64_t inline_trail[TRAIL], trail[TRAIL];
    for (size_t c = 0; c < 4 * sizeof cases / sizeof *cases; c++) {
        const int shards = cases[c / 4].shards, size = cases[c / 4].batch;
        size_t n = run(shards, size, 0, 0, &changes[c % 4], inline_trail);
        assert_true(n > SAMPLES * EPOCHS * (3 + PIXELS));
        for (int workers = 1; workers <= 7; workers += workers > 3 ? 3 : 1) {
            assert_int_equal(run(shards, size, workers, 0, &changes[c % 4], trail), n);
            assert_memory_equal(trail, inline_trail, n * sizeof *trail);
        }
    }
}

static void test_every_sample_once_per_epoch(void **state) {
    (void)state;
    fixture f;
    begin(&f, 4, 12);
    loader *l = open_loader(&f, 0, 4, 2, 0, NULL);
    uint64_t steps = sampler_steps_per_epoch(&f.sampler);
    for (uint32_t e = 0; e < EPOCHS; e++) {
        int seen[SAMPLES] = {0};
        for (uint64_t i = 0; i < steps; i++) {
            const batch *b = loader_next(l);
            assert_non_null(b);
            assert_int_equal(b->epoch, e);
            for (int k = 0; k < batch_samples(b); k++) {
                uint32_t sample = b->ids[k] - 1000;
                assert_true(sample < SAMPLES);
                assert_int_equal(b->rows[k], sample);
                seen[sample]++;
                assert_int_equal(b->pixels[k][0], sample);
                assert_int_equal(b->targets[k].label, sample % 7);
            }
        }
        for (int i = 0; i < SAMPLES; i++) assert_int_equal(seen[i], 1);
    }
    loader_free(l);
    end(&f);
}

static void test_starts_at_any_step(void **state) {
    (void)state;
    static int64_t whole[TRAIL], part[TRAIL];
    size_t n = run(4, 12, 0, 0, &changes[3], whole);
    for (uint64_t first = 0; first < 18; first++)
        for (int workers = 0; workers <= 2; workers += 2) {
            size_t m = run(4, 12, workers, first, &changes[3], part);
            assert_true(m <= n);
            assert_memory_equal(part, whole + (n - m), m * sizeof *part);
        }
}

// Ranks together load what one process loads, cut at the shards.
static void test_ranks_share_the_batch(void **state) {
    (void)state;
    fixture one, two, three; // a sampler each, as in separate processes
    begin(&one, 4, 12);
    begin(&two, 4, 12);
    begin(&three, 4, 12);
    loader *all = open_loader(&one, 0, 4, 0, 0, &augmentations);
    loader *ranks[2] = {open_loader(&two, 0, 2, 0, 0, &augmentations),
                        open_loader(&three, 2, 4, 1, 0, &augmentations)};
    for (const batch *b; (b = loader_next(all));) {
        const batch *low = loader_next(ranks[0]), *high = loader_next(ranks[1]);
        assert_memory_equal(low->count, b->count, 4 * sizeof *b->count);
        assert_memory_equal(high->count, b->count, 4 * sizeof *b->count);
        size_t cut = (size_t)(b->count[0] + b->count[1]);
        size_t rest = (size_t)(b->count[2] + b->count[3]);
        assert_memory_equal(low->ids, b->ids, cut * sizeof *b->ids);
        assert_memory_equal(high->ids, b->ids + cut, rest * sizeof *b->ids);
        for (size_t i = 0; i < cut; i++) assert_memory_equal(low->pixels[i], b->pixels[i], PIXELS);
        for (size_t i = 0; i < rest; i++)
            assert_memory_equal(high->pixels[i], b->pixels[cut + i], PIXELS);
    }
    loader_free(ranks[0]);
    loader_free(ranks[1]);
    loader_free(all);
    end(&one);
    end(&two);
    end(&three);
}

// The batch holds augment.h's images of its samples instead of the dataset's bytes, which do not
// change. Without augmentation there is no copy.
static void test_augments(void **state) {
    (void)state;
    const shape size = {1, HEIGHT, WIDTH};
    for (int workers = 0; workers <= 2; workers++) {
        fixture f;
        int changed = 0;
        begin(&f, 4, 12);
        loader *l = open_loader(&f, 0, 4, workers, 0, &augmentations);
        for (const batch *b; (b = loader_next(l));)
            for (int i = 0; i < batch_samples(b); i++) {
                const augment_key key = {9, b->epoch, b->ids[i]};
                const uint8_t *from = f.images[b->ids[i] - 1000];
                uint8_t scratch[PIXELS], expected[PIXELS];
                augment_sample(&augmentations, &key, size, from, scratch, expected);
                assert_memory_equal(b->pixels[i], expected, PIXELS);
                changed += memcmp(from, expected, PIXELS) != 0;
            }
        assert_true(changed > SAMPLES * EPOCHS / 2);
        for (uint32_t i = 0; i < SAMPLES; i++) assert_int_equal(f.images[i][1], (i + 37) % 256);
        loader_free(l);
        l = open_loader(&f, 0, 4, workers, 0, NULL);
        const batch *b = loader_next(l);
        assert_ptr_equal(b->pixels[0], f.images[b->ids[0] - 1000]);
        loader_free(l);
        end(&f);
    }
}

// The images are different while the loader rests, so a worker that does not rest makes another
// batch, which ThreadSanitizer also finds.
static void rest(fixture *f, loader *l) {
    const struct timespec moment = {.tv_nsec = 200000};
    fixture before;
    loader_rest(l);
    memcpy(before.images, f->images, sizeof f->images);
    memset(f->images, 255, sizeof f->images);
    nanosleep(&moment, NULL);
    memcpy(f->images, before.images, sizeof f->images);
    loader_go(l);
}

static void test_rests_between_batches(void **state) {
    (void)state;
    static int64_t expected[TRAIL], trail[TRAIL];
    const size_t length = run(4, 12, 0, 0, &changes[3], expected);
    for (int workers = 0; workers <= 4; workers++)
        for (int every = 1; every <= 5; every += 2) {
            fixture f;
            size_t n = 0;
            begin(&f, 4, 12);
            f.mixup = changes[3].mixup;
            loader *l = open_loader(&f, 0, 4, workers, 0, changes[3].augment);
            rest(&f, l); // before the first batch
            const batch *b;
            for (int taken = 1; (b = loader_next(l)); taken++) {
                n = record(b, trail, n);
                if (taken % every == 0) rest(&f, l);
            }
            rest(&f, l); // after the last one
            assert_int_equal(n, length);
            assert_memory_equal(trail, expected, n * sizeof *trail);
            loader_free(l);
            end(&f);
        }
}

static void test_ends_while_it_rests(void **state) {
    (void)state;
    for (int workers = 0; workers <= 4; workers++) {
        fixture f;
        begin(&f, 4, 12);
        loader *l = open_loader(&f, 0, 4, workers, 0, &augmentations);
        assert_non_null(loader_next(l));
        loader_rest(l);
        loader_free(l);
        end(&f);
    }
}

static void test_ends_at_any_time(void **state) {
    (void)state;
    for (int taken = 0; taken < 8; taken++)
        for (int workers = 0; workers <= 4; workers++) {
            fixture f;
            begin(&f, 4, 12);
            loader *l = open_loader(&f, 0, 4, workers, 0, changes[taken % 2].augment);
            for (int i = 0; i < taken; i++) assert_non_null(loader_next(l));
            loader_free(l);
            end(&f);
        }
    loader_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers_do_not_matter),
        cmocka_unit_test(test_every_sample_once_per_epoch),
        cmocka_unit_test(test_starts_at_any_step),
        cmocka_unit_test(test_ranks_share_the_batch),
        cmocka_unit_test(test_augments),
        cmocka_unit_test(test_rests_between_batches),
        cmocka_unit_test(test_ends_while_it_rests),
        cmocka_unit_test(test_ends_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
