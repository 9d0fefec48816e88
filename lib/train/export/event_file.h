// SPDX-License-Identifier: MIT
// event_file.h - the records of TensorBoard's event files: Event messages (protobuf.h) in the
// frames of TFRecord files.
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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

// The CRC with Castagnoli's polynomial (0x1EDC6F41, bits reversed), as iSCSI (RFC 3720, B.4) has
// it: of "123456789" it is 0xE3069283, of no bytes 0.
uint32_t crc32c(const void *data, size_t bytes);

// The functions append records to `to`. Times are seconds since 1970.

// The first record: the version of the format.
void event_file_begin(text *to, double wall_time);

// What is known of a step; NaN: not known. Steps and epochs count from 0 here, from 1 in the file.
typedef struct event_step {
    double loss, rate, seconds;
} event_step;
void event_file_step(text *to, double wall_time, uint64_t step, const event_step *values);

typedef struct event_epoch {
    double loss, accuracy, seconds;
    double samples; // that were trained on
    bool validated; // the accuracy is that of validation samples
} event_epoch;
void event_file_epoch(text *to, double wall_time, uint64_t epoch, const event_epoch *values);

#endif
