// SPDX-License-Identifier: MIT
#include "experiment/quick.h"

#include <stdlib.h>
#include <string.h>

#include "experiment/experiment.h"
#include "experiment/plan.h"

const yaml_node *quick_find_fault(const yaml_node *quick, const char *message, const char **rest) {
    static const char before[] = "--set '", after[] = "': ";
    const size_t skip = sizeof before - 1;
    const yaml_node *fault = NULL;
    for (size_t i = 0; quick && !fault && i < quick->count; i++) {
        char *assignment;
        if (plan_assignment(quick->keys[i], quick->items[i], &assignment, NULL) != STATUS_OK) break;
        const size_t length = strlen(assignment);
        if (strncmp(message, before, skip) == 0 &&
            strncmp(message + skip, assignment, length) == 0 &&
            strncmp(message + skip + length, after, sizeof after - 1) == 0) {
            *rest = message + skip + length + sizeof after - 1;
            fault = quick->items[i];
        }
        free(assignment);
    }
    return fault;
}

status quick_try(yaml_node *trial, const yaml_node *quick, const char *file, const char *name,
                 error *err) {
    experiment e = {0};
    error local = {0};
    const char *rest = local.message;
    if (!quick) return STATUS_OK;
    status rc = plan_add_mapping(trial, quick, err);
    if (rc != STATUS_OK) return rc;
    rc = plan_experiment(file, yaml_find(trial, "set"), &e, &local);
    experiment_release(&e);
    if (rc == STATUS_OK) return rc;
    const yaml_node *fault = quick_find_fault(quick, local.message, &rest);
    return yaml_error(fault ? fault : quick, err, "run '%s': %s", name, rest);
}
