// SPDX-License-Identifier: MIT
// exchange.h - what crosses between engines: activations, logits and their gradients, as blocks of
// [features][GROUP]; and the loss of logits from several engines.
#ifndef LOCKSTEP_COMPUTE_CPU_EXCHANGE_H
#define LOCKSTEP_COMPUTE_CPU_EXCHANGE_H

#include "compute/cpu/group_work.h"

// Copies this group's block from those of the part's input, or to those of its output.
void exchange_receive(const group_work *g, place to);
void exchange_send(const group_work *g, place from);

// As `loss` in backend.h.
void exchange_loss(const execution *e, const batch *whole, float *logits, float *losses);

#endif
