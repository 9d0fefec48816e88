// SPDX-License-Identifier: MIT
#include "submission/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/plugin.h"
#include "base/template.h"
#include "base/text.h"
#include "data/manifest.h"
#include "data/tta.h"
#include "pipeline/child.h"
#include "pipeline/counting.h"
#include "pipeline/reporting.h"
#include "pipeline/run_names.h"
#include "pipeline/store.h"
#include "submission/page.h"
#include "submission/run_again.h"

typedef struct submission {
    pipeline *p;
    const planned_runs *runs;
    char *name;                // "submission-single-ddp4-epochs=3"
    char *folder;              // in the work folder
    strvec models;             // content hash of each run and seed
    strvec packed;             // folders of the executions whose trainings are in the folder
    text run_rows, model_rows; // for the README
    char *version, *commit;    // of the first run
} submission;

// ---- Files ----

// Copies a file to FOLDER/NAME; the name may have a folder.
static status copy_into(const char *from, const char *folder, const char *name, error *err) {
    char *to = memory_format("%s/%s", folder, name);
    status rc = output_make_parent(to, err);
    if (rc == STATUS_OK) rc = copy_file(from, to, err);
    free(to);
    return rc;
}

// Copies FROM/NAME to TO/NAME.
static status copy_between(const char *from, const char *to, const char *name, error *err) {
    char *path = memory_format("%s/%s", from, name);
    status rc = copy_into(path, to, name, err);
    free(path);
    return rc;
}

// Returns the place in the submission of a folder below ARTIFACTS; free() it.
static char *packed_place(const submission *s, const char *folder) {
    const size_t length = strlen(s->p->artifacts);
    const bool below = strncmp(folder, s->p->artifacts, length) == 0 && folder[length] == '/';
    return memory_format("%s/%s", s->folder, below ? folder + length + 1 : "data/own");
}

// Copies DIR/NAME to its place.
static status keep_file(const submission *s, const char *dir, const char *name, error *err) {
    char *to = packed_place(s, dir);
    status rc = copy_between(dir, to, name, err);
    free(to);
    return rc;
}

static status keep_manifest(const submission *s, const char *dir, error *err) {
    return keep_file(s, dir, "manifest.yaml", err);
}

static status keep_data(const submission *s, const planned_run *r, error *err) {
    status rc = keep_manifest(s, r->data, err);
    if (rc == STATUS_OK && r->e.virtual_shards > 1) rc = keep_manifest(s, r->train, err);
    return rc;
}

// Puts the initial weights of a run beside its experiment.
static status keep_weights(const submission *s, const planned_run *r, const char *folder,
                           yaml_node *parameters, error *err) {
    const long long limit = (long long)s->p->settings->model_limit, mib = 1024 * 1024;
    struct stat info;
    if (!r->e.weights_path) return STATUS_OK;
    if (stat(r->e.weights_path, &info) == 0 && info.st_size > limit * mib)
        return error_set(err, STATUS_INPUT,
                         "cannot pack '%s': its initial weights, '%s', have more than %lld MiB: "
                         "MODEL_LIMIT=%lld packs them",
                         r->name, r->e.weights_path, limit, info.st_size / mib + 1);
    char *name = memory_format("%s.weights", r->name);
    yaml_node *weights = (yaml_node *)yaml_find(parameters, "initial_weights"); // the copy's
    yaml_put(weights, "file", yaml_new_string(name));
    status rc = copy_into(r->e.weights_path, folder, name, err);
    free(name);
    return rc;
}

static status keep_experiment(const submission *s, const planned_run *r, error *err) {
    char *folder = memory_format("%s/experiments", s->folder);
    yaml_node *parameters = yaml_copy(r->e.resolved);
    bool changed;
    status rc = STATUS_OK;
    yaml_put(parameters, "name", yaml_new_string(r->name));
    rc = keep_weights(s, r, folder, parameters, err);
    if (rc == STATUS_OK) rc = store_write_experiment(folder, r->name, parameters, &changed, err);
    yaml_free(parameters);
    free(folder);
    return rc;
}

// ---- One run ----

// The file of a stage that its figures are computed from.
static const char *figures_file(const char *stage) {
    return strcmp(stage, "train") == 0 ? "steps.st.zst" : "predictions.st.zst";
}

// Copies the manifest of a stage of an execution, and its file of figures.
static status keep_stage(const submission *s, const execution *x, const char *name, error *err) {
    char *from = memory_format("%s/%s", x->folder, name);
    status rc = keep_manifest(s, from, err);
    if (rc == STATUS_OK) rc = keep_file(s, from, figures_file(name), err);
    free(from);
    return rc;
}

// Copies all outputs of a training that kept its states, for `replay`.
static status keep_states(const submission *s, const execution *x, error *err) {
    const yaml_node *outputs = yaml_find(x->train, "outputs");
    char *from = memory_format("%s/train", x->folder);
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < outputs->count; i++)
        rc = keep_file(s, from, yaml_text_at(outputs->items[i], "path"), err);
    free(from);
    return rc;
}

// Copies the model unless it is too large, and adds it to the list in the README.
static status keep_model(submission *s, const execution *x, const char *place, error *err) {
    const long long limit = (long long)s->p->settings->model_limit;
    char *from = memory_format("%s/train", x->folder);
    char *file = memory_format("%s/train/model.st.zst", x->folder);
    char *to = packed_place(s, from);
    struct stat info;
    status rc = STATUS_OK;
    if (stat(file, &info) != 0) info.st_size = 0;
    const long long size = (long long)info.st_size;
    if (size > limit * 1024 * 1024) {
        text_format(&s->model_rows, "- %s: %lld B, > %lld MiB\n", place, size, limit);
        goto out;
    }
    TRY(copy_between(from, to, "model.st.zst", err));
    text_format(&s->model_rows, "- %s: `%s/model.st.zst`, %lld B\n", place,
                to + strlen(s->folder) + 1, size);
out:
    free(to);
    free(file);
    free(from);
    return rc;
}

static void describe_run(submission *s, const yaml_node *train, const yaml_node *evaluate,
                         const planned_seed *seed) {
    const char *content = yaml_text_at(train, "results.model");
    strvec_add(&s->models, content);
    text_format(&s->run_rows, "| %s | `runs/%.*s` | %s | %.2f %% | `%.12s` |\n", seed->own,
                STORE_KEY_DIGITS, seed->key, yaml_text_at(train, "tool"),
                100 * yaml_number_at(evaluate, "results.accuracy"), content);
    if (!s->version) s->version = memory_string(yaml_text_at(train, "version"));
    if (!s->commit) s->commit = memory_string(yaml_text_at(train, "run.commit"));
}

static status keep_training(submission *s, const execution *x, const char *place, error *err) {
    NEED(keep_stage(s, x, "train", err));
    NEED(keep_model(s, x, place, err));
    return s->p->settings->values[SETTING_STATES] ? keep_states(s, x, err) : STATUS_OK;
}

// Packs the execution that the report is on. Two experiments that differ in their test views share
// a training.
static status keep_run(submission *s, const planned_run *r, const planned_seed *seed, error *err) {
    const execution *x = counting_find(s->p, s->runs, r, seed);
    const char *views = tta_folder(r->e.tta);
    yaml_node *evaluate = NULL;
    status rc = STATUS_OK;
    if (!x) return error_set(err, STATUS_FAILED, "'%s' is not finished", seed->own);
    if (!strvec_has(&s->packed, x->folder)) {
        TRY(keep_training(s, x, seed->own, err));
        strvec_add(&s->packed, x->folder);
    }
    TRY(keep_stage(s, x, views, err));
    TRY(manifest_read_in(&evaluate, err, "%s/%s", x->folder, views));
    describe_run(s, x->train, evaluate, seed);
out:
    yaml_free(evaluate);
    return rc;
}

// ---- The report ----

// The plan of the report, whose experiments are those in the archive.
static status write_plan(const submission *s, error *err) {
    yaml_node *plan = yaml_copy(s->runs->plan);
    char *path = memory_format("%s/" PAGE_PLAN, s->folder), *lines = NULL;
    size_t bytes;
    status rc = STATUS_OK;
    for (size_t i = 0; i < s->runs->count; i++) {
        yaml_node *run = yaml_find(plan, "runs")->items[i];
        char *file = memory_format("experiments/%s.yaml", s->runs->items[i].name);
        yaml_put(run, "experiment", yaml_new_string(file));
        yaml_put(run, "set", yaml_new(YAML_SEQUENCE));
        free(file);
    }
    rc = yaml_write_text(plan, &lines, &bytes, err);
    if (rc == STATUS_OK) rc = output_write_file(path, lines, bytes, err);
    free(lines);
    free(path);
    yaml_free(plan);
    return rc;
}

// Leaves out the lock, and `run`: the time of the report is not a property of the runs.
static status strip_report(const submission *s, const char *report, error *err) {
    yaml_node *root = NULL;
    char *path = memory_format("%s/%s/manifest.yaml", s->folder, report);
    char *lock = memory_format("%s/%s/.lock", s->folder, report);
    status rc = manifest_read(path, &root, err);
    if (rc == STATUS_OK) {
        yaml_remove(root, "run");
        rc = manifest_write_tree(root, path, err);
        unlink(lock);
    }
    yaml_free(root);
    free(lock);
    free(path);
    return rc;
}

static const char *own_templates(const submission *s) {
    return strvec_option_value(&s->p->settings->report_flags, "--template");
}

// The author's own templates, and the page that they make beside ours.
static status keep_own_page(const submission *s, const strvec *options, const char *test,
                            error *err) {
    char *to = memory_format("%s/" PAGE_TEMPLATES, s->folder);
    strvec names = {0};
    status rc;
    TRY(template_folder_list(own_templates(s), &names, err));
    for (size_t i = 0; i < names.count; i++)
        TRY(copy_between(own_templates(s), to, names.items[i], err));
    TRY(page_make(s->p, s->folder, PAGE_OWN, options, test, err));
    rc = strip_report(s, PAGE_OWN_FOLDER, err);
out:
    strvec_release(&names);
    free(to);
    return rc;
}

static status keep_report(const submission *s, error *err) {
    const char *discussion = strvec_option_value(&s->p->settings->report_flags, "--discussion");
    const char *test = s->runs->items[0].test;
    strvec options = {0};
    status rc;
    TRY(write_plan(s, err));
    if (discussion) TRY(copy_into(discussion, s->folder, PAGE_DISCUSSION, err));
    page_options_of_flags(&s->p->settings->report_flags, &options);
    TRY(page_make(s->p, s->folder, PAGE_OURS, &options, test, err));
    TRY(strip_report(s, PAGE_FOLDER, err));
    if (own_templates(s)) TRY(keep_own_page(s, &options, test, err));
out:
    strvec_release(&options);
    return rc;
}

// ---- The README ----

// Removes the paragraphs that begin with `marker`, "@OWN@"; if they are `kept`, only the marker.
static void choose_paragraphs(char *page, const char *marker, bool kept) {
    for (char *at = page; (at = strstr(at, marker));) {
        const char *end = strstr(at, "\n\n"), *rest = at + strlen(marker);
        if (!kept) rest = end ? end + 2 : at + strlen(at);
        memmove(at, rest, strlen(rest) + 1);
    }
}

// Some paragraphs of the template are for one kind of data only, or for submissions with states.
static status write_readme(const submission *s, error *err) {
    char limit[32], *from = NULL, *page = NULL;
    text filled = {0};
    char *template = memory_format("submission.%s.md", settings_language(s->p->settings));
    char *to = memory_format("%s/README.md", s->folder);
    char *sources = run_again_sources(s->runs);
    status rc = STATUS_OK;
    TRY(plugin_find(template, NULL, &from, err));
    TRY(read_file(from, &page, err));
    const bool own = s->runs->items[0].own, fetched = !own && *sources;
    choose_paragraphs(page, "@OWN@", own);
    choose_paragraphs(page, "@FETCHED@", fetched);
    choose_paragraphs(page, "@DRAWN@", !own && !fetched);
    choose_paragraphs(page, "@TEMPLATES@", own_templates(s) != NULL);
    choose_paragraphs(page, "@STATES@", s->p->settings->values[SETTING_STATES] != NULL);
    snprintf(limit, sizeof limit, "%lld", (long long)s->p->settings->model_limit);
    // In this order: a name that the user has chosen could look like a place.
    const char *const pairs[][2] = {
        {"@LIMIT@", limit},
        {"@VERSION@", s->version},
        {"@COMMIT@", s->commit},
        {"@SOURCES@", sources},
        {"@RUNS@\n", text_string(&s->run_rows)},
        {"@MODELS@\n", text_string(&s->model_rows)},
        {"@NAME@", s->name},
    };
    text_append(&filled, page);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        text_replace(&filled, pairs[i][0], pairs[i][1]);
    // An empty list at the end leaves empty lines.
    while (filled.length > 1 && strcmp(filled.data + filled.length - 2, "\n\n") == 0)
        filled.data[--filled.length] = 0;
    rc = output_write_file(to, filled.data, filled.length, err);
out:
    text_release(&filled);
    free(page);
    free(sources);
    free(to);
    free(from);
    free(template);
    return rc;
}

// ---- The archive ----

static status pack(const submission *s, error *err) {
    static const char *const same[] = {"--sort=name",       "--format=gnu", "--mtime=@0",
                                       "--owner=0",         "--group=0",    "--numeric-owner",
                                       "--mode=u=rwX,go=rX"};
    strvec command = {0};
    char *archive = memory_format("%s/%s.tar.gz", s->p->artifacts, s->name);
    char *fresh = memory_format("%s.new", archive);
    status rc = STATUS_OK;
    strvec_add(&command, "tar");
    strvec_add(&command, "--create");
    strvec_add(&command, "--force-local"); // a colon does not mean a remote host
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) strvec_add(&command, same[i]);
    strvec_add(&command, "--use-compress-program=gzip -n -9");
    strvec_add_option(&command, "--file", fresh);
    strvec_add_option(&command, "--directory", s->p->work.path);
    strvec_add(&command, s->name);
    TRY(child_run(&command, err));
    if (rename(fresh, archive) != 0)
        TRY(error_set(err, STATUS_FAILED, "cannot write '%s'", archive));
    s->p->say("submission:", archive, NULL);
out:
    strvec_release(&command);
    free(fresh);
    free(archive);
    return rc;
}

static status fill(submission *s, error *err) {
    const bool chinese = strcmp(settings_language(s->p->settings), "zh") == 0;
    char *collectives = NULL;
    status rc = STATUS_OK;
    text_append(&s->run_rows,
                chinese
                    ? "| 运行 | 文件夹 | 工具 | 测试准确率 | 模型 |\n|---|---|---|---|---|\n"
                    : "| run | folder | tool | test accuracy | model |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < s->runs->count; i++) {
        const planned_run *r = &s->runs->items[i];
        TRY(keep_experiment(s, r, err));
        TRY(keep_data(s, r, err));
        for (size_t k = 0; k < r->seed_count; k++) TRY(keep_run(s, r, &r->seeds[k], err));
    }
    collectives = reporting_collectives(s->p, s->runs);
    if (collectives) TRY(keep_manifest(s, collectives, err));
    for (size_t i = 0; i < s->runs->turns.count; i++) {
        TRY(keep_manifest(s, s->runs->turns.items[i], err));
        TRY(keep_file(s, s->runs->turns.items[i], "turns.st.zst", err));
    }
    TRY(keep_report(s, err));
    TRY(run_again_write(s->p, s->runs, s->folder, &s->models, err));
    TRY(write_readme(s, err));
    TRY(pack(s, err));
out:
    free(collectives);
    return rc;
}

// Named like the report: other settings make another archive, and so do other files of the same
// names. DATA is left out of the name: a submission contains no local paths.
static char *find_name(const pipeline *p, const planned_runs *runs) {
    settings own = *p->settings;
    owned_names taken = {0};
    strvec files = {0};
    for (size_t i = 0; i < runs->count; i++) strvec_add(&files, runs->items[i].file);
    own.values[SETTING_DATA] = NULL;
    char *suffix = run_names_suffix(&own), *of_report = run_names_report_suffix(&own, true);
    char *name = memory_format("submission-%s%s%s", runs->joined, suffix, of_report);
    name = owned_names_take(p, &taken, name, &files);

    owned_names_keep(p, &taken);
    owned_names_release(&taken);
    strvec_release(&files);
    free(of_report);
    free(suffix);
    return name;
}

status submission_pack(pipeline *p, const planned_runs *runs, error *err) {
    submission s = {.p = p, .runs = runs};
    status rc = work_open(p, err);
    if (rc == STATUS_OK) {
        s.name = find_name(p, runs);
        s.folder = memory_format("%s/%s", p->work.path, s.name);
        rc = fill(&s, err);
    }
    strvec_release(&s.models);
    strvec_release(&s.packed);
    text_release(&s.run_rows);
    text_release(&s.model_rows);
    free(s.version);
    free(s.commit);
    free(s.folder);
    free(s.name);
    return rc;
}
