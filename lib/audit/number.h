// SPDX-License-Identifier: MIT
// number.h - a number as printed, and the range of values that it may stand for.
//
// "504.28" stands for any value from 504.275 to 504.285. Arithmetic on such ranges instead of
// numbers distinguishes a wrong figure from a rounded one.
#ifndef LOCKSTEP_AUDIT_NUMBER_H
#define LOCKSTEP_AUDIT_NUMBER_H

#include <stdbool.h>

#include "base/error.h"
#include "base/interval.h"
#include "base/printed.h"
#include "base/yaml_tree.h"

enum { STATED_TEXT_BYTES = 80 };

typedef struct stated {
    bool given;
    double value;    // as printed; the middle of a range
    interval range;  // all values that it may stand for
    bool is_range;   // given as [LOWEST, HIGHEST], or as a ± b
    bool has_unit;   // printed with one: 93.02%
    bool per_device; // a rate of each device
    bool of_all;     // a rate that is known to be of all devices
    // As printed, and what it means if that is another number: "504.28", "~2.5", "78–82",
    // "(2m36s = 156)", "(93.5 ± 0.2 = 93.3–93.7)".
    char text[STATED_TEXT_BYTES];
} stated;

typedef enum stated_kind {
    STATED_COUNT,   // a whole number, exact
    STATED_SETTING, // exact: chosen, not measured
    STATED_FIGURE,  // rounded to the printed digits: a mere number, or STATED_IN(a unit)
} stated_kind;
#define STATED_IN(unit) ((stated_kind)((int)STATED_FIGURE + (int)(unit)))

// Reads a number, or a figure with a unit (printed.h), or [78, ~82] (lowest to highest). Fails with
// STATUS_INPUT, also for a value below `min`, or equal to it if `above`.
status stated_read(const yaml_node *node, const char *key, stated_kind kind, double min, bool above,
                   stated *s, error *err) MUST_CHECK;

// Sets the text to "(PRINTED = MEANING)"; `meaning` is that of a range.
void stated_explain(stated *s, const char *as_printed, interval meaning);
// Makes the rate of each device that of all: "(8 x 110 = 880)".
void stated_of_all(stated *s, const stated *devices);
// The inverse of a value above 0, with the text of the value itself.
stated stated_inverse(const stated *s);

// Interval arithmetic. Products and quotients require operands >= 0. A quotient by a range that
// reaches zero has no upper end: INFINITY.
interval interval_add(interval a, interval b);
interval interval_subtract(interval a, interval b);
interval interval_multiply(interval a, interval b);
interval interval_divide(interval a, interval b);
interval interval_exact(double x);

// Do the ranges have a value in common (within a few rounding errors of double)?
bool interval_meet(interval a, interval b);

// z of the difference between two independent proportions p (fractions) of n, with the pooled
// variance. For two models on the same test images, |z| is conservative: images that both get right
// or wrong add no difference, so the true variance is smaller. For two methods it is not
// conservative: it ignores the variance between seeds.
double proportions_z(double p1, double n1, double p2, double n2);

#endif
