// SPDX-License-Identifier: MIT
// plan_text.h - a plan as text for readers, one line for each operation.
#ifndef LOCKSTEP_COMPUTE_PLAN_PLAN_TEXT_H
#define LOCKSTEP_COMPUTE_PLAN_PLAN_TEXT_H

#include "base/text.h"
#include "compute/plan/step_plan.h"

void plan_text(const step_plan *plan, text *out);

#endif
