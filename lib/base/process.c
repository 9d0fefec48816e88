// SPDX-License-Identifier: MIT
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

// Opened for the wrong direction, so that using the stream stays an error (EBADF).
static void fill_closed_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return; // there is no /dev/null
}

void process_begin(void) {
    fill_closed_streams();
    signal(SIGXFSZ, SIG_IGN);
}

// In this order, because the parent may end in between.
bool process_end_with_parent(pid_t parent, int number) {
    return prctl(PR_SET_PDEATHSIG, number) == 0 && getppid() == parent;
}

void process_host(char name[PROCESS_HOST_BYTES]) {
    name[PROCESS_HOST_BYTES - 1] = 0;
    if (gethostname(name, PROCESS_HOST_BYTES - 1)) snprintf(name, PROCESS_HOST_BYTES, "unknown");
}
