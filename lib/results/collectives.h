// collectives.h - what bench-allreduce measured on a machine, as its manifest tells it.
#ifndef LOCKSTEP_RESULTS_COLLECTIVES_H
#define LOCKSTEP_RESULTS_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "dist/cost_model.h"

// An all-reduce of so many ranks; of one rank, a copy by one thread.
typedef struct collective {
    int64_t world_size;
    const char *reduce, *transport; // in the tree; "" where it does not say
    bool simulated;                 // more ranks than cores, or than GPUs
    cost_model cost;
} collective;

typedef struct collectives {
    char *folder;
    yaml_node *root;
    const char *host, *cpu, *reduce; // in the tree; reduce: "exact", "fast", "both"
    char *devices;                   // that vectors were on, "cuda:0, cuda:1"; NULL: in host memory
    int64_t hosts;                   // that the ranks were on
    collective *items;
    size_t count; // 0: nothing was read
} collectives;

// Reads FOLDER/manifest.yaml. STATUS_INPUT for what bench-allreduce did not write.
status collectives_read(const char *folder, collectives *c, error *err) MUST_CHECK;
// A zeroed struct is fine.
void collectives_release(collectives *c);

// That of so many ranks, reduced that way (NULL: any), or NULL.
const collective *collectives_find(const collectives *c, int64_t world_size, const char *reduce);

#endif
