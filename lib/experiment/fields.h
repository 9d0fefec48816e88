// fields.h - the keys of an experiment file as one table: what each holds, its range,
// its default, and where it goes in struct experiment. Used within this folder only.
#ifndef LOCKSTEP_EXPERIMENT_FIELDS_H
#define LOCKSTEP_EXPERIMENT_FIELDS_H

#include "experiment/experiment.h"

typedef enum field_type {
    FIELD_CHOICE,  // an enum: which of `words`
    FIELD_INTEGER, // int
    FIELD_SEED,    // uint64_t
    FIELD_NUMBER,  // double
    FIELD_FLAG,    // bool
    FIELD_CUSTOM,  // what `read` makes of it
} field_type;

// What the readers share.
typedef struct experiment_reading {
    experiment *e;
    const char *path;      // of the experiment file: models are looked for beside it
    const yaml_node *root; // the file with every --set applied
    error *err;
} experiment_reading;

enum { FIELD_NO_PLACE = -1 };

typedef struct field {
    const char *path; // dotted: "optimizer.lr"
    field_type type;
    bool required;     // where it applies
    int place;         // offset in struct experiment, or FIELD_NO_PLACE
    double min, max;   // FIELD_INTEGER, FIELD_NUMBER
    bool above, below; // FIELD_NUMBER: min, max themselves are outside
    bool single;       // FIELD_NUMBER: computed with as a float, which is to be in the range, too
    double otherwise;  // the default of a number, an integer, a choice or a flag
    const char *words[4]; // FIELD_CHOICE
    // The field applies only to some values of the choice at offset `kind`: bit k of `kinds` for
    // value k. 0: always.
    unsigned kinds;
    int kind;
    // FIELD_CUSTOM: checks `node` (NULL: absent), fills the struct and puts the resolved value,
    // if any, into *resolved.
    status (*read)(experiment_reading *r, const yaml_node *node, yaml_node **resolved);
} field;

extern const field experiment_fields[];
extern const size_t experiment_field_count;

// Is the key one that has keys below it: "optimizer"?
bool experiment_is_group(const char *key);
// The kind that such a group has where it says none: "constant" of a schedule. NULL where it must
// say one, or has none.
const char *experiment_default_kind(const char *group);

// Can a stage of a pipeline begin with it: a convolution or a linear layer?
bool experiment_begins_stage(const layer *l);

// Is the file name that a node carries that of a --set assignment, not of a file?
bool experiment_is_set(const yaml_node *node);

// Reads one field into r->e and into r->e->resolved.
status experiment_read_field(experiment_reading *r, const field *f);

#endif
