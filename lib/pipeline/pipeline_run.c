// SPDX-License-Identifier: MIT
#include "pipeline/pipeline_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "pipeline/command_plan.h"
#include "pipeline/counting.h"
#include "pipeline/data_stages.h"
#include "pipeline/estimates.h"
#include "pipeline/execute.h"
#include "pipeline/reporting.h"
#include "pipeline/resolve.h"
#include "pipeline/run_names.h"
#include "pipeline/turn_stages.h"

static bool is_comparison(pipeline_command c) {
    return c == COMMAND_COMPARE || c == COMMAND_SUBMISSION;
}

static void say_planned_seed(const pipeline *p, const planned_run *r, const planned_seed *seed) {
    char *shown = memory_format("%s/%s", p->artifacts, seed->place);
    char *key = *seed->key ? memory_format("run %.12s, ", seed->key) : memory_string("");
    char *what = memory_format("planned: %s, %sdata %s", r->tool, key, r->train);
    p->say("run", shown, what);
    free(what);
    free(key);
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

// A dry run downloads nothing. Without the data there are neither keys nor times: a run's key
// depends on their contents, and its time on their number. Says so; *missing: of some run.
static status plan_without_data(pipeline *p, planned_runs *runs, bool *missing, error *err) {
    strvec said = {0};
    *missing = false;
    for (size_t i = 0; i < runs->count; i++) {
        const planned_run *r = &runs->items[i];
        if (!data_is_download(p, r) || strvec_has(&said, r->data)) continue;
        p->say("note", r->data,
               "these data are to be downloaded; DRY_RUN=1 downloads nothing, and without them "
               "keys and times are unknown");
        strvec_add(&said, r->data);
        *missing = true;
    }
    strvec_release(&said);
    if (!*missing) return STATUS_OK;
    NEED(resolve_keys(p, runs, is_comparison(p->settings->command), err));
    say_planned(p, runs);
    return STATUS_OK;
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
                         "for studies whose values do not change speed, or with TIME=0",
                         (long long)p->settings->jobs);
    if (study && p->settings->time == TIME_IF_DUE)
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

status pipeline_run(pipeline *p, planned_runs *runs, error *err) {
    const settings *s = p->settings;
    bool missing = false;
    work_remove_old(p);
    NEED(command_plan_make(p, runs, err));
    NEED(reporting_check_flags(p, err));
    NEED(data_check_sources(p, runs, err));
    if (s->dry_run) NEED(plan_without_data(p, runs, &missing, err));
    if (missing) return STATUS_OK;
    NEED(resolve_data_and_keys(p, runs, is_comparison(s->command), err));
    say_names(p, runs);
    say_idle(p, runs);
    if (s->dry_run || s->command == COMMAND_EXPLAIN) say_planned(p, runs);
    NEED(turn_stages_plan(p, runs, err));
    NEED(check_jobs(p, runs, err));
    counting_decide(p, runs);
    NEED(estimates_announce(p, runs, err));
    work_close(p); // remove the trials' files: a training may take hours, and be killed
    NEED(execute_check(p, runs, err));
    if (s->dry_run) return STATUS_OK;
    owned_names_keep(p, &runs->names);
    NEED(execute_all(p, runs, err));
    NEED(turn_stages_run(p, runs, err));
    return reporting_run(p, runs, err);
}
