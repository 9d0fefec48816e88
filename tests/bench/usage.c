// SPDX-License-Identifier: MIT
// usage.c - runs a command, and measures its time and memory.
//
//     cc -O2 usage.c -o usage && ./usage FILE COMMAND...
//
// Writes "SECONDS KIB" to FILE: wall time from before the start to after the end, and the largest
// resident set of the command or of any process that it has waited for. The exit code is the
// command's; 128 plus the signal if a signal ended it, 127 if it could not be started.
//
// This is a separate program for two reasons: shells do not report these figures, and a process
// starts with its parent's resident set, so the parent must be small.
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: usage FILE COMMAND...\n");
        return 2;
    }
    pid_t child;
    int state;
    struct rusage used;
    double start = now();
    int failure = posix_spawnp(&child, argv[2], NULL, NULL, argv + 2, environ);
    if (failure) {
        fprintf(stderr, "usage: cannot start '%s': %s\n", argv[2], strerror(failure));
        return 127;
    }
    while (wait4(child, &state, 0, &used) < 0)
        if (errno != EINTR) return 127;
    double seconds = now() - start;
    FILE *file = fopen(argv[1], "w");
    if (!file || fprintf(file, "%.6f %ld\n", seconds, used.ru_maxrss) < 0 || fclose(file)) {
        fprintf(stderr, "usage: cannot write '%s'\n", argv[1]);
        return 127;
    }
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}
