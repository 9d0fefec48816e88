// SPDX-License-Identifier: MIT
// few.h - fewer cases of the large test matrices, for runs that cannot take minutes for one file.
//
// LOCKSTEP_TEST_CASES=FEW: `make test` and the sanitizers set it. All cases: `make test-unit`,
// `make test-ops`, `make test-emulation` and, on a GPU, `make test-cuda`.
#ifndef LOCKSTEP_TESTS_FEW_H
#define LOCKSTEP_TESTS_FEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static inline bool few_cases(void) {
    const char *which = getenv("LOCKSTEP_TEST_CASES");
    return which && strcmp(which, "FEW") == 0;
}

// Whether to leave out the case in this row and column of a matrix. A third remains, in diagonals,
// so that each row and each column of three or more cases still has one.
static inline bool is_left_out(size_t row, size_t column) {
    return few_cases() && (row + column) % 3 != 0;
}

#endif
