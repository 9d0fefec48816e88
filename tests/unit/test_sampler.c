// SPDX-License-Identifier: MIT
// The sampler: every sample exactly once per epoch, in an order keyed by (seed, epoch, shard), and
// steps of the right sizes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "data/sampler.h"

// A partition of `samples` into `shards` without a dataset: sample 10 * p + 1 at permuted position
// p.
static partition make_partition(uint32_t samples, int shards) {
    partition d = {.shards = shards};
    d.size = calloc((size_t)shards, sizeof *d.size);
    d.sample = calloc((size_t)shards, sizeof *d.sample);
    uint32_t *all = calloc(samples, sizeof *all);
    uint32_t n = (uint32_t)shards;
    for (uint32_t v = 0; v < n; v++) {
        d.size[v] = samples / n + (v < samples % n);
        d.sample[v] = all;
        for (uint32_t k = 0; k < d.size[v]; k++) all[k] = 10 * (k * n + v) + 1;
        all += d.size[v];
    }
    return d;
}

static void check_epoch(sampler *s, const partition *d, uint32_t samples, int batch,
                        uint32_t epoch) {
    uint8_t *seen = calloc(samples, 1);
    uint64_t steps = sampler_steps_per_epoch(s), total = 0;
    assert_int_equal(steps, (samples + (uint32_t)batch - 1) / (uint32_t)batch);
    sampler_begin_epoch(s, epoch);
    for (uint64_t step = 0; step < steps; step++) {
        int previous = batch / d->shards, in_step = 0;
        for (int v = 0; v < d->shards; v++) {
            const uint32_t *visit;
            int count = sampler_step(s, epoch, step, v, &visit);
            assert_in_range(count, 0, previous); // non-increasing in v
            if (step + 1 < steps) assert_int_equal(count, batch / d->shards);
            for (int i = 0; i < count; i++) {
                uint32_t p = (visit[i] - 1) / 10;
                assert_int_equal(p % (uint32_t)d->shards, v); // in its own shard
                assert_int_equal(seen[p]++, 0);
            }
            previous = count;
            in_step += count;
        }
        assert_true(in_step > 0);
        total += (uint64_t)in_step;
    }
    assert_int_equal(total, samples);
    const uint32_t *visit;
    assert_int_equal(sampler_step(s, epoch, steps, 0, &visit), 0);
    free(seen);
}

// Every step is a whole global batch, and the samples that are left out differ by epoch.
static void full_steps_only(void **state) {
    (void)state;
    static const struct {
        uint32_t samples;
        int shards, batch, steps;
    } cases[] = {{610, 4, 72, 8}, {601, 4, 200, 3}, {599, 4, 200, 2}, {610, 12, 72, 8},
                 {600, 1, 64, 9}, {9, 4, 8, 1},     {8, 4, 8, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        partition d = make_partition(cases[i].samples, cases[i].shards);
        sampler s;
        error err;
        assert_int_equal(sampler_init(&s, &d, cases[i].batch, 42, &err), STATUS_OK);
        assert_int_equal(sampler_drop_last(&s, &err), STATUS_OK);
        assert_int_equal(sampler_steps_per_epoch(&s), cases[i].steps);
        uint8_t *times = calloc(cases[i].samples, 1);
        assert_non_null(times);
        for (uint32_t epoch = 0; epoch < 30; epoch++) {
            sampler_begin_epoch(&s, epoch);
            for (int step = 0; step < cases[i].steps; step++)
                for (int v = 0; v < d.shards; v++) {
                    const uint32_t *visit;
                    const int count = sampler_step(&s, epoch, (uint64_t)step, v, &visit);
                    assert_int_equal(count, cases[i].batch / d.shards);
                    for (int k = 0; k < count; k++) times[(visit[k] - 1) / 10]++;
                }
        }
        for (uint32_t k = 0; k < cases[i].samples; k++) assert_in_range(times[k], 1, 30);
        free(times);
        sampler_release(&s);
        partition_release(&d);
    }
}

static void a_batch_that_no_step_fills(void **state) {
    (void)state;
    partition d = make_partition(7, 4);
    sampler s;
    error err;
    assert_int_equal(sampler_init(&s, &d, 8, 42, &err), STATUS_OK);
    assert_int_equal(sampler_drop_last(&s, &err), STATUS_INPUT);
    sampler_release(&s);
    partition_release(&d);
}

static void every_sample_once(void **state) {
    (void)state;
    static const struct {
        uint32_t samples;
        int shards, batch;
    } cases[] = {{610, 4, 72}, {601, 4, 200}, {610, 12, 72}, {600, 1, 64}, {5, 4, 8}, {1, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        partition d = make_partition(cases[i].samples, cases[i].shards);
        sampler s;
        assert_int_equal(sampler_init(&s, &d, cases[i].batch, 42, NULL), STATUS_OK);
        for (uint32_t epoch = 0; epoch < 3; epoch++)
            check_epoch(&s, &d, cases[i].samples, cases[i].batch, epoch);
        sampler_release(&s);
        partition_release(&d);
    }
}

static void order_is_the_keyed_permutation(void **state) {
    (void)state;
    partition d = make_partition(100, 3);
    sampler s;
    assert_int_equal(sampler_init(&s, &d, 6, 7, NULL), STATUS_OK);
    sampler_begin_epoch(&s, 5);
    for (int v = 0; v < 3; v++) {
        const random_stream stream = {7, RANDOM_ORDER, (uint32_t)v, 5, 0};
        uint32_t order[34];
        random_permutation(&stream, order, d.size[v]);
        for (uint32_t k = 0; k < d.size[v]; k++) {
            const uint32_t *visit;
            assert_true(sampler_step(&s, 5, k / 2, v, &visit) > (int)(k % 2));
            assert_int_equal(visit[k % 2], d.sample[v][order[k]]);
        }
    }
    sampler_release(&s);
    partition_release(&d);
}

static void two_epochs_are_kept(void **state) {
    (void)state;
    partition d = make_partition(64, 2);
    sampler s;
    const uint32_t *visit;
    uint32_t first[4], next[4];
    assert_int_equal(sampler_init(&s, &d, 8, 1, NULL), STATUS_OK);
    sampler_begin_epoch(&s, 3);
    assert_int_equal(sampler_step(&s, 3, 0, 1, &visit), 4);
    memcpy(first, visit, sizeof first);
    sampler_begin_epoch(&s, 4);
    assert_int_equal(sampler_step(&s, 4, 0, 1, &visit), 4);
    memcpy(next, visit, sizeof next);
    assert_memory_not_equal(first, next, sizeof first);
    sampler_begin_epoch(&s, 3); // the current epoch: nothing changes
    assert_int_equal(sampler_step(&s, 3, 0, 1, &visit), 4);
    assert_memory_equal(first, visit, sizeof first);
    assert_int_equal(sampler_step(&s, 4, 0, 1, &visit), 4);
    assert_memory_equal(next, visit, sizeof next);
    sampler_release(&s);
    partition_release(&d);
}

static void refuses_a_batch_that_shards_do_not_divide(void **state) {
    (void)state;
    partition d = make_partition(64, 4);
    sampler s;
    error err;
    assert_int_equal(sampler_init(&s, &d, 6, 1, &err), STATUS_USAGE);
    assert_non_null(strstr(err.message, "'6'"));
    assert_int_equal(sampler_init(&s, &d, 0, 1, &err), STATUS_USAGE);
    sampler_release(&s);
    partition_release(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_steps_only),
        cmocka_unit_test(a_batch_that_no_step_fills),
        cmocka_unit_test(every_sample_once),
        cmocka_unit_test(order_is_the_keyed_permutation),
        cmocka_unit_test(two_epochs_are_kept),
        cmocka_unit_test(refuses_a_batch_that_shards_do_not_divide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
