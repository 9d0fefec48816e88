// SPDX-License-Identifier: MIT
// The classes that models tell apart, and the test images that they got wrong.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "data/base_rate.h"
#include "data/images/image.h"
#include "data/manifest.h"
#include "report/charts.h"
#include "report/facts_parts.h"
#include "results/mistakes.h"

static const char *predictions_of(const run *one) {
    return manifest_output_content(one->evaluate, "predictions.st.zst");
}

// Returns the name of the first run before this one with the same predictions; "" if there is none.
static const char *same_predictions(const results *r, size_t at) {
    const char *content = predictions_of(&r->list.runs[at]);
    for (size_t i = 0; i < at && *content; i++)
        if (strcmp(predictions_of(&r->list.runs[i]), content) == 0) return r->list.runs[i].name;
    return "";
}

static int64_t times_predicted(const run *one, size_t class) {
    int64_t times = 0;
    for (size_t i = 0; i < one->class_count; i++)
        times += one->confusion[i * one->class_count + class];
    return times;
}

// Adds the classes of test images that the model never predicted, and the only one that it did;
// null if that is not known, or if there are several.
static void put_predicted(yaml_node *node, const run *one) {
    const char *only = NULL;
    size_t predicted = 0;
    yaml_node *never = one->confusion ? yaml_new(YAML_SEQUENCE) : json_new_text(NULL);
    for (size_t k = 0; one->confusion && k < one->class_count; k++) {
        if (times_predicted(one, k) > 0)
            predicted++, only = one->classes[k].name;
        else if (one->classes[k].count > 0)
            yaml_append(never, json_new_string(one->classes[k].name));
    }
    yaml_put(node, "never_predicted", never);
    yaml_put(node, "only_predicted", json_new_text(predicted == 1 ? only : NULL));
}

void facts_put_classes(yaml_node *node, const results *r, size_t at) {
    const run *one = &r->list.runs[at];
    yaml_node *names = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < one->class_count; i++)
        yaml_append(names, json_new_string(one->classes[i].name));
    yaml_put(node, "classes", names);
    yaml_put(node, "confusion", yaml_new_boolean(one->confusion != NULL));
    yaml_put(node, "same_predictions", json_new_text(same_predictions(r, at)));
    put_predicted(node, one);
}

// ---- Accuracies that need no model ----

// Is the accuracy of a run not certainly higher than always answering the commonest class?
static bool is_at_base_rate(const run *one, base_rate *b) {
    int64_t *counts = memory_new(one->class_count, sizeof *counts);
    for (size_t k = 0; k < one->class_count; k++) counts[k] = one->classes[k].count;
    *b = base_rate_find(counts, (int)one->class_count);
    free(counts);
    return b->of && !isnan(one->accuracy) &&
           !base_rate_is_beaten(b, (int64_t)llround(one->accuracy * (double)b->of));
}

// Returns the runs in the entry of `list` for this class of these test images, a new one if there
// is none.
static yaml_node *base_rate_runs(yaml_node *list, const run *one, const base_rate *b) {
    const char *name = one->classes[b->label].name;
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(yaml_text_at(list->items[i], "class"), name) == 0 &&
            yaml_number_at(list->items[i], "samples") == (double)b->samples &&
            yaml_number_at(list->items[i], "of") == (double)b->of)
            return list->items[i]->items[list->items[i]->count - 1];
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "class", json_new_string(name));
    yaml_put(node, "samples", json_new_count(b->samples));
    yaml_put(node, "of", json_new_count(b->of));
    yaml_put(node, "share", json_new_number(base_rate_share(b)));
    yaml_node *runs = yaml_new(YAML_SEQUENCE);
    yaml_put(node, "runs", runs); // the last one
    yaml_append(list, node);
    return runs;
}

yaml_node *facts_base_rates(const results *r) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < r->list.count; i++) {
        const run *one = &r->list.runs[i];
        base_rate b;
        if (is_at_base_rate(one, &b))
            yaml_append(base_rate_runs(list, one, &b), json_new_text(one->name));
    }
    return list;
}

// ---- Mistakes ----

static status put_picture(yaml_node *item, const mistakes *m, const mistake *one, error *err) {
    const image i = {.width = m->width,
                     .height = m->height,
                     .channels = m->channels,
                     .orientation = 1,
                     .pixels = one->pixels};
    uint8_t *file;
    size_t bytes;
    text encoded = {0};
    const status rc = image_encode_png(&i, &file, &bytes, err);
    if (rc != STATUS_OK) return rc;
    text_base64(&encoded, file, bytes);
    yaml_put(item, "png", json_new_string(text_string(&encoded)));
    text_release(&encoded);
    free(file);
    return STATUS_OK;
}

static status add_pictures(yaml_node *chart, const run *one, const mistakes *m, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < m->count; i++) {
        const mistake *wrong = &m->items[i];
        yaml_node *item = chart_add(chart, "");
        yaml_put(item, "sample", json_new_count((int64_t)wrong->sample));
        yaml_put(item, "class", json_new_string(one->classes[wrong->label].name));
        yaml_put(item, "predicted", json_new_string(one->classes[wrong->predicted].name));
        yaml_put(item, "probability", json_new_number(wrong->probability));
        rc = put_picture(item, m, wrong, err);
    }
    return rc;
}

static status add_mistakes(yaml_node *list, yaml_node *charts, const run *one, const mistakes *m,
                           error *err) {
    char *name = memory_format("mistakes-%zu", list->count + 1);
    yaml_node *chart = chart_new("pictures", "mistakes"), *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "run", json_new_text(one->name));
    yaml_put(node, "wrong", json_new_count((int64_t)m->all));
    yaml_put(node, "chart", json_new_text(name));
    yaml_append(list, node);
    const status rc = add_pictures(chart, one, m, err);
    yaml_put(charts, name, chart);
    free(name);
    return rc;
}

status facts_put_mistakes(yaml_node *root, const results *r, error *err) {
    enum { RUNS_MAX = 3 };
    yaml_node *charts = (yaml_node *)(uintptr_t)yaml_find(root, "charts");
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    status rc = STATUS_OK;
    yaml_put(root, "mistakes", list);
    for (size_t i = 0; rc == STATUS_OK && i < r->list.count && list->count < RUNS_MAX; i++) {
        const run *one = &r->list.runs[i];
        mistakes m;
        if (!one->class_count || *same_predictions(r, i)) continue;
        rc = mistakes_read(one, r->options.test, &m, err);
        if (rc == STATUS_OK && m.count) rc = add_mistakes(list, charts, one, &m, err);
        mistakes_release(&m);
    }
    return rc;
}
