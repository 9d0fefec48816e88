// SPDX-License-Identifier: MIT
#include "experiment/experiment_fields.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hint.h"
#include "base/memory.h"
#include "compute/backend.h"
#include "data/mixup.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

// ---- Who reads a key ----

static bool is_cut(const experiment *e, strategy_kind strategy) {
    (void)e;
    return strategy == STRATEGY_MP;
}

// Another world size than V may be meant for the other strategies; V is also its default.
static bool has_ranks(const experiment *e, strategy_kind strategy) {
    return strategy != STRATEGY_SINGLE || e->world_size == e->virtual_shards;
}

static bool joins_shards(const experiment *e, strategy_kind strategy) {
    (void)strategy;
    bool norms = false;
    for (int i = 0; i < e->model.program.count; i++)
        norms = norms || e->model.program.layers[i].kind == LAYER_BATCH_NORM;
    return norms && e->virtual_shards > 1;
}

static const field_reader by_pipeline = {"strategy 'mp' alone reads it", is_cut};
static const field_reader by_ranks = {"strategies 'dp', 'ddp' and 'mp' alone read it", has_ranks};
static const field_reader by_batch_norm = {"batch norm over several virtual shards alone reads it",
                                           joins_shards};

// ---- The table ----

#define AT(member) .place = (int)offsetof(experiment, member)
#define ONLY_FOR(member, ...) \
    .kind = (int)offsetof(experiment, member), .kinds = (unsigned)(__VA_ARGS__)
#define SCALED   (1 << LR_SCALING_LINEAR | 1 << LR_SCALING_SQRT)
#define AVERAGES (1 << AVERAGING_EMA | 1 << AVERAGING_LOOKAHEAD)

#define OPTIMIZER_WORD(kind, states, word, ...)        word,
#define SCHEDULE_WORD(kind, word, ...)                 word,
#define IF_WARMS_UP(kind, word, needs_total, warms_up) | (warms_up) << SCHEDULE_##kind
#define HYPER_FIELD(first, key, type, ...) \
    {"optimizer." key,                     \
     FIELD_##type,                         \
     false,                                \
     AT(optimizer.hyper[HYPER_##first]),   \
     __VA_ARGS__,                          \
     .single = true,                       \
     .hyper = 1 + HYPER_##first,           \
     .kind = (int)offsetof(experiment, optimizer.kind)},

// In the order of the resolved tree. A choice precedes the fields that depend on it, and the model
// the fields that are checked against it.
const field experiment_fields[] = {
    {"schema", FIELD_CHOICE, true, FIELD_NO_PLACE, .words = {"lockstep.experiment/1"}},
    {"name", FIELD_CUSTOM, true, FIELD_NO_PLACE, .read = field_read_name},
    {"title", FIELD_CUSTOM, false, FIELD_NO_PLACE, .read = field_read_title},
    {"dataset", FIELD_CUSTOM, true, FIELD_NO_PLACE, .read = field_read_dataset, .speed = true},
    {"model", FIELD_CUSTOM, true, FIELD_NO_PLACE, .read = field_read_model, .speed = true},
    {"strategy", FIELD_CHOICE, false, AT(strategy), .words = {"single", "dp", "ddp", "mp"},
     .speed = true},
    {"world_size", FIELD_INTEGER, false, AT(world_size), 1, ENGINE_MAX_SHARDS, .otherwise = 1,
     .speed = true, .read_by = &by_ranks},
    {"virtual_shards", FIELD_INTEGER, false, AT(virtual_shards), 1, ENGINE_MAX_SHARDS,
     .speed = true},
    {"shard_seed", FIELD_SEED, false, AT(shard_seed)},
    {"global_batch", FIELD_INTEGER, true, AT(global_batch), 1, MAX_BATCH, .speed = true},
    {"epochs", FIELD_NUMBER, true, AT(epochs), 0, MAX_EPOCHS, .above = true},
    {"seed", FIELD_SEED, false, AT(seed), .otherwise = 42},
    {"repeats", FIELD_INTEGER, false, AT(repeats), 1, 1000, .otherwise = 1},
    {"normalize.mean", FIELD_CUSTOM, false, FIELD_NO_PLACE, .read = field_read_mean},
    {"normalize.std", FIELD_CUSTOM, false, FIELD_NO_PLACE, .read = field_read_std},
    {"augment", FIELD_CUSTOM, false, FIELD_NO_PLACE, .read = field_read_augment, .speed = true},
    {"loader_workers", FIELD_INTEGER, false, AT(loader_workers), 0, 256, .speed = true},
    {"optimizer.kind", FIELD_CHOICE, true, AT(optimizer.kind),
     .words = {OPTIMIZERS(OPTIMIZER_WORD)}, .speed = true},
    {"optimizer.lr", FIELD_NUMBER, true, AT(optimizer.lr), 0, 1e6, .above = true, .single = true},
    OPTIMIZER_KEYS(HYPER_FIELD) // momentum to eps
    {"optimizer.weight_decay", FIELD_NUMBER, false, AT(optimizer.weight_decay), 0, 1e6},
    {"optimizer.clip_norm", FIELD_NUMBER, false, AT(optimizer.clip_norm), 0, 1e9, .silent = true,
     .speed = true},
    {"schedule.kind", FIELD_CHOICE, false, AT(schedule.kind), .words = {SCHEDULES(SCHEDULE_WORD)}},
    {"schedule.milestones", FIELD_CUSTOM, true, FIELD_NO_PLACE, .read = field_read_milestones,
     ONLY_FOR(schedule.kind, 1 << SCHEDULE_MULTISTEP)},
    {"schedule.gamma", FIELD_NUMBER, false, AT(schedule.gamma), 0, 1, .above = true,
     .otherwise = 0.1, ONLY_FOR(schedule.kind, 1 << SCHEDULE_MULTISTEP)},
    {"schedule.warmup_epochs", FIELD_INTEGER, false, AT(schedule.warmup_epochs), 0, MAX_EPOCHS,
     ONLY_FOR(schedule.kind, 0 SCHEDULES(IF_WARMS_UP))},
    {"schedule.by_epoch", FIELD_FLAG, false, AT(schedule.by_epoch), .silent = true,
     ONLY_FOR(schedule.kind, 1 << SCHEDULE_COSINE)},
    {"schedule.points", FIELD_CUSTOM, true, FIELD_NO_PLACE, .read = field_read_points,
     ONLY_FOR(schedule.kind, 1 << SCHEDULE_LINEAR)},
    {"schedule.pct_start", FIELD_NUMBER, false, AT(schedule.pct_start), 0, 1, .otherwise = 0.3,
     ONLY_FOR(schedule.kind, 1 << SCHEDULE_ONE_CYCLE)},
    {"schedule.div_factor", FIELD_NUMBER, false, AT(schedule.div_factor), 0, 1e9, .above = true,
     .otherwise = 25, ONLY_FOR(schedule.kind, 1 << SCHEDULE_ONE_CYCLE)},
    {"schedule.final_div_factor", FIELD_NUMBER, false, AT(schedule.final_div_factor), 0, 1e9,
     .above = true, .otherwise = 1e4, ONLY_FOR(schedule.kind, 1 << SCHEDULE_ONE_CYCLE)},
    {"schedule.anneal", FIELD_CHOICE, false, AT(schedule.anneal), .words = {"cos", "linear"},
     ONLY_FOR(schedule.kind, 1 << SCHEDULE_ONE_CYCLE)},
    {"schedule.factor", FIELD_NUMBER, false, AT(schedule.factor), 0, 1, .above = true,
     .below = true, .otherwise = 0.1, ONLY_FOR(schedule.kind, 1 << SCHEDULE_PLATEAU)},
    {"schedule.patience", FIELD_INTEGER, false, AT(schedule.patience), 0, MAX_EPOCHS,
     .otherwise = 10, ONLY_FOR(schedule.kind, 1 << SCHEDULE_PLATEAU)},
    {"schedule.threshold", FIELD_NUMBER, false, AT(schedule.threshold), 0, 1, .below = true,
     .otherwise = 1e-4, ONLY_FOR(schedule.kind, 1 << SCHEDULE_PLATEAU)},
    {"schedule.cooldown", FIELD_INTEGER, false, AT(schedule.cooldown), 0, MAX_EPOCHS,
     ONLY_FOR(schedule.kind, 1 << SCHEDULE_PLATEAU)},
    {"schedule.min_lr", FIELD_NUMBER, false, AT(schedule.min_lr), 0, 1e6,
     ONLY_FOR(schedule.kind, 1 << SCHEDULE_PLATEAU)},
    {"lr_scaling.kind", FIELD_CHOICE, false, AT(lr_scaling.kind),
     .words = {"none", "linear", "sqrt"}},
    {"lr_scaling.base_batch", FIELD_INTEGER, true, AT(lr_scaling.base_batch), 1, MAX_BATCH,
     ONLY_FOR(lr_scaling.kind, SCALED)},
    {"initial_weights.file", FIELD_CUSTOM, false, FIELD_NO_PLACE, .read = field_read_weights},
    {"initial_weights.except", FIELD_CUSTOM, false, FIELD_NO_PLACE, .read = field_read_except},
    {"tensors", FIELD_CUSTOM, false, FIELD_NO_PLACE, .read = field_read_tensors, .speed = true},
    {"sync_batch_norm", FIELD_FLAG, false, AT(sync_batch_norm), .speed = true,
     .read_by = &by_batch_norm},
    {"label_smoothing", FIELD_NUMBER, false, AT(label_smoothing), 0, 1, .below = true,
     .single = true, .silent = true},
    {"mixup.alpha", FIELD_NUMBER, false, AT(mixup_alpha), 0, MIXUP_MOST, .silent = true,
     .speed = true},
    {"validation.samples", FIELD_INTEGER, false, AT(validation.samples), 0, INT32_MAX,
     .silent = true},
    {"validation.seed", FIELD_SEED, false, AT(validation.seed), .silent = true},
    {"keep", FIELD_CHOICE, false, AT(keep), .silent = true, .words = {"last", "best"}},
    {"early_stopping.patience", FIELD_INTEGER, false, AT(early_stopping.patience), 0, MAX_EPOCHS,
     .silent = true},
    {"early_stopping.min_delta", FIELD_NUMBER, false, AT(early_stopping.min_delta), 0, 1,
     .below = true, .silent = true},
    {"stop_at.accuracy", FIELD_NUMBER, false, AT(early_stopping.stop_at), 0, 1, .silent = true},
    {"tta", FIELD_CHOICE, false, AT(tta), .silent = true,
     .words = {"none", "mirror", "mirror-shift"}},
    {"stages", FIELD_CUSTOM, false, FIELD_NO_PLACE, .read = field_read_stages, .speed = true,
     .read_by = &by_pipeline},
    {"drop_last", FIELD_FLAG, false, AT(drop_last), .silent = true},
    {"average.kind", FIELD_CHOICE, false, AT(average.kind), .words = {"none", "ema", "lookahead"},
     .silent = true, .speed = true},
    {"average.decay", FIELD_NUMBER, true, AT(average.decay), 0, 1, .below = true,
     ONLY_FOR(average.kind, AVERAGES)},
    {"average.every", FIELD_INTEGER, false, AT(average.every), 1, 1000000, .otherwise = 1,
     ONLY_FOR(average.kind, AVERAGES), .speed = true},
    {"average.ramp", FIELD_INTEGER, false, AT(average.ramp), 0, 16,
     ONLY_FOR(average.kind, 1 << AVERAGING_LOOKAHEAD)},
    {"target_accuracy", FIELD_NUMBER, false, AT(target_accuracy), 0, 1},
    {"published", FIELD_CUSTOM, false, FIELD_NO_PLACE, .read = field_read_published},
};
const size_t experiment_field_count = COUNT(experiment_fields);

bool experiment_field_applies(const field *f, unsigned kind) {
    if (f->hyper) return optimizer_kind_traits[kind].takes[f->hyper - 1].taken;
    return !f->kinds || f->kinds >> kind & 1u;
}

// ---- Groups ----

bool experiment_is_section(const char *key) {
    size_t length = strlen(key);
    for (size_t i = 0; i < experiment_field_count; i++)
        if (!strncmp(experiment_fields[i].path, key, length) &&
            experiment_fields[i].path[length] == '.')
            return true;
    return false;
}

const char *experiment_default_kind(const char *section) {
    size_t length = strlen(section);
    for (size_t i = 0; i < experiment_field_count; i++) {
        const field *f = &experiment_fields[i];
        if (!strncmp(f->path, section, length) && !strcmp(f->path + length, ".kind"))
            return f->required ? NULL : f->words[(size_t)f->otherwise];
    }
    return NULL;
}

// ---- Reading one field ----

static void *place_of(experiment *e, int offset) {
    return (char *)e + offset;
}

// Fields are written through an unsigned: the assertion checks that enums have its size.
_Static_assert(sizeof(strategy_kind) == sizeof(unsigned) &&
                   sizeof(optimizer_kind) == sizeof(unsigned) &&
                   sizeof(schedule_kind) == sizeof(unsigned) &&
                   sizeof(anneal_kind) == sizeof(unsigned) &&
                   sizeof(averaging_kind) == sizeof(unsigned) &&
                   sizeof(lr_scaling_kind) == sizeof(unsigned) &&
                   sizeof(tta_kind) == sizeof(unsigned) && sizeof(kept_model) == sizeof(unsigned),
               "choices are written as unsigned");

static status read_word(experiment_reading *r, const field *f, const yaml_node *node,
                        unsigned *index) {
    const char *word;
    NEED(yaml_string(node, f->path, &word, r->err));
    size_t count = 0;
    char expected[160] = "", hint[HINT_BYTES];
    for (; count < COUNT(f->words) && f->words[count]; count++) {
        if (!strcmp(word, f->words[count])) {
            *index = (unsigned)count;
            return STATUS_OK;
        }
        size_t used = strlen(expected);
        snprintf(expected + used, sizeof expected - used, "%s%s", count ? ", " : "",
                 f->words[count]);
    }
    return yaml_error(node, r->err, "'%s': expected %s%s, got '%.60s'%s", f->path,
                      count > 1 ? "one of " : "", expected, word,
                      hint_about(word, f->words, count, HINT_FUNCTIONS, hint));
}

static status read_choice(experiment_reading *r, const field *f, const yaml_node *node,
                          yaml_node **resolved) {
    unsigned index = (unsigned)f->otherwise;
    if (node) NEED(read_word(r, f, node, &index));
    if (f->place != FIELD_NO_PLACE) memcpy(place_of(r->e, f->place), &index, sizeof index);
    *resolved = yaml_new_string(f->words[index]);
    return STATUS_OK;
}

static status read_integer(experiment_reading *r, const field *f, const yaml_node *node,
                           yaml_node **resolved) {
    bool seed = f->type == FIELD_SEED;
    int64_t value = (int64_t)f->otherwise;
    int64_t min = seed ? 0 : (int64_t)f->min, max = seed ? INT64_MAX : (int64_t)f->max;
    // The only default that is another key's value.
    if (!node && f->place == (int)offsetof(experiment, virtual_shards)) value = r->e->world_size;
    if (node) NEED(yaml_integer(node, f->path, min, max, &value, r->err));
    if (seed)
        *(uint64_t *)place_of(r->e, f->place) = (uint64_t)value;
    else
        *(int *)place_of(r->e, f->place) = (int)value;
    *resolved = yaml_new_integer(value);
    return STATUS_OK;
}

static bool in_range(const field *f, double value) {
    return (f->above ? value > f->min : value >= f->min) &&
           (f->below ? value < f->max : value <= f->max);
}

// A percentage where a share of 1 belongs is answered with the share.
static status refuse_number(experiment_reading *r, const field *f, const yaml_node *node,
                            double value) {
    char share[48] = "";
    if (f->max == 1 && value > 1 && in_range(f, value / 100))
        snprintf(share, sizeof share, "; %g %% is %g", value, value / 100);
    return yaml_error(node, r->err, "'%s': expected a number %s %g and %s %g, got %.40s%s", f->path,
                      f->above ? "above" : "of at least", f->min, f->below ? "below" : "at most",
                      f->max, node->text, share);
}

// The default of the `i`th number of the field.
static double default_of(const experiment *e, const field *f, int i) {
    return f->hyper ? optimizer_kind_traits[e->optimizer.kind].takes[f->hyper - 1 + i].otherwise
                    : f->otherwise;
}

static status read_number(experiment_reading *r, const field *f, const yaml_node *node,
                          yaml_node **resolved) {
    double value = default_of(r->e, f, 0);
    if (node) NEED(yaml_number(node, f->path, &value, r->err));
    if (node && !in_range(f, value)) return refuse_number(r, f, node, value);
    if (node && f->single && !in_range(f, (double)(float)value))
        return yaml_error(
            node, r->err,
            "'%s': expected a number %s %g in single precision, got %.40s, which rounds to %g",
            f->path, f->above ? "above" : "below", f->above ? f->min : f->max, node->text,
            (double)(float)value);
    *(double *)place_of(r->e, f->place) = value;
    *resolved = yaml_new_number(value);
    return STATUS_OK;
}

static status check_pair(const experiment_reading *r, const field *f, const yaml_node *node,
                         const double values[2]) {
    for (int i = 0; i < 2; i++)
        if (!in_range(f, values[i]))
            return yaml_error(node, r->err, "'%s' must be %s %g and %s %g", f->path,
                              f->above ? "above" : "at least", f->min,
                              f->below ? "below" : "at most", f->max);
    for (int i = 0; i < 2; i++)
        if (f->single && !in_range(f, (double)(float)values[i]))
            return yaml_error(node, r->err,
                              "'%s' must be %s %g in single precision, where %.40s rounds to %g",
                              f->path, f->above ? "above" : "below", f->above ? f->min : f->max,
                              node->items[i]->text, (double)(float)values[i]);
    return STATUS_OK;
}

static status read_pair(experiment_reading *r, const field *f, const yaml_node *node,
                        yaml_node **list) {
    double *values = place_of(r->e, f->place);
    if (node) {
        NEED(field_read_numbers(node, f->path, 2, 2, values, list, r->err));
        return check_pair(r, f, node, values);
    }
    *list = field_new_flow(YAML_SEQUENCE);
    for (int i = 0; i < 2; i++) {
        values[i] = default_of(r->e, f, i);
        yaml_append(*list, yaml_new_number(values[i]));
    }
    return STATUS_OK;
}

static status read_flag(experiment_reading *r, const field *f, const yaml_node *node,
                        yaml_node **resolved) {
    bool value = default_of(r->e, f, 0) != 0;
    if (node) NEED(yaml_boolean(node, f->path, &value, r->err));
    if (f->hyper)
        *(double *)place_of(r->e, f->place) = value;
    else
        *(bool *)place_of(r->e, f->place) = value;
    *resolved = yaml_new_boolean(value);
    return STATUS_OK;
}

// Puts a value under its dotted path; creates the mapping in between.
static void put_resolved(experiment_reading *r, const field *f, yaml_node *value) {
    yaml_node *parent = r->e->resolved;
    const char *dot = strchr(f->path, '.');
    if (!dot) {
        yaml_put(parent, f->path, value);
        return;
    }
    char section[32];
    snprintf(section, sizeof section, "%.*s", (int)(dot - f->path), f->path);
    yaml_node *mapping = (yaml_node *)yaml_find(parent, section);
    if (!mapping) {
        mapping = field_new_flow(YAML_MAPPING);
        yaml_put(parent, section, mapping);
    }
    yaml_put(mapping, dot + 1, value);
}

// Reports a missing key at its mapping, or at the whole file.
static status missing(experiment_reading *r, const field *f) {
    char section[32];
    snprintf(section, sizeof section, "%.*s", (int)strcspn(f->path, "."), f->path);
    const yaml_node *parent = strchr(f->path, '.') ? yaml_find(r->root, section) : NULL;
    if (f->type == FIELD_CHOICE && !f->words[1])
        return yaml_error(r->root, r->err, "'%s' is missing: add '%s: %s'", f->path, f->path,
                          f->words[0]);
    return yaml_error(parent ? parent : r->root, r->err, "'%s' is missing", f->path);
}

static bool has_default(const experiment *e, const field *f) {
    const void *place = (const char *)e + f->place;
    switch (f->type) {
    case FIELD_CHOICE: return *(const unsigned *)place == (unsigned)f->otherwise;
    case FIELD_INTEGER: return *(const int *)place == (int)f->otherwise;
    case FIELD_SEED: return *(const uint64_t *)place == (uint64_t)f->otherwise;
    case FIELD_NUMBER: return *(const double *)place == f->otherwise;
    case FIELD_FLAG: return *(const bool *)place == (f->otherwise != 0);
    case FIELD_PAIR:
    case FIELD_CUSTOM: break;
    }
    return false;
}

status experiment_read_field(experiment_reading *r, const field *f) {
    const yaml_node *node = yaml_get(r->root, f->path);
    yaml_node *resolved = NULL;
    unsigned kind;
    memcpy(&kind, place_of(r->e, f->kind), sizeof kind);
    if (!experiment_field_applies(f, kind))
        return node ? yaml_error(node, r->err, "'%s' does not apply to this kind", f->path)
                    : STATUS_OK;
    if (!node && f->required) return missing(r, f);
    status rc = STATUS_OK;
    switch (f->type) {
    case FIELD_CHOICE: rc = read_choice(r, f, node, &resolved); break;
    case FIELD_INTEGER:
    case FIELD_SEED: rc = read_integer(r, f, node, &resolved); break;
    case FIELD_NUMBER: rc = read_number(r, f, node, &resolved); break;
    case FIELD_FLAG: rc = read_flag(r, f, node, &resolved); break;
    case FIELD_PAIR: rc = read_pair(r, f, node, &resolved); break;
    case FIELD_CUSTOM: rc = f->read(r, node, &resolved); break;
    }
    if (rc == STATUS_OK && resolved && !(f->silent && has_default(r->e, f)))
        put_resolved(r, f, resolved);
    else
        yaml_free(resolved);
    return rc;
}

// ---- Keys without effect ----

yaml_node *experiment_idle(const experiment *e, strategy_kind strategy) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < experiment_field_count; i++) {
        const field *f = &experiment_fields[i];
        if (!f->read_by || f->read_by->reads(e, strategy)) continue;
        if (f->place == FIELD_NO_PLACE ? !yaml_get(e->resolved, f->path) : has_default(e, f))
            continue;
        char *line = memory_format("'%s' has no effect here: %s", f->path, f->read_by->who);
        yaml_append(list, yaml_new_string(line));
        free(line);
    }
    return list;
}
