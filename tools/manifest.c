// SPDX-License-Identifier: MIT
// manifest - reads, verifies and compares the manifests of stages.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/json.h"
#include "base/printable.h"
#include "data/manifest.h"
#include "data/manifest_folders.h"
#include "results/verify_figures.h"

static const char NOTES[] =
    "get     print the values at dotted paths: results.accuracy, inputs.0.content;\n"
    "        without KEY the whole file; a list or mapping is printed as YAML; FILE\n"
    "        may be any YAML file\n"
    "verify  recompute the sizes and hashes of all inputs and outputs, and the\n"
    "        results of a training or an evaluation from its steps or predictions;\n"
    "        compare the digest in the last line of each manifest\n"
    "diff    compare two stages, ignoring times, run: and the hashes of steps and\n"
    "        state; or two runs (folders that contain train/): their training and\n"
    "        evaluation\n"
    "fresh   exit 0 if the stage in DIR is complete and each PATH has its VALUE,\n"
    "        else 4 (-v prints the reason)\n"
    "\n"
    "A FILE may be the folder that contains it: DIR means DIR/manifest.yaml.\n"
    "\n"
    "--json prints one object: get {\"KEY\": value}, verify {\"checked\", \"findings\"},\n"
    "diff {\"differences\"}, fresh {\"fresh\", \"why\"}; the exit codes are the same.\n"
    "\n"
    "Exit codes: 0 done; 2 usage; 3 not a manifest, or no such key; 4 a file or a\n"
    "value differs.";

typedef struct request {
    const logger *log;
    const char *const *words; // after the command
    size_t count;
    bool json;
} request;

static status print_json(const yaml_node *root, const request *r, error *err) {
    yaml_node *values = yaml_new(YAML_MAPPING);
    for (size_t i = 1; i < r->count; i++)
        yaml_put(values, r->words[i], yaml_copy(yaml_get(root, r->words[i])));
    return json_answer(values, err);
}

static status print_value(const yaml_node *node, error *err) {
    char *shown;
    if (node->kind == YAML_SCALAR) {
        puts(node->text);
        return STATUS_OK;
    }
    NEED(yaml_write_text(node, &shown, NULL, err));
    fputs(shown, stdout);
    free(shown);
    return STATUS_OK;
}

static status print_values(const yaml_node *root, const request *r, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 1; i < r->count && rc == STATUS_OK; i++)
        rc = print_value(yaml_get(root, r->words[i]), err);
    return rc;
}

static status run_get(const request *r, error *err) {
    yaml_node *root = NULL;
    char *path = NULL;
    status rc = STATUS_OK;
    TRY(manifest_locate(r->words[0], &path, err));
    TRY(yaml_read_file(path, &root, err));
    for (size_t i = 1; i < r->count; i++)
        if (!yaml_get(root, r->words[i]))
            TRY(error_set(err, STATUS_INPUT, "cannot get '%s': '%s' has no such key", r->words[i],
                          path));
    if (r->count == 1)
        rc = r->json ? json_print(root, err) : print_value(root, err);
    else
        rc = r->json ? print_json(root, r, err) : print_values(root, r, err);
out:
    free(path);
    yaml_free(root);
    return rc;
}

// Prints the findings, as lines or as a list under `key` with the number of files checked.
static status print_findings(const manifest_findings *f, const request *r, const char *key,
                             error *err) {
    for (size_t i = 0; i < f->count; i++) {
        (void)printable(f->lines[i], true);
        if (!r->json) puts(f->lines[i]);
    }
    if (!r->json) return STATUS_OK;
    yaml_node *answer = yaml_new(YAML_MAPPING), *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < f->count; i++) yaml_append(list, json_new_string(f->lines[i]));
    yaml_put(answer, key, list);
    if (f->checked) yaml_put(answer, "checked", yaml_new_integer((int64_t)f->checked));
    return json_answer(answer, err);
}

// Findings in files, in keys, in figures, and in manifests themselves.
typedef struct verified {
    manifest_findings findings;
    size_t keys, figures, texts;
} verified;

// A missing or different file is a finding as such, and says nothing about figures.
static status verify_figures(const char *path, verified *v, error *err) {
    error unreadable = {0};
    const size_t before = v->findings.count;
    status rc = verify_figures_of_manifest(path, &v->findings, &unreadable);
    if (rc == STATUS_INPUT) {
        manifest_finding(&v->findings, "%s: %s", path, unreadable.message);
        rc = STATUS_OK;
    } else if (rc != STATUS_OK)
        *err = unreadable;
    v->figures += v->findings.count - before;
    return rc;
}

static status verify_one(const char *word, verified *v, error *err) {
    const size_t before = v->findings.count;
    size_t files;
    char *path = NULL;
    status rc;
    TRY(manifest_locate(word, &path, err));
    TRY(manifest_verify(path, &v->findings, err));
    files = v->findings.count;
    TRY(manifest_verify_key(path, &v->findings, err));
    v->keys += v->findings.count - files;
    if (files == before) TRY(verify_figures(path, v, err));
    // A finding that names the figure says more than that the text differs.
    if (v->findings.count == before) {
        TRY(manifest_verify_text(path, &v->findings, err));
        v->texts += v->findings.count - before;
    }
out:
    free(path);
    return rc;
}

static status set_finding(const verified *v, error *err) {
    const size_t checked = v->findings.checked;
    const size_t files = v->findings.count - v->keys - v->figures - v->texts;
    if (files)
        return error_set(err, STATUS_FINDING, "%zu of %zu file%s missing or different", files,
                         checked, checked == 1 ? "" : "s");
    if (v->keys)
        return error_set(err, STATUS_FINDING, "%zu key%s not match the manifest", v->keys,
                         v->keys == 1 ? " does" : "s do");
    if (v->figures)
        return error_set(err, STATUS_FINDING, "%zu figure%s not match the files", v->figures,
                         v->figures == 1 ? " does" : "s do");
    return error_set(err, STATUS_FINDING, "%zu manifest%s changed since %s written", v->texts,
                     v->texts == 1 ? "" : "s", v->texts == 1 ? "it was" : "they were");
}

static status run_verify(const request *r, error *err) {
    verified v = {0};
    const size_t *checked = &v.findings.checked;
    status rc = STATUS_OK;
    for (size_t i = 0; i < r->count; i++) TRY(verify_one(r->words[i], &v, err));
    TRY(print_findings(&v.findings, r, "findings", err));
    if (v.findings.count)
        rc = set_finding(&v, err);
    else
        log_info(r->log, "%zu file%s checked", *checked, *checked == 1 ? "" : "s");
out:
    manifest_findings_release(&v.findings);
    return rc;
}

static status run_diff(const request *r, error *err) {
    manifest_findings f = {0};
    status rc = STATUS_OK;
    if (r->count != 2) return error_set(err, STATUS_USAGE, "'diff': expected two files or folders");
    TRY(manifest_diff_paths(r->words[0], r->words[1], &f, err));
    TRY(print_findings(&f, r, "differences", err));
    if (f.count)
        rc = error_set(err, STATUS_FINDING, "'%s' and '%s' differ in %zu place%s", r->words[0],
                       r->words[1], f.count, f.count == 1 ? "" : "s");
out:
    manifest_findings_release(&f);
    return rc;
}

static status print_fresh(bool fresh, const char *why, error *err) {
    yaml_node *answer = yaml_new(YAML_MAPPING);
    yaml_put(answer, "fresh", yaml_new_boolean(fresh));
    if (!fresh) yaml_put(answer, "why", json_new_string(why));
    return json_answer(answer, err);
}

// Silent: makefiles call it, and "stale" is an ordinary answer.
static status run_fresh(const request *r, error *err) {
    manifest_state state;
    char why[1024];
    status rc =
        manifest_fresh(r->words[0], r->words + 1, r->count - 1, &state, NULL, why, sizeof why, err);
    const bool fresh = rc == STATUS_OK && state == MANIFEST_FRESH;
    if (rc == STATUS_OK && r->json) rc = print_fresh(fresh, why, err);
    if (rc != STATUS_OK || fresh) return rc;
    log_debug(r->log, "'%s' is stale: %s", r->words[0], why);
    return STATUS_FINDING;
}

static const struct command {
    const char *word;
    status (*run)(const request *r, error *err);
} commands[] = {{"get", run_get}, {"verify", run_verify}, {"diff", run_diff}, {"fresh", run_fresh}};

enum { COMMANDS = sizeof commands / sizeof *commands };

static status run_command(void *request_of_main, const cli_call *call, error *err) {
    request *r = request_of_main;
    const cli_list *words = call->operands;
    const char *known[COMMANDS];
    char hint[HINT_BYTES];
    r->log = call->log;
    r->words = words->items + 1;
    r->count = words->count - 1;
    for (size_t i = 0; i < COMMANDS; i++) {
        known[i] = commands[i].word;
        if (!strcmp(words->items[0], known[i])) return commands[i].run(r, err);
    }
    return error_set(err, STATUS_USAGE, "unknown command: '%s'%s", words->items[0],
                     hint_about(words->items[0], known, COMMANDS, HINT_KEYS, hint));
}

static void list_commands(cli_word words[COMMANDS + 1]) {
    for (size_t i = 0; i < COMMANDS; i++) words[i] = (cli_word){commands[i].word, NULL, NULL};
    words[COMMANDS] = (cli_word){0};
}

int main(int argc, char **argv) {
    cli_word words[COMMANDS + 1];
    request r = {0};
    const cli_option options[] = {
        {"json", CLI_FLAG, &r.json, NULL, "print the answer as one line of JSON", 0, 0}, {0}};
    const cli_tool tool = {
        .name = "manifest",
        .usage = "get FILE [KEY]...\nverify FILE...\ndiff A B\nfresh DIR [PATH=VALUE]...",
        .options = options,
        .notes = NOTES,
        .operands_min = 2,
        .operands_max = 1000,
        .words = words,
    };
    list_commands(words);
    return cli_main(&tool, argc, argv, run_command, &r);
}
