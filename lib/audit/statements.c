// Statements about accuracy, overhead, batch sizes, code, and machines that were not there.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit/checks.h"
#include "base/cli.h"

// ---- Rows that are not there -------------------------------------------------------------------

static void missing_row(audit *a, const claim_statement *s, const char *name,
                        const claim_row *row) {
    const char *names[64], *near;
    size_t count = 0;
    if (!name || row) return;
    for (; count < a->claim->row_count && count < 64; count++)
        names[count] = a->claim->rows[count].name;
    near = cli_nearest(name, names, count);
    audit_add(a, FINDING_UNSUPPORTED, "a statement of kind '%s' names no row of the claim",
              statement_name(s->kind));
    audit_sum(a,
              near ? "'%s' is not among the %zu rows: the nearest is '%s'"
                   : "'%s' is not among the %zu rows",
              name, a->claim->row_count, near);
    audit_so(a, "nothing supports the statement");
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
    audit_add(a, FINDING_ARITHMETIC, "'%s' and '%s': their accuracies differ by something else",
              s->of->name, s->than->name);
    audit_sum(a, "%s - %s = %.4g points, stated %s", of->text, than->text, of->value - than->value,
              points->text);
    audit_so(a, "the difference is not that of the rows");
}

static void check_noise(audit *a, const claim_statement *s) {
    const stated *x = &s->of->values[QUANTITY_ACCURACY],
                 *nx = &s->of->values[QUANTITY_TEST_SAMPLES];
    const stated *y = &s->than->values[QUANTITY_ACCURACY];
    const stated *ny = &s->than->values[QUANTITY_TEST_SAMPLES];
    const stated *points = &s->values[QUANTITY_POINTS];
    bool same = s->kind == STATEMENT_SAME_ACCURACY || (points->given && points->value == 0);
    if (!nx->given || !ny->given) {
        audit_add(a, FINDING_CONDITION, "'%s' and '%s': of how many test samples?", s->of->name,
                  s->than->name);
        audit_sum(a, "%s - %s = %.4g points", x->text, y->text, x->value - y->value);
        audit_so(a, "it cannot be said whether the difference is more than chance");
        return;
    }
    double z = audit_proportions_z(x->value / 100, nx->value, y->value / 100, ny->value);
    bool noise = fabs(z) < Z_NOISE;
    if (noise == same) return;
    if (noise)
        audit_add(a, FINDING_NOISE, "'%s' and '%s' do not differ in accuracy", s->of->name,
                  s->than->name);
    else
        audit_add(a, FINDING_UNSUPPORTED, "'%s' and '%s' are not equal in accuracy", s->of->name,
                  s->than->name);
    audit_sum(a, "%s - %s = %.4g points of %s test samples: z = %.2f, p = %.2g", x->text, y->text,
              x->value - y->value, nx->text, z, audit_z_p_value(z));
    audit_so(a, noise ? "chance alone gives as much: neither arm is shown to be better"
                      : "chance does not explain the difference");
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
        audit_add(a, FINDING_UNSUPPORTED, "'%s' and '%s': no row has both accuracies", s->of->name,
                  s->than->name);
        audit_so(a, "nobody can check the statement");
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
        audit_add(a, FINDING_UNSUPPORTED, "'%s': no row has the time of a batch to compare",
                  s->of->name);
        audit_sum(a, "stated %s ms", ms->text);
        audit_so(a, "nobody can check what the overhead is");
        return;
    }
    double difference = of->value - than->value;
    if (interval_meet(interval_subtract(of->range, than->range), ms->range)) return;
    bool left = difference > ms->value;
    audit_add(a, FINDING_ARITHMETIC, "'%s': the stated overhead is not the difference to '%s'",
              s->of->name, s->than->name);
    audit_sum(a,
              left ? "%s - %s = %.4g ms a batch, stated %s ms: %.4g ms without an explanation"
                   : "%s - %s = %.4g ms a batch, stated %s ms: %.4g ms too much",
              of->text, than->text, difference, ms->text, fabs(difference - ms->value));
    audit_so(a, "something else than what is named took the time");
}

// ---- Batch sizes -------------------------------------------------------------------------------

void audit_effective_batch(audit *a, const claim_statement *s) {
    if (s->kind != STATEMENT_EFFECTIVE_BATCH || !s->of) return;
    const claim_row *r = s->of;
    const stated *claimed = &s->values[QUANTITY_BATCH], *devices = &r->values[QUANTITY_DEVICES];
    const char *strategy = r->labels[LABEL_STRATEGY];
    stated batch = audit_global_batch(r);
    if (!batch.given || !strategy) {
        audit_add(a, FINDING_CONDITION, "'%s': effective batch %s of what?", r->name,
                  claimed->text);
        audit_sum(a, "the row has no %s",
                  strategy ? quantity_key(QUANTITY_BATCH) : label_key(LABEL_STRATEGY));
        audit_so(a, "the statement cannot be checked");
        return;
    }
    if (interval_meet(batch.range, claimed->range)) return;
    bool split = strcmp(strategy, "ddp") != 0;
    audit_add(a, FINDING_ARITHMETIC, "'%s': its effective batch is another", r->name);
    if (split && devices->given)
        audit_sum(a, "strategy %s splits the batch: %s a step, %s / %s = %.4g on each device",
                  strategy, batch.text, batch.text, devices->text, batch.value / devices->value);
    audit_sum(a, "%s samples a step, stated %s: %s", batch.text, claimed->text,
              audit_gap(a, claimed->value, batch.value).text);
    audit_so(a, "a learning rate scaled to the stated batch would be scaled for nothing");
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
        if (!begun)
            audit_add(a, FINDING_UNSUPPORTED, "the code shown has another value of %s",
                      quantity_key(q));
        begun = true;
        audit_sum(a, "code: %s %s; text, '%s': %s", quantity_key(q), code->text, r->name,
                  r->values[q].text);
    }
    if (begun) audit_so(a, "the figures are not those of the code that is shown");
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
        audit_add(a, FINDING_CONDITION, "'%s': its code path needs more devices than it had",
                  r->name);
        audit_sum(a, "needs %s devices, ran on %s", needs->text, devices->text);
        audit_so(a, "the arm ran the same code as one that is not parallel");
    }
}
