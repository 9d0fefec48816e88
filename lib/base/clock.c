// SPDX-License-Identifier: MIT
#include "base/clock.h"

#include <string.h>
#include <time.h>

static const char FORMAT[] = "%Y-%m-%dT%H:%M:%SZ";

uint64_t clock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void clock_utc(char *text) {
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(text, CLOCK_TEXT_BYTES, FORMAT, &parts);
}

bool clock_read_utc(const char *text, int64_t *seconds) {
    struct tm parts = {0};
    char again[CLOCK_TEXT_BYTES];
    const char *end = strptime(text, FORMAT, &parts);
    if (!end || *end) return false;
    *seconds = timegm(&parts);
    // timegm changes the parts of a date that does not exist, such as February 30.
    return strftime(again, sizeof again, FORMAT, &parts) && strcmp(again, text) == 0;
}
