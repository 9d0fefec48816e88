#include "audit/audit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/checks.h"
#include "base/memory.h"

// ---- Findings ----------------------------------------------------------------------------------

static void append(const audit *a, text *t, const char *m, va_list args) {
    char line[1024];
    vsnprintf(line, sizeof line, audit_text(a, m), args);
    text_append(t, line);
}

void audit_add(audit *a, finding_kind kind, const char *what, ...) {
    void *items = a->items;
    if (a->rc != STATUS_OK) return;
    a->rc = memory_grow(&items, &a->capacity, a->count + 1, sizeof *a->items, a->err);
    a->items = items;
    if (a->rc != STATUS_OK) return;
    finding *f = &a->items[a->count++];
    f->kind = kind;
    text_init(&f->what, a->err);
    text_init(&f->sums, a->err);
    text_init(&f->so, a->err);
    va_list args;
    va_start(args, what);
    append(a, &f->what, what, args);
    va_end(args);
}

void audit_sum(audit *a, const char *sum, ...) {
    if (a->rc != STATUS_OK) return;
    va_list args;
    va_start(args, sum);
    append(a, &a->items[a->count - 1].sums, sum, args);
    va_end(args);
    text_append(&a->items[a->count - 1].sums, "\n");
}

void audit_so(audit *a, const char *so, ...) {
    if (a->rc != STATUS_OK) return;
    va_list args;
    va_start(args, so);
    append(a, &a->items[a->count - 1].so, so, args);
    va_end(args);
}

phrase audit_say(const audit *a, const char *m, ...) {
    phrase p;
    va_list args;
    va_start(args, m);
    vsnprintf(p.text, sizeof p.text, audit_text(a, m), args);
    va_end(args);
    return p;
}

static status text_failures(const audit *a) {
    for (size_t i = 0; i < a->count; i++) {
        const text *texts[] = {&a->items[i].what, &a->items[i].sums, &a->items[i].so};
        for (size_t k = 0; k < 3; k++)
            if (text_status(texts[k]) != STATUS_OK) return text_status(texts[k]);
    }
    return STATUS_OK;
}

void audit_release(audit *a) {
    for (size_t i = 0; i < a->count; i++) {
        text_release(&a->items[i].what);
        text_release(&a->items[i].sums);
        text_release(&a->items[i].so);
    }
    free(a->items);
    *a = (audit){0};
}

status audit_run(audit *a, const claim *c, language l, error *err) {
    *a = (audit){.claim = c, .language = l, .err = err};
    audit_sources(a);
    audit_sums(a);
    for (size_t i = 0; i < c->statement_count; i++) {
        const claim_statement *s = &c->statements[i];
        audit_names(a, s);
        audit_times(a, s);
        audit_arms(a, s);
        audit_accuracy(a, s);
        audit_overhead(a, s);
        audit_projection(a, s);
        audit_effective_batch(a, s);
        audit_code(a, s);
    }
    return a->rc != STATUS_OK ? a->rc : text_failures(a);
}

// ---- Printing ----------------------------------------------------------------------------------

static const struct {
    const char *one, *many;
} kind_names[FINDING_KINDS] = {
    [FINDING_ARITHMETIC] = {WORD("arithmetic fault"), WORD("arithmetic faults")},
    [FINDING_ARMS] = {WORD("unlike arms"), WORD("unlike arms")},
    [FINDING_NOISE] = {WORD("below the noise"), WORD("below the noise")},
    [FINDING_UNSUPPORTED] = {WORD("unsupported statement"), WORD("unsupported statements")},
    [FINDING_CONDITION] = {WORD("unstated condition"), WORD("unstated conditions")},
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

void audit_print(const audit *a, text *out) {
    if (!a->count) {
        text_format(out, audit_text(a, "%s: no findings"), a->claim->name);
        text_append(out, "\n");
    }
    for (size_t i = 0; i < a->count; i++) {
        const finding *f = &a->items[i];
        text_format(out, audit_text(a, "%s: %s: %s"), a->claim->name,
                    finding_name(f->kind, a->language), text_string(&f->what));
        text_append(out, "\n");
        print_indented(text_string(&f->sums), out);
        text_append(out, "    ");
        text_format(out, audit_text(a, "so %s"), text_string(&f->so));
        text_append(out, "\n");
    }
}

void audit_reasons(const audit *a, const finding *f, text *out) {
    for (const char *line = text_string(&f->sums); *line;) {
        size_t length = strcspn(line, "\n");
        text_bytes(out, line, length);
        text_append(out, audit_text(a, "; "));
        line += length + (line[length] == '\n');
    }
    text_format(out, audit_text(a, "so %s"), text_string(&f->so));
}

void audit_tally(const audit *a, size_t counts[FINDING_KINDS]) {
    for (size_t i = 0; i < a->count; i++) counts[a->items[i].kind]++;
}

// "6 findings (4 arithmetic faults, 2 unlike arms)"
static void append_tally(const size_t counts[FINDING_KINDS], language l, text *out) {
    char kinds[400] = "";
    size_t all = 0, used = 0;
    for (size_t k = 0; k < FINDING_KINDS; k++) {
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
}

void audit_print_tally(const size_t counts[FINDING_KINDS], size_t claims, language l, text *out) {
    text tally;
    text_init(&tally, out->err);
    append_tally(counts, l, &tally);
    text_format(out, words_in(l, claims == 1 ? "%zu claim: %s" : "%zu claims: %s"), claims,
                text_string(&tally));
    text_append(out, "\n");
    text_release(&tally);
}

// ---- What the checks share ---------------------------------------------------------------------

shown audit_show(double x) {
    shown s;
    snprintf(s.text, sizeof s.text, fabs(x) >= 1000 ? "%.0f" : "%.4g", x);
    return s;
}

phrase audit_gap(const audit *a, double stated_value, double computed) {
    bool less = stated_value < computed;
    double factor = less ? computed / stated_value : stated_value / computed;
    char number[32];
    if (!isfinite(factor)) return audit_say(a, less ? "less" : "more");
    if (factor < 1.2)
        return audit_say(a, less ? "%.2g %% less" : "%.2g %% more",
                         100 * fabs(stated_value / computed - 1));
    snprintf(number, sizeof number, factor < 1000 ? "%.3g" : "%.0f", fmin(factor, 1e12));
    return audit_say(a, less ? "%s times less" : "%s times more", number);
}

bool audit_differ(const stated *x, const stated *y) {
    return x->given && y->given && !interval_meet(x->range, y->range);
}

bool audit_labels_differ(const claim_row *x, const claim_row *y, label l) {
    return x->labels[l] && y->labels[l] && strcmp(x->labels[l], y->labels[l]) != 0;
}

static bool is_ddp(const claim_row *r) {
    return r->labels[LABEL_STRATEGY] && !strcmp(r->labels[LABEL_STRATEGY], "ddp");
}

bool audit_batch_is_open(const claim_row *r) {
    return is_ddp(r) && !r->values[QUANTITY_GLOBAL_BATCH].given &&
           r->values[QUANTITY_BATCH].given && r->values[QUANTITY_DEVICES].given &&
           r->values[QUANTITY_DEVICES].range.high > 1;
}

stated audit_global_batch(const claim_row *r) {
    if (r->values[QUANTITY_GLOBAL_BATCH].given) return r->values[QUANTITY_GLOBAL_BATCH];
    stated batch = r->values[QUANTITY_BATCH];
    if (!audit_batch_is_open(r)) return batch;
    batch.range.high *= r->values[QUANTITY_DEVICES].range.high;
    snprintf(batch.text, sizeof batch.text, "%.20s–%.20s", audit_show(batch.range.low).text,
             audit_show(batch.range.high).text);
    return batch;
}

stated audit_steps(const claim_row *r) {
    stated batch = audit_global_batch(r), steps = {0};
    const stated *samples = &r->values[QUANTITY_SAMPLES];
    if (!batch.given || !samples->given) return steps;
    steps.given = true;
    steps.value = ceil(samples->value / batch.value);
    steps.range.low = fmax(1, floor(samples->range.low / batch.range.high));
    steps.range.high = ceil(samples->range.high / batch.range.low);
    if (steps.range.high - steps.range.low <= 1)
        snprintf(steps.text, sizeof steps.text, "%.0f", steps.value);
    else
        snprintf(steps.text, sizeof steps.text, "%.0f–%.0f", steps.range.low, steps.range.high);
    return steps;
}

// Is the product of two given values; its text is left empty.
static stated product(const stated *x, const stated *y) {
    stated p = {.given = x->given && y->given};
    if (!p.given) return p;
    p.value = x->value * y->value;
    p.range = interval_multiply(x->range, y->range);
    return p;
}

stated audit_total(const claim_row *r) {
    const stated *v = r->values;
    if (v[QUANTITY_TOTAL_SECONDS].given) return v[QUANTITY_TOTAL_SECONDS];
    stated of_epochs = product(&v[QUANTITY_SECONDS_PER_EPOCH], &v[QUANTITY_EPOCHS]);
    if (of_epochs.given) return of_epochs;
    stated steps = audit_steps(r), all_steps = product(&steps, &v[QUANTITY_EPOCHS]);
    stated seconds = v[QUANTITY_BATCH_MS];
    seconds.value /= 1000;
    seconds.range = interval_divide(seconds.range, interval_exact(1000));
    return product(&all_steps, &seconds);
}

bool audit_compares(const claim_statement *s) {
    return s->of && s->than && s->kind != STATEMENT_PROJECTION;
}

bool audit_same_rows(const claim_statement *s, const claim_statement *t) {
    return (s->of == t->of && s->than == t->than) || (s->of == t->than && s->than == t->of);
}

const quantity audit_bases[AUDIT_BASES] = {QUANTITY_TOTAL_SECONDS, QUANTITY_SECONDS_PER_EPOCH,
                                           QUANTITY_BATCH_MS};

const char *audit_basis_name(const audit *a, quantity basis) {
    return audit_text(a, basis == QUANTITY_TOTAL_SECONDS       ? "in total"
                         : basis == QUANTITY_SECONDS_PER_EPOCH ? "an epoch"
                                                               : "a batch");
}

const char *audit_basis_unit(quantity basis) {
    return basis == QUANTITY_BATCH_MS ? "ms" : "s";
}
