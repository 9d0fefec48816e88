// SPDX-License-Identifier: MIT
#include "train/run_series.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/paths.h"
#include "base/text.h"
#include "data/manifest.h"
#include "data/tensor/tensor_file.h"
#include "train/checkpoint.h"

// ---- Reading ----

// Finds the steps of `path`, and the manifest next to them if there is one.
status run_series_find_file(const char *path, const char *name, char **found, error *err) {
    static const char *const below[] = {"", "train/"};
    const bool folder = paths_is_folder(path);
    *found = folder ? NULL : memory_string(path);
    if (!folder) return STATUS_OK;
    for (int i = 0; i < 2; i++) {
        *found = memory_format("%s/%s%s", path, below[i], name);
        if (access(*found, F_OK) == 0) return STATUS_OK;
        free(*found);
        *found = NULL;
    }
    return error_set(err, STATUS_INPUT, "cannot export run: '%s': no %s in it or in its train/",
                     path, name);
}

static status locate(run_series *s, const char *path, error *err) {
    NEED(run_series_find_file(path, "steps.st.zst", &s->steps, err));
    const char *slash = strrchr(s->steps, '/');
    const int length = slash ? (int)(slash + 1 - s->steps) : 0;
    s->manifest = memory_format("%.*smanifest.yaml", length, s->steps);
    if (access(s->manifest, F_OK) == 0) return STATUS_OK;
    free(s->manifest);
    s->manifest = NULL;
    return STATUS_OK;
}

// Those that a plateau schedule watched.
static status read_losses(run_series *s, const tensor_file *f, error *err) {
    const tensor *losses;
    const int64_t any[] = {-1};
    if (!tensor_file_find(f, CHECKPOINT_LOSSES)) return STATUS_OK;
    status rc =
        tensor_file_require(f, s->steps, CHECKPOINT_LOSSES, TENSOR_F64, 1, any, &losses, err);
    if (rc != STATUS_OK) return rc;
    s->loss_count = (size_t)losses->shape[0];
    s->losses = memory_new(s->loss_count, sizeof *s->losses);
    memcpy(s->losses, losses->data, losses->bytes);
    return STATUS_OK;
}

static status read_steps(run_series *s, uint64_t max_bytes, error *err) {
    tensor_file f = {0};
    const tensor *loss;
    const int64_t any[] = {-1};
    status rc;
    TRY(tensor_file_read(s->steps, max_bytes, &f, err));
    TRY(tensor_file_require(&f, s->steps, "loss", TENSOR_F32, 1, any, &loss, err));
    timeline_init(&s->timeline, (uint64_t)loss->shape[0]);
    TRY(timeline_load(&s->timeline, "", (uint64_t)loss->shape[0], &f, s->steps, err));
    TRY(read_losses(s, &f, err));
out:
    tensor_file_release(&f);
    return rc;
}

// In a run whose last epoch is shorter, the manifest gives the steps of a whole one.
static status find_steps_per_epoch(run_series *s, error *err) {
    const uint64_t steps = s->timeline.steps, epochs = s->epochs->count;
    const yaml_node *node = yaml_get(s->root, "results.steps_per_epoch");
    int64_t whole = (int64_t)(steps / epochs);
    NEED(node ? yaml_integer(node, "steps_per_epoch", 1, INT64_MAX, &whole, err) : STATUS_OK);
    s->steps_per_epoch = (uint64_t)whole;
    const bool fits = node ? whole && (steps + (uint64_t)whole - 1) / (uint64_t)whole == epochs
                           : steps % epochs == 0;
    if (fits) return STATUS_OK;
    return yaml_error(s->epochs, err, "%zu epochs do not divide the %" PRIu64 " steps of '%s'",
                      s->epochs->count, steps, s->steps);
}

static status read_epochs(run_series *s, error *err) {
    if (!s->manifest) return STATUS_OK;
    NEED(manifest_read(s->manifest, &s->root, err));
    s->epochs = yaml_get(s->root, "results.epochs");
    const yaml_node *parameters = yaml_find(s->root, "parameters");
    if (!s->epochs || s->epochs->kind != YAML_SEQUENCE || !s->epochs->count || !parameters)
        return yaml_error(s->root, err, "not a training's manifest: no results.epochs");
    NEED(find_steps_per_epoch(s, err));
    NEED(experiment_read_updates(&s->updates, parameters, err));
    if (s->updates.schedule.kind == SCHEDULE_PLATEAU && s->loss_count != s->epochs->count)
        return yaml_error(s->epochs, err, "%zu epochs, but '%s' has %zu values of '%s'",
                          s->epochs->count, s->steps, s->loss_count, CHECKPOINT_LOSSES);
    return STATUS_OK;
}

status run_series_read(run_series *s, const char *path, uint64_t max_bytes, error *err) {
    *s = (run_series){.name = path};
    NEED(locate(s, path, err));
    NEED(read_steps(s, max_bytes, err));
    return read_epochs(s, err);
}

void run_series_release(run_series *s) {
    free(s->steps);
    free(s->manifest);
    free(s->losses);
    timeline_release(&s->timeline);
    experiment_release(&s->updates);
    yaml_free(s->root);
    *s = (run_series){0};
}

// ---- Derived values ----

double run_series_rate(const run_series *s, uint64_t step) {
    const experiment *e = &s->updates;
    if (!s->steps_per_epoch) return NAN;
    return learning_rate(&e->optimizer, &e->schedule, &e->lr_scaling, e->global_batch, step,
                         s->steps_per_epoch, experiment_steps(e, s->steps_per_epoch), s->losses);
}

bool run_series_ends_epoch(const run_series *s, uint64_t step) {
    if (!s->steps_per_epoch) return false;
    return (step + 1) % s->steps_per_epoch == 0 || step + 1 == s->timeline.steps;
}

double run_series_epoch(const run_series *s, const char *key, uint64_t epoch) {
    double value;
    const yaml_node *node = yaml_find(s->epochs->items[epoch], key);
    if (!node || yaml_number(node, key, &value, NULL) != STATUS_OK) return NAN;
    return value;
}

double run_series_begin(const run_series *s) {
    const timeline *t = &s->timeline;
    int64_t end;
    uint64_t ns = 0;
    if (!s->root || !clock_read_utc(yaml_text_at(s->root, "run.end"), &end)) return 0;
    for (uint64_t i = 0; i < t->steps; i++) ns += t->wall[i];
    return (double)end - (double)ns * 1e-9;
}

// ---- Columns ----

// A value as text, with enough digits to read back the same; empty: unknown.
typedef struct cell {
    char text[40];
    bool word; // a string in JSON
} cell;

static cell number(double value, int digits) {
    cell c = {0};
    if (isfinite(value)) snprintf(c.text, sizeof c.text, "%.*g", digits, value);
    return c;
}

static cell whole(uint64_t value) {
    cell c = {0};
    snprintf(c.text, sizeof c.text, "%" PRIu64, value);
    return c;
}

static cell seconds(uint64_t ns) {
    return number((double)ns * 1e-9, 9);
}

static cell step_of(const run_series *s, uint64_t at) {
    (void)s;
    return whole(at + 1);
}

static cell epoch_of(const run_series *s, uint64_t at) {
    return s->steps_per_epoch ? whole(at / s->steps_per_epoch + 1) : (cell){0};
}

static cell loss_of(const run_series *s, uint64_t at) {
    return number((double)s->timeline.loss[at], 9);
}

static cell rate_of(const run_series *s, uint64_t at) {
    return number(run_series_rate(s, at), 9);
}

static cell wall_of(const run_series *s, uint64_t at) {
    return seconds(s->timeline.wall[at]);
}

static cell digest_of(const run_series *s, uint64_t at) {
    cell c = {.word = true};
    snprintf(c.text, sizeof c.text, "%016" PRIx64, s->timeline.digest[at]);
    return c;
}

typedef struct column {
    const char *name;
    cell (*value)(const run_series *s, uint64_t at);
} column;

// The columns of the phases come between columns_before and column_after.
static const column columns_before[] = {
    {"step", step_of}, {"epoch", epoch_of},       {"loss", loss_of},
    {"lr", rate_of},   {"wall_seconds", wall_of},
};
static const column column_after = {"digest", digest_of};
enum { COLUMNS_BEFORE = sizeof columns_before / sizeof *columns_before };
enum { COLUMNS = COLUMNS_BEFORE + PHASES + 1 };

static void column_name(size_t at, char name[32]) {
    if (at < COLUMNS_BEFORE)
        snprintf(name, 32, "%s", columns_before[at].name);
    else if (at < COLUMNS - 1)
        snprintf(name, 32, "%s_seconds", phase_name((phase)(at - COLUMNS_BEFORE)));
    else
        snprintf(name, 32, "%s", column_after.name);
}

static cell column_value(const run_series *s, size_t at, uint64_t step) {
    if (at < COLUMNS_BEFORE) return columns_before[at].value(s, step);
    if (at == COLUMNS - 1) return column_after.value(s, step);
    return seconds(s->timeline.time[at - COLUMNS_BEFORE][step]);
}

static const char *const epoch_columns[] = {"loss", "accuracy", "seconds"};
enum { EPOCH_COLUMNS = sizeof epoch_columns / sizeof *epoch_columns };

static cell epoch_value(const run_series *s, size_t at, uint64_t epoch) {
    cell c = {0};
    if (isfinite(run_series_epoch(s, epoch_columns[at], epoch)))
        snprintf(c.text, sizeof c.text, "%s",
                 yaml_text_at(s->epochs->items[epoch], epoch_columns[at]));
    return c;
}

// ---- CSV ----

static void append_csv_head(text *out) {
    char name[32];
    text_append(out, "run");
    for (size_t c = 0; c < COLUMNS; c++) {
        column_name(c, name);
        text_format(out, ",%s", name);
    }
    for (size_t c = 0; c < EPOCH_COLUMNS; c++) text_format(out, ",epoch_%s", epoch_columns[c]);
    text_append(out, "\n");
}

static void append_csv_step(const run_series *s, uint64_t step, text *out) {
    const bool last = run_series_ends_epoch(s, step);
    text_csv(out, s->name);
    for (size_t c = 0; c < COLUMNS; c++) text_format(out, ",%s", column_value(s, c, step).text);
    for (size_t c = 0; c < EPOCH_COLUMNS; c++)
        text_format(out, ",%s", last ? epoch_value(s, c, step / s->steps_per_epoch).text : "");
    text_append(out, "\n");
}

void run_series_csv(const run_series *runs, size_t count, text *out) {
    append_csv_head(out);
    for (size_t r = 0; r < count; r++)
        for (uint64_t i = 0; i < runs[r].timeline.steps; i++) append_csv_step(&runs[r], i, out);
}

// ---- JSON ----

static void append_json_text(text *out, const char *name) {
    yaml_node *node = json_new_string(name);
    char *quoted = json_from_yaml(node);
    text_append(out, quoted);
    free(quoted);
    yaml_free(node);
}

static void append_json_cell(text *out, bool first, cell c) {
    const char *quote = c.word ? "\"" : "";
    text_format(out, "%s%s%s%s", first ? "" : ",", quote, *c.text ? c.text : "null", quote);
}

static void append_json_steps(const run_series *s, text *out) {
    char name[32];
    text_append(out, "\"steps\":{");
    for (size_t c = 0; c < COLUMNS; c++) {
        column_name(c, name);
        text_format(out, "%s\"%s\":[", c ? "," : "", name);
        for (uint64_t i = 0; i < s->timeline.steps; i++)
            append_json_cell(out, !i, column_value(s, c, i));
        text_append(out, "]");
    }
    text_append(out, "}");
}

static void append_json_epochs(const run_series *s, text *out) {
    const size_t epochs = s->epochs ? s->epochs->count : 0;
    text_append(out, "\"epochs\":{\"epoch\":[");
    for (size_t i = 0; i < epochs; i++) append_json_cell(out, !i, whole(i + 1));
    for (size_t c = 0; c < EPOCH_COLUMNS; c++) {
        text_format(out, "],\"%s\":[", epoch_columns[c]);
        for (size_t i = 0; i < epochs; i++) append_json_cell(out, !i, epoch_value(s, c, i));
    }
    text_append(out, "]}");
}

void run_series_json(const run_series *runs, size_t count, text *out) {
    text_append(out, "{\"runs\":[");
    for (size_t r = 0; r < count; r++) {
        text_format(out, "%s{\"run\":", r ? "," : "");
        append_json_text(out, runs[r].name);
        text_append(out, ",");
        append_json_steps(&runs[r], out);
        text_append(out, ",");
        append_json_epochs(&runs[r], out);
        text_append(out, "}");
    }
    text_append(out, "]}\n");
}
