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

static void put_host(yaml_node *hosts, const char *name, int ranks) {
    yaml_node *host = yaml_new(YAML_MAPPING);
    yaml_append(hosts, host);
    yaml_put(host, "host", yaml_new_string(name));
    yaml_put(host, "ranks", yaml_new_integer(ranks));
}

// A single host is already `run.host` of the manifest.
static void list_hosts(const place *places, int size, yaml_node *segment) {
    yaml_node *hosts = yaml_new(YAML_SEQUENCE);
    for (int r = 0; r < size; r++) {
        const char *name = places[r].host;
        int before = 0, ranks = 0;
        for (int q = 0; q < size; q++) {
            const bool same = strcmp(places[q].host, name) == 0;
            before += same && q < r;
            ranks += same;
        }
        if (before == 0) put_host(hosts, name, ranks);
    }
    if (hosts->count > 1) {
        yaml_put(segment, "hosts", hosts);
        return;
    }
    yaml_free(hosts);
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

static void list_devices(const place *places, int size, yaml_node *segment) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    list->flow = true;
    for (int r = 0; r < size; r++) yaml_append(list, yaml_new_string(places[r].device));
    yaml_put(segment, "devices", list);
}

status hosts_describe(comm *c, const devices *d, int local_rank, yaml_node *segment, error *err) {
    const int item = d ? local_rank % d->count : 0;
    place mine = {0}, *places = memory_new((size_t)c->size, sizeof mine);
    status rc = STATUS_OK;
    (void)gethostname(mine.host, sizeof mine.host - 1);
    if (d) devices_name(d, item, mine.device);
    TRY(c->ops->all_gather(c, &mine, sizeof mine, places, err));
    list_hosts(places, c->size, segment);
    if (d && !is_dealt(d, places, c->size)) list_devices(places, c->size, segment);
out:
    free(places);
    return rc;
}
