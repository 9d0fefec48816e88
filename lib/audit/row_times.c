// SPDX-License-Identifier: MIT
// Do the times of a row add up? Load and update make a step, steps make an epoch, and epochs make
// the total. Each is compared with what it is a part of, and with every other term that the row
// states; a row is reported once, with the first contradiction.
#include <math.h>
#include <stdio.h>

#include "audit/checks.h"
#include "audit/row.h"

// ---- Parts and the whole -----------------------------------------------------------------------

// A sum of parts, and the stated whole.
typedef struct parts {
    const char *what;
    phrase working; // "12500 steps/epoch x 25 epochs x 19.24 ms"
    double value;   // in seconds
    interval range;
    const stated *whole, *other; // other: added to the parts; NULL: nothing
    double slack;                // the whole may exceed the parts by this factor
} parts;

static bool has_other(const parts *p) {
    return p->other && p->other->given;
}

static bool adds_up(const parts *p) {
    interval sum = p->range;
    sum.high *= p->slack;
    if (has_other(p)) sum = interval_add(sum, p->other->range);
    return interval_meet(sum, p->whole->range);
}

static void add_mismatch(findings *a, const claim_row *r, const parts *p) {
    double value = p->value + (has_other(p) ? p->other->value : 0);
    char working[sizeof p->working.text + STATED_TEXT_BYTES + 8];
    if (has_other(p))
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
}

// Returns true if it began a finding, to which the caller may add lines.
static bool check_whole(findings *a, const claim_row *r, const parts *p) {
    if (adds_up(p)) return false;
    add_mismatch(a, r, p);
    return true;
}

// The most by which a total may exceed the parts of its epochs: by what the epochs have besides
// these parts, if the row tells epochs from the rest, and by the rest, if it does not state that.
static double slack_in_total(const claim_row *r, bool epochs) {
    const bool other = r->values[QUANTITY_OTHER_SECONDS].given;
    const bool told = !epochs && (other || r->values[QUANTITY_SECONDS_PER_EPOCH].given);
    return (told ? TIME_SLACK : 1) * (other ? 1 : TIME_SLACK);
}

// What fills an epoch, compared with the stated time of an epoch, and with the total.
typedef struct epoch_parts {
    const char *in_epoch, *in_total; // the findings
    phrase epoch, total;             // the workings
    double value;                    // seconds per epoch
    interval range;
} epoch_parts;

// Returns the stated time that the finding is about; NULL if there is none.
static const stated *check_epoch_parts(findings *a, const claim_row *r, const epoch_parts *e) {
    const stated *v = r->values, *epochs = &v[QUANTITY_EPOCHS];
    const stated *epoch = &v[QUANTITY_SECONDS_PER_EPOCH], listed = row_listed_epoch(r);
    stated usual = epoch->given ? *epoch : listed;
    parts p = {.what = e->in_epoch,
               .working = e->epoch,
               .value = e->value,
               .range = e->range,
               .whole = &usual,
               .slack = TIME_SLACK};
    if (listed.given) usual.range.low = listed.range.low; // a mean also has those that warmed up
    if (usual.given && check_whole(a, r, &p)) return epoch;
    p.whole = &v[QUANTITY_TOTAL_SECONDS];
    if (!p.whole->given || !epochs->given) return NULL;
    p.what = e->in_total;
    p.working = e->total;
    p.value *= epochs->value;
    p.range = interval_multiply(p.range, epochs->range);
    p.range.high = fmax(p.range.high, listed.range.high * epochs->range.high);
    p.other = &v[QUANTITY_OTHER_SECONDS];
    p.slack = slack_in_total(r, false);
    return check_whole(a, r, &p) ? p.whole : NULL;
}

// ---- Implied batch sizes -----------------------------------------------------------------------

static void cover(interval *span, bool given, interval range) {
    if (!given) return;
    span->low = fmin(span->low, range.low);
    span->high = fmax(span->high, range.high);
}

// Seconds per epoch, from its steps alone up to all that the row may count in.
static stated epoch_span(const claim_row *r) {
    stated span = row_epoch(r);
    if (!span.given) span = row_mean_epoch(r);
    const stated listed = row_listed_epoch(r);
    cover(&span.range, listed.given, listed.range);
    span.range.low /= TIME_SLACK;
    return span;
}

// The batch size at which the row's times would work out. Not given if the row lacks a figure.
static stated implied_batch(const claim_row *r, interval step_seconds, double step_value) {
    const stated *samples = &r->values[QUANTITY_SAMPLES], epoch = epoch_span(r);
    stated batch = {.given = samples->given && epoch.given};
    if (!batch.given) return batch;
    batch.range = interval_divide(interval_multiply(samples->range, step_seconds), epoch.range);
    batch.value = samples->value * step_value / epoch.value;
    return batch;
}

// The least time of a step: all of load and update without loader workers. With workers, loading
// may be spread over them and overlap the update.
static double least_step(const claim_row *r) {
    interval load = r->values[QUANTITY_LOAD_SECONDS].range;
    interval update = r->values[QUANTITY_UPDATE_SECONDS].range;
    double workers = r->values[QUANTITY_LOADER_WORKERS].range.high;
    return workers > 0 ? fmax(load.low / workers, update.low) : load.low + update.low;
}

// A step of load and update: from their least time to their sum.
static stated step_of_phases(const claim_row *r) {
    const stated *load = &r->values[QUANTITY_LOAD_SECONDS];
    const stated *update = &r->values[QUANTITY_UPDATE_SECONDS];
    stated step = {.given = load->given && update->given};
    step.value = load->value + update->value;
    step.range = interval_add(load->range, update->range);
    step.range.low = least_step(r);
    return step;
}

// The batch size implied by the time per batch; below, by load and update per step.
static stated implied_by_batch_time(const claim_row *r) {
    const stated *ms = &r->values[QUANTITY_BATCH_MS];
    if (!ms->given) return (stated){0};
    return implied_batch(r, interval_divide(ms->range, interval_exact(1000)), ms->value / 1000);
}

static stated implied_by_phases(const claim_row *r) {
    const stated step = step_of_phases(r);
    if (r->values[QUANTITY_BATCH_MS].given) return (stated){0}; // which has all of a step
    return step.given ? implied_batch(r, step.range, step.value) : step;
}

static void say_implied(findings *a, const claim_row *r, stated implied) {
    stated batch = row_global_batch(r);
    if (implied.given && batch.given)
        finding_arithmetic(a, "the other figures together imply a batch of %s, stated %s",
                           finding_show(implied.value).text, batch.text);
}

// Do the times of all rows that state no batch imply the same size? (A row that states one is
// checked against it.)
static void check_implied(findings *a, stated (*implied)(const claim_row *), const char *what) {
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
        if (!interval_meet(batch.range, expected.range)) differ = true;
    }
    if (!differ) return;
    finding_add(a, FINDING_ARITHMETIC, subject_row(TOPIC_TIME, first), what, NULL);
    for (size_t i = 0; i < c->row_count; i++) {
        const claim_row *r = &c->rows[i];
        stated batch = implied(r);
        if (batch.given && !row_global_batch(r).given)
            finding_arithmetic(a, "'%s' implies %s", r->name, finding_show(batch.value).text);
    }
    finding_consequence(a, "the arms did not do the same work, or were not timed in the same way");
}

void check_implied_batches(findings *a) {
    check_implied(a, implied_by_batch_time,
                  WORD("the arms imply different batch sizes (from the time per batch)"));
    check_implied(a, implied_by_phases,
                  WORD("the arms imply different batch sizes (from load and update)"));
}

// ---- Epochs ------------------------------------------------------------------------------------

// The time per epoch that the row states lies among those that it lists, whether it is their mean,
// their median or that of an epoch after the first.
static bool check_among_epochs(findings *a, const claim_row *r) {
    const stated *epoch = &r->values[QUANTITY_SECONDS_PER_EPOCH], listed = row_listed_epoch(r);
    if (!epoch->given || interval_meet(listed.range, epoch->range)) return false;
    finding_add(a, FINDING_ARITHMETIC, subject_row(TOPIC_TIME, r),
                "'%s': its time per epoch is not among those of its epochs", r->name);
    finding_arithmetic(a, "%zu epochs took %s s, stated %s s",
                       r->series[SERIES_EPOCH_SECONDS].count, listed.text, epoch->text);
    finding_consequence(a, "no mean or median of these epochs is the stated time");
    return true;
}

// How many epochs the list lacks (negative: how many it has too many), as far as the row tells.
static double missing_epochs(const claim_row *r) {
    const stated *epochs = &r->values[QUANTITY_EPOCHS];
    const double count = (double)r->series[SERIES_EPOCH_SECONDS].count;
    if (!epochs->given) return 0;
    if (count < epochs->range.low) return ceil(epochs->range.low) - count;
    return fmin(0, ceil(epochs->range.high) - count);
}

// A list of some of the epochs is a part of the total, and with a warm-up that is no epoch, the
// total may lack the longest.
static bool check_epoch_list(findings *a, const claim_row *r) {
    const stated *total = &r->values[QUANTITY_TOTAL_SECONDS];
    const stated_list *seconds = &r->series[SERIES_EPOCH_SECONDS];
    if (!seconds->count) return false;
    if (check_among_epochs(a, r)) return true;
    if (!total->given) return false;
    parts p = {.what = WORD("'%s': its epochs do not add up to the total time"),
               .working = finding_say(a, "the sum of %zu epochs", seconds->count),
               .whole = total,
               .other = &r->values[QUANTITY_OTHER_SECONDS],
               .slack = slack_in_total(r, true)};
    double missing = missing_epochs(r), most = 0;
    p.range = row_sum(seconds, NULL, &p.value);
    for (size_t i = 0; i < seconds->count; i++) most = fmax(most, seconds->items[i].range.high);
    if (missing > 0) p.range.high = INFINITY;
    if (missing < 0) p.range.low = fmax(0, p.range.low + missing * most);
    return check_whole(a, r, &p);
}

// If the row lists the seconds of all epochs, these make the total, whatever the usual epoch takes.
static bool check_epoch_time(findings *a, const claim_row *r) {
    const stated *v = r->values, *epochs = &v[QUANTITY_EPOCHS];
    const stated *seconds = &v[QUANTITY_SECONDS_PER_EPOCH];
    if (!epochs->given || !seconds->given || !v[QUANTITY_TOTAL_SECONDS].given) return false;
    if (r->series[SERIES_EPOCH_SECONDS].count && missing_epochs(r) <= 0) return false;
    const parts p = {.what = WORD("'%s': its epochs do not add up to the total time"),
                     .working = finding_say(a, "%s epochs x %s s", epochs->text, seconds->text),
                     .value = epochs->value * seconds->value,
                     .range = interval_multiply(epochs->range, seconds->range),
                     .whole = &v[QUANTITY_TOTAL_SECONDS],
                     .other = &v[QUANTITY_OTHER_SECONDS],
                     .slack = slack_in_total(r, true)};
    return check_whole(a, r, &p);
}

// ---- Steps -------------------------------------------------------------------------------------

static bool check_batch_time(findings *a, const claim_row *r) {
    const stated *v = r->values, *ms = &v[QUANTITY_BATCH_MS], *epochs = &v[QUANTITY_EPOCHS];
    const stated steps = row_steps(r);
    if (!steps.given || !ms->given) return false;
    const epoch_parts e = {
        .in_epoch = WORD("'%s': its batches do not add up to the time per epoch"),
        .in_total = WORD("'%s': its batches do not add up to the total time"),
        .epoch = finding_say(a, "%s steps/epoch x %s ms", steps.text, ms->text),
        .total = finding_say(a, "%s steps/epoch x %s epochs x %s ms", steps.text, epochs->text,
                             ms->text),
        .value = steps.value * ms->value / 1000,
        .range = interval_multiply(steps.range, interval_divide(ms->range, interval_exact(1000)))};
    if (!check_epoch_parts(a, r, &e)) return false;
    say_implied(a, r, implied_by_batch_time(r));
    return true;
}

static void say_workers(findings *a, const claim_row *r, double least) {
    const stated *workers = &r->values[QUANTITY_LOADER_WORKERS];
    if (workers->range.high > 0)
        finding_arithmetic(
            a,
            "with loading spread over %s loader workers and overlapped with the update, it "
            "is still at least %s s",
            workers->text, finding_show(least).text);
}

// A stated time per batch also covers what is neither load nor update.
static bool check_step(findings *a, const claim_row *r, const stated *step) {
    const stated *ms = &r->values[QUANTITY_BATCH_MS];
    stated batch = {.given = ms->given, .value = ms->value / 1000};
    if (!batch.given) return false;
    batch.range = interval_divide(ms->range, interval_exact(1000));
    snprintf(batch.text, sizeof batch.text, "%.6g", batch.value);
    const parts p = {.what = WORD("'%s': load and update of a step take longer than its batch"),
                     .working = finding_say(a, "%s + %s s", r->values[QUANTITY_LOAD_SECONDS].text,
                                            r->values[QUANTITY_UPDATE_SECONDS].text),
                     .value = step->value,
                     .range = {step->range.low, INFINITY},
                     .whole = &batch,
                     .slack = 1};
    if (!check_whole(a, r, &p)) return false;
    say_workers(a, r, step->range.low);
    return true;
}

static bool check_phases(findings *a, const claim_row *r) {
    const stated *v = r->values, *epochs = &v[QUANTITY_EPOCHS];
    const stated *load = &v[QUANTITY_LOAD_SECONDS], *update = &v[QUANTITY_UPDATE_SECONDS];
    const stated steps = row_steps(r), step = step_of_phases(r);
    if (!step.given) return false;
    if (check_step(a, r, &step)) return true;
    if (!steps.given) return false;
    epoch_parts e = {
        .in_epoch = WORD("'%s': load and update of its steps do not add up to the time per epoch"),
        .in_total = WORD("'%s': load and update of its steps do not add up to the total time"),
        .epoch =
            finding_say(a, "%s steps/epoch x (%s + %s) s", steps.text, load->text, update->text),
        .total = finding_say(a, "%s steps/epoch x %s epochs x (%s + %s) s", steps.text,
                             epochs->text, load->text, update->text),
        .value = steps.value * step.value,
        .range = {step.range.low, fmax(step.range.high, v[QUANTITY_BATCH_MS].range.high / 1000)}};
    e.range = interval_multiply(steps.range, e.range);
    const stated *whole = check_epoch_parts(a, r, &e);
    if (!whole) return false;
    const bool total = whole == &v[QUANTITY_TOTAL_SECONDS];
    const double times = total ? epochs->value : 1;
    const double least = times * e.range.low;
    if ((whole->given ? whole->range.high : row_listed_epoch(r).range.high) < least)
        say_workers(a, r, least);
    say_implied(a, r, implied_by_phases(r));
    return true;
}

// ---- Throughput --------------------------------------------------------------------------------

// Reports count a throughput over the epochs alone, or over all that the total has.
static bool check_throughput(findings *a, const claim_row *r) {
    const stated *v = r->values, *epochs = &v[QUANTITY_EPOCHS], *samples = &v[QUANTITY_SAMPLES];
    const stated *rate = &v[QUANTITY_IMAGES_PER_SECOND], *total = &v[QUANTITY_TOTAL_SECONDS];
    const stated *epoch = &v[QUANTITY_SECONDS_PER_EPOCH], *other = &v[QUANTITY_OTHER_SECONDS];
    const bool whole = total->given && epochs->given;
    if (!rate->given || !samples->given || (!epoch->given && !whole)) return false;
    parts p = {.what = WORD("'%s': its throughput does not give its time per epoch"),
               .working = finding_say(a, "%s images / %s img/s", samples->text, rate->text),
               .value = samples->value / rate->value,
               .range = interval_divide(samples->range, rate->range),
               .whole = epoch};
    interval span = {INFINITY, 0}, one = {p.range.low / TIME_SLACK, p.range.high * TIME_SLACK};
    cover(&span, epoch->given, epoch->range);
    cover(&span, row_mean_epoch(r).given, row_mean_epoch(r).range);
    cover(&span, row_listed_epoch(r).given, row_listed_epoch(r).range);
    cover(&span, whole,
          interval_divide(interval_subtract(total->range, other->range), epochs->range));
    if (interval_meet(one, span)) return false;
    if (!epoch->given) {
        p.what = WORD("'%s': its throughput does not give its total time");
        p.working = finding_say(a, "%s epochs x %s images / %s img/s", epochs->text, samples->text,
                                rate->text);
        p.value *= epochs->value;
        p.whole = total;
    }
    add_mismatch(a, r, &p);
    return true;
}

// Images per second times seconds per batch are the images of a batch.
static bool check_images_per_batch(findings *a, const claim_row *r) {
    const stated *rate = &r->values[QUANTITY_IMAGES_PER_SECOND];
    const stated *ms = &r->values[QUANTITY_BATCH_MS], batch = row_global_batch(r);
    if (!rate->given || !ms->given || !batch.given) return false;
    interval images =
        interval_multiply(rate->range, interval_divide(ms->range, interval_exact(1000)));
    images.low /= TIME_SLACK;
    images.high *= TIME_SLACK;
    // Counted over more than the steps, it is lower: check_throughput() compares it with that.
    if (row_has_longer_time(r)) images.high = INFINITY;
    if (interval_meet(images, batch.range)) return false;
    const double value = rate->value * ms->value / 1000;
    finding_add(a, FINDING_ARITHMETIC, subject_row(TOPIC_TIME, r),
                "'%s': its throughput is not that of its batches", r->name);
    finding_arithmetic(a, "%s img/s x %s ms = %s images per batch, stated %s: %s", rate->text,
                       ms->text, finding_show(value).text, batch.text,
                       finding_gap(a, batch.value, value).text);
    finding_consequence(
        a, "one of these figures is wrong, and no speed-up can be based on any of them");
    return true;
}

void check_row_times(findings *a, const claim_row *r) {
    (void)(check_epoch_list(a, r) || check_epoch_time(a, r) || check_batch_time(a, r) ||
           check_phases(a, r) || check_throughput(a, r) || check_images_per_batch(a, r));
}
