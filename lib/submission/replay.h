// SPDX-License-Identifier: MIT
// replay.h - proof by replay: trains random parts of a finished run again and compares the results.
//
// A run with --keep-states N holds the states between its N segments. The state before a segment,
// the experiment and the data determine the state after it, bit for bit, on any machine. So one who
// was given the run can train any segment again, and a run that was not trained as it says cannot
// know which one.
//
//     replay r = {0};
//     replay_open(&r, "artifacts/single/seed-42", NULL, NULL, err); // reads the manifest and the
//     states replay_check_files(&r, err);                                  // without training
//     replay_compare_model(&r, &difference, err);                   // likewise
//     replay_choose(&r, 3, seed);                                   // 3 of r.count segments
//     for (size_t i = 0; i < r.count; i++)
//         if (r.segments[i].chosen) replay_segment(&r, i, &how, &difference, err);
//     replay_release(&r);
#ifndef LOCKSTEP_SUBMISSION_REPLAY_H
#define LOCKSTEP_SUBMISSION_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/yaml_tree.h"
#include "data/tensor/tensor_file.h"

typedef struct replay_part {
    uint64_t first, end; // steps [first, end) of the run, from 0
    char *ends;          // the state after it, with which the next segment begins
    bool chosen;
} replay_part;

typedef struct replay {
    char *folder; // of the training
    yaml_node *manifest;
    char *data, *init; // --train, by default as in the manifest, and --init; NULL: none
    replay_part *segments;
    size_t count;
    uint64_t steps; // of the run
} replay;

// How to train. Any tool, devices, number of ranks and threads give the same bits.
typedef struct replay_settings {
    const char *bin;                                   // the folder of the tools
    const char *tool;                                  // "train-single"
    const char *device;                                // "cuda"; NULL: as stage_add_devices
    const char *threads, *world_size, *loader_workers; // options of the tool; NULL: its default
} replay_settings;

// Where a segment, or the model, differs.
typedef struct replay_difference {
    bool differs;
    uint64_t step;    // from 1: the first step after which loss or weights differ; 0: no step
    uint64_t end;     // the step after which the tensors were compared
    bool model;       // they are those of the model; else of the state
    char tensor[256]; // the first one that differs; "": none does
} replay_difference;

enum { REPLAY_TEXT_BYTES = 448 };

// Reads the manifest of a finished training in `folder`, or in its subfolder `train`, and the
// headers of its states. `data` replaces the training data that the manifest names; it may be NULL.
// `init` is the checkpoint that the run started from; NULL: none.
// STATUS_INPUT if it is no such run, has no states, or its bits depend on more than the experiment
// (--reduce fast, several kinds of devices). Release `r` even after a failure.
status replay_open(replay *r, const char *folder, const char *data, const char *init,
                   error *err) MUST_CHECK;
void replay_release(replay *r);

// Reads an output of the run. STATUS_INPUT if its content is not the one that the manifest records.
status replay_read_output(const replay *r, const char *path, tensor_file *f, error *err) MUST_CHECK;

// Compares what needs no training: the files with the hashes in the manifest, and the steps in each
// state with steps.st.zst. STATUS_INPUT, naming the file and the step, at the first contradiction.
status replay_check_files(const replay *r, error *err) MUST_CHECK;

// Compares the model with the last state, whose tensors it has, without training. STATUS_INPUT if
// its content is not the one in the manifest. What the model has beside tensors (normalisation,
// classes) is compared when the last segment is trained again.
status replay_compare_model(const replay *r, replay_difference *difference, error *err) MUST_CHECK;

// Writes where it differs: "first at step 12, and after step 14 in tensor 'conv1.weight'".
void replay_describe(const replay_difference *difference, char text[REPLAY_TEXT_BYTES]);
// Returns what the chosen segments show of a model that did not differ.
const char *replay_describe_model(const replay *r);

// STATUS_USAGE if these devices cannot give the bits of the run: those of --math fast are of GPUs.
status replay_check_device(const replay *r, const char *device, error *err) MUST_CHECK;

// Chooses `wanted` segments (all, if there are no more), each set of that size with the same
// probability. Who trained the run must not know the seed in advance.
void replay_choose(replay *r, size_t wanted, uint64_t seed);

// Draws a seed from the system's random numbers.
status replay_draw_seed(uint64_t *seed, error *err) MUST_CHECK;

// Trains segment `at` again, in a temporary folder, and compares its last state (the last segment:
// also its model) with the run's.
status replay_segment(const replay *r, size_t at, const replay_settings *how,
                      replay_difference *difference, error *err) MUST_CHECK;

// Returns the probability that `chosen` random segments of `count` include one of `forged` ones.
double replay_probability(size_t count, size_t chosen, size_t forged);

#endif
