// SPDX-License-Identifier: MIT
// collectives.h - bench-allreduce's measurements of a machine, read from its manifest.
#ifndef LOCKSTEP_RESULTS_COLLECTIVES_H
#define LOCKSTEP_RESULTS_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "dist/cost_model.h"

// An all-reduce of `world_size` ranks; for one rank, a copy by one thread.
typedef struct collective {
    int64_t world_size;
    const char *reduce, *transport; // in the tree; "" if not given
    bool simulated;                 // more ranks than cores, or than GPUs
    cost_model cost;
} collective;

typedef struct collectives {
    char *folder;
    yaml_node *root;
    const char *host, *cpu, *reduce; // in the tree; reduce: "exact", "fast", "both"
    char *devices;                   // of the vectors, "cuda:0, cuda:1"; NULL: in host memory
    int64_t hosts;                   // of the ranks
    collective *items;
    size_t count; // 0: nothing was read
} collectives;

// Reads FOLDER/manifest.yaml. STATUS_INPUT if bench-allreduce did not write it.
status collectives_read(const char *folder, collectives *c, error *err) MUST_CHECK;
// Accepts a zeroed struct.
void collectives_release(collectives *c);

// Returns the collective of that world size and reduction (NULL: any), or NULL.
const collective *collectives_find(const collectives *c, int64_t world_size, const char *reduce);

#endif
