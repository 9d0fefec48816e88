// SPDX-License-Identifier: MIT
#include "pipeline/counting.h"

#include <stdio.h>
#include <string.h>

#include "base/cli.h"
#include "base/process.h"
#include "data/manifest.h"

// ---- One execution ----

static bool has_text(const yaml_node *root, const char *path, const char *expected) {
    return strcmp(yaml_text_at(root, path), expected) == 0;
}

// `experiment` needs only the model, unless TIME=1; all other commands also need times, unless
// TIME=0.
bool counting_needs_times(const pipeline *p) {
    if (p->settings->command == COMMAND_EXPERIMENT) return p->settings->time == TIME_ALL;
    return p->settings->time != TIME_NOTHING;
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

// Does not count unless its times are comparable to the others'. One that was resumed has none as a
// whole; that is enough for runs that are compared, which take turns.
static const char *why_no_time(const pipeline *p, const planned_runs *runs, const execution *x) {
    const yaml_node *segments = yaml_get(x->train, "run.execution");
    if (p->settings->time == TIME_ALL && (!segments || segments->kind != YAML_MAPPING))
        return "was resumed, so it has no times";
    if (!has_text(x->train, "run.host", runs->host)) return "is from another host";
    if (!has_text(x->train, "version", runs->version) ||
        strcmp(yaml_text_at(x->train, "run.sources"), runs->sources) != 0)
        return "is from another version";
    return NULL;
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
                             const execution *x) {
    if (!counting_is_finished(r, x)) return "is not finished";
    if (p->settings->values[SETTING_STATES] && lacks_states(x)) return "kept no states";
    if (!is_on_device(r, x->train)) return "was trained on another kind of device";
    const bool times = counting_needs_times(p);
    const bool beside = *yaml_text_at(x->train, "run.jobs") != 0; // with a thread each
    if ((times || runs->turns.count) && beside) return "was trained beside others";
    if (!beside && !is_as_wide(p, x->train)) return "was trained with another number of threads";
    return times ? why_no_time(p, runs, x) : NULL;
}

const execution *counting_find(const pipeline *p, const planned_runs *runs, const planned_run *r,
                               const planned_seed *seed) {
    const execution_list *list = &seed->kept;
    for (size_t i = 0; i < list->count; i++)
        if (!counting_why_not(p, runs, r, &list->items[i])) return &list->items[i];
    return NULL;
}

// ---- Missing executions ----

size_t counting_missing_of(const pipeline *p, const planned_runs *runs, const planned_run *r) {
    size_t missing = 0;
    for (size_t k = 0; k < r->seed_count; k++) missing += !counting_find(p, runs, r, &r->seeds[k]);
    return missing;
}

size_t counting_missing(const pipeline *p, const planned_runs *runs) {
    size_t missing = 0;
    for (size_t i = 0; i < runs->count; i++)
        missing += counting_missing_of(p, runs, &runs->items[i]);
    return missing;
}

static void take_condition(planned_runs *runs, const char *host, const char *version,
                           const char *sources) {
    snprintf(runs->host, sizeof runs->host, "%s", host);
    snprintf(runs->version, sizeof runs->version, "%s", version);
    snprintf(runs->sources, sizeof runs->sources, "%s", sources);
}

void counting_decide(const pipeline *p, planned_runs *runs) {
    const execution_list *first = &runs->items[0].seeds[0].kept;
    char host[PROCESS_HOST_BYTES];
    process_host(host);
    take_condition(runs, host, cli_version(), cli_sources());
    size_t missing = counting_missing(p, runs);
    // A complete set includes an execution of the first run, so its conditions are among those.
    for (size_t i = first->count; missing && i-- > 0;) {
        const yaml_node *train = first->items[i].train;
        if (!train) continue;
        take_condition(runs, yaml_text_at(train, "run.host"), yaml_text_at(train, "version"),
                       yaml_text_at(train, "run.sources"));
        missing = counting_missing(p, runs);
    }
    if (missing) take_condition(runs, host, cli_version(), cli_sources());
}
