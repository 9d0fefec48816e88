// SPDX-License-Identifier: MIT
// The order of things that have none by themselves.
#include "emulation.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace emulation {

order run_order() {
    const char *text = getenv("LOCKSTEP_EMULATED_ORDER");
    if (!text || !*text || strcmp(text, "forward") == 0) return order::forward;
    if (strcmp(text, "backward") == 0) return order::backward;
    if (strcmp(text, "shuffle") == 0) return order::shuffle;
    fprintf(stderr, "emulation: LOCKSTEP_EMULATED_ORDER=%s: one of forward, backward, shuffle\n",
            text);
    abort();
}

// Knuth's linear congruential generator (MMIX): every run of a program gets the same orders.
static size_t random_below(size_t n) {
    static unsigned long long state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(state >> 33) % n;
}

void arrange(std::vector<size_t> *numbers, size_t n) {
    const order how = run_order();
    numbers->resize(n);
    if (how == order::backward)
        std::iota(numbers->rbegin(), numbers->rend(), (size_t)0);
    else
        std::iota(numbers->begin(), numbers->end(), (size_t)0);
    if (how == order::shuffle)
        for (size_t i = n; i > 1; i--) std::swap((*numbers)[i - 1], (*numbers)[random_below(i)]);
}

} // namespace emulation
