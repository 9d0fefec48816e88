// SPDX-License-Identifier: MIT
// The manifest entries about a dataset's members.
#include <stdio.h>
#include <stdlib.h>

#include "base/redact.h"
#include "base/yaml_tree.h"
#include "data/source/members.h"

status members_describe_pins(const dataset_entry *d, manifest *m, error *err) {
    yaml_node *parameters = manifest_parameters(m);
    yaml_node *pins = yaml_new(YAML_MAPPING, err);
    status rc;
    if (!pins) return STATUS_FAILED;
    for (size_t i = 0; i < d->member_count; i++) {
        const member *one = &d->members[i];
        char name[300];
        snprintf(name, sizeof name, "%s%s", one->name, one->sha256 ? "" : ".gz");
        const char *pin = one->sha256 ? one->sha256 : one->packed_sha256;
        if (pin) TRY(yaml_put(pins, name, yaml_new_string(pin, err), err));
    }
    TRY(yaml_put(parameters, "dataset", yaml_new_string(d->name, err), err));
    rc = yaml_put(parameters, "pins", pins, err);
    pins = NULL;
out:
    yaml_free(pins);
    return rc;
}

static status describe_source(const member_origin *origin, yaml_node *run, error *err) {
    yaml_node *source = yaml_new(YAML_MAPPING, err);
    char *from = redact_urls(origin->from, err);
    status rc = source && from ? STATUS_OK : STATUS_FAILED;
    TRY(rc);
    TRY(yaml_put(source, "from", yaml_new_string(from, err), err));
    if (origin->sha256[0]) {
        TRY(yaml_put(source, "bytes", yaml_new_integer((int64_t)origin->bytes, err), err));
        TRY(yaml_put(source, "sha256", yaml_new_string(origin->sha256, err), err));
    }
    rc = yaml_put(run, "source", source, err);
    source = NULL;
out:
    free(from);
    yaml_free(source);
    return rc;
}

// If all members were checked by a hash, the manifest has no such list.
static status describe_unpinned(const dataset_entry *d, const member_origin *origin, manifest *m,
                                error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE, err);
    status rc = list ? STATUS_OK : STATUS_FAILED;
    for (size_t i = 0; rc == STATUS_OK && i < d->member_count; i++)
        if (origin->found[i] && !origin->pinned[i])
            rc = yaml_append(list, yaml_new_string(d->members[i].name, err), err);
    if (rc == STATUS_OK && list->count) return yaml_put(manifest_results(m), "unpinned", list, err);
    yaml_free(list);
    return rc;
}

status members_describe_origin(const dataset_entry *d, const member_origin *origin, manifest *m,
                               error *err) {
    yaml_node *found = yaml_new(YAML_MAPPING, err);
    status rc;
    if (!found) return STATUS_FAILED;
    for (size_t i = 0; i < d->member_count; i++)
        if (origin->found[i])
            TRY(yaml_put(found, d->members[i].name, yaml_new_string(origin->content[i], err), err));
    rc = yaml_put(manifest_results(m), "members", found, err);
    found = NULL;
    TRY(rc);
    TRY(describe_unpinned(d, origin, m, err));
    TRY(describe_source(origin, manifest_run(m), err));
out:
    yaml_free(found);
    return rc;
}
