// plan - decides which runs answer a question: the rungs between two experiments, a study, the rows
// of published reports.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/json.h"
#include "base/named_files.h"
#include "base/output.h"
#include "experiment/plan.h"

typedef struct options {
    cli_list set;
    const char *out;
    bool quick, json;
} options;

static const char NOTES[] =
    "ladder  from experiment A to B one factor at a time: loader workers, strategy and world\n"
    "        size, V and batch norm, global batch, learning-rate rule, epochs, the rest\n"
    "study   every combination of the values that a study file varies\n"
    "reproduction  the experiments and studies that stand for the rows of published reports;\n"
    "        --quick makes them short in the way that the list says\n"
    "\n"
    "Prints one line a run: its name (of a reproduction: its folder), the experiment file and\n"
    "the --set assignments, with tabs between. --out also writes the plan as YAML: what `report "
    "--plan` reads. --json prints the same as JSON.\n"
    "\n"
    "Example: plan ladder experiments/R001/single.yaml experiments/R001/ddp4.yaml --set epochs=2";

// Why a factor did not change in its turn.
static void tell_reasons(const logger *log, const yaml_node *plan) {
    const yaml_node *runs = yaml_find(plan, "runs");
    for (size_t i = 0; i < runs->count; i++) {
        const yaml_node *kept = yaml_find(runs->items[i], "kept");
        if (!kept) continue;
        log_info(log, "'%s' comes before '%s', which cannot change alone yet: %s",
                 yaml_find(runs->items[i], "name")->text, kept->text,
                 yaml_find(runs->items[i], "because")->text);
    }
}

static status make_plan(const options *o, const cli_list *words, yaml_node **plan, error *err) {
    const char *const *set = o->set.items;
    const char *what = words->items[0];
    bool reproduction = strcmp(what, "reproduction") == 0;
    if (o->quick && !reproduction)
        return error_set(err, STATUS_USAGE, "--quick is for a reproduction");
    if (strcmp(what, "ladder") == 0 && words->count == 3)
        return plan_ladder(words->items[1], words->items[2], set, o->set.count, plan, err);
    if (strcmp(what, "study") == 0 && words->count == 2)
        return plan_study(words->items[1], set, o->set.count, plan, err);
    if (reproduction && words->count == 2)
        return plan_reproduction(words->items[1], o->quick, set, o->set.count, plan, err);
    return error_set(err, STATUS_USAGE,
                     "expected 'ladder A B' or 'study FILE' or 'reproduction FILE'");
}

static status check_out(const options *o, const cli_list *words, error *err) {
    const named_file out = {"--out", o->out};
    for (size_t i = 1; i < words->count; i++) {
        const named_file in = {"an input", words->items[i]};
        status rc = named_files_check(&in, 1, &out, 1, err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

static status run_tool(const options *o, const cli_list *words, const logger *log, error *err) {
    yaml_node *plan = NULL;
    char *lines = NULL, *yaml = NULL;
    size_t bytes;
    status rc = STATUS_OK;
    TRY(check_out(o, words, err));
    TRY(make_plan(o, words, &plan, err));
    TRY(plan_lines(plan, &lines, err));
    TRY(yaml_write_text(plan, &yaml, &bytes, err));
    if (o->out) TRY(output_write_file(o->out, yaml, bytes, err));
    tell_reasons(log, plan);
    if (o->json)
        rc = json_print(plan, err);
    else
        fputs(lines, stdout);
out:
    free(lines);
    free(yaml);
    yaml_free(plan);
    return rc;
}

int main(int argc, char **argv) {
    options o = {0};
    const cli_option table[] = {
        {"set", CLI_LIST, &o.set, "KEY=VALUE", "replace a value of every experiment read", 0, 0},
        {"out", CLI_STRING, &o.out, "FILE", "write the plan as YAML", 0, 0},
        {"json", CLI_FLAG, &o.json, NULL, "print the plan as one line of JSON", 0, 0},
        {"quick", CLI_FLAG, &o.quick, NULL, "of a reproduction: the short one", 0, 0},
        {0}};
    const cli_tool tool = {
        .name = "plan",
        .summary = "decide which runs answer a question",
        .usage = "ladder A.yaml B.yaml [--set KEY=VALUE]... [--out PLAN.yaml]\n"
                 "study STUDY.yaml [--set KEY=VALUE]... [--out PLAN.yaml]\n"
                 "reproduction LIST.yaml [--quick] [--set KEY=VALUE]... [--out PLAN.yaml]",
        .options = table,
        .notes = NOTES,
        .operands_min = 2,
        .operands_max = 3,
    };
    error err = {0};
    logger log = {.tool = tool.name, .level = LOG_NORMAL};
    cli_list words = {0};
    bool done = false;
    status rc = cli_parse(&tool, argc, argv, &log, &words, &done, &err);
    if (rc == STATUS_OK && !done) rc = run_tool(&o, &words, &log, &err);
    cli_list_release(&words);
    cli_list_release(&o.set);
    return cli_finish(&tool, rc, &err);
}
