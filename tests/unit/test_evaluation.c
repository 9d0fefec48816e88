// SPDX-License-Identifier: MIT
// Evaluation in pieces: every image once, however many there are, and the resulting counts.
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_image_once),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
