// SPDX-License-Identifier: MIT
// time-runs: times commands against each other, on a machine that others may use, too.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cli.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/output_folder.h"
#include "base/signals.h"
#include "report/notes.h"
#include "timing/time_runs.h"

enum { BITS = 1 };

typedef struct arguments {
    const char *out;
    double precision, limit;
    bool whole, print_key;
} arguments;

static const char NOTES[] =
    "A COMMAND is that of a train tool, in quotes, without --out; the shell runs it.\n"
    "All trainings run together and take turns of 0.05 s, or 0.5 s with several\n"
    "threads or ranks: a step ends before the next training goes on, and everything\n"
    "of the others rests. So load, frequency and neighbours meet them alike, and\n"
    "each is compared with those next to it in time. Those that differ in threads,\n"
    "ranks or loader workers are compared only while no other program wants a core;\n"
    "it waits for such moments. Their models do not depend on it, and are not\n"
    "written.\n"
    "\n"
    "It starts all of them anew at least six times (three with a precision of 5 or\n"
    "more), and until the 95 % interval of each ratio is as narrow as --precision\n"
    "asks, or a tenth of the difference, or --limit is over.\n"
    "\n"
    "With --whole, a turn is one run of a command, from its start to its end, and a\n"
    "COMMAND may be any: a training behind a launcher (mpirun -n 4 train-ddp ...), or\n"
    "another program. If all are trainings, the time of an epoch counts, else that of\n"
    "the run. Output of the commands is discarded.\n"
    "\n"
    "With --out DIR, turns.st.zst has the time of every step, and manifest.yaml is\n"
    "for report --turns DIR. After Ctrl-C the same command goes on.\n"
    "\n"
    "Examples:\n"
    "  train='train-single --experiment single --train data/train.st.zst'\n"
    "  lockstep time-runs \"$train --threads 1\" \"$train --threads 2\"\n"
    "  lockstep time-runs \"$train\" \"old/bin/$train\"\n"
    "  lockstep time-runs --whole \"python a.py\" \"python b.py\"\n"
    "\n"
    "Exit codes: 0 done; 1 a training failed; 2 usage; 3 input refused; 5 stopped by\n"
    "SIGTERM or SIGUSR1.";

// ---- What is said ----

// Fills comparisons of the arms from the second on with the first one.
static void compare_with_first(const timing *t, comparison *c) {
    static const seed_group nameless = {.name = ""};
    for (size_t a = 1; a < t->count; a++) {
        c[a].subject = c[a].baseline = &nameless;
        compare_arms(&t->evidence, a, 0, 1, &c[a]);
        c[a].accuracy = verdict_none(MISSING_TEST_DATA);
    }
}

static void print_arm(const timing *t, size_t a, const char *said) {
    const double seconds = turn_fit_seconds(turn_evidence_shown(&t->evidence), a).value;
    if (t->by_epochs)
        printf("%-4zu %12.1f  %s\n", a + 1, 1 / seconds, said);
    else
        printf("%-4zu %12.3f  %s\n", a + 1, seconds, said);
}

static status print_arms(const timing *t, const comparison *c, page_templates *words, error *err) {
    printf("%-4s %12s  %s\n", "arm", t->by_epochs ? "samples/s" : "seconds", "against arm 1");
    status rc = STATUS_OK;
    for (size_t a = 0; rc == STATUS_OK && a < t->count; a++) {
        text said = {0};
        if (a) rc = notes_say(words, "verdict.time", &c[a], &said, err);
        if (rc == STATUS_OK) print_arm(t, a, text_string(&said));
        text_release(&said);
    }
    return rc;
}

static status answer(const timing *t, page_templates *words, error *err) {
    comparison *c = memory_new(t->count, sizeof *c);
    compare_with_first(t, c);
    compare_table(c + 1, t->count - 1);
    const status rc = print_arms(t, c, words, err);
    free(c);
    return rc;
}

// ---- The tool ----

static status work(void *argument, const cli_call *call, error *err) {
    const arguments *a = argument;
    manifest m = {0};
    timing t = {0};
    page_templates *words = NULL;
    output_folder folder = {0};
    const time_options o = {.commands = call->operands->items,
                            .count = call->operands->count,
                            .out = a->out,
                            .precision = a->precision / 100,
                            .whole = a->whole,
                            .limit = a->limit > 0 ? a->limit : 60 * (double)call->operands->count,
                            .log = call->log};
    status rc;
    TRY(manifest_begin(&m, "time-runs", BITS, call->argc, call->argv, err));
    signals_watch();
    if (a->print_key) {
        rc = time_runs_key(&o, &m, err);
        goto out;
    }
    if (a->out) {
        TRY(manifest_check_folder(&m, a->out, err));
        TRY(output_check_folder(a->out, call->log, err));
        TRY(output_folder_open(a->out, call->log, &folder, err));
    }
    TRY(page_templates_open(&words, "en", NULL, err));
    rc = time_runs(&o, &m, &t, err);
    if (rc == STATUS_OK)
        rc = answer(&t, words, err);
    else if (rc == STATUS_STOPPED && t.log.execution_count)
        (void)!answer(&t, words, NULL); // what is known so far
out:
    page_templates_close(words);
    timing_release(&t);
    output_folder_close(&folder, rc);
    manifest_release(&m);
    return rc;
}

int main(int argc, char **argv) {
    arguments a = {.precision = 1};
    const cli_option options[] = {
        {"out", CLI_STRING, &a.out, "DIR", "folder for the turns and the manifest", 0, 0},
        {"precision", CLI_NUMBER, &a.precision, "PERCENT",
         "half the width of the interval that is wanted; 0: until --limit (default: 1)", 0, 100},
        {"limit", CLI_NUMBER, &a.limit, "SECONDS",
         "stop after this time, however wide it is (default: 60 for each command)", 0, INT64_MAX},
        {"whole", CLI_FLAG, &a.whole, NULL, "a turn is a whole run of a command, which may be any",
         0, 0},
        {"print-key", CLI_FLAG, &a.print_key, NULL, "print the stage key and exit", 0, 0},
        {NULL, CLI_FLAG, NULL, NULL, NULL, 0, 0},
    };
    const cli_tool tool = {.name = "time-runs",
                           .usage = "[OPTION]... COMMAND COMMAND...",
                           .options = options,
                           .notes = NOTES,
                           .operands_min = 2,
                           .operands_max = 64};
    const int code = cli_main(&tool, argc, argv, work, &a);
    if (code == STATUS_STOPPED && signals_pending() == SIGINT) signals_end_process(SIGINT);
    return code;
}
