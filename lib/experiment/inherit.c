// SPDX-License-Identifier: MIT
#include "experiment/inherit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "experiment/experiment_fields.h"
#include "experiment/lookup.h"

// ---- Inheriting ----

static bool is_own(const char *key) {
    static const char *const own[] = {"schema", "name", "title", "base"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(key, own[i])) return true;
    return false;
}

static bool is_null(const yaml_node *node) {
    return node->kind == YAML_SCALAR && yaml_scalar_type(node) == YAML_NULL;
}

static void drop_nulls(yaml_node *mapping) {
    for (size_t i = mapping->count; i-- > 0;) {
        if (is_null(mapping->items[i]))
            yaml_remove(mapping, mapping->keys[i]);
        else if (mapping->items[i]->kind == YAML_MAPPING)
            drop_nulls(mapping->items[i]);
    }
}

// The kind of a section, or NULL if it has none or it is not a word.
static const char *kind_of(const yaml_node *section, const char *key) {
    const yaml_node *kind = yaml_find(section, "kind");
    return kind ? kind->text : experiment_default_kind(key);
}

static bool is_of_another_kind(const yaml_node *own, const yaml_node *base, const char *key) {
    if (!yaml_find(own, "kind")) return false;
    const char *mine = kind_of(own, key), *other = kind_of(base, key);
    return !mine || !other || strcmp(mine, other) != 0;
}

static void take_group(yaml_node *own, const yaml_node *base) {
    for (size_t i = 0; i < base->count; i++)
        if (!yaml_find(own, base->keys[i])) yaml_put(own, base->keys[i], yaml_copy(base->items[i]));
}

static void take_over(yaml_node *root, const yaml_node *base) {
    for (size_t i = 0; i < base->count; i++) {
        const char *key = base->keys[i];
        const yaml_node *item = base->items[i];
        yaml_node *own = (yaml_node *)yaml_find(root, key); // not const: this function owns the
                                                            // tree
        if (is_own(key)) continue;
        if (!own)
            yaml_put(root, key, yaml_copy(item));
        else if (experiment_is_section(key) && own->kind == YAML_MAPPING &&
                 item->kind == YAML_MAPPING && !is_of_another_kind(own, item, key))
            take_group(own, item);
    }
    drop_nulls(root);
}

// ---- Reading ----

// The chain of files that led here, nearest first.
typedef struct link {
    const struct link *before;
    dev_t device;
    ino_t inode;
    int depth;
} link;

static status read_file(const char *path, const link *before, yaml_node **root, error *err);

static status check_way(const link *here, const char *path, const yaml_node *place, error *err) {
    struct stat info;
    if (here->depth == INHERIT_MAX_DEPTH)
        return yaml_error(place, err, "'base': more than %d files, each based on the next",
                          INHERIT_MAX_DEPTH);
    if (stat(path, &info)) return STATUS_OK; // reading it reports why
    for (const link *l = here; l; l = l->before)
        if (l->device == info.st_dev && l->inode == info.st_ino)
            return yaml_error(place, err, "'base': '%s' is this file, or based on it", path);
    return STATUS_OK;
}

// A message about a place in the base is kept as it is; a missing file is reported at `place`.
static status read_base(const char *path, const link *here, const yaml_node *place,
                        yaml_node **base, error *err) {
    error local;
    status rc = read_file(path, here, base, &local);
    if (rc == STATUS_OK) return rc;
    if (rc == STATUS_INPUT && local.origin == ERROR_ELSEWHERE)
        return yaml_error(place, err, "'base': %s", local.message);
    return error_pass(&local, err);
}

static status check_schema(const yaml_node *base, const char *path, const yaml_node *place,
                           error *err) {
    const yaml_node *schema = yaml_find(base, "schema");
    if (schema && schema->kind == YAML_SCALAR && !strcmp(schema->text, "lockstep.experiment/1"))
        return STATUS_OK;
    if (!schema)
        return yaml_error(place, err,
                          "'base': '%s' has no 'schema:' line: add 'schema: lockstep.experiment/1'",
                          path);
    return yaml_error(place, err, "'base': '%s' is not an experiment", path);
}

static status add_base(yaml_node *root, const char *path, const link *here, error *err) {
    const yaml_node *place = yaml_find(root, "base");
    const char *name;
    char *file = NULL;
    yaml_node *base = NULL;
    error local;
    status rc;
    TRY(yaml_string(place, "base", &name, err));
    rc = lookup_run(path, "", name, &file, &local);
    if (rc == STATUS_INPUT) rc = yaml_error(place, err, "'base': %s", local.message);
    if (rc == STATUS_FAILED) rc = error_pass(&local, err);
    if (rc != STATUS_OK) goto out;
    TRY(check_way(here, file, place, err));
    TRY(read_base(file, here, place, &base, err));
    TRY(check_schema(base, file, place, err));
    take_over(root, base);
    yaml_remove(root, "base");
out:
    yaml_free(base);
    free(file);
    return rc;
}

static status read_file(const char *path, const link *before, yaml_node **root, error *err) {
    struct stat info = {0};
    status rc = yaml_read_file(path, root, err);
    if (rc != STATUS_OK) return rc;
    (void)stat(path, &info); // it was read; if it is gone since, no file leads back to it
    const link here = {before, info.st_dev, info.st_ino, before ? before->depth + 1 : 0};
    if ((*root)->kind != YAML_MAPPING)
        rc = yaml_error(*root, err, "expected an experiment: a mapping");
    else if (yaml_find(*root, "base"))
        rc = add_base(*root, path, &here, err);
    if (rc == STATUS_OK) return rc;
    yaml_free(*root);
    *root = NULL;
    return rc;
}

status inherit_read(const char *path, yaml_node **root, error *err) {
    return read_file(path, NULL, root, err);
}
