// SPDX-License-Identifier: MIT
// philox.h - Philox4x32-10, the function that makes the numbers of random.h, for CPUs and CUDA
// devices: the same bits on both.
//
// Method: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011. tests/unit/test_random.c checks it against the known answers published with that paper.
#ifndef LOCKSTEP_BASE_PHILOX_H
#define LOCKSTEP_BASE_PHILOX_H

#include <stdint.h>

#include "base/host_device.h"

enum { PHILOX_ROUNDS = 10 };

// Replaces the counter by its four random words.
HOST_DEVICE static inline void philox4x32(uint64_t key, uint32_t counter[4]) {
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        const uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9u; // Weyl sequence: golden ratio, sqrt(3) - 1
        k1 += 0xBB67AE85u;
    }
    counter[0] = c0;
    counter[1] = c1;
    counter[2] = c2;
    counter[3] = c3;
}

#endif
