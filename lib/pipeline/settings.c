// SPDX-License-Identifier: MIT
#include "pipeline/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/hint.h"
#include "base/spelling.h"
#include "experiment/experiment.h"

enum {
    MOST_EPOCHS = 2500,
    MOST_THREADS = 1024,
    MOST_JOBS = 1024,
    MOST_STATES = 1000,
    MOST_SEGMENTS = 1000,
    MOST_MIB = 1 << 20,
    MOST_SECONDS = 1000000,
    MOST_WEEKS = 10000 // or days, or hours
};

#define FOR(command) (1u << COMMAND_##command)
#define TRAINS       (FOR(EXPERIMENT) | FOR(COMPARE) | FOR(EXPLAIN) | FOR(REPRODUCE) | FOR(SUBMISSION))
#define VERIFIES     (FOR(VERIFY) | FOR(GRADE))
#define EVERY        ((1u << COMMANDS) - 1)

typedef struct setting_row {
    const char *name;
    unsigned commands;
    const char *help;
} setting_row;

// Without the rows of SETTING_SOURCES: row_of makes them from dataset_list.
static const setting_row table[SETTINGS] = {
    [SETTING_EXP] = {"EXP", FOR(EXPERIMENT), "experiment or study: a name or a file"},
    [SETTING_EXPS] = {"EXPS", FOR(COMPARE) | FOR(SUBMISSION) | FOR(CLEAN_RUNS),
                      "experiments separated by blanks; the first is the baseline"},
    [SETTING_A] = {"A", FOR(EXPLAIN), "experiment to start from"},
    [SETTING_B] = {"B", FOR(EXPLAIN), "experiment to end with"},
    [SETTING_LIST] = {"LIST", FOR(REPRODUCE), "file that lists the reports"},
    [SETTING_RUNS] = {"RUNS", FOR(COMPARE) | FOR(SUBMISSION) | FOR(CLEAN_RUNS) | FOR(RUNS),
                      "keys, or first digits, of kept runs, separated by blanks"},
    [SETTING_SUBMISSION] = {"SUBMISSION", FOR(VERIFY), "archive, or unpacked folder, to verify"},
    [SETTING_SUBMISSIONS] = {"SUBMISSIONS", FOR(GRADE),
                             "archives, unpacked or not, or folders of them"},
    [SETTING_OLDER] = {"OLDER", FOR(CLEAN_RUNS), "only runs of more than this age: 30d, 12h or 2w"},
    [SETTING_YES] = {"YES", FOR(CLEAN_RUNS), "1: remove without asking"},
    [SETTING_QUICK] = {"QUICK", FOR(REPRODUCE), "1: shorten the runs as the list specifies"},
    [SETTING_SEED] = {"SEED", TRAINS | VERIFIES,
                      "first seed; verify: seed of the choice of segments"},
    [SETTING_EPOCHS] = {"EPOCHS", TRAINS, "number of epochs of every experiment"},
    [SETTING_SET] = {"SET", TRAINS, "values to replace in every experiment: \"KEY=VALUE; ...\""},
    [SETTING_DEVICE] = {"DEVICE", TRAINS, "auto, cpu, cuda, or a list: cuda:0,cuda:1"},
    [SETTING_MATH] = {"MATH", TRAINS, "GPUs: exact (default: the bits of the CPU) or fast"},
    [SETTING_THREADS] = {"THREADS", TRAINS | VERIFIES,
                         "threads per rank (default: what other programs leave)"},
    [SETTING_STATES] = {"STATES", TRAINS, "parts of each run whose states are kept, for replay"},
    [SETTING_TENSORBOARD] = {"TENSORBOARD", TRAINS,
                             "folder for the curves of trainings, for TensorBoard"},
    [SETTING_SEGMENTS] = {"SEGMENTS", VERIFIES, "parts of each run to train again (default: 3)"},
    [SETTING_TIME_LIMIT] = {"TIME_LIMIT", FOR(GRADE),
                            "seconds for each submission (default: 3600)"},
    [SETTING_CSV] = {"CSV", FOR(GRADE), "file for the table, as a gradebook takes it"},
    [SETTING_RUBRIC] = {"RUBRIC", FOR(GRADE), "file that gives points (docs/formats.md, Rubrics)"},
    [SETTING_LAUNCHER] = {"LAUNCHER", TRAINS,
                          "starts train-ddp's ranks: \"mpirun --hostfile hosts\""},
    [SETTING_PRECISION] = {"PRECISION", TRAINS,
                           "how well times are compared, in per cent (default: 1)"},
    [SETTING_WHOLE] = {"WHOLE", TRAINS, "1: runs that are compared take turns of whole trainings"},
    [SETTING_TIME] = {"TIME", TRAINS, "0: time nothing; 1: time a study, or a resumed run"},
    [SETTING_JOBS] = {"JOBS", FOR(EXPERIMENT),
                      "runs that train at once, of one thread, if none is timed"},
    [SETTING_RESUME] = {"RESUME", TRAINS, "0: restart stopped training runs from the beginning"},
    [SETTING_DATA] = {"DATA", TRAINS | VERIFIES,
                      "your own data: a folder with train.st.zst and test.st.zst"},
    [SETTING_REPORT_FLAGS] = {"REPORT_FLAGS", TRAINS,
                              "more options for report: \"--lang zh --author 'Li Ming'\""},
    [SETTING_MODEL_LIMIT] = {"MODEL_LIMIT", FOR(SUBMISSION),
                             "largest model to pack, in MiB (default: 4)"},
    [SETTING_DRY_RUN] = {"DRY_RUN", TRAINS, "1: print the runs and their time; downloads nothing"},
    [SETTING_ARTIFACTS] = {"ARTIFACTS", EVERY, "folder of all outputs (default: artifacts)"},
};

static setting_row row_of(setting s) {
    if (s < SETTING_SOURCES || s >= SETTING_SOURCES + DATASETS) return table[s];
    const dataset_entry *d = &dataset_list[s - SETTING_SOURCES];
    return (setting_row){d->setting, TRAINS | VERIFIES, d->setting_help};
}

// Settings of the build, which make reads itself: accepted and ignored here.
static const char *const of_build[] = {
    "AR",           "BIN",        "BUILD",      "CC",    "CFLAGS",   "CPPFLAGS",
    "CUDA",         "CUDA_HOME",  "CUDA_ARCHS", "CXX",   "CXXFLAGS", "LDFLAGS",
    "LDLIBS",       "MODE",       "MPI",        "MPICC", "NCCL",     "NVCCFLAGS",
    "PKGCONFIG",    "PREFIX",     "PYTHON",     "V",     "WERROR",   "CLANG",
    "CLANG_FORMAT", "SHELLCHECK", "MAKEFLAGS",  "SHELL", "DESTDIR",  "Q"};

enum { OF_BUILD = sizeof of_build / sizeof *of_build };

const pipeline_command_words settings_commands[COMMANDS] = {
    [COMMAND_EXPERIMENT] = {"experiment",
                            "run one experiment or study, from the data to the report", "EXP=NAME"},
    [COMMAND_COMPARE] = {"compare", "run several, in one report; the first one is the baseline",
                         "EXPS=\"NAME NAME\", or RUNS=\"KEY KEY\""},
    [COMMAND_EXPLAIN] = {"explain", "go from one to another, one factor at a time",
                         "A=NAME B=NAME"},
    [COMMAND_REPRODUCE] = {"reproduce", "run every row of published reports",
                           "LIST=FILE, or nothing"},
    [COMMAND_SUBMISSION] = {"submission", "compare, and pack the result as one archive to hand in",
                            "EXPS=\"NAME NAME\""},
    [COMMAND_VERIFY] = {"verify", "check a submission: its files, figures, models and trainings",
                        "SUBMISSION=FILE.tar.gz"},
    [COMMAND_GRADE] = {"grade", "verify many submissions, in one table", "SUBMISSIONS=\"FOLDER\""},
    [COMMAND_RUNS] = {"runs", "list the runs that are kept", "nothing, or RUNS=\"KEY KEY\""},
    [COMMAND_CLEAN_RUNS] = {"clean-runs", "remove kept runs: shows them, and asks",
                            "RUNS=\"KEY KEY\", EXPS=\"NAME NAME\" or OLDER=30d"},
};

const char *settings_front(void) {
    return cli_front() ? "lockstep" : "make";
}

status settings_find_command(const char *name, pipeline_command *command, error *err) {
    const char *names[COMMANDS];
    for (int c = 0; c < COMMANDS; c++) {
        *command = (pipeline_command)c;
        names[c] = settings_commands[c].name;
        if (strcmp(name, names[c]) == 0) return STATUS_OK;
    }
    const char *near = spelling_nearest(name, names, COMMANDS);
    return error_set(err, STATUS_USAGE, "unknown command: '%s'%s%s%s (see --help)", name,
                     near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

// ---- Names of settings ----

const char *settings_name(setting s) {
    return row_of(s).name;
}

const char *settings_meaning(setting s) {
    return row_of(s).help;
}

bool settings_takes(pipeline_command command, setting s) {
    return row_of(s).commands >> command & 1u;
}

static bool is_of_build(const char *name) {
    for (size_t i = 0; i < OF_BUILD; i++)
        if (strcmp(name, of_build[i]) == 0) return true;
    return false;
}

// Lists the command's settings, separated by blanks.
static void list_known(pipeline_command command, char *text, size_t size) {
    size_t used = 0;
    for (int s = 0; s < SETTINGS && used < size; s++)
        if (settings_takes(command, (setting)s))
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " " : "",
                                     settings_name((setting)s));
}

// Answers a name that is no setting: with the nearest one, or with the key of an experiment; "" if
// nothing comes near.
static void suggest(pipeline_command command, const char *name, const char *value,
                    char hint[HINT_BYTES]) {
    const char *names[SETTINGS], *keys[EXPERIMENT_MOST_KEYS], *note = NULL, *key = NULL;
    char upper[64];
    size_t count = 0;
    for (int s = 0; s < SETTINGS; s++)
        if (settings_takes(command, (setting)s)) names[count++] = settings_name((setting)s);
    snprintf(upper, sizeof upper, "%s", name);
    for (char *c = upper; *c; c++) *c = (char)toupper((unsigned char)*c);
    if (strcmp(upper, "EXECUTIONS") == 0) { // of earlier versions
        snprintf(hint, HINT_BYTES,
                 "WHOLE=1 times whole trainings, as often as it takes, and TIME=0 nothing;");
        return;
    }
    const char *near = spelling_nearest(upper, names, count);
    if (!near && settings_takes(command, SETTING_SET))
        key = hint_find(name, keys, experiment_keys(keys), HINT_KEYS, &note);
    for (size_t i = 0; !near && !key && i < count; i++) // EXPERIMENT means EXP
        if (strncmp(upper, names[i], 3) == 0) near = names[i];
    if (near)
        snprintf(hint, HINT_BYTES, "did you mean %s?", near);
    else if (key)
        snprintf(hint, HINT_BYTES, "did you mean SET=\"%s=%.60s\"?%s%s%s", key, value,
                 note ? " " : "", note ? note : "", note ? ";" : "");
    else
        snprintf(hint, HINT_BYTES, "%s%s", note ? note : "", note ? ";" : "");
}

static status unknown(pipeline_command command, const char *name, const char *word, error *err) {
    char known[512], hint[HINT_BYTES];
    suggest(command, name, word + strcspn(word, "=") + 1, hint);
    list_known(command, known, sizeof known);
    return error_set(err, STATUS_USAGE,
                     "unknown setting: '%.200s'%s%s %s accepts %s; set values of an experiment "
                     "with SET=\"KEY=VALUE\"",
                     word, *hint ? ": " : ";", hint, settings_commands[command].name, known);
}

void settings_answer_option(const char *name, const char *value, char text[HINT_BYTES]) {
    char hint[HINT_BYTES];
    suggest(COMMAND_EXPERIMENT, name, value, hint);
    if (*hint) snprintf(text, HINT_BYTES, "%.900s settings are written NAME=VALUE", hint);
}

static status check_takes(pipeline_command command, setting s, error *err) {
    if (settings_takes(command, s)) return STATUS_OK;
    return error_set(err, STATUS_USAGE, "%s does not accept %s: expected %s",
                     settings_commands[command].name, settings_name(s),
                     settings_commands[command].call);
}

// Returns the length of the name in NAME=VALUE; 0 for other words: a name or a path.
static size_t name_length(const char *word) {
    size_t length = strcspn(word, "=");
    if (!word[length] || !length || !(isalpha((unsigned char)*word) || *word == '_')) return 0;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)word[i]) && !strchr("_.-", word[i])) return 0;
    return length;
}

static status take_setting(settings *s, const char *word, size_t length, error *err) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), word);
    for (int i = 0; i < SETTINGS; i++) {
        if (strcmp(name, settings_name((setting)i)) != 0) continue;
        s->values[i] = word + length + 1;
        return *s->values[i] ? check_takes(s->command, (setting)i, err) : STATUS_OK;
    }
    return is_of_build(name) ? STATUS_OK : unknown(s->command, name, word, err);
}

static bool holds_names(setting s) {
    return s >= SETTING_EXP && s <= SETTING_SUBMISSIONS;
}

// make's JOBS are the tests that run at the same time, and TIME may be a format of `time`.
static bool is_of_others(setting s, const char *value) {
    return s == SETTING_JOBS ||
           (s == SETTING_TIME && strcmp(value, "0") != 0 && strcmp(value, "1") != 0);
}

// If names were given as words, environment variables add none.
static void take_environment(settings *s) {
    for (int i = 0; i < SETTINGS; i++) {
        const bool wanted =
            settings_takes(s->command, (setting)i) && !(s->names.count && holds_names((setting)i));
        const char *given = wanted ? getenv(settings_name((setting)i)) : NULL;
        if (!s->values[i] && given && !is_of_others((setting)i, given)) s->values[i] = given;
        if (s->values[i] && !*s->values[i]) s->values[i] = NULL;
    }
}

// ---- Values ----

static status read_integer(const settings *s, setting which, int64_t min, int64_t max,
                           int64_t *value, error *err) {
    const char *text = s->values[which];
    char *end;
    if (!text) return STATUS_OK;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || number < min || number > max)
        return error_set(err, STATUS_USAGE,
                         "%s: '%.60s': expected a whole number from %lld to %lld",
                         settings_name(which), text, (long long)min, (long long)max);
    *value = number;
    return STATUS_OK;
}

// A number above 0, or nothing.
static bool is_positive(const char *text, double most) {
    char *end;
    if (!text) return true;
    const double number = strtod(text, &end);
    return isdigit((unsigned char)*text) && !*end && number > 0 && number <= most;
}

static status check_numbers(const settings *s, error *err) {
    const char *epochs = s->values[SETTING_EPOCHS], *precision = s->values[SETTING_PRECISION];
    if (!is_positive(epochs, MOST_EPOCHS))
        return error_set(err, STATUS_USAGE, "%s: '%.60s': expected a number above 0 and at most %d",
                         table[SETTING_EPOCHS].name, epochs, MOST_EPOCHS);
    if (!is_positive(precision, 100))
        return error_set(err, STATUS_USAGE,
                         "%s: '%.60s': expected per cent, above 0 and at most 100: 2",
                         table[SETTING_PRECISION].name, precision);
    return STATUS_OK;
}

static status read_flag(const settings *s, setting which, bool *value, error *err) {
    int64_t number = *value;
    status rc = read_integer(s, which, 0, 1, &number, err);
    *value = number != 0;
    return rc;
}

// Reads "30d" as seconds.
static status read_age(settings *s, error *err) {
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = {{'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
    const char *text = s->values[SETTING_OLDER];
    char *end;
    if (!text) return STATUS_OK;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (isdigit((unsigned char)*text) && *end == units[i].unit && !end[1] && !errno &&
            number > 0 && number <= MOST_WEEKS)
            s->older = number * units[i].seconds;
    if (s->older) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "%s: '%.60s': expected a number from 1 to %d and h, d or w: 30d",
                     table[SETTING_OLDER].name, text, MOST_WEEKS);
}

static status read_time(settings *s, error *err) {
    bool time = false;
    NEED(read_flag(s, SETTING_TIME, &time, err));
    if (s->values[SETTING_TIME]) s->time = time ? TIME_ALL : TIME_NOTHING;
    if (s->whole && s->time == TIME_NOTHING)
        return error_set(err, STATUS_USAGE, "TIME=0 times nothing, and WHOLE=1 whole trainings");
    return STATUS_OK;
}

static status read_values(settings *s, error *err) {
    int64_t checked;
    s->resume = true;
    s->model_limit = 4;
    s->segments = 3;
    s->time_limit = 3600;
    s->jobs = 1;
    NEED(read_integer(s, SETTING_SEED, 0, INT64_MAX, &checked, err));
    NEED(check_numbers(s, err));
    NEED(read_integer(s, SETTING_THREADS, 1, MOST_THREADS, &checked, err));
    NEED(read_integer(s, SETTING_STATES, 2, MOST_STATES, &checked, err));
    NEED(read_integer(s, SETTING_SEGMENTS, 1, MOST_SEGMENTS, &s->segments, err));
    NEED(read_integer(s, SETTING_TIME_LIMIT, 1, MOST_SECONDS, &s->time_limit, err));
    NEED(read_integer(s, SETTING_MODEL_LIMIT, 0, MOST_MIB, &s->model_limit, err));
    NEED(read_flag(s, SETTING_RESUME, &s->resume, err));
    NEED(read_integer(s, SETTING_JOBS, 1, MOST_JOBS, &s->jobs, err));
    NEED(read_flag(s, SETTING_WHOLE, &s->whole, err));
    NEED(read_time(s, err));
    NEED(read_flag(s, SETTING_QUICK, &s->quick, err));
    NEED(read_flag(s, SETTING_DRY_RUN, &s->dry_run, err));
    NEED(read_flag(s, SETTING_YES, &s->yes, err));
    NEED(read_age(s, err));
    return STATUS_OK;
}

// Refuses "epochs=1 seed=3": a blank does not separate assignments. Only a title may contain such a
// text.
static status check_separators(const char *assignment, error *err) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_.";
    for (const char *c = assignment; strncmp(assignment, "title", 5) != 0 && *c; c++) {
        const size_t blanks = strspn(c, " \t"), name = strspn(c + blanks, letters);
        if (!blanks || !name || c[blanks + name] != '=') continue;
        return error_set(err, STATUS_USAGE,
                         "SET: '%.200s': assignments are separated by ';': SET=\"%.*s; %.100s\"",
                         assignment, (int)(c - assignment), assignment, c + blanks);
    }
    return STATUS_OK;
}

static status read_assignments(settings *s, error *err) {
    strvec_split(&s->assignments, s->values[SETTING_SET], ";");
    for (size_t i = 0; i < s->assignments.count; i++)
        NEED(check_separators(s->assignments.items[i], err));
    if (s->values[SETTING_EPOCHS])
        strvec_format(&s->assignments, "epochs=%s", s->values[SETTING_EPOCHS]);
    if (s->values[SETTING_SEED] && settings_takes(s->command, SETTING_SET))
        strvec_format(&s->assignments, "seed=%s", s->values[SETTING_SEED]);
    return STATUS_OK;
}

// ---- Names of experiments ----

static status need_names(const settings *s, size_t least, size_t most, error *err) {
    if (s->names.count >= least && s->names.count <= most) return STATUS_OK;
    return error_set(err, STATUS_USAGE, "%s: %s: expected %s", settings_commands[s->command].name,
                     s->names.count < least ? "a name is missing" : "too many names",
                     settings_commands[s->command].call);
}

static status need_two(const settings *s, error *err) {
    const char *of = s->values[SETTING_RUNS] ? "RUNS" : "EXPS";
    const char *other = s->values[SETTING_RUNS] ? "KEY" : "NAME";
    if (s->names.count != 1) return need_names(s, 2, SIZE_MAX, err);
    return error_set(err, STATUS_USAGE,
                     "compare: a second name is missing: expected %s=\"%.200s %s\", the first one "
                     "is the baseline; for one alone: experiment",
                     of, s->names.items[0], other);
}

// Refuses "single,ddp4", unless a file has that name. Other signs make it one strange name.
static status check_one_name(const char *name, error *err) {
    static const char signs[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,;";
    const bool list = strpbrk(name, ",;") && strspn(name, signs) == strlen(name);
    if (!list || access(name, F_OK) == 0) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "'%.200s': names are separated by blanks: EXPS=\"single ddp4\"", name);
}

// Checks the number of names that each command takes.
static status check_names(const settings *s, error *err) {
    for (size_t i = 0; i < s->names.count; i++) NEED(check_one_name(s->names.items[i], err));
    switch (s->command) {
    case COMMAND_EXPERIMENT: return need_names(s, 1, 1, err);
    case COMMAND_EXPLAIN: return need_names(s, 2, 2, err);
    case COMMAND_REPRODUCE: return need_names(s, 0, 1, err);
    case COMMAND_VERIFY: return need_names(s, 1, 1, err);
    case COMMAND_COMPARE: return need_two(s, err);
    case COMMAND_SUBMISSION:
    case COMMAND_GRADE: return need_names(s, 1, SIZE_MAX, err);
    case COMMAND_CLEAN_RUNS: return need_names(s, !s->values[SETTING_OLDER], SIZE_MAX, err);
    case COMMAND_RUNS:
    case COMMANDS: break;
    }
    return STATUS_OK;
}

// Collects the names from their settings; a list is split at blanks outside quotes, a single name
// is not.
static status collect_names(settings *s, error *err) {
    static const setting single[] = {SETTING_EXP, SETTING_A, SETTING_B, SETTING_LIST,
                                     SETTING_SUBMISSION};
    static const setting lists[] = {SETTING_EXPS, SETTING_RUNS, SETTING_SUBMISSIONS};
    status rc = STATUS_OK;
    if (s->values[SETTING_EXPS] && s->values[SETTING_RUNS])
        return error_set(err, STATUS_USAGE, "%s accepts EXPS or RUNS, not both",
                         settings_commands[s->command].name);
    if (s->command == COMMAND_EXPLAIN && !s->values[SETTING_A] != !s->values[SETTING_B])
        return error_set(err, STATUS_USAGE, "explain: %s is missing: expected A=NAME B=NAME",
                         s->values[SETTING_A] ? "B" : "A");
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        if (s->values[single[i]]) strvec_add(&s->names, s->values[single[i]]);
    for (size_t i = 0; rc == STATUS_OK && i < sizeof lists / sizeof *lists; i++)
        rc = strvec_split_quoted(&s->names, s->values[lists[i]], err);
    return rc == STATUS_OK ? check_names(s, err) : rc;
}

// Names may be given as words or in a setting, but not both.
static status check_named_once(const settings *s, error *err) {
    for (int i = 0; s->names.count && i < SETTINGS; i++)
        if (holds_names((setting)i) && s->values[i] && *s->values[i])
            return error_set(err, STATUS_USAGE,
                             "%s: names are given twice: as '%.200s' and in %s='%.200s'",
                             settings_commands[s->command].name, s->names.items[0],
                             settings_name((setting)i), s->values[i]);
    return STATUS_OK;
}

status settings_read(settings *s, pipeline_command command, const char *const *given, size_t count,
                     error *err) {
    status rc = STATUS_OK;
    *s = (settings){.command = command};
    for (size_t i = 0; i < count; i++) {
        size_t length = name_length(given[i]);
        if (length)
            TRY(take_setting(s, given[i], length, err));
        else if (*given[i])
            strvec_add(&s->names, given[i]);
    }
    TRY(check_named_once(s, err));
    take_environment(s);
    if (s->names.count)
        TRY(check_names(s, err));
    else
        TRY(collect_names(s, err));
    TRY(read_values(s, err));
    TRY(read_assignments(s, err));
    TRY(strvec_split_quoted(&s->report_flags, s->values[SETTING_REPORT_FLAGS], err));
out:
    if (rc != STATUS_OK) settings_release(s);
    return rc;
}

void settings_release(settings *s) {
    strvec_release(&s->names);
    strvec_release(&s->assignments);
    strvec_release(&s->report_flags);
    *s = (settings){0};
}

const char *settings_language(const settings *s) {
    const char *language = strvec_option_value(&s->report_flags, "--lang");
    return language ? language : "en";
}

// ---- Sources of data ----

const char *settings_source_name(const char *dataset) {
    const dataset_entry *d = dataset_find(dataset);
    return d ? d->setting : NULL;
}

const char *settings_source(const settings *s, const char *dataset) {
    const dataset_entry *d = dataset_find(dataset);
    return d ? s->values[SETTING_SOURCES + (d - dataset_list)] : NULL;
}
