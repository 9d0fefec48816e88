// SPDX-License-Identifier: MIT
#include "audit/audit.h"

#include <stdio.h>
#include <stdlib.h>

#include "audit/checks.h"
#include "audit/row.h"
#include "base/memory.h"
#include "base/spelling.h"

// ---- Missing rows ------------------------------------------------------------------------------

static void missing_row(findings *a, const claim_statement *s, const char *name,
                        const claim_row *row) {
    const char *names[64], *near;
    size_t count = 0;
    if (!name || row) return;
    for (; count < a->claim->row_count && count < 64; count++)
        names[count] = a->claim->rows[count].name;
    near = spelling_nearest(name, names, count);
    finding_add(a, FINDING_UNSUPPORTED, subject_of(TOPIC_SOURCE, s), "no_row", "no_support");
    finding_put(a, named("statement", statement_name(s->kind)));
    finding_sum(a, "unknown_row", named("row", name), counted("rows", a->claim->row_count),
                named("nearest", near));
}

// Statements about rows that do not exist.
static void check_names(findings *a, const claim_statement *s) {
    missing_row(a, s, s->of_name, s->of);
    missing_row(a, s, s->than_name, s->than);
}

// ---- Batch sizes -------------------------------------------------------------------------------

// Without a figure, the statement means "batch x devices".
static stated claimed_batch(const claim_statement *s) {
    const claim_row *r = s->of;
    const stated *devices = &r->values[QUANTITY_DEVICES];
    stated batch = s->values[QUANTITY_BATCH];
    if (batch.given || !devices->given || !r->values[QUANTITY_BATCH].given) return batch;
    batch = r->values[QUANTITY_BATCH];
    batch.value *= devices->value;
    batch.range = interval_multiply(batch.range, devices->range);
    snprintf(batch.text, sizeof batch.text, "%.20s x %.20s", r->values[QUANTITY_BATCH].text,
             devices->text);
    return batch;
}

static void check_effective_batch(findings *a, const claim_statement *s) {
    if (s->kind != STATEMENT_EFFECTIVE_BATCH || !s->of) return;
    const claim_row *r = s->of;
    const stated claimed = claimed_batch(s), batch = row_global_batch(r);
    const stated *devices = &r->values[QUANTITY_DEVICES];
    const char *strategy = r->labels[LABEL_STRATEGY];
    const subject about = subject_of(QUANTITY_GLOBAL_BATCH, s);
    if (!batch.given || !strategy || !claimed.given) {
        finding_add(a, FINDING_UNSUPPORTED, about, "unknown_effective_batch", "uncheckable");
        finding_sum(a, "row_lacks",
                    named("quantity", !strategy     ? label_key(LABEL_STRATEGY)
                                      : batch.given ? quantity_key(QUANTITY_DEVICES)
                                                    : quantity_key(QUANTITY_BATCH)));
        return;
    }
    if (interval_meet(batch.range, claimed.range)) return;
    finding_add(a, FINDING_ARITHMETIC, about, "other_effective_batch", "wrong_scaled_rate");
    if (!row_is(r, "ddp") && devices->given)
        finding_sum(a, "batch_is_split", named("strategy", strategy), given("batch", &batch),
                    given("devices", devices),
                    rounded("per_device", batch.value / devices->value, 4));
    finding_sum(a, "samples_per_step", given("batch", &batch), given("stated", &claimed),
                gap(claimed.value, batch.value));
}

// ---- Code --------------------------------------------------------------------------------------

// Does the code set a value that the text does not state?
static void check_code_value(findings *a, const claim_statement *s, quantity q) {
    const stated *code = &s->values[q];
    const claim *c = a->claim;
    bool begun = false;
    for (size_t i = 0; i < c->row_count && code->given; i++) {
        const claim_row *r = &c->rows[i];
        if (s->of_name && r != s->of) continue;
        if (!r->values[q].given || interval_meet(code->range, r->values[q].range)) continue;
        if (!begun)
            finding_add(a, FINDING_UNSUPPORTED, (subject){TOPIC_CODE, s, r, NULL}, "other_code",
                        "not_from_code");
        if (!begun) finding_put(a, named("quantity", quantity_key(q)));
        begun = true;
        finding_sum(a, "code_and_text", named("quantity", quantity_key(q)), given("code", code),
                    named("row", r->name), given("text", &r->values[q]));
    }
}

static void check_code(findings *a, const claim_statement *s) {
    if (s->kind != STATEMENT_CODE || (s->of_name && !s->of)) return;
    for (int q = 0; q < QUANTITIES; q++)
        if (q != QUANTITY_NEEDS_DEVICES) check_code_value(a, s, (quantity)q);
    const stated *needs = &s->values[QUANTITY_NEEDS_DEVICES];
    const claim *c = a->claim;
    for (size_t i = 0; i < c->row_count && needs->given; i++) {
        const claim_row *r = &c->rows[i];
        const stated *devices = &r->values[QUANTITY_DEVICES];
        if (s->of_name && r != s->of) continue;
        if (!devices->given || devices->range.high >= needs->value) continue;
        finding_add(a, FINDING_UNSUPPORTED, (subject){QUANTITY_NEEDS_DEVICES, s, r, NULL},
                    "too_few_devices", "not_parallel");
        finding_sum(a, "devices_needed", given("needed", needs), given("devices", devices));
    }
}

// ---- Readings of a throughput ------------------------------------------------------------------

// On several devices, a throughput that does not say whose it is may be that of each.
static bool is_open(const claim_row *r) {
    const stated *rate = &r->values[QUANTITY_IMAGES_PER_SECOND];
    const stated *devices = &r->values[QUANTITY_DEVICES];
    return rate->given && !rate->of_all && devices->given && devices->range.high > 1;
}

static const claim_row *moved(const claim_row *row, const claim *from, const claim *to) {
    return row ? to->rows + (row - from->rows) : NULL;
}

// The claim as it reads if these are those of each device; NULL if there is none. It shares the
// rest with the claim; free its rows, its statements and itself.
static claim *read_per_device(const claim *c) {
    bool any = false;
    for (size_t i = 0; i < c->row_count; i++) any = any || is_open(&c->rows[i]);
    if (!any) return NULL;
    claim *per = memory_new(1, sizeof *per);
    *per = *c;
    per->rows = memory_new(c->row_count, sizeof *per->rows);
    per->statements = memory_new(c->statement_count, sizeof *per->statements);
    for (size_t i = 0; i < c->row_count; i++) {
        claim_row *r = &per->rows[i];
        *r = c->rows[i];
        if (is_open(r))
            stated_of_all(&r->values[QUANTITY_IMAGES_PER_SECOND], &r->values[QUANTITY_DEVICES]);
    }
    for (size_t i = 0; i < c->statement_count; i++) {
        claim_statement *s = &per->statements[i];
        *s = c->statements[i];
        s->of = moved(s->of, c, per);
        s->than = moved(s->than, c, per);
    }
    return per;
}

static void remark_per_device(findings *a, const claim *c) {
    const claim_row *first = NULL;
    for (const claim_row *r = c->rows; r < c->rows + c->row_count; r++) {
        const stated *rate = &r->values[QUANTITY_IMAGES_PER_SECOND];
        if (!is_open(r)) continue;
        if (!first)
            finding_add(a, FINDING_REMARK, subject_row(QUANTITY_IMAGES_PER_SECOND, r),
                        "rates_of_each", "fits_as_each");
        first = r;
        finding_sum(a, "rate_of_each", named("row", r->name),
                    given("devices", &r->values[QUANTITY_DEVICES]), given("rate", rate),
                    shown("product", rate->value * r->values[QUANTITY_DEVICES].value));
    }
}

// ---- All of it ---------------------------------------------------------------------------------

static void run_checks(findings *a, const claim *c) {
    *a = (findings){.claim = c, .list = yaml_new(YAML_SEQUENCE)};
    check_sources(a);
    check_sums(a);
    for (size_t i = 0; i < c->statement_count; i++) {
        const claim_statement *s = &c->statements[i];
        check_names(a, s);
        check_times(a, s);
        check_conditions(a, s);
        check_accuracy(a, s);
        check_parts(a, s);
        check_projection(a, s);
        check_effective_batch(a, s);
        check_code(a, s);
    }
}

// Of the two readings, the one counts that contradicts less.
void audit_run(findings *a, const claim *c) {
    findings other;
    claim *per = NULL;
    run_checks(a, c);
    if (a->counts[FINDING_ARITHMETIC]) per = read_per_device(c);
    if (!per) return;
    run_checks(&other, per);
    if (other.counts[FINDING_ARITHMETIC] < a->counts[FINDING_ARITHMETIC]) {
        const findings before = *a;
        *a = other;
        other = before;
        remark_per_device(a, c);
    }
    findings_release(&other);
    a->claim = c;
    free(per->rows);
    free(per->statements);
    free(per);
}
