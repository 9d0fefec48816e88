// SPDX-License-Identifier: MIT
// Makes the plan of each command, and its runs.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "experiment/plan.h"
#include "experiment/published.h"
#include "pipeline/naming.h"
#include "pipeline/planned_run.h"

// Adds the figures published about a file's experiment.
static status put_published(yaml_node *run, const char *file, error *err) {
    experiment e = {0};
    published p = {0};
    status rc = experiment_read(&e, file, NULL, 0, err);
    if (rc == STATUS_OK) rc = published_read(&p, file, err);
    if (rc == STATUS_OK) rc = published_put(&p, run, NULL, e.name, err);
    published_release(&p);
    experiment_release(&e);
    return rc;
}

// Makes a plan without a question: the experiments by name. The first one is the baseline of a
// comparison.
static status plan_runs(const pipeline *p, const words *files, planned_runs *runs, error *err) {
    const settings *s = p->settings;
    const words *set = &s->assignments;
    yaml_node *run;
    status rc;
    TRY(plan_new("runs", NULL, &runs->plan, err));
    for (size_t i = 0; i < files->count; i++) {
        char *name, *folder;
        TRY(naming_of_run(p, files, i, &name, &folder, err));
        rc = plan_add_run(runs->plan, name, &run, err);
        if (rc == STATUS_OK)
            rc = yaml_put(run, "experiment", yaml_new_string(files->items[i], err), err);
        if (rc == STATUS_OK) rc = yaml_put(run, "folder", yaml_new_string(folder, err), err);
        if (rc == STATUS_OK) rc = put_published(run, files->items[i], err);
        for (size_t k = 0; rc == STATUS_OK && k < set->count; k++)
            rc = plan_add_set(run, set->items[k], err);
        free(name);
        free(folder);
        if (rc != STATUS_OK) goto out;
    }
    const yaml_node *first = yaml_get(runs->plan, "runs.0.name");
    if (files->count > 1) rc = yaml_put(runs->plan, "baseline", yaml_copy(first, err), err);
out:
    return rc;
}

// Sets the report's folder and the plan's file, below ARTIFACTS. `joined` names the question; with
// settings that change the figures, both get a suffix.
static status place(const pipeline *p, planned_runs *runs, const char *joined, const char *report,
                    error *err) {
    char *suffix = naming_suffix(p->settings, false, err);
    char *of_report = naming_suffix(p->settings, true, err);
    if (suffix && of_report) {
        runs->report = memory_format(err, "%s/%s%s%s%s", p->artifacts, joined, *report ? "/" : "",
                                     report, of_report);
        runs->file = memory_format(err, "%s/%s%splan%s.yaml", p->artifacts, joined,
                                   *report ? "/" : "-", suffix);
    }
    free(of_report);
    free(suffix);
    return runs->report && runs->file ? STATUS_OK : STATUS_FAILED;
}

static status plan_experiment_command(const pipeline *p, planned_runs *runs, char **folder,
                                      error *err) {
    const words *set = &p->settings->assignments;
    words files = {0};
    bool study;
    status rc;
    TRY(naming_find(p, true, &files, &study, err));
    *folder = naming_base(files.items[0], err);
    TRY(*folder ? STATUS_OK : STATUS_FAILED);
    TRY(place(p, runs, *folder, "report", err));
    rc = study ? plan_study(files.items[0], (const char *const *)set->items, set->count,
                            &runs->plan, err)
               : plan_runs(p, &files, runs, err);
out:
    words_release(&files);
    return rc;
}

static status plan_compare_command(const pipeline *p, planned_runs *runs, char **folder,
                                   error *err) {
    words files = {0};
    status rc;
    TRY(naming_find(p, false, &files, NULL, err));
    TRY(plan_runs(p, &files, runs, err));
    *folder = naming_joined("compare", runs->plan, err);
    TRY(*folder ? place(p, runs, *folder, "", err) : STATUS_FAILED);
out:
    words_release(&files);
    return rc;
}

static status plan_explain_command(const pipeline *p, planned_runs *runs, char **folder,
                                   error *err) {
    const words *set = &p->settings->assignments;
    words files = {0};
    status rc;
    TRY(naming_find(p, false, &files, NULL, err));
    char *from = naming_base(files.items[0], err), *to = naming_base(files.items[1], err);
    if (from && to) *folder = naming_shortened(memory_format(err, "explain-%s-%s", from, to), err);
    free(from);
    free(to);
    TRY(*folder ? place(p, runs, *folder, "report", err) : STATUS_FAILED);
    TRY(plan_ladder(files.items[0], files.items[1], (const char *const *)set->items, set->count,
                    &runs->plan, err));
out:
    words_release(&files);
    return rc;
}

static status plan_reproduce_command(const pipeline *p, planned_runs *runs, char **folder,
                                     error *err) {
    const settings *s = p->settings;
    char *list = naming_list(p, err);
    status rc = list ? STATUS_OK : err->code;
    if (rc == STATUS_OK)
        rc = plan_reproduction(list, s->quick, (const char *const *)s->assignments.items,
                               s->assignments.count, &runs->plan, err);
    if (rc == STATUS_OK) {
        *folder = memory_string(yaml_find(runs->plan, "name")->text, err);
        rc = *folder ? place(p, runs, *folder, "report", err) : STATUS_FAILED;
    }
    free(list);
    return rc;
}

static status make_plan(const pipeline *p, planned_runs *runs, char **folder, error *err) {
    switch (p->settings->command) {
    case COMMAND_EXPERIMENT: return plan_experiment_command(p, runs, folder, err);
    case COMMAND_COMPARE:
    case COMMAND_SUBMISSION: return plan_compare_command(p, runs, folder, err);
    case COMMAND_EXPLAIN: return plan_explain_command(p, runs, folder, err);
    case COMMAND_REPRODUCE: return plan_reproduce_command(p, runs, folder, err);
    case COMMAND_VERIFY:
    case COMMAND_GRADE:
    case COMMAND_RUNS:
    case COMMAND_CLEAN_RUNS:
    case COMMANDS: break;
    }
    return error_set(err, STATUS_USAGE, "no plan");
}

status planned_runs_make(const pipeline *p, planned_runs *runs, error *err) {
    char *folder = NULL;
    status rc = make_plan(p, runs, &folder, err);
    if (rc == STATUS_OK) rc = planned_runs_resolve(p, runs, folder, err);
    free(folder);
    return rc;
}
