// SPDX-License-Identifier: MIT
// Trains one segment of a run again, by a train tool in a temporary folder.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/strvec.h"
#include "pipeline/child.h"
#include "pipeline/stage.h"
#include "submission/replay.h"
#include "submission/replay_compare.h"

static char *in_folder(const char *folder, const char *name) {
    return memory_format("%s/%s", folder, name);
}

static status make_folder(char **folder, error *err) {
    const char *where = getenv("TMPDIR");
    *folder = memory_format("%s/replay-XXXXXX", where && *where ? where : "/tmp");
    if (mkdtemp(*folder)) return STATUS_OK;
    status rc = error_system(err, STATUS_FAILED, errno, "cannot make folder: '%s'", *folder);
    free(*folder);
    *folder = NULL;
    return rc;
}

// ---- The experiment, from the manifest ----

// The resolved experiment names its model and has it as `architecture`; a file has the model's
// path.
static status write_experiment(const replay *r, const char *folder, const char *path, error *err) {
    const yaml_node *architecture = yaml_get(r->manifest, "parameters.architecture");
    yaml_node *tree = yaml_copy(yaml_find(r->manifest, "parameters"));
    char *model = in_folder(folder, "model.yaml");
    status rc;
    if (!architecture) {
        rc = error_set(err, STATUS_INPUT, "cannot replay: '%s': its manifest has no 'architecture'",
                       r->folder);
        goto out;
    }
    TRY(yaml_write_file(architecture, model, err));
    yaml_remove(tree, "architecture");
    yaml_remove(tree, "backend");
    yaml_remove(tree, "init_except");
    yaml_remove(tree, "model");
    yaml_put(tree, "model", yaml_new_string(model));
    TRY(yaml_write_file(tree, path, err));
out:
    free(model);
    yaml_free(tree);
    return rc;
}

// ---- Training ----

static void build_command(const replay *r, const replay_part *part, const char *begins,
                          const replay_settings *how, const char *file, const char *out,
                          strvec *command) {
    const yaml_node *except = yaml_get(r->manifest, "parameters.init_except");
    const bool last = part->end == r->steps;
    strvec_format(command, "%s/%s", how->bin, how->tool);
    strvec_add(command, "-q");
    strvec_add_option(command, "--experiment", file);
    strvec_add_option(command, "--train", r->data);
    strvec_add_option(command, "--init", r->init);
    for (size_t i = 0; r->init && except && i < except->count; i++)
        strvec_add_option(command, "--init-except", except->items[i]->text);
    strvec_add_option(command, "--out", out);
    stage_add_devices(command, r->manifest, how->device);
    strvec_add_option(command, "--threads", how->threads);
    strvec_add_option(command, "--world-size", how->world_size);
    strvec_add_option(command, "--loader-workers", how->loader_workers);
    if (begins) strvec_add(command, "--resume");
    if (!last) strvec_add(command, "--stop-after-steps");
    if (!last) strvec_format(command, "%" PRIu64, part->end);
}

static status train(const replay *r, const replay_part *part, const char *begins,
                    const replay_settings *how, const char *folder, const char *out, error *err) {
    strvec command = {0};
    char *file = in_folder(folder, "experiment.yaml"), *state = NULL;
    status rc = write_experiment(r, folder, file, err);
    if (rc != STATUS_OK) goto out;
    TRY(output_make_folder(out, err));
    if (begins) {
        state = in_folder(out, "state.st.zst");
        TRY(copy_file(begins, state, err));
    }
    build_command(r, part, begins, how, file, out, &command);
    TRY(child_run(&command, err));
out:
    strvec_release(&command);
    free(state);
    free(file);
    return rc;
}

// ---- Comparing ----

// The data, the arithmetic and the first weights have to be those of the run; resuming checks them,
// but the first segment does not resume.
static status check_metadata(const replay *r, const tensor_file *kept, const tensor_file *again,
                             error *err) {
    static const char *const keys[][2] = {
        {"data", "other training data: pass those of the run as --train"},
        {"init", "other first weights: pass those of the run as --init"},
        {"bits",
         "another revision of the arithmetic: use the version of Lockstep that trained it"}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *a = tensor_file_metadata(kept, keys[i][0]);
        const char *b = tensor_file_metadata(again, keys[i][0]);
        if (!a || !b || strcmp(a, b) != 0)
            return error_set(err, STATUS_INPUT, "cannot replay: '%s': it has %s", r->folder,
                             keys[i][1]);
    }
    return STATUS_OK;
}

static void found(replay_difference *d, uint64_t step, const char *name) {
    d->differs = step || name;
    d->step = step;
    snprintf(d->tensor, sizeof d->tensor, "%s", name ? name : "");
}

static status compare_states(const replay *r, const replay_part *part, const char *again,
                             replay_difference *difference, error *err) {
    tensor_file mine = {0}, theirs = {0};
    uint64_t step;
    status rc;
    TRY(replay_read_output(r, part->ends, &theirs, err));
    TRY(tensor_file_read(again, TENSOR_FILE_DEFAULT_MAX, &mine, err));
    TRY(check_metadata(r, &theirs, &mine, err));
    TRY(replay_compare_steps(&theirs, "steps.", part->ends, &mine, "steps.", part->first, part->end,
                             &step, err));
    found(difference, step, replay_compare_tensors(&theirs, &mine));
out:
    tensor_file_release(&mine);
    tensor_file_release(&theirs);
    return rc;
}

static status compare_models(const replay *r, const char *out, replay_difference *difference,
                             error *err) {
    tensor_file mine = {0}, theirs = {0};
    const char *name;
    char *again = in_folder(out, "model.st.zst"), *path = NULL;
    status rc = STATUS_OK;
    path = in_folder(r->folder, "model.st.zst");
    TRY(replay_read_output(r, path, &theirs, err));
    TRY(tensor_file_read(again, TENSOR_FILE_DEFAULT_MAX, &mine, err));
    name = replay_compare_tensors(&theirs, &mine);
    found(difference, 0, name ? name : replay_compare_metadata(&theirs, &mine));
    difference->model = difference->differs;
out:
    tensor_file_release(&mine);
    tensor_file_release(&theirs);
    free(again);
    free(path);
    return rc;
}

status replay_segment(const replay *r, size_t at, const replay_settings *how,
                      replay_difference *difference, error *err) {
    const replay_part *part = &r->segments[at];
    const char *begins = at ? r->segments[at - 1].ends : NULL;
    char *folder = NULL, *out = NULL, *state = NULL;
    status rc = make_folder(&folder, err);
    *difference = (replay_difference){.end = part->end};
    if (rc != STATUS_OK) return rc;
    out = in_folder(folder, "run");
    state = in_folder(out, "state.st.zst");
    rc = train(r, part, begins, how, folder, out, err);
    if (rc == STATUS_OK) rc = compare_states(r, part, state, difference, err);
    if (rc == STATUS_OK && !difference->differs && part->end == r->steps)
        rc = compare_models(r, out, difference, err);
    status removed = remove_tree(folder, rc == STATUS_OK ? err : NULL);
    free(state);
    free(out);
    free(folder);
    return rc == STATUS_OK ? removed : rc;
}
