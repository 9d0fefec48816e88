// SPDX-License-Identifier: MIT
#include "pipeline/reporting.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/filter.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/text.h"
#include "pipeline/counting.h"
#include "pipeline/stage.h"
#include "pipeline/store.h"
#include "pipeline/tool.h"

// ---- The cost of an all-reduce ----

enum { RANKS_MAX = 4096 };

// Sets worlds[w] for each world size w of the runs; returns the number of different ones.
static int collect_worlds(const planned_runs *runs, bool worlds[RANKS_MAX + 1]) {
    int different = 0;
    for (size_t i = 0; i < runs->count; i++) {
        const experiment *e = &runs->items[i].e;
        if (e->strategy != STRATEGY_DDP && e->strategy != STRATEGY_DP) continue;
        if (e->world_size > RANKS_MAX || worlds[e->world_size]) continue;
        worlds[e->world_size] = true;
        different++;
    }
    return different;
}

// A study needs the measurement if it has several world sizes, a comparison if a run has more than
// one rank; `explain` and a single experiment do not need it.
static bool needs_collectives(const pipeline *p, const planned_runs *runs,
                              bool worlds[RANKS_MAX + 1]) {
    const int different = collect_worlds(runs, worlds);
    switch (p->settings->command) {
    case COMMAND_EXPERIMENT: return different > 1;
    case COMMAND_COMPARE:
    case COMMAND_SUBMISSION:
    case COMMAND_REPRODUCE: return different > worlds[1];
    case COMMAND_EXPLAIN:
    case COMMAND_VERIFY:
    case COMMAND_GRADE:
    case COMMAND_RUNS:
    case COMMAND_CLEAN_RUNS:
    case COMMANDS: break;
    }
    return false;
}

// Returns 1, 2, 4, 8 and the runs' world sizes as a list; NULL if there is nothing to measure.
static char *list_of_ranks(const pipeline *p, const planned_runs *runs, char separator) {
    bool worlds[RANKS_MAX + 1] = {false};
    if (!needs_collectives(p, runs, worlds)) return NULL;
    worlds[1] = worlds[2] = worlds[4] = worlds[8] = true;
    text list = {0};
    for (int w = 1; w <= RANKS_MAX; w++) {
        if (!worlds[w]) continue;
        if (list.length) text_bytes(&list, &separator, 1);
        text_format(&list, "%d", w);
    }
    return text_take(&list);
}

char *reporting_collectives(const pipeline *p, const planned_runs *runs) {
    char *ranks = list_of_ranks(p, runs, '-');
    char *dir = ranks ? memory_format("%s/machine/allreduce-%s", p->artifacts, ranks) : NULL;
    free(ranks);
    return dir;
}

// Measured once per machine.
static status measure_collectives(pipeline *p, const planned_runs *runs, const char *dir,
                                  error *err) {
    char *ranks = list_of_ranks(p, runs, ',');
    strvec command = {0};
    strvec_add(&command, "bench-allreduce");
    strvec_add_option(&command, "--world-size", ranks);
    strvec_add_option(&command, "--out", dir);
    // The report has its table.
    const stage s = {.name = "measure",
                     .dir = dir,
                     .title = "all-reduce",
                     .command = &command,
                     .drop_output = true};
    const status rc = stage_run(p, &s, err);
    strvec_release(&command);
    free(ranks);
    return rc;
}

// ---- The plan ----

// Writes the plan to its file, unless the file holds it already.
static status keep_plan(const planned_runs *runs, error *err) {
    yaml_node *before = NULL;
    const bool same =
        yaml_read_file(runs->file, &before, NULL) == STATUS_OK && yaml_equal(before, runs->plan);
    yaml_free(before);
    if (same) return STATUS_OK;
    NEED(output_make_parent(runs->file, err));
    return yaml_write_file(runs->plan, runs->file, err);
}

// ---- The report ----

// `report` parses its options before it opens folders, and /dev/null is not a folder: only a wrong
// option gives STATUS_USAGE.
status reporting_check_flags(const pipeline *p, error *err) {
    strvec command = {0};
    error refusal = {0};
    char *ignored = NULL, *discussion = NULL;
    status rc = STATUS_OK;
    if (!p->settings->report_flags.count) return rc;
    strvec_add(&command, "report");
    strvec_add(&command, "/dev/null");
    strvec_add_option(&command, "--out", "/dev/null/report");
    strvec_add_all(&command, &p->settings->report_flags);
    if (tool_ask(p, &command, &ignored, &refusal) == STATUS_USAGE) {
        tool_complain(&command, &refusal);
        TRY(error_set(err, STATUS_USAGE, "%s", ""));
    }
    const char *path = strvec_option_value(&command, "--discussion");
    if (rc == STATUS_OK && path) rc = read_file(path, &discussion, err);
out:
    free(discussion);
    free(ignored);
    strvec_release(&command);
    return rc;
}

// Adds the execution of a seed that counts: the report decides nothing. Runs of one key share it.
static void add_execution(const pipeline *p, const planned_runs *runs, const planned_run *r,
                          const planned_seed *seed, strvec *command) {
    const execution *x = counting_find(p, runs, r, seed);
    if (x && !strvec_has(command, x->folder)) strvec_add(command, x->folder);
}

static void report_command(const pipeline *p, const planned_runs *runs, const char *collectives,
                           strvec *command) {
    strvec_add(command, "report");
    for (size_t i = 0; i < runs->count; i++)
        for (size_t k = 0; k < runs->items[i].seed_count; k++)
            add_execution(p, runs, &runs->items[i], &runs->items[i].seeds[k], command);
    strvec_add_option(command, "--plan", runs->file);
    strvec_add_option(command, "--collectives", collectives);
    for (size_t i = 0; i < runs->turns.count; i++)
        strvec_add_option(command, "--turns", runs->turns.items[i]);
    strvec_add_all(command, &p->settings->report_flags);
}

// Prints a line for each run, and the answer to the plan's question.
static status print_answer(const planned_runs *runs, error *err) {
    char *path = memory_format("%s/report.txt", runs->report), *answer = NULL;
    const status rc = read_file(path, &answer, err);
    if (rc == STATUS_OK) fputs(answer, stdout);
    free(answer);
    free(path);
    return rc;
}

// Other programs may have changed a run's folder since it was found or made.
static status check_keys(const pipeline *p, const planned_runs *runs, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; i < runs->count; i++)
        for (size_t k = 0; rc == STATUS_OK && k < runs->items[i].seed_count; k++)
            rc = store_check_keys(p->artifacts, runs->items[i].seeds[k].key, err);
    return rc;
}

// Is there no report in ARTIFACTS yet?
static bool is_first(const pipeline *p) {
    char *pattern = memory_format("%s/*/report/report.html", p->artifacts);
    glob_t found = {0};
    const bool none = glob(pattern, GLOB_NOSORT, NULL, &found) == GLOB_NOMATCH;
    globfree(&found);
    free(pattern);
    return none;
}

status reporting_run(pipeline *p, const planned_runs *runs, error *err) {
    strvec command = {0};
    char *collectives = reporting_collectives(p, runs);
    char *html = NULL, *title = NULL;
    const bool first = is_first(p);
    status rc = STATUS_OK;
    if (collectives) TRY(measure_collectives(p, runs, collectives, err));
    TRY(check_keys(p, runs, err));
    TRY(keep_plan(runs, err));
    report_command(p, runs, collectives, &command);
    strvec_add_option(&command, "--out", runs->report);
    title = memory_format("%zu run%s", runs->count, runs->count == 1 ? "" : "s");
    const stage s = {.name = "report", .dir = runs->report, .title = title, .command = &command};
    TRY(stage_run(p, &s, err));
    TRY(print_answer(runs, err));
    html = memory_format("%s/report.html", runs->report);
    if (first && filter_search("pandoc"))
        p->say("note", "report.tex",
               filter_search("pandoc") == ENOENT ? "not made: pandoc is not installed"
                                                 : "not made: pandoc cannot be run");
    p->say("report:", html, NULL);
out:
    free(html);
    free(title);
    strvec_release(&command);
    free(collectives);
    return rc;
}
