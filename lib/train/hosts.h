// SPDX-License-Identifier: MIT
// hosts.h - the hosts and devices that the ranks of a run are on.
#ifndef LOCKSTEP_TRAIN_HOSTS_H
#define LOCKSTEP_TRAIN_HOSTS_H

#include "base/error.h"
#include "base/yaml_tree.h"
#include "compute/devices.h"
#include "dist/comm.h"

// If the ranks are on several hosts, adds `hosts` to this run's segment in `run.execution`: a list
// of `host` and `ranks`, ordered by first rank. If some ranks were given other devices than rank 0,
// its `devices` become a list with an entry for each rank; not if `d` is NULL. All ranks call it,
// with their own devices.
status hosts_describe(comm *c, const devices *d, int local_rank, yaml_node *segment,
                      error *err) MUST_CHECK;

#endif
