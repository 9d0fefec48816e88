// SPDX-License-Identifier: MIT
// Consistency of a row: do its times add up, and where do its figures come from?
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/row.h"

// A total may exceed its steps or epochs by this share, for start-up and evaluation. If the claim
// states the excess (other_seconds), the total must match it.
static const double OVERHEAD = 0.1;

// ---- Sources of figures ------------------------------------------------------------------------

static bool has_figures(const claim_row *r) {
    for (int q = QUANTITY_TOTAL_SECONDS; q < QUANTITY_BY_PERCENT; q++)
        if (r->values[q].given) return true;
    return false;
}

static bool is_expected(const claim_row *r) {
    return !r->measured;
}

static bool is_quoted(const claim_row *r) {
    return r->measured && r->source == SOURCE_NONE && has_figures(r);
}

// Adds one finding for all rows for which `is` holds, naming only the first few. Returns false if
// there are none.
static bool list_rows(findings *a, int topic, bool (*is)(const claim_row *), const char *what) {
    enum { NAMED = 6 };
    const claim *c = a->claim;
    const claim_row *first = NULL;
    size_t found = 0;
    text names;
    text_init(&names, a->err);
    for (size_t i = 0; i < c->row_count; i++) {
        if (!is(&c->rows[i])) continue;
        if (!first) first = &c->rows[i];
        if (found && found < NAMED) text_append(&names, finding_text(a, ", "));
        if (found == NAMED) text_append(&names, finding_text(a, ", …"));
        if (found < NAMED) text_format(&names, finding_text(a, "'%s'"), c->rows[i].name);
        found++;
    }
    if (a->rc == STATUS_OK) a->rc = text_status(&names);
    if (found) {
        finding_add(a, FINDING_UNSUPPORTED, subject_row(topic, first), what, text_string(&names));
        finding_arithmetic(a, "%zu of %zu rows", found, c->row_count);
    }
    text_release(&names);
    return found > 0;
}

void check_sources(findings *a) {
    if (list_rows(a, TOPIC_MEASURED, is_expected, "%s expected, never measured"))
        finding_consequence(a, "these rows are a guess, and so is every speed-up between them");
    if (list_rows(a, TOPIC_SOURCE, is_quoted, "%s quoted without a source"))
        finding_consequence(a,
                            "these figures cannot be checked, and their runs cannot be repeated");
}

// ---- Times that must add up --------------------------------------------------------------------

// A sum of parts, and the stated whole.
typedef struct parts {
    const char *what;
    phrase working; // "12500 steps/epoch x 25 epochs x 19.24 ms"
    double value;   // in seconds
    interval range;
    const stated *whole, *other;
} parts;

static bool adds_up(const parts *p) {
    interval sum = p->range;
    if (p->other->given)
        sum = interval_add(sum, p->other->range);
    else
        sum.high *= 1 + OVERHEAD;
    return interval_meet(sum, p->whole->range);
}

// Returns true if it began a finding, to which the caller may add lines.
static bool check_whole(findings *a, const claim_row *r, const parts *p) {
    if (adds_up(p)) return false;
    double value = p->value + (p->other->given ? p->other->value : 0);
    char working[sizeof p->working.text + STATED_TEXT_BYTES + 8];
    if (p->other->given)
        snprintf(working, sizeof working, "%s + %s s", p->working.text, p->other->text);
    else
        snprintf(working, sizeof working, "%s", p->working.text);
    finding_add(a, FINDING_ARITHMETIC, subject_row(TOPIC_TIME, r), p->what, r->name);
    finding_arithmetic(a, "%s = %s s, stated %s s: %s", working, finding_show(value).text,
                       p->whole->text, finding_gap(a, p->whole->value, value).text);
    if (p->whole->value < value)
        finding_consequence(
            a, "one of these figures is wrong, and no speed-up can be based on any of them");
    else
        finding_consequence(a, "%s s belong to none of these parts and are not explained",
                            finding_show(p->whole->value - value).text);
    return true;
}

// The batch size at which the row's times would work out. Not given if the row lacks a figure.
static stated implied_batch(const claim_row *r, interval step_seconds, double step_value) {
    const stated *v = r->values, *total = &v[QUANTITY_TOTAL_SECONDS];
    stated batch = {0};
    batch.given = v[QUANTITY_SAMPLES].given && v[QUANTITY_EPOCHS].given && total->given;
    if (!batch.given) return batch;
    interval work = interval_multiply(v[QUANTITY_SAMPLES].range, v[QUANTITY_EPOCHS].range);
    batch.range = interval_divide(interval_multiply(work, step_seconds), total->range);
    batch.value = v[QUANTITY_SAMPLES].value * v[QUANTITY_EPOCHS].value * step_value / total->value;
    return batch;
}

// The batch size implied by the time per batch; below, by load and update per step.
static stated implied_by_batch_time(const claim_row *r) {
    const stated *ms = &r->values[QUANTITY_BATCH_MS];
    if (!ms->given) return (stated){0};
    return implied_batch(r, interval_divide(ms->range, interval_exact(1000)), ms->value / 1000);
}

static stated implied_by_phases(const claim_row *r) {
    const stated *load = &r->values[QUANTITY_LOAD_SECONDS];
    const stated *update = &r->values[QUANTITY_UPDATE_SECONDS];
    if (!load->given || !update->given) return (stated){0};
    return implied_batch(r, interval_add(load->range, update->range), load->value + update->value);
}

static void say_implied(findings *a, const claim_row *r, stated implied) {
    stated batch = row_global_batch(r);
    if (implied.given && batch.given)
        finding_arithmetic(a, "the other figures together imply a batch of %s, stated %s",
                           finding_show(implied.value).text, batch.text);
}

static void check_batch_time(findings *a, const claim_row *r) {
    const stated *v = r->values, *ms = &v[QUANTITY_BATCH_MS], *epochs = &v[QUANTITY_EPOCHS];
    stated steps = row_steps(r);
    const stated none = {0};
    if (!steps.given || !ms->given) return;
    parts p = {.other = &none, .whole = &v[QUANTITY_SECONDS_PER_EPOCH]};
    p.value = steps.value * ms->value / 1000;
    p.range = interval_multiply(steps.range, interval_divide(ms->range, interval_exact(1000)));
    if (p.whole->given) {
        p.what = WORD("'%s': its batches do not add up to the time per epoch");
        p.working = finding_say(a, "%s steps/epoch x %s ms", steps.text, ms->text);
        (void)check_whole(a, r, &p);
    }
    p.whole = &v[QUANTITY_TOTAL_SECONDS];
    if (!p.whole->given || !epochs->given) return;
    p.what = WORD("'%s': its batches do not add up to the total time");
    p.other = &v[QUANTITY_OTHER_SECONDS];
    p.value *= epochs->value;
    p.range = interval_multiply(p.range, epochs->range);
    p.working =
        finding_say(a, "%s steps/epoch x %s epochs x %s ms", steps.text, epochs->text, ms->text);
    if (check_whole(a, r, &p)) say_implied(a, r, implied_by_batch_time(r));
}

static void check_epoch_time(findings *a, const claim_row *r) {
    const stated *v = r->values, *epochs = &v[QUANTITY_EPOCHS];
    const stated *seconds = &v[QUANTITY_SECONDS_PER_EPOCH];
    if (!epochs->given || !seconds->given || !v[QUANTITY_TOTAL_SECONDS].given) return;
    parts p = {.what = WORD("'%s': its epochs do not add up to the total time"),
               .working = finding_say(a, "%s epochs x %s s", epochs->text, seconds->text),
               .value = epochs->value * seconds->value,
               .range = interval_multiply(epochs->range, seconds->range),
               .whole = &v[QUANTITY_TOTAL_SECONDS],
               .other = &v[QUANTITY_OTHER_SECONDS]};
    (void)check_whole(a, r, &p);
}

// The least time of a step: all of load and update without loader workers. With workers, loading
// may be spread over them and overlap the update.
static double least_step(const claim_row *r) {
    interval load = r->values[QUANTITY_LOAD_SECONDS].range;
    interval update = r->values[QUANTITY_UPDATE_SECONDS].range;
    double workers = r->values[QUANTITY_LOADER_WORKERS].range.high;
    return workers > 0 ? fmax(load.low / workers, update.low) : load.low + update.low;
}

static void check_phases(findings *a, const claim_row *r) {
    const stated *v = r->values, *epochs = &v[QUANTITY_EPOCHS];
    const stated *load = &v[QUANTITY_LOAD_SECONDS], *update = &v[QUANTITY_UPDATE_SECONDS];
    stated steps = row_steps(r);
    if (!steps.given || !epochs->given || !load->given || !update->given) return;
    if (!v[QUANTITY_TOTAL_SECONDS].given) return;
    interval sum = interval_add(load->range, update->range);
    sum.low = least_step(r);
    parts p = {.what = WORD("'%s': load and update of its steps do not add up to the total time"),
               .working = finding_say(a, "%s steps/epoch x %s epochs x (%s + %s) s", steps.text,
                                      epochs->text, load->text, update->text),
               .value = steps.value * epochs->value * (load->value + update->value),
               .range = interval_multiply(interval_multiply(steps.range, epochs->range), sum),
               .whole = &v[QUANTITY_TOTAL_SECONDS],
               .other = &v[QUANTITY_OTHER_SECONDS]};
    if (!check_whole(a, r, &p)) return;
    const stated *workers = &v[QUANTITY_LOADER_WORKERS];
    if (workers->range.high > 0 && p.whole->value < p.value)
        finding_arithmetic(
            a,
            "with loading spread over %s loader workers and overlapped with the update, it "
            "is still at least %s s",
            workers->text, finding_show(p.range.low).text);
    say_implied(a, r, implied_by_phases(r));
}

// ---- Batch sizes and accuracies ----------------------------------------------------------------

// Do the times of all arms that state no batch imply the same size? (An arm that states one is
// checked against it.) Only differences above the overhead allowed in a total count.
static void check_implied(findings *a, stated (*implied)(const claim_row *)) {
    const claim *c = a->claim;
    const claim_row *first = NULL;
    stated expected = {0};
    bool differ = false;
    for (size_t i = 0; i < c->row_count; i++) {
        const claim_row *r = &c->rows[i];
        stated batch = implied(r);
        if (!batch.given || row_global_batch(r).given) continue;
        if (!first) {
            first = r;
            expected = batch;
        }
        interval wide = {batch.range.low / (1 + OVERHEAD), batch.range.high * (1 + OVERHEAD)};
        if (!interval_meet(wide, expected.range)) differ = true;
    }
    if (!differ) return;
    finding_add(a, FINDING_ARITHMETIC, subject_row(TOPIC_TIME, first),
                implied == implied_by_phases
                    ? "the arms imply different batch sizes (from load and update)"
                    : "the arms imply different batch sizes (from the time per batch)");
    for (size_t i = 0; i < c->row_count; i++) {
        const claim_row *r = &c->rows[i];
        stated batch = implied(r);
        if (batch.given && !row_global_batch(r).given)
            finding_arithmetic(a, "'%s' implies %s", r->name, finding_show(batch.value).text);
    }
    finding_consequence(a, "the arms did not do the same work, or were not timed in the same way");
}

static void check_global_batch(findings *a, const claim_row *r) {
    const stated *v = r->values, *global = &v[QUANTITY_GLOBAL_BATCH], *batch = &v[QUANTITY_BATCH];
    if (!global->given || !batch->given || !r->labels[LABEL_STRATEGY]) return;
    if (interval_meet(global->range, batch->range)) return;
    bool ddp = row_is(r, "ddp");
    const stated *devices = &v[QUANTITY_DEVICES];
    if (ddp && !devices->given) return;
    if (ddp && interval_meet(global->range, interval_multiply(batch->range, devices->range)))
        return;
    finding_add(a, FINDING_ARITHMETIC, subject_row(QUANTITY_GLOBAL_BATCH, r),
                "'%s': its batch does not match its global batch", r->name);
    if (ddp)
        finding_arithmetic(a, "%s per rank x %s ranks = %s per step, stated %s", batch->text,
                           devices->text, finding_show(batch->value * devices->value).text,
                           global->text);
    else
        finding_arithmetic(a, "a batch of %s is split over the devices: %s per step, stated %s",
                           batch->text, batch->text, global->text);
    finding_consequence(
        a, "the number of updates and the learning rate per sample differ from the stated ones");
}

// The proportion of n samples can take n + 1 values.
static void check_proportion(findings *a, const claim_row *r) {
    const stated *v = r->values, *accuracy = &v[QUANTITY_ACCURACY];
    if (!accuracy->given || !v[QUANTITY_TEST_SAMPLES].given) return;
    double n = v[QUANTITY_TEST_SAMPLES].range.high;
    if (v[QUANTITY_REPEATS].given) n *= v[QUANTITY_REPEATS].range.high;
    double low = ceil(accuracy->range.low / 100 * n - 1e-6);
    double high = floor(accuracy->range.high / 100 * n + 1e-6);
    if (low <= high) return;
    finding_add(a, FINDING_ARITHMETIC, subject_row(QUANTITY_ACCURACY, r),
                "'%s': no whole number of samples gives its accuracy", r->name);
    finding_arithmetic(a, "%s %% of %s = %.6g samples: %.0f are %.6g %%, %.0f are %.6g %%",
                       accuracy->text, finding_show(n).text, accuracy->value / 100 * n, high,
                       100 * high / n, low, 100 * low / n);
    finding_consequence(a, "the accuracy or the number of test samples is wrong");
}

// ---- Lists of figures ---------------------------------------------------------------------------

// The sum of a list, each item weighted by the item of another list (NULL: by 1).
static interval weigh(const stated_list *l, const stated_list *by, double *value) {
    interval sum = {0, 0};
    *value = 0;
    for (size_t i = 0; i < l->count; i++) {
        double weight = by ? by->items[i].value : 1;
        *value += weight * l->items[i].value;
        sum = interval_add(sum, interval_multiply(l->items[i].range, interval_exact(weight)));
    }
    return sum;
}

static void check_epoch_list(findings *a, const claim_row *r) {
    const stated *total = &r->values[QUANTITY_TOTAL_SECONDS];
    const stated_list *seconds = &r->series[SERIES_EPOCH_SECONDS];
    if (!seconds->count || !total->given) return;
    parts p = {.what = WORD("'%s': its epochs do not add up to the total time"),
               .working = finding_say(a, "the sum of %zu epochs", seconds->count),
               .whole = total,
               .other = &r->values[QUANTITY_OTHER_SECONDS]};
    p.range = weigh(seconds, NULL, &p.value);
    (void)check_whole(a, r, &p);
}

// Weighted by their numbers of samples, the classes' accuracies must give the overall accuracy.
static void check_class_list(findings *a, const claim_row *r) {
    const stated_list *classes = &r->series[SERIES_CLASS_ACCURACIES];
    const stated_list *samples = &r->series[SERIES_CLASS_SAMPLES];
    const stated *accuracy = &r->values[QUANTITY_ACCURACY];
    double all, right;
    if (!accuracy->given || !classes->count || classes->count != samples->count) return;
    (void)weigh(samples, NULL, &all);
    interval range = weigh(classes, samples, &right);
    if (interval_meet(interval_divide(range, interval_exact(all)), accuracy->range)) return;
    finding_add(a, FINDING_ARITHMETIC, subject_row(QUANTITY_ACCURACY, r),
                "'%s': the accuracies of its classes do not give its overall accuracy", r->name);
    finding_arithmetic(a, "%.0f samples of %zu classes: %.2f %%, stated %s %%", all, classes->count,
                       right / all, accuracy->text);
    finding_consequence(a, "they are not from one evaluation");
}

void check_sums(findings *a) {
    for (size_t i = 0; i < a->claim->row_count; i++) {
        const claim_row *r = &a->claim->rows[i];
        check_global_batch(a, r);
        check_batch_time(a, r);
        check_epoch_time(a, r);
        check_phases(a, r);
        check_proportion(a, r);
        check_epoch_list(a, r);
        check_class_list(a, r);
    }
    check_implied(a, implied_by_batch_time);
    check_implied(a, implied_by_phases);
}
