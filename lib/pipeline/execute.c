// SPDX-License-Identifier: MIT
#include "pipeline/execute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/paths.h"
#include "base/progress.h"
#include "base/text.h"
#include "pipeline/change.h"
#include "pipeline/counting.h"
#include "pipeline/jobs.h"
#include "pipeline/stage.h"
#include "pipeline/store.h"
#include "pipeline/store_links.h"
#include "pipeline/tool.h"

// ---- Checking ----

static status check_seed(const pipeline *p, const planned_run *r, const planned_seed *seed,
                         int number, error *err) {
    strvec command = {0};
    char *folder = store_execution_folder(p->artifacts, seed->key, number);
    planned_run_command(p, r, seed, r->file, false, &command);
    strvec_add(&command, "--out");
    strvec_format(&command, "%s/train", folder);
    strvec_add(&command, "--dry-run");
    strvec_add(&command, "-q");
    const status rc = tool_output(p, &command, NULL, err);
    free(folder);
    strvec_release(&command);
    return rc;
}

status execute_check(const pipeline *p, const planned_runs *runs, error *err) {
    for (size_t i = 0; i < runs->count; i++) {
        const planned_run *r = &runs->items[i];
        // Seeds differ in nothing that could fail: check only the first.
        const planned_seed *seed = &r->seeds[0];
        if (counting_find(p, runs, r, seed)) continue;
        NEED(stage_check_place(p, err));
        NEED(check_seed(p, r, seed, store_next_number(&seed->kept), err));
    }
    return STATUS_OK;
}

// ---- One execution ----

// How far the executions of this call are, for a person at the terminal.
typedef struct execution_course {
    size_t all, done; // executions that were missing at the beginning, and those made
    uint64_t began;
} execution_course;

typedef struct execution_work {
    pipeline *p;
    const execution_course *course;
    const planned_runs *runs;
    const planned_run *r;
    planned_seed *seed;
    int number;  // of the execution
    bool counts; // it exists, and is the one that counts
    bool begun;  // it exists, but is not finished
    bool remade; // it was finished: the stage reports what is missing
    bool later;  // the link shows a finished execution until this one is finished
    bool resume;
    const char *reason;       // why it trains; NULL: unknown
    const yaml_node *trained; // the first train manifest of this key; NULL: none
    char *folder;             // of the execution
    char *file;               // the experiment in the store
    char *shown;              // the folder's name in messages
    char *title, *place;      // at a terminal: the run, and how far the call is
} execution_work;

// "ddp4, seed 43": the seed if the run has several.
static char *title_of(const execution_work *w) {
    if (w->r->seed_count < 2) return memory_string(w->r->name);
    return memory_format("%s, seed %llu", w->r->name, (unsigned long long)w->seed->seed);
}

// "run 7 of 15"; NULL: there is only one.
static char *place_of(const execution_work *w) {
    const execution_course *c = w->course;
    return c->all > 1 && c->done < c->all ? memory_format("run %zu of %zu", c->done + 1, c->all)
                                          : NULL;
}

// The seconds that the executions after this one will take, if they take as long as those before.
static double seconds_after(const execution_course *c) {
    if (!c->done || c->done >= c->all) return 0;
    return (double)(clock_now() - c->began) * 1e-9 / (double)c->done *
           (double)(c->all - c->done - 1);
}

static void open_work(execution_work *w) {
    w->title = title_of(w);
    w->place = place_of(w);
    w->folder = store_execution_folder(w->p->artifacts, w->seed->key, w->number);
    char *run = store_folder(w->p->artifacts, w->seed->key);
    w->file = memory_format("%s/experiment.yaml", run);
    free(run);
    w->shown = w->later ? memory_string(w->folder)
                        : memory_format("%s/%s", w->p->artifacts, w->seed->place);
}

static void close_work(execution_work *w) {
    free(w->folder);
    free(w->file);
    free(w->shown);
    free(w->title);
    free(w->place);
}

// Stores the experiment as it is run, with only this seed and all settings included.
static status write_experiment(const execution_work *w, const char *folder, error *err) {
    yaml_node *parameters = yaml_copy(w->r->e.resolved);
    bool changed;
    status rc = STATUS_OK;
    yaml_put(parameters, "name", yaml_new_string(w->r->name));
    yaml_put(parameters, "seed", yaml_new_integer((int64_t)w->seed->seed));
    yaml_put(parameters, "repeats", yaml_new_integer(1));
    TRY(output_make_folder(folder, err));
    rc = store_write_experiment(folder, "experiment", parameters, &changed, err);
out:
    yaml_free(parameters);
    return rc;
}

// Once a training is finished its manifest decides: a stored experiment that differs from it was
// damaged or edited, and is written again.
static status keep_experiment(const execution_work *w, error *err) {
    char *folder = store_folder(w->p->artifacts, w->seed->key);
    bool changed = false;
    status rc = STATUS_OK;
    if (w->trained)
        rc = store_keep_experiment(folder, w->trained, &changed, err);
    else if (access(w->file, F_OK) != 0)
        rc = write_experiment(w, folder, err);
    if (rc == STATUS_OK && changed)
        w->p->say("keep", folder, "experiment.yaml or its model was changed: written again");
    free(folder);
    return rc;
}

// Options that change neither the key nor the bits.
static void find_more(const execution_work *w, strvec *more) {
    if (w->resume) strvec_add(more, "--resume");
    strvec_add_option(more, "--keep-states", w->p->settings->values[SETTING_STATES]);
    if (w->p->settings->jobs > 1) strvec_add(more, "-q"); // lines of several would be mixed
    const char *board = w->p->settings->values[SETTING_TENSORBOARD];
    if (!board) return;
    strvec_add(more, "--tensorboard");
    strvec_format(more, "%s/%s", board, w->seed->place);
}

static status run_train(execution_work *w, error *err) {
    strvec command = {0}, launcher = {0}, more = {0};
    char *dir = memory_format("%s/train", w->folder);
    char *shown = memory_format("%s/train", w->shown);
    status rc = STATUS_OK;
    planned_run_command(w->p, w->r, w->seed, w->file, true, &command);
    strvec_add_option(&command, "--out", dir);
    planned_run_launcher(w->p, w->r, &launcher);
    find_more(w, &more);
    const stage s = {.name = "train",
                     .dir = dir,
                     .shown = shown,
                     .title = w->title,
                     .place = w->place,
                     .after = seconds_after(w->course),
                     .key = w->seed->key,
                     .reason = w->reason,
                     .command = &command,
                     .launcher = &launcher,
                     .beside = w->p->settings->jobs > 1,
                     .more = &more};
    TRY(stage_run(w->p, &s, err));
out:
    strvec_release(&more);
    strvec_release(&launcher);
    strvec_release(&command);
    free(shown);
    free(dir);
    return rc;
}

static status run_evaluate(execution_work *w, error *err) {
    strvec command = {0};
    const char *views = tta_folder(w->r->e.tta);
    char *dir = memory_format("%s/%s", w->folder, views);
    char *shown = memory_format("%s/%s", w->shown, views);
    status rc = STATUS_OK;
    planned_run_evaluation(w->r, w->folder, dir, &command);
    strvec_add_option(&command, "--device", w->p->settings->values[SETTING_DEVICE]);
    strvec_add_option(&command, "--math", w->p->settings->values[SETTING_MATH]);
    // Of trainings at the same time, each has one line.
    const stage s = {.name = "evaluate",
                     .dir = dir,
                     .shown = shown,
                     .title = w->title,
                     .place = w->place,
                     .command = &command,
                     .quiet = w->p->settings->jobs > 1,
                     .drop_output = w->p->terminal};
    TRY(stage_run(w->p, &s, err));
out:
    strvec_release(&command);
    free(shown);
    free(dir);
    return rc;
}

// Equal keys promise equal bits: two executions of one key that differ are reported in every call.
static status compare_models(const execution_work *w, error *err) {
    const execution_list *list = &w->seed->kept;
    const execution *first = NULL;
    const char *hash = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const execution *x = &list->items[i];
        const char *own = yaml_text_at(x->train, "results.model");
        if (hash && *own && strcmp(hash, own) != 0)
            return error_set(err, STATUS_FINDING,
                             "two executions of one key end in different models: '%s' in %.12s…, "
                             "'%s' in %.12s…: please report this with both folders",
                             first->folder, hash, x->folder, own);
        if (hash || !*own) continue;
        first = x;
        hash = own;
    }
    return STATUS_OK;
}

static status link_to(const execution_work *w, error *err) {
    return store_link(w->p->artifacts, w->seed->place, w->seed->key, w->number, err);
}

// A training that failed before it wrote anything left no folder: then the link goes, too.
static void drop_link(const execution_work *w) {
    char *link = memory_format("%s/%s", w->p->artifacts, w->seed->place);
    char *folder = paths_folder(link);
    if (access(link, F_OK) != 0 && unlink(link) == 0) (void)rmdir(folder);
    free(folder);
    free(link);
}

// Its times are those of a training beside others, with one thread: they count for nothing.
static status note_jobs(const execution_work *w, error *err) {
    char jobs[24];
    snprintf(jobs, sizeof jobs, "%lld", (long long)w->p->settings->jobs);
    return store_note(w->folder, "jobs", jobs, err);
}

static status run_execution(execution_work *w, error *err) {
    status rc;
    open_work(w);
    if (!w->later) TRY(link_to(w, err));
    TRY(keep_experiment(w, err));
    const bool trains = !paths_allow(F_OK, "%s/train/manifest.yaml", w->folder);
    TRY(run_train(w, err));
    if (w->p->settings->jobs > 1 && trains) TRY(note_jobs(w, err));
    TRY(run_evaluate(w, err));
    if (w->later) TRY(link_to(w, err));
    TRY(planned_seed_look(w->p, w->seed, err));
    TRY(compare_models(w, err));
out:
    if (rc != STATUS_OK) drop_link(w);
    close_work(w);
    return rc;
}

// ---- Choosing an execution ----

// Chooses the execution that counts, else one that was stopped, else a new one.
static void choose(execution_work *w, const execution *counting) {
    const execution_list *list = &w->seed->kept;
    w->counts = counting != NULL;
    w->number = counting ? counting->number : store_next_number(list);
    for (size_t i = 0; !counting && i < list->count; i++) {
        const execution *x = &list->items[i];
        // A training that lacks only its evaluation is not repeated.
        if (counting_is_finished(w->r, x) || !(w->p->settings->resume || x->train)) continue;
        w->number = x->number;
        w->begun = true;
        w->remade = x->complete;
        w->resume = x->saved;
        break;
    }
}

static const yaml_node *first_manifest(const execution_list *list) {
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].train) return list->items[i].train;
    return NULL;
}

static bool any_unfinished(const planned_run *r, const execution_list *list) {
    for (size_t i = 0; i < list->count; i++)
        if (!counting_is_finished(r, &list->items[i])) return true;
    return false;
}

// A training that continues another one has no times of its own.
static bool may_go_on(const execution_work *w) {
    return !counting_needs_times(w->p) && strcmp(yaml_text_at(w->runs->plan, "kind"), "runs") == 0;
}

// Finds the reason for a new execution of a key that has others; of several that do not count, the
// newest one decides.
static void find_reason_to_add(const execution_work *w, char *why, size_t size) {
    const execution_list *list = &w->seed->kept;
    const execution *newest = &list->items[list->count - 1];
    if (any_unfinished(w->r, list))
        snprintf(why, size, "execution %d: started over by RESUME=0", w->number);
    else
        snprintf(why, size, "execution %d: execution %d %s", w->number, newest->number,
                 counting_why_not(w->p, w->runs, w->r, newest));
}

// A finished execution, or a first one, needs no reason. A run that has no execution yet may begin
// where a shorter one ended.
static status find_reason(execution_work *w, char *why, size_t size, error *err) {
    *why = 0;
    if (w->counts || w->remade) return STATUS_OK;
    if (w->seed->kept.count == 0)
        return change_describe(w->p, w->r, w->seed, may_go_on(w), &w->resume, why, size, err);
    if (w->resume)
        snprintf(why, size, "resumes where it stopped; RESUME=0 starts over");
    else if (w->begun)
        snprintf(why, size, "not finished, and no state to resume from");
    else
        find_reason_to_add(w, why, size);
    return STATUS_OK;
}

// Other runs of this call, and other calls, may have made the execution that seemed missing.
static status find_execution(execution_work *w, error *err) {
    const execution *counting = counting_find(w->p, w->runs, w->r, w->seed);
    if (!counting) {
        NEED(planned_seed_look(w->p, w->seed, err));
        counting = counting_find(w->p, w->runs, w->r, w->seed);
    }
    choose(w, counting);
    return STATUS_OK;
}

static status run_seed(pipeline *p, const planned_runs *runs, const planned_run *r,
                       planned_seed *seed, execution_course *course, error *err) {
    char why[512];
    execution_work w = {.p = p, .course = course, .runs = runs, .r = r, .seed = seed};
    NEED(find_execution(&w, err));
    w.trained = first_manifest(&seed->kept);
    NEED(find_reason(&w, why, sizeof why, err));
    if (*why) w.reason = why;
    // A training that fails does not take the link from a finished run.
    w.later = !w.counts && store_links_finished(p->artifacts, seed->place);
    NEED(run_execution(&w, err));
    course->done += !w.counts;
    return STATUS_OK;
}

// ---- Several at the same time ----

typedef struct seed_of_run {
    const planned_run *r;
    planned_seed *seed;
} seed_of_run;

// The seeds of runs that lack an execution, each key once.
typedef struct missing_seeds {
    pipeline *p;
    const planned_runs *runs;
    seed_of_run *items;
    size_t count, capacity;
    const execution_course *course;
    progress shown;
} missing_seeds;

static void add_missing(missing_seeds *m, const planned_run *r, planned_seed *seed) {
    bool wanted = !counting_find(m->p, m->runs, r, seed);
    for (size_t i = 0; wanted && i < m->count; i++)
        wanted = strcmp(m->items[i].seed->key, seed->key) != 0;
    if (!wanted) return;
    m->items = memory_grow(m->items, &m->capacity, m->count + 1, sizeof *m->items);
    m->items[m->count++] = (seed_of_run){r, seed};
}

static status run_missing(void *context, size_t number, error *err) {
    const missing_seeds *m = context;
    execution_course course = *m->course;
    return run_seed(m->p, m->runs, m->items[number].r, m->items[number].seed, &course, err);
}

static void show_missing(void *context, size_t count) {
    missing_seeds *m = context;
    progress_show(&m->shown, count, m->count);
}

static void say_nothing(const char *name, const char *which, const char *what) {
    (void)name, (void)which, (void)what;
}

// Executes what is missing, JOBS at a time. The messages are those of the processes; this one finds
// later what they made, without a word.
static status run_jobs(pipeline *p, const planned_runs *runs, const execution_course *course,
                       error *err) {
    missing_seeds m = {.p = p, .runs = runs, .course = course};
    size_t seeds = 1;
    for (size_t k = 0; k < seeds; k++)
        for (size_t i = 0; i < runs->count; i++) {
            if (runs->items[i].seed_count > seeds) seeds = runs->items[i].seed_count;
            if (k < runs->items[i].seed_count)
                add_missing(&m, &runs->items[i], &runs->items[i].seeds[k]);
        }
    char which[32], what[80];
    snprintf(which, sizeof which, "%zu run%s", m.count, m.count == 1 ? "" : "s");
    snprintf(what, sizeof what, "%lld at a time", (long long)p->settings->jobs);
    if (m.count) p->say("train", which, what);
    progress_begin(&m.shown, p->log, "training", "runs");
    const status rc =
        jobs_run(m.count, (size_t)p->settings->jobs, run_missing, &m, show_missing, err);
    progress_end(&m.shown);
    if (m.count) p->say = say_nothing;
    free(m.items);
    return rc;
}

// ---- All ----

static status run_one_by_one(pipeline *p, const planned_runs *runs, execution_course *course,
                             error *err) {
    size_t seeds = 1;
    for (size_t k = 0; k < seeds; k++)
        for (size_t i = 0; i < runs->count; i++) {
            const planned_run *r = &runs->items[i];
            if (r->seed_count > seeds) seeds = r->seed_count;
            if (k < r->seed_count) NEED(run_seed(p, runs, r, &r->seeds[k], course, err));
        }
    return STATUS_OK;
}

status execute_all(pipeline *p, const planned_runs *runs, error *err) {
    void (*const say)(const char *, const char *, const char *) = p->say;
    execution_course course = {.all = counting_missing(p, runs), .began = clock_now()};
    status rc = p->settings->jobs > 1 ? run_jobs(p, runs, &course, err) : STATUS_OK;
    if (rc == STATUS_OK) rc = run_one_by_one(p, runs, &course, err);
    p->say = say;
    return rc;
}
