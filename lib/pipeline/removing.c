// SPDX-License-Identifier: MIT
// Removes kept runs: says which and how much, and asks.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "pipeline/kept.h"
#include "pipeline/store.h"
#include "pipeline/work.h"

// ---- Selecting ----

// The runs to remove, with the links to each. `keys` owns the rows' keys.
typedef struct selection {
    char **keys;
    kept_run *rows;
    words *links;
    size_t count;
} selection;

static void release(selection *s, size_t rows) {
    for (size_t i = 0; s->links && i < rows; i++) words_release(&s->links[i]);
    free(s->links);
    free(s->rows);
}

// Is the link below ARTIFACTS/NAME?
static bool is_below(const pipeline *p, const char *link, const char *name) {
    const size_t root = strlen(p->artifacts), length = strlen(name);
    return strncmp(link + root + 1, name, length) == 0 && link[root + 1 + length] == '/';
}

// Is this a run of the experiment, study or folder? *shared becomes a link from elsewhere: such a
// run is also another's, unless it has the name itself.
static bool is_named(const pipeline *p, const kept_run *w, const words *links, const char *name,
                     const char **shared) {
    bool below = false;
    *shared = NULL;
    for (size_t i = 0; i < links->count; i++)
        if (is_below(p, links->items[i], name))
            below = true;
        else
            *shared = links->items[i];
    if (strcmp(w->name, name) != 0) return below;
    *shared = NULL;
    return true;
}

// Keeps the runs of the experiments that EXPS names. STATUS_INPUT if one has none.
static status keep_named(const pipeline *p, selection *s, bool *keep, error *err) {
    const words *names = &p->settings->names;
    for (size_t i = 0; i < s->count; i++) keep[i] = false;
    for (size_t k = 0; k < names->count; k++) {
        bool any = false;
        for (size_t i = 0; i < s->count; i++) {
            const char *shared;
            if (!is_named(p, &s->rows[i], &s->links[i], names->items[k], &shared)) continue;
            any = true;
            if (shared) p->say("keep", shared, "links to a run of this name, too");
            keep[i] = keep[i] || !shared;
        }
        if (!any)
            return error_set(err, STATUS_INPUT,
                             "no kept run is of '%s': `%s runs` lists them; nothing was removed",
                             names->items[k], settings_front());
    }
    return STATUS_OK;
}

// Drops those that are not older than OLDER. Dates are ISO 8601 and compare as texts; one that is
// unknown is not older.
static void keep_older(const pipeline *p, const selection *s, bool *keep) {
    const time_t limit = time(NULL) - (time_t)p->settings->older;
    struct tm utc;
    char text[32];
    if (!p->settings->older) return;
    const bool known =
        gmtime_r(&limit, &utc) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    for (size_t i = 0; i < s->count; i++)
        keep[i] = keep[i] && known && *s->rows[i].date && strcmp(s->rows[i].date, text) < 0;
}

// Reads the runs of s->keys, and moves those that the settings select to the front.
static status choose(const pipeline *p, selection *s, size_t all, error *err) {
    static const origins none = {0};
    bool *keep = memory_new(all, sizeof *keep);
    status rc = STATUS_OK;
    s->rows = memory_new(all, sizeof *s->rows);
    s->links = memory_new(all, sizeof *s->links);
    for (s->count = 0; s->count < all; s->count++) {
        const size_t i = s->count;
        keep[i] = true;
        kept_read(p, &none, s->keys[i], &s->rows[i]);
        store_find_links(p->artifacts, s->keys[i], &s->links[i]);
    }
    if (p->settings->values[SETTING_EXPS]) TRY(keep_named(p, s, keep, err));
    keep_older(p, s, keep);
    s->count = 0;
    for (size_t i = 0; i < all; i++) {
        if (!keep[i]) continue;
        const kept_run row = s->rows[s->count];
        const words links = s->links[s->count];
        s->rows[s->count] = s->rows[i];
        s->links[s->count] = s->links[i];
        s->rows[i] = row;
        s->links[i] = links;
        s->count++;
    }
out:
    free(keep);
    return rc;
}

// ---- Asking ----

static void print(const selection *s, char size[16]) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < s->count; i++) {
        const kept_run *w = &s->rows[i];
        kept_show_size(w->bytes, size);
        printf("%s  %s, %.10s, %zu execution%s, %s\n", w->key, w->name,
               *w->date ? w->date : "unknown date", w->executions + w->unfinished,
               w->executions + w->unfinished == 1 ? "" : "s", size);
        for (size_t k = 0; k < s->links[i].count; k++)
            printf("              %s\n", s->links[i].items[k]);
        bytes += w->bytes;
    }
    kept_show_size(bytes, size);
    printf("%zu run%s, %s\n", s->count, s->count == 1 ? "" : "s", size);
    fflush(stdout);
}

static status confirm(const pipeline *p, const selection *s, bool *go, error *err) {
    char size[16], question[80];
    print(s, size);
    *go = p->settings->yes;
    if (*go) return STATUS_OK;
    if (!p->ask)
        return error_set(err, STATUS_USAGE, "nothing was removed: YES=1 removes %s",
                         s->count == 1 ? "this run" : "these runs");
    snprintf(question, sizeof question, "remove %s, %s?", s->count == 1 ? "this run" : "these runs",
             size);
    *go = p->ask(question);
    if (!*go) p->say("remove", p->artifacts, "nothing was removed");
    return STATUS_OK;
}

// ---- Removing ----

static status check_all_unused(const pipeline *p, const char *key, error *err) {
    execution_list list;
    status rc = store_read(p->artifacts, key, &list, err);
    if (rc != STATUS_OK) return rc;
    for (size_t i = 0; rc == STATUS_OK && i < list.count; i++)
        rc = store_check_unused(list.items[i].folder, err);
    store_release(&list);
    return rc;
}

// Renames the folder first, so that an interrupted removal leaves no partial run.
static status remove_run(const pipeline *p, const char *key, error *err) {
    char *folder = store_folder(p->artifacts, key);
    char *gone = memory_format("%s/runs/.removed-%s", p->artifacts, key);
    words links = {0};
    status rc = STATUS_OK;
    if (access(gone, F_OK) == 0) rc = work_remove_tree(gone, err);
    if (rc == STATUS_OK && rename(folder, gone) != 0)
        rc = error_system(err, STATUS_FAILED, errno, "cannot remove: '%s'", folder);
    if (rc == STATUS_OK) rc = store_remove_links(p->artifacts, key, &links, err);
    if (rc == STATUS_OK) rc = work_remove_tree(gone, err);
    if (rc == STATUS_OK) p->say("remove", folder, "removed");
    for (size_t i = 0; i < links.count; i++) p->say("remove", links.items[i], "was a link to it");
    words_release(&links);
    free(gone);
    free(folder);
    return rc;
}

status pipeline_clean_runs(pipeline *p, error *err) {
    selection s = {0};
    size_t all;
    bool go = false;
    status rc = kept_select(p, &s.keys, &all, err);
    if (rc != STATUS_OK) return rc;
    TRY(choose(p, &s, all, err));
    for (size_t i = 0; i < s.count; i++) TRY(check_all_unused(p, s.rows[i].key, err));
    if (!s.count)
        p->say("remove", p->artifacts, "no kept run is selected");
    else
        TRY(confirm(p, &s, &go, err));
    for (size_t i = 0; go && rc == STATUS_OK && i < s.count; i++)
        rc = remove_run(p, s.rows[i].key, err);
out:
    release(&s, all);
    store_keys_free(s.keys, all);
    return rc;
}
