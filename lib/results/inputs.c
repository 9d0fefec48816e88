// SPDX-License-Identifier: MIT
#include "results/inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/sha256.h"

status inputs_add_file(manifest *m, const char *path, error *err) {
    char hash[SHA256_TEXT_BYTES];
    struct stat info;
    if (stat(path, &info)) return error_system(err, STATUS_INPUT, errno, "cannot read '%s'", path);
    NEED(sha256_file(path, hash, err));
    manifest_file file = {.path = path, .bytes = (uint64_t)info.st_size, .sha256 = hash};
    manifest_add_input(m, &file);
    return STATUS_OK;
}

static uint64_t recorded_bytes(const yaml_node *file) {
    return strtoull(yaml_text_at(file, "bytes"), NULL, 10);
}

// Records a stage's manifest, and the output of it that the report reads.
static status record_input(const char *folder, const yaml_node *root, const char *name, manifest *m,
                           error *err) {
    status rc = STATUS_OK;
    if (!root) return STATUS_OK;
    char *path = memory_format("%s/manifest.yaml", folder);
    char *data = memory_format("%s/%s", folder, name ? name : "");
    const yaml_node *file = manifest_output(root, name);
    TRY(inputs_add_file(m, path, err));
    if (!file) goto out;
    manifest_file of_data = {.path = data,
                             .bytes = recorded_bytes(file),
                             .sha256 = yaml_text_at(file, "sha256"),
                             .content = yaml_text_at(file, "content")};
    manifest_add_input(m, &of_data);
out:
    free(path);
    free(data);
    return rc;
}

static status record_collectives(const collectives *c, manifest *m, error *err) {
    char *path = memory_format("%s/manifest.yaml", c->folder);
    status rc = inputs_add_file(m, path, err);
    free(path);
    return rc;
}

// Records each claim once, however many runs have figures from it.
static status record_claim(const char *path, yaml_node *recorded, manifest *m, error *err) {
    for (size_t i = 0; i < recorded->count; i++)
        if (strcmp(recorded->items[i]->text, path) == 0) return STATUS_OK;
    yaml_append(recorded, yaml_new_string(path));
    return inputs_add_file(m, path, err);
}

// Records the audited claims, and those that published figures come from if they still exist: the
// plan has a copy of the figures.
static status record_claims(const results *r, manifest *m, error *err) {
    yaml_node *recorded = yaml_new(YAML_SEQUENCE);
    status rc = STATUS_OK;
    for (size_t i = 0; r->reproduction && i < r->reproduction->count; i++) {
        const char *path = r->reproduction->reports[i].claim_path;
        if (*path) TRY(record_claim(path, recorded, m, err));
    }
    for (size_t i = 0; i < r->list.count; i++) {
        const yaml_node *list = r->list.runs[i].published;
        for (size_t k = 0; list && list->kind == YAML_SEQUENCE && k < list->count; k++) {
            const char *path = yaml_text_at(list->items[k], "claim");
            if (*path && access(path, R_OK) == 0) TRY(record_claim(path, recorded, m, err));
        }
    }
out:
    yaml_free(recorded);
    return rc;
}

status inputs_add(const results *r, manifest *m, error *err) {
    yaml_node *parameters = manifest_parameters(m);
    const char *baseline = r->comparison_count ? r->groups[0].name : "";
    for (size_t i = 0; i < r->list.execution_count; i++) {
        const run *one = &r->list.executions[i];
        NEED(record_input(one->folder, one->train, "steps.st.zst", m, err));
        NEED(record_input(one->evaluation, one->evaluate, "predictions.st.zst", m, err));
    }
    for (size_t i = 0; i < r->timing_count; i++)
        NEED(record_input(r->timings[i].folder, r->timings[i].manifest, TURNS_FILE, m, err));
    if (r->collectives.count) NEED(record_collectives(&r->collectives, m, err));
    NEED(record_claims(r, m, err));
    yaml_put(parameters, "baseline", yaml_new_string(baseline));
    yaml_put(manifest_results(m), "figures", yaml_new_integer((int64_t)r->figures.count));
    return STATUS_OK;
}
