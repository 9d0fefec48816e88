#include "base/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

static const uint64_t INTERVAL = 100000000; // nanoseconds

int progress_columns(void) {
    struct winsize size;
    bool told = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return told ? size.ws_col - 1 : 79;
}

void progress_line(const char *line) {
    char text[512];
    int fits = progress_columns(), length = (int)strlen(line);
    int used = snprintf(text, sizeof text, "\r%.*s\033[K", length < fits ? length : fits, line);
    if (used >= (int)sizeof text) used = (int)sizeof text - 1;
    ssize_t written = write(STDERR_FILENO, text, (size_t)used);
    (void)written; // nothing sensible is left to do when standard error is gone
}

void progress_begin(progress *p, const logger *log, const char *what) {
    *p = (progress){.log = log, .what = what};
    p->on = log && log->level >= LOG_NORMAL && isatty(STDERR_FILENO);
}

void progress_bytes(progress *p, uint64_t done, uint64_t total) {
    uint64_t now = clock_now();
    if (!p->on || (p->shown && now - p->last < INTERVAL)) return;
    p->shown = true;
    p->last = now;
    char line[256];
    if (total)
        snprintf(line, sizeof line, "%s: %s: %.1f of %.1f MB (%d%%)", p->log->tool, p->what,
                 (double)done / 1e6, (double)total / 1e6,
                 (int)(100.0 * (double)done / (double)total));
    else
        snprintf(line, sizeof line, "%s: %s: %.1f MB", p->log->tool, p->what, (double)done / 1e6);
    progress_line(line);
}

void progress_end(progress *p) {
    if (p->shown) progress_line("");
    p->shown = false;
}
