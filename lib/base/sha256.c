#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"

struct sha256 {
    EVP_MD_CTX *context;
    bool failed; // libcrypto documents failures that its software SHA-256 does not have
};

sha256 *sha256_new(error *err) {
    sha256 *h = memory_new(1, sizeof *h, err);
    if (!h) return NULL;
    h->context = EVP_MD_CTX_new();
    if (h->context && EVP_DigestInit_ex(h->context, EVP_sha256(), NULL) == 1) return h;
    sha256_free(h);
    error_set(err, STATUS_FAILED, "cannot start SHA-256: libcrypto refuses it");
    return NULL;
}

void sha256_update(sha256 *h, const void *data, size_t bytes) {
    if (EVP_DigestUpdate(h->context, data, bytes) != 1) h->failed = true;
}

void sha256_finish(sha256 *h, char text[SHA256_TEXT_BYTES]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char raw[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    if (EVP_DigestFinal_ex(h->context, raw, &length) != 1) h->failed = true;
    // An empty text equals no hash, so that a failure can never pass for a match.
    if (h->failed) length = 0;
    for (unsigned i = 0; i < length; i++) {
        text[2 * i] = digits[raw[i] >> 4];
        text[2 * i + 1] = digits[raw[i] & 15];
    }
    text[2 * (size_t)length] = '\0';
}

void sha256_free(sha256 *h) {
    if (!h) return;
    EVP_MD_CTX_free(h->context);
    free(h);
}

status sha256_buffer(const void *data, size_t bytes, char text[SHA256_TEXT_BYTES], error *err) {
    sha256 *h = sha256_new(err);
    if (!h) return STATUS_FAILED;
    sha256_update(h, data, bytes);
    sha256_finish(h, text);
    sha256_free(h);
    return STATUS_OK;
}

status sha256_file(const char *path, char text[SHA256_TEXT_BYTES], error *err) {
    enum { CHUNK = 1 << 16 };
    status rc = STATUS_OK;
    unsigned char *chunk = NULL;
    sha256 *h = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return error_system(err, STATUS_INPUT, errno, "cannot open file: '%s'", path);
    h = sha256_new(err);
    chunk = h ? memory_new(CHUNK, 1, err) : NULL;
    TRY(chunk ? STATUS_OK : STATUS_FAILED);
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
