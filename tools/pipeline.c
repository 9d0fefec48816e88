// SPDX-License-Identifier: MIT
// pipeline - from an experiment to its report. `make experiment` and its siblings call it.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/process.h"
#include "base/progress.h"
#include "base/shell_words.h"
#include "base/text.h"
#include "data/shard_tool.h"
#include "data/source/fetch_tool.h"
#include "data/source/synth_tool.h"
#include "experiment/catalog.h"
#include "pipeline/kept_runs.h"
#include "pipeline/pipeline.h"
#include "pipeline/pipeline_run.h"
#include "pipeline/settings.h"
#include "report/report_tool.h"
#include "submission/grade.h"
#include "submission/pack.h"
#include "train/evaluate_tool.h"
#include "train/train_tools.h"

typedef struct options {
    bool json, by_make, experiments;
    int64_t parent;
    const char *tools, *csv;
} options;

static const char NOTES[] =
    "\n"
    "Every training run is kept in ARTIFACTS/runs, in a folder named by its key:\n"
    "different settings use a different folder, and earlier settings find their\n"
    "earlier run. ARTIFACTS/EXPERIMENT/seed-S links to the run of the settings in the\n"
    "experiment's file; other settings are in the folder's name, as in\n"
    "EXPERIMENT-epochs=3. A second call does nothing; a stopped training run is\n"
    "resumed.\n"
    "\n"
    "Settings, as arguments or in the environment (make passes its own on). In a\n"
    "list, a name with blanks is in quotes: EXPS=\"single 'my net.yaml'\".\n";

// Free() it.
static char *make_notes(void) {
    text notes = {0};
    for (int i = 0; i < COMMANDS; i++) {
        const pipeline_command_words *c = &settings_commands[i];
        text_format(&notes, "%-11s %s\n            (%s)\n", c->name, c->summary, c->call);
    }
    text_append(&notes, NOTES);
    for (int s = 0; s < SETTINGS; s++)
        text_format(&notes, "  %-19s %s\n", settings_name((setting)s),
                    settings_meaning((setting)s));
    return text_take(&notes);
}

// ---- For completions ----

// The kind of the words after a command.
static const char *kind_of_names(pipeline_command c) {
    if (settings_takes(c, SETTING_EXP) || settings_takes(c, SETTING_EXPS) ||
        settings_takes(c, SETTING_A))
        return "EXPERIMENT";
    if (settings_takes(c, SETTING_SUBMISSION) || settings_takes(c, SETTING_SUBMISSIONS))
        return "FILE";
    return settings_takes(c, SETTING_LIST) ? "FILE" : "KEY";
}

static char *list_commands_of(setting s) {
    text list = {0};
    for (int c = 0; c < COMMANDS; c++)
        if (settings_takes((pipeline_command)c, s))
            text_format(&list, "%s%s", list.length ? " " : "", settings_commands[c].name);
    return text_take(&list);
}

// The commands, and the settings with the commands that take them. `of_settings` owns the latter.
static void list_words(cli_word known[COMMANDS + SETTINGS + 1], char *of_settings[SETTINGS]) {
    for (int i = 0; i < COMMANDS; i++) {
        const pipeline_command_words *c = &settings_commands[i];
        known[i] = (cli_word){c->name, kind_of_names((pipeline_command)i), c->summary};
    }
    for (int i = 0; i < SETTINGS; i++) {
        const setting s = (setting)i;
        of_settings[i] = list_commands_of(s);
        known[COMMANDS + i] = (cli_word){settings_name(s), of_settings[i], settings_meaning(s)};
    }
    known[COMMANDS + SETTINGS] = (cli_word){0};
}

static status print_experiments(error *err) {
    catalog c = {0};
    status rc;
    TRY(catalog_read_places(&c, err));
    for (size_t i = 0; i < c.count; i++)
        if (catalog_is_experiment(&c.items[i]) || catalog_is_study(&c.items[i]))
            puts(c.items[i].name);
out:
    catalog_release(&c);
    return rc;
}

// ---- Running ----

static void say(const char *stage, const char *which, const char *what) {
    if (what)
        printf("%-9s %s: %s\n", stage, which, what);
    else
        printf("%s %s\n", stage, which);
    fflush(stdout);
}

// At a terminal, where a moving line may stand.
static void say_over(const char *stage, const char *which, const char *what) {
    progress_line("");
    say(stage, which, what);
}

// With --json, standard output holds nothing but the answer.
static void say_nothing(const char *stage, const char *which, const char *what) {
    (void)stage, (void)which, (void)what;
}

static bool ask(const char *question) {
    char answer[16] = "";
    printf("%s [y/N] ", question);
    fflush(stdout);
    return fgets(answer, sizeof answer, stdin) && (*answer == 'y' || *answer == 'Y');
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
    strvec line = {0};
    const char *front = cli_front() ? cli_front() : argv[0];
    strvec_add(&line, o->by_make ? "make" : front);
    status rc = STATUS_OK;
    for (int i = 1; i < argc; i++)
        if (!is_from_make(argv[i])) strvec_add(&line, argv[i]);
    char *command = shell_join(line.items, line.count);
    if (setenv("LOCKSTEP_COMMAND", command, 1))
        rc = error_system(err, STATUS_FAILED, errno, "cannot set the environment");
    free(command);
    strvec_release(&line);
    return rc;
}

// The tools that answer in this process; the others need one of their own.
static cli_function *find_tool(const char *name) {
    static const struct {
        const char *name;
        cli_function *tool;
    } tools[] = {{"fetch-cifar", fetch_cifar_tool}, {"fetch-mnist", fetch_mnist_tool},
                 {"synth-cifar", synth_tool},       {"shard", shard_tool},
                 {"evaluate", evaluate_tool},       {"report", report_tool}};
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (strcmp(tools[i].name, name) == 0) return tools[i].tool;
    return train_tools_find(name);
}

static status run_plan(pipeline *p, error *err) {
    planned_runs runs = {0};
    status rc = pipeline_run(p, &runs, err);
    if (rc == STATUS_OK && p->settings->command == COMMAND_SUBMISSION && !p->settings->dry_run)
        rc = submission_pack(p, &runs, err);
    planned_runs_release(&runs);
    return rc;
}

static status run_command(pipeline *p, error *err) {
    switch (p->settings->command) {
    case COMMAND_RUNS: return kept_runs_list(p, err);
    case COMMAND_CLEAN_RUNS: return kept_runs_clean(p, err);
    case COMMAND_VERIFY: return submission_verify(p, err);
    case COMMAND_GRADE: return submission_grade(p, err);
    case COMMAND_EXPERIMENT:
    case COMMAND_COMPARE:
    case COMMAND_EXPLAIN:
    case COMMAND_REPRODUCE:
    case COMMAND_SUBMISSION:
    case COMMANDS: break;
    }
    return run_plan(p, err);
}

static status run_tool(const options *o, const cli_list *operands, int argc, char **argv,
                       const logger *log, error *err) {
    pipeline_command command;
    settings given = {0};
    const bool terminal = !o->json && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
    pipeline p = {.log = log,
                  .say = o->json    ? say_nothing
                         : terminal ? say_over
                                    : say,
                  .terminal = terminal,
                  .ask = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) ? ask : NULL,
                  .find_tool = find_tool,
                  .json = o->json,
                  .settings = &given,
                  .work.lock = -1};
    strvec words = {0}; // settings borrow from them
    status rc;
    TRY(follow_parent(o, err));
    if (o->experiments) {
        rc = print_experiments(err);
        goto out;
    }
    if (!operands->count) TRY(error_set(err, STATUS_USAGE, "missing command (see --help)"));
    TRY(settings_find_command(operands->items[0], &command, err));
    for (size_t i = 1; i < operands->count; i++) strvec_add(&words, operands->items[i]);
    if (o->csv) strvec_format(&words, "CSV=%s", o->csv);
    TRY(settings_read(&given, command, (const char *const *)words.items, words.count, err));
    TRY(pipeline_open(&p, o->tools, given.values[SETTING_ARTIFACTS], err));
    TRY(export_command(o, argc, argv, err));
    rc = run_command(&p, err);
out:
    pipeline_release(&p);
    settings_release(&given);
    strvec_release(&words);
    return rc;
}

int main(int argc, char **argv) {
    options o = {0};
    cli_word known[COMMANDS + SETTINGS + 1];
    char *of_settings[SETTINGS] = {0};
    const cli_option table[] = {
        {"experiments", CLI_FLAG, &o.experiments, NULL,
         "print the names of all experiments and studies", 0, 0},
        {"json", CLI_FLAG, &o.json, NULL, "runs, verify, grade: print a JSON list", 0, 0},
        {"csv", CLI_STRING, &o.csv, "FILE", "grade: the same as CSV=FILE", 0, 0},
        {"tools", CLI_STRING, &o.tools, "DIR", "folder of the other tools (default: this one's)", 0,
         0},
        {"by-make", CLI_FLAG, &o.by_make, NULL, "name make's command in messages, not this tool's",
         0, 0},
        {"parent", CLI_INTEGER, &o.parent, "PID", "exit when process PID, the caller, ends", 1,
         INT32_MAX},
        {0}};
    error err = {0};
    logger log = {.tool = "pipeline", .level = LOG_NORMAL};
    char *notes = make_notes();
    const cli_tool tool = {
        .name = "pipeline",
        .usage = "experiment|compare|explain|reproduce|submission NAME... [SETTING=VALUE]...\n"
                 "verify FILE [--json]\n"
                 "grade FOLDER... [--json] [--csv FILE]\n"
                 "runs [KEY...] [--json]\n"
                 "clean-runs KEY... | EXPS=NAME | OLDER=30d [YES=1]\n"
                 "--experiments",
        .options = table,
        .notes = notes,
        .operands_max = 10000,
        .words = known,
        .answer = settings_answer_option,
    };
    cli_list operands = {0};
    bool done = false;
    list_words(known, of_settings);
    status rc = cli_parse(&tool, argc, argv, &log, &operands, &done, &err);
    if (rc == STATUS_OK && !done) rc = run_tool(&o, &operands, argc, argv, &log, &err);
    cli_list_release(&operands);
    const int code = cli_finish(&tool, rc, &err);
    free(notes);
    for (int i = 0; i < SETTINGS; i++) free(of_settings[i]);
    return code;
}
