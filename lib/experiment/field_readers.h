// SPDX-License-Identifier: MIT
// field_readers.h - readers of keys that are more than one scalar. Each has the type of field.read
// in experiment_fields.h. Used only within this folder.
#ifndef LOCKSTEP_EXPERIMENT_FIELD_READERS_H
#define LOCKSTEP_EXPERIMENT_FIELD_READERS_H

#include "experiment/experiment.h"

// Context of the readers.
typedef struct experiment_reading {
    experiment *e;
    const char *path;      // of the experiment file; models are searched from its folder upward
    const yaml_node *root; // the file with all --set assignments applied
    error *err;
} experiment_reading;

status field_read_name(experiment_reading *r, const yaml_node *node, yaml_node **resolved);
status field_read_dataset(experiment_reading *r, const yaml_node *node, yaml_node **resolved);
status field_read_title(experiment_reading *r, const yaml_node *node, yaml_node **resolved);
status field_read_model(experiment_reading *r, const yaml_node *node, yaml_node **resolved);
status field_read_mean(experiment_reading *r, const yaml_node *node, yaml_node **resolved);
status field_read_std(experiment_reading *r, const yaml_node *node, yaml_node **resolved);
status field_read_augment(experiment_reading *r, const yaml_node *node, yaml_node **resolved);
status field_read_milestones(experiment_reading *r, const yaml_node *node, yaml_node **resolved);
status field_read_weights(experiment_reading *r, const yaml_node *node, yaml_node **resolved);
status field_read_except(experiment_reading *r, const yaml_node *node, yaml_node **resolved);
status field_read_tensors(experiment_reading *r, const yaml_node *node, yaml_node **resolved);
status field_read_points(experiment_reading *r, const yaml_node *node, yaml_node **resolved);
status field_read_stages(experiment_reading *r, const yaml_node *node, yaml_node **resolved);
status field_read_published(experiment_reading *r, const yaml_node *node, yaml_node **resolved);

// ---- Shared ----

// Limits of every experiment. A manifest takes up to about 350 bytes per epoch and is at most
// YAML_MAX_BYTES long, so a training of more epochs could not finish.
enum { MAX_BATCH = 1 << 20, MAX_EPOCHS = 2500 };

// Does the node come from a --set assignment, not from a file?
bool field_is_set(const yaml_node *node);

status field_need_list(const yaml_node *node, const char *key, error *err);

// Returns a new collection that is written on one line.
yaml_node *field_new_flow(yaml_kind kind);

// Reads between min_count and max_count numbers into `values` and into a new list, which the caller
// frees even after a failure.
status field_read_numbers(const yaml_node *node, const char *key, size_t min_count,
                          size_t max_count, double *values, yaml_node **list, error *err);

#endif
