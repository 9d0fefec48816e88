// SPDX-License-Identifier: MIT
#include "train/export/live_events.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/output.h"
#include "train/export/event_file.h"
#include "train/export/tensorboard.h"
#include "train/trainer_lengths.h"

static const uint64_t BETWEEN_WRITES = 1000000000; // nanoseconds

char *live_events_path(const char *folder) {
    return memory_format("%s/%s", folder, TENSORBOARD_FILE);
}

// ---- Records ----

static double time_of(const live_events *l) {
    return l->begin + (double)l->ns * 1e-9;
}

static void add_step(live_events *l) {
    const timeline *t = &l->checkpoint->timeline;
    const experiment *e = l->experiment;
    const uint64_t i = l->steps++;
    l->ns += t->wall[i];
    const event_step values = {
        .loss = (double)t->loss[i],
        .rate = learning_rate(&e->optimizer, &e->schedule, &e->lr_scaling, e->global_batch, i,
                              trainer_steps_per_epoch(e, l->samples), trainer_steps(e, l->samples),
                              l->checkpoint->losses),
        .seconds = (double)t->wall[i] * 1e-9,
    };
    event_file_step(&l->pending, time_of(l), i, &values);
}

static void add_epoch(live_events *l) {
    const experiment *e = l->experiment;
    const int i = l->epochs++;
    const bool whole =
        trainer_epoch_steps(e, l->samples, i) == trainer_steps_per_epoch(e, l->samples);
    const event_epoch values = {
        .loss = trainer_epoch_loss(l->checkpoint, e, l->samples, i),
        .accuracy = l->checkpoint->accuracy[i],
        .seconds = trainer_epoch_seconds(l->checkpoint, e, l->samples, i),
        .samples = whole ? (double)trainer_epoch_samples(e, l->samples) : NAN,
        .validated = l->validated,
    };
    event_file_epoch(&l->pending, time_of(l), (uint64_t)i, &values);
}

// Each epoch follows its last step, unless that was added before the epoch was tested.
static void add(live_events *l, int epochs) {
    const uint64_t length = trainer_steps_per_epoch(l->experiment, l->samples);
    while (l->steps < l->checkpoint->timeline.steps) {
        add_step(l);
        if (l->steps % length == 0 && l->epochs < epochs) add_epoch(l);
    }
    while (l->epochs < epochs) add_epoch(l);
}

// ---- The file ----

// The epoch that ends with the last step may not be tested yet.
static int epochs_before(const live_events *l) {
    const uint64_t length = trainer_steps_per_epoch(l->experiment, l->samples);
    return l->checkpoint->step ? (int)((l->checkpoint->step - 1) / length) : 0;
}

static double begin_of(const timeline *t) {
    struct timespec now;
    uint64_t ns = 0;
    for (uint64_t i = 0; i < t->steps; i++) ns += t->wall[i];
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9 - (double)ns * 1e-9;
}

status live_events_open(live_events *l, error *err) {
    if (!l->folder) return STATUS_OK;
    char *path = live_events_path(l->folder);
    status rc;
    l->begin = begin_of(&l->checkpoint->timeline);
    event_file_begin(&l->pending, l->begin);
    add(l, epochs_before(l));
    TRY(output_make_folder(l->folder, err));
    TRY(output_write_file(path, text_string(&l->pending), l->pending.length, err));
    l->pending.length = 0;
    l->written = clock_now();
    l->file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (l->file < 0) rc = error_system(err, STATUS_FAILED, errno, "cannot write: '%s'", path);
out:
    free(path);
    return rc;
}

static void write_pending(live_events *l) {
    const char *at = text_string(&l->pending), *end = at + l->pending.length;
    while (at < end && l->file >= 0) {
        const ssize_t n = write(l->file, at, (size_t)(end - at));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            log_warn(l->log, "no more curves for TensorBoard in '%s': %s", l->folder,
                     strerror(errno));
            close(l->file);
            l->file = -1;
            break;
        }
        at += n;
    }
    l->pending.length = 0;
    l->written = clock_now();
}

void live_events_follow(live_events *l, int epochs) {
    if (!l->folder || l->file < 0) return;
    const bool tested = epochs > l->epochs;
    add(l, epochs);
    if (tested || clock_now() - l->written >= BETWEEN_WRITES) write_pending(l);
}

void live_events_close(live_events *l) {
    if (l->folder && l->file >= 0) {
        write_pending(l);
        if (l->file >= 0) close(l->file);
    }
    text_release(&l->pending);
}
