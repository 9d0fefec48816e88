// pickle.h - the plain part of Python's pickle: dictionaries, lists, tuples, strings, integers and
// NumPy arrays of unsigned bytes, protocols 2 to 4. That is what CIFAR's Python archives hold.
//
// Nothing is executed. A pickle is a program for a stack machine; this one knows the opcodes that
// build these values, and four names: NumPy's ndarray, dtype and _reconstruct, and _codecs.encode.
// Any other opcode, name or value is refused, with its byte offset. Memory and work are in
// proportion to the file.
#ifndef LOCKSTEP_DATA_SOURCE_PICKLE_H
#define LOCKSTEP_DATA_SOURCE_PICKLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { PICKLE_MAX_RANK = 4 };

typedef enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOLEAN,
    PICKLE_INTEGER,
    PICKLE_STRING, // text or bytes: to Python 2 the same
    PICKLE_TUPLE,
    PICKLE_LIST,
    PICKLE_DICTIONARY,
    PICKLE_ARRAY, // uint8, C order
    PICKLE_NAME,  // of those that may be called; in no finished value of use
    PICKLE_DTYPE,
} pickle_kind;

typedef struct pickle_value pickle_value;
struct pickle_value {
    pickle_kind kind;
    int64_t integer;      // integer, boolean; which one of the names
    const uint8_t *bytes; // string, array: its bytes, in the file or owned
    size_t length;        // of bytes
    uint8_t *owned;
    pickle_value **items; // tuple, list; dictionary: key, value, key, value, …
    size_t count, capacity;
    int rank; // array
    int64_t shape[PICKLE_MAX_RANK];
    pickle_value *before; // all values of a pickle, for pickle_free
};

typedef struct pickle {
    const pickle_value *root;
    pickle_value *last;
} pickle;

// Reads a whole file in memory, which must outlive the pickle. `name` is for messages. Refusals are
// STATUS_INPUT: "cannot read pickle: 'NAME': … at byte N". pickle_release whatever happens.
status pickle_parse(const uint8_t *file, size_t bytes, const char *name, pickle *p,
                    error *err) MUST_CHECK;
void pickle_release(pickle *p);

// The value of a key of a dictionary; NULL when there is none, or `v` is no dictionary.
const pickle_value *pickle_find(const pickle_value *v, const char *key);

#endif
