// SPDX-License-Identifier: MIT
// The demand of other programs: that of a child which computes.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/demand.h"

static pid_t start_busy(void) {
    const pid_t busy = fork();
    if (!busy) {
        alarm(60);
        for (volatile int i = 0; true; i = !i) {
        }
    }
    return busy;
}

static void end(pid_t busy) {
    kill(busy, SIGKILL);
    waitpid(busy, NULL, 0);
}

static void a_process_that_computes_is_counted(void **state) {
    (void)state;
    if (demand_of_others(NULL, 0) == DEMAND_UNKNOWN) skip();
    const pid_t busy = start_busy();
    assert_true(busy > 0);
    const uint32_t demand = demand_of_others(NULL, 0);
    end(busy);
    assert_true(demand >= 1 && demand != DEMAND_UNKNOWN);
}

// Other programs come and go; in one of many counts of the two next to each other they do not.
static void own_processes_are_not(void **state) {
    (void)state;
    if (demand_of_others(NULL, 0) == DEMAND_UNKNOWN) skip();
    const pid_t busy = start_busy();
    bool fewer = false;
    for (int i = 0; i < 500 && !fewer; i++)
        fewer = demand_of_others(&busy, 1) < demand_of_others(NULL, 0);
    end(busy);
    assert_true(fewer);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_process_that_computes_is_counted),
                                       cmocka_unit_test(own_processes_are_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
