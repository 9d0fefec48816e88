// Were the rows of a comparison alike but for what is compared?
#include <stdio.h>
#include <string.h>

#include "audit/checks.h"

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
        return audit_say(a, "%s x %s s = %s s", epochs->text, seconds->text,
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
        audit_sum(a, "an epoch: %s / %s s = %.3g times as fast", y->text, x->text,
                  y->value / x->value);
    if (tx.given && ty.given)
        audit_sum(a, "in total: %s; %s: %.3g times the time", say_total(a, of).text,
                  say_total(a, than).text, tx.value / ty.value);
}

static void say_updates(audit *a, const claim_row *r) {
    stated steps = audit_steps(r);
    const stated *epochs = &r->values[QUANTITY_EPOCHS];
    if (steps.given && epochs->given)
        audit_sum(a, "'%s': %s steps/epoch x %s epochs = %s updates", r->name, steps.text,
                  epochs->text, audit_show(steps.value * epochs->value).text);
}

// Rows that are like `of` in every condition and shared the work out otherwise: what `than` should
// have been. True when `of` is faster than `than` but not than any of these.
static bool say_like_for_like(audit *a, const claim_row *of, const claim_row *than, quantity q) {
    enum { MOST = 4 };
    int rows = 0, faster = 0;
    stated x = audit_total(of), unlike = audit_total(than);
    if (!x.given || !unlike.given) return false;
    audit_sum(a, "against '%s': %s / %s s = %.2f times as fast", than->name,
              audit_show(unlike.value).text, audit_show(x.value).text, unlike.value / x.value);
    for (size_t i = 0; i < a->claim->row_count && rows < MOST; i++) {
        const claim_row *r = &a->claim->rows[i];
        stated y = audit_total(r);
        if (r == of || r == than || !y.given || !r->values[q].given) continue;
        if (differences(of, r) || !parallel_differs(of, r)) continue;
        audit_sum(a, "like for like, against '%s': %s / %s s = %.2f times as fast", r->name,
                  audit_show(y.value).text, audit_show(x.value).text, y.value / x.value);
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
        audit_add(a, FINDING_ARMS, "'%s' and '%s' differ in the learning rate", of->name,
                  than->name);
        audit_sum(a, "lr %s and %s", lr->text, other_lr->text);
        audit_so(a, "their accuracies differ by the learning rate too");
        return;
    }
    bool unscaled = lr->given && other_lr->given && !rates;
    double factor = batch.value / other.value;
    audit_add(a, FINDING_ARMS,
              unscaled ? "'%s' and '%s' differ in the global batch, with one learning rate"
                       : "'%s' and '%s' differ in the global batch",
              of->name, than->name);
    audit_sum(a, "global batch %s and %s: %s / %s = %.4g", batch.text, other.text, batch.text,
              other.text, factor);
    if (unscaled)
        audit_sum(a, "lr %s for both; scaled linearly it would be %s x %.4g = %.4g for '%s'",
                  lr->text, lr->text, factor, lr->value * factor, of->name);
    say_updates(a, of);
    say_updates(a, than);
    audit_so(a, unscaled ? "the accuracies compare learning rates a sample, not ways to share out "
                           "the work, and the times compare steps of unequal size"
                         : "the times compare steps of unequal size");
}

static void unlike_loader_workers(audit *a, const claim_row *of, const claim_row *than) {
    quantity q = QUANTITY_LOADER_WORKERS;
    audit_add(a, FINDING_ARMS, "'%s' and '%s' differ in loader workers", of->name, than->name);
    audit_sum(a, "loader workers %s and %s", of->values[q].text, than->values[q].text);
    bool loader = say_like_for_like(a, of, than, q);
    audit_so(a, loader ? "loader workers made the speed-up: like for like there is none"
                       : "the difference in time may be that of the loader alone");
}

static void unlike_condition(audit *a, const claim_row *of, const claim_row *than, quantity q) {
    if (q == QUANTITY_LOADER_WORKERS) {
        unlike_loader_workers(a, of, than);
        return;
    }
    audit_add(a, FINDING_ARMS, "'%s' and '%s' differ in %s", of->name, than->name, quantity_key(q));
    audit_sum(a, "%s %s and %s", quantity_key(q), of->values[q].text, than->values[q].text);
    if (q == QUANTITY_EPOCHS) say_epochs(a, of, than);
    audit_so(a, q == QUANTITY_EPOCHS ? "a speed-up of an epoch is not one of the training"
                                     : "the arms did not do the same work");
}

// Under DDP a batch may be a rank's or that of all.
static void open_batch(audit *a, const claim_row *r) {
    const stated *batch = &r->values[QUANTITY_BATCH], *devices = &r->values[QUANTITY_DEVICES];
    if (!audit_batch_is_open(r)) return;
    audit_add(a, FINDING_CONDITION, "'%s': batch %s of each of %s ranks, or of all together?",
              r->name, batch->text, devices->text);
    audit_sum(a, "%s a step, or %s x %s = %s", batch->text, batch->text, devices->text,
              audit_show(batch->value * devices->value).text);
    audit_so(a, "it cannot be said whether the arms took steps of the same size");
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
    audit_add(a, FINDING_CONDITION, "'%s' and '%s': %s is given for one of them only", of->name,
              than->name, quantity_key(q));
    audit_sum(a, "'%s': %s; '%s': not given", x->given ? of->name : than->name,
              x->given ? x->text : y->text, x->given ? than->name : of->name);
    audit_so(a, "it cannot be said whether the arms were alike");
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
        audit_add(a, FINDING_ARMS, "'%s' and '%s' differ in %s", of->name, than->name,
                  label_key(labels[i]));
        audit_sum(a, "%s '%s' and '%s'", label_key(labels[i]), of->labels[labels[i]],
                  than->labels[labels[i]]);
        audit_so(a, "the arms did not do the same work");
    }
}
