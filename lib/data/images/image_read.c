// SPDX-License-Identifier: MIT
// Reads a picture with the decoder of its format.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "data/images/image_decoders.h"

// What is often saved under the name of a picture, by its first bytes.
static status refuse_other(const uint8_t *file, size_t bytes, error *err) {
#define FIRST(at, string) at, sizeof string - 1, string
#define CONVERT           ", neither JPEG nor PNG: convert it: mogrify -format png FILE"
    static const struct {
        size_t at, length;
        const char *first, *what;
    } others[] = {
        {FIRST(0, "GIF8"), "GIF" CONVERT},
        {FIRST(8, "WEBP"), "WebP" CONVERT},
        {FIRST(0, "BM"), "BMP" CONVERT},
        {FIRST(0, "II*\0"), "TIFF" CONVERT},
        {FIRST(0, "MM\0*"), "TIFF" CONVERT},
        {FIRST(4, "ftypavif"), "AVIF" CONVERT},
        {FIRST(4, "ftyphei"), "HEIC" CONVERT},
        {FIRST(4, "ftypmif1"), "HEIC" CONVERT},
        {FIRST(4, "jP  "), "JPEG 2000" CONVERT},
        {FIRST(4, "JXL "), "JPEG XL" CONVERT},
        {FIRST(0, "version https://git-lfs"),
         "a pointer of Git LFS: fetch the pictures with git lfs pull"},
        {FIRST(0, "<!DOCTYPE"), "a web page: download the picture again"},
        {FIRST(0, "<html"), "a web page: download the picture again"},
    };
#undef FIRST
#undef CONVERT
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (bytes >= others[k].at + others[k].length &&
            memcmp(file + others[k].at, others[k].first, others[k].length) == 0)
            return error_set(err, STATUS_INPUT, "it is %s", others[k].what);
    return error_set(err, STATUS_INPUT, "it is neither JPEG nor PNG");
}

status image_read(const uint8_t *file, size_t bytes, int channels, image *i, error *err) {
    static const uint8_t jpeg[] = {0xff, 0xd8, 0xff}, png[] = {0x89, 'P', 'N', 'G'};
    status rc = STATUS_OK;
    *i = (image){.orientation = 1};
    if (!bytes) return error_set(err, STATUS_INPUT, "it is empty");
    if (bytes > IMAGE_MAX_FILE)
        return error_set(err, STATUS_INPUT, "it has more than %d bytes", IMAGE_MAX_FILE);
    if (bytes >= sizeof jpeg && memcmp(file, jpeg, sizeof jpeg) == 0)
        rc = image_decode_jpeg(file, bytes, i, err);
    else if (bytes >= sizeof png && memcmp(file, png, sizeof png) == 0)
        rc = image_decode_png(file, bytes, i, err);
    else
        rc = refuse_other(file, bytes, err);
    return rc == STATUS_OK ? image_convert(i, channels, err) : rc;
}

static status read_all(int fd, uint8_t *to, size_t bytes, size_t *got, error *err) {
    for (*got = 0; *got < bytes;) {
        const ssize_t n = read(fd, to + *got, bytes - *got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return error_system(err, STATUS_INPUT, errno, "it cannot be read");
        if (n == 0) break;
        *got += (size_t)n;
    }
    return STATUS_OK;
}

status image_read_file(const char *path, int channels, image *i, error *err) {
    struct stat st;
    uint8_t *file = NULL;
    size_t got;
    status rc = STATUS_FAILED;
    *i = (image){0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0) {
        rc = error_system(err, STATUS_INPUT, errno, "it cannot be opened");
        goto out;
    }
    if (!S_ISREG(st.st_mode) || st.st_size > IMAGE_MAX_FILE) {
        rc = error_set(err, STATUS_INPUT,
                       S_ISREG(st.st_mode) ? "it has more than %d bytes"
                                           : "it is not a regular file",
                       IMAGE_MAX_FILE);
        goto out;
    }
    file = memory_try_new((size_t)st.st_size, 1, err);
    if (!file) goto out;
    TRY(read_all(fd, file, (size_t)st.st_size, &got, err));
    TRY(image_read(file, got, channels, i, err));
out:
    free(file);
    if (fd >= 0) close(fd);
    return rc;
}
