#include "train/training_progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum { BAR = 24, INTERVAL_NS = 200000000 };

void training_progress_begin(training_progress *p, const logger *log, int epochs,
                             uint64_t steps_per_epoch, uint64_t first_step) {
    *p = (training_progress){.log = log && log->level > LOG_QUIET ? log : NULL,
                             .terminal = isatty(STDERR_FILENO) == 1,
                             .epochs = epochs,
                             .steps_per_epoch = steps_per_epoch,
                             .first_step = first_step,
                             .began = clock_now()};
}

static void draw(const char *line) {
    ssize_t written = write(STDERR_FILENO, line, strlen(line));
    (void)written; // nothing sensible is left to do when standard error is gone
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
    char bar[BAR + 1], line[256];
    for (int i = 0; i < BAR; i++)
        bar[i] = (uint64_t)i * p->steps_per_epoch < in_epoch * BAR ? '=' : ' ';
    bar[BAR] = '\0';
    snprintf(line, sizeof line,
             "\r%s: epoch %" PRIu64 "/%d [%s] %.0f images/s  loss %.4f  %d:%02d left \033[K",
             p->log->tool, epoch + 1, p->epochs, bar, (double)p->images / seconds, (double)loss,
             (int)left / 60, (int)left % 60);
    draw(line);
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
    if (p->log && p->terminal) draw("\r\033[K");
}
