// SPDX-License-Identifier: MIT
// layers.h - the operations of a layer that begins a unit, as its anchor or unfused. Epilogues and
// sums have theirs in operations.c, whatever their layers.
#ifndef LOCKSTEP_COMPUTE_CPU_LAYERS_H
#define LOCKSTEP_COMPUTE_CPU_LAYERS_H

#include "compute/cpu/group_work.h"

typedef struct cpu_layer {
    void (*forward)(const group_work *g, const unit *u);             // writes z; unfused: y
    void (*backward)(const group_work *g, const unit *u, float *dx); // unfused: dw and db, too
    void (*weights)(const group_work *g, const unit *u, float *dw, float *db); // anchor
} cpu_layer;
extern const cpu_layer cpu_layers[LAYER_KINDS];

#endif
