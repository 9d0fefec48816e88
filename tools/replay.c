// SPDX-License-Identifier: MIT
// replay - proof by replay: trains random parts of a finished run again and compares the results.
#include "submission/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/tool_list.h"
#include "compute/devices.h"

enum { DEFAULT_SEGMENTS = 3, EXIT_DIFFERENT = 4 };

typedef struct arguments {
    const char *train, *init;
    replay_settings how;
    int64_t segments, seed; // seed -1: a random one
    size_t different;       // the result: segments that differ, and the model
} arguments;

static const char NOTES[] =
    "RUN is the folder of a run that was trained with --keep-states N: the files\n"
    "states/*.st.zst cut it into N segments. replay chooses K of them at random,\n"
    "trains each again from the state before it, and compares loss and weights after\n"
    "every step, and the state after it, bit for bit. Any tool, device and number of\n"
    "ranks and threads will do, on any machine. The model is compared with the last\n"
    "state and, if the last segment is chosen, with the one trained again.\n"
    "\n"
    "Equal segments show that the model is what this experiment gives on these data.\n"
    "They show neither who trained it nor how long it took.\n"
    "\n"
    "Example:\n"
    "  train-single --experiment single --train train.st.zst --out run \\\n"
    "      --keep-states 40\n"
    "  replay run --segments 3\n"
    "\n"
    "Exit codes: 0 equal; 1 failed; 2 usage; 3 input refused; 4 different.";

// Who trained the run must not know which segments will be chosen.
static status choose_seed(arguments *a, error *err) {
    uint64_t drawn = 0;
    if (a->seed >= 0) return STATUS_OK;
    status rc = replay_draw_seed(&drawn, err);
    a->seed = (int64_t)drawn;
    return rc;
}

static void print_difference(const replay_difference *d) {
    char where[REPLAY_TEXT_BYTES];
    replay_describe(d, where);
    if (d->differs)
        printf("different, %s\n", where);
    else
        puts("equal");
}

static void print_probabilities(const replay *r, size_t chosen) {
    const size_t forged[] = {1, (r->count + 9) / 10, (r->count + 1) / 2};
    printf("probability of finding a forgery:");
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        if (i && forged[i] == forged[i - 1]) continue;
        printf("%s %.3g %% in %zu%s", i ? "," : "",
               100 * replay_probability(r->count, chosen, forged[i]), forged[i],
               i ? "" : " segment");
    }
    printf(" of %zu\n", r->count);
}

static void print_model(const replay *r, const replay_difference *d, bool segments_equal) {
    if (d->differs)
        printf("the model is not that of the last state: '%s' differs\n", d->tensor);
    else if (segments_equal)
        puts(replay_describe_model(r));
}

static status replay_all(const replay *r, arguments *a, error *err) {
    replay_difference model;
    size_t chosen = 0;
    uint64_t steps = 0;
    status rc = replay_compare_model(r, &model, err);
    if (rc != STATUS_OK) return rc;
    for (size_t i = 0; i < r->count; i++) {
        const replay_part *part = &r->segments[i];
        replay_difference difference;
        if (!part->chosen) continue;
        printf("segment %zu of %zu: steps %" PRIu64 " to %" PRIu64 ": ", i + 1, r->count,
               part->first + 1, part->end);
        fflush(stdout);
        rc = replay_segment(r, i, &a->how, &difference, err);
        if (rc != STATUS_OK) {
            puts("not compared");
            return rc;
        }
        print_difference(&difference);
        a->different += difference.differs;
        chosen++;
        steps += part->end - part->first;
    }
    printf("%zu of %zu segments trained again, %.3g %% of the steps: %s\n", chosen, r->count,
           100 * (double)steps / (double)r->steps, a->different ? "different" : "equal");
    print_model(r, &model, !a->different);
    a->different += model.differs;
    if (!a->different) print_probabilities(r, chosen);
    printf("chosen by --seed %" PRId64 "\n", a->seed);
    return STATUS_OK;
}

static status check(const arguments *a, error *err) {
    static const char *const tools[] = {"train-single", "train-dp", "train-ddp", "train-mp"};
    devices ignored;
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (strcmp(a->how.tool, tools[i]) == 0)
            return a->how.device ? devices_parse(&ignored, a->how.device, err) : STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "bad option value: '--tool': expected train-single, train-dp, train-ddp or "
                     "train-mp, got '%s'",
                     a->how.tool);
}

static status run(void *arguments_of_main, const cli_call *call, error *err) {
    arguments *a = arguments_of_main;
    char bin[PATH_MAX];
    replay r = {0};
    status rc;
    TRY(check(a, err));
    TRY(tool_folder(bin, err));
    a->how.bin = bin;
    TRY(choose_seed(a, err));
    TRY(replay_open(&r, call->operands->items[0], a->train, a->init, err));
    TRY(replay_check_device(&r, a->how.device, err));
    TRY(replay_check_files(&r, err));
    replay_choose(&r, (size_t)a->segments, (uint64_t)a->seed);
    rc = replay_all(&r, a, err);
out:
    replay_release(&r);
    return rc;
}

int main(int argc, char **argv) {
    arguments a = {.how.tool = "train-single", .segments = DEFAULT_SEGMENTS, .seed = -1};
    const cli_option options[] = {
        {"segments", CLI_INTEGER, &a.segments, "K", "segments to train again (default 3)", 1,
         INT32_MAX},
        {"seed", CLI_INTEGER, &a.seed, "S", "choose the segments by this seed (default: random)", 0,
         INT64_MAX},
        {"train", CLI_STRING, &a.train, "FILE|DIR",
         "training data (default: where the run's manifest has them)", 0, 0},
        {"init", CLI_STRING, &a.init, "MODEL", "the checkpoint that the run started from, if any",
         0, 0},
        {"tool", CLI_STRING, &a.how.tool, "TOOL", "the train tool to use (default train-single)", 0,
         0},
        {"device", CLI_STRING, &a.how.device, "auto|cpu|cuda|LIST",
         "devices, as in the train tools (default cpu; cuda for a run with --math fast)", 0, 0},
        {"threads", CLI_STRING, &a.how.threads, "N", "threads per rank", 0, 0},
        {"world-size", CLI_STRING, &a.how.world_size, "W", "ranks, replicas or stages", 0, 0},
        {"loader-workers", CLI_STRING, &a.how.loader_workers, "N", "threads that prepare batches",
         0, 0},
        {0},
    };
    const cli_tool tool = {
        .name = "replay",
        .usage = "RUN [--segments K] [--seed S] [OPTION]...",
        .options = options,
        .notes = NOTES,
        .operands_min = 1,
        .operands_max = 1,
    };
    const int code = cli_main(&tool, argc, argv, run, &a);
    return code == 0 && a.different ? EXIT_DIFFERENT : code;
}
