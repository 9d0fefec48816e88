// Statements about accuracy, overhead, batch sizes, code, and machines that were not there.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cli.h"
#include "report/audit_checks.h"

// ---- Rows that are not there -------------------------------------------------------------------

static void missing_row(audit *a, const claim_statement *s, const char *name,
                        const claim_row *row) {
    const char *names[64], *near;
    size_t count = 0;
    if (!name || row) return;
    for (; count < a->claim->row_count && count < 64; count++)
        names[count] = a->claim->rows[count].name;
    near = cli_nearest(name, names, count);
    audit_add(a, FINDING_UNSUPPORTED, MESSAGE_AUDIT_NO_ROW, statement_name(s->kind));
    audit_sum(a, near ? MESSAGE_AUDIT_NO_ROW_NEAR : MESSAGE_AUDIT_NO_ROW_SUM, name,
              a->claim->row_count, near);
    audit_so(a, MESSAGE_AUDIT_NO_ROW_SO);
}

void audit_names(audit *a, const claim_statement *s) {
    missing_row(a, s, s->of_name, s->of);
    missing_row(a, s, s->than_name, s->than);
}

// ---- Accuracy ----------------------------------------------------------------------------------

// |z| below this: chance alone gives such a difference more than once in twenty times.
static const double Z_NOISE = 1.959963984540054;

double audit_proportions_z(double p1, double n1, double p2, double n2) {
    double pooled = (p1 * n1 + p2 * n2) / (n1 + n2);
    double deviation = sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2));
    if (deviation > 0) return (p1 - p2) / deviation;
    return p1 == p2 ? 0 : INFINITY;
}

double audit_z_p_value(double z) {
    return erfc(fabs(z) / sqrt(2));
}

static void check_points(audit *a, const claim_statement *s) {
    const stated *of = &s->of->values[QUANTITY_ACCURACY];
    const stated *than = &s->than->values[QUANTITY_ACCURACY];
    const stated *points = &s->values[QUANTITY_POINTS];
    if (!points->given || interval_meet(interval_subtract(of->range, than->range), points->range))
        return;
    audit_add(a, FINDING_ARITHMETIC, MESSAGE_AUDIT_POINTS, s->of->name, s->than->name);
    audit_sum(a, MESSAGE_AUDIT_POINTS_STATED, of->text, than->text, of->value - than->value,
              points->text);
    audit_so(a, MESSAGE_AUDIT_POINTS_SO);
}

static void check_noise(audit *a, const claim_statement *s) {
    const stated *x = &s->of->values[QUANTITY_ACCURACY],
                 *nx = &s->of->values[QUANTITY_TEST_SAMPLES];
    const stated *y = &s->than->values[QUANTITY_ACCURACY];
    const stated *ny = &s->than->values[QUANTITY_TEST_SAMPLES];
    const stated *points = &s->values[QUANTITY_POINTS];
    bool same = s->kind == STATEMENT_SAME_ACCURACY || (points->given && points->value == 0);
    if (!nx->given || !ny->given) {
        audit_add(a, FINDING_CONDITION, MESSAGE_AUDIT_TESTED, s->of->name, s->than->name);
        audit_sum(a, MESSAGE_AUDIT_POINTS_SUM, x->text, y->text, x->value - y->value);
        audit_so(a, MESSAGE_AUDIT_TESTED_SO);
        return;
    }
    double z = audit_proportions_z(x->value / 100, nx->value, y->value / 100, ny->value);
    bool noise = fabs(z) < Z_NOISE;
    if (noise == same) return;
    if (noise)
        audit_add(a, FINDING_NOISE, MESSAGE_AUDIT_NOISE, s->of->name, s->than->name);
    else
        audit_add(a, FINDING_UNSUPPORTED, MESSAGE_AUDIT_UNEQUAL, s->of->name, s->than->name);
    audit_sum(a, MESSAGE_AUDIT_Z, x->text, y->text, x->value - y->value, nx->text, z,
              audit_z_p_value(z));
    audit_so(a, noise ? MESSAGE_AUDIT_NOISE_SO : MESSAGE_AUDIT_UNEQUAL_SO);
}

// Ranges and expectations have nothing to test.
static bool can_be_tested(const claim_row *r) {
    const stated *accuracy = &r->values[QUANTITY_ACCURACY];
    return r->measured && accuracy->given && !accuracy->is_range;
}

void audit_accuracy(audit *a, const claim_statement *s) {
    if (s->kind != STATEMENT_ACCURACY_DIFFERENCE && s->kind != STATEMENT_SAME_ACCURACY) return;
    if (!s->of || !s->than) return;
    if (!s->of->values[QUANTITY_ACCURACY].given || !s->than->values[QUANTITY_ACCURACY].given) {
        audit_add(a, FINDING_UNSUPPORTED, MESSAGE_AUDIT_NO_ACCURACY, s->of->name, s->than->name);
        audit_so(a, MESSAGE_AUDIT_NO_ACCURACY_SO);
        return;
    }
    check_points(a, s);
    if (can_be_tested(s->of) && can_be_tested(s->than)) check_noise(a, s);
}

// ---- Overhead ----------------------------------------------------------------------------------

void audit_overhead(audit *a, const claim_statement *s) {
    if (s->kind != STATEMENT_OVERHEAD || !s->of || !s->than) return;
    const stated *of = &s->of->values[QUANTITY_BATCH_MS], *ms = &s->values[QUANTITY_MS];
    const stated *than = &s->than->values[QUANTITY_BATCH_MS];
    if (!of->given || !than->given) {
        audit_add(a, FINDING_UNSUPPORTED, MESSAGE_AUDIT_NO_OVERHEAD, s->of->name);
        audit_sum(a, MESSAGE_AUDIT_NO_OVERHEAD_SUM, ms->text);
        audit_so(a, MESSAGE_AUDIT_NO_OVERHEAD_SO);
        return;
    }
    double difference = of->value - than->value;
    if (interval_meet(interval_subtract(of->range, than->range), ms->range)) return;
    bool left = difference > ms->value;
    audit_add(a, FINDING_ARITHMETIC, MESSAGE_AUDIT_OVERHEAD, s->of->name, s->than->name);
    audit_sum(a, left ? MESSAGE_AUDIT_OVERHEAD_LEFT : MESSAGE_AUDIT_OVERHEAD_OVER, of->text,
              than->text, difference, ms->text, fabs(difference - ms->value));
    audit_so(a, MESSAGE_AUDIT_OVERHEAD_SO);
}

// ---- Batch sizes -------------------------------------------------------------------------------

void audit_effective_batch(audit *a, const claim_statement *s) {
    if (s->kind != STATEMENT_EFFECTIVE_BATCH || !s->of) return;
    const claim_row *r = s->of;
    const stated *claimed = &s->values[QUANTITY_BATCH], *devices = &r->values[QUANTITY_DEVICES];
    const char *strategy = r->labels[LABEL_STRATEGY];
    stated batch = audit_global_batch(r);
    if (!batch.given || !strategy) {
        audit_add(a, FINDING_CONDITION, MESSAGE_AUDIT_BATCH_OPEN, r->name, claimed->text);
        audit_sum(a, MESSAGE_AUDIT_BATCH_OPEN_SUM,
                  strategy ? quantity_key(QUANTITY_BATCH) : label_key(LABEL_STRATEGY));
        audit_so(a, MESSAGE_AUDIT_BATCH_OPEN_SO);
        return;
    }
    if (interval_meet(batch.range, claimed->range)) return;
    bool split = strcmp(strategy, "ddp") != 0;
    audit_add(a, FINDING_ARITHMETIC, MESSAGE_AUDIT_BATCH, r->name);
    if (split && devices->given)
        audit_sum(a, MESSAGE_AUDIT_BATCH_SPLIT, strategy, batch.text, batch.text, devices->text,
                  batch.value / devices->value);
    audit_sum(a, MESSAGE_AUDIT_BATCH_SUM, batch.text, claimed->text,
              audit_gap(a, claimed->value, batch.value).text);
    audit_so(a, MESSAGE_AUDIT_BATCH_SO);
}

// ---- Code --------------------------------------------------------------------------------------

// Does the code set a value that the text does not have?
static void check_code_value(audit *a, const claim_statement *s, quantity q) {
    const stated *code = &s->values[q];
    const claim *c = a->claim;
    bool begun = false;
    for (size_t i = 0; i < c->row_count && code->given; i++) {
        const claim_row *r = &c->rows[i];
        if (s->of_name && r != s->of) continue;
        if (!audit_differ(code, &r->values[q])) continue;
        if (!begun) audit_add(a, FINDING_UNSUPPORTED, MESSAGE_AUDIT_CODE, quantity_key(q));
        begun = true;
        audit_sum(a, MESSAGE_AUDIT_CODE_SUM, quantity_key(q), code->text, r->name,
                  r->values[q].text);
    }
    if (begun) audit_so(a, MESSAGE_AUDIT_CODE_SO);
}

void audit_code(audit *a, const claim_statement *s) {
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
        audit_add(a, FINDING_CONDITION, MESSAGE_AUDIT_NEEDS, r->name);
        audit_sum(a, MESSAGE_AUDIT_NEEDS_SUM, needs->text, devices->text);
        audit_so(a, MESSAGE_AUDIT_NEEDS_SO);
    }
}
