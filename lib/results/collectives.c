// SPDX-License-Identifier: MIT
#include "results/collectives.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/manifest.h"
#include "results/run.h"

static status read_number(const yaml_node *item, const char *key, double *value, error *err) {
    const yaml_node *node = yaml_find(item, key);
    if (!node) return yaml_error(item, err, "'%s' is missing", key);
    status rc = yaml_number(node, key, value, err);
    if (rc == STATUS_OK && !(*value >= 0))
        return yaml_error(node, err, "'%s': expected a number of at least 0", key);
    return rc;
}

static status read_item(const collectives *c, const yaml_node *item, collective *one, error *err) {
    const yaml_node *size = item->kind == YAML_MAPPING ? yaml_find(item, "world_size") : NULL;
    if (!size) return yaml_error(item, err, "expected a mapping with 'world_size'");
    NEED(yaml_integer(size, "world_size", 1, INT64_MAX, &one->world_size, err));
    one->reduce = yaml_text_at(yaml_find(item, "reduce") ? item : c->root,
                               yaml_find(item, "reduce") ? "reduce" : "parameters.reduce");
    one->transport = yaml_text_at(item, "transport");
    one->simulated = strcmp(yaml_text_at(item, "simulated"), "true") == 0;
    NEED(read_number(item, "alpha_seconds", &one->cost.alpha, err));
    NEED(read_number(item, "beta_seconds_per_byte", &one->cost.beta, err));
    return read_number(item, "relative_error", &one->cost.error, err);
}

static status read_items(collectives *c, error *err) {
    const yaml_node *list = yaml_get(c->root, "results.world_sizes");
    if (strcmp(yaml_text_at(c->root, "tool"), "bench-allreduce") != 0)
        return yaml_error(c->root, err, "expected a manifest of bench-allreduce");
    if (!list || list->kind != YAML_SEQUENCE || !list->count)
        return yaml_error(c->root, err, "'results.world_sizes': expected a list");
    c->items = memory_new(list->count, sizeof *c->items);
    for (size_t i = 0; i < list->count; i++, c->count++)
        NEED(read_item(c, list->items[i], &c->items[i], err));
    return STATUS_OK;
}

// Lists parameters.devices as "cuda:0, cuda:1"; leaves NULL for a CPU.
static void read_devices(collectives *c) {
    const yaml_node *list = yaml_get(c->root, "parameters.devices");
    for (size_t i = 0; list && list->kind == YAML_SEQUENCE && i < list->count; i++) {
        const yaml_node *item = list->items[i];
        char *before = c->devices;
        if (item->kind != YAML_SCALAR || strcmp(item->text, "cpu") == 0) return;
        c->devices = memory_format("%s%s%s", before ? before : "", before ? ", " : "", item->text);
        free(before);
    }
}

status collectives_read(const char *folder, collectives *c, error *err) {
    status rc = STATUS_OK;
    *c = (collectives){0};
    c->folder = memory_string(folder);
    TRY(manifest_read_in(&c->root, err, "%s", folder));
    TRY(read_items(c, err));
    c->host = yaml_text_at(c->root, "run.host");
    c->cpu = yaml_text_at(c->root, "run.cpu");
    c->reduce = yaml_text_at(c->root, "parameters.reduce");
    const yaml_node *hosts = yaml_get(c->root, "run.hosts");
    c->hosts = hosts && hosts->count > 0 ? (int64_t)hosts->count : 1;
    read_devices(c);
out:
    if (rc != STATUS_OK) collectives_release(c);
    return rc;
}

void collectives_release(collectives *c) {
    free(c->folder);
    free(c->devices);
    free(c->items);
    yaml_free(c->root);
    *c = (collectives){0};
}

const collective *collectives_find(const collectives *c, int64_t world_size, const char *reduce) {
    for (size_t i = 0; i < c->count; i++)
        if (c->items[i].world_size == world_size &&
            (!reduce || strcmp(c->items[i].reduce, reduce) == 0))
            return &c->items[i];
    return NULL;
}
