// SPDX-License-Identifier: MIT
#include "results/why.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/paths.h"
#include "data/manifest.h"
#include "results/origin.h"
#include "results/rebuild.h"

// The arithmetic, which comes first; the files behind it, with their hashes, which come last; and
// the first thing on the way that is not as recorded.
typedef struct trail {
    text *out, files;
    text *at;         // the one of these that is being written
    bool several;     // figures: the files of each have a heading
    char broken[512]; // "" while everything agrees
} trail;

// Writes a line at `depth`, with its subject in a separate column.
static void write_line(trail *t, int depth, const char *what, const char *format, ...)
    PRINTF_LIKE(4, 5);
static void write_line(trail *t, int depth, const char *what, const char *format, ...) {
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    text_format(t->at, "%*s%-11s %s\n", 2 * depth, "", what, line);
}

static void break_trail(trail *t, const char *format, ...) PRINTF_LIKE(2, 3);
static void break_trail(trail *t, const char *format, ...) {
    va_list args;
    if (*t->broken) return;
    va_start(args, format);
    vsnprintf(t->broken, sizeof t->broken, format, args);
    va_end(args);
}

// ---- Inputs ----

enum { DEPTH_MAX = 16 };

static status walk_inputs(trail *t, int depth, const char *folder, const yaml_node *root,
                          error *err);

// Is the input the output recorded by the stage before it?
static void check_producer(trail *t, int depth, const yaml_node *input, const char *producer,
                           const yaml_node *root) {
    const char *name = paths_name(yaml_text_at(input, "path"));
    const char *used = yaml_text_at(input, "content");
    const char *made = manifest_output_content(root, name);
    char *path = origin_tidy_path(producer, "manifest.yaml");
    write_line(t, depth, "made by", "%s: %s", yaml_text_at(root, "tool"), path ? path : producer);
    free(path);
    if (!*made || strcmp(used, made) == 0) return;
    write_line(t, depth, "BUT", "that manifest now records %s: the file has been rebuilt since",
               made);
    break_trail(t, "'%s/%s' has been rebuilt since it was read", producer, name);
}

// Writes the origin of a dataset: the archive and its pinned members.
static void write_archive(trail *t, int depth, const yaml_node *root) {
    const char *from = yaml_text_at(root, "run.source.from"),
               *hash = yaml_text_at(root, "run.source.sha256");
    const yaml_node *members = yaml_get(root, "results.members");
    if (*from) write_line(t, depth, "from", "%s%s%s", from, *hash ? "  sha256 " : "", hash);
    for (size_t i = 0; members && members->kind == YAML_MAPPING && i < members->count; i++)
        if (members->items[i]->kind == YAML_SCALAR)
            write_line(t, depth, "member", "%s  sha256 %s", members->keys[i],
                       members->items[i]->text);
}

static status walk_input(trail *t, int depth, const char *folder, const yaml_node *input,
                         error *err) {
    char *producer = NULL;
    yaml_node *root = NULL;
    const char *content = yaml_text_at(input, "content");
    char *path = origin_tidy_path(folder, yaml_text_at(input, "path"));
    write_line(t, depth, "input", "%s  %s %s", path, *content ? "content" : "sha256",
               *content ? content : yaml_text_at(input, "sha256"));
    free(path);
    status rc = origin_of(folder, input, &producer, &root, err);
    if (rc == STATUS_OK && root) {
        check_producer(t, depth + 1, input, producer, root);
        write_archive(t, depth + 1, root);
        rc = walk_inputs(t, depth + 1, producer, root, err);
    } else if (rc == STATUS_OK) {
        write_line(t, depth + 1, "made by", "unknown: there is no manifest next to it");
    }
    yaml_free(root);
    free(producer);
    return rc;
}

// Shards of one source are one input, represented by the first.
static bool same_shards(const yaml_node *a, const yaml_node *b) {
    const char *source = yaml_text_at(a, "source");
    return *source && strcmp(source, yaml_text_at(b, "source")) == 0;
}

static status walk_inputs(trail *t, int depth, const char *folder, const yaml_node *root,
                          error *err) {
    const yaml_node *inputs = yaml_find(root, "inputs");
    if (depth > DEPTH_MAX) return STATUS_OK;
    for (size_t i = 0; inputs && i < inputs->count; i++) {
        const yaml_node *input = inputs->items[i];
        size_t more = 0;
        NEED(walk_input(t, depth, folder, input, err));
        while (i + 1 < inputs->count && same_shards(input, inputs->items[i + 1])) i++, more++;
        if (more) write_line(t, depth, "and", "%zu more of the same source", more);
    }
    return STATUS_OK;
}

// ---- Figures ----

static void compare_file(trail *t, int depth, const rebuilt *b) {
    const char *recorded = manifest_output_content(b->file.manifest, b->file.name);
    const bool same = strcmp(recorded, b->found) == 0;
    t->at = &t->files;
    write_line(t, depth, "file", "%s  content %s%s", b->file.name, b->found,
               same ? ", as recorded" : "");
    if (!same) {
        write_line(t, depth, "BUT", "the manifest records %s", *recorded ? recorded : "nothing");
        break_trail(t, "'%s' is not the file that the manifest recorded", b->file.name);
    }
    t->at = t->out;
}

static void compare_value(trail *t, int depth, const figure *f, const rebuilt *b,
                          double recomputed) {
    const bool agrees = metric_agrees(f->row, f->value, recomputed);
    const metric_counts of = f->row->counts(&b->run, f->member);
    char how[128];
    if (isnan(of.second))
        snprintf(how, sizeof how, f->row->how, of.first, of.first == 1 ? "" : "s");
    else
        snprintf(how, sizeof how, f->row->how, of.first, of.second);
    write_line(t, depth, "recomputed", "%.9g (%s): %s", recomputed, how,
               agrees ? "agrees" : "DOES NOT AGREE");
    if (!agrees) break_trail(t, "it is %.9g when recomputed", recomputed);
}

static status write_recomputed(trail *t, int depth, const figure *f, error *err) {
    rebuilt b = {0};
    status rc = STATUS_OK;
    double recomputed = NAN;
    if (metric_file_of(f->row->file, f->run).name) {
        TRY(rebuild(f->run, f->row->file, &b, err));
        recomputed = metric_recompute(f->row, &b.run, f->member);
    }
    if (isnan(recomputed)) {
        write_line(t, depth, "recomputed",
                   f->row->kind == METRIC_PARAMETER
                       ? "nothing to recompute it from: this is a setting of the run"
                       : "no file to recompute it from: the tool measured it");
    } else {
        compare_file(t, 1, &b);
        compare_value(t, depth, f, &b, recomputed);
    }
out:
    rebuilt_release(&b);
    return rc;
}

static void write_value(trail *t, int depth, const figure *f) {
    const char *gap = *f->note ? ", " : "";
    if (isnan(f->value))
        text_format(t->out, "%*s%s has no value: %s\n", 2 * depth, "", f->id, f->note);
    else
        text_format(t->out, "%*s%s = %.9g %s%s%s\n", 2 * depth, "", f->id, f->value, f->row->unit,
                    gap, f->note);
}

// Does the figure come from several executions of its run?
static bool is_pooled(const figure *f) {
    return f->run && run_execution_count(f->run) > 1 && !*f->source;
}

// ---- Turns ----

// Compares the manifest's seconds per sample with the turns.
static void compare_arm(trail *t, int depth, const timed_arms *timing, size_t arm) {
    const metric_row *like = metrics_find("seconds_per_epoch"); // for its tolerance
    const turn_fit *shown = turn_evidence_shown(&timing->evidence);
    const double fitted = turn_fit_seconds(shown, arm).value;
    char key[64];
    snprintf(key, sizeof key, "results.seconds_per_sample.%zu", arm);
    const double recorded = yaml_number_at(timing->manifest, key);
    const bool agrees = !isnan(recorded) && metric_agrees(like, recorded, fitted);
    write_line(t, depth, "recomputed", "%.9g s per sample (geometric mean of %zu executions): %s",
               fitted, shown->executions, agrees ? "agrees" : "DOES NOT AGREE");
    write_line(t, depth, "manifest", "%s/manifest.yaml: %s", timing->folder, key);
    if (!agrees) break_trail(t, "'%s' is %.9g when recomputed", key, fitted);
}

// Writes how the arm of a run was timed, and the time of each execution.
static void write_turns(trail *t, int depth, const run *r, const timed_arms *timing, size_t arm) {
    const yaml_node *one = timing->arms->items[arm];
    const turn_fit *shown = turn_evidence_shown(&timing->evidence);
    write_line(t, depth, "arm", "%zu of %zu: %s", arm + 1, shown->arms,
               yaml_text_at(one, "command"));
    write_line(t, depth, "left out", "the first %zu entries of each turn", shown->skipped[arm]);
    for (size_t e = 0; e < shown->executions; e++)
        write_line(t, depth, "execution", "%zu: %.9g s per epoch (fit of %zu turns)", e + 1,
                   turn_fit_execution(shown, e, arm) * (double)r->samples, shown->rounds[e]);
    compare_arm(t, depth, timing, arm);
}

static status explain_turns(trail *t, int depth, const run *r, const timed_arms *timing, size_t arm,
                            error *err) {
    rebuilt b;
    run timed = *r;
    timed.timing = timing;
    status rc = rebuild(&timed, FILE_TURNS, &b, err);
    if (rc != STATUS_OK) return rc;
    write_turns(t, depth, r, timing, arm);
    if (t->several) text_format(&t->files, "files of %s\n", r->name);
    compare_file(t, 1, &b);
    rebuilt_release(&b);
    t->at = &t->files;
    rc = walk_inputs(t, 1, r->folder, r->train, err);
    t->at = t->out;
    return rc;
}

// ---- Executions ----

static status explain_run_figure(const results *r, trail *t, int depth, const figure *f,
                                 error *err);

// Explains the same figure of every execution. The number of executions has none: lists their
// folders.
static status explain_executions(const results *r, trail *t, int depth, const figure *f,
                                 error *err) {
    const run *one = f->run;
    for (size_t i = 0; i < run_execution_count(one); i++) {
        const figure *part = figures_of_execution(&r->figures, f, i + 1);
        if (!part)
            write_line(t, depth + 1, "execution", "%zu: %s", i + 1, run_execution(one, i)->folder);
        NEED(part ? explain_run_figure(r, t, depth + 1, part, err) : STATUS_OK);
    }
    return STATUS_OK;
}

static status explain_run_figure(const results *whole, trail *t, int depth, const figure *f,
                                 error *err) {
    const run *r = f->run;
    const bool tested = metric_is_tested(f->row, r);
    write_value(t, depth, f);
    if (is_pooled(f)) return explain_executions(whole, t, depth, f, err);
    if (r->timing && metric_is_epoch_time(f->row))
        return explain_turns(t, depth + 1, r, r->timing, r->arm, err);
    if (t->several) text_format(&t->files, "files of %s\n", f->id);
    status rc = write_recomputed(t, depth + 1, f, err);
    if (rc != STATUS_OK) return rc;
    write_line(t, depth + 1, f->row->over == OVER_TURNS ? "recorded" : "manifest", "%s", f->source);
    t->at = &t->files;
    rc =
        walk_inputs(t, 1, tested ? r->evaluation : r->folder, tested ? r->evaluate : r->train, err);
    t->at = t->out;
    return rc;
}

// A comparison of whole executions does not use the time that turns gave one of its runs.
static status explain_part(const results *r, trail *t, const figure *whole, const figure *f,
                           error *err) {
    if (!whole->compared || !f->run->timing || !metric_is_epoch_time(f->row))
        return explain_run_figure(r, t, 1, f, err);
    text_format(t->out, "  %s: whole trainings\n", f->owner);
    return explain_executions(r, t, 1, f, err);
}

static status explain_group(const results *r, trail *t, const figure *whole, const seed_group *g,
                            error *err) {
    const bool epoch = strcmp(whole->part, "seconds_per_epoch") == 0;
    const timed_arms *timing = whole->compared ? whole->compared->timing : NULL;
    size_t arm;
    const run *timed =
        epoch && (timing || !whole->compared) ? seed_group_arm(g, timing, &arm) : NULL;
    if (timed) {
        text_format(t->out, "  %s.seconds_per_epoch, from turns\n", timed->name);
        return explain_turns(t, 2, timed, timing ? timing : timed->timing, arm, err);
    }
    for (size_t i = 0; i < g->count; i++) {
        const figure *f = figures_of(&r->figures, g->runs[i]->name, whole->part);
        NEED(f ? explain_part(r, t, whole, f, err) : STATUS_OK);
    }
    return STATUS_OK;
}

// Explains a figure of several runs by the figures that it is computed from.
static status explain_joint_figure(const results *r, trail *t, const figure *f, error *err) {
    write_value(t, 0, f);
    if (*f->source) write_line(t, 1, "with", "%s", f->source);
    if (f->against) {
        write_line(t, 1, "against", "%s:", f->against->name);
        NEED(explain_group(r, t, f, f->against, err));
    }
    write_line(t, 1, "of", "%s:", f->of->name);
    return explain_group(r, t, f, f->of, err);
}

// Names the figures that may have been meant.
static status unknown_figure(const results *r, const char *id, error *err) {
    text near = {0};
    figures_append_near(&r->figures, id, &near);
    status rc =
        error_set(err, STATUS_USAGE, "no such figure: '%s'%s%s%s; report.csv lists them all", id,
                  near.length ? ": did you mean " : "", text_string(&near), near.length ? "?" : "");
    text_release(&near);
    return rc;
}

status results_why(const results *r, const char *id, text *out, error *err) {
    const figure *f = figures_find(&r->figures, id);
    if (!f) return unknown_figure(r, id, err);
    trail t = {.out = out, .at = out, .several = !f->run || is_pooled(f)};
    status rc = f->run ? explain_run_figure(r, &t, 0, f, err) : explain_joint_figure(r, &t, f, err);
    text_append(out, text_string(&t.files));
    if (rc == STATUS_OK && *t.broken)
        rc = error_set(err, STATUS_FINDING, "figure '%s' is not confirmed: %s", id, t.broken);
    text_release(&t.files);
    if (rc == STATUS_OK) return STATUS_OK;
    return rc;
}
