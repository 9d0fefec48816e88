// manifest - reads, verifies and compares what the stages wrote about themselves.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "data/manifest.h"
#include "data/manifest_check.h"

static const cli_tool tool = {
    .name = "manifest",
    .summary = "read, verify and compare manifest.yaml files",
    .usage = "get FILE KEY...\nverify FILE...\ndiff A B\nfresh DIR [PATH=VALUE]...",
    .notes = "get     print the values at dotted paths: results.accuracy, inputs.0.content;\n"
             "        a list or mapping is printed as YAML; FILE may be any YAML file\n"
             "verify  recompute size and hashes of every input and output\n"
             "diff    compare two stages, without times, run: and the hashes of steps and state\n"
             "fresh   exit 0 if the stage in DIR is done and each PATH has that VALUE, else 4\n"
             "        (-v says why)\n"
             "\n"
             "Exit codes: 0 done, 2 usage, 3 not a manifest or no such key, 4 a file or value "
             "differs.\n",
    .operands_min = 2,
    .operands_max = 1000,
};

static status run_get(const logger *log, const char *const *words, size_t count, error *err) {
    (void)log;
    yaml_node *root = NULL;
    status rc = STATUS_OK;
    if (count < 2) return error_set(err, STATUS_USAGE, "'get': expected FILE KEY...");
    TRY(yaml_read_file(words[0], &root, err));
    for (size_t i = 1; i < count; i++) {
        if (yaml_get(root, words[i])) continue;
        rc = error_set(err, STATUS_INPUT, "cannot get '%s': '%s' has no such key", words[i],
                       words[0]);
        goto out;
    }
    for (size_t i = 1; i < count; i++) {
        const yaml_node *node = yaml_get(root, words[i]);
        if (node->kind == YAML_SCALAR) {
            puts(node->text);
            continue;
        }
        char *text;
        TRY(yaml_write_text(node, &text, NULL, err));
        fputs(text, stdout);
        free(text);
    }
out:
    yaml_free(root);
    return rc;
}

static void print_findings(const manifest_findings *f) {
    for (size_t i = 0; i < f->count; i++) puts(f->lines[i]);
}

static status run_verify(const logger *log, const char *const *words, size_t count, error *err) {
    manifest_findings f = {0};
    status rc = STATUS_OK;
    for (size_t i = 0; i < count; i++) TRY(manifest_verify(words[i], &f, err));
    print_findings(&f);
    if (f.count)
        rc = error_set(err, STATUS_FINDING, "%zu of %zu files are missing or differ", f.count,
                       f.checked);
    else
        log_info(log, "%zu files checked", f.checked);
out:
    manifest_findings_release(&f);
    return rc;
}

static status run_diff(const logger *log, const char *const *words, size_t count, error *err) {
    (void)log;
    manifest_findings f = {0};
    yaml_node *a = NULL, *b = NULL;
    status rc = STATUS_OK;
    if (count != 2) return error_set(err, STATUS_USAGE, "'diff': expected two files");
    TRY(manifest_read(words[0], &a, err));
    TRY(manifest_read(words[1], &b, err));
    TRY(manifest_diff(a, b, &f, err));
    print_findings(&f);
    if (f.count)
        rc = error_set(err, STATUS_FINDING, "'%s' and '%s' differ in %zu place%s", words[0],
                       words[1], f.count, f.count == 1 ? "" : "s");
out:
    manifest_findings_release(&f);
    yaml_free(a);
    yaml_free(b);
    return rc;
}

// Silent: a makefile asks, and "stale" is an ordinary answer.
static status run_fresh(const logger *log, const char *const *words, size_t count, error *err) {
    bool fresh;
    char why[1024];
    status rc = manifest_fresh(words[0], words + 1, count - 1, &fresh, why, sizeof why, err);
    if (rc != STATUS_OK || fresh) return rc;
    log_debug(log, "'%s' is stale: %s", words[0], why);
    return STATUS_FINDING;
}

static const struct command {
    const char *word;
    status (*run)(const logger *log, const char *const *words, size_t count, error *err);
} commands[] = {{"get", run_get}, {"verify", run_verify}, {"diff", run_diff}, {"fresh", run_fresh}};

enum { COMMANDS = sizeof commands / sizeof *commands };

static status run_command(const logger *log, const cli_list *words, error *err) {
    const char *known[COMMANDS];
    for (size_t i = 0; i < COMMANDS; i++) {
        known[i] = commands[i].word;
        if (!strcmp(words->items[0], known[i]))
            return commands[i].run(log, words->items + 1, words->count - 1, err);
    }
    const char *near = cli_nearest(words->items[0], known, COMMANDS);
    return error_set(err, STATUS_USAGE, "unknown command: '%s'%s%s%s", words->items[0],
                     near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

int main(int argc, char **argv) {
    error err = {0};
    logger log = {.tool = tool.name, .level = LOG_NORMAL};
    cli_list operands = {0};
    bool done = false;
    status rc = cli_parse(&tool, argc, argv, &log, &operands, &done, &err);
    if (rc == STATUS_OK && !done) rc = run_command(&log, &operands, &err);
    cli_list_release(&operands);
    return cli_finish(&tool, rc, &err);
}
