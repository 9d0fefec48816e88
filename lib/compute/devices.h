// SPDX-License-Identifier: MIT
// devices.h - the devices named on a command line: parsing the list, finding the devices, and
// opening the backend that computes on them.
//
//     auto                  the GPUs if there are any, else the cpu
//     cpu    cpu,cpu        the cpu; the cpu for two ranks
//     cuda   cuda:1         the first GPU; the second one
//     cuda:0,cuda:1         two GPUs, assigned to ranks, replicas or stages in turn
//     cuda:0,cuda:0         one GPU for two ranks
//     cpu,cuda:0            the cpu for one rank, a GPU for the other
#ifndef LOCKSTEP_COMPUTE_DEVICES_H
#define LOCKSTEP_COMPUTE_DEVICES_H

#include "base/error.h"
#include "base/log.h"
#include "compute/backend.h"
#include "compute/cuda/library.h"

enum { DEVICES_MAX = 64, DEVICES_TEXT_BYTES = 32 };

typedef enum device_kind { DEVICE_AUTO, DEVICE_CPU, DEVICE_CUDA } device_kind;

typedef struct listed_device {
    device_kind kind; // DEVICE_AUTO until devices_open has decided
    int index;        // of a GPU; else 0
} listed_device;

typedef struct devices {
    int count;                       // of the list, at least 1
    listed_device list[DEVICES_MAX]; // rank, replica or stage r uses list[r mod count]
    bool exact;                      // GPUs add in the CPU's order (engine_options.exact)
    // From devices_open:
    const cuda_library *cuda; // NULL without GPUs
    int gpu_count;
    device_info gpus[DEVICES_MAX]; // the GPUs of the list, each once
} devices;

// Parses a list. STATUS_USAGE if it is invalid. Does not look for any device yet.
status devices_parse(devices *d, const char *text, error *err) MUST_CHECK;

// Sets `exact` from the value of --math, after devices_parse. STATUS_USAGE if it is invalid, or if
// it gives the cpu and the GPUs of one list different bits.
status devices_math(devices *d, const char *text, error *err) MUST_CHECK;

// Finds the devices and opens their backends, for `world_size` ranks, replicas or stages. `auto`
// becomes the available GPUs, at most `world_size` of them, or else the cpu; the choice is logged.
// STATUS_FAILED if there is no GPU, or not the requested one.
//
// This process may still fork afterwards, because a child looks for the GPUs. Call it before any
// thread exists. If the child has not answered within a minute, or within the seconds of
// LOCKSTEP_PROBE_SECONDS in the environment, it is abandoned, and there is no GPU.
status devices_open(devices *d, int world_size, const logger *log, error *err) MUST_CHECK;

// Returns true if a device of this kind is in the list.
bool devices_have(const devices *d, device_kind kind);
// Returns true if the list has the cpu and GPUs.
bool devices_mixed(const devices *d);

// The backend and the device index for rank, replica or stage `rank`, from 0. After devices_open;
// the index is 0 if `d` is NULL.
const backend *devices_backend(const devices *d, int rank);
int devices_index(const devices *d, int rank);

// Writes the name of entry i of the list: "cpu", "cuda:1".
void devices_name(const devices *d, int i, char text[DEVICES_TEXT_BYTES]);

// Returns the name of the arithmetic, which determines the bits of a model: "cuda" for GPUs that
// add in an order of their own, else "cpu"; also if `d` is NULL.
const char *devices_arithmetic(const devices *d);
// Returns true if that depends on the devices that devices_open will find: `auto`, --math fast.
bool devices_undecided(const devices *d);

// Returns engine_options.exact; false if `d` is NULL.
bool devices_exact(const devices *d);

// Returns the host threads of an engine: 1 if the list has only GPUs, where more would idle;
// else `threads`.
int devices_threads(const devices *d, int threads);

// Starts monitoring the GPUs of the list; there must be at least one (library.h, monitor_start).
// STATUS_FAILED if that is impossible; a run may continue without it. Do not fork afterwards.
status devices_watch(const devices *d, gpu_monitor **m, error *err) MUST_CHECK;
// Stops monitoring; figures[i] describes gpus[i]. `figures` may be NULL. Does nothing if `m` is
// NULL.
void devices_unwatch(const devices *d, gpu_monitor *m, gpu_figures *figures);

// Opens the backend of a kind, "cpu" or "cuda", whether or not there is a device for it. The "cuda"
// backend is the file that LOCKSTEP_CUDA_LIBRARY in the environment names, else
// ../lib/lockstep-cuda.so or ../lib/lockstep/lockstep-cuda.so, relative to the folder of the
// running program; it stays open. STATUS_FAILED if it is missing or was not built with these tools.
// Opening it does not initialise CUDA.
status backend_open(const char *kind, const backend **b, error *err) MUST_CHECK;

#endif
