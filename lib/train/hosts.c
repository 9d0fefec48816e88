// SPDX-License-Identifier: MIT
#include "train/hosts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

enum { HOST_BYTES = 256 };

// Where a rank computes.
typedef struct place {
    char host[HOST_BYTES];
    char device[DEVICES_TEXT_BYTES];
} place;

static status put_host(yaml_node *hosts, const char *name, int ranks, error *err) {
    yaml_node *host = yaml_new(YAML_MAPPING, err);
    status rc = yaml_append(hosts, host, err);
    if (rc == STATUS_OK) rc = yaml_put(host, "host", yaml_new_string(name, err), err);
    return rc == STATUS_OK ? yaml_put(host, "ranks", yaml_new_integer(ranks, err), err) : rc;
}

// A single host is already `run.host` of the manifest.
static status list_hosts(const place *places, int size, yaml_node *segment, error *err) {
    yaml_node *hosts = yaml_new(YAML_SEQUENCE, err);
    status rc = hosts ? STATUS_OK : STATUS_FAILED;
    for (int r = 0; rc == STATUS_OK && r < size; r++) {
        const char *name = places[r].host;
        int before = 0, ranks = 0;
        for (int q = 0; q < size; q++) {
            const bool same = strcmp(places[q].host, name) == 0;
            before += same && q < r;
            ranks += same;
        }
        if (before == 0) rc = put_host(hosts, name, ranks, err);
    }
    if (rc == STATUS_OK && hosts->count > 1) return yaml_put(segment, "hosts", hosts, err);
    yaml_free(hosts);
    return rc;
}

// Does the list of rank 0, dealt in turn, name the device of each rank?
static bool is_dealt(const devices *d, const place *places, int size) {
    bool same = true;
    for (int r = 0; r < size; r++) {
        char name[DEVICES_TEXT_BYTES];
        devices_name(d, r % d->count, name);
        same = same && strcmp(name, places[r].device) == 0;
    }
    return same;
}

static status list_devices(const place *places, int size, yaml_node *segment, error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE, err);
    status rc = list ? STATUS_OK : STATUS_FAILED;
    TRY(rc);
    list->flow = true;
    for (int r = 0; r < size; r++)
        TRY(yaml_append(list, yaml_new_string(places[r].device, err), err));
    return yaml_put(segment, "devices", list, err);
out:
    yaml_free(list);
    return rc;
}

status hosts_describe(comm *c, const devices *d, int local_rank, yaml_node *segment, error *err) {
    const int item = d ? local_rank % d->count : 0;
    place mine = {0}, *places = memory_new((size_t)c->size, sizeof mine, err);
    status rc = places ? STATUS_OK : STATUS_FAILED;
    TRY(rc);
    (void)gethostname(mine.host, sizeof mine.host - 1);
    if (d) devices_name(d, item, mine.device);
    TRY(c->ops->all_gather(c, &mine, sizeof mine, places, err));
    TRY(list_hosts(places, c->size, segment, err));
    if (d && !is_dealt(d, places, c->size)) rc = list_devices(places, c->size, segment, err);
out:
    free(places);
    return rc;
}
