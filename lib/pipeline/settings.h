// SPDX-License-Identifier: MIT
// settings.h - the settings of a pipeline call: NAME=VALUE words, as on make's command line, or
// environment variables.
//
// A word overrides the environment. JOBS is not taken from there, and TIME only if it is 0 or 1:
// they have other meanings there. An empty value counts as not given. An unknown name is an error
// that suggests the nearest one, and so is a setting of another command: otherwise a misspelt
// setting would train the default for an hour.
#ifndef LOCKSTEP_PIPELINE_SETTINGS_H
#define LOCKSTEP_PIPELINE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hint.h"
#include "base/strvec.h"
#include "data/source/dataset_list.h"

typedef enum pipeline_command {
    COMMAND_EXPERIMENT,
    COMMAND_COMPARE,
    COMMAND_EXPLAIN,
    COMMAND_REPRODUCE,
    COMMAND_SUBMISSION,
    COMMAND_VERIFY,
    COMMAND_GRADE,
    COMMAND_RUNS,
    COMMAND_CLEAN_RUNS,
    COMMANDS
} pipeline_command;

typedef enum setting {
    SETTING_EXP,
    SETTING_EXPS,
    SETTING_A,
    SETTING_B,
    SETTING_LIST,
    SETTING_RUNS,
    SETTING_SUBMISSION,
    SETTING_SUBMISSIONS,
    SETTING_OLDER,
    SETTING_YES,
    SETTING_QUICK,
    SETTING_SEED,
    SETTING_EPOCHS,
    SETTING_SET,
    SETTING_DEVICE,
    SETTING_MATH,
    SETTING_THREADS,
    SETTING_STATES,
    SETTING_TENSORBOARD,
    SETTING_SEGMENTS,
    SETTING_TIME_LIMIT,
    SETTING_CSV,
    SETTING_RUBRIC,
    SETTING_LAUNCHER,
    SETTING_PRECISION,
    SETTING_WHOLE,
    SETTING_TIME,
    SETTING_JOBS,
    SETTING_RESUME,
    SETTING_DATA,
    SETTING_SOURCES, // of each data set's files: CIFAR10_FROM, …, in the order of dataset_list
    SETTING_REPORT_FLAGS = SETTING_SOURCES + DATASETS,
    SETTING_MODEL_LIMIT,
    SETTING_DRY_RUN,
    SETTING_ARTIFACTS,
    SETTINGS
} setting;

// Which runs are timed.
typedef enum time_setting {
    TIME_IF_DUE, // TIME is not given: those that are compared; of a study, if a value changes speed
    TIME_NOTHING, // 0
    TIME_ALL      // 1: those of a study, whatever varies
} time_setting;

typedef struct settings {
    pipeline_command command;
    const char *values[SETTINGS]; // NULL: not given; borrowed from the words or the environment
    // Experiments in the order given: from EXP, EXPS, A and B, LIST, or RUNS; archives, from
    // SUBMISSION or SUBMISSIONS; or words without '='.
    strvec names;
    strvec assignments; // for --set: from SET, EPOCHS and SEED, in this order
    strvec report_flags;
    bool resume; // false with RESUME=0
    bool quick, dry_run, yes;
    bool whole; // runs take turns of whole trainings
    time_setting time;
    int64_t jobs;        // trainings at the same time
    int64_t older;       // seconds; 0: not given
    int64_t model_limit; // MiB
    int64_t segments;    // of each run, to train again
    int64_t time_limit;  // seconds
} settings;

// Reads the settings. STATUS_USAGE for an unknown word or a bad value, or if names that the command
// needs are missing.
status settings_read(settings *s, pipeline_command command, const char *const *given, size_t count,
                     error *err) MUST_CHECK;
void settings_release(settings *s);
// Returns the language among REPORT_FLAGS, in which reports are written.
const char *settings_language(const settings *s);

// For cli_tool.answer: "did you mean EPOCHS=1?".
void settings_answer_option(const char *name, const char *value, char text[HINT_BYTES]);

// What is typed before a command's name, for messages: "make", or "lockstep" if that was typed.
const char *settings_front(void);
// A command's name, a line on it for --help, without a full stop, and the words that it needs, for
// the message if they are missing, too: "EXP=NAME".
typedef struct pipeline_command_words {
    const char *name, *summary, *call;
} pipeline_command_words;
extern const pipeline_command_words settings_commands[COMMANDS];
// Finds the command of that name. STATUS_USAGE, with the nearest name, for any other.
status settings_find_command(const char *name, pipeline_command *command, error *err) MUST_CHECK;

// Return the name of a setting ("EXP"), its meaning for --help, and whether a command takes it.
const char *settings_name(setting s);
const char *settings_meaning(setting s);
bool settings_takes(pipeline_command command, setting s);

// Returns the name, or the value, of the setting for the location of a data set's official files
// (CIFAR10_FROM). NULL: none.
const char *settings_source_name(const char *dataset);
const char *settings_source(const settings *s, const char *dataset);

#endif
