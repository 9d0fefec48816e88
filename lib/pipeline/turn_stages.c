// SPDX-License-Identifier: MIT
#include "pipeline/turn_stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/demand.h"
#include "base/memory.h"
#include "base/number_text.h"
#include "base/paths.h"
#include "base/shell_words.h"
#include "base/text.h"
#include "data/manifest.h"
#include "pipeline/stage.h"
#include "pipeline/store.h"
#include "pipeline/tool.h"

// Seconds after which time-runs stops, for each arm of a stage; whole trainings may take longer.
enum { SECONDS_EACH = 60 };

// ---- Groups ----

static bool is_study(const planned_runs *runs) {
    return strcmp(yaml_text_at(runs->plan, "kind"), "runs") != 0;
}

static bool varies_speed(const planned_runs *runs) {
    for (size_t i = 1; i < runs->count; i++)
        if (!experiment_same_speed(&runs->items[0].e, &runs->items[i].e)) return true;
    return false;
}

// A study is about speed if one of its values changes it.
static bool is_due(const pipeline *p, const planned_runs *runs) {
    const settings *s = p->settings;
    if (s->time == TIME_NOTHING) return false;
    return s->command != COMMAND_EXPERIMENT ||
           (is_study(runs) && (s->time == TIME_ALL || s->whole || varies_speed(runs)));
}

bool turn_stages_are_whole(const pipeline *p) {
    return p->settings->whole || p->settings->values[SETTING_LAUNCHER];
}

// A report's experiments lie in one folder.
static bool same_folder(const char *a, const char *b) {
    const char *last = strrchr(a, '/'), *other = strrchr(b, '/');
    const size_t length = last ? (size_t)(last - a) : 0;
    return (other ? (size_t)(other - b) : 0) == length && memcmp(a, b, length) == 0;
}

static bool are_together(const pipeline *p, const planned_run *a, const planned_run *b) {
    if (strcmp(a->data, b->data) != 0) return false;
    return p->settings->command != COMMAND_REPRODUCE || same_folder(a->file, b->file);
}

// Runs of one key are one training.
static bool is_new(const planned_runs *runs, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (strcmp(runs->items[k].seeds[0].key, runs->items[i].seeds[0].key) == 0) return false;
    return true;
}

// Is run i the first arm of its stage?
static bool is_first(const pipeline *p, const planned_runs *runs, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (are_together(p, &runs->items[k], &runs->items[i])) return false;
    return true;
}

// The arms of the stage of run `first`, each training once.
static size_t list_arms(const pipeline *p, const planned_runs *runs, size_t first,
                        const planned_run **arms) {
    size_t count = 0;
    for (size_t i = first; i < runs->count; i++)
        if (are_together(p, &runs->items[first], &runs->items[i]) && is_new(runs, i))
            arms[count++] = &runs->items[i];
    return count;
}

// A stage's folder is named after the first seeds' keys of its arms, what they are executed with,
// and what a turn is.
static void name_folder(const pipeline *p, const planned_run *const *arms, size_t count,
                        char **folder) {
    char hash[SHA256_TEXT_BYTES];
    const char *threads = p->settings->values[SETTING_THREADS];
    const char *launcher = p->settings->values[SETTING_LAUNCHER];
    text keys = {0};
    for (size_t i = 0; i < count; i++) {
        text_format(&keys, "%s\n", arms[i]->seeds[0].key);
        for (size_t k = 0; k < arms[i]->device.count; k++)
            text_format(&keys, "%s\n", arms[i]->device.items[k]);
    }
    text_append(&keys, threads ? threads : "");
    if (turn_stages_are_whole(p)) text_format(&keys, "\nwhole %s", launcher ? launcher : "");
    sha256_buffer(text_string(&keys), keys.length, hash);
    text_release(&keys);
    *folder = memory_format("%s/turns/%.12s", p->artifacts, hash);
}

// Calls `visit` for the arms of each stage; it may be left out.
typedef status visit_arms(const pipeline *p, const planned_run *const *arms, size_t count,
                          const char *folder, void *argument, error *err);

static status for_each_stage(const pipeline *p, const planned_runs *runs, visit_arms *visit,
                             void *argument, error *err) {
    const planned_run **arms = memory_new(runs->count, sizeof *arms);
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < runs->count; i++) {
        char *folder = NULL;
        const size_t count = is_first(p, runs, i) ? list_arms(p, runs, i, arms) : 0;
        if (count < 2) continue;
        name_folder(p, arms, count, &folder);
        rc = visit(p, arms, count, folder, argument, err);
        free(folder);
    }
    free(arms);
    return rc;
}

// ---- Planning ----

static status add_folder(const pipeline *p, const planned_run *const *arms, size_t count,
                         const char *folder, void *argument, error *err) {
    (void)p;
    (void)arms;
    (void)err;
    planned_runs *runs = argument;
    runs->taking_turns += count;
    strvec_add(&runs->turns, folder);
    return STATUS_OK;
}

status turn_stages_plan(const pipeline *p, planned_runs *runs, error *err) {
    strvec_release(&runs->turns);
    runs->taking_turns = 0;
    return is_due(p, runs) ? for_each_stage(p, runs, add_folder, runs, err) : STATUS_OK;
}

static const char *precision_of(const pipeline *p) {
    const char *given = p->settings->values[SETTING_PRECISION];
    return given ? given : "1";
}

// Was there too little time in which other programs rested? Then there is more to do while they do.
static bool lacks_quiet(const char *folder) {
    yaml_node *root = NULL;
    bool lacks = false;
    if (manifest_read_in(&root, NULL, "%s", folder) == STATUS_OK)
        lacks = strcmp(yaml_text_at(root, "results.lacks"), "quiet") == 0;
    yaml_free(root);
    return lacks && !demand_of_others(NULL, 0);
}

bool turn_stages_left(const planned_runs *runs) {
    for (size_t i = 0; i < runs->turns.count; i++)
        if (!paths_allow(F_OK, "%s/manifest.yaml", runs->turns.items[i]) ||
            lacks_quiet(runs->turns.items[i]))
            return true;
    return false;
}

double turn_stages_seconds(const planned_runs *runs) {
    return (double)(SECONDS_EACH * runs->taking_turns);
}

bool turn_stages_are_of_accuracy(const pipeline *p, const planned_runs *runs) {
    return p->settings->command == COMMAND_EXPERIMENT && is_study(runs) && !runs->turns.count;
}

void turn_stages_announce(const pipeline *p, const planned_runs *runs) {
    char what[120], most[DURATION_TEXT_BYTES];
    if (turn_stages_are_whole(p))
        snprintf(what, sizeof what, "%zu runs, to ±%s %%: %d whole trainings of each, or more",
                 runs->taking_turns, precision_of(p), TURN_STAGES_LEAST);
    else
        snprintf(what, sizeof what, "%zu runs, to ±%s %%: at most %s", runs->taking_turns,
                 precision_of(p), duration_text(turn_stages_seconds(runs), most));
    p->say("estimate", "turns", what);
}

// ---- Running ----

// The command of a run, for the shell. time-runs finds the tool beside itself; a launcher may look
// for it on other hosts, and gets its place.
static status add_arm(const pipeline *p, const planned_run *r, strvec *command, error *err) {
    strvec own = {0}, words = {0};
    char *folder = store_folder(p->artifacts, r->seeds[0].key), *line = NULL;
    char *file = memory_format("%s/experiment.yaml", folder);
    status rc = STATUS_OK;
    planned_run_command(p, r, &r->seeds[0], file, true, &own);
    planned_run_launcher(p, r, &words);
    if (words.count)
        TRY(tool_program(p, &own, &words, err));
    else
        strvec_add_all(&words, &own);
    line = shell_join(words.items, words.count);
    strvec_add(command, line);
out:
    free(line);
    free(file);
    free(folder);
    strvec_release(&words);
    strvec_release(&own);
    return rc;
}

static status time_arms(const pipeline *p, const planned_run *const *arms, size_t count,
                        const char *folder, void *argument, error *err) {
    strvec command = {0};
    char *title = memory_format("%zu runs in turns", count);
    status rc = STATUS_OK;
    strvec_add(&command, "time-runs");
    if (turn_stages_are_whole(p)) strvec_add(&command, "--whole");
    strvec_add_option(&command, "--out", folder);
    strvec_add_option(&command, "--precision", precision_of(p));
    strvec_add(&command, "--limit");
    strvec_format(&command, "%zu", SECONDS_EACH * count);
    for (size_t i = 0; i < count; i++) TRY(add_arm(p, arms[i], &command, err));
    if (lacks_quiet(folder)) { // without its manifest the stage runs, and goes on
        char *path = memory_format("%s/manifest.yaml", folder);
        (void)unlink(path);
        free(path);
    }
    const stage s = {
        .name = "time", .dir = folder, .title = title, .command = &command, .drop_output = true};
    rc = stage_run(argument, &s, err);
out:
    free(title);
    strvec_release(&command);
    return rc;
}

status turn_stages_run(pipeline *p, const planned_runs *runs, error *err) {
    return runs->turns.count ? for_each_stage(p, runs, time_arms, p, err) : STATUS_OK;
}
