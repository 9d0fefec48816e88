// SPDX-License-Identifier: MIT
// Slower, faster, speed-up: recomputed from every time that both rows give; and parts of a step:
// the causes of a difference in time, and the ratio of loading to the update.
#include <math.h>

#include "audit/checks.h"
#include "audit/row.h"

// How much longer the first row took than the second, by one basis.
typedef struct time_ratio {
    bool given;
    double value;
    interval range;
} time_ratio;

static time_ratio ratio_of(const claim_statement *s, quantity basis) {
    const stated of = row_time(s->of, basis), than = row_time(s->than, basis);
    time_ratio t = {.given = of.given && than.given};
    if (!t.given) return t;
    t.value = of.value / than.value;
    t.range = interval_divide(of.range, than.range);
    return t;
}

bool statement_is_about_time(const claim_statement *s) {
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

// An efficiency may also be that of devices which each do as much as one: then a step takes the
// time of the other's, divided by it. So is a time per batch, unless the batches are known to be
// alike.
static bool agrees_per_device(const claim_statement *s, quantity basis, const time_ratio *t) {
    const stated of = row_global_batch(s->of), than = row_global_batch(s->than);
    const bool alike = of.given && than.given && !rows_differ_in_batch(s->of, s->than) &&
                       !row_batch_is_ambiguous(s->of) && !row_batch_is_ambiguous(s->than);
    if (!s->efficiency || basis != QUANTITY_BATCH_MS || alike) return false;
    const interval share = interval_divide(interval_exact(100), t->range);
    return interval_meet(share, s->efficiency->range);
}

// ---- Arithmetic --------------------------------------------------------------------------------

// What is stated: "'b' 13.8 % slower than 'a'", "'b' 2 times as fast as 'a'".
static operand statement(const char *key, const claim_statement *s) {
    return nested(key, NULL, named("of", s->of_name), named("than", s->than_name),
                  whether("slower", s->kind == STATEMENT_SLOWER), whether("percent", is_percent(s)),
                  given("amount", amount_of(s)));
}

// What the rows give: "34.80 / 19.24 ms per batch: 80.9 % slower, stated 80.6 %", "1.83 times as
// fast, stated 2: 9.4 % more".
static void add_basis(findings *a, const claim_statement *s, quantity basis) {
    const time_ratio t = ratio_of(s, basis);
    const bool slower = s->kind == STATEMENT_SLOWER, speed = basis == QUANTITY_IMAGES_PER_SECOND;
    const stated *x = amount_of(s);
    if (!t.given) return;
    const stated above = row_time(slower != speed ? s->of : s->than, basis);
    const stated below = row_time(slower != speed ? s->than : s->of, basis);
    const double value = amount(s, 0, t.value);
    const bool percent = is_percent(s);
    finding_sum(a, "amount", given("above", &above), given("below", &below),
                named("unit", time_basis_unit(basis)), named("basis", quantity_key(basis)),
                whether("slower", percent && value < 0 ? !slower : slower),
                whether("percent", percent), rounded("amount", percent ? fabs(value) : value, 3),
                given("stated", x), x->given ? gap(x->value, value) : named("gap", NULL));
}

// "(1000 / 300 s in total) / 4 = 83.3 %, stated 93 %".
static void add_efficiency(findings *a, const claim_statement *s, quantity basis) {
    const time_ratio t = ratio_of(s, basis);
    const bool speed = basis == QUANTITY_IMAGES_PER_SECOND;
    if (!t.given) return;
    const stated of = row_time(s->of, basis), than = row_time(s->than, basis);
    const double times = 100 * s->values[QUANTITY_RATIO].value / s->efficiency->value;
    finding_sum(a, "efficiency", given("above", speed ? &of : &than),
                given("below", speed ? &than : &of), named("unit", time_basis_unit(basis)),
                named("basis", quantity_key(basis)), rounded("times", times, 6),
                rounded("share", 100 / t.value / times, 3), given("stated", s->efficiency));
}

// ---- One statement -----------------------------------------------------------------------------

// There is nothing to recompute from. The speed-up per device is still printed.
static void unsupported(findings *a, const claim_statement *s) {
    const stated *of = &s->of->values[QUANTITY_DEVICES], *than = &s->than->values[QUANTITY_DEVICES];
    finding_add(a, FINDING_UNSUPPORTED, subject_of(TOPIC_SOURCE, s), "no_times",
                s->source == SOURCE_NONE    ? "uncheckable_no_source"
                : s->source == SOURCE_NAMED ? "only_its_source"
                                            : "uncheckable_alone");
    finding_put(a, statement("statement", s));
    if (s->kind == STATEMENT_SPEEDUP && !s->efficiency && of->given && than->given &&
        of->value > than->value)
        finding_sum(a, "share_of_ideal", given("ratio", amount_of(s)), given("of", of),
                    given("than", than),
                    fixed("share", amount_of(s)->value * than->value / of->value, 2));
}

static bool has_basis(const claim_statement *s, quantity basis) {
    return (s->basis == QUANTITIES || s->basis == basis) && ratio_of(s, basis).given;
}

bool statement_compares_rates(const claim_statement *s) {
    const quantity rate = QUANTITY_IMAGES_PER_SECOND;
    bool rates = statement_is_about_time(s) && has_basis(s, rate);
    for (int i = 0; rates && i < TIME_BASES; i++) {
        const quantity q = time_bases[i]; // as stated: row_epoch() makes one of a throughput
        const bool both = s->of->values[q].given && s->than->values[q].given;
        rates = both == (q == rate) || (both && !has_basis(s, q));
    }
    return rates;
}

double statement_gain(const claim_statement *s) {
    double least = INFINITY;
    for (int i = 0; i < TIME_BASES; i++)
        if (has_basis(s, time_bases[i]))
            least = fmin(least, 1 / ratio_of(s, time_bases[i]).range.high);
    return isfinite(least) ? least : 0;
}

static void check_amount(findings *a, const claim_statement *s) {
    int found = 0, agreeing = 0;
    for (int i = 0; i < TIME_BASES; i++) {
        if (!has_basis(s, time_bases[i])) continue;
        time_ratio t = ratio_of(s, time_bases[i]);
        found++;
        if (agrees(s, &t) || agrees_per_device(s, time_bases[i], &t)) agreeing++;
    }
    if (!found) {
        // check_sources() already reports rows that were not measured.
        if (s->of->measured && s->than->measured) unsupported(a, s);
        return;
    }
    if (agreeing) return;
    finding_add(a, FINDING_ARITHMETIC, subject_of(TOPIC_TIME, s),
                s->efficiency ? "other_efficiency" : "other_amount", "not_from_measurements");
    finding_put(a, statement("statement", s));
    for (int i = 0; i < TIME_BASES; i++)
        if (s->efficiency)
            add_efficiency(a, s, time_bases[i]);
        else
            add_basis(a, s, time_bases[i]);
}

// ---- Several figures for one comparison --------------------------------------------------------

// Two times of a row, of which the first is made of the second, and why both rows must have the
// same ratio of them. The second of the last pair may be counted over more than the first.
static const struct time_pair {
    quantity whole, part;
    const char *so;
} time_pairs[] = {
    {QUANTITY_TOTAL_SECONDS, QUANTITY_SECONDS_PER_EPOCH, "same_epochs"},
    {QUANTITY_SECONDS_PER_EPOCH, QUANTITY_BATCH_MS, "same_steps"},
    {QUANTITY_TOTAL_SECONDS, QUANTITY_BATCH_MS, "same_steps"},
    {QUANTITY_SECONDS_PER_EPOCH, QUANTITY_IMAGES_PER_SECOND, "same_images"},
    {QUANTITY_TOTAL_SECONDS, QUANTITY_IMAGES_PER_SECOND, "same_images"},
    {QUANTITY_BATCH_MS, QUANTITY_IMAGES_PER_SECOND, "same_batch"},
};
enum { TIME_PAIRS = sizeof time_pairs / sizeof *time_pairs };

// The numbers of epochs, images per epoch and images per batch by which two times differ must be
// the same in both rows; unless stated, they count as the same.
static bool must_agree(const claim_statement *s, const struct time_pair *p) {
    const bool total = p->whole == QUANTITY_TOTAL_SECONDS, batch = p->whole == QUANTITY_BATCH_MS;
    if (total && rows_differ(s->of, s->than, QUANTITY_EPOCHS)) return false;
    if (p->part != QUANTITY_SECONDS_PER_EPOCH && !batch &&
        rows_differ(s->of, s->than, QUANTITY_SAMPLES))
        return false;
    if (p->part != QUANTITY_BATCH_MS && !batch) return true;
    return !row_batch_is_ambiguous(s->of) && !row_batch_is_ambiguous(s->than) &&
           !rows_differ_in_batch(s->of, s->than);
}

// What is left of a row's time for the part that it is made of. Besides its epochs, a total has the
// stated other seconds, or up to a tenth; an epoch has up to a tenth besides its steps. A
// throughput may be counted over any of these.
static interval left_for(const claim_row *r, const struct time_pair *p) {
    const stated *other = &r->values[QUANTITY_OTHER_SECONDS];
    const bool total = p->whole == QUANTITY_TOTAL_SECONDS, known = total && other->given;
    const bool rate = p->part == QUANTITY_IMAGES_PER_SECOND;
    const stated listed = row_listed_epoch(r), *epochs = &r->values[QUANTITY_EPOCHS];
    interval left = row_time(r, p->whole).range, whole = left;
    if (known) left = interval_subtract(left, other->range);
    left.low = fmax(0, left.low);
    // The usual epoch may be any that the row lists.
    if (listed.given && (!total || epochs->given)) {
        const double times = total ? epochs->value : 1;
        left.low = fmin(left.low, times * listed.range.low);
        left.high = fmax(left.high, times * listed.range.high);
    }
    if (!known) left.low /= TIME_SLACK;
    if (total && p->part != QUANTITY_SECONDS_PER_EPOCH &&
        (known || r->values[QUANTITY_SECONDS_PER_EPOCH].given))
        left.low /= TIME_SLACK;
    if (rate) left.high = fmax(left.high, whole.high) * TIME_SLACK;
    if (rate && !total) left.high = fmax(left.high, TIME_SLACK * row_mean_epoch(r).range.high);
    // Over more than the steps, which the other pairs compare.
    if (p->whole == QUANTITY_BATCH_MS && row_has_longer_time(r)) left.high = INFINITY;
    return left;
}

static bool bases_differ(const claim_statement *s, const struct time_pair *p) {
    const time_ratio whole = ratio_of(s, p->whole), part = ratio_of(s, p->part);
    if (!whole.given || !part.given || !must_agree(s, p)) return false;
    return !interval_meet(interval_divide(left_for(s->of, p), left_for(s->than, p)), part.range);
}

// A row's time, without the seconds besides its epochs if `net`. Returns its value.
static double net_time(const claim_row *r, quantity basis, bool net, const char *key, operand *o) {
    const stated time = row_time(r, basis), *other = &r->values[QUANTITY_OTHER_SECONDS];
    const bool less = net && basis == QUANTITY_TOTAL_SECONDS && other->given;
    *o = nested(key, NULL, given("time", &time),
                less ? given("other", other) : named("other", NULL));
    return time.value - (less ? other->value : 0);
}

// A line such as "(97.03 - 48.08) / 69.03 s in total = 0.7091".
static void add_ratio(findings *a, const claim_statement *s, quantity basis, bool net) {
    const bool speed = basis == QUANTITY_IMAGES_PER_SECOND;
    operand of, than;
    const double x = net_time(s->of, basis, net, speed ? "below" : "above", &of);
    const double y = net_time(s->than, basis, net, speed ? "above" : "below", &than);
    finding_sum(a, "times_ratio", of, than, named("unit", time_basis_unit(basis)),
                named("basis", quantity_key(basis)), rounded("ratio", x / y, 4));
}

// Reports once per pair of rows, however many statements are about the pair.
static void check_bases(findings *a, const claim_statement *s) {
    const struct time_pair *p = time_pairs;
    for (const claim_statement *t = a->claim->statements; t < s; t++)
        if (statement_is_about_time(t) && statements_share_rows(s, t)) return;
    while (p < time_pairs + TIME_PAIRS && !bases_differ(s, p)) p++;
    if (p == time_pairs + TIME_PAIRS) return;
    finding_add(a, FINDING_ARITHMETIC, subject_of(TOPIC_TIME, s), "two_ratios", p->so);
    add_ratio(a, s, p->whole, p->part != QUANTITY_IMAGES_PER_SECOND);
    add_ratio(a, s, p->part, false);
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

static bool follows(const claim_statement *s, quantity basis) {
    const time_ratio t = ratio_of(s, basis);
    return has_basis(s, basis) && agrees(s, &t);
}

// Does each follow from another time of the rows, two times that do not contradict each other?
static bool are_of_two_times(const claim_statement *s, const claim_statement *t) {
    for (int i = 0; i < TIME_PAIRS; i++) {
        const struct time_pair *p = &time_pairs[i];
        if (bases_differ(s, p)) continue;
        if (follows(s, p->whole) && follows(t, p->part)) return true;
        if (follows(s, p->part) && follows(t, p->whole)) return true;
    }
    return false;
}

static void check_others(findings *a, const claim_statement *s) {
    for (const claim_statement *t = a->claim->statements; t < s; t++) {
        if (!statement_is_about_time(t) || !statements_share_rows(s, t) || !amount_of(t)->given)
            continue;
        if (!about_one_basis(s, t) || compatible(s, t) || are_of_two_times(s, t)) continue;
        double time = meant(s, 0, amount_of(s)->value);
        finding_add(a, FINDING_ARITHMETIC, subject_of(TOPIC_TIME, s), "two_figures", "at_most_one");
        finding_sum(a, "two_statements", statement("first", t), statement("second", s));
        finding_sum(a, "as_times", rounded("first", meant(t, 0, amount_of(t)->value), 4),
                    rounded("second", s->of == t->of ? time : 1 / time, 4));
    }
}

// ---- Differences -------------------------------------------------------------------------------

// A column of differences in a table states only arithmetic.
static void check_difference(findings *a, const claim_statement *s) {
    for (int q = 0; q < QUANTITIES; q++) {
        const stated *of = &s->of->values[q], *than = &s->than->values[q], *d = &s->values[q];
        if (!d->given || !of->given || !than->given) continue;
        if (interval_meet(interval_subtract(of->range, than->range), d->range)) continue;
        finding_add(a, FINDING_ARITHMETIC, subject_of(q, s), "other_difference", "not_from_rows");
        finding_sum(a, "difference", named("quantity", quantity_key((quantity)q)), given("of", of),
                    given("than", than), shown("difference", of->value - than->value),
                    given("stated", d));
    }
}

void check_times(findings *a, const claim_statement *s) {
    if (s->kind == STATEMENT_DIFFERENCE && s->of && s->than) check_difference(a, s);
    if (!statement_is_about_time(s)) return;
    check_amount(a, s);
    check_bases(a, s);
    if (amount_of(s)->given) check_others(a, s);
}

// ---- Parts of a step ----------------------------------------------------------------------------

// The named cause is the whole difference (overhead), or one of several causes (part).
static void check_overhead(findings *a, const claim_statement *s) {
    const stated *of = &s->of->values[QUANTITY_BATCH_MS], *ms = &s->values[QUANTITY_MS];
    const stated *than = &s->than->values[QUANTITY_BATCH_MS];
    if (!of->given || !than->given) {
        finding_add(a, FINDING_UNSUPPORTED, subject_of(QUANTITY_MS, s), "no_batch_times",
                    "uncheckable_overhead");
        finding_sum(a, "stated_overhead", given("stated", ms));
        return;
    }
    const double difference = of->value - than->value;
    const interval all = interval_subtract(of->range, than->range);
    const bool left = difference > ms->value;
    if (interval_meet(all, ms->range) || (left && s->kind == STATEMENT_PART)) return;
    finding_add(a, FINDING_ARITHMETIC, subject_of(QUANTITY_MS, s), "other_overhead", "other_cause");
    finding_sum(a, "overhead", given("of", of), given("than", than),
                rounded("difference", difference, 4), given("stated", ms),
                whether("unexplained", left), rounded("rest", fabs(difference - ms->value), 4));
}

static void check_load(findings *a, const claim_statement *s) {
    const stated *load = &s->of->values[QUANTITY_LOAD_SECONDS], *ratio = &s->values[QUANTITY_RATIO];
    const stated *update = &s->of->values[QUANTITY_UPDATE_SECONDS];
    if (!load->given || !update->given) {
        finding_add(a, FINDING_UNSUPPORTED, subject_of(QUANTITY_LOAD_SECONDS, s), "no_phases",
                    "uncheckable");
        return;
    }
    if (interval_meet(interval_divide(load->range, update->range), ratio->range)) return;
    finding_add(a, FINDING_ARITHMETIC, subject_of(QUANTITY_LOAD_SECONDS, s), "other_load_ratio",
                "not_from_row");
    finding_sum(a, "load_ratio", given("load", load), given("update", update),
                rounded("ratio", load->value / update->value, 3), given("stated", ratio));
}

void check_parts(findings *a, const claim_statement *s) {
    if (s->kind == STATEMENT_LOAD_TO_UPDATE && s->of) check_load(a, s);
    if ((s->kind == STATEMENT_OVERHEAD || s->kind == STATEMENT_PART) && s->of && s->than)
        check_overhead(a, s);
}
