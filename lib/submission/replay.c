// SPDX-License-Identifier: MIT
#include "submission/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/memory.h"
#include "base/paths.h"
#include "base/random.h"
#include "data/manifest.h"
#include "data/manifest_folders.h"
#include "submission/replay_compare.h"

static const char TRAIN_TOOL[] = "train-", STATES[] = "states/", LAST_STATE[] = "state.st.zst",
                  STEPS[] = "steps.st.zst", MODEL[] = "model.st.zst";

// ---- The run ----

static status refuse(const replay *r, error *err, const char *why) {
    return error_set(err, STATUS_INPUT, "cannot replay: '%s': %s", r->folder, why);
}

// The folder of another tool: perhaps its run was meant.
static status refuse_other(const replay *r, error *err) {
    char *hint = manifest_hint_runs(r->folder);
    char *why = memory_format("its manifest is not one of a training%s", hint);
    status rc = refuse(r, err, why);
    free(why);
    free(hint);
    return rc;
}

// Bits that depend on more than the experiment need the machine that made them.
static status check_order(const replay *r, error *err) {
    const char *backend = yaml_text_at(r->manifest, "parameters.backend");
    if (yaml_get(r->manifest, "parameters.reduce"))
        return refuse(r, err, "it was trained with '--reduce fast': no other run has its bits");
    if (strcmp(backend, "mixed") == 0)
        return refuse(r, err, "processors and GPUs computed it: no other run has its bits");
    return STATUS_OK;
}

status replay_check_device(const replay *r, const char *device, error *err) {
    const bool fast = *yaml_text_at(r->manifest, "parameters.backend");
    if (!device || !fast || strncmp(device, "cuda", 4) == 0) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "cannot replay: '%s': it was trained with '--math fast', whose bits only a "
                     "GPU gives: '--device %s'",
                     r->folder, device);
}

static bool has_states(const yaml_node *training) {
    const yaml_node *outputs = yaml_find(training, "outputs");
    for (size_t i = 0; outputs && i < outputs->count; i++)
        if (strncmp(yaml_text_at(outputs->items[i], "path"), STATES, strlen(STATES)) == 0)
            return true;
    return false;
}

// Takes another execution of the run, KEY12/N/train in the store, if it kept states and this one
// did not: links of experiments lead to the first.
static void take_other_execution(replay *r) {
    const char *key = yaml_text_at(r->manifest, "key");
    char *real = realpath(r->folder, NULL), *execution = real ? paths_folder(real) : NULL;
    char *run = execution ? paths_folder(execution) : NULL;
    strvec names = {0};
    if (run && *key && strcmp(paths_name(real), "train") == 0)
        (void)paths_list(run, NULL, true, &names);
    for (size_t i = 0; i < names.count && !has_states(r->manifest); i++) {
        char *folder = memory_format("%s/%s/train", run, names.items[i]);
        yaml_node *other = NULL;
        const bool read = manifest_read_in(&other, NULL, "%s", folder) == STATUS_OK;
        if (read && strcmp(yaml_text_at(other, "key"), key) == 0 && has_states(other)) {
            yaml_free(r->manifest);
            free(r->folder);
            r->manifest = other;
            r->folder = folder;
        } else {
            yaml_free(other);
            free(folder);
        }
    }
    strvec_release(&names);
    free(run);
    free(execution);
    free(real);
}

static status read_run(replay *r, const char *folder, error *err) {
    char *path = NULL;
    status rc;
    TRY(manifest_locate(folder, &path, err));
    char *name = strrchr(path, '/');
    r->folder = name ? memory_string(path) : memory_string("./");
    r->folder[name ? (size_t)(name - path) : 1] = 0;
    TRY(manifest_read(path, &r->manifest, err));
    const char *tool = yaml_text_at(r->manifest, "tool");
    if (strncmp(tool, TRAIN_TOOL, strlen(TRAIN_TOOL)) != 0)
        rc = refuse_other(r, err);
    else
        rc = check_order(r, err);
    if (rc == STATUS_OK && !has_states(r->manifest)) take_other_execution(r);
out:
    free(path);
    return rc;
}

// Makes a path of the manifest relative to this process; free() it.
static char *path_of(const replay *r, const char *path) {
    return paths_in(r->folder, path);
}

// The input number `at`; shards stand for their folder.
static status find_input(const replay *r, size_t at, char **path, error *err) {
    const yaml_node *inputs = yaml_find(r->manifest, "inputs");
    const yaml_node *input = inputs && at < inputs->count ? inputs->items[at] : NULL;
    const char *name = input ? yaml_text_at(input, "path") : "";
    if (!*name || strcmp(name, "-") == 0)
        return refuse(r, err, "its manifest does not name a file of the data: pass --train");
    *path = path_of(r, name);
    char *slash = strrchr(*path, '/');
    if (yaml_find(input, "source") && slash) *slash = 0;
    return STATUS_OK;
}

static status find_data(replay *r, const char *data, const char *init, error *err) {
    const char *weights = yaml_text_at(r->manifest, "parameters.initial_weights.file");
    if (*weights && !init)
        return error_set(err, STATUS_INPUT,
                         "cannot replay: '%s': it began with '%s': pass that file as --init",
                         r->folder, weights);
    r->init = init ? memory_string(init) : NULL;
    if (!data) return find_input(r, 0, &r->data, err);
    r->data = memory_string(data);
    return STATUS_OK;
}

// ---- Segments ----

static status read_step(const char *path, uint64_t *step, error *err) {
    tensor_file f = {0};
    status rc = tensor_file_read_header(path, &f, err);
    const char *text = rc == STATUS_OK ? tensor_file_metadata(&f, "step") : NULL;
    char *end = NULL;
    if (text) *step = strtoull(text, &end, 10);
    if (rc == STATUS_OK && (!text || end == text || *end || *step == 0))
        rc = error_set(err, STATUS_INPUT, "cannot replay: '%s': not a state of a training", path);
    tensor_file_release(&f);
    return rc;
}

// Takes `path` over.
static status add_segment(replay *r, char *path, error *err) {
    const uint64_t before = r->count ? r->segments[r->count - 1].end : 0;
    uint64_t step = 0;
    replay_part *part = &r->segments[r->count];
    *part = (replay_part){.first = before, .ends = path};
    r->count++;
    NEED(read_step(path, &step, err));
    if (step <= before)
        return error_set(err, STATUS_INPUT,
                         "cannot replay: '%s': a state after step %" PRIu64
                         " follows one after step %" PRIu64,
                         path, step, before);
    part->end = r->steps = step;
    return STATUS_OK;
}

// In the order of the manifest, which is that of the steps; the last state ends the run.
static status find_segments(replay *r, error *err) {
    const yaml_node *outputs = yaml_find(r->manifest, "outputs");
    const size_t room = outputs ? outputs->count : 0;
    r->segments = memory_new(room + 1, sizeof *r->segments);
    for (size_t i = 0; i < room; i++) {
        const char *name = yaml_text_at(outputs->items[i], "path");
        if (strncmp(name, STATES, strlen(STATES)) != 0) continue;
        NEED(add_segment(r, path_of(r, name), err));
    }
    if (r->count == 0) return refuse(r, err, "it kept no states: train with --keep-states N");
    return add_segment(r, path_of(r, LAST_STATE), err);
}

status replay_open(replay *r, const char *folder, const char *data, const char *init, error *err) {
    status rc = read_run(r, folder, err);
    if (rc == STATUS_OK) rc = find_data(r, data, init, err);
    return rc == STATUS_OK ? find_segments(r, err) : rc;
}

void replay_release(replay *r) {
    for (size_t i = 0; i < r->count; i++) free(r->segments[i].ends);
    free(r->segments);
    free(r->folder);
    free(r->data);
    free(r->init);
    yaml_free(r->manifest);
    *r = (replay){0};
}

// ---- The choice ----

void replay_choose(replay *r, size_t wanted, uint64_t seed) {
    const random_stream s = {.seed = seed, .purpose = RANDOM_TRIAL};
    uint32_t *order = memory_new(r->count, sizeof *order);
    random_permutation(&s, order, (uint32_t)r->count);
    for (size_t i = 0; i < r->count; i++) r->segments[order[i]].chosen = i < wanted;
    free(order);
}

status replay_draw_seed(uint64_t *seed, error *err) {
    uint32_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return error_set(err, STATUS_FAILED, "no random numbers from the system: pass a seed");
    *seed = random;
    return STATUS_OK;
}

double replay_probability(size_t count, size_t chosen, size_t forged) {
    double missed = 1; // the share of the choices that have none of them
    for (size_t i = 0; i < chosen; i++)
        missed *= count - i > forged ? (double)(count - i - forged) / (double)(count - i) : 0;
    return 1 - missed;
}

// ---- Checks without training ----

status replay_read_output(const replay *r, const char *path, tensor_file *f, error *err) {
    NEED(tensor_file_read(path, TENSOR_FILE_DEFAULT_MAX, f, err));
    const char *content = manifest_output_content(r->manifest, path + strlen(r->folder) + 1);
    if (strcmp(content, f->content) == 0) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot replay: '%s': its content is not the one in the manifest", path);
}

static status check_steps(const replay *r, const replay_part *part, const tensor_file *steps,
                          error *err) {
    const char *path = part->ends;
    tensor_file state = {0};
    uint64_t differs;
    status rc;
    TRY(replay_read_output(r, path, &state, err));
    TRY(replay_compare_steps(&state, "steps.", path, steps, "", 0, part->end, &differs, err));
    if (differs)
        rc = error_set(err, STATUS_INPUT,
                       "cannot replay: '%s': its step %" PRIu64 " is not that of '%s/%s'", path,
                       differs, r->folder, STEPS);
out:
    tensor_file_release(&state);
    return rc;
}

status replay_check_files(const replay *r, error *err) {
    tensor_file steps = {0};
    char *path = path_of(r, STEPS);
    status rc = replay_read_output(r, path, &steps, err);
    for (size_t i = 0; rc == STATUS_OK && i < r->count; i++)
        rc = check_steps(r, &r->segments[i], &steps, err);
    tensor_file_release(&steps);
    free(path);
    return rc;
}

// The prefix of the tensors in a last state that are the model (train/checkpoint.h).
static const char *model_prefix(const replay *r, const tensor_file *state) {
    if (tensor_file_metadata(state, "best_epoch")) return "best.";
    return strcmp(yaml_text_at(r->manifest, "parameters.average.kind"), "ema") == 0 ? "average."
                                                                                    : "model.";
}

status replay_compare_model(const replay *r, replay_difference *difference, error *err) {
    tensor_file model = {0}, state = {0};
    const char *name;
    char *path = path_of(r, MODEL);
    status rc = STATUS_OK;
    *difference = (replay_difference){.end = r->steps, .model = true};
    TRY(replay_read_output(r, path, &model, err));
    TRY(replay_read_output(r, r->segments[r->count - 1].ends, &state, err));
    name = replay_compare_prefixed(&model, &state, model_prefix(r, &state));
    difference->differs = name != NULL;
    snprintf(difference->tensor, sizeof difference->tensor, "%s", name ? name : "");
out:
    tensor_file_release(&state);
    tensor_file_release(&model);
    free(path);
    return rc;
}

// ---- As text ----

void replay_describe(const replay_difference *d, char text[REPLAY_TEXT_BYTES]) {
    char first[64] = "", in[REPLAY_TEXT_BYTES - 72] = "";
    if (d->step) snprintf(first, sizeof first, "first at step %" PRIu64, d->step);
    if (*d->tensor)
        snprintf(in, sizeof in, "after step %" PRIu64 " in %s '%s'", d->end,
                 d->model ? "the model's" : "tensor", d->tensor);
    snprintf(text, REPLAY_TEXT_BYTES, "%s%s%s", first, *first && *in ? ", and " : "", in);
}

const char *replay_describe_model(const replay *r) {
    if (r->segments[r->count - 1].chosen) return "the model is the one trained again";
    return "the model has the tensors of the last state, which was not trained again; its "
           "normalisation and classes were not compared";
}
