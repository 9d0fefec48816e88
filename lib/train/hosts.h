// SPDX-License-Identifier: MIT
// hosts.h - the hosts that the ranks of a run are on.
#ifndef LOCKSTEP_TRAIN_HOSTS_H
#define LOCKSTEP_TRAIN_HOSTS_H

#include "base/error.h"
#include "base/yaml_tree.h"
#include "dist/comm.h"

// If the ranks are on several hosts, adds `hosts` to this run's segment in `run.execution`: a list
// of `host` and `ranks`, ordered by first rank. All ranks call it.
status hosts_describe(comm *c, yaml_node *segment, error *err) MUST_CHECK;

#endif
