// Evaluation of a data set: which images are asked about, and what is made of the answers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "train/evaluation.h"

enum { CLASSES = 3, MOST = 5000 };

// Answers with the class that the first byte of an image says.
static status answer(void *context, const uint8_t *const *pixels, size_t samples, float *logits,
                     error *err) {
    size_t *asked = context;
    (void)err;
    for (size_t i = 0; i < samples; i++)
        for (size_t k = 0; k < CLASSES; k++)
            logits[i * CLASSES + k] = pixels[i][0] == k ? 5.0f : 0.0f;
    *asked += samples;
    return STATUS_OK;
}

static void evaluate(uint32_t samples) {
    static uint8_t images[MOST];
    static const uint8_t *pixels[MOST];
    static uint32_t labels[MOST];
    for (uint32_t i = 0; i < samples; i++) {
        images[i] = (uint8_t)(i * i % 7 % CLASSES);
        labels[i] = images[i];
        pixels[i] = &images[i];
    }
    const dataset d = {.samples = samples, .classes = CLASSES, .pixels = pixels, .labels = labels};
    float *logits = calloc((size_t)samples * CLASSES, sizeof *logits);
    size_t asked = 0;
    bool done = false;
    evaluation e;
    error err;
    assert_non_null(logits);
    assert_int_equal(evaluation_infer(answer, &asked, &d, logits, NULL, &done, &err), STATUS_OK);
    assert_true(done);
    assert_int_equal(asked, samples);
    assert_int_equal(evaluation_init(&e, &d, logits, &err), STATUS_OK);
    assert_int_equal(e.right, samples);
    evaluation_release(&e);
    free(logits);
}

// Images are asked about in pieces of some size, which is nobody's business.
static void every_image_comes_once(void **state) {
    static const uint32_t sizes[] = {1, 16, 17, 1000, 1023, 1024, 1025, 2048, 2500, 4097, MOST};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) evaluate(sizes[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_image_comes_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
