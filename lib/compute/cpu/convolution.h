// SPDX-License-Identifier: MIT
// convolution.h - the anchor of a unit, if it is a convolution. `dx` is dense; `db` is NULL if
// there is no bias.
#ifndef LOCKSTEP_COMPUTE_CPU_CONVOLUTION_H
#define LOCKSTEP_COMPUTE_CPU_CONVOLUTION_H

#include "compute/cpu/group_work.h"

void convolution_forward(const group_work *g, const unit *u);
void convolution_input(const group_work *g, const unit *u, float *dx);
void convolution_weights(const group_work *g, const unit *u, float *dw, float *db);
// By Winograd's algorithm: the tasks of one group of a chunk.
conv_task convolution_winograd(const group_work *g, const unit *u, const float *filters);
conv_task convolution_winograd_input(const group_work *g, const unit *u, const float *filters,
                                     float *dx);

#endif
