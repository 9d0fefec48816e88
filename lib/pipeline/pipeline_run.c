// SPDX-License-Identifier: MIT
#include "pipeline/pipeline_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/source/dataset_list.h"
#include "pipeline/command_plan.h"
#include "pipeline/data_stages.h"
#include "pipeline/execute.h"
#include "pipeline/reporting.h"
#include "pipeline/resolve.h"
#include "pipeline/rounds.h"
#include "pipeline/run_names.h"
#include "pipeline/turn_stages.h"

static void say_planned_seed(const pipeline *p, const planned_run *r, const planned_seed *seed) {
    char *shown = memory_format("%s/%s", p->artifacts, seed->place);
    char *what = memory_format("planned: %s, run %.12s, data %s", r->tool, seed->key, r->train);
    p->say("run", shown, what);
    free(what);
    free(shown);
}

static void say_planned(const pipeline *p, const planned_runs *runs) {
    for (size_t i = 0; i < runs->count; i++) {
        const planned_run *r = &runs->items[i];
        char brief[80];
        snprintf(brief, sizeof brief, r->seed_count > 1 ? "planned: %s, %zu seeds" : "planned: %s",
                 r->tool, r->seed_count);
        if (p->terminal) p->say("run", r->name, brief);
        for (size_t k = 0; !p->terminal && k < r->seed_count; k++)
            say_planned_seed(p, r, &r->seeds[k]);
    }
}

// A dry run needs the data: a run's key depends on their contents, and its time on their number.
static void say_downloads(const pipeline *p, const planned_runs *runs) {
    strvec said = {0};
    for (size_t i = 0; i < runs->count; i++) {
        const planned_run *r = &runs->items[i];
        const bool official = dataset_find(r->e.dataset) != NULL;
        if (p->settings->values[SETTING_DATA] || !official || data_is_there(r) ||
            settings_source(p->settings, r->e.dataset) || strvec_has(&said, r->data))
            continue;
        p->say("note", r->data,
               "DRY_RUN=1 downloads these data first, because keys and times depend on them; "
               "nothing is trained");
        strvec_add(&said, r->data);
    }
    strvec_release(&said);
}

// Says which experiments are called otherwise than their files.
static void say_names(const pipeline *p, const planned_runs *runs) {
    const bool by_file = strcmp(yaml_text_at(runs->plan, "kind"), "runs") == 0;
    for (size_t i = 0; by_file && !p->settings->values[SETTING_RUNS] && i < runs->count; i++) {
        const planned_run *r = &runs->items[i];
        char text[300], *own = run_names_base(r->file);
        snprintf(text, sizeof text, "reports call it '%s', after its 'name'; its folder is '%s'",
                 r->name, own);
        if (strcmp(own, r->name) != 0) p->say("note", r->file, text);
        free(own);
    }
}

// Trainings that are timed would disturb each other.
static status check_jobs(const pipeline *p, const planned_runs *runs, error *err) {
    const bool study = turn_stages_are_of_accuracy(p, runs);
    if (p->settings->jobs > 1 && !study)
        return error_set(err, STATUS_USAGE,
                         "JOBS=%lld: these runs are timed, so one trains after the other; JOBS is "
                         "for studies whose values do not change speed",
                         (long long)p->settings->jobs);
    if (study)
        p->say("note", "speed", "no value changes it, so nothing is timed; TIME=1 times the runs");
    return STATUS_OK;
}

// Says which keys nothing reads, of each file once.
static void say_idle(const pipeline *p, const planned_runs *runs) {
    strvec said = {0};
    for (size_t i = 0; i < runs->count; i++) {
        const planned_run *r = &runs->items[i];
        yaml_node *idle = experiment_idle(&r->e, r->e.strategy);
        for (size_t k = 0; k < idle->count; k++) {
            char *line = memory_format("%s: %s", r->file, idle->items[k]->text);
            if (!strvec_has(&said, line)) p->say("note", r->file, idle->items[k]->text);
            strvec_add(&said, line);
            free(line);
        }
        yaml_free(idle);
    }
    strvec_release(&said);
}

static bool is_comparison(pipeline_command c) {
    return c == COMMAND_COMPARE || c == COMMAND_SUBMISSION;
}

status pipeline_run(pipeline *p, planned_runs *runs, error *err) {
    const settings *s = p->settings;
    int rounds;
    work_remove_old(p);
    NEED(command_plan_make(p, runs, err));
    NEED(reporting_check_flags(p, err));
    if (s->dry_run) say_downloads(p, runs);
    NEED(resolve_data_and_keys(p, runs, is_comparison(s->command), err));
    say_names(p, runs);
    say_idle(p, runs);
    if (s->dry_run || s->command == COMMAND_EXPLAIN) say_planned(p, runs);
    NEED(turn_stages_plan(p, runs, err));
    NEED(check_jobs(p, runs, err));
    NEED(rounds_decide(p, runs, &rounds, err));
    work_close(p); // remove the trials' files: a training may take hours, and be killed
    NEED(execute_check(p, runs, rounds, err));
    if (s->dry_run) return STATUS_OK;
    owned_names_keep(p, &runs->names);
    NEED(execute_all(p, runs, rounds, err));
    NEED(turn_stages_run(p, runs, err));
    return reporting_run(p, runs, rounds, err);
}
