// SPDX-License-Identifier: MIT
#include "train/export/event_file.h"

#include <math.h>

#include "base/protobuf.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "integers are written as they lie there");

// event.proto, summary.proto
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2 };

// Entry i: the remainder of i divided by the polynomial, bits reversed.
static const uint32_t nibbles[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t crc32c(const void *data, size_t bytes) {
    const uint8_t *at = data;
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= at[i];
        crc = crc >> 4 ^ nibbles[crc & 15];
        crc = crc >> 4 ^ nibbles[crc & 15];
    }
    return ~crc;
}

static uint32_t masked_crc(const void *data, size_t bytes) {
    const uint32_t crc = crc32c(data, bytes);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

// Appends the message as a frame, and releases it.
static void append_record(text *to, text *message) {
    const uint64_t length = message->length;
    uint32_t crc = masked_crc(&length, sizeof length);
    text_bytes(to, (const char *)&length, sizeof length);
    text_bytes(to, (const char *)&crc, sizeof crc);
    text_bytes(to, text_string(message), message->length);
    crc = masked_crc(text_string(message), message->length);
    text_bytes(to, (const char *)&crc, sizeof crc);
    text_release(message);
}

void event_file_begin(text *to, double wall_time) {
    text event = {0};
    protobuf_double(&event, EVENT_WALL_TIME, wall_time);
    protobuf_string(&event, EVENT_FILE_VERSION, "brain.Event:2");
    append_record(to, &event);
}

// ---- Scalars ----

typedef struct scalar {
    const char *tag;
    double value; // written as a float; left out if not finite
} scalar;

// A record with these values at that step; none if no value is finite.
static void append_scalars(text *to, double wall_time, uint64_t step, const scalar *values,
                           size_t count) {
    text event = {0};
    protobuf_double(&event, EVENT_WALL_TIME, wall_time);
    protobuf_integer(&event, EVENT_STEP, (int64_t)step);
    const size_t summary = protobuf_begin(&event, EVENT_SUMMARY);
    size_t written = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i].value)) continue;
        const size_t value = protobuf_begin(&event, SUMMARY_VALUE);
        protobuf_string(&event, VALUE_TAG, values[i].tag);
        protobuf_float(&event, VALUE_SIMPLE, (float)values[i].value);
        protobuf_end(&event, value);
        written++;
    }
    protobuf_end(&event, summary);
    if (written)
        append_record(to, &event);
    else
        text_release(&event);
}

void event_file_step(text *to, double wall_time, uint64_t step, const event_step *values) {
    const scalar scalars[] = {
        {"step/loss", values->loss},
        {"step/learning_rate", values->rate},
        {"step/seconds", values->seconds},
    };
    append_scalars(to, wall_time, step + 1, scalars, sizeof scalars / sizeof *scalars);
}

void event_file_epoch(text *to, double wall_time, uint64_t epoch, const event_epoch *values) {
    const scalar scalars[] = {
        {"epoch/train_loss", values->loss},
        {values->validated ? "epoch/validation_accuracy" : "epoch/test_accuracy", values->accuracy},
        {"epoch/seconds", values->seconds},
        {"epoch/images_per_second", values->samples / values->seconds},
    };
    append_scalars(to, wall_time, epoch + 1, scalars, sizeof scalars / sizeof *scalars);
}
