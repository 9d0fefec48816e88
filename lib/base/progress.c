// SPDX-License-Identifier: MIT
#include "base/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number_text.h"

static const uint64_t INTERVAL = 200000000, SHORT_JOB = 500000000; // nanoseconds

// ---- Lines ----

int progress_terminal_columns(int fd, int otherwise) {
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

int progress_columns(void) {
    return progress_terminal_columns(STDERR_FILENO, 80) - 1;
}

bool progress_is_part(void) {
    const char *place = getenv("LOCKSTEP_PLACE");
    return place && *place;
}

const char *progress_label(const logger *log, double *after) {
    const char *seconds = getenv("LOCKSTEP_SECONDS_AFTER");
    if (after) *after = seconds ? strtod(seconds, NULL) : 0;
    return progress_is_part() ? getenv("LOCKSTEP_PLACE") : log->tool;
}

void progress_line(const char *line) {
    char text[512];
    int fits = progress_columns(), length = (int)strlen(line);
    int used = snprintf(text, sizeof text, "\r%.*s\033[K", length < fits ? length : fits, line);
    if (used >= (int)sizeof text) used = (int)sizeof text - 1;
    ssize_t written = write(STDERR_FILENO, text, (size_t)used);
    (void)written; // nothing sensible is left to do if standard error is gone
}

// A bar that is long enough to read takes precedence over extras. Around it: brackets and a blank.
enum { LONGEST_BAR = 24, SHORTEST_BAR = 6, SHORTEST_BESIDE_EXTRAS = 10, AROUND_BAR = 3 };

static void write_bar(char *to, int length, double share) {
    *to++ = '[';
    for (int i = 0; i < length; i++) *to++ = (double)i < share * length ? '#' : ' ';
    memcpy(to, "] ", sizeof "] ");
}

static void compose(const progress_parts *p, bool tool, int bar, int extras,
                    char line[PROGRESS_LINE_BYTES]) {
    char drawn[LONGEST_BAR + AROUND_BAR + 1] = "";
    if (bar) write_bar(drawn, bar, p->share);
    int used = snprintf(line, PROGRESS_LINE_BYTES, "%s%s%s %s %s", tool ? p->tool : "",
                        tool ? ": " : "", p->head, drawn, p->tail);
    for (int i = 0; i < extras && used < PROGRESS_LINE_BYTES; i++)
        used += snprintf(line + used, (size_t)(PROGRESS_LINE_BYTES - used), "  %s", p->extras[i]);
}

// The longest bar with which the line fits; 0 if there is none.
static int fit_bar(const progress_parts *p, bool tool, int extras, int columns) {
    char line[PROGRESS_LINE_BYTES];
    compose(p, tool, 0, extras, line);
    const int left = columns - (int)strlen(line) - AROUND_BAR;
    const int shortest = extras ? SHORTEST_BESIDE_EXTRAS : SHORTEST_BAR;
    return left < shortest ? 0 : left < LONGEST_BAR ? left : LONGEST_BAR;
}

void progress_compose(const progress_parts *p, int columns, char line[PROGRESS_LINE_BYTES]) {
    int given = 0;
    while (given < 3 && p->extras[given]) given++;
    // From the fullest line to the shortest one.
    for (int extras = given, tool = 1; tool >= 0; extras ? extras-- : tool--) {
        const int bar = p->share < 0 ? 0 : fit_bar(p, tool, extras, columns);
        compose(p, tool, bar, extras, line);
        if ((bar || p->share < 0) && (int)strlen(line) <= columns) return;
    }
    compose(p, false, 0, 0, line);
    if (columns >= 0 && columns < PROGRESS_LINE_BYTES) line[columns] = '\0';
}

// ---- A job ----

void progress_begin(progress *p, const logger *log, const char *what, const char *unit) {
    *p = (progress){.log = log, .what = what, .unit = unit, .began = clock_now()};
    p->on = log && log->level >= LOG_NORMAL && isatty(STDERR_FILENO);
}

static void write_amount(const progress *p, uint64_t done, uint64_t total, char text[96]) {
    const double mega = 1e6;
    if (p->unit && total)
        snprintf(text, 96, "%llu of %llu %s", (unsigned long long)done, (unsigned long long)total,
                 p->unit);
    else if (p->unit)
        snprintf(text, 96, "%llu %s", (unsigned long long)done, p->unit);
    else if (total)
        snprintf(text, 96, "%.1f of %.1f MB", (double)done / mega, (double)total / mega);
    else
        snprintf(text, 96, "%.1f MB", (double)done / mega);
}

void progress_show(progress *p, uint64_t done, uint64_t total) {
    if (!p || !p->on) return;
    const uint64_t now = clock_now();
    if (now - p->began < SHORT_JOB || (p->shown && now - p->last < INTERVAL)) return;
    p->shown = true;
    p->last = now;
    char amount[96], span[DURATION_TEXT_BYTES], left[DURATION_TEXT_BYTES + 8];
    char line[PROGRESS_LINE_BYTES];
    progress_parts parts = {
        .tool = progress_label(p->log, NULL), .head = p->what, .tail = amount, .share = -1};
    write_amount(p, done, total, amount);
    if (total) parts.share = (double)done / (double)total;
    if (done && done <= total) {
        const double seconds = (double)(now - p->began) / 1e9;
        duration_text(seconds / (double)done * (double)(total - done), span);
        snprintf(left, sizeof left, "%s left", span);
        parts.extras[0] = left;
    }
    progress_compose(&parts, progress_columns(), line);
    progress_line(line);
}

void progress_end(progress *p) {
    if (p->shown) progress_line("");
    p->shown = false;
}
