// SPDX-License-Identifier: MIT
// audit - checks published claims about training runs against their own figures.
#include <stdio.h>
#include <stdlib.h>

#include "audit/audit.h"
#include "base/cli.h"
#include "base/json.h"
#include "base/memory.h"

static const char NOTES[] =
    "A claim is a file of schema lockstep.claim/1: rows of published figures, and\n"
    "statements about them. Each finding is printed with its arithmetic:\n"
    "  arithmetic error             figures that cannot all be true\n"
    "  unlike arms                  runs differ in more than the compared factor\n"
    "  unsupported statement        no figure supports it, or a condition is missing\n"
    "  stated by the report itself  one of these that the report answers: not counted\n"
    "Each finding names the places of both sides. Rounding of printed digits is not a\n"
    "finding.\n"
    "\n"
    "--json prints [{\"claim\", \"findings\": [{\"kind\", \"what\", \"where\",\n"
    "\"arithmetic\": [line], \"so\"}]}].\n"
    "\n"
    "Exit codes: 0 done, no finding that counts; 2 usage; 3 not a claim; 4 findings.\n"
    "\n"
    "Example: audit experiments/R00?/claim.yaml";

static void append_finding(yaml_node *list, const finding *f) {
    yaml_node *entry = yaml_new(YAML_MAPPING);
    yaml_put(entry, "kind", json_new_string(finding_name(f->kind, LANGUAGE_EN)));
    yaml_put(entry, "what", json_new_string(text_string(&f->what)));
    yaml_put(entry, "where", json_new_string(text_string(&f->where)));
    yaml_put(entry, "arithmetic", json_new_lines(text_string(&f->sums)));
    yaml_put(entry, "so", json_new_string(text_string(&f->so)));
    yaml_append(list, entry);
}

static void append_claim(yaml_node *list, const findings *a) {
    yaml_node *entry = yaml_new(YAML_MAPPING), *items = yaml_new(YAML_SEQUENCE);
    yaml_put(entry, "claim", json_new_string(a->claim->name));
    for (size_t i = 0; i < a->count; i++) append_finding(items, &a->items[i]);
    yaml_put(entry, "findings", items);
    yaml_append(list, entry);
}

// Appends the findings to `list`, for --json; if it is NULL, prints them.
static status audit_all(const claim *claims, size_t count, language l, yaml_node *list,
                        error *err) {
    size_t tally[FINDING_KINDS] = {0}, all = 0;
    status rc = STATUS_OK;
    text out = {0};
    for (size_t i = 0; i < count; i++) {
        findings a = {0};
        audit_run(&a, &claims[i], l);
        if (list) append_claim(list, &a);
        findings_print(&a, &out);
        findings_tally(&a, tally);
        all += findings_counted(&a);
        findings_release(&a);
    }
    findings_print_tally(tally, count, l, &out);
    // A text that became part of another may have failed alone.
    rc = error_status(err);
    if (rc == STATUS_OK) {
        if (list)
            rc = json_print(list, err);
        else
            fputs(text_string(&out), stdout);
        if (rc == STATUS_OK && all)
            rc = error_set(err, STATUS_FINDING, "%zu finding%s in %zu claim%s", all,
                           all == 1 ? "" : "s", count, count == 1 ? "" : "s");
    }
    text_release(&out);
    return rc;
}

typedef struct arguments {
    const char *language;
    bool json;
} arguments;

// Reads all files before it judges the first: a bad one leaves no partial answer.
static status run_tool(void *arguments_of_main, const cli_call *call, error *err) {
    const arguments *a = arguments_of_main;
    const cli_list *files = call->operands;
    language l;
    yaml_node *list = NULL;
    status rc = STATUS_OK;
    if (!language_find(a->language, &l))
        return error_set(err, STATUS_USAGE, "bad --lang: '%s': expected en or zh", a->language);
    claim *claims = memory_new(files->count, sizeof *claims);
    for (size_t i = 0; i < files->count && rc == STATUS_OK; i++)
        rc = claim_read(files->items[i], &claims[i], err);
    if (rc == STATUS_OK && a->json && !(list = yaml_new(YAML_SEQUENCE))) rc = STATUS_FAILED;
    if (rc == STATUS_OK) rc = audit_all(claims, files->count, l, list, err);
    yaml_free(list);
    for (size_t i = 0; i < files->count; i++) claim_release(&claims[i]);
    free(claims);
    return rc;
}

int main(int argc, char **argv) {
    arguments a = {.language = "en"};
    const cli_option options[] = {
        {"lang", CLI_STRING, &a.language, "en|zh", "language of the findings", 0, 0},
        {"json", CLI_FLAG, &a.json, NULL, "print the findings as one line of JSON", 0, 0},
        {0}};
    const cli_tool tool = {.name = "audit",
                           .usage = "CLAIM.yaml... [--lang en|zh]",
                           .options = options,
                           .notes = NOTES,
                           .operands_min = 1,
                           .operands_max = 10000};
    return cli_main(&tool, argc, argv, run_tool, &a);
}
