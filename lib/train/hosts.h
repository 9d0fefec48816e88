// hosts.h - on which hosts the ranks of a run are.
#ifndef LOCKSTEP_TRAIN_HOSTS_H
#define LOCKSTEP_TRAIN_HOSTS_H

#include "base/error.h"
#include "base/yaml_tree.h"
#include "dist/comm.h"

// Where they are on several, adds `hosts` to this run's part of `run.execution`: a list of `host`
// and `ranks`, in the order of their first ranks. All ranks call it.
status hosts_describe(comm *c, yaml_node *segment, error *err) MUST_CHECK;

#endif
