// protobuf.h - fields of Protocol Buffers, one after the other, for formats that are made of them
// (https://protobuf.dev/programming-guides/encoding). Only writing: no schema, nothing generated.
//
// A message is the bytes of its fields in a `text`, whose failure sticks. A message in another one
// is a field that is begun and ended:
//     const size_t model = protobuf_begin(&t, 7);
//     protobuf_string(&t, 2, "graph");
//     protobuf_end(&t, model);
#ifndef LOCKSTEP_BASE_PROTOBUF_H
#define LOCKSTEP_BASE_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum { PROTOBUF_MAX = INT32_MAX }; // bytes of a message that every reader takes

// int32, int64, uint64, bool, enum: a value below 0 takes ten bytes, as two's complement.
void protobuf_integer(text *t, uint32_t field, int64_t value);
void protobuf_float(text *t, uint32_t field, float value);
void protobuf_double(text *t, uint32_t field, double value);
// bytes and string.
void protobuf_bytes(text *t, uint32_t field, const void *data, size_t bytes);
void protobuf_string(text *t, uint32_t field, const char *string);

// What protobuf_begin returns goes to its protobuf_end, which puts the length in front of what came
// between. The last one that was begun ends first.
size_t protobuf_begin(text *t, uint32_t field);
void protobuf_end(text *t, size_t begun);

#endif
