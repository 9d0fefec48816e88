// fields.h - the keys of a claim file, and how a single value of it is read. Used by claim.c only.
#ifndef LOCKSTEP_AUDIT_FIELDS_H
#define LOCKSTEP_AUDIT_FIELDS_H

#include "audit/claim.h"

// Sets of quantities.
#define QUANTITY_BIT(q) (1u << (int)(q))
#define OF_ROWS         (QUANTITY_BIT(QUANTITY_BY_PERCENT) - 1u)

// What each kind of statement may give and must give.
typedef struct statement_info {
    const char *name;
    unsigned may, must; // sets of quantities
    bool of, than;      // must name these rows
    bool basis;         // may say in which time
} statement_info;
extern const statement_info statement_infos[STATEMENT_KINDS];

// A list of known keys.
typedef struct key_list {
    const char *keys[(int)TOPICS + (int)SERIES_KINDS + 12];
    size_t count;
} key_list;
void field_add_keys(key_list *list, const char *const *keys, size_t count);
void field_add_quantities(key_list *list, unsigned set);
void field_add_row(key_list *list); // quantities, series and labels of rows

// All fail with STATUS_INPUT and the place.

// Which of `words` a string is.
status field_word(const yaml_node *node, const char *key, const char *const *words, size_t count,
                  size_t *index, error *err) MUST_CHECK;
// A sequence of `min` items or more.
status field_list(const yaml_node *node, const char *key, size_t min, error *err) MUST_CHECK;
// Names and conditions are printed: one line, and not a long one.
status field_line(const yaml_node *node, const char *key, const char **line, error *err) MUST_CHECK;
// The same of a key of a mapping. A line that is not there stays as it was.
status field_name(const yaml_node *mapping, const char *key, bool required, const char **name,
                  error *err) MUST_CHECK;
status field_text(const yaml_node *mapping, const char *key, const char **text,
                  error *err) MUST_CHECK; // of any length
status field_source(const yaml_node *mapping, claim_source *source, error *err) MUST_CHECK;
// `any`: of whatever sign, as differences are.
status field_quantities(const yaml_node *mapping, unsigned set, bool any, stated *values,
                        error *err) MUST_CHECK;
status field_labels(const yaml_node *mapping, const char **row_labels, error *err) MUST_CHECK;
status field_kind(const yaml_node *mapping, statement_kind *kind, error *err) MUST_CHECK;
status field_basis(const yaml_node *mapping, quantity *basis, error *err) MUST_CHECK;
// What a report says of itself: a topic, or a list of them.
status field_topics(const yaml_node *mapping, uint64_t *set, error *err) MUST_CHECK;

// The key of a list of figures, and one of its items.
const char *series_key(series kind);
status field_item(const yaml_node *node, series kind, stated *item, error *err) MUST_CHECK;

#endif
