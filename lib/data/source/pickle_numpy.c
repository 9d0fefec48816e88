// SPDX-License-Identifier: MIT
// The calls that make up a pickled NumPy array of unsigned bytes:
//     a = _reconstruct(ndarray, (0,), b"b");  a.__setstate__((1, shape, dtype, fortran, data))
//     d = dtype("u1", False, True);           d.__setstate__((3, "|", None, …))
//     b = _codecs.encode(text, "latin1"), as Python 3 writes bytes in protocol 2
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "data/source/pickle_internal.h"

typedef enum known_name { RECONSTRUCT, NDARRAY, DTYPE, ENCODE } known_name;

static const struct {
    const char *module, *word;
    known_name name;
} names[] = {
    {"numpy.core.multiarray", "_reconstruct", RECONSTRUCT},
    {"numpy._core.multiarray", "_reconstruct", RECONSTRUCT},
    {"numpy", "ndarray", NDARRAY},
    {"numpy", "dtype", DTYPE},
    {"_codecs", "encode", ENCODE},
};

static bool is_text(const uint8_t *bytes, size_t length, const char *text) {
    return strlen(text) == length && memcmp(bytes, text, length) == 0;
}

static bool is_string(const pickle_value *v, const char *text) {
    return v->kind == PICKLE_STRING && is_text(v->bytes, v->length, text);
}

static bool is_name(const pickle_value *v, known_name name) {
    return v->kind == PICKLE_NAME && v->integer == (int64_t)name;
}

status pickle_name(pickle_machine *m, const uint8_t *module, size_t module_bytes,
                   const uint8_t *word, size_t word_bytes, pickle_value **value) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!is_text(module, module_bytes, names[i].module) ||
            !is_text(word, word_bytes, names[i].word))
            continue;
        *value = pickle_new(m, PICKLE_NAME);
        if (!*value) return m->err->code;
        (*value)->integer = (int64_t)names[i].name;
        return STATUS_OK;
    }
    return pickle_refuse(m, "it calls something other than NumPy's array functions");
}

// ---- _codecs.encode(text, "latin1") ----

// Encodes UTF-8 text as Latin-1: each character below U+0100 as one byte.
static status encode(pickle_machine *m, const pickle_value *arguments, pickle_value **value) {
    const pickle_value *text = arguments->count == 2 ? arguments->items[0] : NULL;
    if (!text || text->kind != PICKLE_STRING || !is_string(arguments->items[1], "latin1"))
        return pickle_refuse(m, "it encodes text in an encoding other than latin1");
    pickle_value *v = *value = pickle_new(m, PICKLE_STRING);
    if (!v) return m->err->code;
    // The same text may be encoded many times.
    m->owned += text->length;
    if (m->owned > m->bytes) return pickle_refuse(m, "it encodes more text than there is");
    v->owned = memory_try_new(text->length, 1, m->err);
    if (!v->owned) return STATUS_FAILED;
    v->bytes = v->owned;
    for (size_t i = 0; i < text->length; i++) {
        unsigned c = text->bytes[i];
        if (c >= 0x80) {
            const unsigned next = i + 1 < text->length ? text->bytes[i + 1] : 0;
            if ((c != 0xc2 && c != 0xc3) || (next & 0xc0) != 0x80)
                return pickle_refuse(m, "it encodes text that is not latin1");
            c = (c & 3) << 6 | (next & 0x3f);
            i++;
        }
        v->owned[v->length++] = (uint8_t)c;
    }
    return STATUS_OK;
}

// ---- Calls ----

static bool calls_for_bytes(const pickle_value *arguments) {
    return arguments->count > 0 &&
           (is_string(arguments->items[0], "u1") || is_string(arguments->items[0], "uint8"));
}

status pickle_call(pickle_machine *m, const pickle_value *callable, const pickle_value *arguments,
                   pickle_value **value) {
    if (callable->kind != PICKLE_NAME || arguments->kind != PICKLE_TUPLE)
        return pickle_refuse(m, "it calls a value that is not a function");
    pickle_kind kind = PICKLE_ARRAY;
    switch ((known_name)callable->integer) {
    case ENCODE: return encode(m, arguments, value);
    case RECONSTRUCT:
        if (arguments->count != 3 || !is_name(arguments->items[0], NDARRAY))
            return pickle_refuse(m, "it creates something other than a NumPy array");
        break;
    case DTYPE:
        if (!calls_for_bytes(arguments))
            return pickle_refuse(m, "an array of elements other than unsigned bytes");
        kind = PICKLE_DTYPE;
        break;
    case NDARRAY: return pickle_refuse(m, "it calls ndarray itself");
    }
    *value = pickle_new(m, kind);
    return *value ? STATUS_OK : m->err->code;
}

// ---- States ----

static status set_array(pickle_machine *m, pickle_value *a, const pickle_value *state) {
    static const char bad[] = "the state of an array is not (1, shape, dtype, False, bytes)";
    if (state->kind != PICKLE_TUPLE || state->count != 5) return pickle_refuse(m, "%s", bad);
    const pickle_value *shape = state->items[1], *order = state->items[3], *data = state->items[4];
    if (shape->kind != PICKLE_TUPLE || shape->count < 1 || shape->count > PICKLE_MAX_RANK ||
        state->items[2]->kind != PICKLE_DTYPE || data->kind != PICKLE_STRING ||
        (order->kind != PICKLE_BOOLEAN && order->kind != PICKLE_INTEGER))
        return pickle_refuse(m, "%s", bad);
    if (order->integer) return pickle_refuse(m, "an array in Fortran order");
    size_t elements = 1;
    for (size_t i = 0; i < shape->count; i++) {
        const pickle_value *size = shape->items[i];
        if (size->kind != PICKLE_INTEGER || size->integer < 0 ||
            __builtin_mul_overflow(elements, (size_t)size->integer, &elements))
            return pickle_refuse(m, "unsupported array shape");
        a->shape[i] = size->integer;
    }
    if (elements != data->length)
        return pickle_refuse(m, "an array of %zu bytes, but its shape says %zu", data->length,
                             elements);
    a->rank = (int)shape->count;
    a->bytes = data->bytes;
    a->length = data->length;
    return STATUS_OK;
}

status pickle_set_state(pickle_machine *m, pickle_value *value, const pickle_value *state) {
    if (value->kind == PICKLE_ARRAY) return set_array(m, value, state);
    // A dtype's state holds byte order and fields, which single bytes do not have.
    if (value->kind == PICKLE_DTYPE && state->kind == PICKLE_TUPLE) return STATUS_OK;
    return pickle_refuse(m, "it sets the state of something other than a NumPy array");
}
