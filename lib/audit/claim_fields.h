// SPDX-License-Identifier: MIT
// claim_fields.h - the keys of a claim file: what they mean, and the readers of their values.
#ifndef LOCKSTEP_AUDIT_CLAIM_FIELDS_H
#define LOCKSTEP_AUDIT_CLAIM_FIELDS_H

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
    QUANTITY_SPEED_UP,   // over the row `over`: a statement of kind speedup
    QUANTITY_EFFICIENCY, // percent: that speed-up, divided by how many times the devices
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
typedef enum claim_label {
    LABEL_STRATEGY, // single, dp, ddp or mp
    LABEL_DATASET,
    LABEL_MODEL,
    LABEL_OPTIMIZER,
    LABEL_AUGMENT,
    LABEL_PRECISION,
    LABEL_DEVICE,
    LABELS
} claim_label;

// Lists of figures.
typedef enum claim_series {
    SERIES_EPOCH_SECONDS,
    SERIES_EPOCH_LOSSES,
    SERIES_CLASS_ACCURACIES, // percent
    SERIES_CLASS_SAMPLES,    // test samples of each class
    SERIES_UTILIZATION,      // percent, of each device; a list of one: over all devices
    SERIES_KINDS
} claim_series;

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

// The times that can be compared, in order of preference.
enum { TIME_BASES = 4 };
extern const quantity time_bases[TIME_BASES];

const char *quantity_key(quantity q);         // "batch_ms"
const char *label_key(claim_label l);         // "strategy"
const char *statement_name(statement_kind k); // "slower"

// ---- For claim.c ----

// Sets of quantities.
#define QUANTITY_BIT(q) (1u << (int)(q))
#define OF_ROWS         (QUANTITY_BIT(QUANTITY_BY_PERCENT) - 1u)

// The values that each kind of statement may give and must give.
typedef struct statement_info {
    const char *name;
    unsigned may, must; // sets of quantities
    bool of, than;      // must name these rows
    bool basis;         // may name the time that it compares
} statement_info;
extern const statement_info statement_infos[STATEMENT_KINDS];

// Quantities of a row that several of its keys state, `accuracy` and `error`, as stated by the
// later ones.
enum { RESTATED_MOST = 8 };
typedef struct restated {
    size_t count;
    quantity of[RESTATED_MOST];
    stated values[RESTATED_MOST];
} restated;

// A list of known keys.
typedef struct key_list {
    const char *keys[(int)TOPICS + (int)SERIES_KINDS + 20];
    size_t count;
} key_list;
void field_add_keys(key_list *list, const char *const *keys, size_t count);
void field_add_quantities(key_list *list, unsigned set);
void field_add_row(key_list *list); // the quantities, series and labels of rows

// All readers fail with STATUS_INPUT and name the place.

// Finds a string among `words`.
status field_word(const yaml_node *node, const char *key, const char *const *words, size_t count,
                  size_t *index, error *err) MUST_CHECK;
// Checks for a sequence of at least `min` items.
status field_list(const yaml_node *node, const char *key, size_t min, error *err) MUST_CHECK;
// Reads a name or condition, which may be a number. These are printed, so they must be one short
// line.
status field_line(const yaml_node *node, const char *key, const char **line, error *err) MUST_CHECK;
// The same for a key of a mapping. Leaves *name unchanged if the key is missing.
status field_name(const yaml_node *mapping, const char *key, bool required, const char **name,
                  error *err) MUST_CHECK;
status field_text(const yaml_node *mapping, const char *key, const char **text,
                  error *err) MUST_CHECK; // of any length
status field_source(const yaml_node *mapping, claim_source *source, error *err) MUST_CHECK;
// Reads the quantities of the set over those in `values`. `any`: either sign is allowed, as for
// differences. One that two keys of the mapping state is added to `again`; NULL: it is refused.
status field_quantities(const yaml_node *mapping, unsigned set, bool any, stated *values,
                        restated *again, error *err) MUST_CHECK;
status field_labels(const yaml_node *mapping, const char **row_labels, error *err) MUST_CHECK;
status field_kind(const yaml_node *mapping, statement_kind *kind, error *err) MUST_CHECK;
status field_basis(const yaml_node *mapping, quantity *basis, error *err) MUST_CHECK;
// Reads what the report says about itself: a topic, or a list of topics.
status field_topics(const yaml_node *mapping, uint64_t *set, error *err) MUST_CHECK;

// The key of a list of figures; reads one of its items.
const char *series_key(claim_series kind);
status field_item(const yaml_node *node, claim_series kind, stated *item, error *err) MUST_CHECK;

#endif
