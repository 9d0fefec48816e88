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

status execute_check(const pipeline *p, const planned_runs *runs, int rounds, error *err) {
    for (size_t i = 0; i < runs->count; i++) {
        const planned_run *r = &runs->items[i];
        const int wanted = counting_wanted(r, rounds);
        execution_set s;
        status rc = STATUS_OK;
        counting_find(p, runs, r, &r->seeds[0], wanted, &s);
        const bool there = (int)s.count >= wanted;
        const int number = store_next_number(s.list);
        counting_release(&s);
        if (!there) rc = stage_check_place(p, err);
        // Seeds differ in nothing that could fail: check only the first.
        if (!there && rc == STATUS_OK) rc = check_seed(p, r, &r->seeds[0], number, err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

// ---- One execution ----

// How far the executions of this call are, for a person at the terminal.
typedef struct execution_course {
    int rounds, all, done; // executions that were missing at the beginning, and those made
    uint64_t began;
} execution_course;

typedef struct execution_work {
    pipeline *p;
    const execution_course *course;
    const planned_runs *runs;
    const planned_run *r;
    planned_seed *seed;
    int round, wanted;
    int number;   // of the execution
    bool begun;   // it exists, but is not finished
    bool remade;  // it was finished: the stage reports what is missing
    bool current; // the one that the link points to
    bool later;   // the link shows a finished execution until this one is finished
    bool resume;
    const char *round_name;   // of the new execution; NULL: none
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

// "round 2 of 3, run 7 of 15", of those that are more than one; NULL: neither is.
static char *place_of(const execution_work *w) {
    const execution_course *c = w->course;
    text place = {0};
    if (c->rounds > 1) text_format(&place, "round %d of %d", w->round + 1, c->rounds);
    if (c->all > 1 && c->done < c->all)
        text_format(&place, "%srun %d of %d", place.length ? ", " : "", c->done + 1, c->all);
    return place.length ? text_take(&place) : NULL;
}

// The seconds that the executions after this one will take, if they take as long as those before.
static double seconds_after(const execution_course *c) {
    if (!c->done || c->done >= c->all) return 0;
    return (double)(clock_now() - c->began) * 1e-9 / c->done * (c->all - c->done - 1);
}

static void open_work(execution_work *w) {
    w->title = title_of(w);
    w->place = place_of(w);
    w->folder = store_execution_folder(w->p->artifacts, w->seed->key, w->number);
    char *run = store_folder(w->p->artifacts, w->seed->key);
    w->file = memory_format("%s/experiment.yaml", run);
    free(run);
    w->shown = w->current && !w->later ? memory_format("%s/%s", w->p->artifacts, w->seed->place)
                                       : memory_string(w->folder);
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

// Finds the launcher for DistributedDataParallel ranks; empty: train-ddp starts them.
static void find_launcher(const execution_work *w, strvec *launcher) {
    const char *given = w->p->settings->values[SETTING_LAUNCHER];
    if (!given || w->r->e.strategy != STRATEGY_DDP || w->r->e.world_size == 1) return;
    strvec_split(launcher, given, " ");
    strvec_add(launcher, "-n");
    strvec_format(launcher, "%d", w->r->e.world_size);
}

// Options that change neither the key nor the bits.
static void find_more(const execution_work *w, strvec *more) {
    if (w->resume) strvec_add(more, "--resume");
    strvec_add_option(more, "--keep-states", w->p->settings->values[SETTING_STATES]);
    if (w->p->settings->jobs > 1) strvec_add(more, "-q"); // lines of several would be mixed
    const char *board = w->p->settings->values[SETTING_TENSORBOARD];
    if (!board) return;
    strvec_add(more, "--tensorboard");
    if (w->current)
        strvec_format(more, "%s/%s", board, w->seed->place);
    else
        strvec_format(more, "%s/%s/%d", board, w->seed->place, w->number);
}

static status run_train(execution_work *w, error *err) {
    strvec command = {0}, launcher = {0}, more = {0};
    char *dir = memory_format("%s/train", w->folder);
    char *shown = memory_format("%s/train", w->shown);
    status rc = STATUS_OK;
    planned_run_command(w->p, w->r, w->seed, w->file, true, &command);
    strvec_add_option(&command, "--out", dir);
    find_launcher(w, &launcher);
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
    // All executions give the same result: only the current one is reported. Of trainings at the
    // same time, each has one line.
    const stage s = {.name = "evaluate",
                     .dir = dir,
                     .shown = shown,
                     .title = w->title,
                     .place = w->place,
                     .command = &command,
                     .quiet = !w->current || w->p->settings->jobs > 1,
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
    if (w->current && !w->later) TRY(link_to(w, err));
    TRY(keep_experiment(w, err));
    const bool trains = !paths_allow(F_OK, "%s/train/manifest.yaml", w->folder);
    TRY(run_train(w, err));
    if (w->round_name) TRY(store_note(w->folder, "round", w->round_name, err));
    if (w->p->settings->jobs > 1 && trains) TRY(note_jobs(w, err));
    TRY(run_evaluate(w, err));
    if (w->later) TRY(link_to(w, err));
    TRY(planned_seed_look(w->p, w->seed, err));
    TRY(compare_models(w, err));
out:
    if (rc != STATUS_OK && w->current) drop_link(w);
    close_work(w);
    return rc;
}

// ---- Choosing an execution ----

// Chooses this round's execution: one that counts, one that was stopped, or a new one.
static void choose(execution_work *w, const execution_set *s) {
    w->number = store_next_number(s->list);
    if ((size_t)w->round < s->count) {
        w->number = s->list->items[s->counting[w->round]].number;
        return;
    }
    for (size_t i = 0; i < s->list->count; i++) {
        const execution *x = &s->list->items[i];
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

static bool any_unfinished(const planned_run *r, const execution_set *s) {
    for (size_t i = 0; i < s->list->count; i++)
        if (!counting_is_finished(r, &s->list->items[i])) return true;
    return false;
}

// A training that continues another one has no times of its own.
static bool may_go_on(const execution_work *w) {
    return !counting_needs_times(w->p, w->wanted) &&
           strcmp(yaml_text_at(w->runs->plan, "kind"), "runs") == 0;
}

// Finds the reason for a new execution of a key that has others; of several that do not count, the
// newest one decides.
static void find_reason_to_add(const execution_work *w, const execution_set *s, char *why,
                               size_t size) {
    const execution *newest = &s->list->items[s->list->count - 1];
    if (s->count)
        snprintf(why, size, "execution %d, to time it again", w->number);
    else if (any_unfinished(w->r, s))
        snprintf(why, size, "execution %d: started over by RESUME=0", w->number);
    else
        snprintf(why, size, "execution %d: execution %d %s", w->number, newest->number,
                 counting_why_not(w->p, w->runs, w->r, newest, w->wanted));
}

// A finished execution, or a first one, needs no reason. A run that has no execution yet may begin
// where a shorter one ended.
static status find_reason(execution_work *w, const execution_set *s, char *why, size_t size,
                          error *err) {
    *why = 0;
    if ((size_t)w->round < s->count || w->remade) return STATUS_OK;
    if (s->list->count == 0)
        return change_describe(w->p, w->r, w->seed, may_go_on(w), &w->resume, why, size, err);
    if (w->resume)
        snprintf(why, size, "resumes where it stopped; RESUME=0 starts over");
    else if (w->begun)
        snprintf(why, size, "not finished, and no state to resume from");
    else
        find_reason_to_add(w, s, why, size);
    return STATUS_OK;
}

// Other runs of this call, and other calls, may have made the execution that seemed missing.
static status find_executions(const execution_work *w, execution_set *s, error *err) {
    counting_find(w->p, w->runs, w->r, w->seed, w->wanted, s);
    if ((size_t)w->round < s->count) return STATUS_OK;
    counting_release(s);
    *s = (execution_set){0};
    status rc = planned_seed_look(w->p, w->seed, err);
    if (rc == STATUS_OK) counting_find(w->p, w->runs, w->r, w->seed, w->wanted, s);
    return rc;
}

static status run_round(pipeline *p, const planned_runs *runs, const planned_run *r,
                        planned_seed *seed, int round, int wanted, execution_course *course,
                        error *err) {
    char why[512];
    execution_set s;
    execution_work w = {.p = p,
                        .course = course,
                        .runs = runs,
                        .r = r,
                        .seed = seed,
                        .round = round,
                        .wanted = wanted,
                        .current = round == 0};
    status rc = find_executions(&w, &s, err);
    if (rc != STATUS_OK) return rc;
    choose(&w, &s);
    const bool is_there = (size_t)round < s.count;
    // One that goes on from a state, or was trained before, is not timed in this round.
    if (!is_there && !w.resume && !w.begun) w.round_name = counting_round(runs, r, &s);
    w.trained = first_manifest(s.list);
    rc = find_reason(&w, &s, why, sizeof why, err);
    if (rc == STATUS_OK && *why) w.reason = why;
    // A training that fails does not take the link from a finished run.
    w.later = w.current && !is_there && store_links_finished(p->artifacts, seed->place);
    counting_release(&s);
    // Of the existing executions, only the first is checked stage by stage.
    if (rc == STATUS_OK && !(is_there && round > 0)) rc = run_execution(&w, err);
    course->done += !is_there;
    return rc;
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
    execution_set s;
    counting_find(m->p, m->runs, r, seed, 1, &s);
    bool wanted = s.count == 0;
    counting_release(&s);
    for (size_t i = 0; wanted && i < m->count; i++)
        wanted = strcmp(m->items[i].seed->key, seed->key) != 0;
    if (!wanted) return;
    m->items = memory_grow(m->items, &m->capacity, m->count + 1, sizeof *m->items);
    m->items[m->count++] = (seed_of_run){r, seed};
}

static status run_missing(void *context, size_t number, error *err) {
    const missing_seeds *m = context;
    execution_course course = *m->course;
    return run_round(m->p, m->runs, m->items[number].r, m->items[number].seed, 0, 1, &course, err);
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

static status run_rounds(pipeline *p, const planned_runs *runs, int rounds,
                         execution_course *course, error *err) {
    for (int round = 0; round < rounds; round++) {
        size_t seeds = 1;
        for (size_t k = 0; k < seeds; k++) {
            for (size_t i = 0; i < runs->count; i++) {
                const planned_run *r = &runs->items[i];
                const int wanted = counting_wanted(r, rounds);
                if (r->seed_count > seeds) seeds = r->seed_count;
                if (k >= r->seed_count || round >= wanted) continue;
                NEED(run_round(p, runs, r, &r->seeds[k], round, wanted, course, err));
            }
        }
    }
    return STATUS_OK;
}

status execute_all(pipeline *p, const planned_runs *runs, int rounds, error *err) {
    void (*const say)(const char *, const char *, const char *) = p->say;
    execution_course course = {.rounds = rounds, .began = clock_now()};
    for (size_t i = 0; i < runs->count; i++)
        course.all += counting_missing_of(p, runs, &runs->items[i], rounds);
    status rc = p->settings->jobs > 1 ? run_jobs(p, runs, &course, err) : STATUS_OK;
    if (rc == STATUS_OK) rc = run_rounds(p, runs, rounds, &course, err);
    p->say = say;
    return rc;
}
