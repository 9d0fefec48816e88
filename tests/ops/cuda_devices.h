// SPDX-License-Identifier: MIT
// cuda_devices.h - the number of GPUs, emulated or not, for tests with several engines.
#ifndef LOCKSTEP_TESTS_CUDA_DEVICES_H
#define LOCKSTEP_TESTS_CUDA_DEVICES_H

#include "compute/devices.h"

// Returns 1 to 4. A child process counts them, so that this one may still fork.
static int count_devices(void) {
    static const char *const lists[] = {"cuda:0,cuda:1", "cuda:0,cuda:1,cuda:2",
                                        "cuda:0,cuda:1,cuda:2,cuda:3"};
    int count = 1;
    for (int i = 0; i < (int)(sizeof lists / sizeof *lists); i++) {
        error err;
        devices d;
        if (devices_parse(&d, lists[i], &err) != STATUS_OK ||
            devices_open(&d, i + 2, NULL, &err) != STATUS_OK)
            break;
        count = i + 2;
    }
    return count;
}

#endif
