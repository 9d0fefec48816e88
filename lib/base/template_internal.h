// SPDX-License-Identifier: MIT
// template_internal.h - a template as read (template_read.c), and rendered (template.c).
#ifndef LOCKSTEP_BASE_TEMPLATE_INTERNAL_H
#define LOCKSTEP_BASE_TEMPLATE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

enum { TEMPLATE_DEPTH = 64, TEMPLATE_ARGUMENTS = 8, TEMPLATE_LINKS = 256 };

typedef enum expression_kind {
    EXPRESSION_NOTHING,
    EXPRESSION_BOOLEAN,
    EXPRESSION_NUMBER,
    EXPRESSION_TEXT,
    EXPRESSION_NAME,
    EXPRESSION_MEMBER, // left.text; `optional` after "?"
    EXPRESSION_INDEX,  // left[right]
    EXPRESSION_FILTER, // left | text right; right may be NULL
    EXPRESSION_NOT,
    EXPRESSION_MINUS,  // of `left` alone
    EXPRESSION_BINARY, // left operator right
} expression_kind;

// The order of the table of operators in template_read.c.
typedef enum binary_operator {
    OPERATOR_OR,
    OPERATOR_AND,
    OPERATOR_EQUAL,
    OPERATOR_UNEQUAL,
    OPERATOR_AT_MOST,
    OPERATOR_AT_LEAST,
    OPERATOR_LESS,
    OPERATOR_MORE,
    OPERATOR_ADD,
    OPERATOR_SUBTRACT,
    OPERATOR_MULTIPLY,
    OPERATOR_DIVIDE,
    OPERATORS
} binary_operator;

typedef struct expression expression;
struct expression {
    expression_kind kind;
    binary_operator operator;
    bool truth, optional;
    double number;
    char *text;
    expression *left, *right;
};

typedef enum part_kind {
    PART_TEXT,
    PART_VALUE,
    PART_IF, // `elif` is an `if` alone in the other branch
    PART_EACH,
    PART_LET,
    PART_USE,
    PART_INSERT,
    PART_DEFINE // `text` is the name, `body` the template
} part_kind;

typedef struct part part;

typedef struct part_list {
    part *items;
    size_t count, capacity;
} part_list;

typedef struct argument {
    char *name;
    expression *value;
} argument;

struct part {
    part_kind kind;
    int line;
    char *text;            // the text; the name of an item or a value
    expression *value;     // the condition, list, value or name of a template
    expression *condition; // of `each`; NULL: none
    part_list body, between, otherwise;
    argument *arguments; // of `use`
    size_t argument_count;
    bool alone; // `use`: in a line of its own
};

// Reads a template; `place` is for messages. STATUS_INPUT if it is wrong.
status template_read(const char *source, const char *place, part_list *parts,
                     error *err) MUST_CHECK;
void template_parts_release(part_list *parts);

// Makes one line of several, as a paragraph would be joined.
void template_flatten(text *markdown);
// Makes its headings one level lower.
void template_nest(text *markdown);

#endif
