// SPDX-License-Identifier: MIT
// The stack machine that a pickle is a program for.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/source/pickle_internal.h"

// The opcodes, with their names in Python's pickletools.
enum {
    MARK = '(',
    STOP = '.',
    BININT = 'J',
    BININT1 = 'K',
    BININT2 = 'M',
    NONE = 'N',
    REDUCE = 'R',
    BINSTRING = 'T',
    SHORT_BINSTRING = 'U',
    BINUNICODE = 'X',
    BINBYTES = 'B',
    SHORT_BINBYTES = 'C',
    APPEND = 'a',
    BUILD = 'b',
    GLOBAL = 'c',
    APPENDS = 'e',
    BINGET = 'h',
    LONG_BINGET = 'j',
    BINPUT = 'q',
    LONG_BINPUT = 'r',
    SETITEM = 's',
    TUPLE = 't',
    SETITEMS = 'u',
    EMPTY_TUPLE = ')',
    EMPTY_LIST = ']',
    EMPTY_DICT = '}',
    PROTO = 0x80,
    TUPLE1 = 0x85,
    TUPLE2 = 0x86,
    TUPLE3 = 0x87,
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
    LONG1 = 0x8a,
    SHORT_BINUNICODE = 0x8c,
    BINUNICODE8 = 0x8d,
    BINBYTES8 = 0x8e,
    STACK_GLOBAL = 0x93,
    MEMOIZE = 0x94,
    FRAME = 0x95,
};

enum { OLDEST_PROTOCOL = 2, NEWEST_PROTOCOL = 4 };
// Python 2 numbers the memo from 1.
enum { MAX_MEMO_GAP = 1 };

// ---- The file ----

// Takes the next `bytes` bytes.
static status take(pickle_machine *m, uint64_t bytes, const uint8_t **from) {
    *from = NULL;
    if (bytes > m->bytes - m->at) return pickle_refuse(m, "it ends inside an opcode");
    *from = m->file + m->at;
    m->at += (size_t)bytes;
    return STATUS_OK;
}

// Takes a little-endian number of `width` bytes.
static status take_number(pickle_machine *m, size_t width, uint64_t *number) {
    const uint8_t *from;
    status rc = take(m, width, &from);
    *number = 0;
    for (size_t i = 0; rc == STATUS_OK && i < width; i++) *number |= (uint64_t)from[i] << (8 * i);
    return rc;
}

// Takes the text up to a newline, and skips that.
static status take_line(pickle_machine *m, const uint8_t **from, size_t *bytes) {
    *from = NULL;
    *bytes = 0;
    const uint8_t *end = memchr(m->file + m->at, '\n', m->bytes - m->at);
    if (!end) return pickle_refuse(m, "it ends inside an opcode");
    *from = m->file + m->at;
    *bytes = (size_t)(end - *from);
    m->at += *bytes + 1;
    return STATUS_OK;
}

// ---- The stack ----

static status push(pickle_machine *m, pickle_value *v) {
    if (!v) return m->err->code;
    if (m->depth >= PICKLE_MAX_VALUES)
        return pickle_refuse(m, "more than %d values", PICKLE_MAX_VALUES);
    m->stack = memory_grow(m->stack, &m->capacity, m->depth + 1, sizeof(pickle_value *));
    m->stack[m->depth++] = v;
    return STATUS_OK;
}

static size_t floor_of(const pickle_machine *m) {
    return m->mark_count ? m->marks[m->mark_count - 1] : 0;
}

// Only values above the last mark may be popped.
static status pop(pickle_machine *m, pickle_value **v) {
    if (m->depth <= floor_of(m)) return pickle_refuse(m, "its stack is empty");
    *v = m->stack[--m->depth];
    return STATUS_OK;
}

static void mark(pickle_machine *m) {
    m->marks = memory_grow(m->marks, &m->mark_capacity, m->mark_count + 1, sizeof *m->marks);
    m->marks[m->mark_count++] = m->depth;
}

// Removes the last mark. The `count` values above it are at *first until the next push.
static status pop_mark(pickle_machine *m, pickle_value ***first, size_t *count) {
    *first = NULL;
    *count = 0;
    if (!m->mark_count) return pickle_refuse(m, "there is no mark");
    const size_t at = m->marks[--m->mark_count];
    *count = m->depth - at;
    *first = m->stack + at;
    m->depth = at;
    return STATUS_OK;
}

static void append(pickle_value *to, pickle_value *const *items, size_t count) {
    if (!count) return;
    to->items = memory_grow(to->items, &to->capacity, to->count + count, sizeof(pickle_value *));
    memcpy(to->items + to->count, items, count * sizeof *items);
    to->count += count;
}

// ---- Opcodes: scalars ----

static status push_integer(pickle_machine *m, pickle_kind kind, int64_t integer) {
    pickle_value *v = pickle_new(m, kind);
    if (v) v->integer = integer;
    return push(m, v);
}

static status do_integer(pickle_machine *m, size_t width) {
    uint64_t number;
    NEED(take_number(m, width, &number));
    // Only the four-byte integer is signed.
    const int64_t value = width == 4 ? (int32_t)(uint32_t)number : (int64_t)number;
    return push_integer(m, PICKLE_INTEGER, value);
}

// Reads a length and a two's complement integer.
static status do_long(pickle_machine *m) {
    uint64_t width, number;
    NEED(take_number(m, 1, &width));
    if (width > 8) return pickle_refuse(m, "an integer of %u bytes", (unsigned)width);
    NEED(take_number(m, (size_t)width, &number));
    if (width && width < 8 && number >> (8 * width - 1)) number |= ~UINT64_C(0) << (8 * width);
    return push_integer(m, PICKLE_INTEGER, (int64_t)number);
}

static status do_string(pickle_machine *m, size_t width) {
    uint64_t length;
    const uint8_t *from;
    status rc = take_number(m, width, &length);
    if (rc == STATUS_OK) rc = take(m, length, &from);
    if (rc != STATUS_OK) return rc;
    pickle_value *v = pickle_new(m, PICKLE_STRING);
    if (!v) return m->err->code;
    v->bytes = from;
    v->length = (size_t)length;
    return push(m, v);
}

// ---- Opcodes: collections ----

static status do_tuple(pickle_machine *m, size_t count) {
    if (m->depth - floor_of(m) < count) return pickle_refuse(m, "its stack is empty");
    pickle_value *v = pickle_new(m, PICKLE_TUPLE);
    if (!v) return m->err->code;
    m->depth -= count;
    append(v, m->stack + m->depth, count);
    return push(m, v);
}

static status do_marked_tuple(pickle_machine *m) {
    pickle_value **first;
    size_t count;
    NEED(pop_mark(m, &first, &count));
    m->depth += count;
    return do_tuple(m, count);
}

// Appends `count` values to the collection below them.
static status extend(pickle_machine *m, pickle_kind kind, pickle_value *const *items,
                     size_t count) {
    if (m->depth <= floor_of(m)) return pickle_refuse(m, "its stack is empty");
    pickle_value *to = m->stack[m->depth - 1];
    if (to->kind != kind || (kind == PICKLE_DICTIONARY && count % 2))
        return pickle_refuse(m, "it appends to a value that is not a %s",
                             kind == PICKLE_LIST ? "list" : "dictionary");
    append(to, items, count);
    return STATUS_OK;
}

static status do_extend(pickle_machine *m, pickle_kind kind, size_t count) {
    if (m->depth - floor_of(m) < count) return pickle_refuse(m, "its stack is empty");
    m->depth -= count;
    return extend(m, kind, m->stack + m->depth, count);
}

static status do_marked_extend(pickle_machine *m, pickle_kind kind) {
    pickle_value **first;
    size_t count;
    status rc = pop_mark(m, &first, &count);
    return rc == STATUS_OK ? extend(m, kind, first, count) : rc;
}

// ---- Opcodes: the memo ----

static status put_memo(pickle_machine *m, uint64_t place) {
    if (m->depth <= floor_of(m)) return pickle_refuse(m, "its stack is empty");
    // Python numbers places consecutively: a distant one would only take memory.
    if (place > m->memo_count + MAX_MEMO_GAP || place >= PICKLE_MAX_VALUES)
        return pickle_refuse(m, "the memo has a gap");
    m->memo = memory_grow(m->memo, &m->memo_capacity, (size_t)place + 1, sizeof(pickle_value *));
    while (m->memo_count <= place) m->memo[m->memo_count++] = NULL;
    m->memo[place] = m->stack[m->depth - 1];
    return STATUS_OK;
}

static status do_put(pickle_machine *m, size_t width) {
    uint64_t place;
    status rc = take_number(m, width, &place);
    return rc == STATUS_OK ? put_memo(m, place) : rc;
}

static status do_get(pickle_machine *m, size_t width) {
    uint64_t place;
    NEED(take_number(m, width, &place));
    if (place >= m->memo_count || !m->memo[place])
        return pickle_refuse(m, "the memo has no such entry");
    return push(m, m->memo[place]);
}

// ---- Opcodes: calls ----

static status do_global(pickle_machine *m) {
    const uint8_t *module, *word;
    size_t module_bytes, word_bytes;
    pickle_value *v;
    NEED(take_line(m, &module, &module_bytes));
    NEED(take_line(m, &word, &word_bytes));
    NEED(pickle_name(m, module, module_bytes, word, word_bytes, &v));
    return push(m, v);
}

static status do_stack_global(pickle_machine *m) {
    pickle_value *word, *module, *v;
    NEED(pop(m, &word));
    NEED(pop(m, &module));
    if (word->kind != PICKLE_STRING || module->kind != PICKLE_STRING)
        return pickle_refuse(m, "a name that is not text");
    NEED(pickle_name(m, module->bytes, module->length, word->bytes, word->length, &v));
    return push(m, v);
}

static status do_reduce(pickle_machine *m) {
    pickle_value *arguments, *callable, *v;
    NEED(pop(m, &arguments));
    NEED(pop(m, &callable));
    NEED(pickle_call(m, callable, arguments, &v));
    return push(m, v);
}

static status do_build(pickle_machine *m) {
    pickle_value *state, *v;
    NEED(pop(m, &state));
    NEED(pop(m, &v));
    NEED(pickle_set_state(m, v, state));
    return push(m, v);
}

static status do_protocol(pickle_machine *m) {
    uint64_t protocol;
    status rc = take_number(m, 1, &protocol);
    if (rc == STATUS_OK && (protocol < OLDEST_PROTOCOL || protocol > NEWEST_PROTOCOL))
        rc = pickle_refuse(m, "protocol %u, expected %d to %d", (unsigned)protocol, OLDEST_PROTOCOL,
                           NEWEST_PROTOCOL);
    return rc;
}

static status do_opcode(pickle_machine *m, unsigned opcode) {
    const uint8_t *ignored;
    switch (opcode) {
    case PROTO: return do_protocol(m);
    case FRAME: return take(m, 8, &ignored);
    case NONE: return push(m, pickle_new(m, PICKLE_NONE));
    case NEWTRUE:
    case NEWFALSE: return push_integer(m, PICKLE_BOOLEAN, opcode == NEWTRUE);
    case BININT1: return do_integer(m, 1);
    case BININT2: return do_integer(m, 2);
    case BININT: return do_integer(m, 4);
    case LONG1: return do_long(m);
    case SHORT_BINSTRING:
    case SHORT_BINBYTES:
    case SHORT_BINUNICODE: return do_string(m, 1);
    case BINSTRING:
    case BINBYTES:
    case BINUNICODE: return do_string(m, 4);
    case BINBYTES8:
    case BINUNICODE8: return do_string(m, 8);
    case EMPTY_LIST: return push(m, pickle_new(m, PICKLE_LIST));
    case EMPTY_DICT: return push(m, pickle_new(m, PICKLE_DICTIONARY));
    case EMPTY_TUPLE: return do_tuple(m, 0);
    case TUPLE1: return do_tuple(m, 1);
    case TUPLE2: return do_tuple(m, 2);
    case TUPLE3: return do_tuple(m, 3);
    case TUPLE: return do_marked_tuple(m);
    case MARK: mark(m); return STATUS_OK;
    case APPEND: return do_extend(m, PICKLE_LIST, 1);
    case APPENDS: return do_marked_extend(m, PICKLE_LIST);
    case SETITEM: return do_extend(m, PICKLE_DICTIONARY, 2);
    case SETITEMS: return do_marked_extend(m, PICKLE_DICTIONARY);
    case BINPUT: return do_put(m, 1);
    case LONG_BINPUT: return do_put(m, 4);
    case MEMOIZE: return put_memo(m, m->memo_count);
    case BINGET: return do_get(m, 1);
    case LONG_BINGET: return do_get(m, 4);
    case GLOBAL: return do_global(m);
    case STACK_GLOBAL: return do_stack_global(m);
    case REDUCE: return do_reduce(m);
    case BUILD: return do_build(m);
    }
    return pickle_refuse(m, "unsupported opcode 0x%02x", opcode);
}

static status run(pickle_machine *m) {
    if (!m->bytes || m->file[0] != PROTO)
        return pickle_refuse(m, "it does not begin as a pickle of protocol 2 or later");
    while (m->at < m->bytes) {
        m->opcode_at = m->at;
        const unsigned opcode = m->file[m->at++];
        if (opcode == STOP) break;
        NEED(do_opcode(m, opcode));
    }
    if (m->file[m->at - 1] != STOP) {
        m->opcode_at = m->at;
        return pickle_refuse(m, "it ends without STOP");
    }
    if (m->depth != 1 || m->mark_count) return pickle_refuse(m, "%zu values remain", m->depth);
    m->opcode_at = m->at;
    if (m->at < m->bytes) return pickle_refuse(m, "extra bytes after its end");
    m->result->root = m->stack[0];
    return STATUS_OK;
}

status pickle_parse(const uint8_t *file, size_t bytes, const char *name, pickle *p, error *err) {
    *p = (pickle){0};
    error own;
    pickle_machine m = {
        .result = p, .file = file, .bytes = bytes, .name = name, .err = err ? err : &own};
    // Allocated up front, so that a tuple of no values on an empty stack still has a valid pointer.
    m.stack = memory_grow(m.stack, &m.capacity, 1, sizeof *m.stack);
    status rc = run(&m);
    free(m.stack);
    free(m.marks);
    free(m.memo);
    return rc;
}
