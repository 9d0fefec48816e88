#include "base/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

static const uint64_t INTERVAL = 100000000; // nanoseconds

void progress_begin(progress *p, const logger *log, const char *what) {
    *p = (progress){.log = log, .what = what};
    p->on = log && log->level >= LOG_NORMAL && isatty(STDERR_FILENO);
}

void progress_bytes(progress *p, uint64_t done, uint64_t total) {
    uint64_t now = clock_now();
    if (!p->on || (p->shown && now - p->last < INTERVAL)) return;
    p->shown = true;
    p->last = now;
    if (total)
        dprintf(STDERR_FILENO, "\r%s: %s: %.1f of %.1f MB (%d%%)\033[K", p->log->tool, p->what,
                (double)done / 1e6, (double)total / 1e6,
                (int)(100.0 * (double)done / (double)total));
    else
        dprintf(STDERR_FILENO, "\r%s: %s: %.1f MB\033[K", p->log->tool, p->what,
                (double)done / 1e6);
}

void progress_end(progress *p) {
    if (p->shown) dprintf(STDERR_FILENO, "\r\033[K");
    p->shown = false;
}
