// pipeline - from an experiment to its report. `make experiment` and its siblings call it.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/shell_words.h"
#include "pipeline/pipeline.h"
#include "pipeline/settings.h"

typedef struct options {
    bool json, by_make;
    int64_t parent;
    const char *tools;
} options;

static const char NOTES[] =
    "experiment  one experiment or study, from the data to the report: EXP=NAME\n"
    "compare     several in one report; the first is the baseline: EXPS=\"NAME NAME\"\n"
    "explain     from one to another, one factor at a time: A=NAME B=NAME\n"
    "reproduce   every row of published reports: LIST=FILE, QUICK=1\n"
    "submission  compare, and pack one archive to hand in: EXPS=\"NAME NAME\"\n"
    "runs        list kept runs\n"
    "clean-runs  remove the named runs: RUNS=\"KEY KEY\"\n"
    "\n"
    "Every training run is kept in ARTIFACTS/runs, in a folder named by its key:\n"
    "different settings use a different folder, and earlier settings find their\n"
    "earlier run. ARTIFACTS/EXPERIMENT/seed-S links to the current one. A second call\n"
    "does nothing; a stopped training run is resumed.\n"
    "\n"
    "Settings, as arguments or in the environment (make passes its own on):\n";

static void say(const char *stage, const char *which, const char *what) {
    if (what)
        printf("%-9s %s: %s\n", stage, which, what);
    else
        printf("%s %s\n", stage, which);
    fflush(stdout);
}

// A make that is killed, and not asked to end, passes no signal on.
static status follow_parent(const options *o, error *err) {
    const pid_t parent = (pid_t)o->parent;
    if (!parent || process_end_with_parent(parent, SIGTERM) || kill(parent, 0) == 0)
        return STATUS_OK;
    return error_set(err, STATUS_FAILED, "the parent process %d has already ended", (int)parent);
}

static bool is_from_make(const char *argument) {
    return strcmp(argument, "--by-make") == 0 || strncmp(argument, "--parent=", 9) == 0;
}

// Exports the command as the user typed it (make's, if make is the caller) for the tools' messages.
static status export_command(const options *o, int argc, char **argv, error *err) {
    words line = {0};
    status rc = words_add(&line, o->by_make ? "make" : argv[0], err);
    for (int i = 1; rc == STATUS_OK && i < argc; i++)
        if (!is_from_make(argv[i])) rc = words_add(&line, argv[i], err);
    char *text = rc == STATUS_OK ? shell_join(line.items, line.count, err) : NULL;
    if (!text) rc = STATUS_FAILED;
    if (rc == STATUS_OK && setenv("LOCKSTEP_COMMAND", text, 1))
        rc = error_system(err, STATUS_FAILED, errno, "cannot set the environment");
    free(text);
    words_release(&line);
    return rc;
}

static status run_tool(const options *o, const cli_list *operands, int argc, char **argv,
                       const logger *log, error *err) {
    pipeline_command command;
    settings given = {0};
    pipeline p = {.log = log, .say = say, .json = o->json, .settings = &given, .work.lock = -1};
    status rc;
    TRY(follow_parent(o, err));
    TRY(settings_find_command(operands->items[0], &command, err));
    TRY(settings_read(&given, command, operands->items + 1, operands->count - 1, err));
    TRY(pipeline_open(&p, o->tools, given.values[SETTING_ARTIFACTS], err));
    TRY(export_command(o, argc, argv, err));
    rc = pipeline_run(&p, err);
out:
    pipeline_release(&p);
    settings_release(&given);
    return rc;
}

int main(int argc, char **argv) {
    options o = {0};
    const cli_option table[] = {
        {"json", CLI_FLAG, &o.json, NULL, "runs: print a JSON list instead of a table", 0, 0},
        {"tools", CLI_STRING, &o.tools, "DIR", "folder of the other tools (default: this one's)", 0,
         0},
        {"by-make", CLI_FLAG, &o.by_make, NULL, "name make's command in messages, not this tool's",
         0, 0},
        {"parent", CLI_INTEGER, &o.parent, "PID", "exit when process PID, the caller, ends", 1,
         INT32_MAX},
        {0}};
    error err = {0};
    logger log = {.tool = "pipeline", .level = LOG_NORMAL};
    char *known = settings_help(&err);
    char *notes = known ? memory_format(&err, "%s%s", NOTES, known) : NULL;
    const cli_tool tool = {
        .name = "pipeline",
        .summary = "run experiments from the data to the report",
        .usage = "experiment|compare|explain|reproduce|submission NAME... [SETTING=VALUE]...\n"
                 "runs [--json]\n"
                 "clean-runs KEY...",
        .options = table,
        .notes = notes,
        .operands_min = 1,
        .operands_max = 10000,
    };
    cli_list operands = {0};
    bool done = false;
    status rc = notes ? cli_parse(&tool, argc, argv, &log, &operands, &done, &err) : STATUS_FAILED;
    if (rc == STATUS_OK && !done) rc = run_tool(&o, &operands, argc, argv, &log, &err);
    cli_list_release(&operands);
    const int code = cli_finish(&tool, rc, &err);
    free(notes);
    free(known);
    return code;
}
