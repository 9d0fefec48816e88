// SPDX-License-Identifier: MIT
#include "pipeline/change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/text.h"
#include "data/manifest.h"
#include "data/tensor/tensor_file.h"
#include "experiment/factors.h"
#include "pipeline/store.h"

// ---- Differences between two experiments ----

enum { SHOWN_BYTES = 61 };

typedef struct difference_text {
    text shown;
    size_t count;
} difference_text;

// Writes a value as in a file; lists and mappings in JSON.
static void show(const yaml_node *node, char shown[SHOWN_BYTES]) {
    char *json = NULL;
    if (!node)
        snprintf(shown, SHOWN_BYTES, "none");
    else if (node->kind == YAML_SCALAR)
        snprintf(shown, SHOWN_BYTES, "%s", node->text);
    else
        snprintf(shown, SHOWN_BYTES, "%s", json = json_from_yaml(node));
    free(json);
}

static void add_difference(difference_text *t, const char *group, const char *key,
                           const yaml_node *before, const yaml_node *now) {
    char from[SHOWN_BYTES], to[SHOWN_BYTES];
    enum { MOST = 4 };
    const char *separator = t->count ? ", " : "";
    if (++t->count > MOST) return;
    show(before, from);
    show(now, to);
    if (t->count == MOST)
        text_append(&t->shown, ", …");
    else if (strcmp(from, to) == 0) // values that differ but look the same: a model's layers
        text_format(&t->shown, "%s%s%s%.40s %s changed", separator, group, *group ? "." : "", key,
                    from);
    else
        text_format(&t->shown, "%s%s%s%.40s %s → %s", separator, group, *group ? "." : "", key,
                    from, to);
}

static bool is_shown_apart(const char *key) {
    return factors_is_label(key) || strcmp(key, "seed") == 0;
}

static void compare_value(difference_text *t, const char *group, const char *key,
                          const yaml_node *a, const yaml_node *b);

// Lists the keys of `a`, then those that only `b` has.
static void compare_mapping(difference_text *t, const char *group, const yaml_node *a,
                            const yaml_node *b) {
    for (size_t i = 0; i < a->count; i++)
        if (*group || !is_shown_apart(a->keys[i]))
            compare_value(t, group, a->keys[i], a->items[i], yaml_find(b, a->keys[i]));
    for (size_t i = 0; i < b->count; i++)
        if ((*group || !is_shown_apart(b->keys[i])) && !yaml_find(a, b->keys[i]))
            compare_value(t, group, b->keys[i], NULL, b->items[i]);
}

static void compare_value(difference_text *t, const char *group, const char *key,
                          const yaml_node *a, const yaml_node *b) {
    if (a && b && yaml_equal(a, b)) return;
    if (strcmp(key, "architecture") == 0)
        add_difference(t, "", "model", a ? yaml_find(a, "name") : NULL,
                       b ? yaml_find(b, "name") : NULL);
    else if (!*group && a && b && a->kind == YAML_MAPPING && b->kind == YAML_MAPPING)
        compare_mapping(t, key, a, b);
    else
        add_difference(t, group, key, a, b);
}

size_t change_keys(const yaml_node *before, const yaml_node *now, char *keys, size_t size) {
    difference_text t = {0};
    compare_mapping(&t, "", before, now);
    snprintf(keys, size, "%s", text_string(&t.shown));
    text_release(&t.shown);
    return t.count;
}

// ---- Differences from the previous run ----

// Reads the run's experiment without the assignments of this call.
static status read_without(const pipeline *p, const planned_run *r, experiment *e, error *err) {
    strvec set = {0};
    status rc = STATUS_OK;
    for (size_t i = 0; i < r->set.count; i++)
        if (!strvec_has(&p->settings->assignments, r->set.items[i]))
            strvec_add(&set, r->set.items[i]);
    rc = experiment_read(e, r->file, (const char *const *)set.items, set.count, err);
    strvec_release(&set);
    return rc;
}

// Where the link shows no finished run yet, settings of this call may have named its folder: then
// these are the difference.
static void describe_last(const pipeline *p, const planned_run *r, const planned_seed *s, char *why,
                          size_t size) {
    yaml_node *root = NULL;
    experiment e = {0};
    const bool there =
        manifest_read_in(&root, NULL, "%s/%s/train", p->artifacts, s->place) == STATUS_OK;
    const yaml_node *before = there ? yaml_find(root, "parameters") : NULL;
    if (before && before->kind == YAML_MAPPING && !change_keys(before, r->e.resolved, why, size))
        snprintf(why, size, "different data%s, kind of device, or version",
                 r->e.weights_path ? ", initial weights" : "");
    if (!there && read_without(p, r, &e, NULL) == STATUS_OK)
        (void)change_keys(e.resolved, r->e.resolved, why, size);
    experiment_release(&e);
    yaml_free(root);
}

// ---- Continuing from fewer epochs ----

// Is this manifest's run the one with `key`, except for its epochs? *epochs is its number of
// epochs.
static status is_shorter(const yaml_node *root, const experiment *e, const char *key, bool *shorter,
                         double *epochs, error *err) {
    char other[SHA256_TEXT_BYTES];
    status rc = STATUS_OK;
    *shorter = false;
    const yaml_node *own = yaml_find(root, "parameters");
    *epochs = own ? experiment_epochs_of(own) : 0;
    if (!(*epochs > 0 && *epochs < e->epochs)) return rc;
    yaml_node *trial = yaml_copy(root);
    yaml_put((yaml_node *)yaml_find(trial, "parameters"), "epochs", yaml_new_number(e->epochs));
    TRY(manifest_key_of(trial, other, err));
    *shorter = strcmp(other, key) == 0;
out:
    yaml_free(trial);
    return rc;
}

typedef struct candidate {
    char *folder; // of the execution; NULL: there is none
    double epochs;
    char why[256]; // why it cannot be continued; "" if it can
} candidate;

// Writes to `why` the reason that the run of `root` cannot be continued; "" if it can. The keys
// agree, so only the schedule remains to be checked.
static void check_schedule(const yaml_node *root, const planned_run *r, const planned_seed *s,
                           char why[256]) {
    static const char *const foreign[] = {"published", "backend", "reduce"};
    yaml_node *before = yaml_copy(yaml_find(root, "parameters"));
    yaml_node *now = yaml_copy(r->e.resolved);
    yaml_put(now, "seed", yaml_new_integer((int64_t)s->seed));
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) yaml_remove(before, foreign[i]);
    if (!experiment_continues(before, now, why)) *why = 0;
    yaml_free(now);
    yaml_free(before);
}

// Earlier states do not record the revision of the arithmetic; training refuses those.
static void check_state(const execution *x, char why[256]) {
    tensor_file f = {0};
    char *path = memory_format("%s/train/state.st.zst", x->folder);
    if (tensor_file_read_header(path, &f, NULL) == STATUS_OK) {
        const char *bits = tensor_file_metadata(&f, "bits");
        if (!bits || strcmp(bits, yaml_text_at(x->train, "bits")) != 0)
            snprintf(why, 256, "its state does not record the revision of the arithmetic");
    }
    tensor_file_release(&f);
    free(path);
}

static status consider(const execution *x, const planned_run *r, const planned_seed *s,
                       candidate *best, error *err) {
    bool shorter;
    double epochs;
    if (!x->train) return STATUS_OK;
    status rc = is_shorter(x->train, &r->e, s->key, &shorter, &epochs, err);
    if (rc != STATUS_OK || !shorter || (best->folder && epochs <= best->epochs)) return rc;
    free(best->folder);
    *best = (candidate){.epochs = epochs, .folder = memory_string(x->folder)};
    check_schedule(x->train, r, s, best->why);
    if (!*best->why) check_state(x, best->why);
    return rc;
}

static status find_candidate(const pipeline *p, const planned_run *r, const planned_seed *s,
                             candidate *best, error *err) {
    strvec keys = {0};
    status rc = store_keys(p->artifacts, &keys, err);
    if (rc != STATUS_OK) return rc;
    for (size_t i = 0; rc == STATUS_OK && i < keys.count; i++) {
        execution_list list;
        // An unusable folder must not prevent training.
        if (store_read(p->artifacts, keys.items[i], &list, NULL) != STATUS_OK) continue;
        if (list.count) rc = consider(&list.items[0], r, s, best, err);
        store_release(&list);
    }
    strvec_release(&keys);
    return rc;
}

static status copy_state(const pipeline *p, const candidate *c, const char *key, error *err) {
    char *from = memory_format("%s/train/state.st.zst", c->folder);
    char *run = store_execution_folder(p->artifacts, key, 1);
    char *to = memory_format("%s/train/state.st.zst", run);
    status rc = output_make_parent(to, err);
    if (rc == STATUS_OK) rc = copy_file(from, to, err);
    free(to);
    free(run);
    free(from);
    return rc;
}

status change_describe(const pipeline *p, const planned_run *r, const planned_seed *s,
                       bool may_go_on, bool *resume, char *why, size_t size, error *err) {
    candidate c = {0};
    describe_last(p, r, s, why, size);
    status rc;
    if (!may_go_on || !p->settings->resume) return STATUS_OK;
    TRY(find_candidate(p, r, s, &c, err));
    if (!c.folder) goto out;
    if (*c.why) {
        snprintf(why, size, "epochs %.12g → %.12g, from the start: %s", c.epochs, r->e.epochs,
                 c.why);
        goto out;
    }
    TRY(copy_state(p, &c, s->key, err));
    *resume = true;
    snprintf(why, size,
             "epochs %.12g → %.12g: continues %s, so it has no times of its own; TIME=1 trains it "
             "whole",
             c.epochs, r->e.epochs, c.folder);
out:
    free(c.folder);
    return rc;
}
