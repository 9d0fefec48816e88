// SPDX-License-Identifier: MIT
// The manifest entries about a dataset's members.
#include <stdio.h>
#include <stdlib.h>

#include "base/redact.h"
#include "base/yaml_tree.h"
#include "data/source/members.h"

void members_describe_pins(const dataset_entry *d, manifest *m) {
    yaml_node *parameters = manifest_parameters(m);
    yaml_node *pins = yaml_new(YAML_MAPPING);
    for (size_t i = 0; i < d->member_count; i++) {
        const dataset_member *one = &d->members[i];
        char name[300];
        snprintf(name, sizeof name, "%s%s", one->name, one->sha256 ? "" : ".gz");
        const char *pin = one->sha256 ? one->sha256 : one->packed_sha256;
        if (pin) yaml_put(pins, name, yaml_new_string(pin));
    }
    yaml_put(parameters, "dataset", yaml_new_string(d->name));
    yaml_put(parameters, "pins", pins);
}

static void describe_source(const member_origin *origin, yaml_node *run) {
    yaml_node *source = yaml_new(YAML_MAPPING);
    char *from = redact_urls(origin->from);
    yaml_put(source, "from", yaml_new_string(from));
    if (origin->sha256[0]) {
        yaml_put(source, "bytes", yaml_new_integer((int64_t)origin->bytes));
        yaml_put(source, "sha256", yaml_new_string(origin->sha256));
    }
    yaml_put(run, "source", source);
    free(from);
}

// If all members were checked by a hash, the manifest has no such list.
static void describe_unpinned(const dataset_entry *d, const member_origin *origin, manifest *m) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < d->member_count; i++)
        if (origin->found[i] && !origin->pinned[i])
            yaml_append(list, yaml_new_string(d->members[i].name));
    if (list->count) {
        yaml_put(manifest_results(m), "unpinned", list);
        return;
    }
    yaml_free(list);
}

void members_describe_origin(const dataset_entry *d, const member_origin *origin, manifest *m) {
    yaml_node *found = yaml_new(YAML_MAPPING);
    for (size_t i = 0; i < d->member_count; i++)
        if (origin->found[i])
            yaml_put(found, d->members[i].name, yaml_new_string(origin->content[i]));
    yaml_put(manifest_results(m), "members", found);
    describe_unpinned(d, origin, m);
    describe_source(origin, manifest_run(m));
}
