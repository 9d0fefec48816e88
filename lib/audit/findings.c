// SPDX-License-Identifier: MIT
#include "audit/findings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/checks.h"
#include "base/json.h"
#include "base/memory.h"

// ---- Operands ----

operand named(const char *key, const char *text) {
    return (operand){key, text ? json_new_string(text) : json_new_number((double)NAN)};
}

operand counted(const char *key, size_t count) {
    return (operand){key, yaml_new_integer((int64_t)count)};
}

operand whether(const char *key, bool truth) {
    return (operand){key, yaml_new_boolean(truth)};
}

static operand figure(const char *key, double value, const char *text) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "value", json_new_number(value));
    yaml_put(node, "text", json_new_string(text));
    return (operand){key, node};
}

operand given(const char *key, const stated *s) {
    return s->given ? figure(key, s->value, s->text) : named(key, NULL);
}

enum { FIGURE_BYTES = 400 }; // of any double

operand rounded(const char *key, double x, int digits) {
    char text[FIGURE_BYTES];
    snprintf(text, sizeof text, "%.*g", digits, x);
    return figure(key, x, text);
}

operand fixed(const char *key, double x, int decimals) {
    char text[FIGURE_BYTES];
    snprintf(text, sizeof text, "%.*f", decimals, x);
    return figure(key, x, text);
}

operand shown(const char *key, double x) {
    return fabs(x) >= 1000 ? fixed(key, x, 0) : rounded(key, x, 4);
}

static yaml_node *mapping_of(const char *id, const operand *list) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    if (id) yaml_put(node, "id", json_new_string(id));
    for (; list->key; list++) yaml_put(node, list->key, list->value);
    return node;
}

operand nested_all(const char *key, const char *id, const operand *list) {
    return (operand){key, mapping_of(id, list)};
}

operand gap(double stated_value, double computed) {
    const bool less = stated_value < computed;
    const double factor = less ? computed / stated_value : stated_value / computed;
    if (!isfinite(factor)) return nested("gap", NULL, whether("less", less));
    if (factor < 1.2)
        return nested("gap", NULL, whether("less", less),
                      rounded("percent", 100 * fabs(stated_value / computed - 1), 2));
    return nested("gap", NULL, whether("less", less),
                  factor < 1000 ? rounded("times", factor, 3)
                                : fixed("times", fmin(factor, 1e12), 0));
}

// ---- Places ----

static void put_place(yaml_node *places, const char *where, const claim_row *of,
                      const claim_row *than) {
    yaml_node *place = yaml_new(YAML_MAPPING), *rows = yaml_new(YAML_SEQUENCE);
    if (of) yaml_append(rows, json_new_string(of->name));
    if (than) yaml_append(rows, json_new_string(than->name));
    yaml_put(place, "where", json_new_string(where));
    yaml_put(place, "rows", rows);
    yaml_append(places, place);
}

// The places of the statement and of its rows, which may have the same.
static yaml_node *places_of(subject s) {
    yaml_node *places = yaml_new(YAML_SEQUENCE);
    const bool of = s.of && *s.of->where, than = s.than && *s.than->where;
    const bool same = of && than && strcmp(s.of->where, s.than->where) == 0;
    if (s.statement && *s.statement->where) put_place(places, s.statement->where, NULL, NULL);
    if (of) put_place(places, s.of->where, s.of, same ? s.than : NULL);
    if (than && !same) put_place(places, s.than->where, s.than, NULL);
    return places;
}

// ---- Answers of the report ----

// Is the statement about these rows? One that names no row is about the whole report.
static bool is_of(const claim_statement *statement, subject s) {
    if (statement->of_name &&
        (!statement->of || (statement->of != s.of && statement->of != s.than)))
        return false;
    return !statement->than_name ||
           (statement->than && (statement->than == s.of || statement->than == s.than));
}

static const claim_statement *find_answer(const claim *c, subject s) {
    for (size_t i = 0; i < c->statement_count; i++) {
        const claim_statement *statement = &c->statements[i];
        if (statement->kind == STATEMENT_SAYS && statement->topics >> s.topic & 1u &&
            is_of(statement, s))
            return statement;
    }
    return NULL;
}

static operand answer_of(const claim_statement *answer) {
    if (!answer) return named("answer", NULL);
    return nested("answer", NULL, named("where", answer->where), named("note", answer->note));
}

// ---- Findings ----

static const char *const kind_names[FINDING_KINDS] = {[FINDING_ARITHMETIC] = "arithmetic",
                                                      [FINDING_CONDITIONS] = "conditions",
                                                      [FINDING_UNSUPPORTED] = "unsupported",
                                                      [FINDING_STATED] = "stated",
                                                      [FINDING_REMARK] = "remark"};

const char *finding_name(finding_kind kind) {
    return kind_names[kind];
}

void findings_release(findings *a) {
    yaml_free(a->list);
    *a = (findings){0};
}

size_t findings_counted(const findings *a) {
    size_t count = 0;
    for (int k = 0; k < FINDING_STATED; k++) count += a->counts[k];
    return count;
}

void finding_add(findings *a, finding_kind kind, subject s, const char *id, const char *so) {
    const claim_statement *answer = find_answer(a->claim, s);
    if (answer && kind != FINDING_REMARK) kind = FINDING_STATED;
    const operand list[] = {named("kind", finding_name(kind)),
                            named("so", so),
                            answer_of(answer),
                            named("of", s.of ? s.of->name : NULL),
                            named("than", s.than ? s.than->name : NULL),
                            {"places", places_of(s)},
                            {"sums", yaml_new(YAML_SEQUENCE)},
                            {0}};
    yaml_append(a->list, mapping_of(id, list));
    a->counts[kind]++;
}

static yaml_node *last(const findings *a) {
    return a->list->items[a->list->count - 1];
}

void finding_put_all(findings *a, const operand *list) {
    for (; list->key; list++) yaml_put(last(a), list->key, list->value);
}

void finding_sum_all(findings *a, const char *id, const operand *list) {
    yaml_append((yaml_node *)(uintptr_t)yaml_find(last(a), "sums"), mapping_of(id, list));
}
