// SPDX-License-Identifier: MIT
#include "experiment/quick.h"

#include "experiment/experiment.h"
#include "experiment/plan.h"

const yaml_node *quick_find_fault(const yaml_node *quick, size_t first, const error *why) {
    if (!quick || why->origin != ERROR_IN_ASSIGNMENT) return NULL;
    const size_t given = (size_t)why->assignment;
    return given >= first && given < first + quick->count ? quick->items[given - first] : NULL;
}

status quick_try(yaml_node *trial, const yaml_node *quick, const char *file, const char *name,
                 error *err) {
    experiment e = {0};
    error local = {0};
    const size_t before = yaml_find(trial, "set")->count;
    if (!quick) return STATUS_OK;
    status rc = plan_add_mapping(trial, quick, err);
    if (rc != STATUS_OK) return rc;
    rc = plan_experiment(file, yaml_find(trial, "set"), &e, &local);
    experiment_release(&e);
    if (rc == STATUS_OK) return rc;
    const yaml_node *fault = quick_find_fault(quick, before, &local);
    return fault ? yaml_error(fault, err, "run '%s': %s", name, error_reason(&local))
                 : yaml_error(quick, err, "run '%s': %s", name, local.message);
}
