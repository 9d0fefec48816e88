// allreduce_device.h - vectors on devices that ranks reduce there, as the engines of train-ddp do:
// for allreduce_bench.h.
//
// A rank's vector is the record of an engine (backend.h). Its program is one small layer, in a
// parameter arena as large as is wanted: so a step costs nothing, and what is reduced is as long as
// it should be.
#ifndef LOCKSTEP_DIST_ALLREDUCE_DEVICE_H
#define LOCKSTEP_DIST_ALLREDUCE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "compute/backend.h"
#include "dist/comm.h"

// What the lengths of vectors are multiples of, and the shortest one, in floats.
enum { DEVICE_VECTOR_STEP = 16, DEVICE_VECTOR_LEAST = 48 };

typedef struct device_vector device_vector;

// One of n floats on this rank's device, of that backend and index. STATUS_FAILED where the ranks
// cannot reduce there: without devices they reduce through the host, which is not measured here.
status device_vector_open(const backend *b, int device, comm *c, size_t n, device_vector **v,
                          error *err) MUST_CHECK;
void device_vector_close(device_vector *v); // NULL is fine

const char *device_vector_transport(const device_vector *v); // "nccl", "cuda ipc"

// All ranks together: the sum of their vectors takes the place of each. The numbers grow from one
// to the next; nobody looks at them.
status device_vector_reduce(device_vector *v, bool fast, error *err) MUST_CHECK;
// One reduction whose result is known and is compared: STATUS_FAILED if it is wrong.
status device_vector_check(device_vector *v, bool fast, error *err) MUST_CHECK;

#endif
