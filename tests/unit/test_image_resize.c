// SPDX-License-Identifier: MIT
// Pictures as squares: exact means, the centre crop, and every orientation.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/images/image_decoders.h"
#include "data/images/image_resize.h"

static void expect(int width, int height, int channels, int orientation, const char *pixels,
                   int size, const char *square) {
    image i = {width, height, channels, orientation, (uint8_t *)(uintptr_t)pixels, ""};
    uint8_t got[64];
    error err = {0};
    const size_t bytes = (size_t)(size * size * channels);
    assert_true(bytes <= sizeof got);
    if (image_square(&i, size, got, &err) != STATUS_OK) fail_msg("%s", err.message);
    assert_memory_equal(got, square, bytes);
}

static void keeps_images_of_the_right_size(void **state) {
    (void)state;
    expect(2, 2, 1, 1, "\1\2\3\4", 2, "\1\2\3\4");
    // Planes instead of pixels.
    expect(1, 1, 3, 1, "\1\2\3", 1, "\1\2\3");
    expect(2, 2, 3, 1, "\1\2\3\4\5\6\7\x8\x9\xa\xb\xc", 2, "\1\4\7\xa\2\5\x8\xb\3\6\x9\xc");
}

static void crops_the_middle(void **state) {
    (void)state;
    expect(4, 2, 1, 1, "\1\2\3\4\5\6\7\x8", 2, "\2\3\6\7");
    // If the surplus is odd, one more is cut off on the right and at the bottom.
    expect(3, 2, 1, 1, "\1\2\3\4\5\6", 2, "\1\2\4\5");
    expect(1, 4, 1, 1, "\1\2\3\4", 1, "\2");
}

static void means_have_triangular_weights(void **state) {
    (void)state;
    // When halving, pixel 0 is centred at 1 of 4, under a triangle of half-width 2: the weights are
    // 3, 3 and 1 (a fourth one lies outside).
    expect(4, 4, 1, 1, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 2, "\0\0\0\0");
    expect(4, 4, 1, 1, "\0\x70\0\0\0\x70\0\0\0\x70\0\0\0\x70\0\0", 2, "\x30\x10\x30\x10");
    // When doubling: a quarter of the neighbour; halves round up: (3 · 1 + 2) / 4 = 1.25.
    expect(2, 2, 1, 1, "\0\x64\0\x64", 4,
           "\0\x19\x4b\x64\0\x19\x4b\x64\0\x19\x4b\x64\0\x19\x4b\x64");
    expect(2, 2, 1, 1, "\0\1\0\1", 1, "\1");
}

// At any size, a picture of one colour keeps it.
static void one_colour_is_kept(void **state) {
    (void)state;
    static const int sides[] = {1, 2, 3, 7, 64, 97, 500};
    static uint8_t white[500 * 500], square[64 * 64];
    memset(white, 255, sizeof white);
    for (size_t w = 0; w < sizeof sides / sizeof *sides; w++)
        for (size_t h = 0; h < sizeof sides / sizeof *sides; h++)
            for (int size = 1; size <= 64; size += 21) {
                const image i = {sides[w], sides[h], 1, 1, white, ""};
                memset(square, 0, sizeof square);
                assert_int_equal(image_square(&i, size, square, NULL), STATUS_OK);
                for (int k = 0; k < size * size; k++) assert_int_equal(square[k], 255);
            }
}

static void extreme_shapes_are_cheap(void **state) {
    (void)state;
    uint8_t *line = calloc(IMAGE_MAX_SIDE, 1), *square = calloc(IMAGE_RESIZE_MAX, IMAGE_RESIZE_MAX);
    line[IMAGE_MAX_SIDE / 2] = line[IMAGE_MAX_SIDE / 2 - 1] = 200;
    const image i = {1, IMAGE_MAX_SIDE, 1, 1, line, ""};
    assert_int_equal(image_square(&i, IMAGE_RESIZE_MAX, square, NULL), STATUS_OK);
    assert_int_equal(square[IMAGE_RESIZE_MAX / 2 * IMAGE_RESIZE_MAX], 200);
    free(line);
    free(square);
}

static void rotates_upright(void **state) {
    (void)state;
    static const char *const upright[] = {"\1\2\3\4", "\2\1\4\3", "\4\3\2\1", "\3\4\1\2",
                                          "\1\3\2\4", "\3\1\4\2", "\4\2\3\1", "\2\4\1\3"};
    for (int k = 1; k <= 8; k++) expect(2, 2, 1, k, "\1\2\3\4", 2, upright[k - 1]);
}

#define EXIF(text) image_exif_orientation((const uint8_t *)(text), sizeof(text) - 1)

static void finds_the_orientation(void **state) {
    (void)state;
    static const char little[] = "Exif\0\0II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0\0\0\0\0";
    static const char big[] = "Exif\0\0MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\x08\0\0\0\0\0\0";
    assert_int_equal(EXIF(little), 6);
    assert_int_equal(EXIF(big), 8);
    assert_int_equal(EXIF("Exif\0\0II*\0\xff\xff\xff\xff\xff\xff"), 1);
    assert_int_equal(EXIF("Exif\0\0II*\0\x08\0\0\0\xff\xff"), 1);
    assert_int_equal(EXIF("http://ns.adobe.com/xap/1.0/"), 1);
    // Cut anywhere, it does no harm.
    for (size_t cut = 0; cut < sizeof little; cut++) {
        uint8_t *copy = malloc(cut + 1);
        memcpy(copy, little, cut);
        const int said = image_exif_orientation(copy, cut);
        assert_true(said == 1 || said == 6);
        free(copy);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_images_of_the_right_size), cmocka_unit_test(crops_the_middle),
        cmocka_unit_test(means_have_triangular_weights),  cmocka_unit_test(one_colour_is_kept),
        cmocka_unit_test(extreme_shapes_are_cheap),       cmocka_unit_test(rotates_upright),
        cmocka_unit_test(finds_the_orientation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
