// Projections to more devices than there were.
#include <math.h>

#include "audit/checks.h"

// A projected figure, and how it came about.
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

// The time with the communication that the claim adds.
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

// Is the projected speed-up that of dividing by the devices, in one of the times?
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

static void say_division(audit *a, const claim_statement *s, quantity q) {
    projected p = project(s, q);
    if (p.divided)
        audit_sum(a, "%s / %.4g = %.4g %s %s, stated %s: nothing is left for communication",
                  p.from->text, p.factor, p.from->value / p.factor, audit_basis_unit(q),
                  audit_basis_name(a, q), p.to->text);
    else
        audit_sum(a, "%s times as fast %s is all that %.4g times the devices could give",
                  s->values[QUANTITY_RATIO].text, audit_basis_name(a, q), p.factor);
}

static void no_communication(audit *a, const claim_statement *s) {
    bool begun = false;
    if (s->values[QUANTITY_COMMUNICATION_MS].value > 0) return;
    for (int i = 0; i < AUDIT_BASES; i++) {
        quantity q = audit_bases[i];
        if (!project(s, q).divided && (begun || !ratio_divided(s, q))) continue;
        if (!begun)
            audit_add(a, FINDING_UNSUPPORTED, "'%s' projected to %s devices without communication",
                      s->of->name, s->values[QUANTITY_DEVICES].text);
        begun = true;
        say_division(a, s, q);
    }
    if (begun) audit_so(a, "this is a bound that no machine reaches, not a measurement");
}

// A projected time must be the row's divided, the row's divided plus communication, or the other
// arm's divided by the speed-up. Divided and by speed-up must give the same.
static void check_time(audit *a, const claim_statement *s, quantity q) {
    projected p = project(s, q);
    if (!p.to->given || !p.from->given || p.divided || adds_communication(s, q, &p)) return;
    const stated *speedup = &s->values[QUANTITY_RATIO];
    const char *unit = audit_basis_unit(q);
    audit_add(a, FINDING_ARITHMETIC, "'%s': the projected time %s does not follow from its own",
              s->of->name, audit_basis_name(a, q));
    audit_sum(a, "%s / %.4g = %s %s, stated %s %s: %s", p.from->text, p.factor,
              audit_show(p.from->value / p.factor).text, unit, p.to->text, unit,
              audit_gap(a, p.to->value, p.from->value / p.factor).text);
    if (follows_ratio(s, q))
        audit_sum(a, "it is that of '%s' by the projected speed-up: %s / %s = %s %s", s->than->name,
                  s->than->values[q].text, speedup->text,
                  audit_show(s->than->values[q].value / speedup->value).text, unit);
    audit_so(a, "the projected figures contradict each other: at most one of them is right");
}

// The projected speed-up over the other arm, from any time that both have.
static void check_ratio(audit *a, const claim_statement *s) {
    const stated *speedup = &s->values[QUANTITY_RATIO];
    const quantity *last = NULL;
    if (!speedup->given || !s->than) return;
    for (int i = 0; i < AUDIT_BASES; i++) {
        const stated *than = &s->than->values[audit_bases[i]], *to = &s->values[audit_bases[i]];
        if (!than->given || !to->given) continue;
        if (interval_meet(interval_divide(than->range, to->range), speedup->range)) return;
        last = &audit_bases[i];
    }
    if (!last) return;
    const stated *than = &s->than->values[*last], *to = &s->values[*last];
    audit_add(a, FINDING_ARITHMETIC, "'%s': the projected speed-up is another", s->of->name);
    audit_sum(a, "%s / %s %s %s = %.3g, stated %s: %s", than->text, to->text,
              audit_basis_unit(*last), audit_basis_name(a, *last), than->value / to->value,
              speedup->text, audit_gap(a, speedup->value, than->value / to->value).text);
    audit_so(a, "the speed-up does not follow from the projected time");
}

void audit_projection(audit *a, const claim_statement *s) {
    if (s->kind != STATEMENT_PROJECTION || !s->of) return;
    no_communication(a, s);
    for (int i = 0; i < AUDIT_BASES; i++) check_time(a, s, audit_bases[i]);
    check_ratio(a, s);
}
