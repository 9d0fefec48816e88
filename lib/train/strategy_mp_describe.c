// SPDX-License-Identifier: MIT
// The figures of a pipeline's stages in the manifest.
#include "train/strategy_mp.h"

static void put_stage(const executor *x, const stage *s, yaml_node *list) {
    yaml_node *item = yaml_new(YAML_MAPPING);
    item->flow = true;
    const program *p = &s->program;
    const double busy = x->wall ? (double)s->busy / (double)x->wall : 0;
    const double waiting = x->wall ? (double)s->waiting / (double)x->wall : 0;
    const int64_t sent = x->steps ? (int64_t)(s->sent / x->steps) : 0;
    const int64_t bytes = (int64_t)x->backend->memory(s->engine);
    yaml_put(item, "first", yaml_new_string(p->layers[0].name));
    yaml_put(item, "last", yaml_new_string(p->layers[p->count - 1].name));
    yaml_put(item, "busy", yaml_new_number(busy));
    yaml_put(item, "waiting", yaml_new_number(waiting));
    yaml_put(item, "bytes_sent_per_step", yaml_new_integer(sent));
    yaml_put(item, "bytes", yaml_new_integer(bytes));
    yaml_append(list, item);
}

// The bubble: the measured fraction of time in which stages were idle, and the fraction that fill
// and drain alone predict.
static void put_bubble(const executor *x, yaml_node *segment) {
    uint64_t waiting = 0, sent = 0;
    for (int i = 0; i < x->count; i++) {
        waiting += x->stages[i].waiting;
        sent += x->stages[i].sent;
    }
    const double stages = x->count, m = (double)x->micro_batches / (double)x->steps;
    const double measured = (double)waiting / ((double)x->wall * stages);
    const double predicted = (stages - 1) / (m + stages - 1);
    const int64_t bytes = (int64_t)(sent / x->steps);
    yaml_put(segment, "micro_batches", yaml_new_number(m));
    yaml_put(segment, "bubble_measured", yaml_new_number(measured));
    yaml_put(segment, "bubble_predicted", yaml_new_number(predicted));
    yaml_put(segment, "bytes_per_step", yaml_new_integer(bytes));
}

status mp_describe(const executor *x, yaml_node *segment, error *err) {
    (void)err;
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (int i = 0; i < x->count; i++) put_stage(x, &x->stages[i], list);
    yaml_put(segment, "stages", list);
    if (x->transport) yaml_put(segment, "transport", yaml_new_string(x->transport));
    if (x->steps > 0) put_bubble(x, segment);
    return STATUS_OK;
}
