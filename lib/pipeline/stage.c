// SPDX-License-Identifier: MIT
#include "pipeline/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/clock.h"
#include "base/file_lock.h"
#include "base/memory.h"
#include "base/number_text.h"
#include "base/output.h"
#include "base/output_folder.h"
#include "base/paths.h"
#include "base/progress.h"
#include "base/text.h"
#include "data/manifest.h"
#include "pipeline/child.h"
#include "pipeline/store.h"
#include "pipeline/tool.h"

enum { WHY_BYTES = 512 };

void stage_add_devices(strvec *command, const yaml_node *root, const char *device) {
    const char *backend = yaml_text_at(root, "parameters.backend");
    const char *kind = *backend ? backend : "cpu";
    strvec_add_option(command, "--device", device ? device : kind);
    if (*backend) strvec_add_option(command, "--math", "fast");
}

// ---- Why a stage runs again ----

static bool has_item(const yaml_node *list, const char *word) {
    for (size_t i = 0; list && i < list->count; i++)
        if (list->items[i]->kind == YAML_SCALAR && strcmp(list->items[i]->text, word) == 0)
            return true;
    return false;
}

// A path of a kept run is shown as `runs` lists it, without the store's folder.
static const char *shown_word(const char *word) {
    static const char runs[] = "/runs/", digits[] = "0123456789abcdef";
    for (const char *at = word; (at = strstr(at, runs)); at++)
        if (strspn(at + sizeof runs - 1, digits) == STORE_KEY_DIGITS) return at + 1;
    return word;
}

// Describes a change of arguments: options with their values, or paths.
typedef struct difference {
    text why;
    size_t shown;
    bool options;
} difference;

static void add_change(difference *d, const char *verb, const char *word, const char *value) {
    enum { MOST = 2 };
    const bool option = strncmp(word, "--", 2) == 0;
    if (option != d->options || d->shown == MOST) return;
    if (!option || !value || strncmp(value, "--", 2) == 0) value = "";
    text_format(&d->why, "%s%s %.80s%s%.40s", d->shown++ ? ", " : "", verb, shown_word(word),
                *value ? " " : "", value);
}

static void add_changes(difference *d, const yaml_node *before, const strvec *now) {
    for (size_t i = 1; i < now->count; i++)
        if (!has_item(before, now->items[i]))
            add_change(d, "now", now->items[i], i + 1 < now->count ? now->items[i + 1] : NULL);
    for (size_t i = 1; before && i < before->count; i++)
        if (before->items[i]->kind == YAML_SCALAR && !strvec_has(now, before->items[i]->text))
            add_change(d, "no longer", before->items[i]->text, NULL);
}

// For a folder that holds a complete manifest with another key. Options first; paths only if the
// options are the same.
static void explain_key(const yaml_node *root, const strvec *command, char why[WHY_BYTES]) {
    const yaml_node *before = yaml_find(root, "command");
    difference d = {.options = true};
    add_changes(&d, before, command);
    d.options = false;
    if (!d.shown) add_changes(&d, before, command);
    const bool same = strcmp(yaml_text_at(root, "version"), cli_version()) == 0;
    snprintf(why, WHY_BYTES, "%s",
             d.shown ? text_string(&d.why)
             : same  ? "its inputs have changed"
                     : "its inputs or this version have changed");
    text_release(&d.why);
}

// Sets *done, or the reason in `why` ("": it never ran).
static status look(const stage *s, const char *key, bool *done, char why[WHY_BYTES], error *err) {
    yaml_node *root = NULL;
    manifest_state state = MANIFEST_NONE;
    char *path = memory_format("%s/manifest.yaml", s->dir);
    char *condition = memory_format("key=%s", key);
    *why = 0;
    status rc = manifest_fresh(s->dir, (const char *const[]){condition}, 1, &state, &root, why,
                               WHY_BYTES, err);
    *done = state == MANIFEST_FRESH;
    if (rc == STATUS_OK && !*done) {
        if (access(path, F_OK) != 0)
            *why = 0;
        else if (state == MANIFEST_OTHER) // the key is the only condition
            explain_key(root, s->command, why);
    }
    yaml_free(root);
    free(condition);
    free(path);
    return rc;
}

// ---- What came out, in a few words ----

enum { WIDEST_CURVE = 16 };

static double loss_of(const yaml_node *epochs, size_t i) {
    return yaml_number_at(epochs->items[i], "loss");
}

// One block for each epoch, or for every so many of them.
static void append_curve(const yaml_node *epochs, text *to) {
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const size_t width = epochs->count < WIDEST_CURVE ? epochs->count : WIDEST_CURVE;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < epochs->count; i++) {
        low = fmin(low, loss_of(epochs, i));
        high = fmax(high, loss_of(epochs, i));
    }
    for (size_t k = 0; k < width; k++) {
        const double loss = loss_of(epochs, k * (epochs->count - 1) / (width - 1));
        const double share = high > low ? (loss - low) / (high - low) : 0;
        text_append(to, blocks[isfinite(share) ? (size_t)lround(share * 7) : 0]);
    }
}

static void append_loss(const yaml_node *epochs, size_t columns, text *to) {
    const double last = loss_of(epochs, epochs->count - 1);
    text course = {0};
    if (epochs->count > 1) {
        text_format(&course, "%.3g ", loss_of(epochs, 0));
        append_curve(epochs, &course);
        text_append(&course, " ");
    }
    text_format(&course, "%.3g", last);
    text_append(to, ", loss ");
    if (text_columns(text_string(to)) + text_columns(text_string(&course)) <= columns)
        text_append(to, text_string(&course));
    else
        text_format(to, "%.3g", last);
    text_release(&course);
}

// Appends what the manifest in the folder says: ", accuracy 0.5980, loss 2.26 ▇▄▁ 1.14" with the
// course of the loss over the epochs, or only its end if `to` would have more than so many columns;
// nothing for stages without such results.
static void append_result(const char *folder, size_t columns, text *to) {
    yaml_node *root = NULL;
    if (manifest_read_in(&root, NULL, "%s", folder) == STATUS_OK) {
        const yaml_node *epochs = yaml_get(root, "results.epochs");
        const bool trained = epochs && epochs->kind == YAML_SEQUENCE && epochs->count;
        const double accuracy = trained
                                    ? yaml_number_at(epochs->items[epochs->count - 1], "accuracy")
                                    : yaml_number_at(root, "results.accuracy");
        if (isfinite(accuracy)) text_format(to, ", accuracy %.4f", accuracy);
        if (trained) append_loss(epochs, columns, to);
    }
    yaml_free(root);
}

// ---- Running ----

static const char *name_of(const pipeline *p, const stage *s) {
    return p->terminal && s->title ? s->title : s->shown ? s->shown : s->dir;
}

static void say(const pipeline *p, const stage *s, const char *what) {
    if (!s->quiet) p->say(s->name, name_of(p, s), what);
}

// At a terminal a moving line, which the tool's own one replaces; it knows its place from the
// environment (base/progress.h).
static void say_running(const pipeline *p, const stage *s, const char *reason) {
    char message[WHY_BYTES + 16], after[32], label[256], line[PROGRESS_LINE_BYTES];
    snprintf(message, sizeof message, *reason ? "running (%s)" : "running", reason);
    // A launcher's ranks do not see the terminal, and would write after the line.
    if (!p->terminal || s->quiet || (s->launcher && s->launcher->count)) {
        say(p, s, message);
        return;
    }
    if (s->beside) return;
    snprintf(after, sizeof after, "%.0f", s->after);
    snprintf(label, sizeof label, "%s%s%s", name_of(p, s), s->place ? ", " : "",
             s->place ? s->place : "");
    setenv("LOCKSTEP_PLACE", label, 1);
    setenv("LOCKSTEP_SECONDS_AFTER", after, 1);
    snprintf(line, sizeof line, "%-9s %.200s", s->name, label);
    progress_line(line);
}

// At a terminal, and for one of several trainings, the line that stays: the time, what came out,
// and why the stage ran, if there is room for that.
static void say_done(const pipeline *p, const stage *s, uint64_t began, const char *reason) {
    enum { LEAST_REASON = 16, WIDE = 400 };
    const size_t columns = p->terminal ? (size_t)progress_columns() : WIDE,
                 head = text_columns(name_of(p, s)) + 12;
    const size_t room = columns > head ? columns - head : 0;
    const double seconds = (double)(clock_now() - began) * 1e-9;
    char span[DURATION_TEXT_BYTES];
    text what = {0};
    if ((!p->terminal && !s->beside) || s->quiet) return;
    if (seconds < 10)
        text_format(&what, "%.1f s", seconds);
    else
        text_append(&what, duration_text(seconds, span));
    append_result(s->dir, room, &what);
    if (*reason && text_columns(text_string(&what)) + LEAST_REASON < room)
        text_format(&what, " (%s)", reason);
    text_cut_columns(&what, room);
    say(p, s, text_string(&what));
    text_release(&what);
}

status stage_check_place(const pipeline *p, error *err) {
    error why;
    status rc = output_make_folder(p->artifacts, &why);
    if (rc == STATUS_OK && access(p->artifacts, W_OK) != 0)
        rc = error_system(&why, STATUS_FAILED, errno, "cannot write to '%s'", p->artifacts);
    if (rc == STATUS_OK) return rc;
    return error_set(err, rc, "%s: ARTIFACTS=FOLDER names another folder", why.message);
}

// The lock of a stage: a file beside its folder.
typedef struct stage_lock {
    char *folder, *name, *made; // output_folder.h
    int fd;                     // -1: none
} stage_lock;

// Waits for the lock. A call that fails may have removed its file in the meantime.
static file_lock_result wait_for(const pipeline *p, const stage *s, int *fd, const char *path) {
    file_lock_result result = file_lock(*fd, false);
    if (result == FILE_LOCK_HELD) {
        say(p, s, "waiting for another run of this stage");
        result = file_lock(*fd, true);
    }
    if (result != FILE_LOCK_TAKEN || !file_lock_is_gone(*fd)) return result;
    close(*fd);
    const bool made = output_make_parent(path, NULL) == STATUS_OK;
    *fd = made ? open(path, O_RDWR | O_CREAT, 0666) : -1;
    return *fd < 0 ? FILE_LOCK_FAILED : file_lock(*fd, true);
}

// Locks the stage. The descriptor is -1 if no lock can be made here: the folder may be read-only.
static status lock(const pipeline *p, const stage *s, stage_lock *l, error *err) {
    const char *name = paths_name(s->dir);
    *l = (stage_lock){
        .folder = paths_folder(s->dir), .name = memory_format(".%s.lock", name), .fd = -1};
    l->made = output_folder_missing(l->folder);
    char *path = memory_format("%.*s%s", (int)(name - s->dir), s->dir, l->name);
    status rc = output_make_parent(path, err);
    if (rc != STATUS_OK) {
        TRY(stage_check_place(p, err));
        goto out;
    }
    // Not closed at exec: a tool that outlives this process keeps the stage locked.
    l->fd = open(path, O_RDWR | O_CREAT, 0666);
    if (l->fd < 0) goto out;
    // Without locks the stage's tool warns.
    if (wait_for(p, s, &l->fd, path) == FILE_LOCK_FAILED)
        rc = error_system(err, STATUS_FAILED, errno, "cannot lock '%s'", path);
out:
    free(path);
    return rc;
}

// After a failure, folders that hold nothing but the lock go.
static void unlock(stage_lock *l, status rc) {
    if (l->fd >= 0 && rc != STATUS_OK) output_folder_drop(l->folder, l->name, l->made);
    if (l->fd >= 0) close(l->fd);
    free(l->folder);
    free(l->name);
    free(l->made);
}

static status start(const pipeline *p, const stage *s, error *err) {
    strvec program = {0};
    status rc = STATUS_OK;
    if (s->launcher) strvec_add_all(&program, s->launcher);
    TRY(tool_program(p, s->command, &program, err));
    if (s->more) strvec_add_all(&program, s->more);
    rc = s->quiet || s->drop_output ? child_output(&program, NULL, err) : child_run(&program, err);
out:
    strvec_release(&program);
    return rc;
}

static status run(const pipeline *p, const stage *s, const char *key, const char *why, error *err) {
    char after[WHY_BYTES];
    bool done;
    const char *reason = s->reason ? s->reason : why;
    const uint64_t began = clock_now();
    say_running(p, s, reason);
    status rc = start(p, s, err);
    unsetenv("LOCKSTEP_PLACE");
    unsetenv("LOCKSTEP_SECONDS_AFTER");
    if (rc == STATUS_OK) say_done(p, s, began, reason);
    if (rc != STATUS_OK && s->beside) say(p, s, rc == STATUS_STOPPED ? "stopped" : "failed");
    if (rc != STATUS_OK) return rc;
    rc = look(s, key, &done, after, err);
    if (rc == STATUS_OK && !done)
        rc = error_set(err, STATUS_FAILED, "stage %s is not done although %s succeeded: '%s': %s",
                       s->name, s->command->items[0], s->dir, after);
    return rc;
}

static status run_locked(pipeline *p, const stage *s, const char *key, bool locked, error *err) {
    char why[WHY_BYTES];
    bool done;
    NEED(look(s, key, &done, why, err));
    if (done) {
        say(p, s, "up to date");
        return STATUS_OK;
    }
    if (!locked)
        return error_set(
            err, STATUS_FAILED,
            "cannot lock stage: '%s': it cannot be written%s%s%s: ARTIFACTS=FOLDER names "
            "another folder",
            s->dir, *why ? " (" : "", why, *why ? ")" : "");
    return run(p, s, key, why, err);
}

status stage_run(pipeline *p, const stage *s, error *err) {
    char key[SHA256_TEXT_BYTES];
    stage_lock held = {.fd = -1};
    status rc = STATUS_OK;
    if (strvec_has(&p->done, s->dir)) return STATUS_OK;
    strvec_add(&p->done, s->dir);
    if (s->key)
        snprintf(key, sizeof key, "%s", s->key);
    else
        TRY(tool_key(p, s->command, key, err));
    TRY(lock(p, s, &held, err));
    TRY(run_locked(p, s, key, held.fd >= 0, err));
out:
    unlock(&held, rc);
    return rc;
}
