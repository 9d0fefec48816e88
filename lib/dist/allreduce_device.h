// SPDX-License-Identifier: MIT
// allreduce_device.h - vectors on devices, reduced there as the engines of train-ddp do: for
// allreduce_bench.h.
//
// A rank's vector is the gradient buffer of an engine (backend.h). The engine's program is one
// small layer in a parameter arena of the required size, so a step costs nothing and the gradient
// buffer has the required length.
#ifndef LOCKSTEP_DIST_ALLREDUCE_DEVICE_H
#define LOCKSTEP_DIST_ALLREDUCE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "compute/backend.h"
#include "dist/comm.h"

// Vector lengths are multiples of the first, and at least the second, in floats.
enum { DEVICE_VECTOR_STEP = 16, DEVICE_VECTOR_LEAST = 48 };

typedef struct device_vector device_vector;

// Opens a vector of n floats on this rank's device, of that backend and index. STATUS_FAILED if the
// ranks cannot reduce on devices: they would reduce through the host, which is not measured here.
status device_vector_open(const backend *b, int device, comm *c, size_t n, device_vector **v,
                          error *err) MUST_CHECK;
// Collective, after the last reduction of this vector; not after a failure.
status device_vector_leave(device_vector *v, error *err) MUST_CHECK;
void device_vector_close(device_vector *v); // NULL is fine

const char *device_vector_transport(const device_vector *v); // "nccl", "cuda ipc"

// Collective: replaces every rank's vector by the sum of all. Values grow from call to call and are
// not checked.
status device_vector_reduce(device_vector *v, bool fast, error *err) MUST_CHECK;
// Makes one reduction and checks its known result: STATUS_FAILED if it is wrong.
status device_vector_check(device_vector *v, bool fast, error *err) MUST_CHECK;

#endif
