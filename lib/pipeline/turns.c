// SPDX-License-Identifier: MIT
#include "pipeline/turns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number_text.h"
#include "base/shell_words.h"
#include "base/text.h"
#include "pipeline/stage.h"
#include "pipeline/store.h"

// Seconds after which time-runs stops, for each run of a group.
enum { SECONDS_EACH = 60 };

// ---- Groups ----

static bool is_study(const planned_runs *runs) {
    return strcmp(yaml_text_at(runs->plan, "kind"), "runs") != 0;
}

static bool is_due(const pipeline *p, const planned_runs *runs) {
    const settings *s = p->settings;
    const bool asks = s->command != COMMAND_EXPERIMENT || is_study(runs);
    return asks && !s->executions && !s->values[SETTING_LAUNCHER];
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

// Is run i the first of its group?
static bool is_first(const pipeline *p, const planned_runs *runs, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (are_together(p, &runs->items[k], &runs->items[i])) return false;
    return true;
}

// The runs of the group of run `first`, each training once.
static size_t list_group(const pipeline *p, const planned_runs *runs, size_t first,
                         const planned_run **group) {
    size_t count = 0;
    for (size_t i = first; i < runs->count; i++)
        if (are_together(p, &runs->items[first], &runs->items[i]) && is_new(runs, i))
            group[count++] = &runs->items[i];
    return count;
}

// A group is named after the first seeds' keys, and what they are executed with.
static void name_group(const pipeline *p, const planned_run *const *group, size_t count,
                       char **folder) {
    char hash[SHA256_TEXT_BYTES];
    const char *threads = p->settings->values[SETTING_THREADS];
    text keys = {0};
    for (size_t i = 0; i < count; i++) {
        text_format(&keys, "%s\n", group[i]->seeds[0].key);
        for (size_t k = 0; k < group[i]->device.count; k++)
            text_format(&keys, "%s\n", group[i]->device.items[k]);
    }
    text_append(&keys, threads ? threads : "");
    sha256_buffer(text_string(&keys), keys.length, hash);
    text_release(&keys);
    *folder = memory_format("%s/turns/%.12s", p->artifacts, hash);
}

// Calls `visit` for each group; it may be left out.
typedef status visit_group(const pipeline *p, const planned_run *const *group, size_t count,
                           const char *folder, void *argument, error *err);

static status for_each_group(const pipeline *p, const planned_runs *runs, visit_group *visit,
                             void *argument, error *err) {
    const planned_run **group = memory_new(runs->count, sizeof *group);
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < runs->count; i++) {
        char *folder = NULL;
        const size_t count = is_first(p, runs, i) ? list_group(p, runs, i, group) : 0;
        if (count < 2) continue;
        name_group(p, group, count, &folder);
        rc = visit(p, group, count, folder, argument, err);
        free(folder);
    }
    free(group);
    return rc;
}

// ---- Planning ----

static status add_folder(const pipeline *p, const planned_run *const *group, size_t count,
                         const char *folder, void *argument, error *err) {
    (void)p;
    (void)group;
    (void)err;
    planned_runs *runs = argument;
    runs->taking_turns += count;
    words_add(&runs->turns, folder);
    return STATUS_OK;
}

status turns_plan(const pipeline *p, planned_runs *runs, error *err) {
    words_release(&runs->turns);
    runs->taking_turns = 0;
    return is_due(p, runs) ? for_each_group(p, runs, add_folder, runs, err) : STATUS_OK;
}

static const char *precision_of(const pipeline *p) {
    const char *given = p->settings->values[SETTING_PRECISION];
    return given ? given : "1";
}

bool turns_left(const planned_runs *runs) {
    for (size_t i = 0; i < runs->turns.count; i++) {
        char *path = memory_format("%s/manifest.yaml", runs->turns.items[i]);
        const bool left = access(path, F_OK) != 0;
        free(path);
        if (left) return true;
    }
    return false;
}

void turns_announce(const pipeline *p, const planned_runs *runs) {
    char what[120], most[DURATION_TEXT_BYTES];
    snprintf(what, sizeof what, "%zu runs, to ±%s %%: at most %s", runs->taking_turns,
             precision_of(p), duration_text((double)(SECONDS_EACH * runs->taking_turns), most));
    p->say("estimate", "turns", what);
}

// ---- Running ----

// The command of a run, for the shell. time-runs finds the tool beside itself.
static void add_arm(const pipeline *p, const planned_run *r, words *command) {
    words own = {0};
    char *folder = store_folder(p->artifacts, r->seeds[0].key), *line = NULL;
    char *file = memory_format("%s/experiment.yaml", folder);
    planned_run_command(p, r, &r->seeds[0], file, true, &own);
    line = shell_join(own.items, own.count);
    words_add(command, line);
    free(line);
    free(file);
    free(folder);
    words_release(&own);
}

static status run_group(const pipeline *p, const planned_run *const *group, size_t count,
                        const char *folder, void *argument, error *err) {
    words command = {0};
    status rc;
    words_add(&command, "time-runs");
    words_option(&command, "--out", folder);
    words_option(&command, "--precision", precision_of(p));
    words_add(&command, "--limit");
    words_format(&command, "%zu", SECONDS_EACH * count);
    for (size_t i = 0; i < count; i++) add_arm(p, group[i], &command);
    const stage s = {.name = "time", .dir = folder, .command = &command, .drop_output = true};
    rc = stage_run(argument, &s, err);
    words_release(&command);
    return rc;
}

status turns_run(pipeline *p, const planned_runs *runs, error *err) {
    return runs->turns.count ? for_each_group(p, runs, run_group, p, err) : STATUS_OK;
}
