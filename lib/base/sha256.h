// SPDX-License-Identifier: MIT
// sha256.h - SHA-256 (FIPS 180-4) through OpenSSL's libcrypto.
#ifndef LOCKSTEP_BASE_SHA256_H
#define LOCKSTEP_BASE_SHA256_H

#include <stddef.h>

#include "base/error.h"

enum { SHA256_TEXT_BYTES = 65 }; // 64 lower-case hexadecimal digits and a zero

typedef struct sha256 sha256;

sha256 *sha256_new(void) MUST_CHECK;
void sha256_update(sha256 *h, const void *data, size_t bytes);
void sha256_finish(sha256 *h, char text[SHA256_TEXT_BYTES]); // afterwards h may only be freed
void sha256_free(sha256 *h);

// Hash a buffer, and a file's bytes as they are on disk.
void sha256_buffer(const void *data, size_t bytes, char text[SHA256_TEXT_BYTES]);
status sha256_file(const char *path, char text[SHA256_TEXT_BYTES], error *err) MUST_CHECK;

#endif
