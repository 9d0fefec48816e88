#include "results/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "results/origin.h"
#include "results/predictions.h"

// ---- Like for like ----

// A scalar's text or a collection's canonical JSON; "" when absent.
static status value_at(const yaml_node *root, const char *path, char **value, error *err) {
    const yaml_node *node = yaml_get(root, path);
    if (node && node->kind != YAML_SCALAR) return json_from_yaml(node, value, err);
    *value = memory_string(node && node->text ? node->text : "", err);
    return *value ? STATUS_OK : STATUS_FAILED;
}

// What two runs must have in common before their times are compared.
typedef struct guard {
    const char *label;
    const char *path;  // in the train manifest
    const char *shown; // what to show in place of a value that is too long; may be NULL
    bool place;        // of where it ran, not of what was done
} guard;

enum { GUARD_MODEL }; // its place in the table

static const guard guards[] = {
    [GUARD_MODEL] = {WORD("Model"), "parameters.architecture", "parameters.model", false},
    {WORD("Global batch"), "parameters.global_batch", NULL, false},
    {WORD("Epochs"), "parameters.epochs", NULL, false},
    {WORD("Augmentation"), "parameters.augment", NULL, false},
    {WORD("Optimizer"), "parameters.optimizer.kind", NULL, false},
    {WORD("Precision"), "parameters.precision", NULL, false},
    {WORD("Build"), "version", NULL, true},
    {WORD("Host"), "run.host", NULL, true},
    {WORD("CPU"), "run.cpu", NULL, true},
};

enum { SHOWN_MAX = 48 };

// Labels begin with a capital, as they head columns; here they stand inside a sentence. "V" and
// "CPU" stay.
static void append_label(text *out, const char *label) {
    bool word = label[0] >= 'A' && label[0] <= 'Z' && label[1] >= 'a' && label[1] <= 'z';
    const char first = (char)(word ? label[0] - 'A' + 'a' : label[0]);
    text_bytes(out, &first, 1);
    text_append(out, label + 1);
}

void compare_append_reason(text *out, const char *format, const char *label, const char *a,
                           const char *b) {
    text name;
    text_init(&name, out->err);
    append_label(&name, label);
    if (out->length) text_append(out, "; ");
    text_format(out, format, text_string(&name), *a ? a : "?", *b ? b : "?");
    text_release(&name);
}

static status check_guard(const guard *g, const run *a, const run *b, language l, text *out,
                          error *err) {
    status rc = STATUS_OK;
    char *left = NULL, *right = NULL;
    const char *label = words_in(l, g->label);
    TRY(value_at(a->train, g->path, &left, err));
    TRY(value_at(b->train, g->path, &right, err));
    if (strcmp(left, right) == 0) goto out;
    if (strlen(left) <= SHOWN_MAX && strlen(right) <= SHOWN_MAX) {
        compare_append_reason(out, words_in(l, "%s %s vs %s"), label, left, right);
        goto out;
    }
    const char *short_left = g->shown ? run_text(a->train, g->shown) : "";
    const char *short_right = g->shown ? run_text(b->train, g->shown) : "";
    bool telling = strcmp(short_left, short_right) != 0;
    compare_append_reason(out, words_in(l, telling ? "%s %s vs %s" : "%s differs"), label,
                          short_left, short_right);
out:
    free(left);
    free(right);
    return rc;
}

const char *compare_no_time(const run *r) {
    if (!r->train) return WORD("%s has no training run");
    if (run_has_time(r)) return WORD("%s has no times");
    return r->restarted ? WORD("%s was restarted after the death of a process: its times belong to "
                               "several executions")
                        : WORD("%s was resumed: its times belong to several executions");
}

static void check_time(const run *r, language l, text *out) {
    if (run_has_time(r) && r->timed) return;
    if (out->length) text_append(out, "; ");
    text_format(out, words_in(l, compare_no_time(r)), r->name);
}

static void check_data(const run *a, const run *b, language l, text *out) {
    const char *left = origin_train_data(a), *right = origin_train_data(b);
    if (!*left || strcmp(left, right) != 0)
        compare_append_reason(out, words_in(l, *left ? "%s differs" : "%s unknown"),
                              words_in(l, "Data"), "", "");
}

static void check_text(const char *label, const char *a, const char *b, language l, text *out) {
    if (strcmp(a, b) != 0)
        compare_append_reason(out, words_in(l, "%s %s vs %s"), words_in(l, label), a, b);
}

static void check_count(const char *label, int64_t a, int64_t b, language l, text *out) {
    char left[24], right[24];
    if (a == b) return;
    snprintf(left, sizeof left, "%lld", (long long)a);
    snprintf(right, sizeof right, "%lld", (long long)b);
    compare_append_reason(out, words_in(l, "%s %s vs %s"), words_in(l, label), left, right);
}

// Every reason against a speed-up between the two runs; NULL when there is none. Of a step only
// what the plan did not mean to change counts.
static status find_reasons(const run *a, const run *b, bool step, language l, char **reasons,
                           error *err) {
    status rc = STATUS_OK;
    text out;
    text_init(&out, err);
    *reasons = NULL;
    check_time(a, l, &out);
    check_time(b, l, &out);
    if (!a->train || !b->train) goto done;
    check_data(a, b, l, &out);
    for (size_t i = 0; i < sizeof guards / sizeof *guards; i++)
        if (!step || guards[i].place) TRY(check_guard(&guards[i], a, b, l, &out, err));
    check_text(WORD("Device"), a->device, b->device, l, &out);
    if (strcmp(a->device, b->device) == 0)
        check_text(a->gpus ? WORD("GPU") : WORD("Instruction set"), a->isa, b->isa, l, &out);
    if (!step)
        check_count(WORD("Loader workers"), a->loader_workers, b->loader_workers, l, &out);
    else if (a->world_size == b->world_size)
        check_count(WORD("Threads per rank"), a->threads, b->threads, l, &out);
done:
    if (out.length && !(*reasons = text_take(&out))) rc = STATUS_FAILED;
    if (rc == STATUS_OK) rc = text_status(&out);
out:
    text_release(&out);
    return rc;
}

status compare_reasons(const run *a, const run *b, language l, char **reasons, error *err) {
    return find_reasons(a, b, false, l, reasons, err);
}

// ---- Arithmetic ----

// Samples that a batch norm layer normalises over in a full step; 0 for a model without.
static int64_t batch_norm_group(const run *r) {
    const yaml_node *layers = yaml_get(r->train, "parameters.architecture.layers");
    bool found = false;
    for (size_t i = 0; layers && i < layers->count; i++) {
        const yaml_node *layer = layers->items[i];
        if (layer->kind == YAML_SCALAR) found |= strcmp(layer->text, "batch_norm") == 0;
        if (layer->kind == YAML_MAPPING)
            found |= yaml_find(layer, "batch_norm") != NULL ||
                     strcmp(run_text(layer, "kind"), "batch_norm") == 0;
    }
    if (!found || r->virtual_shards < 1) return 0;
    bool whole = strcmp(run_text(r->train, "parameters.sync_batch_norm"), "true") == 0;
    return whole ? r->global_batch : r->global_batch / r->virtual_shards;
}

// In what the arithmetic of a step differs.
static status find_arithmetic(const run *a, const run *b, language l, char **difference,
                              error *err) {
    text out;
    text_init(&out, err);
    int64_t group_a = batch_norm_group(a), group_b = batch_norm_group(b);
    status rc = check_guard(&guards[GUARD_MODEL], a, b, l, &out, err);
    check_count(WORD("Global batch"), a->global_batch, b->global_batch, l, &out);
    check_count(WORD("V"), a->virtual_shards, b->virtual_shards, l, &out);
    if (group_a && group_b) check_count(WORD("Batch norm group"), group_a, group_b, l, &out);
    check_text(WORD("Reduction"), a->reduce, b->reduce, l, &out);
    *difference = NULL;
    if (rc == STATUS_OK) rc = text_status(&out);
    if (rc == STATUS_OK && out.length && !(*difference = text_take(&out))) rc = STATUS_FAILED;
    text_release(&out);
    return rc;
}

// ---- Ratio and accuracy ----

// The times of one side, by execution: of its epochs, and the total.
typedef struct side_times {
    const run **executions;
    const double **seconds, **total;
    size_t *length, *one; // how many values each has
    size_t count;
} side_times;

static void release_times(side_times *t) {
    free(t->executions);
    free(t->seconds);
    free(t->total);
    free(t->length);
    free(t->one);
}

static status read_times(const group *g, side_times *t, error *err) {
    size_t room;
    *t = (side_times){0};
    status rc = group_executions(g, &t->executions, &room, err);
    if (rc != STATUS_OK) return rc;
    t->seconds = memory_new(room, sizeof *t->seconds, err);
    t->total = memory_new(room, sizeof *t->total, err);
    t->length = memory_new(room, sizeof *t->length, err);
    t->one = memory_new(room, sizeof *t->one, err);
    if (!t->seconds || !t->total || !t->length || !t->one) return STATUS_FAILED;
    for (size_t i = 0; i < room; i++) {
        const run *r = t->executions[i];
        if (!run_has_time(r) || !r->timed) continue;
        t->seconds[t->count] = r->seconds;
        t->total[t->count] = &r->total_seconds;
        t->one[t->count] = 1;
        t->length[t->count++] = r->timed;
    }
    return STATUS_OK;
}

static status find_times(const group *subject, const group *baseline, comparison *c, error *err) {
    side_times of = {0}, against = {0};
    status rc;
    TRY(read_times(subject, &of, err));
    TRY(read_times(baseline, &against, err));
    const sample_set seconds[] = {{of.seconds, of.length, of.count},
                                  {against.seconds, against.length, against.count}};
    const sample_set totals[] = {{of.total, of.one, of.count},
                                 {against.total, against.one, against.count}};
    TRY(statistics_ratio(&seconds[1], &seconds[0], &c->speedup, err));
    TRY(statistics_difference(&seconds[0], &seconds[1], &c->seconds, err));
    TRY(statistics_difference(&totals[0], &totals[1], &c->total, err));
out:
    release_times(&of);
    release_times(&against);
    return rc;
}

// The run of `g` with that seed, if its accuracy is known.
static const run *with_seed(const group *g, int64_t seed) {
    for (size_t i = 0; i < g->count; i++)
        if (g->runs[i]->seed == seed && !isnan(g->runs[i]->accuracy)) return g->runs[i];
    return NULL;
}

static status check_predictions(const run *r, const predictions *p, error *err) {
    return run_check_content(r->evaluation, r->evaluate, "predictions.st.zst", p->file.content,
                             err);
}

static status test_samples(const run *a, const run *b, comparison *c, error *err) {
    predictions of_a = {0}, of_b = {0};
    int64_t only_a, only_b;
    status rc = STATUS_OK;
    TRY(predictions_read(a->evaluation, &of_a, err));
    TRY(predictions_read(b->evaluation, &of_b, err));
    TRY(check_predictions(a, &of_a, err));
    TRY(check_predictions(b, &of_b, err));
    if (predictions_compare(&of_a, &of_b, &only_a, &only_b, err) != STATUS_OK) goto out;
    c->test = ACCURACY_MCNEMAR;
    c->p = statistics_mcnemar(only_a, only_b);
    c->accuracy_range = statistics_proportion_interval(only_a, only_b, (int64_t)of_a.samples);
    c->pairs = of_a.samples;
out:
    predictions_release(&of_a);
    predictions_release(&of_b);
    return rc;
}

static double mean_accuracy(const group *g) {
    double sum = 0;
    for (size_t i = 0; i < g->count; i++) sum += g->runs[i]->accuracy;
    return sum / (double)g->count;
}

// Are all runs that share a seed with the other side the same model, and is there one?
static bool same_models(const group *a, const group *b) {
    size_t pairs = 0, same = 0;
    for (size_t i = 0; i < a->count; i++) {
        for (size_t k = 0; k < b->count; k++) {
            const run *left = a->runs[i], *right = b->runs[k];
            if (left->seed != right->seed || !*left->model_content) continue;
            pairs++;
            same += strcmp(left->model_content, right->model_content) == 0;
        }
    }
    return pairs && same == pairs;
}

// Seeds with an accuracy on both sides.
typedef struct seed_pairs {
    double *subject, *baseline; // accuracies
    size_t count;
    const run *left, *right; // the first pair
} seed_pairs;

static status find_pairs(const group *a, const group *b, seed_pairs *p, error *err) {
    *p = (seed_pairs){.subject = memory_new(a->count, sizeof(double), err),
                      .baseline = memory_new(a->count, sizeof(double), err)};
    if (!p->subject || !p->baseline) return STATUS_FAILED;
    for (size_t i = 0; i < a->count; i++) {
        const run *r = a->runs[i], *other = with_seed(b, r->seed);
        if (!other || isnan(r->accuracy)) continue;
        if (!p->count) p->left = r, p->right = other;
        p->subject[p->count] = r->accuracy;
        p->baseline[p->count++] = other->accuracy;
    }
    return STATUS_OK;
}

static status compare_accuracy(comparison *c, error *err) {
    status rc = STATUS_OK;
    seed_pairs p = {0};
    const char *data = origin_test_data(c->subject->runs[0]);
    if (!*data || strcmp(data, origin_test_data(c->baseline->runs[0])) != 0) goto out;
    TRY(find_pairs(c->subject, c->baseline, &p, err));
    c->accuracy_difference =
        p.count ? statistics_mean(p.subject, p.count) - statistics_mean(p.baseline, p.count)
                : mean_accuracy(c->subject) - mean_accuracy(c->baseline);
    if (c->identical) {
        c->test = ACCURACY_IDENTICAL;
        c->accuracy_range = (interval){0, 0};
    } else if (p.count >= 3) {
        c->test = ACCURACY_PAIRED;
        c->p = statistics_paired_test(p.subject, p.baseline, p.count);
        c->accuracy_range = statistics_paired_interval(p.subject, p.baseline, p.count);
        c->pairs = p.count;
    } else if (p.count && p.left->evaluation && p.right->evaluation) {
        c->accuracy_difference = p.left->accuracy - p.right->accuracy;
        TRY(test_samples(p.left, p.right, c, err));
    }
out:
    free(p.subject);
    free(p.baseline);
    return rc;
}

static status compare_as(bool step, const group *subject, const group *baseline, language l,
                         comparison *c, error *err) {
    const run *a = subject->runs[0], *b = baseline->runs[0];
    status rc = STATUS_OK;
    *c = (comparison){.subject = subject,
                      .baseline = baseline,
                      .accuracy_difference = NAN,
                      .accuracy_range = {NAN, NAN},
                      .speedup = {NAN, {NAN, NAN}},
                      .seconds = {NAN, {NAN, NAN}},
                      .total = {NAN, {NAN, NAN}},
                      .p = NAN};
    c->simulated = a->simulated || b->simulated;
    for (size_t i = 0; !c->reasons && i < subject->count; i++)
        for (size_t k = 0; !c->reasons && k < baseline->count; k++)
            TRY(find_reasons(subject->runs[i], baseline->runs[k], step, l, &c->reasons, err));
    TRY(find_arithmetic(a, b, l, &c->arithmetic, err));
    if (!c->reasons) TRY(find_times(subject, baseline, c, err));
    c->identical = same_models(subject, baseline);
    TRY(compare_accuracy(c, err));
out:
    if (rc != STATUS_OK) comparison_release(c);
    return rc;
}

status compare(const group *subject, const group *baseline, language l, comparison *c, error *err) {
    return compare_as(false, subject, baseline, l, c, err);
}

status compare_step(const group *subject, const group *baseline, language l, comparison *c,
                    error *err) {
    return compare_as(true, subject, baseline, l, c, err);
}

void comparison_release(comparison *c) {
    free(c->reasons);
    free(c->arithmetic);
    c->reasons = c->arithmetic = NULL;
}
