// SPDX-License-Identifier: MIT
#include "base/signals.h"

#include <signal.h>
#include <stdlib.h>

static volatile sig_atomic_t pending;

static void note(int signal) {
    pending = signal;
}

void signals_watch(void) {
    pending = 0;
    // SA_RESTART: reads and writes go on; loops call signals_pending between steps.
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags |= (int)SA_RESETHAND;
    sigaction(SIGINT, &action, NULL);
}

int signals_pending(void) {
    return pending;
}

void signals_end_process(int number) {
    signal(number, SIG_DFL);
    raise(number);
    abort(); // not reached: the default action of these signals ends the process
}
