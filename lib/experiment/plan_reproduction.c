// SPDX-License-Identifier: MIT
// Plans the experiments and studies for the rows of published reports.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/paths.h"
#include "experiment/catalog.h"
#include "experiment/experiment.h"
#include "experiment/lookup.h"
#include "experiment/plan.h"
#include "experiment/published.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

// ---- The file of one report: the experiments and studies that stand for its rows ----

static const char REPORT_SCHEMA[] = "lockstep.report/1";
static const char *const report_keys[] = {"schema", "source", "title", "claim", "runs", "studies"};

// Finds the claim that `report` names: a name means claims/NAME.yaml, in the folder of the file or
// in one above it; a path is relative to the file. free() `path`.
static status report_file_claim(const yaml_node *report, char **path, error *err) {
    const char *name;
    *path = NULL;
    status rc = yaml_string(yaml_find(report, "claim"), "claim", &name, err);
    return rc == STATUS_OK ? lookup_file(report->file, "claims", name, path, err) : rc;
}

// A claim in the report's folder is the report's.
static void find_claim(yaml_node *report) {
    if (yaml_find(report, "claim")) return;
    const int folder = lookup_folder_length(report->file);
    if (paths_allow(F_OK, "%.*sclaim.yaml", folder, report->file))
        yaml_put(report, "claim", yaml_new_string("claim.yaml"));
}

// Takes keys from the claim that the report does not have.
static status take_from_claim(yaml_node *report, error *err) {
    static const struct {
        const char *key, *of;
    } taken[] = {{"source", "name"}, {"title", "title"}};
    yaml_node *claim = NULL;
    char *path = NULL;
    status rc;
    TRY(report_file_claim(report, &path, err));
    TRY(yaml_read_file(path, &claim, err));
    for (size_t i = 0; i < COUNT(taken); i++) {
        const yaml_node *value = yaml_find(claim, taken[i].of);
        if (value && !yaml_find(report, taken[i].key))
            yaml_put(report, taken[i].key, yaml_copy(value));
    }
out:
    yaml_free(claim);
    free(path);
    return rc;
}

// Reads the file. `claim` defaults to the claim.yaml in the same folder, if there is one, and
// `source` and `title` to the claim's name and title. STATUS_INPUT if it is not a report file; does
// not check whether its rows can be run.
static status report_file_read(const char *path, yaml_node **report, error *err) {
    status rc = plan_read_source(path, REPORT_SCHEMA, report_keys, COUNT(report_keys), report, err);
    if (rc != STATUS_OK) return rc;
    find_claim(*report);
    if (yaml_find(*report, "claim")) rc = take_from_claim(*report, err);
    if (rc == STATUS_OK) return rc;
    yaml_free(*report);
    *report = NULL;
    return rc;
}

// ---- The plan so far ----

// The list being read, and the plan so far.
typedef struct reproduction {
    const char *path, *name; // of the list
    yaml_node *root;
    bool quick;
    char *folder;     // for its own runs: NAME, or NAME-quick
    yaml_node *given; // assignments to every run: of `quick`, then those of the command line
    bool changed;     // does one of them change the experiments?
    published published;
    yaml_node *own; // the trees of report files
    yaml_node *plan, *reports, *studies;
} reproduction;

// ---- The list ----

// Checks the assignments of a mapping, which may be NULL.
static status check_assignments(const yaml_node *mapping, const char *key, error *err) {
    if (!mapping) return STATUS_OK;
    if (mapping->kind != YAML_MAPPING)
        return yaml_error(mapping, err, "'%s': expected a mapping", key);
    return experiment_check_assignments(mapping, err);
}

static bool is_all(const yaml_node *reports) {
    return reports->kind == YAML_SCALAR && strcmp(reports->text, "all") == 0;
}

static status read_list(reproduction *p, error *err) {
    static const char *const keys[] = {"schema", "name", "title", "quick", "reports"};
    NEED(plan_read_source(p->path, "lockstep.reproduction/1", keys, COUNT(keys), &p->root, err));
    const yaml_node *name = yaml_find(p->root, "name"), *reports = yaml_find(p->root, "reports");
    if (!name) return yaml_error(p->root, err, "'name' is missing");
    NEED(yaml_string(name, "name", &p->name, err));
    if (!*p->name || strspn(p->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789._-") != strlen(p->name))
        return yaml_error(name, err, "'name': it names a folder: letters, digits, '.', '_', '-'");
    if (!reports || !(is_all(reports) || (reports->kind == YAML_SEQUENCE && reports->count)))
        return yaml_error(reports ? reports : p->root, err,
                          "'reports': expected a list, or the word 'all'");
    NEED(check_assignments(yaml_find(p->root, "quick"), "quick", err));
    p->folder = memory_format("%s%s", p->name, p->quick ? "-quick" : "");
    return STATUS_OK;
}

// Appends copies of the assignments that hold for all runs.
static void add_given(const reproduction *p, yaml_node *run) {
    const yaml_node *set = yaml_find(p->given, "set");
    for (size_t i = 0; i < set->count; i++) plan_add_set(run, set->items[i]->text);
}

// Each seed has a separate folder; any other assignment makes another run in the same folder.
static void collect_given(reproduction *p, const char *const *set, size_t count) {
    p->given = yaml_new(YAML_MAPPING);
    yaml_put(p->given, "set", yaml_new(YAML_SEQUENCE));
    if (p->quick) plan_add_mapping(p->given, yaml_find(p->root, "quick"));
    p->changed = yaml_find(p->given, "set")->count > 0;
    for (size_t i = 0; i < count; i++) {
        plan_add_set(p->given, set[i]);
        p->changed = p->changed || strncmp(set[i], "seed=", 5) != 0;
    }
}

// ---- Runs ----

static status check_name(const reproduction *p, const yaml_node *place, const char *name,
                         error *err) {
    const yaml_node *runs = yaml_find(p->plan, "runs");
    for (size_t i = 0; runs && i < runs->count; i++)
        if (strcmp(yaml_find(runs->items[i], "name")->text, name) == 0)
            return yaml_error(place, err, "two runs are called '%s'; rename one with 'name'", name);
    return STATUS_OK;
}

// "…/vgg.yaml" gives "vgg", the name in `make experiment EXP=vgg`.
static int base_name(const char *path, const char **name) {
    *name = paths_name(path);
    return (int)paths_stem(*name);
}

static void put_format(yaml_node *node, const char *key, char *text) {
    yaml_put(node, key, yaml_new_string(text));
    free(text);
}

// `sub`: the variant, in a study.
static void put_place(const reproduction *p, yaml_node *run, const char *file, bool own,
                      const char *sub) {
    const char *base, *name = yaml_find(run, "name")->text;
    int length = base_name(file, &base);
    char *folder;
    if (own && !sub)
        folder = memory_format("%s/%s", p->folder, name);
    else if (own)
        folder = memory_format("%s/%.*s/%s", p->folder, length, base, sub);
    else if (sub)
        folder = memory_format("%.*s/%s", length, base, sub);
    else
        folder = memory_format("%.*s", length, base);
    put_format(run, "folder", folder);
}

// Reads the experiment without `quick` and the command line: its errors are the list's.
static status read_own(const yaml_node *entry, const char *file, const yaml_node *run,
                       experiment *e, error *err) {
    error local = {0};
    status rc = plan_experiment(file, yaml_find(run, "set"), e, &local);
    if (rc != STATUS_OK)
        rc = yaml_error(entry, err, "run '%s': %s", yaml_find(run, "name")->text, local.message);
    return rc;
}

// Checks the list's assignments that shorten a run, without those of the command line.
static status check_quick(const reproduction *p, const char *file, const yaml_node *run,
                          const yaml_node *more, error *err) {
    const char *name = yaml_find(run, "name")->text;
    yaml_node *trial = yaml_copy(run);
    status rc = plan_try_quick(trial, yaml_find(p->root, "quick"), file, name, err);
    if (rc == STATUS_OK) rc = plan_try_quick(trial, more, file, name, err);
    yaml_free(trial);
    return rc;
}

// Adds the epochs of the published experiment, without any assignments.
static status put_epochs(yaml_node *run, const char *file, const yaml_node *set, error *err) {
    experiment e = {0};
    status rc = plan_experiment(file, set, &e, err);
    if (rc == STATUS_OK) yaml_put(run, "full_epochs", yaml_new_number(e.epochs));
    experiment_release(&e);
    return rc;
}

typedef struct row {
    const yaml_node *entry, *set, *name, *against, *quick;
    char *file;
} row;

// NAME, or {experiment: NAME, …}.
static status read_row(const yaml_node *entry, row *w, error *err) {
    static const char *const keys[] = {"experiment", "name", "set", "against", "quick"};
    const yaml_node *file = entry;
    *w = (row){.entry = entry};
    if (entry->kind == YAML_MAPPING) {
        NEED(yaml_check_keys(entry, keys, COUNT(keys), err));
        w->set = yaml_find(entry, "set");
        w->name = yaml_find(entry, "name");
        w->against = yaml_find(entry, "against");
        w->quick = yaml_find(entry, "quick");
        file = yaml_find(entry, "experiment");
        if (!file) return yaml_error(entry, err, "'experiment' is missing");
        NEED(check_assignments(w->set, "set", err));
        if (w->quick && w->quick->kind != YAML_SCALAR)
            NEED(check_assignments(w->quick, "quick", err));
    }
    return plan_find(entry->file, "", file, "experiment", &w->file, err);
}

// `quick: false` leaves the run out; a mapping adds assignments.
static status is_left_out(const reproduction *p, const row *w, bool *left_out, error *err) {
    bool stays = true;
    status rc = STATUS_OK;
    if (w->quick && w->quick->kind == YAML_SCALAR)
        rc = yaml_boolean(w->quick, "quick", &stays, err);
    *left_out = p->quick && !stays;
    return rc;
}

static status row_name(const row *w, const char **name, char **own, error *err) {
    experiment e = {0};
    status rc = STATUS_OK;
    *own = NULL;
    if (w->name) return yaml_string(w->name, "name", name, err);
    rc = experiment_read(&e, w->file, NULL, 0, err);
    if (rc != STATUS_OK) return rc;
    *own = memory_string(e.name);
    *name = *own;
    experiment_release(&e);
    return STATUS_OK;
}

static status fill_row(const reproduction *p, const row *w, yaml_node *run, const char *source,
                       error *err) {
    static const yaml_node nothing = {.kind = YAML_SEQUENCE};
    const bool more = p->quick && w->quick && w->quick->kind == YAML_MAPPING;
    const char *against;
    experiment e = {0};
    status rc;
    yaml_put(run, "experiment", yaml_new_string(w->file));
    yaml_put(run, "role", yaml_new_string("row"));
    yaml_put(run, "source", yaml_new_string(source));
    TRY(put_epochs(run, w->file, &nothing, err));
    if (w->against) {
        TRY(yaml_string(w->against, "against", &against, err));
        yaml_put(run, "against", yaml_new_string(against));
    }
    plan_add_mapping(run, w->set);
    TRY(read_own(w->entry, w->file, run, &e, err));
    if (p->quick) TRY(check_quick(p, w->file, run, more ? w->quick : NULL, err));
    add_given(p, run);
    if (more) plan_add_mapping(run, w->quick);
    if (w->name) plan_add_value(run, "name", w->name);
    put_place(p, run, w->file, p->changed || more || w->set || w->name, NULL);
    // A run with its own name is not a row of a claim.
    if (!w->name) published_put(&p->published, run, NULL, e.name);
out:
    experiment_release(&e);
    return rc;
}

static status add_row(reproduction *p, const yaml_node *entry, const char *source, error *err) {
    const char *name;
    char *own = NULL;
    row w;
    bool left_out;
    status rc = read_row(entry, &w, err);
    if (rc == STATUS_OK) rc = is_left_out(p, &w, &left_out, err);
    if (rc != STATUS_OK || left_out) goto out;
    TRY(row_name(&w, &name, &own, err));
    TRY(check_name(p, entry, name, err));
    TRY(fill_row(p, &w, plan_add_run(p->plan, name), source, err));
out:
    free(own);
    free(w.file);
    return rc;
}

// `against` names a run of the same report, or is `none`. If a quick list left that run out,
// `against` is removed, which means the report's first run.
static status check_against(const reproduction *p, const yaml_node *report, const char *source,
                            error *err) {
    yaml_node *runs = (yaml_node *)yaml_find(p->plan, "runs");
    for (size_t i = 0; runs && i < runs->count; i++) {
        const yaml_node *against = yaml_find(runs->items[i], "against");
        bool found = against && strcmp(against->text, "none") == 0;
        if (!against || strcmp(yaml_find(runs->items[i], "source")->text, source) != 0) continue;
        for (size_t k = 0; k < runs->count; k++)
            found |= strcmp(yaml_find(runs->items[k], "name")->text, against->text) == 0 &&
                     strcmp(yaml_find(runs->items[k], "source")->text, source) == 0;
        if (!found && !p->quick)
            return yaml_error(report, err, "'against: %s': this report has no such run",
                              against->text);
        if (!found) yaml_remove(runs->items[i], "against");
    }
    return STATUS_OK;
}

// ---- Studies ----

// Adds the epochs that the study's own assignments give.
static status full_epochs(yaml_node *run, const yaml_node *alone, size_t at, error *err) {
    const yaml_node *runs = yaml_find(alone, "runs");
    return put_epochs(run, yaml_find(alone, "experiment")->text, yaml_find(runs->items[at], "set"),
                      err);
}

static status add_variants(reproduction *p, const yaml_node *entry, const char *file,
                           const yaml_node *study, const yaml_node *alone, const char *source,
                           error *err) {
    const yaml_node *runs = yaml_find(study, "runs"), *name = yaml_find(study, "name");
    for (size_t i = 0; i < runs->count; i++) {
        const char *variant = yaml_find(runs->items[i], "name")->text;
        NEED(check_name(p, entry, variant, err));
        yaml_node *run = plan_add_run(p->plan, variant);
        yaml_put(run, "experiment", yaml_copy(yaml_find(study, "experiment")));
        yaml_put(run, "role", yaml_new_string("variant"));
        yaml_put(run, "source", yaml_new_string(source));
        yaml_put(run, "study", yaml_copy(name));
        NEED(full_epochs(run, alone, i, err));
        yaml_put(run, "set", yaml_copy(yaml_find(runs->items[i], "set")));
        yaml_put(run, "values", yaml_copy(yaml_find(runs->items[i], "values")));
        published_put(&p->published, run, name->text, variant);
        put_place(p, run, file, p->changed, variant);
    }
    return STATUS_OK;
}

static void describe_study(reproduction *p, const yaml_node *study, const char *source) {
    static const char *const keys[] = {"name", "title", "vary"};
    yaml_node *described = yaml_new(YAML_MAPPING);
    yaml_append(p->studies, described);
    for (size_t i = 0; i < COUNT(keys); i++) {
        const yaml_node *value = yaml_find(study, keys[i]);
        if (value) yaml_put(described, keys[i], yaml_copy(value));
    }
    yaml_put(described, "source", yaml_new_string(source));
}

// Plans the study with all assignments. Errors in the list give their place there.
static status plan_given_study(const reproduction *p, const char *file, const char *const *words,
                               size_t count, yaml_node **study, error *err) {
    const yaml_node *quick = p->quick ? yaml_find(p->root, "quick") : NULL;
    error local = {0};
    status rc = plan_study(file, words, count, study, &local);
    if (rc == STATUS_OK) return rc;
    const yaml_node *fault = plan_quick_fault(quick, 0, &local);
    if (fault) return yaml_error(fault, err, "study '%s': %s", file, error_reason(&local));
    return error_pass(&local, err);
}

static status add_study(reproduction *p, const yaml_node *entry, const char *source, error *err) {
    const yaml_node *set = yaml_find(p->given, "set");
    yaml_node *study = NULL, *alone = NULL;
    char *file = NULL;
    status rc = STATUS_OK;
    const char **words = memory_new(set->count, sizeof *words);
    for (size_t i = 0; i < set->count; i++) words[i] = set->items[i]->text;
    TRY(plan_find(entry->file, "studies", entry, "studies", &file, err));
    TRY(plan_study(file, NULL, 0, &alone, err));
    TRY(plan_given_study(p, file, words, set->count, &study, err));
    describe_study(p, study, source);
    TRY(add_variants(p, entry, file, study, alone, source, err));
out:
    yaml_free(alone);
    yaml_free(study);
    free(file);
    free(words);
    return rc;
}

// ---- Reports ----

static status check_report(const yaml_node *report, const char **source, error *err) {
    if (report->kind != YAML_MAPPING) return yaml_error(report, err, "expected a report");
    NEED(yaml_check_keys(report, report_keys, COUNT(report_keys), err));
    if (!yaml_find(report, "source")) return yaml_error(report, err, "'source' is missing");
    NEED(yaml_string(yaml_find(report, "source"), "source", source, err));
    const yaml_node *runs = yaml_find(report, "runs"), *studies = yaml_find(report, "studies");
    if (!runs || runs->kind != YAML_SEQUENCE || !runs->count)
        return yaml_error(runs ? runs : report, err, "'runs': expected a list");
    if (studies && studies->kind != YAML_SEQUENCE)
        return yaml_error(studies, err, "'studies': expected a list");
    return STATUS_OK;
}

static status describe_report(reproduction *p, const yaml_node *report, error *err) {
    yaml_node *described = yaml_new(YAML_MAPPING);
    const yaml_node *title = yaml_find(report, "title");
    char *path;
    yaml_append(p->reports, described);
    status rc = STATUS_OK;
    yaml_put(described, "source", yaml_copy(yaml_find(report, "source")));
    if (title) yaml_put(described, "title", yaml_copy(title));
    if (!yaml_find(report, "claim")) return STATUS_OK;
    TRY(report_file_claim(report, &path, err));
    rc = published_add(&p->published, path, err);
    if (rc == STATUS_OK) {
        put_format(described, "claim", path);
        return STATUS_OK;
    }
    free(path);
out:
    return rc;
}

static status add_report(reproduction *p, const yaml_node *report, error *err) {
    const char *source;
    NEED(check_report(report, &source, err));
    for (size_t i = 0; i < p->reports->count; i++)
        if (strcmp(yaml_find(p->reports->items[i], "source")->text, source) == 0)
            return yaml_error(report, err, "'source: %s' occurs twice", source);
    NEED(describe_report(p, report, err));
    const yaml_node *runs = yaml_find(report, "runs"), *studies = yaml_find(report, "studies");
    for (size_t i = 0; i < runs->count; i++) NEED(add_row(p, runs->items[i], source, err));
    NEED(check_against(p, report, source, err));
    for (size_t i = 0; studies && i < studies->count; i++)
        NEED(add_study(p, studies->items[i], source, err));
    return STATUS_OK;
}

// ---- Report files ----

static status add_report_file(reproduction *p, const char *path, error *err) {
    yaml_node *report;
    status rc = report_file_read(path, &report, err);
    if (rc == STATUS_OK) yaml_append(p->own, report);
    return rc == STATUS_OK ? add_report(p, report, err) : rc;
}

// NAME means NAME/report.yaml, in the folder of the list or in one above it.
static status add_named_report(reproduction *p, const yaml_node *entry, error *err) {
    const char *name;
    char *path;
    error local;
    status rc = yaml_string(entry, "reports", &name, err);
    if (rc != STATUS_OK) return rc;
    rc = lookup_file(entry->file, lookup_is_path(name) ? "" : name,
                     lookup_is_path(name) ? name : "report", &path, err);
    if (rc != STATUS_OK) return rc;
    rc = add_report_file(p, path, &local);
    free(path);
    if (rc == STATUS_INPUT && local.origin == ERROR_ELSEWHERE)
        return yaml_error(entry, err, "'reports': %s", local.message);
    return rc == STATUS_OK ? rc : error_pass(&local, err);
}

// Adds every report of the list's catalogue, sorted by file path.
static status add_all_reports(reproduction *p, const yaml_node *word, error *err) {
    catalog c;
    bool found;
    status rc = lookup_catalog(p->path, &c, &found, err);
    if (rc != STATUS_OK) return rc;
    for (size_t i = 0; rc == STATUS_OK && found && i < c.count; i++)
        if (strcmp(c.items[i].schema, REPORT_SCHEMA) == 0)
            rc = add_report_file(p, c.items[i].path, err);
    if (rc == STATUS_OK && !p->reports->count)
        rc = yaml_error(
            word, err, "'reports: all': no 'experiments' folder above this file contains a report");
    if (found) catalog_release(&c);
    return rc;
}

static status add_reports(reproduction *p, const yaml_node *reports, error *err) {
    status rc = STATUS_OK;
    if (is_all(reports)) return add_all_reports(p, reports, err);
    for (size_t i = 0; rc == STATUS_OK && i < reports->count; i++) {
        const yaml_node *entry = reports->items[i];
        rc = entry->kind == YAML_SCALAR ? add_named_report(p, entry, err)
                                        : add_report(p, entry, err);
    }
    return rc;
}

static status make_plan(reproduction *p, error *err) {
    const yaml_node *title = yaml_find(p->root, "title");
    p->plan = plan_new("reproduction", NULL);
    yaml_put(p->plan, "name", yaml_new_string(p->folder));
    if (title) yaml_put(p->plan, "title", yaml_copy(title));
    if (p->changed) yaml_put(p->plan, "changed", yaml_copy(yaml_find(p->given, "set")));
    p->reports = yaml_new(YAML_SEQUENCE);
    yaml_put(p->plan, "reports", p->reports);
    p->studies = yaml_new(YAML_SEQUENCE);
    yaml_put(p->plan, "studies", p->studies);
    p->own = yaml_new(YAML_SEQUENCE);
    return add_reports(p, yaml_find(p->root, "reports"), err);
}

status plan_reproduction(const char *path, bool quick, const char *const *set, size_t set_count,
                         yaml_node **plan, error *err) {
    reproduction p = {.path = path, .quick = quick};
    status rc = read_list(&p, err);
    if (rc == STATUS_OK) collect_given(&p, set, set_count);
    if (rc == STATUS_OK) rc = published_read(&p.published, path, err);
    if (rc == STATUS_OK) rc = make_plan(&p, err);
    *plan = rc == STATUS_OK ? p.plan : NULL;
    if (rc != STATUS_OK) yaml_free(p.plan);
    published_release(&p.published);
    yaml_free(p.given);
    yaml_free(p.own);
    yaml_free(p.root);
    free(p.folder);
    return rc;
}
