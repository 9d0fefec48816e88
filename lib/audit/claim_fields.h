// SPDX-License-Identifier: MIT
// claim_fields.h - the keys of a claim file, and the readers of their values. Used by claim.c only.
#ifndef LOCKSTEP_AUDIT_CLAIM_FIELDS_H
#define LOCKSTEP_AUDIT_CLAIM_FIELDS_H

#include "audit/claim.h"

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
// `any`: either sign is allowed, as for differences.
status field_quantities(const yaml_node *mapping, unsigned set, bool any, stated *values,
                        error *err) MUST_CHECK;
status field_labels(const yaml_node *mapping, const char **row_labels, error *err) MUST_CHECK;
status field_kind(const yaml_node *mapping, statement_kind *kind, error *err) MUST_CHECK;
status field_basis(const yaml_node *mapping, quantity *basis, error *err) MUST_CHECK;
// Reads what the report says about itself: a topic, or a list of topics.
status field_topics(const yaml_node *mapping, uint64_t *set, error *err) MUST_CHECK;

// The key of a list of figures; reads one of its items.
const char *series_key(series kind);
status field_item(const yaml_node *node, series kind, stated *item, error *err) MUST_CHECK;

#endif
