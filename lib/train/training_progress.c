// SPDX-License-Identifier: MIT
#include "train/training_progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/number_text.h"
#include "base/progress.h"

enum { INTERVAL_NS = 200000000, LINES = 50 };       // of the moving line; permanent lines per run
static const double NS = 1e9, SHORTEST_SPACING = 5; // seconds between permanent lines

void training_progress_begin(training_progress *p, const logger *log, uint64_t now, int epochs,
                             uint64_t steps_per_epoch, uint64_t steps, uint64_t first_step) {
    *p = (training_progress){.log = log && log->level > LOG_QUIET ? log : NULL,
                             .terminal = isatty(STDERR_FILENO) == 1,
                             .epochs = epochs,
                             .steps_per_epoch = steps_per_epoch,
                             .steps = steps,
                             .first_step = first_step,
                             .began = now,
                             .said = now,
                             .accuracy = NAN};
}

// ---- How long ----

static double seconds_since(uint64_t then, uint64_t now) {
    return (double)(now - then) / NS;
}

static double seconds_per_step(const training_progress *p, uint64_t now, uint64_t step) {
    return step > p->first_step ? seconds_since(p->began, now) / (double)(step - p->first_step) : 0;
}

static double seconds_left(const training_progress *p, uint64_t now, uint64_t step) {
    return seconds_per_step(p, now, step) * (double)(p->steps - step);
}

// Steps until the end of an epoch.
static uint64_t end_of(const training_progress *p, int epoch) {
    const uint64_t end = (uint64_t)(epoch + 1) * p->steps_per_epoch;
    return end < p->steps ? end : p->steps;
}

// Seconds between permanent lines.
static double spacing(const training_progress *p, uint64_t now, uint64_t step) {
    const double whole = seconds_since(p->began, now) + seconds_left(p, now, step);
    return fmax(SHORTEST_SPACING, whole / LINES);
}

// ---- Steps ----

static void draw(const training_progress *p, uint64_t now, uint64_t step, float loss) {
    const uint64_t epoch = (step - 1) / p->steps_per_epoch;
    char head[48], span[DURATION_TEXT_BYTES], whole[DURATION_TEXT_BYTES], tail[80];
    char lost[32], tested[32], speed[48], line[PROGRESS_LINE_BYTES];
    double after;
    const bool known = !isnan(p->accuracy);
    const progress_parts parts = {.tool = progress_label(p->log, &after),
                                  .head = head,
                                  .tail = tail,
                                  .extras = {lost, known ? tested : speed, known ? speed : NULL},
                                  .share = (double)(step - epoch * p->steps_per_epoch) /
                                           (double)p->steps_per_epoch};
    snprintf(head, sizeof head, "epoch %" PRIu64 "/%d", epoch + 1, p->epochs);
    const double left = seconds_left(p, now, step);
    duration_text(left, span);
    if (after > 0)
        snprintf(tail, sizeof tail, "%s left, %s in all", span, duration_text(left + after, whole));
    else
        snprintf(tail, sizeof tail, "%s left", span);
    snprintf(tested, sizeof tested, "acc %.4f", p->accuracy);
    snprintf(lost, sizeof lost, "loss %.4f", (double)loss);
    snprintf(speed, sizeof speed, "%.0f images/s",
             (double)p->images / fmax(seconds_since(p->began, now), 1 / NS));
    progress_compose(&parts, progress_columns(), line);
    progress_line(line);
}

// Prints a line within an epoch only if epochs are long: their ends are more informative.
static void say_where(training_progress *p, uint64_t now, uint64_t step, float loss) {
    const double apart = spacing(p, now, step);
    const uint64_t done = step % p->steps_per_epoch;
    char span[DURATION_TEXT_BYTES];
    if (done == 0 || seconds_since(p->said, now) < apart) return;
    if (seconds_per_step(p, now, step) * (double)p->steps_per_epoch < 2 * apart) return;
    p->said = now;
    log_info(p->log, "epoch %" PRIu64 "/%d, %.0f %%: loss %.4f, %s left",
             step / p->steps_per_epoch + 1, p->epochs,
             100 * (double)done / (double)p->steps_per_epoch, (double)loss,
             duration_text(seconds_left(p, now, step), span));
}

void training_progress_step(training_progress *p, uint64_t now, uint64_t step, int images,
                            float loss) {
    if (!p->log) return;
    p->images += (uint64_t)images;
    if (!p->terminal) {
        say_where(p, now, step, loss);
    } else if (now - p->drawn >= INTERVAL_NS) {
        p->drawn = now;
        draw(p, now, step, loss);
    }
}

// ---- Epochs ----

static bool is_told(const training_progress *p, uint64_t now, int epoch) {
    const uint64_t step = end_of(p, epoch);
    if (epoch + 1 == p->epochs || !p->said_epoch) return true;
    if (p->terminal && p->epochs <= LINES) return true;
    return seconds_since(p->said_epoch, now) >= spacing(p, now, step);
}

void training_progress_epoch(training_progress *p, uint64_t now, int epoch,
                             const epoch_figures *figures) {
    p->accuracy = figures->accuracy;
    if (!p->log || (p->terminal && progress_is_part()) || !is_told(p, now, epoch)) return;
    const double left = seconds_left(p, now, end_of(p, epoch));
    char measured[48] = "", span[DURATION_TEXT_BYTES], rest[DURATION_TEXT_BYTES + 16] = "";
    if (!isnan(figures->accuracy))
        snprintf(measured, sizeof measured, ", %s accuracy %.4f",
                 figures->validated ? "validation" : "test", figures->accuracy);
    if (!p->terminal && left >= SHORTEST_SPACING)
        snprintf(rest, sizeof rest, ", %s left", duration_text(left, span));
    training_progress_end(p);
    log_info(p->log, "epoch %d/%d: loss %.4f%s, %.2f s%s", epoch + 1, p->epochs, figures->loss,
             measured, figures->seconds, rest);
    p->said = p->said_epoch = now;
}

void training_progress_end(training_progress *p) {
    if (p->log && p->terminal) progress_line("");
}
