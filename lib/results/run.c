// SPDX-License-Identifier: MIT
#include "results/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compute/devices.h"
#include "data/manifest.h"

const char *run_phase_name(int i) {
    static const char *const names[RUN_PHASES] = {"load", "copy", "forward", "backward",
                                                  "comm", "wait", "update"};
    return names[i];
}

// ---- Lookup in manifests ----

bool run_evaluates(const run *r, const yaml_node *evaluate) {
    const yaml_node *inputs = yaml_find(evaluate, "inputs");
    for (size_t i = 0; inputs && i < inputs->count; i++)
        if (strcmp(yaml_text_at(inputs->items[i], "content"), r->model_content) == 0) return true;
    return false;
}

bool run_may_stop_early(const yaml_node *train) {
    return *yaml_text_at(train, "parameters.early_stopping.patience") ||
           *yaml_text_at(train, "parameters.stop_at.accuracy");
}

status run_check_content(const file_place *file, const char *content, error *err) {
    const char *recorded = manifest_output_content(file->manifest, file->name);
    if (strcmp(recorded, content) == 0) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot report on '%s/%s': its content is %.12s, the manifest next to it "
                     "records %.12s",
                     file->folder, file->name, content, *recorded ? recorded : "nothing");
}

status run_number(const yaml_node *root, const char *path, double *value, error *err) {
    const yaml_node *node = yaml_get(root, path);
    *value = NAN;
    return node ? yaml_number(node, path, value, err) : STATUS_OK;
}

status run_count(const yaml_node *root, const char *path, int64_t *value, error *err) {
    const yaml_node *node = yaml_get(root, path);
    *value = -1;
    return node ? yaml_integer(node, path, 0, INT64_MAX, value, err) : STATUS_OK;
}

// ---- The run itself ----

void run_init(run *r) {
    *r = (run){.key = "",
               .views = "none",
               .experiment = "",
               .title = "",
               .dataset = "",
               .model = "",
               .strategy = "",
               .tool = "",
               .host = "",
               .cpu = "",
               .version = "",
               .isa = "",
               .math = "",
               .reduce = "",
               .seed = -1,
               .steps = -1,
               .samples = -1,
               .virtual_shards = -1,
               .global_batch = -1,
               .planned_epochs = NAN,
               .published_epochs = NAN,
               .steps_per_epoch = NAN,
               .world_size = -1,
               .threads = -1,
               .loader_workers = -1,
               .cores = -1,
               .hosts = -1,
               .host_ranks = -1,
               .cpu_ranks = -1,
               .gpus = -1,
               .lr = NAN,
               .train_loss = NAN,
               .seconds_per_epoch = NAN,
               .total_seconds = NAN,
               .accuracy = NAN,
               .test_loss = NAN,
               .target = NAN,
               .test_samples = -1};
}

void run_release(run *r) {
    free(r->name);
    free(r->folder);
    free(r->evaluation);
    free(r->epochs);
    free(r->seconds);
    free(r->classes);
    free(r->confusion);
    yaml_free(r->train);
    yaml_free(r->evaluate);
}

// ---- The train manifest ----

static status read_epoch(const yaml_node *node, run_epoch *e, error *err) {
    NEED(run_number(node, "loss", &e->loss, err));
    NEED(run_number(node, "accuracy", &e->accuracy, err));
    NEED(run_number(node, "seconds", &e->seconds, err));
    for (int p = 0; p < RUN_PHASES; p++) {
        char path[32];
        snprintf(path, sizeof path, "phases.%s", run_phase_name(p));
        NEED(run_number(node, path, &e->phase[p], err));
    }
    return STATUS_OK;
}

static status read_epochs(run *r, error *err) {
    const yaml_node *list = yaml_get(r->train, "results.epochs");
    if (!list) return STATUS_OK;
    if (list->kind != YAML_SEQUENCE) return yaml_error(list, err, "'epochs': expected a list");
    r->epochs = memory_new(list->count, sizeof *r->epochs);
    r->seconds = memory_new(list->count, sizeof *r->seconds);
    for (size_t i = 0; i < list->count; i++) {
        NEED(read_epoch(list->items[i], &r->epochs[i], err));
        r->epoch_count++;
    }
    return STATUS_OK;
}

// Only the manifest of a run with a shorter last epoch gives the steps of a whole one.
static status read_lengths(run *r, error *err) {
    status rc = run_number(r->train, "results.steps_per_epoch", &r->steps_per_epoch, err);
    if (rc != STATUS_OK || !r->epoch_count) return rc;
    if (isnan(r->steps_per_epoch)) r->steps_per_epoch = (double)r->steps / (double)r->epoch_count;
    const run_timed timed = run_timed_epochs(r);
    for (size_t i = timed.first; i < timed.end; i++)
        if (r->epochs[i].seconds > 0) r->seconds[r->timed++] = r->epochs[i].seconds * timed.scale;
    return STATUS_OK;
}

// Reads the learning rate after scaling, with which the schedule starts.
static status read_lr(run *r, error *err) {
    double base;
    status rc = run_number(r->train, "parameters.optimizer.lr", &r->lr, err);
    if (rc == STATUS_OK) rc = run_number(r->train, "parameters.lr_scaling.base_batch", &base, err);
    if (rc != STATUS_OK) return rc;
    const char *kind = yaml_text_at(r->train, "parameters.lr_scaling.kind");
    if (!*kind) kind = yaml_text_at(r->train, "parameters.lr_scaling"); // "none"
    if (strcmp(kind, "linear") == 0) r->lr *= (double)r->global_batch / base;
    if (strcmp(kind, "sqrt") == 0) r->lr *= sqrt((double)r->global_batch / base);
    return STATUS_OK;
}

static const char *device_text(const yaml_node *list, size_t i) {
    const yaml_node *node =
        list && list->kind == YAML_SEQUENCE && list->count ? list->items[i % list->count] : list;
    return node && node->kind == YAML_SCALAR ? node->text : "cpu";
}

// The devices of a host's ranks, replicas or stages, which take those of the list in turn.
typedef struct device_use {
    int64_t gpus; // different ones
    int64_t gpu_ranks, cpu_ranks;
} device_use;

static device_use use_of(const yaml_node *list, int64_t ranks) {
    device_use u = {0};
    int64_t listed = list && list->kind == YAML_SEQUENCE && list->count ? (int64_t)list->count : 1;
    if (listed > DEVICES_MAX) listed = DEVICES_MAX; // enough to know the kinds
    for (int64_t i = 0; i < listed && i < ranks; i++) {
        const char *device = device_text(list, (size_t)i);
        const int64_t users = ranks / listed + (i < ranks % listed);
        int64_t same = 0;
        while (strcmp(device_text(list, (size_t)same), device) != 0) same++;
        const bool on_cpu = strcmp(device, "cpu") == 0;
        u.gpus += !on_cpu && same == i;
        *(on_cpu ? &u.cpu_ranks : &u.gpu_ranks) += users;
    }
    return u;
}

// Sets the kind of device: that of "cuda:0" is "cuda", that of ranks on both is "cpu+cuda".
static void read_devices(run *r, const yaml_node *execution) {
    const yaml_node *list = yaml_find(execution, "devices");
    const char *first = device_text(list, 0);
    const device_use all = use_of(list, r->world_size < 1 ? 1 : r->world_size);
    const device_use u = use_of(list, r->host_ranks < 1 ? 1 : r->host_ranks);
    const int64_t busy = r->threads > 0 ? u.cpu_ranks * r->threads : 0;
    if (all.cpu_ranks && all.gpu_ranks)
        snprintf(r->device, sizeof r->device, "cpu+cuda");
    else
        snprintf(r->device, sizeof r->device, "%.*s", (int)strcspn(first, ":,"), first);
    r->cpu_ranks = u.cpu_ranks;
    r->gpus = u.gpus;
    r->simulated = u.gpu_ranks > u.gpus || (r->cores > 0 && busy > r->cores);
}

// All hosts are assumed to be like that of rank 0, the only one that the manifest describes.
static status read_hosts(run *r, const yaml_node *execution, error *err) {
    const yaml_node *list = yaml_find(execution, "hosts");
    r->hosts = 1;
    r->host_ranks = r->world_size;
    if (!list) return STATUS_OK;
    if (list->kind != YAML_SEQUENCE || list->count == 0)
        return yaml_error(list, err, "expected a list");
    r->hosts = (int64_t)list->count;
    r->host_ranks = 0;
    for (size_t i = 0; i < list->count; i++) {
        int64_t ranks;
        NEED(run_count(list->items[i], "ranks", &ranks, err));
        if (ranks > r->host_ranks) r->host_ranks = ranks;
    }
    return STATUS_OK;
}

const yaml_node *run_last_segment(const run *r) {
    return manifest_last_segment(r->train);
}

// Segments begun by a restart have the key `restarts`; those begun by --resume do not.
static bool was_restarted(const run *r) {
    const yaml_node *execution = yaml_get(r->train, "run.execution");
    for (int i = 1; i < r->segments; i++)
        if (!yaml_find(execution->items[i], "restarts")) return false;
    return r->segments > 1;
}

static status read_execution(run *r, error *err) {
    NEED(run_count(r->train, "parameters.world_size", &r->world_size, err));
    NEED(run_count(r->train, "parameters.loader_workers", &r->loader_workers, err));
    NEED(run_count(r->train, "run.cores", &r->cores, err));
    snprintf(r->device, sizeof r->device, "cpu");
    const yaml_node *execution = yaml_get(r->train, "run.execution"), *last = run_last_segment(r);
    const bool list = execution && execution->kind == YAML_SEQUENCE;
    r->segments = list ? (int)execution->count : 1;
    r->restarted = was_restarted(r);
    r->threads = -1;
    if (!last) return STATUS_OK;
    int64_t count;
    NEED(run_count(last, "world_size", &count, err));
    if (count >= 0) r->world_size = count;
    NEED(run_count(last, "loader_workers", &count, err));
    if (count >= 0) r->loader_workers = count;
    NEED(run_count(last, "threads", &r->threads, err));
    // The process may have been allowed fewer cores than the machine has.
    NEED(run_count(last, "machine.cores", &count, err));
    if (count > 0 && count < r->cores) r->cores = count;
    if (*yaml_text_at(last, "tool")) r->tool = yaml_text_at(last, "tool");
    if (*yaml_text_at(last, "strategy")) r->strategy = yaml_text_at(last, "strategy");
    r->math = yaml_text_at(last, "math");
    r->reduce = yaml_text_at(last, "reduce");
    if (*yaml_text_at(last, "isa")) r->isa = yaml_text_at(last, "isa");
    NEED(read_hosts(r, last, err));
    read_devices(r, last);
    return STATUS_OK;
}

status run_read_train(run *r, error *err) {
    r->key = yaml_text_at(r->train, "key");
    r->experiment = yaml_text_at(r->train, "parameters.name");
    r->published = yaml_get(r->train, "parameters.published");
    r->title = yaml_text_at(r->train, "parameters.title");
    r->dataset = yaml_text_at(r->train, "parameters.dataset");
    r->model = yaml_text_at(r->train, "parameters.model");
    if (!*r->model) r->model = yaml_text_at(r->train, "parameters.architecture.name");
    r->strategy = yaml_text_at(r->train, "parameters.strategy");
    r->tool = yaml_text_at(r->train, "tool");
    r->version = yaml_text_at(r->train, "version");
    r->isa = yaml_text_at(r->train, "run.isa");
    r->host = yaml_text_at(r->train, "run.host");
    r->cpu = yaml_text_at(r->train, "run.cpu");
    snprintf(r->model_content, sizeof r->model_content, "%s",
             manifest_output_content(r->train, "model.st.zst"));
    NEED(run_count(r->train, "parameters.seed", &r->seed, err));
    NEED(run_count(r->train, "parameters.virtual_shards", &r->virtual_shards, err));
    NEED(run_count(r->train, "parameters.global_batch", &r->global_batch, err));
    NEED(run_number(r->train, "parameters.epochs", &r->planned_epochs, err));
    NEED(run_count(r->train, "results.steps", &r->steps, err));
    NEED(run_count(r->train, "results.samples", &r->samples, err));
    NEED(run_number(r->train, "results.seconds_per_epoch", &r->seconds_per_epoch, err));
    NEED(run_number(r->train, "results.total_seconds", &r->total_seconds, err));
    NEED(run_number(r->train, "results.train_loss", &r->train_loss, err));
    NEED(run_number(r->train, "results.test_accuracy", &r->accuracy, err));
    NEED(run_number(r->train, "parameters.target_accuracy", &r->target, err));
    NEED(read_lr(r, err));
    NEED(read_execution(r, err));
    NEED(read_epochs(r, err));
    return read_lengths(r, err);
}

static status read_class(const yaml_node *entry, run_class *c, error *err) {
    c->name = yaml_text_at(entry, "name");
    if (!*c->name) c->name = yaml_text_at(entry, "class");
    NEED(run_number(entry, "accuracy", &c->accuracy, err));
    NEED(run_count(entry, "count", &c->count, err));
    if (!*c->name || isnan(c->accuracy) || c->count < 0)
        return yaml_error(entry, err, "'per_class': expected class, accuracy and count");
    c->right = (int64_t)llround(c->accuracy * (double)c->count);
    return STATUS_OK;
}

static status read_classes(run *r, error *err) {
    const yaml_node *list = yaml_get(r->evaluate, "results.per_class");
    if (!list) return STATUS_OK;
    r->test_samples = 0;
    r->classes = memory_new(list->count, sizeof *r->classes);
    for (size_t i = 0; i < list->count; i++) {
        NEED(read_class(list->items[i], &r->classes[i], err));
        r->test_samples += r->classes[i].count;
        r->class_count++;
    }
    return STATUS_OK;
}

static status read_confusion(run *r, error *err) {
    const yaml_node *rows = yaml_get(r->evaluate, "results.confusion");
    const size_t n = r->class_count;
    if (!rows) return STATUS_OK;
    if (rows->kind != YAML_SEQUENCE || rows->count != n)
        return yaml_error(rows, err, "'confusion': expected %zu rows", n);
    r->confusion = memory_new(n * n, sizeof *r->confusion);
    for (size_t i = 0; i < n * n; i++) {
        const yaml_node *row = rows->items[i / n];
        if (row->kind != YAML_SEQUENCE || row->count != n)
            return yaml_error(row, err, "'confusion': expected %zu counts", n);
        status rc =
            yaml_integer(row->items[i % n], "confusion", 0, INT64_MAX, &r->confusion[i], err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

status run_read_evaluation(run *r, error *err) {
    double accuracy;
    NEED(run_number(r->evaluate, "results.accuracy", &accuracy, err));
    NEED(run_number(r->evaluate, "results.loss", &r->test_loss, err));
    if (!isnan(accuracy)) r->accuracy = accuracy;
    if (*yaml_text_at(r->evaluate, "parameters.views"))
        r->views = yaml_text_at(r->evaluate, "parameters.views");
    NEED(read_classes(r, err));
    return read_confusion(r, err);
}

// ---- Times ----

double run_epoch_steps(const run *r, size_t i) {
    return fmin(r->steps_per_epoch, (double)r->steps - (double)i * r->steps_per_epoch);
}

run_timed run_timed_epochs(const run *r) {
    const double last = r->epoch_count ? run_epoch_steps(r, r->epoch_count - 1) : 0;
    const bool shorter = last < r->steps_per_epoch - 0.5;
    const size_t wholes = r->epoch_count - shorter;
    if (shorter && !wholes) return (run_timed){0, 1, last, r->steps_per_epoch / last};
    const size_t first = wholes > 1 ? 1 : 0;
    return (run_timed){first, wholes, r->steps_per_epoch * (double)(wholes - first), 1};
}

run_split run_time_split(const run *r) {
    run_split split = {.sum = 0, .wall = 0};
    const run_timed timed = run_timed_epochs(r);
    double scale = run_has_time(r) && r->steps > 0 && r->epoch_count ? 1000 / timed.steps : NAN;
    for (size_t i = timed.first; i < timed.end; i++) {
        split.wall += r->epochs[i].seconds * scale;
        for (int p = 0; p < RUN_PHASES; p++) split.phase[p] += r->epochs[i].phase[p] * scale;
    }
    for (int p = 0; p < RUN_PHASES; p++) split.sum += split.phase[p];
    if (isnan(scale)) split.sum = split.wall = NAN;
    return split;
}

double run_target(const run *r) {
    bool tested = false;
    for (size_t i = 0; i < r->epoch_count; i++) tested |= !isnan(r->epochs[i].accuracy);
    return tested ? r->target : NAN;
}

bool run_reaches(const run *r, double target) {
    for (size_t i = 0; i < r->epoch_count; i++)
        if (r->epochs[i].accuracy >= target) return true;
    return false;
}

double run_time_to(const run *r, double target) {
    double seconds = 0;
    for (size_t i = 0; run_has_time(r) && i < r->epoch_count; i++) {
        seconds += r->epochs[i].seconds;
        if (r->epochs[i].accuracy >= target) return seconds;
    }
    return NAN;
}
