// devices.h - the devices of a command line: which they are, whether they are there, and what
// computes on them.
//
//     auto                  the GPUs where there are some, else the cpu
//     cpu    cpu,cpu        the cpu; the cpu for two ranks
//     cuda   cuda:1         the first GPU; the second one
//     cuda:0,cuda:1         two GPUs, which ranks, replicas or stages take in turn
//     cuda:0,cuda:0         one GPU for two ranks
#ifndef LOCKSTEP_COMPUTE_DEVICES_H
#define LOCKSTEP_COMPUTE_DEVICES_H

#include "base/error.h"
#include "base/log.h"
#include "compute/backend.h"
#include "compute/cuda/library.h"

enum { DEVICES_MAX = 64, DEVICES_TEXT_BYTES = 32 };

typedef enum device_kind { DEVICE_AUTO, DEVICE_CPU, DEVICE_CUDA } device_kind;

typedef struct devices {
    device_kind kind;       // of all of them; DEVICE_AUTO until devices_open has decided
    int count;              // of the list, at least 1
    int index[DEVICES_MAX]; // rank, replica or stage r takes index[r mod count]
    // From devices_open:
    const backend *backend;
    const cuda_library *cuda; // NULL on the cpu
    int gpu_count;
    device_info gpus[DEVICES_MAX]; // the GPUs of the list, each once
} devices;

// Reads a list. STATUS_USAGE says what is wrong with it. Nothing is looked for yet.
status devices_parse(devices *d, const char *text, error *err) MUST_CHECK;

// Finds the devices and opens their backend, for `world_size` ranks, replicas or stages:
// `auto` becomes as many GPUs as there are, but no more than these, or else the cpu; `log` is told
// which. STATUS_FAILED where there is no GPU, or not that one.
//
// This process may still fork: the GPUs are asked for in a child. Call it before any thread exists.
// A child that has not answered within a minute, or the seconds that LOCKSTEP_PROBE_SECONDS in the
// environment says, is given up: then there is no GPU.
status devices_open(devices *d, int world_size, const logger *log, error *err) MUST_CHECK;

// The index for a rank, replica or stage, from 0: what engine_options wants. 0 where `d` is NULL.
int devices_index(const devices *d, int rank);

// What entry i of the list is called: "cpu", "cuda:1".
void devices_name(const devices *d, int i, char text[DEVICES_TEXT_BYTES]);

// What computes, "cpu" or "cuda": from a list that was parsed, or opened where it is `auto`.
const char *devices_backend(const devices *d);

// Host threads of an engine, where a cpu's would have so many: with a GPU they have nothing to do.
int devices_threads(const devices *d, int threads);

// Begins to watch the GPUs of the list (library.h, monitor_start), which there must be some of.
// STATUS_FAILED says why that cannot be; a run goes on without. No fork afterwards.
status devices_watch(const devices *d, gpu_monitor **m, error *err) MUST_CHECK;
// Ends it; figures[i] is about gpus[i]. `figures` NULL: unwanted. `m` NULL: nothing happens.
void devices_unwatch(const devices *d, gpu_monitor *m, gpu_figures *figures);

// The backend of a kind, "cpu" or "cuda", whether or not there is a device for it. That of "cuda"
// is the file that LOCKSTEP_CUDA_LIBRARY names in the environment, else ../lib/lockstep-cuda.so or
// ../lib/lockstep/lockstep-cuda.so as seen from the folder of the running program; it stays open.
// STATUS_FAILED where it is missing or does not fit these tools. Opening it does not initialise
// CUDA.
status backend_open(const char *kind, const backend **b, error *err) MUST_CHECK;

#endif
