// SPDX-License-Identifier: MIT
#include "experiment/published.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/printed.h"
#include "experiment/lookup.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char SCHEMA[] = "lockstep.claim/1";
enum { NAME_BYTES = 256 };

// ---- Rows of a claim ----

// A value of the row, or the one common to all rows.
static const yaml_node *value_of(const yaml_node *claim, const yaml_node *row, const char *key) {
    const yaml_node *own = yaml_find(row, key), *common = yaml_find(claim, "common");
    return own || !common ? own : yaml_find(common, key);
}

static const char *text_of(const yaml_node *node) {
    return node && node->kind == YAML_SCALAR ? node->text : "";
}

static const yaml_node *list_of(const yaml_node *claim, const char *key) {
    const yaml_node *list = claim->kind == YAML_MAPPING ? yaml_find(claim, key) : NULL;
    return list && list->kind == YAML_SEQUENCE ? list : NULL;
}

// Name number `i` of the experiments that stand for the row; NULL after the last.
static const char *stands_for(const yaml_node *row, size_t i) {
    const yaml_node *names = row->kind == YAML_MAPPING ? yaml_find(row, "experiment") : NULL;
    if (names && names->kind == YAML_SEQUENCE)
        return i < names->count ? text_of(names->items[i]) : NULL;
    return names && i == 0 ? text_of(names) : NULL;
}

// Length of the study's name in "workers/loader_workers-2", with the slash.
static size_t study_length(const char *name) {
    const char *slash = strchr(name, '/');
    return slash ? (size_t)(slash - name) + 1 : 0;
}

// ---- Entries ----

static void put_text(yaml_node *entry, const char *key, const char *value) {
    if (*value) yaml_put(entry, key, yaml_new_string(value));
}

// Returns a figure that the report can show: a number as printed, or what another form of it means
// (printed.h): 156 for 2m36s, [93.3, 93.7] for 93.5 ± 0.2.
static yaml_node *plain_figure(const yaml_node *figure, const char *key, printed_unit unit,
                               error *err) {
    yaml_node number = *figure;
    printed_figure p;
    double value;
    if (number.kind == YAML_SCALAR && !number.quoted && number.text[0] == '~') number.text++;
    if (number.kind != YAML_SCALAR || !printed_read(number.text, unit, &p)) {
        if (yaml_number(&number, key, &value, err) == STATUS_OK)
            (void)yaml_error(figure, err, "'%s': write %s", key, printed_forms(unit));
        return NULL;
    }
    if (unit == PRINTED_PERCENT && !p.has_unit && p.value <= 1) { // a fraction
        p.value *= 100;
        p.deviation *= 100;
        p.length = 0;
    }
    if (p.deviation > 0) {
        yaml_node *range = yaml_new(YAML_SEQUENCE);
        yaml_append(range, yaml_new_number(p.value - p.deviation));
        yaml_append(range, yaml_new_number(p.value + p.deviation));
        return range;
    }
    if (p.length == strlen(number.text) && !number.quoted) return yaml_copy(figure);
    return yaml_new_number(p.value);
}

// One or two such figures: one that the report could not show is an error before training.
static status put_figure(yaml_node *entry, const char *key, const yaml_node *figure,
                         printed_unit unit, error *err) {
    if (!figure) return STATUS_OK;
    if (figure->kind == YAML_SEQUENCE && figure->count != 2)
        return yaml_error(figure, err, "'%s': expected a number or [LOWEST, HIGHEST]", key);
    const bool range = figure->kind == YAML_SEQUENCE;
    yaml_node *put = range ? yaml_new(YAML_SEQUENCE) : plain_figure(figure, key, unit, err);
    for (size_t i = 0; range && i < 2; i++) {
        yaml_node *end = plain_figure(figure->items[i], key, unit, err);
        if (!end) {
            yaml_free(put);
            return STATUS_INPUT;
        }
        yaml_append(put, end);
    }
    if (!put) return STATUS_INPUT;
    put->flow = true;
    yaml_put(entry, key, put);
    return STATUS_OK;
}

// The key of a row, that of an entry, and how the row prints the figure.
static status put_figures(yaml_node *entry, const yaml_node *claim, const yaml_node *row,
                          error *err) {
    static const struct {
        const char *key, *as;
        printed_unit unit;
    } keys[] = {{"accuracy", "accuracy", PRINTED_PERCENT},
                {"error", "accuracy", PRINTED_ERROR},
                {"seconds_per_epoch", "seconds_per_epoch", PRINTED_SECONDS},
                {"total_seconds", "total_seconds", PRINTED_SECONDS},
                {"train_loss", "train_loss", PRINTED_NUMBER},
                {"batch_ms", "batch_ms", PRINTED_MS},
                {"iterations_per_second", "batch_ms", PRINTED_BATCH_RATE},
                {"steps_per_second", "batch_ms", PRINTED_BATCH_RATE},
                {"batches_per_second", "batch_ms", PRINTED_BATCH_RATE},
                {"load_seconds_per_step", "load_seconds", PRINTED_SECONDS},
                {"update_seconds_per_step", "update_seconds", PRINTED_SECONDS},
                {"speed_up", "speed_up", PRINTED_TIMES}};
    const yaml_node *losses = value_of(claim, row, "epoch_losses");
    for (size_t i = 0; i < COUNT(keys); i++)
        NEED(put_figure(entry, keys[i].as, value_of(claim, row, keys[i].key), keys[i].unit, err));
    if (losses && losses->kind == YAML_SEQUENCE && losses->count && !yaml_find(entry, "train_loss"))
        return put_figure(entry, "train_loss", losses->items[losses->count - 1], PRINTED_NUMBER,
                          err);
    return STATUS_OK;
}

// `over: NAME`: the run, in the same study, for the row that the speed-up is relative to.
static void put_over(yaml_node *entry, const yaml_node *claim, const yaml_node *row,
                     const char *name) {
    const yaml_node *rows = list_of(claim, "rows");
    const char *over = text_of(value_of(claim, row, "over")), *run;
    const size_t length = study_length(name);
    if (!yaml_find(entry, "speed_up")) return;
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->items[i] == row || strcmp(text_of(yaml_find(rows->items[i], "name")), over) != 0)
            continue;
        for (size_t k = 0; (run = stands_for(rows->items[i], k)); k++)
            if (study_length(run) == length && strncmp(run, name, length) == 0) {
                put_text(entry, "over", run + length);
                return;
            }
    }
}

static status put_projection(yaml_node *entry, const yaml_node *claim, const yaml_node *row,
                             error *err) {
    const yaml_node *list = list_of(claim, "statements");
    for (size_t i = 0; list && i < list->count; i++) {
        const yaml_node *s = list->items[i];
        if (s->kind != YAML_MAPPING || strcmp(text_of(yaml_find(s, "kind")), "projection") != 0 ||
            strcmp(text_of(yaml_find(s, "of")), text_of(yaml_find(row, "name"))) != 0)
            continue;
        return put_figure(entry, "projected_speed_up", yaml_find(s, "ratio"), PRINTED_TIMES, err);
    }
    return STATUS_OK;
}

// Adds "8 x H100", and other remarks for the reader.
static void put_note(yaml_node *entry, const yaml_node *claim, const yaml_node *row) {
    const char *devices = text_of(value_of(claim, row, "devices"));
    const char *device = text_of(value_of(claim, row, "device"));
    const bool expected = strcmp(text_of(value_of(claim, row, "measured")), "false") == 0;
    const bool quoted = strcmp(text_of(value_of(claim, row, "source")), "none") == 0;
    char machine[NAME_BYTES], note[2 * NAME_BYTES] = "";
    snprintf(machine, sizeof machine, "%.40s x %.120s", *devices ? devices : "1", device);
    const char *parts[] = {*device ? machine : "", expected ? "expected, never measured" : "",
                           quoted ? "quoted without a source" : "",
                           text_of(value_of(claim, row, "note"))};
    size_t used = 0;
    for (size_t i = 0; i < COUNT(parts); i++)
        if (*parts[i] && used < sizeof note)
            used += (size_t)snprintf(note + used, sizeof note - used, "%s%.200s", used ? "; " : "",
                                     parts[i]);
    put_text(entry, "note", note);
}

static status add_entry(published *p, const char *path, const yaml_node *claim,
                        const yaml_node *row, const char *name, error *err) {
    yaml_node *list = (yaml_node *)yaml_find(p->entries, name);
    yaml_node *entry = yaml_new(YAML_MAPPING);
    status rc = STATUS_OK;
    TRY(put_figures(entry, claim, row, err));
    TRY(put_projection(entry, claim, row, err));
    if (!entry->count) goto out; // no published figures
    put_over(entry, claim, row, name);
    put_text(entry, "source", text_of(yaml_find(claim, "name")));
    put_text(entry, "where", text_of(value_of(claim, row, "where")));
    put_text(entry, "claim", path);
    put_note(entry, claim, row);
    if (!list) {
        list = yaml_new(YAML_SEQUENCE);
        yaml_put(p->entries, name, list);
    }
    yaml_append(list, entry);
    entry = NULL;
out:
    yaml_free(entry);
    return rc;
}

// ---- Claims ----

status published_add(published *p, const char *path, error *err) {
    yaml_node *claim = NULL;
    char real[PATH_MAX];
    const char *place = realpath(path, real) ? real : path, *name;
    status rc = STATUS_OK;
    if (strvec_has(&p->claims, place)) return rc;
    strvec_add(&p->claims, place);
    TRY(yaml_read_file(path, &claim, err));
    const yaml_node *rows = list_of(claim, "rows");
    if (!rows || strcmp(text_of(yaml_find(claim, "schema")), SCHEMA) != 0)
        rc = yaml_error(claim, err, "expected a claim: schema %s, with its rows", SCHEMA);
    for (size_t i = 0; rc == STATUS_OK && i < rows->count; i++)
        for (size_t k = 0; rc == STATUS_OK && (name = stands_for(rows->items[i], k)); k++)
            rc = add_entry(p, path, claim, rows->items[i], name, err);
out:
    yaml_free(claim);
    return rc;
}

status published_add_beside(published *p, const char *from, error *err) {
    char *path = memory_format("%.*sclaim.yaml", lookup_folder_length(from), from);
    status rc = STATUS_OK;
    if (access(path, F_OK) == 0) rc = published_add(p, path, err);
    free(path);
    return rc;
}

// Does the claim lie in the folder of `from`?
static bool is_beside(const char *claim, const char *from) {
    char own[PATH_MAX], other[PATH_MAX];
    return realpath(from, own) && realpath(claim, other) &&
           lookup_folder_length(own) == lookup_folder_length(other) &&
           strncmp(own, other, (size_t)lookup_folder_length(own)) == 0;
}

// A claim of another report that cannot be read concerns only that report: it is left out.
static status add_of_catalog(published *p, const char *path, const char *from, error *err) {
    published alone = {.entries = yaml_new(YAML_MAPPING)};
    const bool broken = published_add(&alone, path, NULL) == STATUS_INPUT;
    published_release(&alone);
    if (broken && !is_beside(path, from)) return STATUS_OK;
    return published_add(p, path, err);
}

status published_read(published *p, const char *from, error *err) {
    catalog c;
    bool found;
    *p = (published){.entries = yaml_new(YAML_MAPPING)};
    status rc = lookup_catalog(from, &c, &found, err);
    if (rc == STATUS_OK && !found) return published_add_beside(p, from, err);
    for (size_t i = 0; rc == STATUS_OK && i < c.count; i++)
        if (strcmp(c.items[i].schema, SCHEMA) == 0)
            rc = add_of_catalog(p, c.items[i].path, from, err);
    if (found) catalog_release(&c);
    return rc;
}

void published_release(published *p) {
    yaml_free(p->entries);
    strvec_release(&p->claims);
    *p = (published){0};
}

const yaml_node *published_find(const published *p, const char *study, const char *name) {
    char full[NAME_BYTES];
    snprintf(full, sizeof full, "%.120s%s%.120s", study ? study : "", study ? "/" : "", name);
    return yaml_find(p->entries, full);
}

void published_put(const published *p, yaml_node *run, const char *study, const char *name) {
    const yaml_node *list = published_find(p, study, name);
    if (list) yaml_put(run, "published", yaml_copy(list));
}
