// SPDX-License-Identifier: MIT
#include "audit/checks.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

// ---- Places ----

static bool gives_place(const claim_row *r) {
    return r && *r->where;
}

// "section 4.2; 'simulated', 'standard': table 1"
static void put_places(findings *a, text *out, subject s) {
    const claim_row *rows[] = {s.of, s.than};
    if (s.statement && *s.statement->where) text_append(out, s.statement->where);
    for (int i = 0; i < 2; i++) {
        bool with = i == 0 && gives_place(s.of) && gives_place(s.than) &&
                    !strcmp(s.of->where, s.than->where);
        if (!gives_place(rows[i])) continue;
        if (out->length) text_append(out, finding_text(a, "; "));
        text_format(out, finding_text(a, "'%s'"), rows[i]->name);
        if (with) {
            text_append(out, finding_text(a, ", "));
            text_format(out, finding_text(a, "'%s'"), s.than->name);
        }
        text_format(out, finding_text(a, ": %s"), rows[i]->where);
        if (with) break;
    }
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

static void put_answer(findings *a, text *out, const claim_statement *statement) {
    text_append(out, finding_text(a, "the report states this itself"));
    if (*statement->where) text_format(out, finding_text(a, " (%s)"), statement->where);
    if (*statement->note) text_format(out, finding_text(a, ": %s"), statement->note);
}

// ---- Findings ----

static void append(const findings *a, text *t, const char *m, va_list args) {
    char line[1024];
    vsnprintf(line, sizeof line, finding_text(a, m), args);
    text_append(t, line);
}

void finding_add(findings *a, finding_kind kind, subject s, const char *what, ...) {
    void *items = a->items;
    memory_grow(&items, &a->capacity, a->count + 1, sizeof *a->items);
    a->items = items;
    const claim_statement *answer = find_answer(a->claim, s);
    finding *f = &a->items[a->count++];
    f->kind = answer ? FINDING_STATED : kind;
    text *texts[] = {&f->what, &f->where, &f->sums, &f->so};
    for (size_t i = 0; i < 4; i++) text_init(texts[i]);
    va_list args;
    va_start(args, what);
    append(a, &f->what, what, args);
    va_end(args);
    put_places(a, &f->where, s);
    if (answer) put_answer(a, &f->so, answer);
}

void finding_arithmetic(findings *a, const char *line, ...) {
    va_list args;
    va_start(args, line);
    append(a, &a->items[a->count - 1].sums, line, args);
    va_end(args);
    text_append(&a->items[a->count - 1].sums, "\n");
}

void finding_consequence(findings *a, const char *so, ...) {
    if (a->items[a->count - 1].kind == FINDING_STATED) return;
    va_list args;
    va_start(args, so);
    append(a, &a->items[a->count - 1].so, so, args);
    va_end(args);
}

phrase finding_say(const findings *a, const char *m, ...) {
    phrase p;
    va_list args;
    va_start(args, m);
    vsnprintf(p.text, sizeof p.text, finding_text(a, m), args);
    va_end(args);
    return p;
}

void findings_release(findings *a) {
    for (size_t i = 0; i < a->count; i++) {
        finding *f = &a->items[i];
        text *texts[] = {&f->what, &f->where, &f->sums, &f->so};
        for (size_t k = 0; k < 4; k++) text_release(texts[k]);
    }
    free(a->items);
    *a = (findings){0};
}

// ---- Printing ----

static const struct {
    const char *one, *many;
} kind_names[FINDING_KINDS] = {
    [FINDING_ARITHMETIC] = {WORD("arithmetic error"), WORD("arithmetic errors")},
    [FINDING_CONDITIONS] = {WORD("unlike arms"), WORD("unlike arms")},
    [FINDING_UNSUPPORTED] = {WORD("unsupported statement"), WORD("unsupported statements")},
    [FINDING_STATED] = {WORD("stated by the report itself"), WORD("stated by the report itself")},
};

const char *finding_name(finding_kind kind, language l) {
    return words_in(l, kind_names[kind].one);
}

static void print_indented(const char *lines, text *out) {
    while (*lines) {
        size_t length = strcspn(lines, "\n") + 1;
        text_append(out, "    ");
        text_bytes(out, lines, length);
        lines += length;
    }
}

// "so one of these figures is wrong", "the report says so itself (section 4.3)".
static void put_consequence(const findings *a, const finding *f, text *out) {
    if (f->kind == FINDING_STATED)
        text_append(out, text_string(&f->so));
    else
        text_format(out, finding_text(a, "so %s"), text_string(&f->so));
}

void findings_print(const findings *a, text *out) {
    if (!a->count) {
        text_format(out, finding_text(a, "%s: no findings"), a->claim->name);
        text_append(out, "\n");
    }
    for (size_t i = 0; i < a->count; i++) {
        const finding *f = &a->items[i];
        text_format(out, finding_text(a, "%s: %s: %s"), a->claim->name,
                    finding_name(f->kind, a->language), text_string(&f->what));
        text_append(out, "\n");
        if (f->where.length) text_format(out, "    %s\n", text_string(&f->where));
        print_indented(text_string(&f->sums), out);
        text_append(out, "    ");
        put_consequence(a, f, out);
        text_append(out, "\n");
    }
}

void finding_reasons(const findings *a, const finding *f, text *out) {
    if (f->where.length) text_format(out, "%s%s", text_string(&f->where), finding_text(a, "; "));
    for (const char *line = text_string(&f->sums); *line;) {
        size_t length = strcspn(line, "\n");
        text_bytes(out, line, length);
        text_append(out, finding_text(a, "; "));
        line += length + (line[length] == '\n');
    }
    put_consequence(a, f, out);
}

size_t findings_counted(const findings *a) {
    size_t count = 0;
    for (size_t i = 0; i < a->count; i++) count += a->items[i].kind != FINDING_STATED;
    return count;
}

void findings_tally(const findings *a, size_t counts[FINDING_KINDS]) {
    for (size_t i = 0; i < a->count; i++) counts[a->items[i].kind]++;
}

// "6 findings (4 arithmetic errors, 2 unlike arms); 1 stated by the report itself"
static void append_tally(const size_t counts[FINDING_KINDS], language l, text *out) {
    char kinds[400] = "";
    size_t all = 0, used = 0;
    for (size_t k = 0; k < FINDING_STATED; k++) {
        if (!counts[k]) continue;
        all += counts[k];
        used += (size_t)snprintf(
            kinds + used, sizeof kinds - used, "%s%zu %s", used ? words_in(l, ", ") : "", counts[k],
            words_in(l, counts[k] == 1 ? kind_names[k].one : kind_names[k].many));
    }
    if (all)
        text_format(out, words_in(l, all == 1 ? "%zu finding (%s)" : "%zu findings (%s)"), all,
                    kinds);
    else
        text_append(out, words_in(l, "no findings"));
    if (!counts[FINDING_STATED]) return;
    text_append(out, words_in(l, "; "));
    text_format(out, words_in(l, "%zu stated by the reports themselves"), counts[FINDING_STATED]);
}

void findings_print_tally(const size_t counts[FINDING_KINDS], size_t claims, language l,
                          text *out) {
    text tally = {0};
    append_tally(counts, l, &tally);
    text_format(out, words_in(l, claims == 1 ? "%zu claim: %s" : "%zu claims: %s"), claims,
                text_string(&tally));
    text_append(out, "\n");
    text_release(&tally);
}

// ---- Formatting numbers ----

shown finding_show(double x) {
    shown s;
    snprintf(s.text, sizeof s.text, fabs(x) >= 1000 ? "%.0f" : "%.4g", x);
    return s;
}

phrase finding_gap(const findings *a, double stated_value, double computed) {
    bool less = stated_value < computed;
    double factor = less ? computed / stated_value : stated_value / computed;
    char number[32];
    if (!isfinite(factor)) return finding_say(a, less ? "less" : "more");
    if (factor < 1.2)
        return finding_say(a, less ? "%.2g %% less" : "%.2g %% more",
                           100 * fabs(stated_value / computed - 1));
    snprintf(number, sizeof number, factor < 1000 ? "%.3g" : "%.0f", fmin(factor, 1e12));
    return finding_say(a, less ? "%s times less" : "%s times more", number);
}
