// SPDX-License-Identifier: MIT
// event_file.h - writes the event files of TensorBoard: Event messages (protobuf.h) in the frames
// of TFRecord files.
//
// A frame is the length of the message in 8 bytes, little-endian, its checksum, the message, and
// its checksum. A checksum is the CRC-32C, rotated right by 15 bits, plus 0xa282ead8: 4 bytes.
// Fields, from tensorflow/core/util/event.proto and framework/summary.proto:
//
// | message | fields |
// |---|---|
// | Event | 1 wall_time (double), 2 step (int64), 3 file_version (string), 5 summary |
// | Summary | 1 value, repeated |
// | Summary.Value | 1 tag (string), 2 simple_value (float) |
#ifndef LOCKSTEP_TRAIN_EXPORT_EVENT_FILE_H
#define LOCKSTEP_TRAIN_EXPORT_EVENT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/output.h"

typedef struct event_scalar {
    const char *tag;
    double value; // written as a float; left out if not finite
} event_scalar;

// The CRC with Castagnoli's polynomial (0x1EDC6F41, bits reversed), as iSCSI (RFC 3720, B.4) has
// it: of "123456789" it is 0xE3069283, of no bytes 0.
uint32_t crc32c(const void *data, size_t bytes);

// Writes the first record, the version of the format. Times are seconds since 1970.
status event_file_begin(output *out, double wall_time, error *err) MUST_CHECK;
// Writes a record with these values at that step; none if no value is finite.
status event_file_scalars(output *out, double wall_time, uint64_t step, const event_scalar *values,
                          size_t count, error *err) MUST_CHECK;

#endif
