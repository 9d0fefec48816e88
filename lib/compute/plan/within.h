// SPDX-License-Identifier: MIT
// within.h - values that lie within other ones, so that slices and concats copy nothing.
//
// Samples are innermost in memory and channels outermost, so channels that follow each other are a
// part of the memory. What computes an input of a concat writes it into the concat's y, unless it
// is in another one already; and then its gradient is a part of the concat's dy, unless a later
// unit reads it too. Blocks of concats of concats (DenseNet) so have one y and one dy together.
#ifndef LOCKSTEP_COMPUTE_PLAN_WITHIN_H
#define LOCKSTEP_COMPUTE_PLAN_WITHIN_H

#include "compute/plan/units.h"

// Has slices, and what concats read, lie within other values wherever they can: `within` of a
// slice, and of what a concat reads, which then is where it has to be. `borders`: around each y,
// beginning with the input, as its own readers need them; NULL: none. A value within another one
// has its border, and a value with a border is not read as another shape.
void units_lie_within(unit_list *l, const int *borders);

// Return where the y, or the dy, of a unit (or the input) lies: which one is within no other, and
// where in it.
value_range units_place(const unit_list *l, int unit);
value_range units_gradient_place(const unit_list *l, int unit);

// Return whether x, or dx, of a moved unit lies where y, or dy, does: nothing has to be moved.
bool units_stays(const unit_list *l, int unit);
bool units_gradient_stays(const unit_list *l, int unit);

#endif
