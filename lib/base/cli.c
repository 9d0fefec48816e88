// SPDX-License-Identifier: MIT
#include "base/cli.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hint.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/tool_list.h"

enum { HELP_COLUMN = 26, LINE_WIDTH = 80, LONGEST_OPTION = 63 };

// Those that every tool takes.
static const struct {
    const char *name, *option, *help;
} common[] = {{"quiet", "-q, --quiet", "print less to standard error"},
              {"verbose", "-v, --verbose", "print more to standard error"},
              {"help", "-h, --help", "print this help and exit"},
              {"version", "--version", "print the version and exit"}};
enum { COMMON_OPTIONS = sizeof common / sizeof *common };

// State of one parse.
typedef struct parser {
    const cli_tool *tool;
    logger *log;
    cli_list *operands;
    char **argv;
    int argc, next;
    bool help, version, completions;
} parser;

const char *cli_front(void) {
    const char *typed = getenv("LOCKSTEP_FRONT");
    return typed && *typed ? typed : NULL;
}

// In front of the tool's name.
static const char *prefix(void) {
    return cli_front() ? "lockstep " : "";
}

static status usage(const parser *p, error *err, const char *what, const char *which,
                    const char *why) {
    return error_set(err, STATUS_USAGE, "%s: '%s': %s (see '%s%s --help')", what, which, why,
                     prefix(), p->tool->name);
}

void cli_list_add(cli_list *list, const char *item) {
    list->items = memory_grow(list->items, &list->capacity, list->count + 1, sizeof *list->items);
    list->items[list->count++] = item;
}

void cli_list_release(cli_list *list) {
    free(list->items);
    *list = (cli_list){0};
}

// Lets the tool answer an option that is none: "did you mean '--set epochs=1'?".
static status ask_tool(const parser *p, const char *argument, const char *name, error *err) {
    const char *equals = strchr(argument, '='), *value = "VALUE";
    char why[HINT_BYTES] = "no such option";
    if (equals)
        value = equals + 1;
    else if (p->next < p->argc && *p->argv[p->next] != '-')
        value = p->argv[p->next];
    if (p->tool->answer) p->tool->answer(name, value, why);
    return usage(p, err, "unknown option", argument, why);
}

static status unknown_option(const parser *p, const char *argument, const char *name, error *err) {
    const char *words[64], *note;
    size_t count = 0;
    for (const cli_option *o = p->tool->options; o && o->name && count < 60; o++)
        words[count++] = o->name;
    for (size_t i = 0; i < COMMON_OPTIONS; i++) words[count++] = common[i].name;
    const char *near = hint_find(name, words, count, HINT_KEYS, &note);
    char why[HINT_BYTES];
    if (!near && !note) return ask_tool(p, argument, name, err);
    if (near)
        snprintf(why, sizeof why, "did you mean '--%s'?%s%s", near, note ? " " : "",
                 note ? note : "");
    return usage(p, err, "unknown option", argument, near ? why : note);
}

static status set_integer(const cli_option *o, const char *text, error *err) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < o->min || value > o->max)
        return error_set(
            err, STATUS_USAGE,
            "bad option value: '--%s': expected an integer from %lld to %lld, got '%s'", o->name,
            (long long)o->min, (long long)o->max, text);
    *(int64_t *)o->value = value;
    return STATUS_OK;
}

static status set_number(const cli_option *o, const char *text, error *err) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value))
        return error_set(err, STATUS_USAGE, "bad option value: '--%s': expected a number, got '%s'",
                         o->name, text);
    const bool is_open = o->max == INT64_MAX;
    if (is_open && value < (double)o->min)
        return error_set(err, STATUS_USAGE,
                         "bad option value: '--%s': expected a number of at least %lld, got '%s'",
                         o->name, (long long)o->min, text);
    if (!is_open && (value < (double)o->min || value > (double)o->max))
        return error_set(err, STATUS_USAGE,
                         "bad option value: '--%s': expected a number from %lld to %lld, got '%s'",
                         o->name, (long long)o->min, (long long)o->max, text);
    *(double *)o->value = value;
    return STATUS_OK;
}

static status set_value(const cli_option *o, const char *text, error *err) {
    switch (o->type) {
    case CLI_FLAG: *(bool *)o->value = true; break;
    case CLI_STRING: *(const char **)o->value = text; break;
    case CLI_LIST: cli_list_add(o->value, text); return STATUS_OK;
    case CLI_INTEGER: return set_integer(o, text, err);
    case CLI_NUMBER: return set_number(o, text, err);
    }
    return STATUS_OK;
}

static bool take_common(parser *p, const char *name) {
    if (strcmp(name, "help") == 0)
        p->help = true;
    else if (strcmp(name, "version") == 0)
        p->version = true;
    else if (strcmp(name, "completions") == 0)
        p->completions = true;
    else if (strcmp(name, "quiet") == 0)
        p->log->level = LOG_QUIET;
    else if (strcmp(name, "verbose") == 0)
        p->log->level = LOG_VERBOSE;
    else
        return false;
    return true;
}

static status refuse_value(const parser *p, const char *what, const char *argument,
                           const cli_option *o, error *err) {
    char why[HINT_BYTES];
    snprintf(why, sizeof why, "--%s takes no value: %s", o->name, o->help);
    return usage(p, err, what, argument, why);
}

// "--NAME", "--NAME=VALUE" or "--NAME VALUE".
static status take_long(parser *p, const char *argument, error *err) {
    const char *name = argument + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    char key[LONGEST_OPTION + 1];
    if (length > LONGEST_OPTION) return usage(p, err, "unknown option", argument, "no such option");
    memcpy(key, name, length);
    key[length] = '\0';
    const cli_option *o = p->tool->options;
    while (o && o->name && strcmp(o->name, key) != 0) o++;
    if (!o || !o->name) {
        if (!equals && take_common(p, key)) return STATUS_OK;
        return unknown_option(p, argument, key, err);
    }
    if (o->type == CLI_FLAG && equals) return refuse_value(p, "bad option", argument, o, err);
    if (o->type == CLI_FLAG || equals) return set_value(o, equals ? equals + 1 : NULL, err);
    if (p->next == p->argc) return usage(p, err, "bad option", argument, "missing value");
    return set_value(o, p->argv[p->next++], err);
}

// One or more letters after one dash: -q, -v, -h.
static status take_short(parser *p, const char *argument, error *err) {
    for (const char *letter = argument + 1; *letter; letter++) {
        switch (*letter) {
        case 'h': p->help = true; break;
        case 'q': p->log->level = LOG_QUIET; break;
        case 'v': p->log->level = LOG_VERBOSE; break;
        default: return unknown_option(p, argument, argument + 1, err);
        }
    }
    return STATUS_OK;
}

static status take_all(parser *p, error *err) {
    bool options = true;
    while (p->next < p->argc) {
        const char *argument = p->argv[p->next++];
        status rc = STATUS_OK;
        if (options && strcmp(argument, "--") == 0)
            options = false;
        else if (options && strncmp(argument, "--", 2) == 0)
            rc = take_long(p, argument, err);
        else if (options && argument[0] == '-' && argument[1])
            rc = take_short(p, argument, err);
        else
            cli_list_add(p->operands, argument);
        if (rc != STATUS_OK) return rc;
        if (p->help || p->version || p->completions) break; // the rest no longer matters
    }
    return STATUS_OK;
}

// Prints `text` from column HELP_COLUMN on, broken at blanks; `column` is the cursor's.
static void print_wrapped(const char *text, int column) {
    if (column > HELP_COLUMN - 2) {
        putchar('\n');
        column = 0;
    }
    printf("%*s", HELP_COLUMN - column, "");
    column = HELP_COLUMN;
    while (*text) {
        int word = (int)strcspn(text, " ");
        if (column > HELP_COLUMN && column + 1 + word > LINE_WIDTH) {
            printf("\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        }
        column += printf("%s%.*s", column > HELP_COLUMN ? " " : "", word, text);
        text += word;
        text += strspn(text, " ");
    }
    putchar('\n');
}

// Returns the length of a usage line up to the first place where it may be broken: a blank, outside
// brackets, before an option or a bracket.
static int usage_part(const char *line, int length) {
    int depth = 0;
    for (int i = 0; i < length; i++) {
        const char *next = line + i + 1;
        if (strchr("[{", line[i])) depth++;
        if (strchr("]}", line[i])) depth--;
        if (line[i] == ' ' && !depth && (strchr("[{", *next) || strncmp(next, "--", 2) == 0))
            return i;
    }
    return length;
}

// Prints a usage line; continuation lines begin below the first word after the tool's name.
static void print_usage(const char *head, const char *name, const char *line, int length) {
    const int indent = printf("%-6s %s%s", head, prefix(), name);
    int column = indent;
    while (length > 0) {
        const int part = usage_part(line, length);
        if (column > indent && column + 1 + part > LINE_WIDTH) {
            printf("\n%*s", indent, "");
            column = indent;
        }
        column += printf(" %.*s", part, line);
        line += part + 1;
        length -= part + 1;
    }
    putchar('\n');
}

static void print_help(const cli_tool *tool) {
    const char *line = tool->usage ? tool->usage : "", *head = "Usage:";
    do {
        int length = (int)strcspn(line, "\n");
        print_usage(head, tool->name, line, length);
        line += length;
        line += *line == '\n';
        head = "";
    } while (*line);
    printf("\n%s\n\nOptions:\n", tool->summary ? tool->summary : tool_summary(tool->name));
    for (const cli_option *o = tool->options; o && o->name; o++)
        print_wrapped(o->help, printf("  --%s%s%s", o->name, o->argument ? " " : "",
                                      o->argument ? o->argument : ""));
    for (size_t i = 0; i < COMMON_OPTIONS; i++)
        print_wrapped(common[i].help, printf("  %s", common[i].option));
    if (tool->notes)
        printf("\n%s%s", tool->notes, strchr(tool->notes, '\0')[-1] == '\n' ? "" : "\n");
}

static void print_completions(const cli_tool *tool) {
    for (const cli_word *w = tool->words; w && w->word; w++)
        printf("%s\t%s\t%s\n", w->word, w->argument ? w->argument : "", w->help ? w->help : "");
    for (const cli_option *o = tool->options; o && o->name; o++) {
        printf("--%s\t%s%s\t%s", o->name, o->argument ? o->argument : "",
               o->type == CLI_LIST ? "..." : "", o->help);
        if (o->type == CLI_INTEGER || o->type == CLI_NUMBER)
            printf("\t%lld\t%lld", (long long)o->min, (long long)o->max);
        putchar('\n');
    }
    for (size_t i = 0; i < COMMON_OPTIONS; i++)
        printf("--%s\t\t%s\n", common[i].name, common[i].help);
}

// Finds the flag in front of an argument: "--resume FILE".
static const cli_option *flag_before(const parser *p, const char *operand) {
    int at = 1;
    while (at < p->argc && p->argv[at] != operand) at++;
    const char *before = at > 1 && at < p->argc ? p->argv[at - 1] : "";
    const cli_option *o = p->tool->options;
    if (strncmp(before, "--", 2) != 0) return NULL;
    while (o && o->name && strcmp(o->name, before + 2) != 0) o++;
    return o && o->name && o->type == CLI_FLAG ? o : NULL;
}

static status check_operands(const parser *p, error *err) {
    const cli_tool *tool = p->tool;
    size_t count = p->operands->count;
    if (count > tool->operands_max) {
        static const char what[] = "unexpected argument";
        const char *first = p->operands->items[tool->operands_max];
        const cli_option *flag = flag_before(p, first);
        if (flag) return refuse_value(p, what, first, flag, err);
        return usage(p, err, what, first,
                     tool->operands_max ? "too many arguments" : "no arguments are accepted");
    }
    if (count < tool->operands_min)
        return error_set(err, STATUS_USAGE,
                         "missing arguments: expected at least %zu, got %zu (see '%s%s --help')",
                         tool->operands_min, count, prefix(), tool->name);
    return STATUS_OK;
}

status cli_parse(const cli_tool *tool, int argc, char **argv, logger *log, cli_list *operands,
                 bool *done, error *err) {
    process_begin();
    parser p = {.tool = tool, .log = log, .operands = operands, .argv = argv, .argc = argc};
    p.next = 1;
    *done = false;
    NEED(take_all(&p, err));
    if (p.help) print_help(tool);
    if (p.version)
        printf("%s%s %s\n", tool->name, strcmp(tool->name, "lockstep") == 0 ? "" : " (lockstep)",
               cli_version());
    if (p.completions) print_completions(tool);
    *done = p.help || p.version || p.completions;
    return *done ? STATUS_OK : check_operands(&p, err);
}

int cli_finish(const cli_tool *tool, status rc, error *err) {
    bool bad = ferror(stdout) != 0;
    int reason = 0;
    // A standard output that was closed from the start is an error only if something was printed.
    if (fflush(stdout)) {
        bad = true;
        reason = errno;
    }
    if (fclose(stdout) && errno != EBADF && !bad) {
        bad = true;
        reason = errno;
    }
    if (bad && (rc == STATUS_OK || rc == STATUS_FINDING))
        rc = reason ? error_system(err, STATUS_FAILED, reason, "cannot write: 'standard output'")
                    : error_set(err, STATUS_FAILED, "cannot write: 'standard output'");
    if (rc != STATUS_OK && err) log_error(&(logger){.tool = tool->name, .level = LOG_NORMAL}, err);
    return (int)rc;
}

status cli_run(const cli_tool *tool, int argc, char **argv, FILE *answers, cli_work *work,
               void *arguments, error *err) {
    logger log = {.tool = tool->name, .level = LOG_NORMAL};
    cli_list operands = {0};
    const cli_call call = {&operands, &log, argc, argv, answers};
    bool done = false;
    status rc = cli_parse(tool, argc, argv, &log, &operands, &done, err);
    if (rc == STATUS_OK && !done) rc = work(arguments, &call, err);
    cli_list_release(&operands);
    return rc;
}

int cli_main(const cli_tool *tool, int argc, char **argv, cli_work *work, void *arguments) {
    error err = {0};
    status rc = cli_run(tool, argc, argv, stdout, work, arguments, &err);
    return cli_finish(tool, rc, &err);
}

int cli_main_of(const char *name, cli_function *tool, int argc, char **argv) {
    const cli_tool named = {.name = name};
    error err = {0};
    status rc = tool(argc, argv, stdout, &err);
    return cli_finish(&named, rc, &err);
}
