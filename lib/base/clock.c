#include "base/clock.h"

#include <time.h>

uint64_t clock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void clock_utc(char *text) {
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(text, CLOCK_TEXT_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts);
}
