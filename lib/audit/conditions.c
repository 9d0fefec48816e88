// SPDX-License-Identifier: MIT
// Do the rows of a comparison differ only in what is compared?
#include <math.h>

#include "audit/checks.h"
#include "audit/row.h"

// Conditions that determine how long training takes and how accurate the model becomes. The global
// batch and the learning rate are related, so differences() counts them as one.
static const quantity conditions[] = {QUANTITY_LOADER_WORKERS, QUANTITY_EPOCHS, QUANTITY_SAMPLES};
// The first of them also determines how fast images are trained; the others, how many there are.
enum { CONDITIONS = sizeof conditions / sizeof *conditions, CONDITIONS_OF_RATES = 1 };

// ---- Differences between two rows --------------------------------------------------------------

static bool parallel_differs(const claim_row *x, const claim_row *y) {
    return rows_differ_in_label(x, y, LABEL_STRATEGY) || rows_differ(x, y, QUANTITY_DEVICES);
}

// Can both have had the same batch, of a step or of a device?
static bool may_have_one_load(const claim_row *x, const claim_row *y) {
    const stated *m = &x->values[QUANTITY_DEVICES], *n = &y->values[QUANTITY_DEVICES];
    const stated a = row_global_batch(x), b = row_global_batch(y);
    return !rows_differ_in_batch(x, y) || !m->given || !n->given ||
           interval_meet(interval_divide(a.range, m->range), interval_divide(b.range, n->range));
}

// The number of conditions that differ, other than how the work was divided. `rates`: that matter
// to throughputs.
static int differences(const claim_row *x, const claim_row *y, bool rates) {
    int n = rates ? !may_have_one_load(x, y)
                  : rows_differ_in_batch(x, y) || rows_differ(x, y, QUANTITY_LR);
    for (int i = 0; i < (rates ? CONDITIONS_OF_RATES : CONDITIONS); i++)
        n += rows_differ(x, y, conditions[i]);
    for (int l = LABEL_STRATEGY + 1; l < LABELS; l++)
        n += rows_differ_in_label(x, y, (claim_label)l);
    return n;
}

// ---- Arithmetic --------------------------------------------------------------------------------

// The total, and what it is computed from unless the claim states it.
static operand total_of(const char *key, const claim_row *r) {
    const stated total = row_total(r), epoch = row_epoch(r);
    const stated *epochs = &r->values[QUANTITY_EPOCHS], *other = &r->values[QUANTITY_OTHER_SECONDS];
    const bool sum = !r->values[QUANTITY_TOTAL_SECONDS].given && epoch.given;
    return nested(key, NULL, whether("sum", sum), shown("total", total.value),
                  given("epochs", epochs), given("epoch", &epoch), given("other", other));
}

// An epoch may be faster although the whole training is slower.
static void add_epochs(findings *a, const claim_row *of, const claim_row *than) {
    const stated *x = &of->values[QUANTITY_SECONDS_PER_EPOCH];
    const stated *y = &than->values[QUANTITY_SECONDS_PER_EPOCH];
    const stated tx = row_total(of), ty = row_total(than);
    if (x->given && y->given)
        finding_sum(a, "epoch_ratio", given("of", x), given("than", y),
                    rounded("ratio", y->value / x->value, 3));
    if (tx.given && ty.given)
        finding_sum(a, "total_ratio", total_of("of", of), total_of("than", than),
                    rounded("ratio", tx.value / ty.value, 3));
}

static void add_updates(findings *a, const claim_row *r) {
    const stated steps = row_steps(r), *epochs = &r->values[QUANTITY_EPOCHS];
    if (steps.given && epochs->given)
        finding_sum(a, "updates", named("row", r->name), given("steps", &steps),
                    given("epochs", epochs), shown("updates", steps.value * epochs->value));
}

// The total times of two rows.
static void add_totals(findings *a, const claim_row *of, const claim_row *than, bool alike) {
    const double x = row_total(of).value, y = row_total(than).value;
    finding_sum(a, "total_times", whether("alike", alike), named("row", than->name),
                shown("than", y), shown("of", x), fixed("ratio", y / x, 2));
}

// The rows that are like `of` in every condition and divide the work differently, as `than` should.
enum { ALIKE_MOST = 4 };
static size_t find_alike(const claim *c, const claim_row *of, const claim_row *than, quantity q,
                         const claim_row *alike[ALIKE_MOST]) {
    size_t count = 0;
    for (const claim_row *r = c->rows; r < c->rows + c->row_count && count < ALIKE_MOST; r++) {
        if (r == of || r == than || !row_total(r).given || !r->values[q].given) continue;
        if (!differences(of, r, false) && parallel_differs(of, r)) alike[count++] = r;
    }
    return count;
}

// ---- Findings ----------------------------------------------------------------------------------

static void add_unlike(findings *a, const claim_statement *s, quantity q, const char *so) {
    finding_add(a, FINDING_CONDITIONS, subject_of((int)q, s), "unlike", so);
    finding_put(a, named("quantity", quantity_key(q)));
    finding_sum(a, "both", named("quantity", quantity_key(q)), given("of", &s->of->values[q]),
                given("than", &s->than->values[q]));
}

static void unlike_batch(findings *a, const claim_statement *s) {
    const claim_row *of = s->of, *than = s->than;
    const stated *lr = &of->values[QUANTITY_LR], *other_lr = &than->values[QUANTITY_LR];
    stated batch = row_global_batch(of), other = row_global_batch(than);
    bool batches = rows_differ_in_batch(of, than), rates = rows_differ(of, than, QUANTITY_LR);
    if (!batches) {
        add_unlike(a, s, QUANTITY_LR, "also_of_rate");
        return;
    }
    bool unscaled = lr->given && other_lr->given && !rates;
    double factor = batch.value / other.value;
    finding_add(a, FINDING_CONDITIONS, subject_of(QUANTITY_GLOBAL_BATCH, s),
                unscaled ? "unlike_batch_same_rate" : "unlike_batch",
                unscaled ? "rates_compared" : "unequal_steps");
    finding_sum(a, "global_batches", given("of", &batch), given("than", &other),
                rounded("factor", factor, 4));
    if (unscaled)
        finding_sum(a, "same_rate", given("rate", lr), rounded("factor", factor, 4),
                    rounded("scaled", lr->value * factor, 4), named("row", of->name));
    add_updates(a, of);
    add_updates(a, than);
}

// A speed-up that none of the rows alike confirms comes from the loader.
static void unlike_loader_workers(findings *a, const claim_statement *s) {
    const quantity q = QUANTITY_LOADER_WORKERS;
    const claim_row *of = s->of, *than = s->than, *alike[ALIKE_MOST];
    const stated x = row_total(of), y = row_total(than);
    const bool timed = x.given && y.given;
    const size_t count = timed ? find_alike(a->claim, of, than, q, alike) : 0;
    bool confirmed = !count || y.value <= x.value;
    for (size_t i = 0; i < count; i++) confirmed |= row_total(alike[i]).value > x.value;
    add_unlike(a, s, q, confirmed ? "maybe_of_loader" : "of_loader");
    if (timed) add_totals(a, of, than, false);
    for (size_t i = 0; i < count; i++) add_totals(a, of, alike[i], true);
}

static void unlike_condition(findings *a, const claim_statement *s, quantity q) {
    const bool epochs = q == QUANTITY_EPOCHS;
    if (q == QUANTITY_LOADER_WORKERS) {
        unlike_loader_workers(a, s);
        return;
    }
    add_unlike(a, s, q, epochs ? "only_per_epoch" : "unequal_work");
    if (epochs) add_epochs(a, s->of, s->than);
}

// Under DDP a batch may be that of one rank or that of all ranks.
static void ambiguous_batch(findings *a, const claim_statement *s, const claim_row *r) {
    const stated *batch = &r->values[QUANTITY_BATCH], *devices = &r->values[QUANTITY_DEVICES];
    if (!row_batch_is_ambiguous(r)) return;
    finding_add(a, FINDING_UNSUPPORTED, (subject){QUANTITY_GLOBAL_BATCH, s, r, NULL}, "open_batch",
                "unknown_steps");
    finding_put(a, given("batch", batch), given("ranks", devices));
    finding_sum(a, "two_batches", given("batch", batch), given("ranks", devices),
                shown("product", batch->value * devices->value));
}

// A condition given for only one of the two rows: whether they are alike cannot be checked.
static void one_sided(findings *a, const claim_statement *s, quantity q) {
    const claim_row *of = s->of, *than = s->than;
    const stated *x = &of->values[q], *y = &than->values[q];
    stated global_x = row_global_batch(of), global_y = row_global_batch(than);
    if (q == QUANTITY_GLOBAL_BATCH) {
        x = &global_x;
        y = &global_y;
    }
    if (x->given == y->given) return;
    finding_add(a, FINDING_UNSUPPORTED, subject_of((int)q, s), "one_sided", "unknown_conditions");
    finding_put(a, named("quantity", quantity_key(q)));
    finding_sum(a, "one_given", named("row", x->given ? of->name : than->name),
                given("given", x->given ? x : y), named("other", x->given ? than->name : of->name));
}

static bool compared_before(const findings *a, const claim_statement *s, const claim_row *r) {
    for (const claim_statement *t = a->claim->statements; t < s; t++)
        if (statement_compares(t) && (t->of == r || t->than == r)) return true;
    return false;
}

// Does the condition matter to the statement? The loader workers and the device do not affect an
// accuracy.
static bool matters(const claim_statement *s, int topic) {
    bool accuracy = s->kind == STATEMENT_SAME_ACCURACY || s->kind == STATEMENT_ACCURACY_DIFFERENCE;
    return statement_compares(s) &&
           !(accuracy && (topic == QUANTITY_LOADER_WORKERS || topic == LABEL_TOPIC(LABEL_DEVICE)));
}

// Reports a condition once per pair of rows, however many statements are about the pair.
static bool is_due(const findings *a, const claim_statement *s, int topic) {
    for (const claim_statement *t = a->claim->statements; t < s; t++)
        if (matters(t, topic) && statements_share_rows(s, t)) return false;
    return matters(s, topic);
}

static void check_labels(findings *a, const claim_statement *s) {
    const claim_row *of = s->of, *than = s->than;
    for (claim_label l = LABEL_STRATEGY + 1; l < LABELS; l++) {
        if (!rows_differ_in_label(of, than, l) || !is_due(a, s, LABEL_TOPIC(l))) continue;
        finding_add(a, FINDING_CONDITIONS, subject_of(LABEL_TOPIC(l), s), "unlike", "unequal_work");
        finding_put(a, named("quantity", label_key(l)));
        finding_sum(a, "both_labels", named("quantity", label_key(l)), named("of", of->labels[l]),
                    named("than", than->labels[l]));
    }
}

// Reported once per pair of rows that are alike: caches may explain it, so it is no contradiction.
static void check_gain(findings *a, const claim_statement *s) {
    claim_statement forward = *s;
    const stated *of = &s->of->values[QUANTITY_DEVICES], *than = &s->than->values[QUANTITY_DEVICES];
    if (!statement_is_about_time(s) || !of->given || !than->given) return;
    if (of->value < than->value) {
        forward.of = s->than;
        forward.than = s->of;
    }
    const double times = fmax(of->value, than->value) / fmin(of->value, than->value);
    const double gain = statement_gain(&forward);
    for (const claim_statement *t = a->claim->statements; t < s; t++)
        if (statement_is_about_time(t) && statements_share_rows(s, t)) return;
    if (times <= 1 || gain <= times * 1.000001) return;
    finding_add(a, FINDING_REMARK, subject_of(TOPIC_TIME, &forward), "superlinear",
                "not_by_dividing");
    finding_sum(a, "gain", rounded("gain", gain, 3), named("than", forward.than->name),
                rounded("devices", times, 4));
}

// Of throughputs, neither the number of images nor the learning rate is a condition, and the batch
// is alike if each device had the same.
static void check_rates(findings *a, const claim_statement *s) {
    const claim_row *of = s->of, *than = s->than;
    const bool batch = is_due(a, s, QUANTITY_GLOBAL_BATCH);
    for (int i = 0; i < CONDITIONS_OF_RATES; i++)
        if (is_due(a, s, (int)conditions[i])) one_sided(a, s, conditions[i]);
    if (batch) one_sided(a, s, QUANTITY_GLOBAL_BATCH);
    if (!parallel_differs(of, than) && differences(of, than, true) < 2) return;
    if (batch && !may_have_one_load(of, than)) unlike_batch(a, s);
    for (int i = 0; i < CONDITIONS_OF_RATES; i++)
        if (rows_differ(of, than, conditions[i]) && is_due(a, s, (int)conditions[i]))
            unlike_condition(a, s, conditions[i]);
    check_labels(a, s);
}

// A comparison may differ in one thing: how the work was divided, or one condition if the division
// is the same.
static void check_times_and_models(findings *a, const claim_statement *s) {
    const claim_row *of = s->of, *than = s->than;
    const bool batch = is_due(a, s, QUANTITY_GLOBAL_BATCH);
    if (!compared_before(a, s, of)) ambiguous_batch(a, s, of);
    if (!compared_before(a, s, than)) ambiguous_batch(a, s, than);
    for (int i = 0; i < CONDITIONS; i++)
        if (is_due(a, s, (int)conditions[i])) one_sided(a, s, conditions[i]);
    if (batch) one_sided(a, s, QUANTITY_GLOBAL_BATCH);
    if (batch) one_sided(a, s, QUANTITY_LR);
    if (!parallel_differs(of, than) && differences(of, than, false) < 2) return;
    if (batch && (rows_differ_in_batch(of, than) || rows_differ(of, than, QUANTITY_LR)))
        unlike_batch(a, s);
    for (int i = 0; i < CONDITIONS; i++)
        if (rows_differ(of, than, conditions[i]) && is_due(a, s, (int)conditions[i]))
            unlike_condition(a, s, conditions[i]);
    check_labels(a, s);
}

void check_conditions(findings *a, const claim_statement *s) {
    if (!statement_compares(s) || s->kind == STATEMENT_DIFFERENCE) return;
    const bool rates = statement_compares_rates(s);
    if (rates)
        check_rates(a, s);
    else
        check_times_and_models(a, s);
    if (!differences(s->of, s->than, rates)) check_gain(a, s);
}
