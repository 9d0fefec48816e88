// SPDX-License-Identifier: MIT
// Uses the functions of libcrypto that allocate no memory: those of EVP look up the algorithm
// first, and if there is no memory for that, libcrypto 3.0 crashes.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"

struct sha256 {
    SHA256_CTX context;
};

// None of these functions can fail, whatever they return.
sha256 *sha256_new(void) {
    sha256 *h = memory_new(1, sizeof *h);
    (void)SHA256_Init(&h->context);
    return h;
}

void sha256_update(sha256 *h, const void *data, size_t bytes) {
    (void)SHA256_Update(&h->context, data, bytes);
}

void sha256_finish(sha256 *h, char text[SHA256_TEXT_BYTES]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char raw[SHA256_DIGEST_LENGTH];
    (void)SHA256_Final(raw, &h->context);
    for (size_t i = 0; i < sizeof raw; i++) {
        text[2 * i] = digits[raw[i] >> 4];
        text[2 * i + 1] = digits[raw[i] & 15];
    }
    text[2 * sizeof raw] = '\0';
}

void sha256_free(sha256 *h) {
    free(h);
}

void sha256_buffer(const void *data, size_t bytes, char text[SHA256_TEXT_BYTES]) {
    sha256 *h = sha256_new();
    sha256_update(h, data, bytes);
    sha256_finish(h, text);
    sha256_free(h);
}

status sha256_file(const char *path, char text[SHA256_TEXT_BYTES], error *err) {
    enum { CHUNK = 1 << 16 };
    status rc = STATUS_OK;
    unsigned char *chunk = NULL;
    sha256 *h = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return error_system(err, STATUS_INPUT, errno, "cannot open file: '%s'", path);
    h = sha256_new();
    chunk = memory_new(CHUNK, 1);
    for (;;) {
        ssize_t got = read(file, chunk, CHUNK);
        if (got == 0) break;
        if (got > 0) sha256_update(h, chunk, (size_t)got);
        if (got < 0 && errno != EINTR)
            TRY(error_system(err, STATUS_INPUT, errno, "cannot read file: '%s'", path));
    }
    sha256_finish(h, text);
out:
    sha256_free(h);
    free(chunk);
    close(file);
    return rc;
}
