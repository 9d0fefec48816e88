// SPDX-License-Identifier: MIT
// Projections to more devices than the claim measured.
#include <math.h>

#include "audit/checks.h"
#include "audit/row.h"

// A projected figure, and how it was derived.
typedef struct projected {
    const stated *from, *to; // the row's and the projected figure
    double factor;           // projected devices / the row's devices
    bool divided;            // to = from / factor
} projected;

static projected project(const claim_statement *s, quantity q) {
    const stated *had = &s->of->values[QUANTITY_DEVICES];
    projected p = {.from = &s->of->values[q], .to = &s->values[q]};
    p.factor = s->values[QUANTITY_DEVICES].value / (had->given ? had->value : 1);
    if (p.from->given && p.to->given)
        p.divided =
            interval_meet(interval_divide(p.from->range, interval_exact(p.factor)), p.to->range);
    return p;
}

// Is it the divided time plus the communication that the claim adds?
static bool adds_communication(const claim_statement *s, quantity q, const projected *p) {
    const stated *ms = &s->values[QUANTITY_COMMUNICATION_MS];
    if (q != QUANTITY_BATCH_MS || !ms->given) return false;
    interval plain = interval_divide(p->from->range, interval_exact(p->factor));
    return interval_meet(interval_add(plain, ms->range), p->to->range);
}

// Is it the other arm's time, divided by the projected speed-up?
static bool follows_ratio(const claim_statement *s, quantity q) {
    const stated *speedup = &s->values[QUANTITY_RATIO], *to = &s->values[q];
    if (!s->than || !s->than->values[q].given || !speedup->given) return false;
    return interval_meet(interval_divide(s->than->values[q].range, speedup->range), to->range);
}

// Is the projected speed-up that of dividing by the number of devices, for one of the times?
static bool ratio_divided(const claim_statement *s, quantity q) {
    const stated *speedup = &s->values[QUANTITY_RATIO], *of = &s->of->values[q];
    interval plain = interval_exact(project(s, q).factor);
    if (!speedup->given || s->values[q].given || (s->than_name && !s->than)) return false;
    if (s->than) {
        const stated *than = &s->than->values[q];
        if (!of->given || !than->given) return false;
        plain = interval_multiply(interval_divide(than->range, of->range), plain);
    }
    return interval_meet(plain, speedup->range);
}

static void say_division(findings *a, const claim_statement *s, quantity q) {
    projected p = project(s, q);
    if (p.divided)
        finding_arithmetic(a,
                           "%s / %.4g = %.4g %s %s, stated %s: nothing is left for communication",
                           p.from->text, p.factor, p.from->value / p.factor, time_basis_unit(q),
                           finding_text(a, time_basis_name(q)), p.to->text);
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

// A projected time must be the row's time divided, that plus communication, or the other arm's time
// divided by the projected speed-up.
static void check_time(findings *a, const claim_statement *s, quantity q) {
    projected p = project(s, q);
    if (!p.to->given || !p.from->given || p.divided || adds_communication(s, q, &p)) return;
    if (follows_ratio(s, q)) return;
    const char *unit = time_basis_unit(q);
    finding_add(a, FINDING_ARITHMETIC, subject_of(TOPIC_TIME, s),
                "'%s': the projected time %s does not follow from its own", s->of->name,
                finding_text(a, time_basis_name(q)));
    finding_arithmetic(a, "%s / %.4g = %s %s, stated %s %s: %s", p.from->text, p.factor,
                       finding_show(p.from->value / p.factor).text, unit, p.to->text, unit,
                       finding_gap(a, p.to->value, p.from->value / p.factor).text);
    finding_consequence(
        a, "the projected figures contradict each other: at most one of them is right");
}

// Checks the projected speed-up over the other arm, for every time that both have.
static void check_ratio(findings *a, const claim_statement *s) {
    const stated *speedup = &s->values[QUANTITY_RATIO];
    const quantity *last = NULL;
    if (!speedup->given || !s->than) return;
    for (int i = 0; i < TIME_BASES; i++) {
        const stated *than = &s->than->values[time_bases[i]], *to = &s->values[time_bases[i]];
        if (!than->given || !to->given) continue;
        if (interval_meet(interval_divide(than->range, to->range), speedup->range)) return;
        last = &time_bases[i];
    }
    if (!last) return;
    const stated *than = &s->than->values[*last], *to = &s->values[*last];
    finding_add(a, FINDING_ARITHMETIC, subject_of(TOPIC_TIME, s),
                "'%s': the projected speed-up is different", s->of->name);
    finding_arithmetic(a, "%s / %s %s %s = %.3g, stated %s: %s", than->text, to->text,
                       time_basis_unit(*last), finding_text(a, time_basis_name(*last)),
                       than->value / to->value, speedup->text,
                       finding_gap(a, speedup->value, than->value / to->value).text);
    finding_consequence(a, "the speed-up does not follow from the projected time");
}

void check_projection(findings *a, const claim_statement *s) {
    if (s->kind != STATEMENT_PROJECTION || !s->of) return;
    no_communication(a, s);
    for (int i = 0; i < TIME_BASES; i++) check_time(a, s, time_bases[i]);
    check_ratio(a, s);
}
