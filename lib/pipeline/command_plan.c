// SPDX-License-Identifier: MIT
#include "pipeline/command_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "experiment/factors.h"
#include "experiment/plan.h"
#include "experiment/published.h"
#include "pipeline/resolve.h"
#include "pipeline/run_names.h"

// Adds the figures published about a file's experiment, unless these settings make it other work.
static status put_published(yaml_node *run, const char *file, const strvec *set, error *err) {
    experiment own = {0}, is = {0};
    published p = {0};
    status rc = experiment_read(&own, file, NULL, 0, err);
    if (rc == STATUS_OK)
        rc = experiment_read(&is, file, (const char *const *)set->items, set->count, err);
    if (rc == STATUS_OK) rc = published_read(&p, file, err);
    if (rc == STATUS_OK && factors_are_published(&is, &own, true)) {
        published_put(&p, run, NULL, own.name);
        if (yaml_find(run, "published"))
            yaml_put(run, "published_epochs", yaml_new_number(own.epochs));
    }
    published_release(&p);
    experiment_release(&is);
    experiment_release(&own);
    return rc;
}

// Makes a plan without a question: the experiments by name. The first one is the baseline of a
// comparison.
static status plan_runs(const pipeline *p, const strvec *files, planned_runs *runs, error *err) {
    const settings *s = p->settings;
    const strvec *set = &s->assignments;
    status rc = STATUS_OK;
    runs->plan = plan_new("runs", NULL);
    for (size_t i = 0; i < files->count; i++) {
        char *name, *folder;
        TRY(run_names_of(p, files, i, &name, &folder, err));
        yaml_node *run = plan_add_run(runs->plan, name);
        yaml_put(run, "experiment", yaml_new_string(files->items[i]));
        yaml_put(run, "folder", yaml_new_string(folder));
        rc = put_published(run, files->items[i], set, err);
        for (size_t k = 0; rc == STATUS_OK && k < set->count; k++) plan_add_set(run, set->items[k]);
        free(name);
        free(folder);
        if (rc != STATUS_OK) goto out;
    }
    const yaml_node *first = yaml_get(runs->plan, "runs.0.name");
    if (files->count > 1) yaml_put(runs->plan, "baseline", yaml_copy(first));
out:
    return rc;
}

// Where the results of a question go.
typedef struct place {
    char
        *question; // "explain-single-ddp4"; its runs' folders are below it, unless they have theirs
    char *folder;  // its name for these settings, "explain-single-ddp4-epochs=3"
} place;

// Sets the places, the report's folder and the plan's file, below ARTIFACTS, for a question with
// this name (of which it takes ownership) about these files. A comparison has no folder but that of
// its report.
static void put_places(const pipeline *p, planned_runs *runs, place *where, char *question,
                       const strvec *files, bool is_report) {
    char *suffix = run_names_suffix(p->settings);
    char *seeds = run_names_report_suffix(p->settings, false);
    char *of_report = run_names_report_suffix(p->settings, true);
    const char *between = is_report ? "" : "/report";
    where->question = question;
    where->folder =
        owned_names_take(p, &runs->names, memory_format("%s%s", question, suffix), files);
    runs->report = memory_format("%s/%s%s%s", p->artifacts, where->folder, between, of_report);
    runs->file = is_report ? memory_format("%s/%s%s-plan.yaml", p->artifacts, where->folder, seeds)
                           : memory_format("%s/%s/plan%s.yaml", p->artifacts, where->folder, seeds);
    free(of_report);
    free(seeds);
    free(suffix);
}

static status plan_experiment_command(const pipeline *p, planned_runs *runs, place *where,
                                      error *err) {
    const strvec *set = &p->settings->assignments;
    strvec files = {0};
    bool study;
    status rc;
    TRY(run_names_find(p, true, &files, &study, err));
    put_places(p, runs, where, run_names_base(files.items[0]), &files, false);
    rc = study ? plan_study(files.items[0], (const char *const *)set->items, set->count,
                            &runs->plan, err)
               : plan_runs(p, &files, runs, err);
out:
    strvec_release(&files);
    return rc;
}

static status plan_compare_command(const pipeline *p, planned_runs *runs, place *where,
                                   error *err) {
    strvec files = {0};
    status rc;
    TRY(run_names_find(p, false, &files, NULL, err));
    TRY(plan_runs(p, &files, runs, err));
    runs->joined = run_names_joined(runs->plan);
    put_places(p, runs, where, memory_format("compare-%s", runs->joined), &files, true);
out:
    strvec_release(&files);
    return rc;
}

static status plan_explain_command(const pipeline *p, planned_runs *runs, place *where,
                                   error *err) {
    const strvec *set = &p->settings->assignments;
    strvec files = {0};
    char *question = NULL;
    status rc;
    TRY(run_names_find(p, false, &files, NULL, err));
    char *from = run_names_base(files.items[0]), *to = run_names_base(files.items[1]);
    question = run_names_shortened(memory_format("explain-%s-%s", from, to));
    free(from);
    free(to);
    put_places(p, runs, where, question, &files, false);
    TRY(plan_ladder(files.items[0], files.items[1], (const char *const *)set->items, set->count,
                    &runs->plan, err));
out:
    strvec_release(&files);
    return rc;
}

static status plan_reproduce_command(const pipeline *p, planned_runs *runs, place *where,
                                     error *err) {
    const settings *s = p->settings;
    char *list = run_names_list(p, err);
    const strvec files = {.items = (char *[]){list, NULL}, .count = 1};
    status rc = list ? STATUS_OK : err->code;
    if (rc == STATUS_OK)
        rc = plan_reproduction(list, s->quick, (const char *const *)s->assignments.items,
                               s->assignments.count, &runs->plan, err);
    if (rc == STATUS_OK)
        put_places(p, runs, where, memory_string(yaml_find(runs->plan, "name")->text), &files,
                   false);
    free(list);
    return rc;
}

static status make_plan(const pipeline *p, planned_runs *runs, place *where, error *err) {
    switch (p->settings->command) {
    case COMMAND_EXPERIMENT: return plan_experiment_command(p, runs, where, err);
    case COMMAND_COMPARE:
    case COMMAND_SUBMISSION: return plan_compare_command(p, runs, where, err);
    case COMMAND_EXPLAIN: return plan_explain_command(p, runs, where, err);
    case COMMAND_REPRODUCE: return plan_reproduce_command(p, runs, where, err);
    case COMMAND_VERIFY:
    case COMMAND_GRADE:
    case COMMAND_RUNS:
    case COMMAND_CLEAN_RUNS:
    case COMMANDS: break;
    }
    return error_set(err, STATUS_USAGE, "no plan");
}

status command_plan_make(const pipeline *p, planned_runs *runs, error *err) {
    place where = {0};
    status rc = make_plan(p, runs, &where, err);
    if (rc == STATUS_OK) rc = resolve_runs(p, runs, where.question, where.folder, err);
    free(where.question);
    free(where.folder);
    return rc;
}
