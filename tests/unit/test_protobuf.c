// SPDX-License-Identifier: MIT
// Fields of Protocol Buffers, byte by byte, and the checksum of the frames that they lie in.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/protobuf.h"
#include "train/export/event_file.h"

static void holds(text *t, const char *bytes, size_t count) {
    assert_int_equal(t->length, count);
    assert_memory_equal(t->data, bytes, count);
    text_release(t);
}

// The examples of the specification, and the ends of the range.
static void integers(void **state) {
    (void)state;
    text t = {0};
    protobuf_integer(&t, 1, 150);
    holds(&t, "\x08\x96\x01", 3);
    t = (text){0};
    protobuf_integer(&t, 2, 0);
    protobuf_integer(&t, 15, 127);
    protobuf_integer(&t, 16, 128);
    holds(&t, "\x10\x00\x78\x7f\x80\x01\x80\x01", 8);
    t = (text){0};
    protobuf_integer(&t, 1, -1);
    holds(&t, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
}

static void floats_and_bytes(void **state) {
    (void)state;
    text t = {0};
    protobuf_float(&t, 2, 1.0f);
    protobuf_double(&t, 1, -2.0);
    protobuf_string(&t, 2, "testing");
    protobuf_bytes(&t, 3, "a\0b", 3);
    protobuf_string(&t, 4, "");
    holds(&t,
          "\x15\x00\x00\x80\x3f"
          "\x09\x00\x00\x00\x00\x00\x00\x00\xc0"
          "\x12\x07testing"
          "\x1a\x03"
          "a\0b"
          "\x22\x00",
          30);
}

// Lengths of one byte and of two, inside of one another.
static void messages(void **state) {
    (void)state;
    text t = {0};
    char body[200];
    memset(body, 'x', sizeof body);
    protobuf_string(&t, 1, "before");
    const size_t outer = protobuf_begin(&t, 3), inner = protobuf_begin(&t, 1);
    protobuf_bytes(&t, 2, body, sizeof body);
    protobuf_end(&t, inner);
    const size_t empty = protobuf_begin(&t, 4);
    protobuf_end(&t, empty);
    protobuf_end(&t, outer);
    protobuf_integer(&t, 5, 1);
    assert_int_equal(t.length, 8 + 3 + 3 + 3 + 200 + 2 + 2);
    assert_memory_equal(t.data,
                        "\x0a\x06"
                        "before"
                        "\x1a\xd0\x01\x0a\xcb\x01\x12\xc8\x01xx",
                        19);
    assert_memory_equal(t.data + 216, "x\x22\x00\x28\x01", 5);
    text_release(&t);
}

// RFC 3720, B.4.
static void checksums(void **state) {
    (void)state;
    uint8_t bytes[32] = {0};
    assert_int_equal(crc32c("", 0), 0);
    assert_int_equal(crc32c("123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(bytes, sizeof bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(crc32c(bytes, sizeof bytes), 0x62a8ab43);
    for (uint8_t i = 0; i < sizeof bytes; i++) bytes[i] = i;
    assert_int_equal(crc32c(bytes, sizeof bytes), 0x46dd794e);
    for (uint8_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(31 - i);
    assert_int_equal(crc32c(bytes, sizeof bytes), 0x113fdb5c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(floats_and_bytes),
        cmocka_unit_test(messages),
        cmocka_unit_test(checksums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
