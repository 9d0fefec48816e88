// SPDX-License-Identifier: MIT
#include "pipeline/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/filter.h"
#include "base/memory.h"
#include "base/paths.h"
#include "base/text.h"
#include "pipeline/data_stages.h"
#include "pipeline/run_names.h"
#include "pipeline/tool.h"

// ---- One run ----

static const char *const tools[] = {
    [STRATEGY_SINGLE] = "train-single",
    [STRATEGY_DP] = "train-dp",
    [STRATEGY_DDP] = "train-ddp",
    [STRATEGY_MP] = "train-mp",
};

static status check_tool(const pipeline *p, const planned_run *r, error *err) {
    char *path = memory_format("%s/%s", p->bin, r->tool);
    const int reason = filter_search(path);
    status rc = STATUS_OK;
    if (reason == ENOENT)
        rc = error_set(err, STATUS_FAILED,
                       "cannot train '%s': its strategy is %s, and '%s' is not built; another "
                       "tool can run it: SET='strategy=single'",
                       r->name, r->tool + strlen("train-"), path);
    else if (reason)
        rc = error_system(err, STATUS_FAILED, reason, "cannot train '%s': cannot run '%s'", r->name,
                          path);
    free(path);
    return rc;
}

static status add_seeds(planned_run *r, const char *folder, error *err) {
    const uint64_t first = r->e.seed, count = (uint64_t)r->e.repeats;
    if (first > INT64_MAX - count + 1)
        return error_set(
            err, STATUS_USAGE, "cannot train '%s': %llu seeds from %llu: the largest seed is %lld",
            r->name, (unsigned long long)count, (unsigned long long)first, (long long)INT64_MAX);
    r->seeds = memory_new(count, sizeof *r->seeds);
    for (r->seed_count = 0; r->seed_count < count; r->seed_count++) {
        planned_seed *s = &r->seeds[r->seed_count];
        s->seed = first + r->seed_count;
        s->place = memory_format("%s/seed-%llu", folder, (unsigned long long)s->seed);
        s->own = memory_format("%s/seed-%llu", r->name, (unsigned long long)s->seed);
    }
    return STATUS_OK;
}

// A list of devices is dealt to the experiment's ranks: it gives their places, not their number.
static void choose_devices(const pipeline *p, planned_run *r) {
    const char *given = p->settings->values[SETTING_DEVICE];
    const char *math = p->settings->values[SETTING_MATH];
    const int ranks = r->e.strategy == STRATEGY_SINGLE ? 1 : r->e.world_size;
    strvec list = {0};
    text dealt = {0};
    strvec_add_option(&r->device, "--math", math);
    if (!given || !strchr(given, ',')) {
        strvec_add_option(&r->device, "--device", given);
        return;
    }
    strvec_split(&list, given, ",");
    if (!list.count) strvec_add(&list, given); // the tool will report the error
    for (int i = 0; i < ranks; i++)
        text_format(&dealt, "%s%s", i ? "," : "", list.items[(size_t)i % list.count]);
    strvec_add_option(&r->device, "--device", text_string(&dealt));
    text_release(&dealt);
    strvec_release(&list);
}

// The folders of a plan: `question` is called `folder` now; others get the settings' suffix.
typedef struct plan_folders {
    const char *question, *folder;
    char *suffix;
} plan_folders;

// Returns the folder of the run's links, below ARTIFACTS, once the settings are in its name. The
// folders in that of a study have a claim only where the study is the question.
static char *place_of(const pipeline *p, planned_runs *runs, const planned_run *r,
                      const plan_folders *f) {
    const yaml_node *own = yaml_find(r->entry, "folder");
    if (!own) return memory_format("%s/%s", f->folder, r->name);
    const size_t top = strcspn(own->text, "/");
    const char *below = own->text + top;
    if (f->question && strlen(f->question) == top && strncmp(own->text, f->question, top) == 0)
        return memory_format("%s%s", f->folder, below);
    char *place = memory_format("%.*s%s%s", (int)top, own->text, f->suffix, below);
    const strvec file = {.items = (char *[]){(char *)r->file, NULL}, .count = 1};
    return *below ? place : owned_names_take(p, &runs->names, place, &file);
}

static status read_entry(const pipeline *p, planned_runs *runs, planned_run *r, yaml_node *entry,
                         const plan_folders *f, error *err) {
    const yaml_node *plan = runs->plan;
    const yaml_node *file = yaml_find(entry, "experiment"), *set = yaml_find(entry, "set");
    r->entry = entry;
    r->name = yaml_find(entry, "name")->text;
    r->file = (file ? file : yaml_find(plan, "experiment"))->text;
    for (size_t i = 0; i < set->count; i++) strvec_add(&r->set, set->items[i]->text);
    NEED(experiment_read(&r->e, r->file, (const char *const *)r->set.items, r->set.count, err));
    r->tool = memory_string(tools[r->e.strategy]);
    char *place = place_of(p, runs, r, f);
    yaml_put(entry, "folder", yaml_new_string(place));
    free(place);
    return STATUS_OK;
}

// Has the tool check its command line (DEVICE, MATH, THREADS), without the data.
static status check_settings(const pipeline *p, const planned_run *r, error *err) {
    const char *threads = p->settings->values[SETTING_THREADS];
    strvec command = {0};
    char *ignored = NULL;
    if (!r->device.count && !threads) return STATUS_OK;
    strvec_add(&command, r->tool);
    strvec_add_option(&command, "--experiment", r->file);
    for (size_t i = 0; i < r->set.count; i++) strvec_add_option(&command, "--set", r->set.items[i]);
    strvec_add_all(&command, &r->device);
    strvec_add_option(&command, "--threads", threads);
    strvec_add(&command, "--print-parameters");
    status rc = tool_ask(p, &command, &ignored, err);
    if (rc != STATUS_OK) tool_complain(&command, err);
    free(ignored);
    strvec_release(&command);
    return rc;
}

static status find_program(const char *name, error *err) {
    const int reason = filter_search(name);
    if (!reason) return STATUS_OK;
    if (reason == ENOENT && !strchr(name, '/'))
        return error_set(err, STATUS_USAGE, "cannot find LAUNCHER: '%s': no such program on PATH",
                         name);
    return error_system(err, STATUS_USAGE, reason, "cannot use LAUNCHER: '%s'", name);
}

static status check_launcher(const pipeline *p, error *err) {
    strvec launcher = {0};
    strvec_split(&launcher, p->settings->values[SETTING_LAUNCHER], " ");
    const status rc = launcher.count ? find_program(launcher.items[0], err) : STATUS_OK;
    strvec_release(&launcher);
    return rc;
}

// ---- All runs ----

static status resolve(const pipeline *p, planned_runs *runs, const char *question,
                      const char *folder, error *err) {
    const yaml_node *entries = yaml_find(runs->plan, "runs");
    const plan_folders f = {question, folder, run_names_suffix(p->settings)};
    status rc;
    TRY(check_launcher(p, err));
    runs->items = memory_new(entries->count, sizeof *runs->items);
    for (size_t i = 0; i < entries->count; i++) {
        planned_run *r = &runs->items[runs->count++];
        TRY(read_entry(p, runs, r, entries->items[i], &f, err));
        TRY(add_seeds(r, yaml_find(r->entry, "folder")->text, err));
        TRY(check_tool(p, r, err));
        choose_devices(p, r);
        if (i == 0) TRY(check_settings(p, r, err));
        TRY(data_locate(p, r, err));
    }
out:
    free(f.suffix);
    return rc;
}

// Two runs with the same name or folder would be shown as one.
static status check_names(const planned_runs *runs, error *err) {
    for (size_t i = 0; i < runs->count; i++) {
        for (size_t k = 0; k < i; k++) {
            const planned_run *a = &runs->items[k], *b = &runs->items[i];
            const char *place = yaml_find(a->entry, "folder")->text;
            if (strcmp(a->name, b->name) != 0 &&
                strcmp(place, yaml_find(b->entry, "folder")->text) != 0)
                continue;
            if (strcmp(a->file, b->file) == 0)
                return error_set(err, STATUS_USAGE, "'%s' is named twice", a->file);
            return error_set(err, STATUS_USAGE,
                             "'%s' and '%s' have the same name, '%s'; rename one of the files",
                             a->file, b->file, strcmp(a->name, b->name) == 0 ? a->name : place);
        }
    }
    return STATUS_OK;
}

status resolve_runs(const pipeline *p, planned_runs *runs, const char *question, const char *folder,
                    error *err) {
    status rc = resolve(p, runs, question, folder, err);
    return rc == STATUS_OK ? check_names(runs, err) : rc;
}

// ---- Keys ----

static status find_keys(pipeline *p, planned_run *r, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < r->seed_count; i++) {
        strvec command = {0};
        planned_seed *s = &r->seeds[i];
        planned_run_command(p, r, s, r->file, false, &command);
        rc = tool_key(p, &command, s->key, err);
        strvec_release(&command);
    }
    return rc;
}

static void put_keys(const planned_run *r) {
    yaml_node *keys = yaml_new(YAML_SEQUENCE);
    yaml_put(r->entry, "keys", keys);
    for (size_t i = 0; i < r->seed_count; i++) yaml_append(keys, yaml_new_string(r->seeds[i].key));
    if (r->e.tta == TTA_NONE) return;
    yaml_put(r->entry, "views", yaml_new_string(tta_word(r->e.tta)));
}

// Labels are not part of the key, so a run may have been trained with other labels: the plan has
// those of this experiment.
static void show_own(planned_run *r) {
    static const char *const shown[] = {"title", "target_accuracy"};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        const yaml_node *own = yaml_find(r->e.resolved, shown[i]);
        if (own) yaml_put(r->entry, shown[i], yaml_copy(own));
    }
    if (yaml_find(r->entry, "published")) return;
    yaml_put(r->entry, "published", yaml_new(YAML_SEQUENCE));
}

static status check_distinct(const planned_runs *runs, error *err) {
    for (size_t i = 0; i < runs->count; i++)
        for (size_t k = 0; k < i; k++)
            if (*runs->items[i].seeds->key && runs->items[i].e.tta == runs->items[k].e.tta &&
                strcmp(runs->items[i].seeds->key, runs->items[k].seeds->key) == 0)
                return error_set(err, STATUS_USAGE,
                                 "'%s' and '%s' are the same run: nothing that affects training "
                                 "or testing differs, so there is nothing to compare",
                                 runs->items[k].name, runs->items[i].name);
    return STATUS_OK;
}

static status find_all_keys(pipeline *p, planned_runs *runs, bool with_data, bool distinct,
                            error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < runs->count; i++)
        if (!with_data || data_is_there(&runs->items[i])) rc = find_keys(p, &runs->items[i], err);
    return rc == STATUS_OK && distinct ? check_distinct(runs, err) : rc;
}

status resolve_keys(pipeline *p, planned_runs *runs, bool distinct, error *err) {
    return find_all_keys(p, runs, true, distinct, err);
}

status resolve_data_and_keys(pipeline *p, planned_runs *runs, bool distinct, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < runs->count; i++)
        rc = data_prepare(p, &runs->items[i], err);
    if (rc == STATUS_OK) rc = find_all_keys(p, runs, false, distinct, err);
    for (size_t i = 0; rc == STATUS_OK && i < runs->count; i++) {
        planned_run *r = &runs->items[i];
        put_keys(r);
        show_own(r);
        for (size_t k = 0; rc == STATUS_OK && k < r->seed_count; k++)
            rc = planned_seed_look(p, &r->seeds[k], err);
    }
    return rc;
}
