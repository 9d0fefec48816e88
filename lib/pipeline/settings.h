// settings.h - the settings of a call of the pipeline: NAME=VALUE words, as on make's command
// line, or variables of the environment.
//
// A word wins over the environment. An empty value counts as not given. A name that is not known is
// refused with the nearest one, and so is one that another command takes: a setting that is
// misspelt would otherwise train the default for an hour.
#ifndef LOCKSTEP_PIPELINE_SETTINGS_H
#define LOCKSTEP_PIPELINE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "pipeline/words.h"

typedef enum pipeline_command {
    COMMAND_EXPERIMENT,
    COMMAND_COMPARE,
    COMMAND_EXPLAIN,
    COMMAND_REPRODUCE,
    COMMAND_SUBMISSION,
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
    SETTING_QUICK,
    SETTING_SEED,
    SETTING_EPOCHS,
    SETTING_SET,
    SETTING_DEVICE,
    SETTING_THREADS,
    SETTING_LAUNCHER,
    SETTING_EXECUTIONS,
    SETTING_RESUME,
    SETTING_DATA,
    SETTING_CIFAR10_FROM,
    SETTING_CIFAR100_FROM,
    SETTING_MNIST_FROM,
    SETTING_FASHION_MNIST_FROM,
    SETTING_REPORT_FLAGS,
    SETTING_MODEL_LIMIT,
    SETTING_DRY_RUN,
    SETTING_ARTIFACTS,
    SETTINGS
} setting;

typedef struct settings {
    pipeline_command command;
    const char *values[SETTINGS]; // NULL: not given; borrowed from the words or the environment
    // Experiments in the order given: of EXP, EXPS, A and B, LIST, or RUNS; or words without '='.
    words names;
    words assignments; // for --set: of SET, EPOCHS and SEED, in this order
    int executions;    // 0: not given
    bool resume;       // RESUME=0 says no
    bool quick, dry_run;
    int64_t model_limit; // MiB
} settings;

// STATUS_USAGE for a word that is not known or whose value is no good, and where the names that the
// command needs are missing.
status settings_read(settings *s, pipeline_command command, const char *const *given, size_t count,
                     error *err) MUST_CHECK;
void settings_release(settings *s);

// "experiment"; NULL-terminated names of all commands in the order of the enum.
const char *settings_command_name(pipeline_command command);
// The command of that name. STATUS_USAGE, with the nearest one, for any other name.
status settings_find_command(const char *name, pipeline_command *command, error *err) MUST_CHECK;

// The settings that a command takes, with their meaning, as lines for --help; free() it.
char *settings_help(error *err) MUST_CHECK;

// The setting that says where the official files of a data set are: CIFAR10_FROM. NULL: none does.
const char *settings_source_name(const char *dataset);
const char *settings_source(const settings *s, const char *dataset);

#endif
