#include "train/training_progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/progress.h"

// The bar gives way where a terminal is narrow, and is left out where it would say little.
enum { LONGEST_BAR = 24, SHORTEST_BAR = 6, INTERVAL_NS = 200000000 };

void training_progress_begin(training_progress *p, const logger *log, int epochs,
                             uint64_t steps_per_epoch, uint64_t first_step) {
    *p = (training_progress){.log = log && log->level > LOG_QUIET ? log : NULL,
                             .terminal = isatty(STDERR_FILENO) == 1,
                             .epochs = epochs,
                             .steps_per_epoch = steps_per_epoch,
                             .first_step = first_step,
                             .began = clock_now()};
}

// "[====    ] ", in what `used` columns leave of a line; "" where that is not enough.
static void write_bar(char text[LONGEST_BAR + 4], uint64_t done, uint64_t total, int used) {
    int length = progress_columns() - used - (int)strlen("[] ");
    *text = '\0';
    if (length < SHORTEST_BAR) return;
    if (length > LONGEST_BAR) length = LONGEST_BAR;
    *text++ = '[';
    for (int i = 0; i < length; i++)
        *text++ = (uint64_t)i * total < done * (uint64_t)length ? '=' : ' ';
    memcpy(text, "] ", sizeof "] ");
}

void training_progress_step(training_progress *p, uint64_t step, int images, float loss) {
    if (!p->log || !p->terminal) return;
    p->images += (uint64_t)images;
    uint64_t now = clock_now();
    if (now - p->drawn < INTERVAL_NS) return;
    p->drawn = now;
    uint64_t total = p->steps_per_epoch * (uint64_t)p->epochs;
    uint64_t epoch = (step - 1) / p->steps_per_epoch, in_epoch = step - epoch * p->steps_per_epoch;
    double seconds = (double)(now - p->began) / 1e9;
    double left = seconds / (double)(step - p->first_step) * (double)(total - step);
    char where[96], what[96], bar[LONGEST_BAR + 4], line[256];
    int used = snprintf(where, sizeof where, "%s: epoch %" PRIu64 "/%d", p->log->tool, epoch + 1,
                        p->epochs);
    used += snprintf(what, sizeof what, "%d:%02d left  loss %.4f  %.0f images/s", (int)left / 60,
                     (int)left % 60, (double)loss, (double)p->images / seconds);
    write_bar(bar, in_epoch, p->steps_per_epoch, used + 1);
    snprintf(line, sizeof line, "%s %s%s", where, bar, what);
    progress_line(line);
}

void training_progress_epoch(training_progress *p, int epoch, double loss, double accuracy,
                             double seconds) {
    if (!p->log) return;
    training_progress_end(p);
    char measured[48] = "";
    if (!isnan(accuracy)) snprintf(measured, sizeof measured, ", test accuracy %.4f", accuracy);
    log_info(p->log, "epoch %d/%d: loss %.4f%s, %.2f s", epoch + 1, p->epochs, loss, measured,
             seconds);
}

void training_progress_end(training_progress *p) {
    if (p->log && p->terminal) progress_line("");
}
