// SPDX-License-Identifier: MIT
// Do the rows of a comparison differ only in what is compared?
#include <stdio.h>

#include "audit/checks.h"
#include "audit/row.h"

// Conditions that determine how long training takes and how accurate the model becomes. The global
// batch and the learning rate are related, so differences() counts them as one.
static const quantity conditions[] = {QUANTITY_LOADER_WORKERS, QUANTITY_EPOCHS, QUANTITY_SAMPLES};
enum { CONDITIONS = sizeof conditions / sizeof *conditions };

// ---- Differences between two rows --------------------------------------------------------------

static bool parallel_differs(const claim_row *x, const claim_row *y) {
    return rows_differ_in_label(x, y, LABEL_STRATEGY) || rows_differ(x, y, QUANTITY_DEVICES);
}

// The number of conditions that differ, other than how the work was divided.
static int differences(const claim_row *x, const claim_row *y) {
    int n = rows_differ_in_batch(x, y) || rows_differ(x, y, QUANTITY_LR);
    for (int i = 0; i < CONDITIONS; i++) n += rows_differ(x, y, conditions[i]);
    for (int l = LABEL_STRATEGY + 1; l < LABELS; l++) n += rows_differ_in_label(x, y, (label)l);
    return n;
}

// ---- Consequences ------------------------------------------------------------------------------

// "80 x 1.80 s = 144 s", "80 x 1.80 s + 6 s = 150 s", or only the total if the claim states one.
static phrase say_total(const findings *a, const claim_row *r) {
    phrase p;
    stated total = row_total(r), epoch = row_epoch(r);
    const stated *epochs = &r->values[QUANTITY_EPOCHS], *other = &r->values[QUANTITY_OTHER_SECONDS];
    const shown sum = finding_show(total.value);
    if (r->values[QUANTITY_TOTAL_SECONDS].given || !epoch.given) {
        snprintf(p.text, sizeof p.text, "%s s", sum.text);
        return p;
    }
    if (other->given)
        return finding_say(a, "%s x %s s + %s s = %s s", epochs->text, epoch.text, other->text,
                           sum.text);
    return finding_say(a, "%s x %s s = %s s", epochs->text, epoch.text, sum.text);
}

// An epoch may be faster although the whole training is slower.
static void say_epochs(findings *a, const claim_row *of, const claim_row *than) {
    const stated *x = &of->values[QUANTITY_SECONDS_PER_EPOCH];
    const stated *y = &than->values[QUANTITY_SECONDS_PER_EPOCH];
    stated tx = row_total(of), ty = row_total(than);
    if (x->given && y->given)
        finding_arithmetic(a, "per epoch: %s / %s s = %.3g times as fast", y->text, x->text,
                           y->value / x->value);
    if (tx.given && ty.given)
        finding_arithmetic(a, "in total: %s; %s: %.3g times the time", say_total(a, of).text,
                           say_total(a, than).text, tx.value / ty.value);
}

static void say_updates(findings *a, const claim_row *r) {
    stated steps = row_steps(r);
    const stated *epochs = &r->values[QUANTITY_EPOCHS];
    if (steps.given && epochs->given)
        finding_arithmetic(a, "'%s': %s steps/epoch x %s epochs = %s updates", r->name, steps.text,
                           epochs->text, finding_show(steps.value * epochs->value).text);
}

// Compares `of` with the rows that are like it in every condition and divide the work differently,
// as `than` should. True if `of` is faster than `than` but not faster than any of these rows.
static bool say_like_for_like(findings *a, const claim_row *of, const claim_row *than, quantity q) {
    enum { MOST = 4 };
    int rows = 0, faster = 0;
    stated x = row_total(of), unlike = row_total(than);
    if (!x.given || !unlike.given) return false;
    finding_arithmetic(a, "compared with '%s': %s / %s s = %.2f times as fast", than->name,
                       finding_show(unlike.value).text, finding_show(x.value).text,
                       unlike.value / x.value);
    for (size_t i = 0; i < a->claim->row_count && rows < MOST; i++) {
        const claim_row *r = &a->claim->rows[i];
        stated y = row_total(r);
        if (r == of || r == than || !y.given || !r->values[q].given) continue;
        if (differences(of, r) || !parallel_differs(of, r)) continue;
        finding_arithmetic(a, "like for like, compared with '%s': %s / %s s = %.2f times as fast",
                           r->name, finding_show(y.value).text, finding_show(x.value).text,
                           y.value / x.value);
        rows++;
        if (y.value > x.value) faster++;
    }
    return unlike.value > x.value && rows && !faster;
}

// ---- Findings ----------------------------------------------------------------------------------

static void unlike_batch(findings *a, const claim_statement *s) {
    const claim_row *of = s->of, *than = s->than;
    const stated *lr = &of->values[QUANTITY_LR], *other_lr = &than->values[QUANTITY_LR];
    stated batch = row_global_batch(of), other = row_global_batch(than);
    bool batches = rows_differ_in_batch(of, than), rates = rows_differ(of, than, QUANTITY_LR);
    if (!batches) {
        finding_add(a, FINDING_CONDITIONS, subject_of(QUANTITY_LR, s),
                    "'%s' and '%s' differ in the learning rate", of->name, than->name);
        finding_arithmetic(a, "lr %s and %s", lr->text, other_lr->text);
        finding_consequence(a, "their accuracies also reflect the learning rate");
        return;
    }
    bool unscaled = lr->given && other_lr->given && !rates;
    double factor = batch.value / other.value;
    finding_add(a, FINDING_CONDITIONS, subject_of(QUANTITY_GLOBAL_BATCH, s),
                unscaled ? "'%s' and '%s' differ in the global batch, with the same learning rate"
                         : "'%s' and '%s' differ in the global batch",
                of->name, than->name);
    finding_arithmetic(a, "global batch %s and %s: %s / %s = %.4g", batch.text, other.text,
                       batch.text, other.text, factor);
    if (unscaled)
        finding_arithmetic(a,
                           "lr %s for both; scaled linearly it would be %s x %.4g = %.4g for '%s'",
                           lr->text, lr->text, factor, lr->value * factor, of->name);
    say_updates(a, of);
    say_updates(a, than);
    finding_consequence(
        a, unscaled ? "the accuracies compare learning rates per sample, not ways to divide the "
                      "work, and the times compare steps of unequal size"
                    : "the times compare steps of unequal size");
}

static void unlike_loader_workers(findings *a, const claim_statement *s) {
    const claim_row *of = s->of, *than = s->than;
    quantity q = QUANTITY_LOADER_WORKERS;
    finding_add(a, FINDING_CONDITIONS, subject_of((int)q, s),
                "'%s' and '%s' differ in loader workers", of->name, than->name);
    finding_arithmetic(a, "loader workers %s and %s", of->values[q].text, than->values[q].text);
    bool loader = say_like_for_like(a, of, than, q);
    finding_consequence(
        a, loader ? "the speed-up comes from loader workers: like for like, there is none"
                  : "the difference in time may come from the loader alone");
}

static void unlike_condition(findings *a, const claim_statement *s, quantity q) {
    const claim_row *of = s->of, *than = s->than;
    if (q == QUANTITY_LOADER_WORKERS) {
        unlike_loader_workers(a, s);
        return;
    }
    finding_add(a, FINDING_CONDITIONS, subject_of((int)q, s), "'%s' and '%s' differ in %s",
                of->name, than->name, quantity_key(q));
    finding_arithmetic(a, "%s %s and %s", quantity_key(q), of->values[q].text,
                       than->values[q].text);
    if (q == QUANTITY_EPOCHS) say_epochs(a, of, than);
    finding_consequence(a, q == QUANTITY_EPOCHS
                               ? "a speed-up per epoch is not a speed-up of the whole training"
                               : "the arms did not do the same work");
}

// Under DDP a batch may be that of one rank or that of all ranks.
static void ambiguous_batch(findings *a, const claim_statement *s, const claim_row *r) {
    const stated *batch = &r->values[QUANTITY_BATCH], *devices = &r->values[QUANTITY_DEVICES];
    if (!row_batch_is_ambiguous(r)) return;
    finding_add(a, FINDING_UNSUPPORTED, (subject){QUANTITY_GLOBAL_BATCH, s, r, NULL},
                "'%s': is batch %s per rank (%s ranks) or global?", r->name, batch->text,
                devices->text);
    finding_arithmetic(a, "%s per step, or %s x %s = %s", batch->text, batch->text, devices->text,
                       finding_show(batch->value * devices->value).text);
    finding_consequence(a, "it is unknown whether the arms took steps of the same size");
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
    finding_add(a, FINDING_UNSUPPORTED, subject_of((int)q, s),
                "'%s' and '%s': %s is given for only one of them", of->name, than->name,
                quantity_key(q));
    finding_arithmetic(a, "'%s': %s; '%s': not given", x->given ? of->name : than->name,
                       x->given ? x->text : y->text, x->given ? than->name : of->name);
    finding_consequence(a, "it is unknown whether the arms were alike");
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
    for (label l = LABEL_STRATEGY + 1; l < LABELS; l++) {
        if (!rows_differ_in_label(of, than, l) || !is_due(a, s, LABEL_TOPIC(l))) continue;
        finding_add(a, FINDING_CONDITIONS, subject_of(LABEL_TOPIC(l), s),
                    "'%s' and '%s' differ in %s", of->name, than->name, label_key(l));
        finding_arithmetic(a, "%s '%s' and '%s'", label_key(l), of->labels[l], than->labels[l]);
        finding_consequence(a, "the arms did not do the same work");
    }
}

// A comparison may differ in one thing: how the work was divided, or one condition if the division
// is the same.
void check_conditions(findings *a, const claim_statement *s) {
    if (!statement_compares(s) || s->kind == STATEMENT_DIFFERENCE) return;
    const claim_row *of = s->of, *than = s->than;
    const bool batch = is_due(a, s, QUANTITY_GLOBAL_BATCH);
    if (!compared_before(a, s, of)) ambiguous_batch(a, s, of);
    if (!compared_before(a, s, than)) ambiguous_batch(a, s, than);
    for (int i = 0; i < CONDITIONS; i++)
        if (is_due(a, s, (int)conditions[i])) one_sided(a, s, conditions[i]);
    if (batch) one_sided(a, s, QUANTITY_GLOBAL_BATCH);
    if (batch) one_sided(a, s, QUANTITY_LR);
    if (!parallel_differs(of, than) && differences(of, than) < 2) return;
    if (batch && (rows_differ_in_batch(of, than) || rows_differ(of, than, QUANTITY_LR)))
        unlike_batch(a, s);
    for (int i = 0; i < CONDITIONS; i++)
        if (rows_differ(of, than, conditions[i]) && is_due(a, s, (int)conditions[i]))
            unlike_condition(a, s, conditions[i]);
    check_labels(a, s);
}
