// SPDX-License-Identifier: MIT
// pickle_internal.h - the stack machine (pickle_machine.c), and its calls (pickle_numpy.c).
#ifndef LOCKSTEP_DATA_SOURCE_PICKLE_INTERNAL_H
#define LOCKSTEP_DATA_SOURCE_PICKLE_INTERNAL_H

#include "data/source/pickle.h"

enum { PICKLE_MAX_VALUES = 1 << 20 }; // CIFAR-100 has some 200,000

typedef struct pickle_machine {
    pickle *result;
    const uint8_t *file;
    size_t bytes, at; // at: after the current opcode
    size_t opcode_at; // for messages
    const char *name; // of the file
    pickle_value **stack;
    size_t depth, capacity;
    size_t *marks; // stack depths
    size_t mark_count, mark_capacity;
    pickle_value **memo;
    size_t memo_count, memo_capacity;
    size_t values, owned; // values made so far; bytes that they own
    error *err;
} pickle_machine;

// Returns STATUS_INPUT with the offset of the opcode in the message.
status pickle_refuse(const pickle_machine *m, const char *format, ...) PRINTF_LIKE(2, 3);

// Returns a zeroed value that belongs to the pickle; NULL, with m->err filled, if there are
// too many values.
pickle_value *pickle_new(pickle_machine *m, pickle_kind kind) MUST_CHECK;

// Finds MODULE.WORD; refuses a name that must not be called.
status pickle_name(pickle_machine *m, const uint8_t *module, size_t module_bytes,
                   const uint8_t *word, size_t word_bytes, pickle_value **value) MUST_CHECK;
// Evaluates callable(*arguments), as REDUCE does.
status pickle_call(pickle_machine *m, const pickle_value *callable, const pickle_value *arguments,
                   pickle_value **value) MUST_CHECK;
// Calls value.__setstate__(state), as BUILD does.
status pickle_set_state(pickle_machine *m, pickle_value *value,
                        const pickle_value *state) MUST_CHECK;

#endif
