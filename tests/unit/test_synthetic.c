// SPDX-License-Identifier: MIT
// Drawn images: their bytes never change, each image is independent of the others, and every shape
// can be drawn.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/sha256.h"
#include "data/pixel_statistics.h"
#include "data/source/synthetic.h"

enum { IMAGE = 3 * 32 * 32 };

// The hash of a split's 200 images and labels.
static void hash_split(const synthetic *s, int split, char text[SHA256_TEXT_BYTES]) {
    static uint8_t image[IMAGE];
    sha256 *h = sha256_new();
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t label = synthetic_draw(s, split, i, image);
        sha256_update(h, &label, 1);
        sha256_update(h, image, sizeof image);
    }
    sha256_finish(h, text);
    sha256_free(h);
}

// Different bits would change every result on drawn images: raise BITS in synth-cifar with them.
static void bits_do_not_change(void **state) {
    (void)state;
    synthetic s = {
        .seed = 0, .classes = SYNTHETIC_SHAPES, .channels = 3, .height = 32, .width = 32};
    char text[SHA256_TEXT_BYTES];
    hash_split(&s, 0, text);
    assert_string_equal(text, "73395fce9f9649989883f9b09cbd9088f2491cef13081943612c2844250dd62b");
    hash_split(&s, 1, text);
    assert_string_equal(text, "551bbd7b051b611e146f9389f9d5d94e184abb67e5a7f2c6ad3b376fe5d62214");
    s.noise = true;
    hash_split(&s, 0, text);
    assert_string_equal(text, "0f8b1cc584766d28b04b72334a40c7897532897b5ce33d7b808d0aa6f6adbf99");
}

static void seeds_and_splits_differ(void **state) {
    (void)state;
    const synthetic a = {.seed = 1, .channels = 3, .height = 32, .width = 32};
    const synthetic b = {.seed = 2, .channels = 3, .height = 32, .width = 32};
    char one[SHA256_TEXT_BYTES], two[SHA256_TEXT_BYTES], three[SHA256_TEXT_BYTES];
    hash_split(&a, 0, one);
    hash_split(&b, 0, two);
    hash_split(&a, 1, three);
    assert_string_not_equal(one, two);
    assert_string_not_equal(one, three);
    assert_string_not_equal(two, three);
}

static void every_class_is_drawn(void **state) {
    (void)state;
    const synthetic s = {
        .seed = 3, .classes = SYNTHETIC_SHAPES, .channels = 3, .height = 32, .width = 32};
    static uint8_t image[IMAGE];
    int count[SYNTHETIC_SHAPES] = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t label = synthetic_draw(&s, 0, i, image);
        assert_in_range(label, 0, SYNTHETIC_SHAPES - 1);
        count[label]++;
    }
    for (int k = 0; k < SYNTHETIC_SHAPES; k++) assert_in_range(count[k], 60, 140);
}

// Sizes at which a division by zero or a step outside the image would show (with sanitizers).
static void every_shape_can_be_drawn(void **state) {
    (void)state;
    static const int shapes[][3] = {{1, 1, 1},  {1, 1, 40}, {16, 3, 2},     {1, 28, 28},
                                    {2, 64, 5}, {3, 4, 4},  {1, 1024, 1024}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        synthetic s = {.seed = 5,
                       .classes = SYNTHETIC_SHAPES,
                       .channels = shapes[k][0],
                       .height = shapes[k][1]};
        s.width = shapes[k][2];
        size_t bytes = (size_t)s.channels * (size_t)s.height * (size_t)s.width;
        uint8_t *image = malloc(bytes);
        for (uint32_t i = 0; i < (bytes > 10000 ? 20 : 200); i++)
            assert_in_range(synthetic_draw(&s, 0, i, image), 0, SYNTHETIC_SHAPES - 1);
        free(image);
    }
}

static void statistics_are_exact(void **state) {
    (void)state;
    // Two images of two channels of two pixels; the second channel is constant.
    const uint8_t images[] = {0, 255, 7, 7, 255, 0, 7, 7};
    float mean[2], std[2];
    pixel_statistics(images, 2, 2, 2, mean, std);
    assert_true(mean[0] == 0.5f && std[0] == 0.5f);
    assert_true(mean[1] == (float)(7 / 255.0) && std[1] == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_do_not_change),   cmocka_unit_test(seeds_and_splits_differ),
        cmocka_unit_test(every_class_is_drawn), cmocka_unit_test(every_shape_can_be_drawn),
        cmocka_unit_test(statistics_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
