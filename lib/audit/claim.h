// SPDX-License-Identifier: MIT
// claim.h - a published claim about training runs, as a file of schema lockstep.claim/1: rows of
// figures, and statements about them. audit.h checks the statements against the rows.
#ifndef LOCKSTEP_AUDIT_CLAIM_H
#define LOCKSTEP_AUDIT_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/number.h"
#include "base/error.h"
#include "base/yaml_tree.h"

// Numbers that a row or a statement may give. docs/formats.md says what each means.
typedef enum quantity {
    // Conditions.
    QUANTITY_BATCH,        // as given to the loader: per rank under DDP, else per step
    QUANTITY_GLOBAL_BATCH, // samples per step, over all devices
    QUANTITY_SAMPLES,
    QUANTITY_EPOCHS,
    QUANTITY_LR,
    QUANTITY_DEVICES,
    QUANTITY_LOADER_WORKERS,
    QUANTITY_TEST_SAMPLES,
    QUANTITY_REPEATS, // runs that the accuracy is averaged over
    // Figures.
    QUANTITY_TOTAL_SECONDS,
    QUANTITY_SECONDS_PER_EPOCH,
    QUANTITY_IMAGES_PER_SECOND, // over all devices
    QUANTITY_BATCH_MS,
    QUANTITY_LOAD_SECONDS,   // per step
    QUANTITY_UPDATE_SECONDS, // per step
    QUANTITY_OTHER_SECONDS,  // part of the total, but of no epoch
    QUANTITY_ACCURACY,       // percent
    QUANTITY_TRAIN_LOSS,
    QUANTITY_SPEED_UP, // over the row `over`: a statement of kind speedup
    // Only in statements.
    QUANTITY_BY_PERCENT,
    QUANTITY_RATIO,
    QUANTITY_POINTS, // of accuracy, in percent
    QUANTITY_MS,     // per batch
    QUANTITY_COMMUNICATION_MS,
    QUANTITY_NEEDS_DEVICES,
    QUANTITIES
} quantity;

// A row's text values. Two rows with different values were trained under different conditions.
typedef enum label {
    LABEL_STRATEGY, // single, dp, ddp or mp
    LABEL_DATASET,
    LABEL_MODEL,
    LABEL_OPTIMIZER,
    LABEL_AUGMENT,
    LABEL_PRECISION,
    LABEL_DEVICE,
    LABELS
} label;

// Lists of figures.
typedef enum series {
    SERIES_EPOCH_SECONDS,
    SERIES_EPOCH_LOSSES,
    SERIES_CLASS_ACCURACIES, // percent
    SERIES_CLASS_SAMPLES,    // test samples of each class
    SERIES_UTILIZATION,      // percent, of each device; a list of one: over all devices
    SERIES_KINDS
} series;

typedef struct stated_list {
    stated *items;
    size_t count;
} stated_list;

// The subject of a finding, and of a `says` statement that answers it: a quantity, a label
// (its LABEL_TOPIC), or one of these.
#define LABEL_TOPIC(l) ((int)QUANTITIES + (int)(l))
enum {
    TOPIC_TIME = (int)QUANTITIES + (int)LABELS,
    TOPIC_MEASURED,      // was it measured?
    TOPIC_SOURCE,        // where does it come from?
    TOPIC_COMMUNICATION, // is it counted?
    TOPIC_CODE,          // is the code shown the code that ran?
    TOPICS
};

typedef enum claim_source {
    SOURCE_OWN,   // no source given: the claim's own measurement
    SOURCE_NAMED, // `source: TEXT`
    SOURCE_NONE   // `source: none`: quoted without a source
} claim_source;

typedef struct claim_row {
    const char *name;
    const char *where; // "table 2"; "": not given
    stated values[QUANTITIES];
    stated_list series[SERIES_KINDS];
    const char *labels[LABELS]; // NULL: not given
    bool measured;
    claim_source source;
} claim_row;

typedef enum statement_kind {
    STATEMENT_SLOWER,
    STATEMENT_FASTER,
    STATEMENT_SPEEDUP,
    STATEMENT_DIFFERENCE,
    STATEMENT_ACCURACY_DIFFERENCE,
    STATEMENT_SAME_ACCURACY,
    STATEMENT_LOAD_TO_UPDATE,
    STATEMENT_OVERHEAD, // the named cause is the whole difference
    STATEMENT_PART,     // the named cause is one of several
    STATEMENT_PROJECTION,
    STATEMENT_EFFECTIVE_BATCH,
    STATEMENT_CODE,
    STATEMENT_SAYS,
    STATEMENT_KINDS
} statement_kind;

typedef struct claim_statement {
    statement_kind kind;
    const char *where, *note; // "": not given
    // The rows that the statement is about, and their names as written. A row is NULL if no row has
    // that name: a finding, not an invalid file. A name is NULL if it was not given.
    const claim_row *of, *than;
    const char *of_name, *than_name;
    stated values[QUANTITIES];
    quantity basis;  // QUANTITIES: not given
    uint64_t topics; // of `says`: bit t is set for each topic t that it answers
    claim_source source;
    const void *list; // equal for statements expanded from one list of rows
} claim_statement;

typedef struct claim {
    const char *name;
    claim_row *rows;
    size_t row_count;
    claim_statement *statements; // those from the rows' speed-ups come first
    size_t statement_count, statement_capacity;
    stated **lists; // all series
    size_t list_count, list_capacity;
    yaml_node *root; // owns the texts
} claim;

// Reads a claim. Fails with STATUS_INPUT, line and column for an unknown key (naming the nearest
// known key), a wrong type, a duplicate row name, or a statement that lacks a required value.
// Release *c also after a failure.
status claim_read(const char *path, claim *c, error *err) MUST_CHECK;
status claim_read_text(const char *text, const char *name, claim *c, error *err) MUST_CHECK;
void claim_release(claim *c);

const char *quantity_key(quantity q);         // "batch_ms"
const char *label_key(label l);               // "strategy"
const char *statement_name(statement_kind k); // "slower"

#endif
