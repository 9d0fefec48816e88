// SPDX-License-Identifier: MIT
// The figures of a pipeline's stages in the manifest.
#include "train/strategy_mp.h"

static status put_stage(const executor *x, const stage *s, yaml_node *list, error *err) {
    yaml_node *item = yaml_new(YAML_MAPPING, err);
    status rc = STATUS_FAILED;
    if (!item) return rc;
    item->flow = true;
    const program *p = &s->program;
    const double busy = x->wall ? (double)s->busy / (double)x->wall : 0;
    const double waiting = x->wall ? (double)s->waiting / (double)x->wall : 0;
    const int64_t sent = x->steps ? (int64_t)(s->sent / x->steps) : 0;
    const int64_t bytes = (int64_t)x->backend->memory(s->engine);
    TRY(yaml_put(item, "first", yaml_new_string(p->layers[0].name, err), err));
    TRY(yaml_put(item, "last", yaml_new_string(p->layers[p->count - 1].name, err), err));
    TRY(yaml_put(item, "busy", yaml_new_number(busy, err), err));
    TRY(yaml_put(item, "waiting", yaml_new_number(waiting, err), err));
    TRY(yaml_put(item, "bytes_sent_per_step", yaml_new_integer(sent, err), err));
    TRY(yaml_put(item, "bytes", yaml_new_integer(bytes, err), err));
    return yaml_append(list, item, err);
out:
    yaml_free(item);
    return rc;
}

// The bubble: the measured fraction of time in which stages were idle, and the fraction that fill
// and drain alone predict.
static status put_bubble(const executor *x, yaml_node *segment, error *err) {
    uint64_t waiting = 0, sent = 0;
    status rc;
    for (int i = 0; i < x->count; i++) {
        waiting += x->stages[i].waiting;
        sent += x->stages[i].sent;
    }
    const double stages = x->count, m = (double)x->micro_batches / (double)x->steps;
    const double measured = (double)waiting / ((double)x->wall * stages);
    const double predicted = (stages - 1) / (m + stages - 1);
    const int64_t bytes = (int64_t)(sent / x->steps);
    TRY(yaml_put(segment, "micro_batches", yaml_new_number(m, err), err));
    TRY(yaml_put(segment, "bubble_measured", yaml_new_number(measured, err), err));
    TRY(yaml_put(segment, "bubble_predicted", yaml_new_number(predicted, err), err));
    TRY(yaml_put(segment, "bytes_per_step", yaml_new_integer(bytes, err), err));
out:
    return rc;
}

status mp_describe(const executor *x, yaml_node *segment, error *err) {
    yaml_node *list = yaml_new(YAML_SEQUENCE, err);
    status rc = STATUS_FAILED;
    if (!list) return rc;
    for (int i = 0; i < x->count; i++) TRY(put_stage(x, &x->stages[i], list, err));
    rc = yaml_put(segment, "stages", list, err);
    list = NULL; // yaml_put owns it now
    if (rc == STATUS_OK && x->transport)
        rc = yaml_put(segment, "transport", yaml_new_string(x->transport, err), err);
    if (rc == STATUS_OK && x->steps > 0) rc = put_bubble(x, segment, err);
out:
    yaml_free(list);
    return rc;
}
