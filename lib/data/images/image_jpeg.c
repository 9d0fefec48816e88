// SPDX-License-Identifier: MIT
// JPEG, through libjpeg-turbo. It reports errors by longjmp, so everything that must be freed lives
// in `decoding`, outside the functions that longjmp leaves.
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "base/memory.h"
#include "data/images/image_decoders.h"

#define TEXT_OF(number) #number

enum { MAX_SCANS = 500, EXIF_MARKER = JPEG_APP0 + 1, EXIF_BYTES = 65533 };

typedef struct decoding {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf failed;
    image *to;
    uint8_t *row; // of CMYK
    status rc;
    error *err;
} decoding;

const char *image_jpeg_version(void) {
#ifdef LIBJPEG_TURBO_VERSION
#define TEXT_OF_VALUE(value) TEXT_OF(value)
    return TEXT_OF_VALUE(LIBJPEG_TURBO_VERSION);
#else
    return TEXT_OF(JPEG_LIB_VERSION);
#endif
}

// ---- The orientation in EXIF data; nothing else of it is read ----

enum { EXIF_HEADER = 6, EXIF_ENTRY = 12, ORIENTATION = 0x0112, SHORT = 3, UPRIGHT = 1 };

typedef struct tiff {
    const uint8_t *data;
    size_t bytes;
    bool big; // endian
} tiff;

// Returns `width` bytes at `at` as a number; 0 outside the data.
static uint32_t number_at(const tiff *t, uint64_t at, int width) {
    uint32_t value = 0;
    if (at + (uint64_t)width > t->bytes) return 0;
    for (int k = 0; k < width; k++)
        value |= (uint32_t)t->data[at + (uint64_t)k] << 8 * (t->big ? width - 1 - k : k);
    return value;
}

int image_exif_orientation(const uint8_t *data, size_t bytes) {
    if (bytes < EXIF_HEADER + 8 || memcmp(data, "Exif\0\0", EXIF_HEADER) != 0) return UPRIGHT;
    const tiff t = {data + EXIF_HEADER, bytes - EXIF_HEADER, data[EXIF_HEADER] == 'M'};
    const uint64_t first = number_at(&t, 4, 4);
    const uint32_t entries = number_at(&t, first, 2);
    for (uint32_t k = 0; k < entries; k++) {
        const uint64_t at = first + 2 + (uint64_t)EXIF_ENTRY * k;
        if (number_at(&t, at, 2) != ORIENTATION || number_at(&t, at + 2, 2) != SHORT) continue;
        const uint32_t value = number_at(&t, at + 8, 2);
        return value >= 1 && value <= 8 ? (int)value : UPRIGHT;
    }
    return UPRIGHT;
}

// ---- Errors ----

static void fail(j_common_ptr jpeg) {
    decoding *d = jpeg->client_data;
    char why[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, why);
    const bool memory = jpeg->err->msg_code == JERR_OUT_OF_MEMORY;
    d->rc = error_set(d->err, memory ? STATUS_FAILED : STATUS_INPUT, "%s", why);
    longjmp(d->failed, 1);
}

// These warnings mean that pixels were lost, or made up. Others only tell of what is not needed, as
// extra bytes between two markers.
static bool loses_pixels(int code) {
    return code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_ARITH_BAD_CODE ||
           code == JWRN_JPEG_EOF || code == JWRN_MUST_RESYNC || code == JWRN_BOGUS_PROGRESSION;
}

static void heed(j_common_ptr jpeg, int level) {
    decoding *d = jpeg->client_data;
    char what[JMSG_LENGTH_MAX];
    if (level >= 0) return;
    if (loses_pixels(jpeg->err->msg_code)) fail(jpeg);
    jpeg->err->format_message(jpeg, what);
    image_note_fault(d->to, "%s", what);
}

static void keep_quiet(j_common_ptr jpeg) {
    (void)jpeg;
}

// A small file may have many scans of a large picture, and each takes time.
static void count_scans(j_common_ptr jpeg) {
    decoding *d = jpeg->client_data;
    if (d->jpeg.input_scan_number <= MAX_SCANS) return;
    d->rc = error_set(d->err, STATUS_INPUT, "more than %d scans", MAX_SCANS);
    longjmp(d->failed, 1);
}

// ---- Pixels ----

static uint8_t darken(unsigned colour, unsigned black) {
    return (uint8_t)((colour * black + 127) / 255);
}

// Adobe's programs store 255 - C, others store C.
static void colours_of(const uint8_t *cmyk, bool inverted, uint8_t *rgb, int width) {
    const unsigned flip = inverted ? 0 : 255;
    for (int x = 0; x < width; x++, cmyk += 4, rgb += 3)
        for (int c = 0; c < 3; c++) rgb[c] = darken(cmyk[c] ^ flip, cmyk[3] ^ flip);
}

static void choose_output(decoding *d) {
    struct jpeg_decompress_struct *j = &d->jpeg;
    j->dct_method = JDCT_ISLOW;
    j->do_fancy_upsampling = TRUE;
    j->do_block_smoothing = FALSE;
    j->out_color_space = j->num_components == 1   ? JCS_GRAYSCALE
                         : j->num_components == 4 ? JCS_CMYK
                                                  : JCS_RGB;
}

static void take_orientation(decoding *d) {
    for (jpeg_saved_marker_ptr m = d->jpeg.marker_list; m; m = m->next)
        if (m->marker == EXIF_MARKER)
            d->to->orientation = image_exif_orientation(m->data, m->data_length);
}

static void take_rows(decoding *d) {
    struct jpeg_decompress_struct *j = &d->jpeg;
    image *i = d->to;
    const size_t stride = (size_t)i->width * (size_t)i->channels;
    const bool cmyk = j->out_color_space == JCS_CMYK;
    d->row = memory_new((size_t)i->width, 4);
    while (j->output_scanline < j->output_height) {
        uint8_t *to = i->pixels + j->output_scanline * stride;
        JSAMPROW rows[] = {cmyk ? d->row : to};
        (void)jpeg_read_scanlines(j, rows, 1);
        if (cmyk) colours_of(d->row, j->saw_Adobe_marker, to, i->width);
    }
}

static status decode(decoding *d, const uint8_t *file, size_t bytes) {
    struct jpeg_decompress_struct *j = &d->jpeg;
    if (setjmp(d->failed)) return d->rc;
    jpeg_create_decompress(j);
    j->progress = &d->progress;
    jpeg_save_markers(j, EXIF_MARKER, EXIF_BYTES);
    jpeg_mem_src(j, file, (unsigned long)bytes);
    (void)jpeg_read_header(j, TRUE);
    take_orientation(d);
    choose_output(d);
    const int channels = j->num_components == 1 ? 1 : 3;
    // Checked before the library allocates memory for the pixels.
    d->rc = image_allocate(d->to, j->image_width, j->image_height, channels, d->err);
    if (d->rc != STATUS_OK) return d->rc;
    (void)jpeg_start_decompress(j);
    take_rows(d);
    d->rc = STATUS_OK;
    (void)jpeg_finish_decompress(j);
    if (j->src->bytes_in_buffer)
        image_note_fault(d->to, "%zu bytes after its end", j->src->bytes_in_buffer);
    return STATUS_OK;
}

status image_decode_jpeg(const uint8_t *file, size_t bytes, image *i, error *err) {
    decoding *d = memory_new(1, sizeof *d);
    d->to = i;
    d->err = err;
    d->jpeg.err = jpeg_std_error(&d->errors);
    d->jpeg.client_data = d;
    d->errors.error_exit = fail;
    d->errors.emit_message = heed;
    d->errors.output_message = keep_quiet;
    d->progress.progress_monitor = count_scans;
    const status rc = decode(d, file, bytes);
    jpeg_destroy_decompress(&d->jpeg);
    free(d->row);
    free(d);
    return rc;
}
