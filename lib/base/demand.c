// SPDX-License-Identifier: MIT
#include "base/demand.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

// The runnable threads of the machine; this one is among them. -1: unknown.
static long count_runnable(void) {
    long count = -1;
    FILE *f = fopen("/proc/loadavg", "re");
    if (!f) return -1;
    if (fscanf(f, "%*s %*s %*s %ld/", &count) != 1) count = -1;
    fclose(f);
    return count;
}

// In "12 (name) R …" the name may have any characters.
static bool is_runnable(const char *process, const char *thread) {
    char path[64], line[128];
    snprintf(path, sizeof path, "/proc/%s/task/%.20s/stat", process, thread);
    FILE *f = fopen(path, "re");
    if (!f) return false;
    const char *read = fgets(line, sizeof line, f), *end = read ? strrchr(line, ')') : NULL;
    fclose(f);
    return end && strncmp(end, ") R", 3) == 0;
}

static long count_runnable_of(pid_t process) {
    char number[16], path[32];
    long count = 0;
    snprintf(number, sizeof number, "%d", (int)process);
    snprintf(path, sizeof path, "/proc/%s/task", number);
    DIR *threads = opendir(path);
    for (const struct dirent *t; threads && (t = readdir(threads));)
        count += t->d_name[0] != '.' && is_runnable(number, t->d_name);
    if (threads) closedir(threads);
    return count;
}

uint32_t demand_of_others(const pid_t *own, size_t count) {
    enum { COUNTS = 3 };
    const struct timespec pause = {.tv_nsec = 1000000};
    uint32_t least = DEMAND_UNKNOWN;
    for (int i = 0; i < COUNTS && least; i++) {
        if (i) (void)nanosleep(&pause, NULL);
        long others = count_runnable() - 1;
        if (others < 0) return DEMAND_UNKNOWN;
        for (size_t k = 0; k < count && others > 0; k++) others -= count_runnable_of(own[k]);
        if (others < 0) others = 0; // one came to rest between the two counts
        if ((uint32_t)others < least) least = (uint32_t)others;
    }
    return least;
}
