// SPDX-License-Identifier: MIT
#include "base/cores.h"

#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 4096, MOST = CPU_SETSIZE };

// Reads the first line of a file below `root`. Returns false if there is none, or it is too long.
static bool read_line(char line[LINE], const char *root, const char *folder, const char *path,
                      const char *name) {
    char whole[2 * LINE];
    const int length = snprintf(whole, sizeof whole, "%s%s%s/%s", root, folder, path, name);
    FILE *f = length > 0 && length < (int)sizeof whole ? fopen(whole, "re") : NULL;
    const bool found = f && fgets(line, LINE, f);
    if (f) fclose(f);
    return found;
}

// ---- Quotas ----

static double smaller_quota(double a, double b) {
    return a > 0 && (b <= 0 || a < b) ? a : b;
}

// Of one control group. Version 2: "QUOTA PERIOD", or "max PERIOD"; version 1: two files, and -1
// without a quota.
static double quota_of(const char *root, const char *folder, const char *path) {
    char line[LINE];
    double quota, period;
    if (read_line(line, root, folder, path, "cpu.max"))
        return sscanf(line, "%lf %lf", &quota, &period) == 2 && period > 0 ? quota / period : 0;
    if (!read_line(line, root, folder, path, "cpu.cfs_quota_us") ||
        sscanf(line, "%lf", &quota) != 1 || quota <= 0)
        return 0;
    if (!read_line(line, root, folder, path, "cpu.cfs_period_us") ||
        sscanf(line, "%lf", &period) != 1 || period <= 0)
        return 0;
    return quota / period;
}

// Of a control group and those around it. In a container the path may be the host's, of which only
// the end of the way up exists.
static double quota_along(const char *root, const char *folder, char *path) {
    double quota = 0;
    for (;;) {
        char *last = strrchr(path, '/');
        quota = smaller_quota(quota_of(root, folder, path), quota);
        if (!last) return quota;
        *last = 0;
    }
}

// A line of /proc/self/cgroup is "NUMBER:CONTROLLERS:PATH"; version 2 has no controllers.
static double quota_of_line(const char *root, char *line) {
    char *controllers = strchr(line, ':'),
         *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) return 0;
    *path++ = 0;
    controllers++;
    path[strcspn(path, "\n")] = 0;
    if (!*controllers) return quota_along(root, "/sys/fs/cgroup", path);
    if (strcmp(controllers, "cpu") == 0) return quota_along(root, "/sys/fs/cgroup/cpu", path);
    if (strcmp(controllers, "cpu,cpuacct") == 0)
        return quota_along(root, "/sys/fs/cgroup/cpu,cpuacct", path);
    return 0;
}

double cores_quota(const char *root) {
    char name[LINE], line[LINE];
    double quota = 0;
    if (snprintf(name, sizeof name, "%s/proc/self/cgroup", root) >= (int)sizeof name) return 0;
    FILE *f = fopen(name, "re");
    while (f && fgets(line, sizeof line, f))
        quota = smaller_quota(quota_of_line(root, line), quota);
    if (f) fclose(f);
    return quota;
}

// ---- Siblings ----

// Does a list like "0,8" or "0-1" have a processor below `own` that is in the set?
static bool has_lower(const char *list, size_t own, const cpu_set_t *set) {
    while (*list) {
        size_t first, end;
        int length;
        if (sscanf(list, "%zu%n", &first, &length) != 1) return false;
        list += length;
        end = first;
        if (sscanf(list, "-%zu%n", &end, &length) == 1) list += length;
        for (size_t i = first; i <= end && i < own; i++)
            if (CPU_ISSET(i, set)) return true;
        if (*list++ != ',') return false;
    }
    return false;
}

static int count_separate(const char *root, const cpu_set_t *set) {
    char folder[64], list[LINE];
    int n = 0;
    for (size_t i = 0; i < MOST; i++) {
        if (!CPU_ISSET(i, set)) continue;
        snprintf(folder, sizeof folder, "/sys/devices/system/cpu/cpu%zu", i);
        const bool known = read_line(list, root, folder, "/topology", "thread_siblings_list");
        n += !(known && has_lower(list, i, set));
    }
    return n;
}

int cores_without_siblings(const char *root, int count) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t i = 0; i < (size_t)count && i < MOST; i++) CPU_SET(i, &set);
    return count_separate(root, &set);
}

// ---- This process ----

static int within_quota(int processors) {
    const double quota = cores_quota("");
    if (quota > 0 && quota < processors) processors = (int)ceil(quota);
    return processors > 1 ? processors : 1;
}

int cores_usable(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return within_quota(CPU_COUNT(&set));
    return within_quota((int)sysconf(_SC_NPROCESSORS_ONLN));
}

int cores_separate(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return within_quota(count_separate("", &set));
    return cores_usable();
}
