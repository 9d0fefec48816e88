// SPDX-License-Identifier: MIT
#include "submission/verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/paths.h"
#include "base/printable.h"
#include "pipeline/command_plan.h"
#include "pipeline/data_stages.h"
#include "submission/page.h"
#include "submission/unpack.h"
#include "submission/verify_internal.h"

// ---- The experiments ----

static bool is_yaml(const char *name) {
    return name[paths_stem(name)] != 0;
}

static status list_experiments(const char *folder, strvec *files, error *err) {
    strvec names = {0};
    char *experiments = memory_format("%s/experiments", folder);
    (void)paths_list(experiments, is_yaml, false, &names);
    for (size_t i = 0; i < names.count; i++)
        strvec_format(files, "%s/%s", experiments, names.items[i]);
    strvec_release(&names);
    free(experiments);
    return files->count ? STATUS_OK : error_set(err, STATUS_INPUT, "it has no experiments");
}

// Makes the runs of the submission's experiments, as `make submission` would.
static status plan_experiments(pipeline *p, const char *folder, planned_runs *runs, error *err) {
    const settings *outer = p->settings;
    settings own = *outer;
    strvec files = {0};
    status rc = list_experiments(folder, &files, err);
    own.command = COMMAND_SUBMISSION;
    own.names = files;
    own.values[SETTING_SEED] = NULL;
    p->settings = &own;
    if (rc == STATUS_OK) rc = command_plan_make(p, runs, err);
    p->settings = outer;
    strvec_release(&files);
    return rc;
}

static const yaml_node *find_entry(const yaml_node *plan, const char *name) {
    const yaml_node *runs = yaml_find(plan, "runs");
    for (size_t i = 0; runs && i < runs->count; i++)
        if (strcmp(yaml_text_at(runs->items[i], "name"), name) == 0) return runs->items[i];
    return NULL;
}

// A run in the report whose experiment is not in the submission.
static void check_plan(const planned_runs *runs, const yaml_node *plan, verification *v) {
    const yaml_node *entries = yaml_find(plan, "runs");
    for (size_t i = 0; entries && i < entries->count; i++) {
        const char *name = yaml_text_at(entries->items[i], "name");
        bool there = false;
        for (size_t k = 0; k < runs->count; k++)
            there = there || strcmp(runs->items[k].name, name) == 0;
        if (!there)
            verification_add(v, CHECK_EXPERIMENT, CHECK_DIFFERENT,
                             "%s: it has no file in experiments/", name);
    }
}

// ---- All of it ----

// Fetches and shards the data. If there are none, the checks that need them are not made.
static status prepare_data(pipeline *p, const planned_run *r, verification *v, bool *there,
                           error *err) {
    error why = {0};
    const status rc = data_prepare(p, r, &why);
    *there = rc == STATUS_OK;
    v->failed = v->failed || rc == STATUS_FAILED;
    if (rc == STATUS_STOPPED) return error_set(err, rc, "%s", why.message);
    if (rc != STATUS_OK) log_error(p->log, &why);
    return STATUS_OK;
}

// data[i]: those of run i are there.
static status verify_runs(pipeline *p, const char *folder, const planned_runs *runs,
                          const bool *data, verification *v, error *err) {
    yaml_node *plan = NULL;
    char *path = memory_format("%s/" PAGE_PLAN, folder);
    status rc = yaml_read_file(path, &plan, err);
    if (rc == STATUS_OK) check_plan(runs, plan, v);
    for (size_t i = 0; rc == STATUS_OK && i < runs->count; i++) {
        const planned_run *r = &runs->items[i];
        const yaml_node *entry = find_entry(plan, r->name);
        for (size_t k = 0; rc == STATUS_OK && k < r->seed_count; k++)
            rc = submission_check_run(p, folder, r, &r->seeds[k], page_key(entry, k), data[i], v,
                                      err);
    }
    yaml_free(plan);
    free(path);
    return rc;
}

static status verify_folder(pipeline *p, const char *folder, verification *v, error *err) {
    planned_runs runs = {0};
    error why = {0};
    bool *data = NULL;
    status rc;
    TRY(submission_check_files(folder, v, err));
    status planned = plan_experiments(p, folder, &runs, &why);
    const size_t count = planned == STATUS_OK ? runs.count : 0;
    data = memory_new(count + 1, sizeof *data);
    for (size_t i = 0; i < count; i++) TRY(prepare_data(p, &runs.items[i], v, &data[i], err));
    TRY(submission_check_page(p, folder, data[0] ? runs.items[0].test : NULL, v, err));
    if (planned == STATUS_OK) planned = verify_runs(p, folder, &runs, data, v, &why);
    rc = verification_add_failure(v, CHECK_EXPERIMENT, planned, "experiments", &why, err);
out:
    free(data);
    planned_runs_release(&runs);
    return rc;
}

// The path of a page, in the folder that the submission is kept in.
static void move_page(char **page, const char *kept, const char *place) {
    if (!*page) return;
    free(*page);
    *page = memory_format("%s/%s/report.html", kept, place);
}

// Moves the folder to ARTIFACTS/PLACE.
static status keep_folder(const pipeline *p, const char *folder, const char *place, verification *v,
                          error *err) {
    char *kept = memory_format("%s/%s", p->artifacts, place);
    status rc = output_make_parent(kept, err);
    if (rc == STATUS_OK) {
        (void)!remove_tree(kept, NULL); // there may be none
        if (rename(folder, kept) != 0)
            rc = error_system(err, STATUS_FAILED, errno, "cannot write folder '%s'", kept);
    }
    if (rc == STATUS_OK) move_page(&v->report, kept, PAGE_FOLDER);
    if (rc == STATUS_OK) move_page(&v->own_page, kept, PAGE_OWN_FOLDER);
    free(kept);
    return rc;
}

status verify_archive(pipeline *p, const char *archive, const char *kept, uint64_t choice,
                      verification *v, error *err) {
    error why = {0};
    char *folder = NULL;
    status rc;
    v->choice = choice;
    v->archive = memory_string(archive);
    (void)printable(v->archive, true);
    TRY(work_open(p, err));
    folder = memory_format("%s/unpacked/%s", p->work.path, kept);
    rc = unpack_submission(archive, folder, &v->beside, &why);
    for (size_t i = 0; i < v->beside.count; i++) (void)printable(v->beside.items[i], true);
    if (rc == STATUS_INPUT) {
        (void)!remove_tree(folder, NULL); // gigabytes, if many are refused
        v->refused = memory_string(why.message);
        rc = STATUS_OK;
        (void)printable(v->refused, true);
        goto out;
    }
    TRY(rc == STATUS_OK ? rc : error_pass(&why, err));
    TRY(verify_folder(p, folder, v, err));
    rc = keep_folder(p, folder, kept, v, err);
out:
    free(folder);
    return rc;
}
