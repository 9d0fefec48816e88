// SPDX-License-Identifier: MIT
// plan - decides which runs answer a question: the rungs between two experiments, a study, the rows
// of published reports.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/named_files.h"
#include "base/output.h"
#include "experiment/plan.h"
#include "pipeline/command_plan.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_runs.h"
#include "pipeline/resolve.h"
#include "pipeline/store.h"
#include "train/train_tools.h"

typedef struct options {
    cli_list set;
    const char *out, *artifacts, *data, *device;
    bool quick, json, trainings;
} options;

static const char NOTES[] =
    "ladder  from experiment A to B one factor at a time: loader workers, strategy\n"
    "        and world size, V and batch norm, global batch, learning-rate rule,\n"
    "        epochs, label smoothing, mixup, averaged weights, gradient clipping,\n"
    "        dropping the last batch, the rest\n"
    "study   every combination of the values that a study file varies\n"
    "reproduction\n"
    "        the experiments and studies for the rows of published reports; --quick\n"
    "        shortens them as the list specifies\n"
    "runs    these experiments; the first is the baseline of the others\n"
    "\n"
    "An experiment or a study is a name in experiments/, or a file. Runs are resolved\n"
    "as by make; nothing is fetched or trained. Two identical runs are refused.\n"
    "\n"
    "Prints one line per run: its name (its folder, for a reproduction), the\n"
    "experiment file and the --set assignments, separated by tabs. --trainings prints\n"
    "one line per seed instead: the link to its run, the tool, the training data, the\n"
    "seed and the key; the key is \"-\" if the data are not there yet.\n"
    "--out also writes the plan as YAML: the file for `report --plan`, with each\n"
    "run's folder, tool, train, test and seeds: {seed, link, key, run}. --json prints\n"
    "the same as JSON.\n"
    "\n"
    "Examples:\n"
    "  lockstep plan ladder experiments/R001/single.yaml experiments/R001/ddp4.yaml \\\n"
    "      --set epochs=2\n"
    "  lockstep plan runs single ddp4 --trainings";

// Logs why a factor did not change in its turn.
static void log_reasons(const logger *log, const yaml_node *plan) {
    const yaml_node *runs = yaml_find(plan, "runs");
    for (size_t i = 0; i < runs->count; i++) {
        const yaml_node *kept = yaml_find(runs->items[i], "kept");
        if (!kept) continue;
        log_info(log, "'%s' is changed before '%s', which cannot yet change alone: %s",
                 yaml_find(runs->items[i], "name")->text, kept->text,
                 yaml_find(runs->items[i], "because")->text);
    }
}

// Finds the pipeline's command that runs such a plan.
static status find_command(const options *o, const cli_list *given, pipeline_command *command,
                           error *err) {
    const char *what = given->items[0];
    const bool reproduction = strcmp(what, "reproduction") == 0;
    if (o->quick && !reproduction)
        return error_set(err, STATUS_USAGE, "--quick applies only to 'reproduction'");
    *command = reproduction ? COMMAND_REPRODUCE : COMMAND_EXPERIMENT;
    if ((reproduction || strcmp(what, "study") == 0) && given->count == 2) return STATUS_OK;
    *command = COMMAND_EXPLAIN;
    if (strcmp(what, "ladder") == 0 && given->count == 3) return STATUS_OK;
    *command = COMMAND_COMPARE;
    if (strcmp(what, "runs") == 0) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "expected 'ladder A B', 'study FILE', 'reproduction FILE' or 'runs A...'");
}

static status read_settings(const options *o, const cli_list *given, settings *s, error *err) {
    NEED(find_command(o, given, &s->command, err));
    s->quick = o->quick;
    s->values[SETTING_DATA] = o->data;
    s->values[SETTING_DEVICE] = o->device;
    for (size_t i = 1; i < given->count; i++) strvec_add(&s->names, given->items[i]);
    for (size_t i = 0; i < o->set.count; i++) strvec_add(&s->assignments, o->set.items[i]);
    return STATUS_OK;
}

static status check_is_study(const cli_list *given, const planned_runs *runs, error *err) {
    if (strcmp(given->items[0], "study") != 0 ||
        strcmp(yaml_find(runs->plan, "kind")->text, "study") == 0)
        return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot plan a study: '%s': it is an experiment; use `lockstep plan runs`",
                     runs->items[0].file);
}

static status check_out(const char *out_path, const cli_list *given, const planned_runs *runs,
                        error *err) {
    const named_file out = {"--out", out_path};
    const size_t operands = given->count - 1;
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < operands + runs->count; i++) {
        const named_file in = {i < operands ? "an argument" : "an experiment file",
                               i < operands ? given->items[i + 1] : runs->items[i - operands].file};
        rc = named_files_check(&in, 1, &out, 1, err);
    }
    return rc;
}

// ---- Resolved runs ----

static void put(yaml_node *to, const char *key, char *text) {
    yaml_put(to, key, yaml_new_string(text));
    free(text);
}

static void describe_seed(const pipeline *p, const planned_seed *s, yaml_node *seeds) {
    yaml_node *one = yaml_new(YAML_MAPPING);
    yaml_append(seeds, one);
    yaml_put(one, "seed", yaml_new_integer((int64_t)s->seed));
    put(one, "link", memory_format("%s/%s", p->artifacts, s->place));
    if (!*s->key) return;
    put(one, "key", memory_string(s->key));
    put(one, "run", store_folder(p->artifacts, s->key));
}

static void describe(const pipeline *p, const planned_run *r) {
    yaml_node *seeds = yaml_new(YAML_SEQUENCE);
    yaml_put(r->entry, "seeds", seeds);
    yaml_put(r->entry, "tool", yaml_new_string(r->tool));
    yaml_put(r->entry, "train", yaml_new_string(r->train));
    yaml_put(r->entry, "test", yaml_new_string(r->test));
    for (size_t i = 0; i < r->seed_count; i++) describe_seed(p, &r->seeds[i], seeds);
}

static void print_trainings(const pipeline *p, const planned_runs *runs) {
    for (size_t i = 0; i < runs->count; i++) {
        const planned_run *r = &runs->items[i];
        for (size_t k = 0; k < r->seed_count; k++) {
            const planned_seed *s = &r->seeds[k];
            printf("%s/%s\t%s\t%s\t%llu\t%s\n", p->artifacts, s->place, r->tool, r->train,
                   (unsigned long long)s->seed, *s->key ? s->key : "-");
        }
    }
}

static status write_plan(const options *o, const pipeline *p, const planned_runs *runs,
                         error *err) {
    char *lines = plan_lines(runs->plan), *yaml = NULL;
    size_t bytes;
    status rc = STATUS_OK;
    for (size_t i = 0; i < runs->count; i++) describe(p, &runs->items[i]);
    TRY(yaml_write_text(runs->plan, &yaml, &bytes, err));
    if (o->out) TRY(output_write_file(o->out, yaml, bytes, err));
    log_reasons(p->log, runs->plan);
    if (o->json)
        rc = json_print(runs->plan, err);
    else if (o->trainings)
        print_trainings(p, runs);
    else
        fputs(lines, stdout);
out:
    free(lines);
    free(yaml);
    return rc;
}

static status run_tool(void *options_of_main, const cli_call *call, error *err) {
    const options *o = options_of_main;
    const cli_list *given = call->operands;
    settings s = {0};
    pipeline p = {.log = call->log, .settings = &s, .find_tool = train_tools_find, .work.lock = -1};
    planned_runs runs = {0};
    const char *artifacts = o->artifacts ? o->artifacts : getenv("ARTIFACTS");
    status rc;
    TRY(read_settings(o, given, &s, err));
    TRY(pipeline_open(&p, NULL, artifacts && *artifacts ? artifacts : NULL, err));
    TRY(command_plan_make(&p, &runs, err));
    TRY(check_is_study(given, &runs, err));
    TRY(check_out(o->out, given, &runs, err));
    TRY(resolve_keys(&p, &runs, s.command == COMMAND_COMPARE, err));
    TRY(write_plan(o, &p, &runs, err));
out:
    planned_runs_release(&runs);
    pipeline_release(&p);
    settings_release(&s);
    return rc;
}

int main(int argc, char **argv) {
    static const cli_word known[] = {{"ladder", "EXPERIMENT", NULL},
                                     {"study", "EXPERIMENT", NULL},
                                     {"reproduction", "FILE", NULL},
                                     {"runs", "EXPERIMENT", NULL},
                                     {0}};
    options o = {0};
    const cli_option table[] = {
        {"set", CLI_LIST, &o.set, "KEY=VALUE", "replace a value in every experiment", 0, 0},
        {"out", CLI_STRING, &o.out, "FILE", "also write the plan as YAML", 0, 0},
        {"json", CLI_FLAG, &o.json, NULL, "print the plan as one line of JSON", 0, 0},
        {"trainings", CLI_FLAG, &o.trainings, NULL, "print one line per training run", 0, 0},
        {"artifacts", CLI_STRING, &o.artifacts, "DIR",
         "folder of all outputs (default: $ARTIFACTS, or artifacts)", 0, 0},
        {"data", CLI_STRING, &o.data, "DIR", "your own data, like make's DATA", 0, 0},
        {"device", CLI_STRING, &o.device, "DEVICE", "training device, like make's DEVICE", 0, 0},
        {"quick", CLI_FLAG, &o.quick, NULL, "shorten a reproduction", 0, 0},
        {0}};
    const cli_tool tool = {
        .name = "plan",
        .usage = "ladder A B [--set KEY=VALUE]... [--out PLAN.yaml]\n"
                 "study STUDY [--set KEY=VALUE]... [--out PLAN.yaml]\n"
                 "reproduction LIST.yaml [--quick] [--set KEY=VALUE]... [--out PLAN.yaml]\n"
                 "runs A... [--set KEY=VALUE]... [--out PLAN.yaml]",
        .options = table,
        .notes = NOTES,
        .operands_min = 2,
        .operands_max = 10000,
        .words = known,
        .answer = experiment_answer_option,
    };
    const int code = cli_main(&tool, argc, argv, run_tool, &o);
    cli_list_release(&o.set);
    return code;
}
