// SPDX-License-Identifier: MIT
// Do the times of a row add up? Load and update make a step, steps make an epoch, and epochs make
// the total. Each is compared with what it is a part of, and with every other term that the row
// states; a row is reported once, with the first contradiction.
#include <math.h>
#include <stdio.h>

#include "audit/checks.h"
#include "audit/row.h"

// ---- Parts and the whole -----------------------------------------------------------------------

// How parts are added up, in an epoch or in the total: "12500 steps/epoch x 25 epochs x 19.24 ms".
typedef operand working(const claim_row *r, bool total);

// A sum of parts, and the stated whole.
typedef struct parts {
    const char *id; // of the finding
    working *working;
    bool total;
    double value; // in seconds
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
    const double value = p->value + (has_other(p) ? p->other->value : 0);
    const bool less = p->whole->value < value;
    finding_add(a, FINDING_ARITHMETIC, subject_row(TOPIC_TIME, r), p->id,
                less ? "one_is_wrong" : "unexplained");
    if (!less) finding_put(a, shown("unexplained", p->whole->value - value));
    finding_sum(a, "parts", p->working(r, p->total),
                has_other(p) ? given("other", p->other) : named("other", NULL), shown("sum", value),
                given("stated", p->whole), gap(p->whole->value, value));
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
    working *working;
    double value; // seconds per epoch
    interval range;
} epoch_parts;

// Returns the stated time that the finding is about; NULL if there is none.
static const stated *check_epoch_parts(findings *a, const claim_row *r, const epoch_parts *e) {
    const stated *v = r->values, *epochs = &v[QUANTITY_EPOCHS];
    const stated *epoch = &v[QUANTITY_SECONDS_PER_EPOCH], listed = row_listed_epoch(r);
    stated usual = epoch->given ? *epoch : listed;
    parts p = {.id = e->in_epoch,
               .working = e->working,
               .value = e->value,
               .range = e->range,
               .whole = &usual,
               .slack = TIME_SLACK};
    if (listed.given) usual.range.low = listed.range.low; // a mean also has those that warmed up
    if (usual.given && check_whole(a, r, &p)) return epoch;
    p.whole = &v[QUANTITY_TOTAL_SECONDS];
    if (!p.whole->given || !epochs->given) return NULL;
    p.id = e->in_total;
    p.total = true;
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

static void add_implied(findings *a, const claim_row *r, stated implied) {
    const stated batch = row_global_batch(r);
    if (implied.given && batch.given)
        finding_sum(a, "implied_batch", shown("batch", implied.value), given("stated", &batch));
}

// Do the times of all rows that state no batch imply the same size? (A row that states one is
// checked against it.)
static void check_implied(findings *a, stated (*implied)(const claim_row *), const char *id) {
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
    finding_add(a, FINDING_ARITHMETIC, subject_row(TOPIC_TIME, first), id,
                "unequal_work_or_timing");
    for (size_t i = 0; i < c->row_count; i++) {
        const claim_row *r = &c->rows[i];
        stated batch = implied(r);
        if (batch.given && !row_global_batch(r).given)
            finding_sum(a, "row_implies", named("row", r->name), shown("batch", batch.value));
    }
}

void check_implied_batches(findings *a) {
    check_implied(a, implied_by_batch_time, "batch_times_imply");
    check_implied(a, implied_by_phases, "phases_imply");
}

// ---- Epochs ------------------------------------------------------------------------------------

// The time per epoch that the row states lies among those that it lists, whether it is their mean,
// their median or that of an epoch after the first.
static bool check_among_epochs(findings *a, const claim_row *r) {
    const stated *epoch = &r->values[QUANTITY_SECONDS_PER_EPOCH], listed = row_listed_epoch(r);
    if (!epoch->given || interval_meet(listed.range, epoch->range)) return false;
    finding_add(a, FINDING_ARITHMETIC, subject_row(TOPIC_TIME, r), "other_epoch", "no_mean");
    finding_sum(a, "listed_epochs", counted("count", r->series[SERIES_EPOCH_SECONDS].count),
                given("listed", &listed), given("stated", epoch));
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

static operand sum_of_epochs(const claim_row *r, bool total) {
    (void)total;
    return nested("working", "sum_of_epochs",
                  counted("count", r->series[SERIES_EPOCH_SECONDS].count));
}

// A list of some of the epochs is a part of the total, and with a warm-up that is no epoch, the
// total may lack the longest.
static bool check_epoch_list(findings *a, const claim_row *r) {
    const stated *total = &r->values[QUANTITY_TOTAL_SECONDS];
    const stated_list *seconds = &r->series[SERIES_EPOCH_SECONDS];
    if (!seconds->count) return false;
    if (check_among_epochs(a, r)) return true;
    if (!total->given) return false;
    parts p = {.id = "epochs_not_total",
               .working = sum_of_epochs,
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

static operand equal_epochs(const claim_row *r, bool total) {
    (void)total;
    return nested("working", "equal_epochs", given("epochs", &r->values[QUANTITY_EPOCHS]),
                  given("seconds", &r->values[QUANTITY_SECONDS_PER_EPOCH]));
}

// If the row lists the seconds of all epochs, these make the total, whatever the usual epoch takes.
static bool check_epoch_time(findings *a, const claim_row *r) {
    const stated *v = r->values, *epochs = &v[QUANTITY_EPOCHS];
    const stated *seconds = &v[QUANTITY_SECONDS_PER_EPOCH];
    if (!epochs->given || !seconds->given || !v[QUANTITY_TOTAL_SECONDS].given) return false;
    if (r->series[SERIES_EPOCH_SECONDS].count && missing_epochs(r) <= 0) return false;
    const parts p = {.id = "epochs_not_total",
                     .working = equal_epochs,
                     .value = epochs->value * seconds->value,
                     .range = interval_multiply(epochs->range, seconds->range),
                     .whole = &v[QUANTITY_TOTAL_SECONDS],
                     .other = &v[QUANTITY_OTHER_SECONDS],
                     .slack = slack_in_total(r, true)};
    return check_whole(a, r, &p);
}

// ---- Steps -------------------------------------------------------------------------------------

static operand epochs_in(const claim_row *r, bool total) {
    return total ? given("epochs", &r->values[QUANTITY_EPOCHS]) : named("epochs", NULL);
}

static operand batches(const claim_row *r, bool total) {
    const stated steps = row_steps(r);
    return nested("working", "batches", given("steps", &steps), epochs_in(r, total),
                  given("ms", &r->values[QUANTITY_BATCH_MS]));
}

static bool check_batch_time(findings *a, const claim_row *r) {
    const stated *ms = &r->values[QUANTITY_BATCH_MS], steps = row_steps(r);
    if (!steps.given || !ms->given) return false;
    const epoch_parts e = {
        .in_epoch = "batches_not_epoch",
        .in_total = "batches_not_total",
        .working = batches,
        .value = steps.value * ms->value / 1000,
        .range = interval_multiply(steps.range, interval_divide(ms->range, interval_exact(1000)))};
    if (!check_epoch_parts(a, r, &e)) return false;
    add_implied(a, r, implied_by_batch_time(r));
    return true;
}

static void add_workers(findings *a, const claim_row *r, double least) {
    const stated *workers = &r->values[QUANTITY_LOADER_WORKERS];
    if (workers->range.high > 0)
        finding_sum(a, "least_with_workers", given("workers", workers), shown("seconds", least));
}

static operand phases_of_step(const claim_row *r, bool total) {
    (void)total;
    return nested("working", "phases_of_step", given("load", &r->values[QUANTITY_LOAD_SECONDS]),
                  given("update", &r->values[QUANTITY_UPDATE_SECONDS]));
}

static operand phases(const claim_row *r, bool total) {
    const stated steps = row_steps(r);
    return nested("working", "phases", given("steps", &steps), epochs_in(r, total),
                  given("load", &r->values[QUANTITY_LOAD_SECONDS]),
                  given("update", &r->values[QUANTITY_UPDATE_SECONDS]));
}

// A stated time per batch also covers what is neither load nor update.
static bool check_step(findings *a, const claim_row *r, const stated *step) {
    const stated *ms = &r->values[QUANTITY_BATCH_MS];
    stated batch = {.given = ms->given, .value = ms->value / 1000};
    if (!batch.given) return false;
    batch.range = interval_divide(ms->range, interval_exact(1000));
    snprintf(batch.text, sizeof batch.text, "%.6g", batch.value);
    const parts p = {.id = "phases_not_batch",
                     .working = phases_of_step,
                     .value = step->value,
                     .range = {step->range.low, INFINITY},
                     .whole = &batch,
                     .slack = 1};
    if (!check_whole(a, r, &p)) return false;
    add_workers(a, r, step->range.low);
    return true;
}

static bool check_phases(findings *a, const claim_row *r) {
    const stated *v = r->values, *epochs = &v[QUANTITY_EPOCHS];
    const stated steps = row_steps(r), step = step_of_phases(r);
    if (!step.given) return false;
    if (check_step(a, r, &step)) return true;
    if (!steps.given) return false;
    epoch_parts e = {
        .in_epoch = "phases_not_epoch",
        .in_total = "phases_not_total",
        .working = phases,
        .value = steps.value * step.value,
        .range = {step.range.low, fmax(step.range.high, v[QUANTITY_BATCH_MS].range.high / 1000)}};
    e.range = interval_multiply(steps.range, e.range);
    const stated *whole = check_epoch_parts(a, r, &e);
    if (!whole) return false;
    const bool total = whole == &v[QUANTITY_TOTAL_SECONDS];
    const double times = total ? epochs->value : 1;
    const double least = times * e.range.low;
    if ((whole->given ? whole->range.high : row_listed_epoch(r).range.high) < least)
        add_workers(a, r, least);
    add_implied(a, r, implied_by_phases(r));
    return true;
}

// ---- Throughput --------------------------------------------------------------------------------

static operand images(const claim_row *r, bool total) {
    return nested("working", "images", epochs_in(r, total),
                  given("images", &r->values[QUANTITY_SAMPLES]),
                  given("rate", &r->values[QUANTITY_IMAGES_PER_SECOND]));
}

// Reports count a throughput over the epochs alone, or over all that the total has.
static bool check_throughput(findings *a, const claim_row *r) {
    const stated *v = r->values, *epochs = &v[QUANTITY_EPOCHS], *samples = &v[QUANTITY_SAMPLES];
    const stated *rate = &v[QUANTITY_IMAGES_PER_SECOND], *total = &v[QUANTITY_TOTAL_SECONDS];
    const stated *epoch = &v[QUANTITY_SECONDS_PER_EPOCH], *other = &v[QUANTITY_OTHER_SECONDS];
    const bool whole = total->given && epochs->given;
    if (!rate->given || !samples->given || (!epoch->given && !whole)) return false;
    parts p = {.id = "throughput_not_epoch",
               .working = images,
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
        p.id = "throughput_not_total";
        p.total = true;
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
    finding_add(a, FINDING_ARITHMETIC, subject_row(TOPIC_TIME, r), "throughput_not_batches",
                "one_is_wrong");
    finding_sum(a, "images_per_batch", given("rate", rate), given("ms", ms), shown("images", value),
                given("stated", &batch), gap(batch.value, value));
    return true;
}

void check_row_times(findings *a, const claim_row *r) {
    (void)(check_epoch_list(a, r) || check_epoch_time(a, r) || check_batch_time(a, r) ||
           check_phases(a, r) || check_throughput(a, r) || check_images_per_batch(a, r));
}
