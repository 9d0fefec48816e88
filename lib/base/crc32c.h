// SPDX-License-Identifier: MIT
// crc32c.h - the CRC with Castagnoli's polynomial (0x1EDC6F41, bits reversed), as iSCSI (RFC 3720,
// B.4) and TFRecord files have it.
#ifndef LOCKSTEP_BASE_CRC32C_H
#define LOCKSTEP_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

// crc32c("123456789", 9) is 0xE3069283; of no bytes it is 0.
uint32_t crc32c(const void *data, size_t bytes);

#endif
