// SPDX-License-Identifier: MIT
#include "pipeline/submission.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/plugin.h"
#include "data/manifest.h"
#include "pipeline/child.h"
#include "pipeline/copy.h"
#include "pipeline/naming.h"
#include "pipeline/reporting.h"
#include "pipeline/run_again.h"
#include "pipeline/stage.h"
#include "pipeline/store.h"
#include "pipeline/work.h"

typedef struct submission {
    pipeline *p;
    const planned_runs *runs;
    char *name;   // "submission-single-ddp4-epochs=3"
    char *folder; // in the work folder
    words flags;  // REPORT_FLAGS
    const char *language;
    yaml_node *environment;
    words models;                // content hash of each run and seed
    char *run_rows, *model_rows; // for the README
    char *version, *commit;      // of the first run
} submission;

// ---- Text ----

// Appends formatted text to *text, which it reallocates.
static status PRINTF_LIKE(3, 4) append(char **text, error *err, const char *format, ...) {
    char *more = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&more, format, args) < 0) more = NULL;
    va_end(args);
    char *longer = more ? memory_format(err, "%s%s", *text ? *text : "", more) : NULL;
    free(more);
    if (!longer) return STATUS_FAILED;
    free(*text);
    *text = longer;
    return STATUS_OK;
}

// The language set in REPORT_FLAGS.
static const char *find_language(const words *flags) {
    const char *value = words_value(flags, "--lang");
    return value && strcmp(value, "zh") == 0 ? "zh" : "en";
}

// ---- Files ----

static status copy_into(const char *from, const char *folder, const char *name, error *err) {
    char *to = memory_format(err, "%s/%s", folder, name);
    status rc = to ? output_make_folder(folder, err) : STATUS_FAILED;
    if (rc == STATUS_OK) rc = copy_file(from, to, err);
    free(to);
    return rc;
}

// Copies FROM/NAME to TO/NAME; the name may have a folder.
static status copy_between(const char *from, const char *to, const char *name, error *err) {
    const char *slash = strrchr(name, '/');
    char *path = memory_format(err, "%s/%s", from, name);
    char *folder = memory_format(err, "%s/%.*s", to, (int)(slash ? slash - name : 0), name);
    status rc =
        path && folder ? copy_into(path, folder, slash ? slash + 1 : name, err) : STATUS_FAILED;
    free(folder);
    free(path);
    return rc;
}

static status keep_manifest(const submission *s, const char *dir, const char *place, error *err) {
    char *from = memory_format(err, "%s/manifest.yaml", dir);
    char *to = memory_format(err, "%s/manifests/%s", s->folder, place);
    status rc = from && to ? copy_into(from, to, "manifest.yaml", err) : STATUS_FAILED;
    free(to);
    free(from);
    return rc;
}

// Returns a folder's path below ARTIFACTS; "data/own" for the user's own data.
static const char *below_artifacts(const submission *s, const char *folder) {
    const size_t length = strlen(s->p->artifacts);
    return strncmp(folder, s->p->artifacts, length) == 0 && folder[length] == '/'
               ? folder + length + 1
               : "data/own";
}

static status keep_data(const submission *s, const planned_run *r, error *err) {
    status rc = keep_manifest(s, r->data, below_artifacts(s, r->data), err);
    if (rc == STATUS_OK && r->e.virtual_shards > 1)
        rc = keep_manifest(s, r->train, below_artifacts(s, r->train), err);
    return rc;
}

static status keep_experiment(const submission *s, const planned_run *r, error *err) {
    char *folder = memory_format(err, "%s/experiments", s->folder);
    yaml_node *parameters = yaml_copy(r->e.resolved, err);
    bool changed;
    status rc = folder && parameters ? STATUS_OK : STATUS_FAILED;
    if (rc == STATUS_OK) rc = yaml_put(parameters, "name", yaml_new_string(r->name, err), err);
    if (rc == STATUS_OK) rc = store_write_experiment(folder, r->name, parameters, &changed, err);
    yaml_free(parameters);
    free(folder);
    return rc;
}

// ---- One run ----

static status keep_model(submission *s, const char *run, const char *place, error *err) {
    char *from = memory_format(err, "%s/train/model.st.zst", run);
    char *folder = memory_format(err, "%s/models", s->folder);
    char *name = memory_format(err, "%s.st.zst", place);
    char size[32], limit[32];
    struct stat info;
    status rc = from && folder && name ? STATUS_OK : STATUS_FAILED;
    if (rc != STATUS_OK) goto out;
    for (char *c = name; *c; c++)
        if (*c == '/') *c = '-';
    if (stat(from, &info) != 0) info.st_size = 0;
    snprintf(size, sizeof size, "%lld", (long long)info.st_size);
    snprintf(limit, sizeof limit, "%lld", (long long)s->p->settings->model_limit);
    if (info.st_size > s->p->settings->model_limit * 1024 * 1024) {
        rc = append(&s->model_rows, err, "- %s: %s B, > %s MiB\n", place, size, limit);
        goto out;
    }
    TRY(copy_into(from, folder, name, err));
    TRY(append(&s->model_rows, err, "- `models/%s`: %s B\n", name, size));
out:
    free(name);
    free(folder);
    free(from);
    return rc;
}

static status describe_run(submission *s, const yaml_node *train, const yaml_node *evaluate,
                           const char *place, error *err) {
    const char *content = yaml_text_at(train, "results.model");
    const yaml_node *run = yaml_find(train, "run");
    char digits[13];
    status rc;
    snprintf(digits, sizeof digits, "%s", content);
    TRY(words_add(&s->models, content, err));
    TRY(append(&s->run_rows, err, "| %s | %s | %.2f %% | `%s` |\n", place,
               yaml_text_at(train, "tool"), 100 * yaml_number_at(evaluate, "results.accuracy"),
               digits));
    if (run) TRY(yaml_put(s->environment, place, yaml_copy(run, err), err));
    if (!s->version) s->version = memory_string(yaml_text_at(train, "version"), err);
    if (!s->commit) s->commit = memory_string(yaml_text_at(train, "run.commit"), err);
    rc = s->version && s->commit ? STATUS_OK : STATUS_FAILED;
out:
    return rc;
}

static status read_stage(const char *run, const char *name, yaml_node **root, error *err) {
    char *path = memory_format(err, "%s/%s/manifest.yaml", run, name);
    status rc = path ? manifest_read(path, root, err) : STATUS_FAILED;
    free(path);
    return rc;
}

// Copies the training of the first execution that kept its states, whole: for `replay`.
static status keep_states(const submission *s, const char *key, const char *place, error *err) {
    execution_list list = {0};
    const yaml_node *outputs = NULL;
    char *from = NULL, *to = memory_format(err, "%s/runs/%s/train", s->folder, place);
    status rc = to ? store_read(s->p->artifacts, key, &list, err) : STATUS_FAILED;
    for (size_t i = 0; rc == STATUS_OK && !from && i < list.count; i++) {
        if (!list.items[i].finished || !store_has_states(&list.items[i])) continue;
        outputs = yaml_find(list.items[i].train, "outputs");
        from = memory_format(err, "%s/train", list.items[i].folder);
        if (from) rc = copy_between(from, to, "manifest.yaml", err);
    }
    for (size_t i = 0; from && rc == STATUS_OK && i < outputs->count; i++)
        rc = copy_between(from, to, yaml_text_at(outputs->items[i], "path"), err);
    store_release(&list);
    free(from);
    free(to);
    return rc;
}

static status keep_run(submission *s, const planned_run *r, const planned_seed *seed, error *err) {
    const char *const place = seed->place;
    const char *const stages[] = {"train", views_folder(r->e.tta)};
    yaml_node *roots[2] = {NULL, NULL};
    char *run = memory_format(err, "%s/%s", s->p->artifacts, place);
    status rc = run ? STATUS_OK : STATUS_FAILED;
    for (size_t i = 0; rc == STATUS_OK && i < 2; i++) {
        char *dir = memory_format(err, "%s/%s", run, stages[i]);
        char *where = memory_format(err, "%s/%s", place, stages[i]);
        rc = dir && where ? keep_manifest(s, dir, where, err) : STATUS_FAILED;
        if (rc == STATUS_OK) rc = read_stage(run, stages[i], &roots[i], err);
        free(where);
        free(dir);
    }
    if (rc == STATUS_OK) rc = describe_run(s, roots[0], roots[1], place, err);
    if (rc == STATUS_OK) rc = keep_model(s, run, place, err);
    if (rc == STATUS_OK && s->p->settings->values[SETTING_STATES])
        rc = keep_states(s, seed->key, place, err);
    yaml_free(roots[0]);
    yaml_free(roots[1]);
    free(run);
    return rc;
}

// ---- The report ----

// Leaves out `run`: the time of the report is not a property of the runs.
static status keep_report_manifest(const submission *s, error *err) {
    yaml_node *root = NULL;
    char *folder = memory_format(err, "%s/manifests/report", s->folder);
    char *from = memory_format(err, "%s/manifest.yaml", s->runs->report), *to = NULL;
    status rc = folder && from ? output_make_folder(folder, err) : STATUS_FAILED;
    if (rc != STATUS_OK) goto out;
    TRY(manifest_read(from, &root, err));
    yaml_remove(root, "run");
    to = memory_format(err, "%s/manifest.yaml", folder);
    rc = to ? manifest_write_tree(root, to, err) : STATUS_FAILED;
out:
    free(to);
    yaml_free(root);
    free(from);
    free(folder);
    return rc;
}

// Copies the page's drawings, which the manifest lists among its outputs, both next to the report
// and into a separate folder.
static status keep_figures(const submission *s, const char *folder, error *err) {
    static const char below[] = "figures/";
    yaml_node *root = NULL;
    char *recorded = memory_format(err, "%s/manifest.yaml", s->runs->report);
    status rc = recorded ? manifest_read(recorded, &root, err) : STATUS_FAILED;
    const yaml_node *outputs = rc == STATUS_OK ? yaml_find(root, "outputs") : NULL;
    for (size_t i = 0; outputs && rc == STATUS_OK && i < outputs->count; i++) {
        const yaml_node *node = yaml_find(outputs->items[i], "path");
        const char *path = node ? node->text : "";
        if (strncmp(path, below, strlen(below)) != 0) continue;
        char *from = memory_format(err, "%s/%s", s->runs->report, path);
        char *to = memory_format(err, "%s/figures", folder);
        char *own = memory_format(err, "%s/figures", s->folder);
        rc = from && to && own ? copy_into(from, to, path + strlen(below), err) : STATUS_FAILED;
        if (rc == STATUS_OK) rc = copy_into(from, own, path + strlen(below), err);
        free(from);
        free(to);
        free(own);
    }
    yaml_free(root);
    free(recorded);
    return rc;
}

static status keep_report(const submission *s, error *err) {
    static const char *const files[] = {"report.html", "report.md", "report.csv", "report.tex"};
    char *folder = memory_format(err, "%s/report", s->folder);
    status rc = folder ? STATUS_OK : STATUS_FAILED;
    for (size_t i = 0; rc == STATUS_OK && i < sizeof files / sizeof *files; i++) {
        char *from = memory_format(err, "%s/%s", s->runs->report, files[i]);
        rc = from ? copy_into(from, folder, files[i], err) : STATUS_FAILED;
        free(from);
    }
    if (rc == STATUS_OK) rc = keep_figures(s, folder, err);
    const char *discussion = words_value(&s->flags, "--discussion");
    if (rc == STATUS_OK && discussion)
        rc = copy_into(discussion, folder, SUBMISSION_DISCUSSION, err);
    free(folder);
    return rc == STATUS_OK ? keep_report_manifest(s, err) : rc;
}

// ---- The README ----

// A paragraph of the template that begins with one of these is for that kind of data only.
static const char OWN[] = "@OWN@", FETCHED[] = "@FETCHED@", DRAWN[] = "@DRAWN@";
// And this one for submissions with the states of their runs.
static const char STATES[] = "@STATES@";

static void cut(char *from, char *to) {
    memmove(from, to, strlen(to) + 1);
}

// Removes the paragraphs that begin with this marker, or only the marker.
static void choose_paragraph(char *text, const char *marker, bool kept) {
    for (char *at = text; (at = strstr(at, marker));) {
        char *end = strstr(at, "\n\n");
        if (kept)
            cut(at, at + strlen(marker));
        else
            cut(at, end ? end + 2 : at + strlen(at));
    }
}

// Removes the paragraphs for other kinds of data than `kind`, and all markers.
static void choose_paragraphs(char *text, const char *kind, bool states) {
    const char *const kinds[] = {OWN, FETCHED, DRAWN};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        choose_paragraph(text, kinds[i], kinds[i] == kind);
    choose_paragraph(text, STATES, states);
    for (size_t n = strlen(text); n > 1 && text[n - 1] == '\n' && text[n - 2] == '\n';)
        text[--n] = 0;
}

// Returns `text` with every @NAME@ replaced; free() it.
static char *fill_in(const char *text, const char *const pairs[][2], size_t count, error *err) {
    char *filled = memory_string("", err);
    while (filled && *text) {
        size_t length = strcspn(text, "@"), skip = length;
        const char *value = "";
        for (size_t i = 0; text[length] && i < count; i++)
            if (strncmp(text + length, pairs[i][0], strlen(pairs[i][0])) == 0) {
                value = pairs[i][1];
                skip = length + strlen(pairs[i][0]);
            }
        if (skip == length && text[length]) skip = ++length;
        char *longer = memory_format(err, "%s%.*s%s", filled, (int)length, text, value);
        free(filled);
        filled = longer;
        text += skip;
    }
    return filled;
}

static status write_readme(const submission *s, error *err) {
    char limit[32], *from = NULL, *text = NULL, *filled = NULL;
    char *template = memory_format(err, "submission.%s.md", s->language);
    char *to = memory_format(err, "%s/README.md", s->folder);
    char *sources = run_again_sources(s->p, s->runs, err);
    status rc = template && to && sources ? STATUS_OK : STATUS_FAILED;
    TRY(rc);
    TRY(plugin_find(template, NULL, &from, err));
    TRY(read_file(from, &text, err));
    choose_paragraphs(text,
                      s->p->settings->values[SETTING_DATA] ? OWN
                      : *sources                           ? FETCHED
                                                           : DRAWN,
                      s->p->settings->values[SETTING_STATES] != NULL);
    snprintf(limit, sizeof limit, "%lld", (long long)s->p->settings->model_limit);
    s->run_rows[strlen(s->run_rows) - 1] = 0; // the newline is in the template
    s->model_rows[strlen(s->model_rows) - 1] = 0;
    const char *const pairs[][2] = {
        {"@NAME@", s->name},    {"@VERSION@", s->version}, {"@COMMIT@", s->commit},
        {"@LIMIT@", limit},     {"@RUNS@", s->run_rows},   {"@MODELS@", s->model_rows},
        {"@SOURCES@", sources},
    };
    filled = fill_in(text, pairs, sizeof pairs / sizeof *pairs, err);
    rc = filled ? output_write_file(to, filled, strlen(filled), err) : STATUS_FAILED;
out:
    free(filled);
    free(text);
    free(sources);
    free(to);
    free(from);
    free(template);
    return rc;
}

static status write_environment(const submission *s, error *err) {
    char *path = memory_format(err, "%s/environment.yaml", s->folder), *text = NULL;
    size_t bytes;
    status rc = path ? yaml_write_text(s->environment, &text, &bytes, err) : STATUS_FAILED;
    if (rc == STATUS_OK) rc = output_write_file(path, text, bytes, err);
    free(text);
    free(path);
    return rc;
}

// ---- The archive ----

static status pack(const submission *s, error *err) {
    static const char *const same[] = {"--sort=name",       "--format=gnu", "--mtime=@0",
                                       "--owner=0",         "--group=0",    "--numeric-owner",
                                       "--mode=u=rwX,go=rX"};
    words command = {0};
    char *archive = memory_format(err, "%s/%s.tar.gz", s->p->artifacts, s->name);
    char *fresh = archive ? memory_format(err, "%s.new", archive) : NULL;
    status rc = fresh ? STATUS_OK : STATUS_FAILED;
    if (rc != STATUS_OK) goto out;
    TRY(words_add(&command, "tar", err));
    TRY(words_add(&command, "--create", err));
    TRY(words_add(&command, "--force-local", err)); // a colon does not mean a remote host
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) TRY(words_add(&command, same[i], err));
    TRY(words_add(&command, "--use-compress-program=gzip -n -9", err));
    TRY(words_option(&command, "--file", fresh, err));
    TRY(words_option(&command, "--directory", s->p->work.path, err));
    TRY(words_add(&command, s->name, err));
    TRY(child_run(&command, err));
    if (rename(fresh, archive) != 0)
        TRY(error_set(err, STATUS_FAILED, "cannot write '%s'", archive));
    s->p->say("submission:", archive, NULL);
out:
    words_release(&command);
    free(fresh);
    free(archive);
    return rc;
}

static status fill(submission *s, error *err) {
    const bool chinese = strcmp(s->language, "zh") == 0;
    char *collectives = NULL;
    status rc;
    TRY(keep_report(s, err));
    s->run_rows =
        memory_string(chinese ? "| 运行 | 工具 | 测试准确率 | 模型 |\n|---|---|---|---|\n"
                              : "| run | tool | test accuracy | model |\n|---|---|---|---|\n",
                      err);
    TRY(s->run_rows ? STATUS_OK : STATUS_FAILED);
    for (size_t i = 0; i < s->runs->count; i++) {
        const planned_run *r = &s->runs->items[i];
        TRY(keep_experiment(s, r, err));
        TRY(keep_data(s, r, err));
        for (size_t k = 0; k < r->seed_count; k++) TRY(keep_run(s, r, &r->seeds[k], err));
    }
    collectives = reporting_collectives(s->p, s->runs);
    if (collectives) TRY(keep_manifest(s, collectives, below_artifacts(s, collectives), err));
    TRY(run_again_write(s->p, s->runs, s->folder, &s->models, err));
    TRY(write_environment(s, err));
    TRY(write_readme(s, err));
    TRY(pack(s, err));
out:
    free(collectives);
    return rc;
}

// Named like the report: other settings make another archive. DATA is left out: a submission
// contains no local paths.
static char *find_name(const pipeline *p, const planned_runs *runs, error *err) {
    settings own = *p->settings;
    own.values[SETTING_DATA] = NULL;
    char *joined = naming_joined("submission", runs->plan, err);
    char *suffix = joined ? naming_suffix(&own, true, err) : NULL;
    char *name = suffix ? memory_format(err, "%s%s", joined, suffix) : NULL;
    free(suffix);
    free(joined);
    return name;
}

status submission_pack(pipeline *p, const planned_runs *runs, error *err) {
    submission s = {.p = p, .runs = runs};
    status rc = words_options(&s.flags, p->settings->values[SETTING_REPORT_FLAGS], err);
    s.language = find_language(&s.flags);
    if (rc == STATUS_OK) rc = work_open(p, err);
    if (rc == STATUS_OK) {
        s.name = find_name(p, runs, err);
        s.folder = s.name ? memory_format(err, "%s/%s", p->work.path, s.name) : NULL;
        s.environment = yaml_new(YAML_MAPPING, err);
        rc = s.folder && s.environment ? fill(&s, err) : STATUS_FAILED;
    }
    yaml_free(s.environment);
    words_release(&s.models);
    words_release(&s.flags);
    free(s.run_rows);
    free(s.model_rows);
    free(s.version);
    free(s.commit);
    free(s.folder);
    free(s.name);
    return rc;
}
