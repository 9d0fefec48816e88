// SPDX-License-Identifier: MIT
// The classes that models tell apart, and the test images that they got wrong.
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
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

void facts_put_classes(yaml_node *node, const results *r, size_t at) {
    const run *one = &r->list.runs[at];
    yaml_node *names = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < one->class_count; i++)
        yaml_append(names, json_new_string(one->classes[i].name));
    yaml_put(node, "classes", names);
    yaml_put(node, "confusion", yaml_new_boolean(one->confusion != NULL));
    yaml_put(node, "same_predictions", json_new_text(same_predictions(r, at)));
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
