// SPDX-License-Identifier: MIT
// lockstep - runs a tool, or a command of the pipeline, by name: `lockstep shard ...`, `lockstep
// experiment ddp4`.
//
// It replaces itself by the tool (execv), so exit code and signals are the tool's own.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/hint.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/tool_list.h"
#include "pipeline/settings.h"

enum { MOST_WORDS = 64 };

// ---- What there is ----

// The tools and commands, in the order of --help; `count` of them.
static void list_words(cli_word known[MOST_WORDS + 1], size_t *count) {
    *count = 0;
    for (int i = 0; i < COMMANDS; i++) {
        const pipeline_command_words *c = &settings_commands[i];
        known[(*count)++] = (cli_word){c->name, NULL, c->summary};
    }
    for (size_t i = 0; i < tool_count && *count < MOST_WORDS - 1; i++)
        known[(*count)++] = (cli_word){tool_list[i].name, NULL, tool_list[i].summary};
    known[(*count)++] = (cli_word){"help", "TOOL", "print the --help of a tool"};
    known[*count] = (cli_word){0};
}

static void add_line(text *notes, const char *name, const char *summary) {
    text_format(notes, "  %-16s %s\n", name, summary);
}

// Free() it.
static char *make_notes(void) {
    static const struct {
        const char *title;
        tool_group group;
    } groups[] = {{"Experiments", TOOLS_EXPERIMENTS},
                  {"Data", TOOLS_DATA},
                  {"Training", TOOLS_TRAIN},
                  {"Results", TOOLS_RESULTS}};
    text notes = {0};
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        text_format(&notes, "%s%s:\n", g ? "\n" : "", groups[g].title);
        for (int c = 0; groups[g].group == TOOLS_EXPERIMENTS && c < COMMANDS; c++)
            add_line(&notes, settings_commands[c].name, settings_commands[c].summary);
        for (size_t i = 0; i < tool_count; i++)
            if (tool_list[i].group == groups[g].group)
                add_line(&notes, tool_list[i].name, tool_list[i].summary);
    }
    text_append(&notes, "\nThe first ones are commands of the tool pipeline. `lockstep help TOOL`\n"
                        "prints the --help of a tool.\n");
    return text_take(&notes);
}

// The tool that `word` means: itself, or the one whose command it is; NULL for any other word.
static const char *find_tool(const char *word) {
    for (int c = 0; c < COMMANDS; c++)
        if (strcmp(settings_commands[c].name, word) == 0) return "pipeline";
    return tool_summary(word) ? word : NULL;
}

// Lists the tools that begin with the word: "train" means one of "train-single", "train-dp", …
static void list_beginnings(const char *word, const char *const *names, size_t count,
                            char hint[HINT_BYTES]) {
    const char *found[MOST_WORDS];
    size_t many = 0;
    for (size_t i = 0; i < count; i++)
        if (strncmp(names[i], word, strlen(word)) == 0) found[many++] = names[i];
    if (many) hint_list("those that begin so are", found, many, hint);
}

static status unknown(const char *word, error *err) {
    cli_word known[MOST_WORDS + 1];
    const char *names[MOST_WORDS];
    char hint[HINT_BYTES];
    size_t count;
    list_words(known, &count);
    for (size_t i = 0; i < count; i++) names[i] = known[i].word;
    if (!*hint_about(word, names, count, HINT_KEYS, hint))
        list_beginnings(word, names, count, hint);
    return error_set(err, STATUS_USAGE, "unknown tool: '%s'%s (see 'lockstep --help')", word, hint);
}

// ---- Running ----

// `word` and the arguments after it; returns only where it fails.
static status run(const char *front, char *word, char **arguments, size_t count, error *err) {
    const char *tool = find_tool(word);
    char folder[PATH_MAX], *path = NULL, **argv = NULL;
    size_t used = 0;
    status rc;
    if (!tool) return unknown(word, err);
    TRY(tool_folder(folder, err));
    path = memory_format("%s/%s", folder, tool);
    argv = memory_new(count + 3, sizeof *argv);
    argv[used++] = path;
    if (tool != word) argv[used++] = word;
    memcpy(argv + used, arguments, count * sizeof *argv);
    if (setenv("LOCKSTEP_FRONT", front, 1))
        TRY(error_system(err, STATUS_FAILED, errno, "cannot set the environment"));
    execv(path, argv);
    rc = error_system(err, STATUS_FAILED, errno, "cannot run: '%s'", path);
out:
    free(argv);
    free(path);
    return rc;
}

// `lockstep help TOOL`.
static status help(const char *front, char **names, size_t count, error *err) {
    char *argument[] = {(char[]){"--help"}};
    if (count > 1)
        return error_set(err, STATUS_USAGE, "unexpected argument: '%s': help takes one tool",
                         names[1]);
    return run(front, names[0], argument, 1, err);
}

// An option of `lockstep` itself.
static status answer(const cli_tool *tool, const bool *exec_path, int argc, char **argv,
                     error *err) {
    logger log = {.tool = tool->name, .level = LOG_NORMAL};
    char folder[PATH_MAX];
    cli_list operands = {0};
    bool done = false;
    status rc;
    TRY(cli_parse(tool, argc, argv, &log, &operands, &done, err));
    if (done) goto out;
    TRY(*exec_path ? STATUS_OK
                   : error_set(err, STATUS_USAGE, "missing tool (see 'lockstep --help')"));
    TRY(tool_folder(folder, err));
    puts(folder);
out:
    cli_list_release(&operands);
    return rc;
}

static bool is_option(const char *word) {
    return word[0] == '-';
}

int main(int argc, char **argv) {
    char *just_help[] = {(char[]){"lockstep"}, (char[]){"--help"}, NULL};
    const char *front = argc > 0 ? argv[0] : "lockstep";
    bool exec_path = false;
    cli_word known[MOST_WORDS + 1];
    size_t count;
    error err = {0};
    status rc = STATUS_OK;
    list_words(known, &count);
    char *notes = make_notes();
    const cli_option options[] = {
        {"exec-path", CLI_FLAG, &exec_path, NULL, "print the folder of the tools", 0, 0}, {0}};
    const cli_tool tool = {.name = "lockstep",
                           .summary = "run a tool of Lockstep, or an experiment, by name",
                           .usage = "TOOL [ARGUMENT]...\nhelp TOOL\n--exec-path",
                           .options = options,
                           .notes = notes,
                           .words = known};
    const bool asks_help = argc > 1 && strcmp(argv[1], "help") == 0;
    if (argc < 2 || (asks_help && argc == 2))
        rc = answer(&tool, &exec_path, 2, just_help, &err);
    else if (is_option(argv[1]))
        rc = answer(&tool, &exec_path, argc, argv, &err);
    else if (asks_help)
        rc = help(front, argv + 2, (size_t)argc - 2, &err);
    else
        rc = run(front, argv[1], argv + 2, (size_t)argc - 2, &err);
    const int code = cli_finish(&tool, rc, &err);
    free(notes);
    return code;
}
