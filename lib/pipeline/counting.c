// SPDX-License-Identifier: MIT
#include "pipeline/counting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/sha256.h"
#include "base/text.h"
#include "data/manifest.h"

// ---- One execution ----

int counting_wanted(const planned_run *r, int rounds) {
    const int seeds = (int)r->seed_count;
    return (rounds + seeds - 1) / seeds;
}

static bool has_text(const yaml_node *root, const char *path, const char *expected) {
    return strcmp(yaml_text_at(root, path), expected) == 0;
}

// `experiment` needs only the model; all other commands also need times.
bool counting_needs_times(const pipeline *p, int wanted) {
    return wanted > 1 || p->settings->command != COMMAND_EXPERIMENT;
}

// The kinds of devices of an execution.
typedef struct kinds {
    bool cpu, gpu;
} kinds;

static kinds kinds_of(const yaml_node *train) {
    const yaml_node *list = yaml_get(manifest_last_segment(train), "devices");
    kinds k = {.cpu = !list || !list->count};
    for (size_t i = 0; list && i < list->count; i++) {
        const char *device = list->items[i]->text;
        *(!device || strcmp(device, "cpu") == 0 ? &k.cpu : &k.gpu) = true;
    }
    return k;
}

// Was it trained on the kinds of devices that DEVICE gives this run's ranks? All kinds give the
// same model, so if it names none, any will do.
static bool is_on_device(const planned_run *r, const yaml_node *train) {
    const char *wanted = strvec_option_value(&r->device, "--device");
    if (!wanted || strcmp(wanted, "auto") == 0) return true;
    const kinds k = kinds_of(train);
    return k.cpu == !!strstr(wanted, "cpu") && k.gpu == !!strstr(wanted, "cuda");
}

// Did its command have --threads, or was the number left to the tool?
static bool chose_threads(const yaml_node *train) {
    const yaml_node *command = yaml_find(train, "command");
    strvec words = {0};
    for (size_t i = 0; command && i < command->count; i++)
        if (command->items[i]->kind == YAML_SCALAR) strvec_add(&words, command->items[i]->text);
    const bool chose = strvec_option_value(&words, "--threads") != NULL;
    strvec_release(&words);
    return chose;
}

// Was it trained with THREADS threads, or without that setting? A time belongs to the setting. Does
// not apply to GPUs.
static bool is_as_wide(const pipeline *p, const yaml_node *train) {
    const char *threads = p->settings->values[SETTING_THREADS];
    if (!kinds_of(train).cpu) return true;
    return threads ? has_text(manifest_last_segment(train), "threads", threads)
                   : !chose_threads(train);
}

// Does not count unless its times are comparable to the others'. An execution that was stopped and
// resumed has no times, but still counts if only one execution is needed.
static const char *why_no_time(const planned_runs *runs, const execution *x, int wanted) {
    const yaml_node *segments = yaml_get(x->train, "run.execution");
    if (wanted > 1 && (!segments || segments->kind != YAML_MAPPING))
        return "was resumed, so it has no times";
    if (!has_text(x->train, "run.host", runs->host)) return "is from another host";
    if (!has_text(x->train, "version", runs->version) ||
        strcmp(yaml_text_at(x->train, "run.sources"), runs->sources) != 0)
        return "is from another version";
    return NULL;
}

static bool is_in(const strvec *list, const execution *x) {
    return x->train && strvec_has(list, yaml_text_at(x->train, "run.round"));
}

bool counting_is_finished(const planned_run *r, const execution *x) {
    return x->finished && x->views >> r->e.tta & 1u;
}

// Did it keep no states between its parts? A training of one step has no parts.
static bool lacks_states(const execution *x) {
    return !store_has_states(x) && strcmp(yaml_text_at(x->train, "results.steps"), "1") != 0;
}

// It may lack what this call needs: the device that DEVICE names, the states that STATES asks for,
// and times.
const char *counting_why_not(const pipeline *p, const planned_runs *runs, const planned_run *r,
                             const execution *x, int wanted) {
    if (!counting_is_finished(r, x)) return "is not finished";
    if (p->settings->values[SETTING_STATES] && lacks_states(x)) return "kept no states";
    if (!is_on_device(r, x->train)) return "was trained on another kind of device";
    const bool times = counting_needs_times(p, wanted);
    const bool beside = *yaml_text_at(x->train, "run.jobs") != 0; // with a thread each
    if ((times || runs->turns.count) && beside) return "was trained beside others";
    if (!beside && !is_as_wide(p, x->train)) return "was trained with another number of threads";
    const char *why = times ? why_no_time(runs, x, wanted) : NULL;
    if (why || !r->in_rounds || is_in(&runs->rounds, x)) return why;
    return "is not of a round with the other runs";
}

void counting_release(execution_set *s) {
    free(s->counting);
}

void counting_find(const pipeline *p, const planned_runs *runs, const planned_run *r,
                   const planned_seed *seed, int wanted, execution_set *s) {
    const execution_list *list = &seed->kept;
    *s = (execution_set){.list = list, .counting = memory_new(list->count, sizeof *s->counting)};
    for (size_t i = 0; i < list->count; i++)
        if (!counting_why_not(p, runs, r, &list->items[i], wanted)) s->counting[s->count++] = i;
}

int counting_missing_of(const pipeline *p, const planned_runs *runs, const planned_run *r,
                        int rounds) {
    const int wanted = counting_wanted(r, rounds);
    int missing = 0;
    for (size_t k = 0; k < r->seed_count; k++) {
        execution_set s;
        counting_find(p, runs, r, &r->seeds[k], wanted, &s);
        if ((int)s.count < wanted) missing += wanted - (int)s.count;
        counting_release(&s);
    }
    return missing;
}

// ---- Common rounds ----

// One seed of a run: the rounds of its executions, and of those that count.
typedef struct unit {
    strvec seen, counting;
} unit;

// The units that are timed in rounds together.
typedef struct units {
    unit *items;
    size_t count;
    char plan[9]; // begins the names of their own rounds: a hash of their keys
} units;

static void release_units(units *u) {
    for (size_t i = 0; i < u->count; i++) {
        strvec_release(&u->items[i].seen);
        strvec_release(&u->items[i].counting);
    }
    free(u->items);
}

// Runs that need fewer executions than others take no part: those with more seeds. Nor does a run
// alone.
static void choose_runs(planned_runs *runs, int rounds) {
    int most = 0;
    size_t count = 0;
    for (size_t i = 0; i < runs->count; i++) {
        const int wanted = counting_wanted(&runs->items[i], rounds);
        if (wanted > most) most = wanted;
    }
    for (size_t i = 0; i < runs->count; i++)
        count += counting_wanted(&runs->items[i], rounds) == most;
    for (size_t i = 0; i < runs->count; i++)
        runs->items[i].in_rounds =
            most > 1 && count > 1 && counting_wanted(&runs->items[i], rounds) == most;
}

static void find_unit(const pipeline *p, const planned_runs *runs, const planned_run *r,
                      const planned_seed *seed, int wanted, unit *u) {
    planned_run alone = *r;
    execution_set s;
    size_t at = 0;
    alone.in_rounds = false;
    counting_find(p, runs, &alone, seed, wanted, &s);
    for (size_t i = 0; i < s.list->count; i++) {
        const bool counts = at < s.count && s.counting[at] == i;
        const char *round = yaml_text_at(s.list->items[i].train, "run.round");
        at += counts;
        if (*round) strvec_add(&u->seen, round);
        if (*round && counts) strvec_add(&u->counting, round);
    }
    counting_release(&s);
}

static void find_units(const pipeline *p, const planned_runs *runs, int rounds, units *u) {
    char hash[SHA256_TEXT_BYTES];
    text keys = {0};
    size_t all = 0;
    *u = (units){0};
    for (size_t i = 0; i < runs->count; i++) all += runs->items[i].seed_count;
    u->items = memory_new(all, sizeof *u->items);
    for (size_t i = 0; i < runs->count; i++) {
        const planned_run *r = &runs->items[i];
        for (size_t k = 0; r->in_rounds && k < r->seed_count; k++) {
            text_append(&keys, r->seeds[k].key);
            find_unit(p, runs, r, &r->seeds[k], counting_wanted(r, rounds), &u->items[u->count++]);
        }
    }
    sha256_buffer(text_string(&keys), keys.length, hash);
    snprintf(u->plan, sizeof u->plan, "%.8s", hash);
    text_release(&keys);
}

// Has every unit a counting execution of this round? `open`: or none, finished or not?
static bool have_all(const units *u, const char *round, bool open) {
    for (size_t i = 0; i < u->count; i++)
        if (!strvec_has(&u->items[i].counting, round) &&
            !(open && !strvec_has(&u->items[i].seen, round)))
            return false;
    return true;
}

// The number of a round "PLAN-NUMBER" of these units; 0: it is another plan's.
static int number_of(const units *u, const char *round) {
    const size_t length = strlen(u->plan);
    return strncmp(round, u->plan, length) == 0 && round[length] == '-' ? atoi(round + length + 1)
                                                                        : 0;
}

// Adds the rounds that are complete, or, with `open`, those of this plan that were interrupted.
static void add_rounds(planned_runs *runs, const units *u, bool open, size_t most) {
    for (size_t i = 0; i < u->count; i++) {
        const strvec *own = &u->items[i].counting;
        for (size_t k = 0; k < own->count; k++) {
            const char *round = own->items[k];
            if (strvec_has(&runs->rounds, round) || !have_all(u, round, open)) continue;
            if (open && (runs->rounds.count >= most || !number_of(u, round))) continue;
            strvec_add(&runs->rounds, round);
        }
    }
}

// Finds the rounds that count: complete ones, interrupted ones, then new ones up to `rounds`.
static void find_rounds(const pipeline *p, planned_runs *runs, int rounds) {
    units u;
    int last = 0;
    size_t most = 0;
    strvec_release(&runs->rounds);
    choose_runs(runs, rounds);
    find_units(p, runs, rounds, &u);
    for (size_t i = 0; i < runs->count; i++)
        if (runs->items[i].in_rounds) most = (size_t)counting_wanted(&runs->items[i], rounds);
    add_rounds(runs, &u, false, most);
    add_rounds(runs, &u, true, most);
    for (size_t i = 0; i < u.count; i++)
        for (size_t k = 0; k < u.items[i].seen.count; k++)
            if (number_of(&u, u.items[i].seen.items[k]) > last)
                last = number_of(&u, u.items[i].seen.items[k]);
    while (runs->rounds.count < most) strvec_format(&runs->rounds, "%s-%d", u.plan, ++last);
    release_units(&u);
}

const char *counting_round(const planned_runs *runs, const planned_run *r, const execution_set *s) {
    for (size_t i = 0; r->in_rounds && i < runs->rounds.count; i++) {
        bool has = false;
        for (size_t k = 0; k < s->list->count && !has; k++)
            has = strcmp(yaml_text_at(s->list->items[k].train, "run.round"),
                         runs->rounds.items[i]) == 0;
        if (!has) return runs->rounds.items[i];
    }
    return NULL;
}

// ---- Missing executions ----

static int count_missing(const pipeline *p, planned_runs *runs, int rounds) {
    int missing = 0;
    find_rounds(p, runs, rounds);
    for (size_t i = 0; i < runs->count; i++)
        missing += counting_missing_of(p, runs, &runs->items[i], rounds);
    return missing;
}

static void take_condition(planned_runs *runs, const char *host, const char *version,
                           const char *sources) {
    snprintf(runs->host, sizeof runs->host, "%s", host);
    snprintf(runs->version, sizeof runs->version, "%s", version);
    snprintf(runs->sources, sizeof runs->sources, "%s", sources);
}

int counting_missing(const pipeline *p, planned_runs *runs, int rounds) {
    const execution_list *first = &runs->items[0].seeds[0].kept;
    char host[PROCESS_HOST_BYTES];
    process_host(host);
    take_condition(runs, host, cli_version(), cli_sources());
    int missing = count_missing(p, runs, rounds);
    if (!missing) return 0;
    // A complete set includes an execution of the first run, so its conditions are among those.
    for (size_t i = first->count; missing && i-- > 0;) {
        const yaml_node *train = first->items[i].train;
        if (!train) continue;
        take_condition(runs, yaml_text_at(train, "run.host"), yaml_text_at(train, "version"),
                       yaml_text_at(train, "run.sources"));
        missing = count_missing(p, runs, rounds);
    }
    if (!missing) return 0;
    take_condition(runs, host, cli_version(), cli_sources());
    return count_missing(p, runs, rounds);
}
