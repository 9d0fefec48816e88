// SPDX-License-Identifier: MIT
// The commands `verify` and `grade`: submissions are verified one after another, and compared with
// each other.
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "pipeline/pipeline.h"
#include "pipeline/planned_run.h"
#include "pipeline/replay/replay.h"
#include "pipeline/submission/verify.h"
#include "pipeline/work.h"

typedef struct grading {
    verification *items;
    size_t count;
    words names; // of the folders below ARTIFACTS/verified
    uint64_t choice;
} grading;

// ---- Archives ----

// Returns the ending of an archive's name; NULL if it has none.
static const char *find_ending(const char *name) {
    static const char *const endings[] = {".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".tar", ".zip"};
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t own = strlen(endings[i]);
        if (length > own && strcmp(name + length - own, endings[i]) == 0)
            return name + length - own;
    }
    return NULL;
}

static int by_name(const FTSENT **a, const FTSENT **b) {
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

// Adds the archives in a folder and below it, in the order of their names; a file is added itself.
static status find_archives(const char *name, words *archives, error *err) {
    char *const roots[] = {(char *)name, NULL};
    const size_t before = archives->count;
    status rc = STATUS_OK;
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, by_name);
    if (!walk) return error_set(err, STATUS_FAILED, "cannot read '%s'", name);
    for (FTSENT *entry; rc == STATUS_OK && (entry = fts_read(walk));)
        if (entry->fts_info == FTS_F && (entry->fts_level == 0 || find_ending(entry->fts_name)))
            rc = words_add(archives, entry->fts_path, err);
    fts_close(walk);
    if (rc == STATUS_OK && archives->count == before)
        rc = error_set(err, STATUS_INPUT, "cannot verify: '%s': no submission there", name);
    return rc;
}

// Returns the archive's name without its ending, with '_' for unusual characters.
static char *folder_name(const char *archive, error *err) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "=._,-+";
    const char *slash = strrchr(archive, '/');
    char *name = memory_string(slash ? slash + 1 : archive, err);
    if (!name) return NULL;
    const char *ending = find_ending(name);
    if (ending) name[ending - name] = 0;
    for (char *c = name; *c; c++)
        if (!strchr(plain, *c) || (c == name && *c == '.')) *c = '_';
    return name;
}

// Adds a name that no archive before it has.
static status add_name(grading *g, const char *archive, error *err) {
    char *name = folder_name(archive, err);
    status rc = name ? STATUS_OK : STATUS_FAILED;
    for (int number = 2; rc == STATUS_OK && words_has(&g->names, name); number++) {
        char *base = folder_name(archive, err);
        free(name);
        name = base ? memory_format(err, "%s-%d", base, number) : NULL;
        free(base);
        if (!name) rc = STATUS_FAILED;
    }
    if (rc == STATUS_OK) rc = words_add(&g->names, name, err);
    free(name);
    return rc;
}

// ---- Comparing submissions ----

// Returns the next submission after `from` that has a trace of `v`; g->count if there is none.
static size_t find_copy(const grading *g, const verification *v, size_t from) {
    for (size_t i = from; i < g->count; i++)
        for (size_t k = 0; &g->items[i] != v && k < v->traces.count; k++)
            if (words_has(&g->items[i].traces, v->traces.items[k])) return i;
    return g->count;
}

// STATUS_FAILED if a check could not be made, STATUS_FINDING if a submission was refuted or
// refused.
static status conclude(const grading *g, error *err) {
    size_t refuted = 0, failed = 0;
    for (size_t i = 0; i < g->count; i++) {
        const verification *v = &g->items[i];
        failed += v->failed;
        refuted += v->refused || verification_outcome(v, CHECK_SUBJECTS) == CHECK_DIFFERENT;
    }
    if (failed)
        return error_set(err, STATUS_FAILED,
                         "%zu of %zu submissions: a check failed, and was not made", failed,
                         g->count);
    if (!refuted) return STATUS_OK;
    if (g->count == 1)
        return error_set(err, STATUS_FINDING, "'%s' contradicts its files", g->items[0].archive);
    return error_set(err, STATUS_FINDING, "%zu of %zu submissions contradict their files", refuted,
                     g->count);
}

// ---- As text ----

static void print_checks(const verification *v) {
    for (size_t i = 0; i < v->count; i++)
        printf("%-11s %-10s %s\n", check_subject_name(v->checks[i].subject),
               check_outcome_name(v->checks[i].outcome), v->checks[i].text);
}

static void print_one(const grading *g) {
    const verification *v = &g->items[0];
    print_checks(v);
    printf("%-11s %-10s who trained the models, and how long it took\n", "origin", "not shown");
    if (v->report) printf("the report, made again: %s\n", v->report);
    printf("segments chosen by SEED=%llu\n", (unsigned long long)g->choice);
    printf("%s: %s\n", v->archive, check_outcome_name(verification_outcome(v, CHECK_SUBJECTS)));
}

static void print_row(const grading *g, const verification *v, int width) {
    printf("%-*s", width, v->archive);
    for (int s = 0; s < CHECK_SUBJECTS; s++)
        printf("  %-10s", v->refused
                              ? "refused"
                              : check_outcome_name(verification_outcome(v, (check_subject)s)));
    for (size_t i = find_copy(g, v, 0); i < g->count; i = find_copy(g, v, i + 1))
        printf("  %s", g->items[i].archive);
    putchar('\n');
}

// The table, and then every finding.
static void print_table(const grading *g) {
    size_t width = strlen("submission");
    for (size_t i = 0; i < g->count; i++)
        if (width < strlen(g->items[i].archive)) width = strlen(g->items[i].archive);
    printf("%-*s", (int)width, "submission");
    for (int s = 0; s < CHECK_SUBJECTS; s++)
        printf("  %-10s", check_subject_name((check_subject)s));
    puts("  same execution as");
    for (size_t i = 0; i < g->count; i++) print_row(g, &g->items[i], (int)width);
    for (size_t i = 0; i < g->count; i++) {
        const verification *v = &g->items[i];
        if (v->refused) printf("%s: refused: %s\n", v->archive, v->refused);
        for (size_t k = 0; k < v->count; k++)
            if (v->checks[k].outcome == CHECK_DIFFERENT)
                printf("%s: %s: %s\n", v->archive, check_subject_name(v->checks[k].subject),
                       v->checks[k].text);
    }
    printf("not shown: who trained the models, and how long it took; segments chosen by "
           "SEED=%llu\n",
           (unsigned long long)g->choice);
}

// ---- As JSON ----

static status put_checks(yaml_node *object, const verification *v, error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE, err);
    status rc = yaml_put(object, "checks", list, err);
    for (size_t i = 0; rc == STATUS_OK && i < v->count; i++) {
        const check *one = &v->checks[i];
        yaml_node *item = yaml_new(YAML_MAPPING, err);
        TRY(yaml_append(list, item, err));
        TRY(yaml_put(item, "subject", json_new_string(check_subject_name(one->subject), err), err));
        TRY(yaml_put(item, "outcome", json_new_string(check_outcome_name(one->outcome), err), err));
        TRY(yaml_put(item, "text", json_new_string(one->text, err), err));
    }
out:
    return rc;
}

static status put_copies(yaml_node *object, const grading *g, const verification *v, error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE, err);
    status rc = yaml_put(object, "same_execution", list, err);
    for (size_t i = find_copy(g, v, 0); rc == STATUS_OK && i < g->count; i = find_copy(g, v, i + 1))
        rc = yaml_append(list, json_new_string(g->items[i].archive, err), err);
    return rc;
}

static status print_json(const grading *g, error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE, err);
    status rc = list ? STATUS_OK : STATUS_FAILED;
    for (size_t i = 0; rc == STATUS_OK && i < g->count; i++) {
        const verification *v = &g->items[i];
        const char *outcome =
            v->refused ? "refused" : check_outcome_name(verification_outcome(v, CHECK_SUBJECTS));
        yaml_node *item = yaml_new(YAML_MAPPING, err);
        TRY(yaml_append(list, item, err));
        TRY(yaml_put(item, "submission", json_new_string(v->archive, err), err));
        TRY(yaml_put(item, "outcome", json_new_string(outcome, err), err));
        if (v->refused) TRY(yaml_put(item, "refused", json_new_string(v->refused, err), err));
        if (v->report) TRY(yaml_put(item, "report", json_new_string(v->report, err), err));
        TRY(put_checks(item, v, err));
        TRY(put_copies(item, g, v, err));
    }
    rc = json_print(list, err);
out:
    yaml_free(list);
    return rc;
}

// ---- The commands ----

static status draw_choice(const pipeline *p, uint64_t *choice, error *err) {
    const char *given = p->settings->values[SETTING_SEED];
    if (!given) return replay_draw_seed(choice, err);
    *choice = strtoull(given, NULL, 10);
    return STATUS_OK;
}

// The table is printed when all are verified; until then, a line for each shows the progress.
static status verify_all(pipeline *p, const words *archives, grading *g, error *err) {
    status rc;
    TRY(draw_choice(p, &g->choice, err));
    g->items = memory_new(archives->count, sizeof *g->items, err);
    TRY(g->items ? STATUS_OK : STATUS_FAILED);
    for (size_t i = 0; i < archives->count; i++) {
        TRY(add_name(g, archives->items[i], err));
        if (archives->count > 1)
            log_info(p->log, "%zu of %zu: %s", i + 1, archives->count, archives->items[i]);
        TRY(verify_archive(p, archives->items[i], g->names.items[i], g->choice, &g->items[i], err));
        g->count++;
    }
out:
    return rc;
}

static void release(grading *g) {
    for (size_t i = 0; i < g->count; i++) verification_release(&g->items[i]);
    free(g->items);
    words_release(&g->names);
}

static status verify_and_print(pipeline *p, const words *archives, void (*print)(const grading *),
                               error *err) {
    grading g = {0};
    status rc;
    TRY(data_check_own(p, err));
    work_remove_old(p);
    TRY(verify_all(p, archives, &g, err));
    if (g.count == 1 && g.items[0].refused)
        TRY(error_set(err, STATUS_INPUT, "%s", g.items[0].refused));
    if (p->json)
        TRY(print_json(&g, err));
    else
        print(&g);
    rc = conclude(&g, err);
out:
    release(&g);
    return rc;
}

status pipeline_verify(pipeline *p, error *err) {
    return verify_and_print(p, &p->settings->names, print_one, err);
}

status pipeline_grade(pipeline *p, error *err) {
    words archives = {0};
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < p->settings->names.count; i++)
        rc = find_archives(p->settings->names.items[i], &archives, err);
    if (rc == STATUS_OK) rc = verify_and_print(p, &archives, print_table, err);
    words_release(&archives);
    return rc;
}
