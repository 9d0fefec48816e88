// claim.h - what somebody published about training runs, as a file of schema lockstep.claim/1: rows
// of figures, and statements about them. audit.h holds one against the other.
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
    QUANTITY_BATCH,        // that the loader was given: of a rank under DDP, else of a step
    QUANTITY_GLOBAL_BATCH, // samples a step, over all devices
    QUANTITY_SAMPLES,
    QUANTITY_EPOCHS,
    QUANTITY_LR,
    QUANTITY_DEVICES,
    QUANTITY_LOADER_WORKERS,
    QUANTITY_TEST_SAMPLES,
    QUANTITY_REPEATS, // runs that the accuracy is the mean of
    // Figures.
    QUANTITY_TOTAL_SECONDS,
    QUANTITY_SECONDS_PER_EPOCH,
    QUANTITY_BATCH_MS,
    QUANTITY_LOAD_SECONDS,   // a step
    QUANTITY_UPDATE_SECONDS, // a step
    QUANTITY_OTHER_SECONDS,  // in the total, but in no step
    QUANTITY_ACCURACY,       // percent
    QUANTITY_TRAIN_LOSS,
    QUANTITY_SPEED_UP, // over the row `over`: a statement of kind speedup
    // Only in statements.
    QUANTITY_BY_PERCENT,
    QUANTITY_RATIO,
    QUANTITY_POINTS, // of accuracy, in percent
    QUANTITY_MS,     // a batch
    QUANTITY_COMMUNICATION_MS,
    QUANTITY_NEEDS_DEVICES,
    QUANTITIES
} quantity;

// Texts of a row. Two rows with different ones were trained under different conditions.
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
    SERIES_UTILIZATION,      // percent, of each device; a list of one: of all
    SERIES_KINDS
} series;

typedef struct stated_list {
    stated *items;
    size_t count;
} stated_list;

// What a finding is about, and what a report may answer: a quantity, a label (LABEL_TOPIC of it),
// or one of these.
#define LABEL_TOPIC(l) ((int)QUANTITIES + (int)(l))
enum {
    TOPIC_TIME = (int)QUANTITIES + (int)LABELS,
    TOPIC_MEASURED,      // was it measured at all?
    TOPIC_SOURCE,        // where is it from?
    TOPIC_COMMUNICATION, // is it counted?
    TOPIC_CODE,          // is the code that is shown the code that ran?
    TOPICS
};

typedef enum claim_source {
    SOURCE_OWN,   // nothing said: the claim's own measurement
    SOURCE_GIVEN, // `source: TEXT`
    SOURCE_NONE   // `source: none`: quoted from nowhere
} claim_source;

typedef struct claim_row {
    const char *name;
    const char *where; // "table 2"; "": not said
    stated values[QUANTITIES];
    stated_list series[SERIES_KINDS];
    const char *labels[LABELS]; // NULL: not said
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
    STATEMENT_OVERHEAD, // what is named is all of the difference
    STATEMENT_PART,     // it is one cause among others
    STATEMENT_PROJECTION,
    STATEMENT_EFFECTIVE_BATCH,
    STATEMENT_CODE,
    STATEMENT_SAYS,
    STATEMENT_KINDS
} statement_kind;

typedef struct claim_statement {
    statement_kind kind;
    const char *where, *note; // "": not said
    // The rows that it is about, and their names as written: a statement may name a row that is not
    // there (NULL then), which is a finding and not a bad file. A name that was not given is NULL.
    const claim_row *of, *than;
    const char *of_name, *than_name;
    stated values[QUANTITIES];
    quantity basis;  // QUANTITIES: not said
    uint64_t topics; // says: bit t for each that it answers
    claim_source source;
    const void *group; // equal for those that a list of rows in one statement made
} claim_statement;

typedef struct claim {
    const char *name;
    claim_row *rows;
    size_t row_count;
    claim_statement *statements; // those of the rows' speed-ups first
    size_t statement_count, statement_capacity;
    stated **lists; // all series
    size_t list_count, list_capacity;
    yaml_node *root; // owns the texts
} claim;

// STATUS_INPUT, with line and column, for an unknown key (and the nearest known one), a wrong type,
// a row name that comes twice, a statement that lacks what its kind needs. *c must be released also
// after a failure.
status claim_read(const char *path, claim *c, error *err) MUST_CHECK;
status claim_read_text(const char *text, const char *name, claim *c, error *err) MUST_CHECK;
void claim_release(claim *c);

const char *quantity_key(quantity q);         // "batch_ms"
const char *label_key(label l);               // "strategy"
const char *statement_name(statement_kind k); // "slower"

#endif
