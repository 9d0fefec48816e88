// SPDX-License-Identifier: MIT
// stage_result.h - what came out of a stage, in a few words.
#ifndef LOCKSTEP_PIPELINE_STAGE_RESULT_H
#define LOCKSTEP_PIPELINE_STAGE_RESULT_H

#include "base/text.h"

// Appends what the manifest in the folder says: ", accuracy 0.5980, loss 2.26 ▇▄▁ 1.14" with the
// course of the loss over the epochs, or only its end if `to` would have more than so many columns;
// nothing for stages without such results.
void stage_result_append(const char *folder, size_t columns, text *to);

#endif
