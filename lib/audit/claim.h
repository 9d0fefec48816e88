// SPDX-License-Identifier: MIT
// claim.h - a published claim about training runs, as a file of schema lockstep.claim/1: rows of
// figures, and statements about them. audit.h checks the statements against the rows.
#ifndef LOCKSTEP_AUDIT_CLAIM_H
#define LOCKSTEP_AUDIT_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/claim_fields.h"
#include "audit/number.h"
#include "base/error.h"
#include "base/yaml_tree.h"

typedef struct stated_list {
    stated *items;
    size_t count;
} stated_list;

typedef struct claim_row {
    const char *name;
    const char *where; // "table 2"; "": not given
    stated values[QUANTITIES];
    restated again; // values that other keys state, too
    stated_list series[SERIES_KINDS];
    const char *labels[LABELS]; // NULL: not given
    bool measured;
    claim_source source;
} claim_row;

typedef struct claim_statement {
    statement_kind kind;
    const char *where, *note; // "": not given
    // The rows that the statement is about, and their names as written. A row is NULL if no row has
    // that name: a finding, not an invalid file. A name is NULL if it was not given.
    const claim_row *of, *than;
    const char *of_name, *than_name;
    stated values[QUANTITIES];
    quantity basis;           // QUANTITIES: not given
    const stated *efficiency; // a speedup that a row states by it; NULL: none
    uint64_t topics;          // of `says`: bit t is set for each topic t that it answers
    claim_source source;
    const void *list; // equal for statements expanded from one list of rows
} claim_statement;

typedef struct claim {
    const char *name;
    claim_row *rows;
    size_t row_count;
    claim_statement *statements; // those from columns of rows come first
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

#endif
