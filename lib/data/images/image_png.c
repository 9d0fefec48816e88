// SPDX-License-Identifier: MIT
// PNG, through libpng. It reports errors by longjmp, so everything that must be freed lives in
// `decoding`, outside the functions that longjmp leaves.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "base/memory.h"
#include "data/images/image_decoders.h"

enum { MAX_CHUNK_BYTES = 1 << 23, MAX_CHUNKS = 1000 };

typedef struct decoding {
    png_structp png;
    png_infop info;
    const uint8_t *file;
    size_t bytes, at;
    image *to;
    uint8_t *pixels; // as decoded, possibly with transparency
    uint8_t **rows;
    bool no_memory; // the library's last allocation failed
    status rc;
    error *err;
} decoding;

const char *image_png_version(void) {
    return png_get_libpng_ver(NULL);
}

static void fail(png_structp png, png_const_charp why) {
    decoding *d = png_get_error_ptr(png);
    d->rc = error_set(d->err, d->no_memory ? STATUS_FAILED : STATUS_INPUT, "%s", why);
    png_longjmp(png, 1);
}

static png_voidp allocate(png_structp png, png_alloc_size_t bytes) {
    decoding *d = png_get_mem_ptr(png);
    void *memory = malloc(bytes);
    d->no_memory = !memory;
    return memory;
}

static void release(png_structp png, png_voidp memory) {
    (void)png;
    free(memory);
}

// Without a damaged tRNS, transparent pixels would be opaque. Other warnings cost no pixels: what
// does is an error.
static void heed(png_structp png, png_const_charp why) {
    decoding *d = png_get_error_ptr(png);
    if (strncmp(why, "tRNS", 4) == 0) png_error(png, why);
    image_note_fault(d->to, "%s", why);
}

static void give(png_structp png, png_bytep to, size_t bytes) {
    decoding *d = png_get_io_ptr(png);
    if (bytes > d->bytes - d->at) png_error(png, "the file is truncated");
    memcpy(to, d->file + d->at, bytes);
    d->at += bytes;
}

// Asks for grey or colours of 8 bits, each with or without transparency.
static void choose_output(decoding *d) {
    png_set_expand(d->png);
    png_set_scale_16(d->png);
    (void)png_set_interlace_handling(d->png);
    png_read_update_info(d->png, d->info);
}

static uint8_t over_white(unsigned colour, unsigned opacity) {
    return (uint8_t)((colour * opacity + 255 * (255 - opacity) + 127) / 255);
}

static void lay_over_white(const decoding *d, int channels, bool transparent) {
    const image *i = d->to;
    const size_t pixels = (size_t)i->width * (size_t)i->height;
    const uint8_t *from = d->pixels;
    uint8_t *to = i->pixels;
    for (size_t k = 0; k < pixels; k++, from += channels + transparent)
        for (int c = 0; c < channels; c++)
            *to++ = transparent ? over_white(from[c], from[channels]) : from[c];
}

static status take_pixels(decoding *d) {
    const int all = png_get_channels(d->png, d->info);
    const bool transparent = all == 2 || all == 4;
    const int channels = all - transparent;
    const uint32_t width = png_get_image_width(d->png, d->info);
    const uint32_t height = png_get_image_height(d->png, d->info);
    d->rc = image_allocate(d->to, width, height, channels, d->err);
    if (d->rc != STATUS_OK) return d->rc;
    d->pixels = memory_try_new((size_t)width * height, (size_t)all, d->err);
    d->rows = memory_try_new(height, sizeof *d->rows, d->err);
    if (!d->pixels || !d->rows) return STATUS_FAILED;
    for (uint32_t y = 0; y < height; y++) d->rows[y] = d->pixels + (size_t)y * width * (size_t)all;
    png_read_image(d->png, d->rows);
    png_read_end(d->png, NULL);
    if (d->at < d->bytes) image_note_fault(d->to, "%zu bytes after its end", d->bytes - d->at);
    lay_over_white(d, channels, transparent);
    return STATUS_OK;
}

// For a size out of bounds, the library's message is only that it is invalid.
static status check_header(const decoding *d) {
    enum { WIDTH = 16, HEIGHT = 20, END = 24 };
    if (d->bytes < END) return STATUS_OK; // the library reports this itself
    return image_check_size(png_get_uint_32(d->file + WIDTH), png_get_uint_32(d->file + HEIGHT),
                            d->err);
}

static status decode(decoding *d) {
    status rc = check_header(d);
    if (rc != STATUS_OK) return rc;
    d->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, d, fail, heed, d, allocate, release);
    if (!d->png) return error_set(d->err, STATUS_FAILED, "out of memory: cannot read PNG");
    if (setjmp(png_jmpbuf(d->png))) return d->rc;
    d->info = png_create_info_struct(d->png);
    if (!d->info) return error_set(d->err, STATUS_FAILED, "out of memory: cannot read PNG");
    // Bounds the library itself: sides as in image_allocate, and the memory and number of chunks.
    png_set_user_limits(d->png, IMAGE_MAX_SIDE, IMAGE_MAX_SIDE);
    png_set_chunk_malloc_max(d->png, MAX_CHUNK_BYTES);
    png_set_chunk_cache_max(d->png, MAX_CHUNKS);
    png_set_read_fn(d->png, d, give);
    png_read_info(d->png, d->info);
    choose_output(d);
    return take_pixels(d);
}

status image_decode_png(const uint8_t *file, size_t bytes, image *i, error *err) {
    decoding *d = memory_new(1, sizeof *d);
    d->file = file;
    d->bytes = bytes;
    d->to = i;
    d->err = err;
    const status rc = decode(d);
    png_destroy_read_struct(&d->png, &d->info, NULL);
    free(d->pixels);
    free(d->rows);
    free(d);
    return rc;
}

status image_encode_png(const image *i, uint8_t **file, size_t *bytes, error *err) {
    png_image p = {.version = PNG_IMAGE_VERSION,
                   .width = (png_uint_32)i->width,
                   .height = (png_uint_32)i->height,
                   .format = i->channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB};
    png_alloc_size_t size = 0;
    *file = NULL;
    // The first call computes the size.
    if (png_image_write_to_memory(&p, NULL, &size, 0, i->pixels, 0, NULL)) {
        *file = memory_try_new(size, 1, err);
        if (!*file) return STATUS_FAILED;
        if (png_image_write_to_memory(&p, *file, &size, 0, i->pixels, 0, NULL)) {
            *bytes = size;
            return STATUS_OK;
        }
    }
    free(*file);
    *file = NULL;
    return error_set(err, STATUS_FAILED, "cannot write PNG: %s", p.message);
}
