// SPDX-License-Identifier: MIT
// signals.h - stopping on request. Signal handlers may only set a flag, so this is the one place
// with process-wide state; signals are process-wide, too.
#ifndef LOCKSTEP_BASE_SIGNALS_H
#define LOCKSTEP_BASE_SIGNALS_H

#include "base/error.h"

// Makes SIGINT, SIGTERM and SIGUSR1 only record that they arrived. (A second SIGINT ends the
// process at once.)
void signals_watch(void);

// Returns the signal that asked to stop, or 0.
int signals_pending(void);

// Ends the process by `signal` itself, so that the caller's shell sees the cause. For SIGINT, after
// saving.
_Noreturn void signals_end_process(int signal);

#endif
