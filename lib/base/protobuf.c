// SPDX-License-Identifier: MIT
#include "base/protobuf.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "floats are written as they lie there");

typedef enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 } wire_type;

enum { VARINT_BYTES = 10 };

// Seven bits a byte, the lowest first; the top bit says that more follow. Returns how many.
static size_t make_varint(uint64_t value, char bytes[VARINT_BYTES]) {
    size_t count = 0;
    for (; value >= 0x80; value >>= 7) bytes[count++] = (char)(value | 0x80);
    bytes[count++] = (char)value;
    return count;
}

static void put_varint(text *t, uint64_t value) {
    char bytes[VARINT_BYTES];
    text_bytes(t, bytes, make_varint(value, bytes));
}

static void put_tag(text *t, uint32_t field, wire_type type) {
    put_varint(t, (uint64_t)field << 3 | type);
}

void protobuf_integer(text *t, uint32_t field, int64_t value) {
    put_tag(t, field, WIRE_VARINT);
    put_varint(t, (uint64_t)value);
}

void protobuf_float(text *t, uint32_t field, float value) {
    char bytes[sizeof value];
    memcpy(bytes, &value, sizeof value);
    put_tag(t, field, WIRE_32);
    text_bytes(t, bytes, sizeof bytes);
}

void protobuf_double(text *t, uint32_t field, double value) {
    char bytes[sizeof value];
    memcpy(bytes, &value, sizeof value);
    put_tag(t, field, WIRE_64);
    text_bytes(t, bytes, sizeof bytes);
}

void protobuf_bytes(text *t, uint32_t field, const void *data, size_t bytes) {
    put_tag(t, field, WIRE_BYTES);
    put_varint(t, bytes);
    text_bytes(t, data, bytes);
}

void protobuf_string(text *t, uint32_t field, const char *string) {
    protobuf_bytes(t, field, string, strlen(string));
}

size_t protobuf_begin(text *t, uint32_t field) {
    put_tag(t, field, WIRE_BYTES);
    return t->length;
}

void protobuf_end(text *t, size_t begun) {
    char bytes[VARINT_BYTES];
    const size_t length = t->length - begun, count = make_varint(length, bytes);
    text_bytes(t, bytes, count); // makes the room that the body moves into
    memmove(t->data + begun + count, t->data + begun, length);
    memcpy(t->data + begun, bytes, count);
}
