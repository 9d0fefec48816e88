// SPDX-License-Identifier: MIT
// Executes the commands: their runs, and the report on them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/source/dataset_list.h"
#include "pipeline/execute.h"
#include "pipeline/naming.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_run.h"
#include "pipeline/reporting.h"
#include "pipeline/rounds.h"
#include "pipeline/submission/pack.h"
#include "pipeline/turns.h"
#include "pipeline/work.h"

static void say_planned(const pipeline *p, const planned_runs *runs) {
    for (size_t i = 0; i < runs->count; i++) {
        const planned_run *r = &runs->items[i];
        char *shown = memory_format("%s/%s", p->artifacts, r->seeds[0].place);
        char *what =
            memory_format("planned: %s, run %.*s, data %s", r->tool, 12, r->seeds[0].key, r->train);
        p->say("run", shown, what);
        free(what);
        free(shown);
    }
}

// A dry run needs the data: a run's key depends on their contents, and its time on their number.
static void say_downloads(const pipeline *p, const planned_runs *runs) {
    words said = {0};
    for (size_t i = 0; i < runs->count; i++) {
        const planned_run *r = &runs->items[i];
        const bool official = dataset_find(r->e.dataset) != NULL;
        if (p->settings->values[SETTING_DATA] || !official || data_is_there(r) ||
            settings_source(p->settings, r->e.dataset) || words_has(&said, r->data))
            continue;
        p->say("note", r->data,
               "DRY_RUN=1 downloads these data first, because keys and times depend on them; "
               "nothing is trained");
        words_add(&said, r->data);
    }
    words_release(&said);
}

// Says which experiments are called otherwise than their files.
static void say_names(const pipeline *p, const planned_runs *runs) {
    const bool by_file = strcmp(yaml_text_at(runs->plan, "kind"), "runs") == 0;
    for (size_t i = 0; by_file && !p->settings->values[SETTING_RUNS] && i < runs->count; i++) {
        const planned_run *r = &runs->items[i];
        char text[300], *own = naming_base(r->file);
        snprintf(text, sizeof text, "reports call it '%s', after its 'name'; its folder is '%s'",
                 r->name, own);
        if (strcmp(own, r->name) != 0) p->say("note", r->file, text);
        free(own);
    }
}

static bool is_comparison(pipeline_command c) {
    return c == COMMAND_COMPARE || c == COMMAND_SUBMISSION;
}

static status carry_out(pipeline *p, planned_runs *runs, error *err) {
    int rounds;
    status rc;
    if (p->settings->dry_run) say_downloads(p, runs);
    TRY(planned_runs_prepare(p, runs, is_comparison(p->settings->command), err));
    say_names(p, runs);
    if (p->settings->dry_run || p->settings->command == COMMAND_EXPLAIN) say_planned(p, runs);
    TRY(turns_plan(p, runs, err));
    TRY(rounds_decide(p, runs, &rounds, err));
    work_close(p); // remove the trials' files: a training may take hours, and be killed
    TRY(execute_check(p, runs, rounds, err));
    if (p->settings->dry_run) goto out;
    claims_keep(p, &runs->names);
    TRY(execute_all(p, runs, rounds, err));
    TRY(turns_run(p, runs, err));
    TRY(reporting_run(p, runs, err));
    if (p->settings->command == COMMAND_SUBMISSION) rc = submission_pack(p, runs, err);
out:
    return rc;
}

status pipeline_run(pipeline *p, error *err) {
    planned_runs runs = {0};
    status rc;
    switch (p->settings->command) {
    case COMMAND_RUNS: return pipeline_list_runs(p, err);
    case COMMAND_CLEAN_RUNS: return pipeline_clean_runs(p, err);
    case COMMAND_VERIFY: return pipeline_verify(p, err);
    case COMMAND_GRADE: return pipeline_grade(p, err);
    case COMMAND_EXPERIMENT:
    case COMMAND_COMPARE:
    case COMMAND_EXPLAIN:
    case COMMAND_REPRODUCE:
    case COMMAND_SUBMISSION:
    case COMMANDS: break;
    }
    work_remove_old(p);
    TRY(planned_runs_make(p, &runs, err));
    TRY(reporting_check_flags(p, err));
    TRY(carry_out(p, &runs, err));
out:
    planned_runs_release(&runs);
    return rc;
}
