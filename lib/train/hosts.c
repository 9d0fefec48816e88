// SPDX-License-Identifier: MIT
#include "train/hosts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

enum { HOST_BYTES = 256 };

static status put_host(yaml_node *hosts, const char *name, int ranks, error *err) {
    yaml_node *host = yaml_new(YAML_MAPPING, err);
    status rc = yaml_append(hosts, host, err);
    if (rc == STATUS_OK) rc = yaml_put(host, "host", yaml_new_string(name, err), err);
    return rc == STATUS_OK ? yaml_put(host, "ranks", yaml_new_integer(ranks, err), err) : rc;
}

// A single host is already `run.host` of the manifest.
static status list_hosts(const char *names, int size, yaml_node *segment, error *err) {
    yaml_node *hosts = yaml_new(YAML_SEQUENCE, err);
    status rc = hosts ? STATUS_OK : STATUS_FAILED;
    for (int r = 0; rc == STATUS_OK && r < size; r++) {
        const char *name = names + (size_t)r * HOST_BYTES;
        int before = 0, ranks = 0;
        for (int q = 0; q < size; q++) {
            const bool same = strcmp(names + (size_t)q * HOST_BYTES, name) == 0;
            before += same && q < r;
            ranks += same;
        }
        if (before == 0) rc = put_host(hosts, name, ranks, err);
    }
    if (rc == STATUS_OK && hosts->count > 1) return yaml_put(segment, "hosts", hosts, err);
    yaml_free(hosts);
    return rc;
}

status hosts_describe(comm *c, yaml_node *segment, error *err) {
    char mine[HOST_BYTES] = "";
    (void)gethostname(mine, sizeof mine - 1);
    char *names = memory_new((size_t)c->size, sizeof mine, err);
    status rc = names ? c->ops->all_gather(c, mine, sizeof mine, names, err) : STATUS_FAILED;
    if (rc == STATUS_OK) rc = list_hosts(names, c->size, segment, err);
    free(names);
    return rc;
}
