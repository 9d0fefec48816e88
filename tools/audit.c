// SPDX-License-Identifier: MIT
// audit - checks published claims about training runs against their own figures.
#include <stdio.h>
#include <stdlib.h>

#include "audit/audit.h"
#include "base/cli.h"
#include "base/json.h"
#include "base/memory.h"
#include "report/findings_text.h"

static const char NOTES[] =
    "A claim is a file of schema lockstep.claim/1: rows of published figures, and\n"
    "statements about them. Each finding is printed with its arithmetic:\n"
    "  arithmetic error             figures that cannot all be true\n"
    "  unlike arms                  runs differ in more than the compared factor\n"
    "  unsupported statement        no figure supports it, or a condition is missing\n"
    "  stated by the report itself  one of these that the report answers: not counted\n"
    "  remark                       no fault, but worth knowing: not counted\n"
    "Each finding names the places of both sides. Rounding of printed digits is not a\n"
    "finding.\n"
    "\n"
    "--json prints [{\"claim\", \"findings\": [{\"kind\", \"what\", \"where\",\n"
    "\"arithmetic\": [line], \"so\"}]}].\n"
    "\n"
    "Exit codes: 0 done, no finding that counts; 2 usage; 3 not a claim; 4 findings.\n"
    "\n"
    "Example: audit experiments/R00?/claim.yaml";

// Adds the findings to `list`, for --json; if it is NULL, to `out`.
static status audit_all(const claim *claims, size_t count, page_templates *t, yaml_node *list,
                        text *out, error *err) {
    size_t tally[FINDING_KINDS] = {0}, all = 0;
    status rc = STATUS_OK;
    for (size_t i = 0; i < count && rc == STATUS_OK; i++) {
        findings a = {0};
        audit_run(&a, &claims[i]);
        rc = list ? findings_to_json(t, &a, list, err) : findings_print(t, &a, out, err);
        for (int k = 0; k < FINDING_KINDS; k++) tally[k] += a.counts[k];
        all += findings_counted(&a);
        findings_release(&a);
    }
    if (rc == STATUS_OK && !list) rc = findings_print_tally(t, tally, count, out, err);
    if (rc == STATUS_OK && list) rc = json_print(list, err);
    if (rc != STATUS_OK) return rc;
    fputs(text_string(out), stdout);
    if (!all) return STATUS_OK;
    return error_set(err, STATUS_FINDING, "%zu finding%s in %zu claim%s", all, all == 1 ? "" : "s",
                     count, count == 1 ? "" : "s");
}

typedef struct arguments {
    const char *language;
    bool json;
} arguments;

// Reads all files before it judges the first: a bad one leaves no partial answer.
static status run_tool(void *arguments_of_main, const cli_call *call, error *err) {
    const arguments *a = arguments_of_main;
    const cli_list *files = call->operands;
    yaml_node *list = a->json ? yaml_new(YAML_SEQUENCE) : NULL;
    claim *claims = memory_new(files->count, sizeof *claims);
    page_templates *t = NULL;
    text out = {0};
    status rc;
    TRY(page_language_check(a->language, err));
    for (size_t i = 0; i < files->count; i++) TRY(claim_read(files->items[i], &claims[i], err));
    TRY(page_templates_open(&t, a->language, NULL, err));
    rc = audit_all(claims, files->count, t, list, &out, err);
out:
    yaml_free(list);
    text_release(&out);
    page_templates_close(t);
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
