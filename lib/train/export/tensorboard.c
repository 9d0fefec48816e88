// SPDX-License-Identifier: MIT
#include "train/export/tensorboard.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/named_files.h"
#include "base/text.h"
#include "train/export/event_file.h"

// ---- Places ----

// The folder of a run below `folder`, with a '/' at its end.
static char *find_folder(const run_series *s, const char *folder) {
    const bool is_file = strcmp(s->steps, s->name) == 0;
    text path = {0};
    text_format(&path, "%s/", folder);
    for (const char *at = s->name; *at; at += strspn(at, "/")) {
        const size_t length = strcspn(at, "/");
        const bool goes_nowhere = length == 0 || strncmp(at, "..", length) == 0; // "." too
        const bool last = !at[length];
        if (!goes_nowhere && !(last && is_file)) text_format(&path, "%.*s/", (int)length, at);
        at += length;
    }
    return text_take(&path);
}

static status check_places(const run_series *runs, size_t count, char *const *files, error *err) {
    named_file *in = memory_new(2 * count, sizeof *in);
    named_file *out = memory_new(count, sizeof *out);
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < count; i++) {
        in[2 * i] = (named_file){"RUN", runs[i].steps};
        in[2 * i + 1] = (named_file){"RUN", runs[i].manifest};
        out[i] = (named_file){"--out", files[i]};
        for (size_t k = 0; rc == STATUS_OK && k < i; k++)
            if (strcmp(files[i], files[k]) == 0)
                rc = error_set(err, STATUS_USAGE,
                               "cannot export runs: '%s' and '%s': both would be written to '%s'",
                               runs[k].name, runs[i].name, files[i]);
    }
    if (rc == STATUS_OK) rc = named_files_check(in, 2 * count, out, count, err);
    free(in);
    free(out);
    return rc;
}

// ---- Records ----

static void append_epoch(const run_series *s, uint64_t epoch, double time, bool whole, text *to) {
    const event_epoch values = {
        .loss = run_series_epoch(s, "loss", epoch),
        .accuracy = run_series_epoch(s, "accuracy", epoch),
        .seconds = run_series_epoch(s, "seconds", epoch),
        .samples = whole ? yaml_number_at(s->root, "results.samples") : NAN,
        .validated = s->root && yaml_get(s->root, "parameters.validation"),
    };
    event_file_epoch(to, time, epoch, &values);
}

static status write_run(const run_series *s, const char *file, error *err) {
    const timeline *t = &s->timeline;
    const double begin = run_series_begin(s);
    uint64_t ns = 0;
    text records = {0};
    event_file_begin(&records, begin);
    for (uint64_t i = 0; i < t->steps; i++) {
        ns += t->wall[i];
        const double time = begin + (double)ns * 1e-9;
        const event_step values = {(double)t->loss[i], run_series_rate(s, i),
                                   (double)t->wall[i] * 1e-9};
        event_file_step(&records, time, i, &values);
        if (run_series_ends_epoch(s, i))
            append_epoch(s, i / s->steps_per_epoch, time, (i + 1) % s->steps_per_epoch == 0,
                         &records);
    }
    const status rc = output_write_file(file, text_string(&records), records.length, err);
    text_release(&records);
    return rc;
}

// ---- All of it ----

status tensorboard_write(const run_series *runs, size_t count, const char *folder, error *err) {
    char **folders = memory_new(count, sizeof *folders);
    char **files = memory_new(count, sizeof *files);
    status rc = STATUS_OK;
    for (size_t i = 0; i < count; i++) {
        folders[i] = find_folder(&runs[i], folder);
        files[i] = memory_format("%s%s", folders[i], TENSORBOARD_FILE);
    }
    TRY(check_places(runs, count, files, err));
    for (size_t i = 0; i < count; i++) {
        TRY(output_make_folder(folders[i], err));
        TRY(write_run(&runs[i], files[i], err));
    }
out:
    for (size_t i = 0; i < count; i++) {
        free(folders[i]);
        free(files[i]);
    }
    free(folders);
    free(files);
    return rc;
}
