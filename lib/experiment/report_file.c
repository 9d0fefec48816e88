// SPDX-License-Identifier: MIT
#include "experiment/report_file.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/paths.h"
#include "experiment/lookup.h"
#include "experiment/plan.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const keys[] = {"schema", "source", "title", "claim", "runs", "studies"};

status report_file_check_keys(const yaml_node *report, error *err) {
    return yaml_check_keys(report, keys, COUNT(keys), err);
}

status report_file_claim(const yaml_node *report, char **path, error *err) {
    const char *name;
    *path = NULL;
    status rc = yaml_string(yaml_find(report, "claim"), "claim", &name, err);
    return rc == STATUS_OK ? lookup_file(report->file, "claims", name, path, err) : rc;
}

// A claim in the report's folder is the report's.
static void find_claim(yaml_node *report) {
    if (yaml_find(report, "claim")) return;
    const int folder = lookup_folder_length(report->file);
    if (paths_allow(F_OK, "%.*sclaim.yaml", folder, report->file))
        yaml_put(report, "claim", yaml_new_string("claim.yaml"));
}

// Takes keys from the claim that the report does not have.
static status take_from_claim(yaml_node *report, error *err) {
    static const struct {
        const char *key, *of;
    } taken[] = {{"source", "name"}, {"title", "title"}};
    yaml_node *claim = NULL;
    char *path = NULL;
    status rc;
    TRY(report_file_claim(report, &path, err));
    TRY(yaml_read_file(path, &claim, err));
    for (size_t i = 0; i < COUNT(taken); i++) {
        const yaml_node *value = yaml_find(claim, taken[i].of);
        if (value && !yaml_find(report, taken[i].key))
            yaml_put(report, taken[i].key, yaml_copy(value));
    }
out:
    yaml_free(claim);
    free(path);
    return rc;
}

status report_file_read(const char *path, yaml_node **report, error *err) {
    status rc = plan_read_source(path, REPORT_SCHEMA, keys, COUNT(keys), report, err);
    if (rc != STATUS_OK) return rc;
    find_claim(*report);
    if (yaml_find(*report, "claim")) rc = take_from_claim(*report, err);
    if (rc == STATUS_OK) return rc;
    yaml_free(*report);
    *report = NULL;
    return rc;
}
