// SPDX-License-Identifier: MIT
// The split of each class: how many samples, which ones, and which changes do not affect it.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "data/images/image_import.h"

enum { MOST = 100 };

static const char *const names[] = {"cat", "dog"};

typedef struct samples {
    uint32_t labels[MOST];
    char text[MOST][24];
    const char *keys[MOST];
    bool test[MOST];
    size_t count;
} samples;

// `count` samples of class 0 and as many of class 1, alternating.
static void make(samples *s, size_t count) {
    s->count = 2 * count;
    for (size_t i = 0; i < s->count; i++) {
        s->labels[i] = (uint32_t)(i % 2);
        snprintf(s->text[i], sizeof s->text[i], "%zu", i / 2);
        s->keys[i] = s->text[i];
    }
}

static size_t choose(samples *s, double fraction, uint64_t seed, uint32_t label) {
    size_t count = 0;
    assert_int_equal(
        import_choose_test(s->labels, s->keys, s->count, names, fraction, seed, s->test, NULL),
        STATUS_OK);
    for (size_t i = 0; i < s->count; i++) count += s->labels[i] == label && s->test[i];
    return count;
}

static void each_class_has_its_share(void **state) {
    (void)state;
    static const struct {
        size_t count;
        double fraction;
        size_t test;
    } cases[] = {{10, 0.2, 2}, {10, 0.25, 3}, {10, 0.24, 2},
                 {2, 0.01, 1}, {2, 0.99, 1},  {50, 0.999, 49}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        samples s;
        make(&s, cases[i].count);
        assert_int_equal(choose(&s, cases[i].fraction, 0, 0), cases[i].test);
        assert_int_equal(choose(&s, cases[i].fraction, 0, 1), cases[i].test);
    }
}

// Sample i of `a`, at any place in `b`.
static bool test_of(const samples *b, uint32_t label, const char *key) {
    for (size_t i = 0; i < b->count; i++)
        if (b->labels[i] == label && strcmp(b->keys[i], key) == 0) return b->test[i];
    fail_msg("no sample '%s'", key);
    return false;
}

static void order_does_not_matter(void **state) {
    (void)state;
    samples a, b;
    make(&a, 20);
    make(&b, 20);
    for (size_t i = 0; i < b.count; i++) {
        b.labels[i] = a.labels[b.count - 1 - i];
        b.keys[i] = a.keys[b.count - 1 - i];
    }
    (void)choose(&a, 0.3, 7, 0);
    (void)choose(&b, 0.3, 7, 0);
    for (size_t i = 0; i < a.count; i++)
        assert_int_equal(a.test[i], test_of(&b, a.labels[i], a.keys[i]));
}

static void one_more_sample_moves_few(void **state) {
    (void)state;
    samples a, b;
    size_t moved = 0, other = 0;
    make(&a, 40);
    make(&b, 41);
    (void)choose(&a, 0.5, 0, 0);
    (void)choose(&b, 0.5, 0, 0);
    for (size_t i = 0; i < a.count; i++) moved += a.test[i] != test_of(&b, a.labels[i], a.keys[i]);
    assert_in_range(moved, 0, 2);
    memcpy(&b, &a, sizeof b);
    for (size_t i = 0; i < b.count; i++) b.keys[i] = b.text[i];
    (void)choose(&b, 0.5, 1, 0);
    for (size_t i = 0; i < a.count; i++) other += a.test[i] != b.test[i];
    assert_in_range(other, 10, 70);
}

static void refuses_a_class_of_one(void **state) {
    (void)state;
    samples s;
    error err;
    make(&s, 2);
    s.count = 3;
    assert_int_equal(import_choose_test(s.labels, s.keys, s.count, names, 0.5, 0, s.test, &err),
                     STATUS_INPUT);
    assert_non_null(strstr(err.message, "cannot split class 'dog': it has 1 image"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_class_has_its_share),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(one_more_sample_moves_few),
        cmocka_unit_test(refuses_a_class_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
