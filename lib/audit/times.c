// SPDX-License-Identifier: MIT
// Slower, faster, speed-up: recomputed from every time that both rows give.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/row.h"

// Two bases of one comparison may differ by this: a total includes start-up and evaluation.
static const double OVERHEAD = 0.1;

// How much longer the first row took than the second, by one basis.
typedef struct time_ratio {
    bool given;
    double value;
    interval range;
} time_ratio;

static time_ratio ratio_of(const claim_statement *s, quantity basis) {
    const stated *of = &s->of->values[basis], *than = &s->than->values[basis];
    time_ratio t = {.given = of->given && than->given};
    if (!t.given) return t;
    t.value = of->value / than->value;
    t.range = interval_divide(of->range, than->range);
    return t;
}

static bool is_about_time(const claim_statement *s) {
    return statement_compares(s) && (s->kind == STATEMENT_SLOWER || s->kind == STATEMENT_FASTER ||
                                     s->kind == STATEMENT_SPEEDUP);
}

static bool is_percent(const claim_statement *s) {
    return s->values[QUANTITY_BY_PERCENT].given;
}

static const stated *amount_of(const claim_statement *s) {
    return &s->values[is_percent(s) ? QUANTITY_BY_PERCENT : QUANTITY_RATIO];
}

// ---- Readings ----------------------------------------------------------------------------------

// "50 % slower" is read as 1.5 times the time (reading 0) or half the speed (1), "50 % faster" as
// 1.5 times the speed (0) or half the time (1). Ratios have one reading.
static int readings(const claim_statement *s) {
    return is_percent(s) ? 2 : 1;
}

// The stated amount that corresponds to a ratio of times t.
static double amount(const claim_statement *s, int reading, double t) {
    bool slower = s->kind == STATEMENT_SLOWER;
    double grown = slower ? t : 1 / t;
    if (!is_percent(s)) return grown;
    return 100 * (reading ? 1 - 1 / grown : grown - 1);
}

static interval amounts(const claim_statement *s, int reading, interval t) {
    double x = amount(s, reading, t.low), y = amount(s, reading, t.high);
    return (interval){fmin(x, y), fmax(x, y)};
}

// The ratio of times that corresponds to a stated amount x: the inverse of amount().
static double meant(const claim_statement *s, int reading, double x) {
    double grown = x;
    if (is_percent(s)) grown = reading ? (x < 100 ? 1 / (1 - x / 100) : INFINITY) : 1 + x / 100;
    return s->kind == STATEMENT_SLOWER ? grown : 1 / grown;
}

static interval meant_range(const claim_statement *s, int reading) {
    interval x = amount_of(s)->range;
    double low = meant(s, reading, x.low), high = meant(s, reading, x.high);
    return (interval){fmin(low, high), fmax(low, high)};
}

// Does the ratio match the stated amount, or its direction if no amount is stated?
static bool agrees(const claim_statement *s, const time_ratio *t) {
    if (!amount_of(s)->given)
        return s->kind == STATEMENT_SLOWER ? t->range.high > 1 : t->range.low < 1;
    for (int i = 0; i < readings(s); i++)
        if (interval_meet(amounts(s, i, t->range), amount_of(s)->range)) return true;
    return false;
}

// ---- Printing ----------------------------------------------------------------------------------

// "'b' 13.8 % slower than 'a'", "'b' 2 times as fast as 'a'".
static phrase say(const findings *a, const claim_statement *s) {
    const stated *x = amount_of(s);
    bool slower = s->kind == STATEMENT_SLOWER;
    if (!x->given)
        return finding_say(a, slower ? "'%s' slower than '%s'" : "'%s' faster than '%s'",
                           s->of_name, s->than_name);
    if (is_percent(s))
        return finding_say(a,
                           slower ? "'%s' %s %% slower than '%s'" : "'%s' %s %% faster than '%s'",
                           s->of_name, x->text, s->than_name);
    return finding_say(a,
                       slower ? "'%s' %s times as slow as '%s'" : "'%s' %s times as fast as '%s'",
                       s->of_name, x->text, s->than_name);
}

// "80.9 % slower, stated 80.6 %", "1.83 times as fast, stated 2: 1.09 times more".
static phrase say_amount(const findings *a, const claim_statement *s, double value) {
    const stated *x = amount_of(s);
    bool slower = s->kind == STATEMENT_SLOWER;
    if (is_percent(s))
        return finding_say(a,
                           (value >= 0) == slower ? "%.3g %% slower, stated %s %%"
                                                  : "%.3g %% faster, stated %s %%",
                           fabs(value), x->text);
    phrase times = finding_say(a, slower ? "%.3g times as slow" : "%.3g times as fast", value);
    if (!x->given) return times;
    return finding_say(a, "%s, stated %s: %s", times.text, x->text,
                       finding_gap(a, x->value, value).text);
}

// A line such as "34.80 / 19.24 ms a batch: 80.9 % slower, stated 80.6 %".
static void say_basis(findings *a, const claim_statement *s, quantity basis) {
    time_ratio t = ratio_of(s, basis);
    const stated *of = &s->of->values[basis], *than = &s->than->values[basis];
    bool slower = s->kind == STATEMENT_SLOWER;
    if (!t.given) return;
    const stated *above = slower ? of : than, *below = slower ? than : of;
    finding_arithmetic(a, "%s / %s %s %s: %s", above->text, below->text, time_basis_unit(basis),
                       finding_text(a, time_basis_name(basis)),
                       say_amount(a, s, amount(s, 0, t.value)).text);
}

// ---- One statement -----------------------------------------------------------------------------

// There is nothing to recompute from. The speed-up per device is still printed.
static void unsupported(findings *a, const claim_statement *s) {
    const stated *of = &s->of->values[QUANTITY_DEVICES], *than = &s->than->values[QUANTITY_DEVICES];
    finding_add(a, FINDING_UNSUPPORTED, subject_of(TOPIC_SOURCE, s),
                "%s: the rows do not give the times", say(a, s).text);
    if (s->kind == STATEMENT_SPEEDUP && of->given && than->given && of->value > than->value)
        finding_arithmetic(a, "%s / (%s / %s devices) = %.2f of the ideal speed-up",
                           amount_of(s)->text, of->text, than->text,
                           amount_of(s)->value * than->value / of->value);
    finding_consequence(a, s->source == SOURCE_NONE
                               ? "it cannot be checked: no source is named either"
                           : s->source == SOURCE_NAMED ? "it depends on its source alone"
                                                       : "it cannot be checked");
}

static bool has_basis(const claim_statement *s, quantity basis) {
    return (s->basis == QUANTITIES || s->basis == basis) && ratio_of(s, basis).given;
}

static void check_amount(findings *a, const claim_statement *s) {
    int found = 0, agreeing = 0;
    for (int i = 0; i < TIME_BASES; i++) {
        if (!has_basis(s, time_bases[i])) continue;
        time_ratio t = ratio_of(s, time_bases[i]);
        found++;
        if (agrees(s, &t)) agreeing++;
    }
    if (!found) {
        // check_sources() already reports rows that were not measured.
        if (s->of->measured && s->than->measured) unsupported(a, s);
        return;
    }
    if (agreeing) return;
    finding_add(a, FINDING_ARITHMETIC, subject_of(TOPIC_TIME, s),
                "%s: the rows give a different figure", say(a, s).text);
    for (int i = 0; i < TIME_BASES; i++) say_basis(a, s, time_bases[i]);
    finding_consequence(a, "the figure does not follow from the rows, which give the measurements");
}

// ---- Several figures for one comparison --------------------------------------------------------

// Must two bases give the same ratio? A total and an epoch must if both rows had the same number of
// epochs; a batch and one of these, if they also had the same number of steps.
static bool must_agree(const claim_statement *s, quantity x, quantity y) {
    bool total = x == QUANTITY_TOTAL_SECONDS || y == QUANTITY_TOTAL_SECONDS;
    bool batch = x == QUANTITY_BATCH_MS || y == QUANTITY_BATCH_MS;
    if (total && rows_differ(s->of, s->than, QUANTITY_EPOCHS)) return false;
    if (!batch) return true;
    return !row_batch_is_ambiguous(s->of) && !row_batch_is_ambiguous(s->than) &&
           !rows_differ_in_batch(s->of, s->than) && !rows_differ(s->of, s->than, QUANTITY_SAMPLES);
}

static bool bases_differ(const claim_statement *s, quantity x, quantity y) {
    time_ratio t = ratio_of(s, x), u = ratio_of(s, y);
    if (!t.given || !u.given || !must_agree(s, x, y)) return false;
    interval wide = {t.range.low / (1 + OVERHEAD), t.range.high * (1 + OVERHEAD)};
    return !interval_meet(wide, u.range);
}

// Reports once per pair of rows, however many statements are about the pair.
static void check_bases(findings *a, const claim_statement *s) {
    bool differ = false;
    for (const claim_statement *t = a->claim->statements; t < s; t++)
        if (is_about_time(t) && statements_share_rows(s, t)) return;
    for (int i = 0; i < TIME_BASES; i++)
        for (int k = 0; k < i; k++) differ |= bases_differ(s, time_bases[k], time_bases[i]);
    if (!differ) return;
    finding_add(a, FINDING_ARITHMETIC, subject_of(TOPIC_TIME, s),
                "'%s' and '%s': one comparison, different ratios", s->of->name, s->than->name);
    for (int i = 0; i < TIME_BASES; i++) {
        time_ratio t = ratio_of(s, time_bases[i]);
        if (t.given)
            finding_arithmetic(a, "%s / %s %s %s = %.4g", s->of->values[time_bases[i]].text,
                               s->than->values[time_bases[i]].text, time_basis_unit(time_bases[i]),
                               finding_text(a, time_basis_name(time_bases[i])), t.value);
    }
    finding_consequence(
        a,
        "one of these times is wrong: both arms took the same number of steps, so the ratios must "
        "be equal");
}

// Can both statements be true, in any reading of either?
static bool compatible(const claim_statement *s, const claim_statement *t) {
    for (int i = 0; i < readings(s); i++)
        for (int k = 0; k < readings(t); k++) {
            interval x = meant_range(s, i), y = meant_range(t, k);
            if (s->of != t->of) y = interval_divide(interval_exact(1), y);
            if (interval_meet(x, y)) return true;
        }
    return false;
}

// Statements about different times are compared through their rows (check_bases).
static bool about_one_basis(const claim_statement *s, const claim_statement *t) {
    return s->basis == QUANTITIES || t->basis == QUANTITIES || s->basis == t->basis;
}

static void check_others(findings *a, const claim_statement *s) {
    for (const claim_statement *t = a->claim->statements; t < s; t++) {
        if (!is_about_time(t) || !statements_share_rows(s, t) || !amount_of(t)->given) continue;
        if (!about_one_basis(s, t) || compatible(s, t)) continue;
        double time = meant(s, 0, amount_of(s)->value);
        finding_add(a, FINDING_ARITHMETIC, subject_of(TOPIC_TIME, s),
                    "'%s' and '%s': two figures for the same thing", s->of->name, s->than->name);
        finding_arithmetic(a, "%s; %s", say(a, t).text, say(a, s).text);
        finding_arithmetic(a, "that is %.4g and %.4g times the time",
                           meant(t, 0, amount_of(t)->value), s->of == t->of ? time : 1 / time);
        finding_consequence(a, "at most one of them is right");
    }
}

// ---- Differences -------------------------------------------------------------------------------

// A column of differences in a table states only arithmetic.
static void check_difference(findings *a, const claim_statement *s) {
    for (int q = 0; q < QUANTITIES; q++) {
        const stated *of = &s->of->values[q], *than = &s->than->values[q], *d = &s->values[q];
        if (!d->given || !of->given || !than->given) continue;
        if (interval_meet(interval_subtract(of->range, than->range), d->range)) continue;
        finding_add(a, FINDING_ARITHMETIC, subject_of(q, s),
                    "'%s' and '%s': the stated difference does not match", s->of->name,
                    s->than->name);
        finding_arithmetic(a, "%s: %s - %s = %s, stated %s", quantity_key((quantity)q), of->text,
                           than->text, finding_show(of->value - than->value).text, d->text);
        finding_consequence(a, "the stated difference does not follow from the rows");
    }
}

void check_times(findings *a, const claim_statement *s) {
    if (s->kind == STATEMENT_DIFFERENCE && s->of && s->than) check_difference(a, s);
    if (!is_about_time(s)) return;
    check_amount(a, s);
    check_bases(a, s);
    if (amount_of(s)->given) check_others(a, s);
}
