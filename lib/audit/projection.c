// SPDX-License-Identifier: MIT
// Projections to more devices than the claim measured.
#include <math.h>

#include "audit/checks.h"
#include "audit/row.h"

// A projected time, and how it was derived. A throughput is the time of an image (row_time).
typedef struct projected {
    stated from, to;    // the row's and the projected time
    double factor;      // projected devices / the row's devices
    interval plain;     // from / factor
    interval fixed;     // the same, without dividing the seconds besides the epochs
    bool divided;       // to is one of these: nothing is left for communication
    const stated *rest; // the seconds that are not divided; NULL: none
    double result;      // the row's figure, so divided, or multiplied for a throughput
} projected;

static projected project(const claim_statement *s, quantity q) {
    const stated *had = &s->of->values[QUANTITY_DEVICES];
    const stated *other = &s->of->values[QUANTITY_OTHER_SECONDS];
    projected p = {.from = row_time(s->of, q), .to = s->values[q]};
    if (q == QUANTITY_IMAGES_PER_SECOND) {
        p.from = stated_inverse(&s->of->values[q]); // not that of the batches, which are compared
        p.to = stated_inverse(&p.to);
    }
    p.factor = s->values[QUANTITY_DEVICES].value / (had->given ? had->value : 1);
    const interval factor = interval_exact(p.factor);
    p.fixed = p.plain = interval_divide(p.from.range, factor);
    p.result = q == QUANTITY_IMAGES_PER_SECOND ? p.factor / p.from.value : p.from.value / p.factor;
    if (q == QUANTITY_TOTAL_SECONDS && other->given) {
        const interval epochs = interval_subtract(p.from.range, other->range);
        p.fixed = interval_add(interval_divide(epochs, factor), other->range);
        p.rest = other;
        p.result = (p.from.value - other->value) / p.factor + other->value;
    }
    if (p.from.given && p.to.given)
        p.divided = interval_meet(p.plain, p.to.range) || interval_meet(p.fixed, p.to.range);
    return p;
}

// The number of batches in that time, on the row's devices or on all; not given if the row does not
// tell.
static stated batches_in(const claim_statement *s, quantity q, double factor) {
    const stated *epochs = &s->of->values[QUANTITY_EPOCHS], batch = row_global_batch(s->of);
    stated n = row_steps(s->of);
    if (q == QUANTITY_BATCH_MS) return (stated){.given = true, .range = {1, 1}};
    if (q == QUANTITY_IMAGES_PER_SECOND) n = stated_inverse(&batch);
    n.given = n.given && (q != QUANTITY_TOTAL_SECONDS || epochs->given);
    if (q == QUANTITY_TOTAL_SECONDS) n.range = interval_multiply(n.range, epochs->range);
    n.range.low /= fmax(1, factor); // a batch may grow with the devices
    return n;
}

// Is it the divided time plus the communication that the claim adds?
static bool adds_communication(const claim_statement *s, quantity q, const projected *p) {
    const stated *ms = &s->values[QUANTITY_COMMUNICATION_MS];
    const stated batches = batches_in(s, q, p->factor);
    if (!ms->given) return false;
    if (!batches.given) return p->to.range.high >= fmin(p->plain.low, p->fixed.low);
    interval added = interval_multiply(batches.range, ms->range);
    if (q != QUANTITY_BATCH_MS) added = interval_divide(added, interval_exact(1000));
    return interval_meet(interval_add(p->plain, added), p->to.range) ||
           interval_meet(interval_add(p->fixed, added), p->to.range);
}

// Is it the other row's time, divided by the projected speed-up?
static bool follows_ratio(const claim_statement *s, quantity q, const projected *p) {
    const stated *speedup = &s->values[QUANTITY_RATIO];
    if (!s->than || !speedup->given) return false;
    const stated than = row_time(s->than, q);
    return than.given && interval_meet(interval_divide(than.range, speedup->range), p->to.range);
}

// Is the projected speed-up that of dividing by the number of devices, for one of the times?
static bool ratio_divided(const claim_statement *s, quantity q) {
    const stated *speedup = &s->values[QUANTITY_RATIO];
    const projected p = project(s, q);
    interval plain = interval_exact(p.factor);
    if (!speedup->given || s->values[q].given || (s->than_name && !s->than)) return false;
    if (s->than) {
        const stated than = row_time(s->than, q);
        if (!p.from.given || !than.given) return false;
        plain = interval_multiply(interval_divide(than.range, p.from.range), plain);
    }
    return interval_meet(plain, speedup->range);
}

// "40.0 / 4 = 10 ms"; a throughput grows: "100 x 4 = 400 img/s"; other seconds are not divided.
static operand division(const projected *p, quantity q) {
    return nested("division", NULL, whether("grows", q == QUANTITY_IMAGES_PER_SECOND),
                  given("from", &p->from), rounded("factor", p->factor, 4),
                  p->rest ? given("other", p->rest) : named("other", NULL),
                  shown("result", p->result), named("unit", time_basis_unit(q)));
}

static void add_division(findings *a, const claim_statement *s, quantity q) {
    const projected p = project(s, q);
    if (p.divided)
        finding_sum(a, "divided", division(&p, q), named("basis", quantity_key(q)),
                    given("stated", &p.to));
    else
        finding_sum(a, "ideal_ratio", given("ratio", &s->values[QUANTITY_RATIO]),
                    named("basis", quantity_key(q)), rounded("factor", p.factor, 4));
}

static void no_communication(findings *a, const claim_statement *s) {
    bool begun = false;
    if (s->values[QUANTITY_COMMUNICATION_MS].value > 0) return;
    for (int i = 0; i < TIME_BASES; i++) {
        quantity q = time_bases[i];
        if (!project(s, q).divided && (begun || !ratio_divided(s, q))) continue;
        if (!begun)
            finding_add(a, FINDING_UNSUPPORTED, subject_of(TOPIC_COMMUNICATION, s),
                        "no_communication", "bound");
        if (!begun) finding_put(a, given("devices", &s->values[QUANTITY_DEVICES]));
        begun = true;
        add_division(a, s, q);
    }
}

// A projected time must be the row's time divided, that plus communication, or the other row's time
// divided by the projected speed-up.
static void check_time(findings *a, const claim_statement *s, quantity q) {
    const projected p = project(s, q);
    if (!p.to.given || !p.from.given || p.divided || adds_communication(s, q, &p)) return;
    if (follows_ratio(s, q, &p)) return;
    const double to = q == QUANTITY_IMAGES_PER_SECOND ? 1 / p.to.value : p.to.value;
    finding_add(a, FINDING_ARITHMETIC, subject_of(TOPIC_TIME, s), "other_projected_time",
                "contradicting_projection");
    finding_put(a, named("basis", quantity_key(q)));
    finding_sum(a, "projected_time", division(&p, q), given("stated", &p.to), gap(to, p.result));
}

// Checks the projected speed-up over the other row, for every time that both have.
static void check_ratio(findings *a, const claim_statement *s) {
    const stated *speedup = &s->values[QUANTITY_RATIO];
    quantity last = QUANTITIES;
    if (!speedup->given || !s->than) return;
    for (int i = 0; i < TIME_BASES; i++) {
        const stated than = row_time(s->than, time_bases[i]), to = project(s, time_bases[i]).to;
        if (!than.given || !to.given) continue;
        if (interval_meet(interval_divide(than.range, to.range), speedup->range)) return;
        last = time_bases[i];
    }
    if (last == QUANTITIES) return;
    const stated than = row_time(s->than, last), to = project(s, last).to;
    const bool speed = last == QUANTITY_IMAGES_PER_SECOND;
    const double ratio = than.value / to.value;
    finding_add(a, FINDING_ARITHMETIC, subject_of(TOPIC_TIME, s), "other_projected_ratio",
                "not_from_projected");
    finding_sum(a, "projected_ratio", given("above", speed ? &to : &than),
                given("below", speed ? &than : &to), named("unit", time_basis_unit(last)),
                named("basis", quantity_key(last)), rounded("ratio", ratio, 3),
                given("stated", speedup), gap(speedup->value, ratio));
}

void check_projection(findings *a, const claim_statement *s) {
    if (s->kind != STATEMENT_PROJECTION || !s->of) return;
    no_communication(a, s);
    for (int i = 0; i < TIME_BASES; i++) check_time(a, s, time_bases[i]);
    check_ratio(a, s);
}
