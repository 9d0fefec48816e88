// SPDX-License-Identifier: MIT
// pickle.h - the plain part of Python's pickle: dictionaries, lists, tuples, strings, integers and
// NumPy arrays of unsigned bytes, protocols 2 to 4. CIFAR's Python archives hold nothing else.
//
// Nothing is executed. A pickle is a program for a stack machine; this reader implements the
// opcodes that build these values, and four names: NumPy's ndarray, dtype and _reconstruct, and
// _codecs.encode. It refuses any other opcode, name or value, with its byte offset. Memory and work
// are proportional to the file.
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
    PICKLE_STRING, // text or bytes: the same in Python 2
    PICKLE_TUPLE,
    PICKLE_LIST,
    PICKLE_DICTIONARY,
    PICKLE_ARRAY, // uint8, C order
    PICKLE_NAME,  // a callable name; never part of a useful result
    PICKLE_DTYPE,
} pickle_kind;

typedef struct pickle_value pickle_value;
struct pickle_value {
    pickle_kind kind;
    int64_t integer;      // integer, boolean; index of the name
    const uint8_t *bytes; // string, array: its bytes, in the file or owned
    size_t length;        // of bytes
    uint8_t *owned;
    pickle_value **items; // tuple, list; dictionary: key, value, key, value, …
    size_t count, capacity;
    int rank; // array
    int64_t shape[PICKLE_MAX_RANK];
    pickle_value *before; // previous value: links all values of a pickle, for pickle_free
};

typedef struct pickle {
    const pickle_value *root;
    pickle_value *last;
} pickle;

// Parses a whole file in memory, which must outlive the pickle. `name` is for messages. Refusals
// are STATUS_INPUT: "cannot read pickle: 'NAME': … at byte N". Call pickle_release in any case.
status pickle_parse(const uint8_t *file, size_t bytes, const char *name, pickle *p,
                    error *err) MUST_CHECK;
void pickle_release(pickle *p);

// Returns the value of a dictionary's key; NULL if it is missing, or `v` is not a dictionary.
const pickle_value *pickle_find(const pickle_value *v, const char *key);

#endif
