// SPDX-License-Identifier: MIT
// cli.h - command lines from a table: one table drives parsing, checking, --help and --version.
#ifndef LOCKSTEP_BASE_CLI_H
#define LOCKSTEP_BASE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/hint.h"
#include "base/log.h"

typedef enum cli_type {
    CLI_FLAG,    // bool *: set to true
    CLI_STRING,  // const char **: the last one given wins
    CLI_LIST,    // cli_list *: may be given many times, in order
    CLI_INTEGER, // int64_t *: between min and max
    CLI_NUMBER,  // double *: between min and max; INT64_MAX is no limit
} cli_type;

// Values in the order of the command line. The strings are argv's, or those of who adds them;
// release with cli_list_release.
typedef struct cli_list {
    const char **items;
    size_t count, capacity;
} cli_list;

typedef struct cli_option {
    const char *name; // without dashes: "out" is --out VALUE or --out=VALUE
    cli_type type;
    void *value;          // where it goes; holds the default before parsing
    const char *argument; // what --help calls the value: "FILE"; NULL for a flag
    const char *help;     // one sentence, no full stop
    int64_t min, max;     // CLI_INTEGER, CLI_NUMBER
} cli_option;

// A word that the first operand may be, such as the name of a command.
typedef struct cli_word {
    const char *word;
    const char *argument; // as of an option; NULL: none
    const char *help;     // the same; NULL: none
} cli_word;

typedef struct cli_tool {
    const char *name;
    const char *summary; // one line; NULL: that of the tool's row in base/tool_list.h
    // Lines after the tool's name: "--in FILE --out DIR\n..."; those over 80 columns are broken.
    const char *usage;
    const cli_option *options; // ends with a NULL name; the common ones are added automatically
    // Printed as they are after the options, so at most 80 columns wide; may be NULL: examples,
    // formats, exit codes.
    const char *notes;
    size_t operands_min, operands_max;
    const cli_word *words; // for completions; ends with a NULL word; may be NULL
    // Answers an option that is none, and not near one: writes a sentence to `text`, or leaves it
    // as it is. May be NULL.
    void (*answer)(const char *name, const char *value, char text[HINT_BYTES]);
} cli_tool;

// Parses argv. Options and operands may be mixed; "--" ends the options; "-" is an operand or a
// value. The argument after an option that takes a value is its value, whatever it looks like.
// *operands must be zeroed before the call and released after it, even if it failed. As the first
// call of every main, it also calls process_begin.
//
// -h/--help and --version print to standard output and set *done: the caller returns cli_finish(…,
// STATUS_OK). So does --completions, for scripts/make-completions; --help does not list it. It
// prints a line for each word and each option: "WORD<tab>ARGUMENT<tab>HELP", and after a number's
// its
// "<tab>MIN<tab>MAX". The argument of an option that may be repeated ends in "...".
//
// -q and -v set log->level. Fails with STATUS_USAGE; for a misspelt option the message names the
// nearest one.
status cli_parse(const cli_tool *tool, int argc, char **argv, logger *log, cli_list *operands,
                 bool *done, error *err) MUST_CHECK;

// The rest of a main: what a tool does after its command line was read, with its own arguments.
typedef struct cli_call {
    const cli_list *operands;
    const logger *log;
    int argc;
    char **argv;
    FILE *answers; // standard output, or where the caller in this process wants the answer
} cli_call;
typedef status cli_work(void *arguments, const cli_call *call, error *err);

// Runs a whole tool: cli_parse, then `work` unless --help or --version was given, then cli_finish.
// Returns the exit code. The caller releases the lists of its options.
int cli_main(const cli_tool *tool, int argc, char **argv, cli_work *work, void *arguments);

// A tool that other programs also call in their own process, for an answer that it prints and
// computes without side effects, such as a key. The command line is that of the tool; argv[0] is
// its name.
typedef status cli_function(int argc, char **argv, FILE *answers, error *err);

// The parts of such a tool: cli_parse and `work`, and a main, which ends with cli_finish.
status cli_run(const cli_tool *tool, int argc, char **argv, FILE *answers, cli_work *work,
               void *arguments, error *err) MUST_CHECK;
int cli_main_of(const char *name, cli_function *tool, int argc, char **argv);

void cli_list_add(cli_list *list, const char *item);
void cli_list_release(cli_list *list);

// Returns the front command `lockstep` as it was typed, if it started this tool; else NULL. It is
// LOCKSTEP_FRONT in the environment. --help and messages then call the tool "lockstep TOOL".
const char *cli_front(void);

// Ends every main: flushes and closes standard output (a full disk shows only here), prints the
// message of `err` as "TOOL: MESSAGE" if rc is not STATUS_OK, and returns the exit code.
int cli_finish(const cli_tool *tool, status rc, error *err);

// Returns the version, as scripts/version printed it at build time: "0.9.0+94b9431", with "-dirty"
// for a tree with changes; "0.9.0" for sources without git.
const char *cli_version(void);
// Return a hash of the sources (16 hexadecimal digits) and the compiler flags that affect the code.
const char *cli_sources(void);
const char *cli_flags(void);

#endif
