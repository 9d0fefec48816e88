// SPDX-License-Identifier: MIT
#include "report/report_tool.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/output_folder.h"
#include "base/printable.h"
#include "report/notes.h"
#include "report/page_templates.h"
#include "report/report.h"
#include "results/check.h"
#include "results/inputs.h"
#include "results/recall.h"
#include "results/verify_figures.h"
#include "results/why.h"

// Raised when equal inputs give a different report than before.
enum { REPORT_BITS = 13 };

typedef struct options {
    const char *out, *baseline, *why, *check, *plan, *collectives, *test;
    cli_list turns;
    report_options page;
    bool answer, summary, json, print_key;
} options;

static const char NOTES[] =
    "A DIR is a folder that a train tool or evaluate wrote, a folder that contains\n"
    "both (train/, evaluate/), a folder of such folders numbered 1, 2, 3 (executions\n"
    "of one run), or an experiment folder of seed-* folders. Runs with the same key\n"
    "count as one: their times are pooled if they were executed under the same\n"
    "conditions. Different runs of one experiment are called by their folders or\n"
    "seeds. --out writes report.html, report.md, report.json, report.csv, figures/\n"
    "and manifest.yaml, and report.tex if pandoc is installed; --why, --check,\n"
    "--answer and --summary also work without it.\n"
    "\n"
    "--why FIGURE explains a figure: how it is computed, from which files, and where\n"
    "their inputs came from. Its DIR may be the folder of a report, or a file in it:\n"
    "its manifest records the runs. Without one, it is the current folder. Paths are\n"
    "then printed as from the folder in which the report was made.\n"
    "\n"
    "--json prints {\"why\": [line], \"answer\": [line], \"summary\": [line],\n"
    "\"check\": [{\"figure\", \"value\", \"low\", \"high\", \"inside\"}]}, with the keys of the\n"
    "given options.\n"
    "\n"
    "Exit codes: 0 done; 1 failed; 2 usage, or an unknown figure; 3 a folder is not a\n"
    "finished run, or is not in the plan; 4 a figure is outside its band, or differs\n"
    "from the run's files; --why finds a file other than the recorded one; or\n"
    "executions of one run ended in different models.\n"
    "\n"
    "Example:\n"
    "  report artifacts/ddp4/seed-42 --baseline artifacts/single/seed-42 --out cmp\n"
    "  report cmp --why ddp4.speedup";

// ---- Its options ----

typedef struct option_rows {
    cli_option rows[20];
} option_rows;

static option_rows rows_of(options *o) {
    return (option_rows){{
        {"out", CLI_STRING, &o->out, "DIR", "output folder of the report", 0, 0},
        {"baseline", CLI_STRING, &o->baseline, "DIR", "run or runs to compare all others with", 0,
         0},
        {"plan", CLI_STRING, &o->plan, "FILE", "names and purpose of the runs", 0, 0},
        {"answer", CLI_FLAG, &o->answer, NULL, "print the answer to the question of --plan", 0, 0},
        {"summary", CLI_FLAG, &o->summary, NULL, "print one line per run", 0, 0},
        {"figures", CLI_STRING, &o->page.figures, "DIR", "additional folder for the drawings", 0,
         0},
        {"collectives", CLI_STRING, &o->collectives, "DIR",
         "output of bench-allreduce: also predict scaling", 0, 0},
        {"turns", CLI_LIST, &o->turns, "DIR",
         "output of time-runs: times of runs that took turns; may be given several times", 0, 0},
        {"test", CLI_STRING, &o->test, "FILE",
         "test data, if they were moved: for the pictures of wrong predictions", 0, 0},
        {"title", CLI_STRING, &o->page.head.title, "TEXT", "title of the report", 0, 0},
        {"author", CLI_STRING, &o->page.head.author, "TEXT", "author of the report", 0, 0},
        {"student", CLI_STRING, &o->page.head.student, "TEXT", "the author's student number", 0, 0},
        {"discussion", CLI_STRING, &o->page.discussion, "FILE",
         "the author's own text, in Markdown: headings, lists, emphasis, code", 0, 0},
        {"template", CLI_STRING, &o->page.templates, "DIR",
         "own templates: page.md and others in it replace those of the same name", 0, 0},
        {"lang", CLI_STRING, &o->page.head.language, "en|zh", "language of the report", 0, 0},
        {"why", CLI_STRING, &o->why, "FIGURE", "explain a figure, given by its id in report.csv", 0,
         0},
        {"check", CLI_STRING, &o->check, "BANDS", "check figures against a file of bands", 0, 0},
        {"json", CLI_FLAG, &o->json, NULL, "print answers as one line of JSON", 0, 0},
        {"print-key", CLI_FLAG, &o->print_key, NULL, "print the stage key and exit", 0, 0},
    }};
}

static cli_tool tool_of(const option_rows *o) {
    return (cli_tool){
        .name = "report",
        .usage = "DIR... --out DIR [--baseline DIR] [--lang en|zh] [--title TEXT] [--author TEXT]\n"
                 "DIR... --out DIR --collectives DIR\n"
                 "DIR... --out DIR --baseline DIR --turns DIR...\n"
                 "DIR... --plan FILE {--out DIR | --answer | --summary}\n"
                 "{DIR... | REPORT} --why FIGURE\n"
                 "DIR... --check BANDS",
        .options = o->rows,
        .notes = NOTES,
        .operands_max = 100000,
    };
}

static results_options inputs_of(const options *o, const cli_list *folders, const logger *log) {
    return (results_options){.folders = folders->items,
                             .folder_count = folders->count,
                             .baseline = o->baseline,
                             .plan = o->plan,
                             .log = log,
                             .collectives = o->collectives,
                             .turns = o->turns.items,
                             .turns_count = o->turns.count,
                             .test = o->test};
}

// ---- Answers ----

// `how`: the question, or the language of the answer.
static status print(status (*answer)(const results *, const char *, text *, error *),
                    const results *r, const char *how, FILE *answers, error *err) {
    text out = {0};
    status rc = answer(r, how, &out, err);
    if (out.data) out.length = printable(out.data, false);
    if (rc == STATUS_OK || rc == STATUS_FINDING) fputs(text_string(&out), answers);
    text_release(&out);
    return rc;
}

// ---- The same for --json: one object, {"why": [line], "answer": [line], "check": [{...}]} ----

static status put_lines(status (*answer)(const results *, const char *, text *, error *),
                        const results *r, const char *how, const char *key, yaml_node *object,
                        error *err) {
    text out = {0};
    status rc = answer(r, how, &out, err);
    if (rc == STATUS_OK || rc == STATUS_FINDING)
        yaml_put(object, key, json_new_lines(text_string(&out)));
    text_release(&out);
    return rc;
}

static status put_check(const results *r, const char *path, yaml_node *object, error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    status rc = results_check_list(r, path, list, err);
    if (rc == STATUS_OK || rc == STATUS_FINDING)
        yaml_put(object, "check", list);
    else
        yaml_free(list);
    return rc;
}

// Answers every question, even if an earlier answer is a finding; returns the last finding.
static status print_json(const results *r, const options *o, error *err) {
    const char *language = o->page.head.language;
    status rc = STATUS_OK, found = STATUS_OK;
    yaml_node *object = yaml_new(YAML_MAPPING);
    for (int i = 0; i < 4 && (rc == STATUS_OK || rc == STATUS_FINDING); i++) {
        rc = STATUS_OK;
        if (i == 0 && o->why) rc = put_lines(results_why, r, o->why, "why", object, err);
        if (i == 1 && o->answer) rc = put_lines(report_answer, r, language, "answer", object, err);
        if (i == 2 && o->summary)
            rc = put_lines(report_summary, r, language, "summary", object, err);
        if (i == 3 && o->check) rc = put_check(r, o->check, object, err);
        if (rc == STATUS_FINDING) found = rc;
    }
    if (rc == STATUS_OK || rc == STATUS_FINDING) rc = json_print(object, err);
    yaml_free(object);
    return rc == STATUS_OK ? found : rc;
}

// Removes the old manifest first and writes the new one last, and only if the figures are inside
// their bands: a folder with a manifest is complete and was checked.
static status make_report(const results *r, const options *o, const cli_call *call, manifest *m,
                          error *err) {
    output_folder folder = {0};
    status rc;
    TRY(output_folder_open(o->out, call->log, &folder, err));
    TRY(manifest_remove_old(m, o->out, err));
    TRY(report_write(r, &o->page, o->out, m, err));
    if (o->check) TRY(print(results_check, r, o->check, call->answers, err));
    TRY(manifest_write_in(m, o->out, err));
out:
    output_folder_close(&folder, rc);
    return rc;
}

static status check_options(const options *o, error *err) {
    const status rc = page_language_check(o->page.head.language, err);
    if (rc != STATUS_OK) return rc;
    if (o->answer && !o->plan) return error_set(err, STATUS_USAGE, "--answer requires --plan");
    if (o->page.figures && !o->out)
        return error_set(err, STATUS_USAGE,
                         "--figures requires --out: its manifest lists the drawings");
    if (!o->out && !o->why && !o->check && !o->answer && !o->summary && !o->print_key)
        return error_set(err, STATUS_USAGE, "--out DIR is missing");
    if (o->json && (o->out || !(o->why || o->check || o->answer || o->summary)))
        return error_set(
            err, STATUS_USAGE,
            "--json requires --why, --check, --answer or --summary, and excludes --out");
    return STATUS_OK;
}

// The runs of a report, if the only DIR is one, with the options that it was made with. Its own
// paths are relative to the folder that it was made in, where the work goes on.
static status recall(const cli_list *operands, const options *o, options *made, recalled *of,
                     error *err) {
    const bool asks = o->why && !o->out && !o->plan && !o->baseline && !o->check && !o->turns.count;
    const option_rows rows = rows_of(made);
    const cli_tool tool = tool_of(&rows);
    if (operands->count > 1 || (operands->count && !asks)) return STATUS_OK;
    if (asks)
        NEED(recall_report(operands->count ? operands->items[0] : ".", &tool, &made->out, of, err));
    if (!of->found && !operands->count)
        return error_set(err, STATUS_USAGE,
                         "missing arguments: expected the folders of runs%s (see 'report --help')",
                         asks ? ", or of a report: report artifacts/EXP/report --why FIGURE" : "");
    if (of->found && chdir(of->base) != 0)
        return error_system(err, STATUS_INPUT, errno, "cannot enter '%s'", of->base);
    return STATUS_OK;
}

static status run_tool(void *options_of_main, const cli_call *call, error *err) {
    const options *o = options_of_main;
    options made = {0};
    results r = {0};
    recalled of = {0};
    manifest m = {0};
    status rc;
    TRY(recall(call->operands, o, &made, &of, err));
    TRY(check_options(o, err));
    const results_options ro =
        inputs_of(of.found ? &made : o, of.found ? &of.folders : call->operands,
                  o->print_key ? NULL : call->log);
    TRY(results_open(&r, &ro, err));
    TRY(error_status(err)); // failures that no call returned
    TRY(manifest_begin(&m, "report", REPORT_BITS, call->argc, call->argv, err));
    TRY(report_record(&r, &o->page, &m, err));
    if (o->plan) TRY(inputs_add_file(&m, o->plan, err));
    // With other bands the report is made and checked again.
    if (o->check) TRY(inputs_add_file(&m, o->check, err));
    if (o->print_key) {
        rc = manifest_print_key(&m, call->answers, err);
        goto out;
    }
    TRY(notes_write(&r.figures, err));
    // The findings of --why are printed in full, and not cut short by a refusal.
    if (o->out || o->check || o->answer || o->summary) TRY(verify_figures_of_results(&r, err));
    if (o->json) {
        rc = print_json(&r, o, err);
        goto out;
    }
    if (o->why) TRY(print(results_why, &r, o->why, call->answers, err));
    if (o->summary) TRY(print(report_summary, &r, o->page.head.language, call->answers, err));
    if (o->answer) TRY(print(report_answer, &r, o->page.head.language, call->answers, err));
    if (o->out)
        rc = make_report(&r, o, call, &m, err);
    else if (o->check)
        rc = print(results_check, &r, o->check, call->answers, err);
out:
    manifest_release(&m);
    results_release(&r);
    recall_release(&of);
    cli_list_release(&made.turns);
    return rc;
}

status report_tool(int argc, char **argv, FILE *answers, error *err) {
    options o = {.page.head.language = "en"};
    const option_rows rows = rows_of(&o);
    const cli_tool tool = tool_of(&rows);
    const status rc = cli_run(&tool, argc, argv, answers, run_tool, &o, err);
    cli_list_release(&o.turns);
    return rc;
}
