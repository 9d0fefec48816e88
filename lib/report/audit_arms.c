// Were the rows of a comparison alike but for what is compared?
#include <stdio.h>
#include <string.h>

#include "report/audit_checks.h"

// Conditions that decide how long a training takes and how good it becomes. The global batch and
// the learning rate stand for each other and are looked at together.
static const quantity conditions[] = {QUANTITY_LOADER_WORKERS, QUANTITY_EPOCHS, QUANTITY_SAMPLES};
enum { CONDITIONS = sizeof conditions / sizeof *conditions };
static const label labels[] = {LABEL_DATASET, LABEL_MODEL,     LABEL_OPTIMIZER,
                               LABEL_AUGMENT, LABEL_PRECISION, LABEL_DEVICE};
enum { CONDITION_LABELS = sizeof labels / sizeof *labels };

// ---- In what do two rows differ? ---------------------------------------------------------------

static bool parallel_differs(const claim_row *x, const claim_row *y) {
    return audit_labels_differ(x, y, LABEL_STRATEGY) ||
           audit_differ(&x->values[QUANTITY_DEVICES], &y->values[QUANTITY_DEVICES]);
}

static bool batch_differs(const claim_row *x, const claim_row *y) {
    stated bx = audit_global_batch(x), by = audit_global_batch(y);
    return audit_differ(&bx, &by);
}

static bool lr_differs(const claim_row *x, const claim_row *y) {
    return audit_differ(&x->values[QUANTITY_LR], &y->values[QUANTITY_LR]);
}

// How many conditions differ, other than how the work was shared out.
static int differences(const claim_row *x, const claim_row *y) {
    int n = batch_differs(x, y) || lr_differs(x, y);
    for (int i = 0; i < CONDITIONS; i++)
        n += audit_differ(&x->values[conditions[i]], &y->values[conditions[i]]);
    for (int i = 0; i < CONDITION_LABELS; i++) n += audit_labels_differ(x, y, labels[i]);
    return n;
}

// ---- What it means -----------------------------------------------------------------------------

// "80 x 1.80 s = 144 s", or only the total where it was stated.
static phrase say_total(const audit *a, const claim_row *r) {
    phrase p;
    stated total = audit_total(r);
    const stated *epochs = &r->values[QUANTITY_EPOCHS];
    const stated *seconds = &r->values[QUANTITY_SECONDS_PER_EPOCH];
    if (!r->values[QUANTITY_TOTAL_SECONDS].given && seconds->given)
        return audit_say(a, MESSAGE_AUDIT_EPOCHS_SUM, epochs->text, seconds->text,
                         audit_show(total.value).text);
    snprintf(p.text, sizeof p.text, "%s s", audit_show(total.value).text);
    return p;
}

// An epoch may be faster where all that were needed are slower.
static void say_epochs(audit *a, const claim_row *of, const claim_row *than) {
    const stated *x = &of->values[QUANTITY_SECONDS_PER_EPOCH];
    const stated *y = &than->values[QUANTITY_SECONDS_PER_EPOCH];
    stated tx = audit_total(of), ty = audit_total(than);
    if (x->given && y->given)
        audit_sum(a, MESSAGE_AUDIT_EPOCH_RATIO, y->text, x->text, y->value / x->value);
    if (tx.given && ty.given)
        audit_sum(a, MESSAGE_AUDIT_TOTAL_RATIO, say_total(a, of).text, say_total(a, than).text,
                  tx.value / ty.value);
}

static void say_updates(audit *a, const claim_row *r) {
    stated steps = audit_steps(r);
    const stated *epochs = &r->values[QUANTITY_EPOCHS];
    if (steps.given && epochs->given)
        audit_sum(a, MESSAGE_AUDIT_UPDATES, r->name, steps.text, epochs->text,
                  audit_show(steps.value * epochs->value).text);
}

// Rows that are like `of` in every condition and shared the work out otherwise: what `than` should
// have been. True when `of` is faster than `than` but not than any of these.
static bool say_like_for_like(audit *a, const claim_row *of, const claim_row *than, quantity q) {
    enum { MOST = 4 };
    int rows = 0, faster = 0;
    stated x = audit_total(of), unlike = audit_total(than);
    if (!x.given || !unlike.given) return false;
    audit_sum(a, MESSAGE_AUDIT_AGAINST, than->name, audit_show(unlike.value).text,
              audit_show(x.value).text, unlike.value / x.value);
    for (size_t i = 0; i < a->claim->row_count && rows < MOST; i++) {
        const claim_row *r = &a->claim->rows[i];
        stated y = audit_total(r);
        if (r == of || r == than || !y.given || !r->values[q].given) continue;
        if (differences(of, r) || !parallel_differs(of, r)) continue;
        audit_sum(a, MESSAGE_AUDIT_LIKE_FOR_LIKE, r->name, audit_show(y.value).text,
                  audit_show(x.value).text, y.value / x.value);
        rows++;
        if (y.value > x.value) faster++;
    }
    return unlike.value > x.value && rows && !faster;
}

// ---- Findings ----------------------------------------------------------------------------------

static void unlike_batch(audit *a, const claim_row *of, const claim_row *than) {
    const stated *lr = &of->values[QUANTITY_LR], *other_lr = &than->values[QUANTITY_LR];
    stated batch = audit_global_batch(of), other = audit_global_batch(than);
    bool batches = audit_differ(&batch, &other), rates = audit_differ(lr, other_lr);
    if (!batches) {
        audit_add(a, FINDING_ARMS, MESSAGE_AUDIT_RATES, of->name, than->name);
        audit_sum(a, MESSAGE_AUDIT_RATES_SUM, lr->text, other_lr->text);
        audit_so(a, MESSAGE_AUDIT_RATES_SO);
        return;
    }
    bool unscaled = lr->given && other_lr->given && !rates;
    double factor = batch.value / other.value;
    audit_add(a, FINDING_ARMS, unscaled ? MESSAGE_AUDIT_SIZES_ONE_RATE : MESSAGE_AUDIT_SIZES,
              of->name, than->name);
    audit_sum(a, MESSAGE_AUDIT_SIZES_SUM, batch.text, other.text, batch.text, other.text, factor);
    if (unscaled)
        audit_sum(a, MESSAGE_AUDIT_UNSCALED, lr->text, lr->text, factor, lr->value * factor,
                  of->name);
    say_updates(a, of);
    say_updates(a, than);
    audit_so(a, unscaled ? MESSAGE_AUDIT_SIZES_ONE_RATE_SO : MESSAGE_AUDIT_SIZES_SO);
}

static void unlike_loader_workers(audit *a, const claim_row *of, const claim_row *than) {
    quantity q = QUANTITY_LOADER_WORKERS;
    audit_add(a, FINDING_ARMS, MESSAGE_AUDIT_LOADER_WORKERS, of->name, than->name);
    audit_sum(a, MESSAGE_AUDIT_LOADER_WORKERS_SUM, of->values[q].text, than->values[q].text);
    bool loader = say_like_for_like(a, of, than, q);
    audit_so(a, loader ? MESSAGE_AUDIT_LOADER_SO : MESSAGE_AUDIT_LOADER_WORKERS_SO);
}

static void unlike_condition(audit *a, const claim_row *of, const claim_row *than, quantity q) {
    if (q == QUANTITY_LOADER_WORKERS) {
        unlike_loader_workers(a, of, than);
        return;
    }
    audit_add(a, FINDING_ARMS, MESSAGE_AUDIT_DIFFER, of->name, than->name, quantity_key(q));
    audit_sum(a, MESSAGE_AUDIT_DIFFER_SUM, quantity_key(q), of->values[q].text,
              than->values[q].text);
    if (q == QUANTITY_EPOCHS) say_epochs(a, of, than);
    audit_so(a, q == QUANTITY_EPOCHS ? MESSAGE_AUDIT_EPOCHS_SO : MESSAGE_AUDIT_DIFFER_SO);
}

// Under DDP a batch may be a rank's or that of all.
static void open_batch(audit *a, const claim_row *r) {
    const stated *batch = &r->values[QUANTITY_BATCH], *devices = &r->values[QUANTITY_DEVICES];
    if (!audit_batch_is_open(r)) return;
    audit_add(a, FINDING_CONDITION, MESSAGE_AUDIT_OPEN_BATCH, r->name, batch->text, devices->text);
    audit_sum(a, MESSAGE_AUDIT_OPEN_BATCH_SUM, batch->text, batch->text, devices->text,
              audit_show(batch->value * devices->value).text);
    audit_so(a, MESSAGE_AUDIT_OPEN_BATCH_SO);
}

// A condition that only one of two rows gives: nobody can say whether they were alike.
static void one_sided(audit *a, const claim_row *of, const claim_row *than, quantity q) {
    const stated *x = &of->values[q], *y = &than->values[q];
    stated global_x = audit_global_batch(of), global_y = audit_global_batch(than);
    if (q == QUANTITY_GLOBAL_BATCH) {
        x = &global_x;
        y = &global_y;
    }
    if (x->given == y->given) return;
    audit_add(a, FINDING_CONDITION, MESSAGE_AUDIT_ONE_SIDED, of->name, than->name, quantity_key(q));
    audit_sum(a, MESSAGE_AUDIT_ONE_SIDED_SUM, x->given ? of->name : than->name,
              x->given ? x->text : y->text, x->given ? than->name : of->name);
    audit_so(a, MESSAGE_AUDIT_ONE_SIDED_SO);
}

static bool open_before(const audit *a, const claim_statement *s, const claim_row *r) {
    for (const claim_statement *t = a->claim->statements; t < s; t++)
        if (audit_compares(t) && (t->of == r || t->than == r)) return true;
    return false;
}

static bool compared_before(const audit *a, const claim_statement *s) {
    for (const claim_statement *t = a->claim->statements; t < s; t++)
        if (audit_compares(t) && audit_same_rows(s, t)) return true;
    return false;
}

// One difference is what a comparison is about: how the work was shared out, or, where that is
// equal, one condition.
void audit_arms(audit *a, const claim_statement *s) {
    if (!audit_compares(s) || compared_before(a, s)) return;
    const claim_row *of = s->of, *than = s->than;
    if (!open_before(a, s, of)) open_batch(a, of);
    if (!open_before(a, s, than)) open_batch(a, than);
    for (int i = 0; i < CONDITIONS; i++) one_sided(a, of, than, conditions[i]);
    one_sided(a, of, than, QUANTITY_GLOBAL_BATCH);
    one_sided(a, of, than, QUANTITY_LR);
    if (!parallel_differs(of, than) && differences(of, than) < 2) return;
    if (batch_differs(of, than) || lr_differs(of, than)) unlike_batch(a, of, than);
    for (int i = 0; i < CONDITIONS; i++)
        if (audit_differ(&of->values[conditions[i]], &than->values[conditions[i]]))
            unlike_condition(a, of, than, conditions[i]);
    for (int i = 0; i < CONDITION_LABELS; i++) {
        if (!audit_labels_differ(of, than, labels[i])) continue;
        audit_add(a, FINDING_ARMS, MESSAGE_AUDIT_DIFFER, of->name, than->name,
                  label_key(labels[i]));
        audit_sum(a, MESSAGE_AUDIT_LABELS_SUM, label_key(labels[i]), of->labels[labels[i]],
                  than->labels[labels[i]]);
        audit_so(a, MESSAGE_AUDIT_DIFFER_SO);
    }
}
