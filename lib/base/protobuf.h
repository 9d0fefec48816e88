// SPDX-License-Identifier: MIT
// protobuf.h - writes fields of Protocol Buffers
// (https://protobuf.dev/programming-guides/encoding), without a schema or generated code.
//
// A message is the bytes of its fields in a `text`. A message inside another
// one is a field with a begin and an end:
//     const size_t model = protobuf_begin(&t, 7);
//     protobuf_string(&t, 2, "graph");
//     protobuf_end(&t, model);
#ifndef LOCKSTEP_BASE_PROTOBUF_H
#define LOCKSTEP_BASE_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum { PROTOBUF_MAX = INT32_MAX }; // bytes of the largest message

// int32, int64, uint64, bool, enum. A negative value takes ten bytes, as two's complement.
void protobuf_integer(text *t, uint32_t field, int64_t value);
void protobuf_float(text *t, uint32_t field, float value);
void protobuf_double(text *t, uint32_t field, double value);
// bytes and string.
void protobuf_bytes(text *t, uint32_t field, const void *data, size_t bytes);
void protobuf_string(text *t, uint32_t field, const char *string);

// protobuf_end takes the value of its protobuf_begin, and inserts the length in front of the fields
// in between. Messages end in reverse order.
size_t protobuf_begin(text *t, uint32_t field);
void protobuf_end(text *t, size_t begun);

#endif
