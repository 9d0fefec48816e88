// SPDX-License-Identifier: MIT
// Pictures in memory: the pixels of each format; no truncated or altered file does harm.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jpeglib.h>
#include <png.h>

#include "data/images/image.h"

enum { SIDE = 8 };

// Returns a JPEG of one colour, grey (1 channel) or not; free() it.
static uint8_t *make_jpeg(int channels, bool progressive, const uint8_t *colour, size_t *bytes) {
    struct jpeg_compress_struct j;
    struct jpeg_error_mgr errors;
    JSAMPLE row[SIDE * 4];
    uint8_t *file = NULL;
    unsigned long size = 0;
    j.err = jpeg_std_error(&errors);
    jpeg_create_compress(&j);
    jpeg_mem_dest(&j, &file, &size);
    j.image_width = j.image_height = SIDE;
    j.input_components = channels;
    j.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 4 ? JCS_CMYK : JCS_RGB;
    jpeg_set_defaults(&j);
    jpeg_set_quality(&j, 100, TRUE);
    j.write_Adobe_marker = FALSE;
    if (progressive) jpeg_simple_progression(&j);
    for (int i = 0; i < SIDE * channels; i++) row[i] = colour[i % channels];
    jpeg_start_compress(&j, TRUE);
    for (int y = 0; y < SIDE; y++) {
        JSAMPROW rows[] = {row};
        jpeg_write_scanlines(&j, rows, 1);
    }
    jpeg_finish_compress(&j);
    jpeg_destroy_compress(&j);
    *bytes = size;
    return file;
}

static uint8_t *make_png(uint32_t format, const uint8_t *colour, size_t *bytes) {
    png_image p = {.version = PNG_IMAGE_VERSION, .width = SIDE, .height = SIDE, .format = format};
    const size_t channels = PNG_IMAGE_SAMPLE_CHANNELS(format);
    uint8_t pixels[SIDE * SIDE * 4];
    for (size_t i = 0; i < SIDE * SIDE * channels; i++) pixels[i] = colour[i % channels];
    png_alloc_size_t size = 4096;
    uint8_t *file = malloc(size);
    assert_true(png_image_write_to_memory(&p, file, &size, 0, pixels, 0, NULL));
    *bytes = size;
    return file;
}

static void expect(uint8_t *file, size_t bytes, int channels, const uint8_t *colour, int slack) {
    image i;
    error err = {0};
    if (image_read(file, bytes, channels, &i, &err) != STATUS_OK) fail_msg("%s", err.message);
    assert_int_equal(i.width, SIDE);
    assert_int_equal(i.height, SIDE);
    assert_int_equal(i.channels, channels);
    for (int k = 0; k < SIDE * SIDE * channels; k++)
        assert_in_range(i.pixels[k] - colour[k % channels] + slack, 0, 2 * slack);
    image_release(&i);
    free(file);
}

static const uint8_t grey[] = {77}, greys[] = {77, 77, 77}, red[] = {200, 10, 30};

static void reads_every_format(void **state) {
    (void)state;
    // (255 - C)(255 - K) / 255
    const uint8_t cmyk[] = {55, 245, 225, 0}, half[] = {55, 245, 225, 128};
    const uint8_t dark[] = {100, 5, 15}, luma[] = {69};
    const uint8_t clear[] = {0, 0, 0, 0}, white[] = {255, 255, 255};
    size_t bytes;
    uint8_t *file;
    file = make_jpeg(1, false, grey, &bytes), expect(file, bytes, 1, grey, 1);
    file = make_jpeg(1, false, grey, &bytes), expect(file, bytes, 3, greys, 1);
    file = make_jpeg(3, false, red, &bytes), expect(file, bytes, 3, red, 2);
    file = make_jpeg(3, true, red, &bytes), expect(file, bytes, 3, red, 2);
    file = make_jpeg(3, true, red, &bytes), expect(file, bytes, 1, luma, 2);
    file = make_jpeg(4, false, cmyk, &bytes), expect(file, bytes, 3, red, 2);
    file = make_jpeg(4, false, half, &bytes), expect(file, bytes, 3, dark, 2);
    file = make_png(PNG_FORMAT_GRAY, grey, &bytes), expect(file, bytes, 1, grey, 0);
    file = make_png(PNG_FORMAT_GRAY, grey, &bytes), expect(file, bytes, 3, greys, 0);
    file = make_png(PNG_FORMAT_RGB, red, &bytes), expect(file, bytes, 3, red, 0);
    file = make_png(PNG_FORMAT_RGB, red, &bytes), expect(file, bytes, 1, luma, 0);
    file = make_png(PNG_FORMAT_RGBA, clear, &bytes), expect(file, bytes, 3, white, 0);
}

// Any damaged file must give an answer and do no harm. The copy has exactly the file's size, so
// that a sanitizer detects the first byte read past it.
static status read_copy(const uint8_t *file, size_t bytes) {
    uint8_t *copy = malloc(bytes + !bytes);
    image i;
    memcpy(copy, file, bytes);
    const status rc = image_read(copy, bytes, 3, &i, NULL);
    image_release(&i);
    free(copy);
    return rc;
}

static void survives(uint8_t *file, size_t bytes) {
    static const int values[] = {0, 1, 0x7f, 0x80, 0xff};
    for (size_t cut = 0; cut + 2 < bytes; cut++)
        assert_int_equal(read_copy(file, cut), STATUS_INPUT);
    for (size_t at = 0; at < bytes; at++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            const uint8_t was = file[at];
            file[at] = (uint8_t)values[v];
            const status rc = read_copy(file, bytes);
            assert_true(rc == STATUS_OK || rc == STATUS_INPUT);
            file[at] = was;
        }
    free(file);
}

static void survives_truncated_and_changed_files(void **state) {
    (void)state;
    const uint8_t cmyk[] = {1, 2, 3, 4};
    size_t bytes;
    uint8_t *file;
    file = make_jpeg(3, false, red, &bytes), survives(file, bytes);
    file = make_jpeg(3, true, red, &bytes), survives(file, bytes);
    file = make_jpeg(4, false, cmyk, &bytes), survives(file, bytes);
    file = make_png(PNG_FORMAT_RGBA, cmyk, &bytes), survives(file, bytes);
    file = make_png(PNG_FORMAT_GRAY, grey, &bytes), survives(file, bytes);
}

static void writes_png_that_reads_back(void **state) {
    (void)state;
    for (int channels = 1; channels <= 3; channels += 2) {
        uint8_t pixels[5 * 3 * 3], *file;
        image i = {.width = 5, .height = 3, .channels = channels, .pixels = pixels}, back;
        error err = {0};
        size_t bytes;
        for (size_t k = 0; k < sizeof pixels; k++) pixels[k] = (uint8_t)(37 * k);
        assert_int_equal(image_encode_png(&i, &file, &bytes, &err), STATUS_OK);
        assert_int_equal(image_read(file, bytes, channels, &back, &err), STATUS_OK);
        assert_int_equal(back.width, 5);
        assert_int_equal(back.height, 3);
        assert_memory_equal(back.pixels, pixels, (size_t)(5 * 3 * channels));
        image_release(&back);
        free(file);
    }
}

static void refuses_images_that_are_too_large(void **state) {
    (void)state;
    error err;
    assert_int_equal(image_check_size(IMAGE_MAX_SIDE, 4096, NULL), STATUS_OK);
    assert_int_equal(image_check_size(IMAGE_MAX_SIDE, 4097, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "16384 x 4097 pixels"));
    assert_int_equal(image_check_size(IMAGE_MAX_SIDE + 1, 1, NULL), STATUS_INPUT);
    assert_int_equal(image_check_size(0, 1, NULL), STATUS_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_format),
        cmocka_unit_test(survives_truncated_and_changed_files),
        cmocka_unit_test(writes_png_that_reads_back),
        cmocka_unit_test(refuses_images_that_are_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
