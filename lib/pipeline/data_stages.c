// SPDX-License-Identifier: MIT
#include "pipeline/data_stages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/paths.h"
#include "base/spelling.h"
#include "data/manifest.h"
#include "data/source/dataset_list.h"
#include "experiment/lookup.h"
#include "pipeline/stage.h"

// ---- The user's own ----

static const char *const FILES[] = {"train.st.zst", "test.st.zst", "manifest.yaml"};
enum { FILE_COUNT = sizeof FILES / sizeof *FILES };

// Returns the first file of a data set that the folder lacks; NULL: none.
static const char *own_data_lacks(const char *folder) {
    for (int i = 0; i < FILE_COUNT; i++)
        if (!paths_allow(R_OK, "%s/%s", folder, FILES[i])) return FILES[i];
    return NULL;
}

status own_data_check(const settings *s, error *err) {
    const char *own = s->values[SETTING_DATA], *lacked = own ? own_data_lacks(own) : NULL;
    if (!lacked) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot use data: DATA='%s': it has no %s; import-images makes such a folder",
                     own, lacked);
}

// ---- Where they lie ----

static bool is_synthetic(const planned_run *r) {
    return strcmp(r->e.dataset, DATASET_SYNTHETIC) == 0;
}

// Not those next to an experiment of which SET has chosen another data set.
static bool may_be(const char *folder, const char *dataset) {
    char *name = lookup_dataset_in(folder);
    const bool other = name && strcmp(name, dataset) != 0;
    free(name);
    return !other;
}

// import-images writes an experiment next to its data. *own is NULL if the run has no data of the
// user.
static void find_own(const pipeline *p, const planned_run *r, char **own) {
    const char *given = p->settings->values[SETTING_DATA];
    const int length = lookup_folder_length(r->file);
    *own = NULL;
    if (!given && (is_synthetic(r) || dataset_find(r->e.dataset))) return;
    *own = given ? memory_string(given)
                 : memory_format("%.*s", length ? length - 1 : 1, length ? r->file : ".");
    if (given || (!own_data_lacks(*own) && may_be(*own, r->e.dataset))) return;
    free(*own);
    *own = memory_format("data/%s", r->e.dataset);
    if (!own_data_lacks(*own)) return;
    free(*own);
    *own = NULL;
}

const char *data_own(const planned_run *r) {
    return r->own ? r->data : NULL;
}

// Drawn images have the model's input shape.
static char *data_folder(const pipeline *p, const planned_run *r) {
    const program *m = &r->e.model.program;
    const bool usual = m->input.channels == 3 && m->input.height == 32 && m->input.width == 32;
    if (is_synthetic(r) && !usual)
        return memory_format("%s/data/synthetic-%dx%dx%d", p->artifacts, m->input.channels,
                             m->input.height, m->input.width);
    return memory_format("%s/data/%s", p->artifacts, r->e.dataset);
}

// The user's own folder is not changed: its shards lie below ARTIFACTS, named by its content hash.
static char *shard_folder(const pipeline *p, const planned_run *r, error *err) {
    const int shards = r->e.virtual_shards;
    const unsigned long long seed = r->e.shard_seed;
    yaml_node *root = NULL;
    char *path = NULL, *folder = NULL;
    if (!r->own) return memory_format("%s/shards-%d-%llu", r->data, shards, seed);
    path = memory_format("%s/manifest.yaml", r->data);
    if (manifest_read(path, &root, err) != STATUS_OK) goto out;
    const char *content = yaml_text_at(root, "outputs.0.content");
    if (!*content)
        error_set(err, STATUS_INPUT, "cannot use data: '%s': its first output has no content hash",
                  path);
    else
        folder = memory_format("%s/data/shards-%.12s-%d-%llu", p->artifacts, content, shards, seed);
out:
    yaml_free(root);
    free(path);
    return folder;
}

// Before the first stage: sharding takes any data, and a training would refuse it.
static status check_name(const pipeline *p, const planned_run *r, error *err) {
    const char *given = p->settings->values[SETTING_DATA];
    char *name = given ? lookup_dataset_in(given) : NULL;
    const bool other = name && *name && strcmp(name, r->e.dataset) != 0;
    const status rc =
        other
            ? error_set(err, STATUS_INPUT,
                        "cannot use data: DATA='%s': it is '%s', experiment '%s' needs '%s': pass "
                        "other data, or SET=\"dataset=%s\"",
                        given, name, r->e.name, r->e.dataset, name)
            : STATUS_OK;
    free(name);
    return rc;
}

// Pictures that an import of an earlier version called like data that are fetched or drawn: in
// DATA, or beside an experiment, whose other name they would be.
static status check_namesake(const pipeline *p, const planned_run *r, error *err) {
    const char *given = p->settings->values[SETTING_DATA];
    char *folder = given ? memory_string(given) : paths_folder(r->file);
    yaml_node *root = NULL;
    status rc = STATUS_OK;
    if ((is_synthetic(r) || dataset_find(r->e.dataset)) &&
        manifest_read_in(&root, NULL, "%s", folder) == STATUS_OK &&
        strcmp(yaml_text_at(root, "tool"), "import-images") == 0 &&
        strcmp(yaml_text_at(root, "parameters.dataset"), r->e.dataset) == 0)
        rc = error_set(err, STATUS_INPUT,
                       "cannot use data: '%s': these are pictures of import-images, under the name "
                       "of the data set '%s': import them with another --name",
                       folder, r->e.dataset);
    yaml_free(root);
    free(folder);
    return rc;
}

status data_locate(const pipeline *p, planned_run *r, error *err) {
    NEED(own_data_check(p->settings, err));
    NEED(check_name(p, r, err));
    NEED(check_namesake(p, r, err));
    find_own(p, r, &r->data);
    r->own = r->data != NULL;
    if (!r->own) r->data = data_folder(p, r);
    r->test = memory_format("%s/test.st.zst", r->data);
    r->train = r->e.virtual_shards == 1 ? memory_format("%s/train.st.zst", r->data)
                                        : shard_folder(p, r, err);
    return r->train ? STATUS_OK : err->code;
}

bool data_is_there(const planned_run *r) {
    return access(r->test, R_OK) == 0 &&
           paths_allow(R_OK, "%s%s", r->train, r->e.virtual_shards > 1 ? "/manifest.yaml" : "");
}

// Published data that are not there, without a source that is a file or a folder.
bool data_is_download(const pipeline *p, const planned_run *r) {
    const char *source = settings_source(p->settings, r->e.dataset);
    return !r->own && dataset_find(r->e.dataset) && access(r->test, R_OK) != 0 &&
           (!source || strstr(source, "://"));
}

status data_check_sources(const pipeline *p, const planned_runs *runs, error *err) {
    for (size_t i = 0; i < runs->count; i++) {
        const planned_run *r = &runs->items[i];
        const char *source = settings_source(p->settings, r->e.dataset);
        if (!r->own && source && !strstr(source, "://") && access(source, F_OK) != 0)
            return error_system(err, STATUS_INPUT, errno, "cannot use %s: '%s'",
                                settings_source_name(r->e.dataset), source);
    }
    return STATUS_OK;
}

// ---- Stages ----

void data_fetch_command(const planned_run *r, const char *source, strvec *command) {
    const dataset_entry *d = dataset_find(r->e.dataset); // NULL: drawn images
    char *images = planned_run_shape(r);
    strvec_add(command, d ? d->tool : "synth-cifar");
    if (d) {
        strvec_add_option(command, "--dataset", d->name);
        strvec_add_option(command, "--from", source);
    } else {
        strvec_add_option(command, "--shape", images);
    }
    strvec_add_option(command, "--out", r->data);
    free(images);
}

static status unknown(const planned_run *r, error *err) {
    const char *official[DATASETS + 1];
    for (size_t i = 0; i < DATASETS; i++) official[i] = dataset_list[i].name;
    official[DATASETS] = DATASET_SYNTHETIC;
    const char *near = spelling_nearest(r->e.dataset, official, DATASETS + 1);
    return error_set(err, STATUS_INPUT,
                     "cannot fetch data: '%s' is not an official data set%s%s%s give DATA=DIR, a "
                     "folder made by import-images, or make it data/%s",
                     r->e.dataset, near ? ": did you mean '" : ":", near ? near : "",
                     near ? "'? If not," : "", r->e.dataset);
}

static status fetch(pipeline *p, const planned_run *r, error *err) {
    strvec command = {0};
    status rc = STATUS_OK;
    if (r->own) return rc;
    if (!is_synthetic(r) && !dataset_find(r->e.dataset)) return unknown(r, err);
    data_fetch_command(r, settings_source(p->settings, r->e.dataset), &command);
    const stage s = {.name = "fetch", .dir = r->data, .title = r->e.dataset, .command = &command};
    TRY(stage_run(p, &s, err));
out:
    strvec_release(&command);
    return rc;
}

void data_shard_command(const planned_run *r, strvec *command) {
    strvec_add(command, "shard");
    strvec_format(command, "--shards=%d", r->e.virtual_shards);
    strvec_format(command, "--seed=%llu", (unsigned long long)r->e.shard_seed);
    strvec_add(command, "--in");
    strvec_format(command, "%s/train.st.zst", r->data);
    strvec_add_option(command, "--out", r->train);
}

static status shard(pipeline *p, const planned_run *r, error *err) {
    strvec command = {0};
    char *title = memory_format("%s in %d parts", r->e.dataset, r->e.virtual_shards);
    status rc;
    data_shard_command(r, &command);
    const stage s = {.name = "shard", .dir = r->train, .title = title, .command = &command};
    TRY(stage_run(p, &s, err));
out:
    free(title);
    strvec_release(&command);
    return rc;
}

status data_prepare(pipeline *p, const planned_run *r, error *err) {
    status rc = fetch(p, r, err);
    return rc == STATUS_OK && r->e.virtual_shards > 1 ? shard(p, r, err) : rc;
}
