// SPDX-License-Identifier: MIT
// few.h - fewer cases of the large test matrices, for runs that cannot take minutes for one file.
//
// LOCKSTEP_TEST_CASES=FEW: a third of them; `make test` sets it. FEWEST: a ninth; the sanitizers
// set it, because they slow the same code down tenfold. All cases: `make test-unit`, `make
// test-ops`, `make test-emulation` and, on a GPU, `make test-cuda`.
#ifndef LOCKSTEP_TESTS_FEW_H
#define LOCKSTEP_TESTS_FEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// Returns n if one of n cases is run.
static inline size_t one_case_of(void) {
    const char *which = getenv("LOCKSTEP_TEST_CASES");
    if (which && strcmp(which, "FEW") == 0) return 3;
    return which && strcmp(which, "FEWEST") == 0 ? 9 : 1;
}

static inline bool few_cases(void) {
    return one_case_of() > 1;
}

static inline bool fewest_cases(void) {
    return one_case_of() > 3;
}

// Whether to leave out the case in this row and column of a matrix. The remaining ones lie in
// diagonals, so that each row and each column of as many cases still has one.
static inline bool is_left_out(size_t row, size_t column) {
    return (row + column) % one_case_of() != 0;
}

#endif
