// SPDX-License-Identifier: MIT
#include "data/source/mirrors.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/plugin.h"
#include "data/source/download.h"

static const char SCHEMA[] = "lockstep.mirrors/1";
static const char VARIABLE[] = "LOCKSTEP_MIRRORS";

static status check(const yaml_node *root, const yaml_node **lists, error *err) {
    static const char *const known[] = {"schema", "mirrors"};
    const char *schema;
    *lists = yaml_find(root, "mirrors");
    if (!yaml_find(root, "schema") || !*lists || (*lists)->kind != YAML_MAPPING)
        return yaml_error(root, err, "expected 'schema' (%s) and 'mirrors' (a list per data set)",
                          SCHEMA);
    status rc = yaml_check_keys(root, known, sizeof known / sizeof *known, err);
    if (rc == STATUS_OK) rc = yaml_string(yaml_find(root, "schema"), "schema", &schema, err);
    if (rc == STATUS_OK && strcmp(schema, SCHEMA) != 0)
        rc = yaml_error(yaml_find(root, "schema"), err, "'schema': expected %s, got '%s'", SCHEMA,
                        schema);
    return rc;
}

static status take_list(mirrors *m, const yaml_node *list, const char *dataset, error *err) {
    if (!list) return STATUS_OK;
    if (list->kind != YAML_SEQUENCE || !list->count)
        return yaml_error(list, err, "'%s': expected a list of URLs", dataset);
    m->urls = memory_new(list->count, sizeof *m->urls);
    for (; m->count < list->count; m->count++) {
        const yaml_node *item = list->items[m->count];
        status rc = yaml_string(item, dataset, &m->urls[m->count], err);
        if (rc == STATUS_OK && !download_is_url(item->text))
            rc = yaml_error(item, err, "'%s': expected a URL, got '%s'", dataset, item->text);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

status mirrors_read(mirrors *m, const char *path, const char *dataset, error *err) {
    *m = (mirrors){0};
    char *found = NULL;
    const yaml_node *lists;
    const char *named = getenv(VARIABLE);
    status rc = STATUS_OK;
    if (!path) {
        TRY(plugin_find("mirrors.yaml", VARIABLE, &found, err));
        if ((!named || !*named) && access(found, F_OK)) goto out;
        path = found;
    }
    TRY(yaml_read_file(path, &m->root, err));
    TRY(check(m->root, &lists, err));
    TRY(take_list(m, yaml_find(lists, dataset), dataset, err));
out:
    free(found);
    return rc;
}

void mirrors_release(mirrors *m) {
    free(m->urls);
    yaml_free(m->root);
    *m = (mirrors){0};
}
