// SPDX-License-Identifier: MIT
// Evaluation in pieces: every image once, however many there are, and the resulting counts; views
// of test images and the mean over them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/signals.h"
#include "train/evaluation.h"

enum { CLASSES = 3, MOST = 2600 };

static uint8_t images[MOST][2]; // the number of the image
static const uint8_t *pixels[MOST];
static uint32_t labels[MOST];

static int begin(void **state) {
    (void)state;
    for (int i = 0; i < MOST; i++) {
        images[i][0] = (uint8_t)(i / 256);
        images[i][1] = (uint8_t)(i % 256);
        pixels[i] = images[i];
        labels[i] = (uint32_t)(i % CLASSES);
    }
    signals_watch();
    return 0;
}

static dataset data_of(uint32_t samples) {
    return (dataset){.samples = samples, .classes = CLASSES, .pixels = pixels, .labels = labels};
}

// Returns the right class for every image but every seventh, and records the request.
static status infer(void *context, const uint8_t *const *which, size_t samples, float *logits,
                    error *err) {
    (void)err;
    int *asked = context;
    for (size_t i = 0; i < samples; i++) {
        const int image = which[i][0] * 256 + which[i][1];
        asked[image]++;
        for (int k = 0; k < CLASSES; k++) logits[i * CLASSES + (size_t)k] = (float)-k;
        logits[i * CLASSES + (size_t)((image + (image % 7 == 0)) % CLASSES)] = 5;
    }
    return STATUS_OK;
}

static void check(uint32_t samples) {
    const dataset d = data_of(samples);
    int *asked = calloc(MOST, sizeof *asked);
    float *logits = calloc((size_t)samples * CLASSES + 1, sizeof *logits);
    evaluation e;
    error err = {0};
    bool done;
    uint64_t counted = 0;
    assert_true(asked && logits);
    logits[(size_t)samples * CLASSES] = 1234;
    assert_int_equal(evaluation_infer(infer, asked, &d, logits, NULL, &done, &err), STATUS_OK);
    assert_true(done);
    for (uint32_t i = 0; i < MOST; i++)
        if (asked[i] != (i < samples))
            fail_msg("of %u images: image %u was requested %d times", samples, i, asked[i]);
    assert_true(logits[(size_t)samples * CLASSES] == 1234);
    assert_int_equal(evaluation_init(&e, &d, logits, &err), STATUS_OK);
    for (int i = 0; i < CLASSES * CLASSES; i++) counted += e.confusion[i];
    assert_int_equal(counted, samples);
    assert_int_equal(e.samples, samples);
    assert_int_equal(e.right, samples - (samples + 6) / 7);
    evaluation_release(&e);
    free(asked), free(logits);
}

static void test_every_image_once(void **state) {
    (void)state;
    static const uint32_t samples[] = {1, 7, 1023, 1024, 1025, 1100, 2047, 2048, 2049, 2500, MOST};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) check(samples[i]);
}

// ---- Views ----

enum { HIGH = 3, WIDE = 4, PIXELS = 2 * HIGH * WIDE };
static const shape size = {2, HIGH, WIDE};

// Pixel (y, x) of a view, from its definition: the source's position, mirrored at the border
// pixels.
static uint8_t pixel_of(const uint8_t *image, int plane, int y, int x, int shift, bool mirror) {
    const int column = mirror ? WIDE - 1 - x : x;
    const int at[2] = {abs(y + shift), abs(column + shift)};
    const int row = at[0] < HIGH ? at[0] : 2 * HIGH - 2 - at[0];
    const int from = at[1] < WIDE ? at[1] : 2 * WIDE - 2 - at[1];
    return image[(plane * HIGH + row) * WIDE + from];
}

static void fill_image(uint8_t *image, int seed) {
    for (int i = 0; i < PIXELS; i++) image[i] = (uint8_t)(7 * i * i + 3 * i + seed);
}

static void test_views_of_an_image(void **state) {
    (void)state;
    static const int shifts[] = {0, -1, 1};
    uint8_t image[PIXELS], before[PIXELS], scratch[PIXELS], got[PIXELS];
    fill_image(image, 5);
    memcpy(before, image, PIXELS);
    for (int kind = 0; kind < TTA_KINDS; kind++) {
        double sum = 0;
        for (int v = 0; v < tta_count((tta_kind)kind); v++) {
            sum += tta_weight((tta_kind)kind, v);
            tta_make((tta_kind)kind, v, size, image, scratch, got);
            for (int i = 0; i < PIXELS; i++)
                assert_int_equal(got[i], pixel_of(image, i / (HIGH * WIDE), i / WIDE % HIGH,
                                                  i % WIDE, shifts[v / 2], v % 2));
        }
        assert_true(sum == 1);
    }
    assert_memory_equal(image, before, PIXELS);
}

// The logits are the first pixels: each view's are known.
static status first_pixels(void *context, const uint8_t *const *which, size_t samples,
                           float *logits, error *err) {
    (void)context;
    (void)err;
    for (size_t i = 0; i < samples * CLASSES; i++)
        logits[i] = (float)which[i / CLASSES][i % CLASSES] / 3;
    return STATUS_OK;
}

// More images than have their views at the same time.
static void test_mean_over_views(void **state) {
    (void)state;
    enum { IMAGES = 150 };
    static const double weights[TTA_KINDS][6] = {
        {1}, {0.5, 0.5}, {0.25, 0.25, 0.125, 0.125, 0.125, 0.125}};
    static uint8_t all[IMAGES][PIXELS];
    uint8_t scratch[PIXELS], view[PIXELS];
    const uint8_t *which[IMAGES];
    float logits[IMAGES * CLASSES];
    for (int i = 0; i < IMAGES; i++) {
        fill_image(all[i], 11 * i);
        which[i] = all[i];
    }
    for (int kind = 0; kind < TTA_KINDS; kind++) {
        error err = {0};
        tta_inference v = {first_pixels, NULL, (tta_kind)kind, size, CLASSES};
        assert_int_equal(tta_infer(&v, which, IMAGES, logits, &err), STATUS_OK);
        for (int i = 0; i < IMAGES * CLASSES; i++) {
            double mean = 0;
            for (int k = 0; k < tta_count((tta_kind)kind); k++) {
                tta_make((tta_kind)kind, k, size, all[i / CLASSES], scratch, view);
                mean += weights[kind][k] * (double)((float)view[i % CLASSES] / 3);
            }
            assert_true(logits[i] == (float)mean);
        }
    }
}

static void test_names_of_views(void **state) {
    (void)state;
    tta_kind kind;
    for (int k = 0; k < TTA_KINDS; k++) {
        assert_true(tta_find(tta_word((tta_kind)k), &kind));
        assert_int_equal(kind, k);
    }
    assert_false(tta_find("mirrors", &kind));
    assert_true(tta_fits(TTA_MIRROR_SHIFT, (shape){1, 2, 2}));
    assert_true(tta_fits(TTA_MIRROR, (shape){1, 1, 1}));
    assert_false(tta_fits(TTA_MIRROR_SHIFT, (shape){1, 1, 5}));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_image_once),
        cmocka_unit_test(test_views_of_an_image),
        cmocka_unit_test(test_mean_over_views),
        cmocka_unit_test(test_names_of_views),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
