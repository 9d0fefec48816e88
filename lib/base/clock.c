// SPDX-License-Identifier: MIT
#include "base/clock.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char FORMAT[] = "%Y-%m-%dT%H:%M:%SZ";

uint64_t clock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void clock_write_utc(int64_t seconds, char *text) {
    const time_t at = (time_t)seconds;
    struct tm parts;
    if (!gmtime_r(&at, &parts) || !strftime(text, CLOCK_TEXT_BYTES, FORMAT, &parts)) *text = 0;
}

void clock_utc(char *text) {
    clock_write_utc(time(NULL), text);
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

// The second number of schedstat: nanoseconds in a run queue.
static double read_waited_of(const char *thread) {
    char path[64];
    unsigned long long ran, waited;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", thread);
    FILE *file = fopen(path, "re");
    if (!file) return 0; // it has ended
    const int read = fscanf(file, "%llu %llu", &ran, &waited);
    fclose(file);
    return read == 2 ? (double)waited / 1e9 : 0;
}

double clock_waited(void) {
    double sum = 0;
    if (access("/proc/self/schedstat", R_OK)) return NAN;
    DIR *threads = opendir("/proc/self/task");
    if (!threads) return NAN;
    for (const struct dirent *d; (d = readdir(threads));)
        if (d->d_name[0] != '.') sum += read_waited_of(d->d_name);
    closedir(threads);
    return sum;
}

// Adds up a line "cpu3 user nice system idle iowait irq softirq steal …", without idle and iowait.
static void read_core(const char *line, double ticks, core_use *now) {
    unsigned core;
    double t[8];
    if (sscanf(line, "cpu%u %lf %lf %lf %lf %lf %lf %lf %lf", &core, &t[0], &t[1], &t[2], &t[3],
               &t[4], &t[5], &t[6], &t[7]) != 9 ||
        core >= CORE_USE_CORES)
        return;
    now->used[core] = (t[0] + t[1] + t[2] + t[5] + t[6] + t[7]) / ticks;
    now->stolen[core] = t[7] / ticks;
}

void core_use_read(core_use *now) {
    char line[512];
    const long ticks = sysconf(_SC_CLK_TCK);
    for (int i = 0; i < CORE_USE_CORES; i++) now->used[i] = now->stolen[i] = NAN;
    FILE *file = ticks > 0 ? fopen("/proc/stat", "re") : NULL;
    while (file && fgets(line, sizeof line, file)) read_core(line, (double)ticks, now);
    if (file) fclose(file);
}
