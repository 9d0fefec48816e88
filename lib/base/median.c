// SPDX-License-Identifier: MIT
#include "base/median.h"

#include <math.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *values, size_t count) {
    if (!count) return NAN;
    qsort(values, count, sizeof *values, by_size);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}
