// SPDX-License-Identifier: MIT
// Predicted scaling as data. The predicted seconds are figures (joint_metrics.h).
#include "base/json.h"
#include "report/facts_parts.h"

// What a source published as the projected speed-up of an experiment; null if none did.
static yaml_node *published_projection(const run *one) {
    const yaml_node *list = one->published;
    for (size_t i = 0; list && list->kind == YAML_SEQUENCE && i < list->count; i++) {
        const yaml_node *entry = list->items[i];
        if (!yaml_get(entry, "projected_speed_up")) continue;
        yaml_node *node = yaml_new(YAML_MAPPING);
        yaml_put(node, "ratio", json_new_text(yaml_text_at(entry, "projected_speed_up")));
        yaml_put(node, "source", json_new_text(yaml_text_at(entry, "source")));
        return node;
    }
    return json_new_text(NULL);
}

static yaml_node *item_node(const prediction *p) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "name", json_new_text(p->subject->name));
    yaml_put(node, "runs", facts_names(p->subject));
    yaml_put(node, "basis", json_new_text(p->basis ? p->basis->name : ""));
    yaml_put(node, "reason", facts_reasons(&p->reason)); // why there is none
    yaml_put(node, "projects", yaml_new_boolean(p->projects));
    yaml_put(node, "published", published_projection(p->subject->runs[0]));
    return node;
}

static bool is_used(const results *r, const collective *c) {
    for (size_t i = 0; i < r->prediction_count; i++)
        if (!r->predictions[i].reason.count && r->predictions[i].cost == c) return true;
    return false;
}

static yaml_node *cost_node(const results *r, const collective *c) {
    yaml_node *node = yaml_new(YAML_MAPPING);
    yaml_put(node, "ranks", json_new_count(c->world_size));
    yaml_put(node, "reduce", json_new_text(c->reduce));
    yaml_put(node, "transport", json_new_text(c->transport));
    yaml_put(node, "alpha_microseconds", json_new_number(1e6 * c->cost.alpha));
    yaml_put(node, "beta_nanoseconds_per_byte", json_new_number(1e9 * c->cost.beta));
    yaml_put(node, "relative_error", json_new_number(c->cost.error));
    yaml_put(node, "simulated", yaml_new_boolean(c->simulated));
    yaml_put(node, "used", yaml_new_boolean(is_used(r, c)));
    return node;
}

static yaml_node *collectives_node(const results *r) {
    const collectives *c = &r->collectives;
    yaml_node *node = yaml_new(YAML_MAPPING), *costs = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < c->count; i++) yaml_append(costs, cost_node(r, &c->items[i]));
    yaml_put(node, "folder", json_new_text(c->folder));
    yaml_put(node, "host", json_new_text(c->host));
    yaml_put(node, "cpu", json_new_text(c->cpu));
    yaml_put(node, "devices", json_new_text(c->devices));
    yaml_put(node, "costs", costs);
    return node;
}

void facts_put_predictions(yaml_node *root, const results *r) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < r->prediction_count; i++)
        yaml_append(list, item_node(&r->predictions[i]));
    yaml_put(root, "predictions", list);
    yaml_put(root, "collectives", r->prediction_count ? collectives_node(r) : json_new_text(NULL));
}
