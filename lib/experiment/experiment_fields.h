// SPDX-License-Identifier: MIT
// experiment_fields.h - the keys of an experiment file as one table: type, range, default, and
// place in struct experiment. Used only within this folder.
#ifndef LOCKSTEP_EXPERIMENT_EXPERIMENT_FIELDS_H
#define LOCKSTEP_EXPERIMENT_EXPERIMENT_FIELDS_H

#include "experiment/field_readers.h"

typedef enum field_type {
    FIELD_CHOICE,  // an enum: which of `words`
    FIELD_INTEGER, // int
    FIELD_SEED,    // uint64_t
    FIELD_NUMBER,  // double
    FIELD_PAIR,    // double[2]
    FIELD_FLAG,    // bool; a hyperparameter: double, 0 or 1
    FIELD_CUSTOM,  // handled by `read`
} field_type;

enum { FIELD_NO_PLACE = -1 };

// Who reads a key where not everybody does: a clause, and whether that is so for an experiment that
// is trained by this strategy.
typedef struct field_reader {
    const char *who;
    bool (*reads)(const experiment *e, strategy_kind strategy);
} field_reader;

typedef struct field {
    const char *path; // dotted: "optimizer.lr"
    field_type type;
    bool required;        // if the field applies
    int place;            // offset in struct experiment, or FIELD_NO_PLACE
    double min, max;      // of integers, numbers and pairs
    bool above, below;    // numbers and pairs: min and max themselves are excluded
    bool single;          // numbers and pairs: used as floats, which must be in the range, too
    bool silent;          // not in the resolved experiment if it has its default
    bool speed;           // another value changes the time of a step
    double otherwise;     // the default of a number, an integer, a choice or a flag
    const char *words[6]; // FIELD_CHOICE
    // The field applies only to some values of the choice at offset `kind`: bit k of `kinds` for
    // value k. 0: always.
    unsigned kinds;
    int kind;
    // 1 + the first hyperparameter that it sets: optimizer_kind_traits tells to which kinds of
    // optimizer it applies, and what is then the default. 0: it sets none.
    int hyper;
    const field_reader *read_by; // NULL: every training, or its evaluation or report
    // FIELD_CUSTOM: checks `node` (NULL: absent), fills the struct and stores the resolved value,
    // if any, in *resolved.
    status (*read)(experiment_reading *r, const yaml_node *node, yaml_node **resolved);
} field;

extern const field experiment_fields[];
extern const size_t experiment_field_count;

// Does the field apply if the choice that it depends on has this value?
bool experiment_field_applies(const field *f, unsigned kind);
// Does the key have keys below it, like "optimizer"?
bool experiment_is_section(const char *key);
// Returns a section's default kind ("constant" for a schedule), or NULL if it has no kind or must
// name one.
const char *experiment_default_kind(const char *section);

// Reads one field into r->e and into r->e->resolved.
status experiment_read_field(experiment_reading *r, const field *f);

#endif
