// SPDX-License-Identifier: MIT
// layers.h - the operations of a layer that begins a unit, as its anchor or unfused. Epilogues and
// sums have theirs in operations.c, whatever their layers.
#ifndef LOCKSTEP_COMPUTE_CPU_LAYERS_H
#define LOCKSTEP_COMPUTE_CPU_LAYERS_H

#include "compute/cpu/group_work.h"

typedef struct cpu_anchor {
    void (*forward)(const group_work *g, const unit *u); // writes z
    void (*backward)(const group_work *g, const unit *u, float *dx);
    void (*weights)(const group_work *g, const unit *u, float *dw, float *db);
} cpu_anchor;
extern const cpu_anchor cpu_anchors[LAYER_KINDS];

void unfused_forward(const group_work *g, const unit *u);
void unfused_backward(const group_work *g, const unit *u, float *dx); // and its tensors

#endif
