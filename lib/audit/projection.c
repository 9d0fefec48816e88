// SPDX-License-Identifier: MIT
// Projections to more devices than the claim measured.
#include <math.h>

#include "audit/checks.h"
#include "audit/row.h"

// A projected time, and how it was derived. A throughput is the time of an image (row_time).
typedef struct projected {
    stated from, to; // the row's and the projected time
    double factor;   // projected devices / the row's devices
    interval plain;  // from / factor
    interval fixed;  // the same, without dividing the seconds besides the epochs
    bool divided;    // to is one of these: nothing is left for communication
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
    if (q == QUANTITY_TOTAL_SECONDS && other->given) {
        const interval rest = interval_subtract(p.from.range, other->range);
        p.fixed = interval_add(interval_divide(rest, factor), other->range);
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
static phrase say_divided(const findings *a, const projected *p, quantity q, const stated *other) {
    const char *unit = time_basis_unit(q);
    if (q == QUANTITY_IMAGES_PER_SECOND)
        return finding_say(a, "%s x %.4g = %s %s", p->from.text, p->factor,
                           finding_show(p->factor / p->from.value).text, unit);
    if (q == QUANTITY_TOTAL_SECONDS && other->given)
        return finding_say(
            a, "(%s - %s) / %.4g + %s = %s %s", p->from.text, other->text, p->factor, other->text,
            finding_show((p->from.value - other->value) / p->factor + other->value).text, unit);
    return finding_say(a, "%s / %.4g = %s %s", p->from.text, p->factor,
                       finding_show(p->from.value / p->factor).text, unit);
}

static void say_division(findings *a, const claim_statement *s, quantity q) {
    const projected p = project(s, q);
    if (p.divided)
        finding_arithmetic(a, "%s %s, stated %s: nothing is left for communication",
                           say_divided(a, &p, q, &s->of->values[QUANTITY_OTHER_SECONDS]).text,
                           finding_text(a, time_basis_name(q)), p.to.text);
    else
        finding_arithmetic(
            a, "%s times as fast %s is the ideal speed-up of %.4g times as many devices",
            s->values[QUANTITY_RATIO].text, finding_text(a, time_basis_name(q)), p.factor);
}

static void no_communication(findings *a, const claim_statement *s) {
    bool begun = false;
    if (s->values[QUANTITY_COMMUNICATION_MS].value > 0) return;
    for (int i = 0; i < TIME_BASES; i++) {
        quantity q = time_bases[i];
        if (!project(s, q).divided && (begun || !ratio_divided(s, q))) continue;
        if (!begun)
            finding_add(a, FINDING_UNSUPPORTED, subject_of(TOPIC_COMMUNICATION, s),
                        "'%s' projected to %s devices without communication", s->of->name,
                        s->values[QUANTITY_DEVICES].text);
        begun = true;
        say_division(a, s, q);
    }
    if (begun) finding_consequence(a, "this is a bound that no machine reaches, not a measurement");
}

// A projected time must be the row's time divided, that plus communication, or the other row's time
// divided by the projected speed-up.
static void check_time(findings *a, const claim_statement *s, quantity q) {
    const projected p = project(s, q);
    if (!p.to.given || !p.from.given || p.divided || adds_communication(s, q, &p)) return;
    if (follows_ratio(s, q, &p)) return;
    const stated *other = &s->of->values[QUANTITY_OTHER_SECONDS];
    const bool fixed = q == QUANTITY_TOTAL_SECONDS && other->given;
    const double rest = p.from.value - (fixed ? other->value : 0);
    double plain = rest / p.factor + (fixed ? other->value : 0), to = p.to.value;
    if (q == QUANTITY_IMAGES_PER_SECOND) plain = 1 / plain, to = 1 / to;
    finding_add(a, FINDING_ARITHMETIC, subject_of(TOPIC_TIME, s),
                "'%s': the projected time %s does not follow from its own", s->of->name,
                finding_text(a, time_basis_name(q)));
    finding_arithmetic(a, "%s, stated %s %s: %s", say_divided(a, &p, q, other).text, p.to.text,
                       time_basis_unit(q), finding_gap(a, to, plain).text);
    finding_consequence(
        a, "the projected figures contradict each other: at most one of them is right");
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
    finding_add(a, FINDING_ARITHMETIC, subject_of(TOPIC_TIME, s),
                "'%s': the projected speed-up is different", s->of->name);
    finding_arithmetic(a, "%s / %s %s %s = %.3g, stated %s: %s", speed ? to.text : than.text,
                       speed ? than.text : to.text, time_basis_unit(last),
                       finding_text(a, time_basis_name(last)), than.value / to.value, speedup->text,
                       finding_gap(a, speedup->value, than.value / to.value).text);
    finding_consequence(a, "the speed-up does not follow from the projected time");
}

void check_projection(findings *a, const claim_statement *s) {
    if (s->kind != STATEMENT_PROJECTION || !s->of) return;
    no_communication(a, s);
    for (int i = 0; i < TIME_BASES; i++) check_time(a, s, time_bases[i]);
    check_ratio(a, s);
}
