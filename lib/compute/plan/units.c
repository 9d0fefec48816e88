// SPDX-License-Identifier: MIT
#include "compute/plan/units.h"

#include <stdlib.h>

#include "base/memory.h"

static layer_role role_of(const layer *l) {
    return layer_traits_of(l)->role;
}

static bool is_epilogue_pool(const layer *l) {
    return role_of(l) == ROLE_POOL && l->kernel_h == 2 && l->kernel_w == 2 && l->stride_h == 2 &&
           l->stride_w == 2 && l->pad_h == 0 && l->pad_w == 0 &&
           l->out.height == l->in.height / 2 && l->out.width == l->in.width / 2;
}

// A program being cut into units.
typedef struct cutting {
    const program *p;
    unit_list *list;
    // Of each value: number i + 1 is the output of layer i, and 0 the input.
    int *readers; // layers
    int *unit;    // that computes it
    int at;       // the next layer
    bool logits;  // the program ends in logits
} cutting;

static void count_readers(const cutting *c) {
    for (int i = 0; i < c->p->count; i++)
        for (int k = 0; k < layer_inputs(&c->p->layers[i]); k++)
            c->readers[layer_input_source(c->p, i, k) + 1]++;
}

// Only this layer reads the output of the layer before it.
static bool continues_unit(const cutting *c) {
    return c->at < c->p->count && c->p->layers[c->at].skip == 0 && c->readers[c->at] == 1;
}

static bool take_epilogue_layer(unit_layers *u, const layer *l) {
    // Pooling before ReLU gives the same as ReLU before pooling: both orders are one epilogue.
    if (u->smooth) return false;
    const layer_role role = role_of(l);
    if (role == ROLE_NORM && !u->norm && !u->relu && !u->pool && !u->plus)
        u->norm = l;
    else if (role == ROLE_RELU && !u->relu)
        u->relu = true;
    else if (is_epilogue_pool(l) && !u->pool && !u->plus)
        u->pool = true;
    else if (role == ROLE_SMOOTH && !u->relu && !u->pool && !u->plus)
        u->smooth = l;
    else
        return false;
    return true;
}

static bool has_epilogue(const unit_layers *u) {
    return u->norm || u->relu || u->pool || u->smooth || u->plus;
}

// A sum after a convolution or linear layer, unless 2×2 pooling follows it or its ReLU: the unit of
// the sum has that in its epilogue.
static bool take_sum(unit_layers *u, cutting *c) {
    const layer *l = &c->p->layers[c->at];
    if (role_of(l) != ROLE_SUM || !u->anchor || u->plus || u->relu || u->pool || u->smooth)
        return false;
    cutting ahead = *c;
    ahead.at++;
    if (continues_unit(&ahead) && role_of(&c->p->layers[ahead.at]) == ROLE_RELU) ahead.at++;
    if (continues_unit(&ahead) && is_epilogue_pool(&c->p->layers[ahead.at])) return false;
    u->plus = true;
    u->second.unit = c->unit[layer_second_source(c->p, c->at) + 1];
    return true;
}

static void take_logits_scale(unit_layers *u, cutting *c) {
    const layer *l = &c->p->layers[c->at];
    if (!c->logits || c->at != program_logits(c->p) || role_of(l) != ROLE_SCALE ||
        !continues_unit(c))
        return;
    if (!u->anchor || has_epilogue(u)) return;
    u->scale = l;
    c->at++;
}

// Samples are innermost, so a flattened activation lies in memory as the image does, unless a layer
// that reads the image wants a border around it.
static bool is_free(const cutting *c, int i) {
    const layer *l = &c->p->layers[i];
    return role_of(l) == ROLE_VIEW && l->flat && c->readers[layer_source(c->p, i) + 1] == 1;
}

static status check_window(const layer *l, error *err) {
    if (!layer_traits_of(l)->has_choices || l->kernel_h * l->kernel_w <= POOL_WINDOW_MAX)
        return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "cannot run layer '%s': its window has more than %d elements", l->name,
                     (int)POOL_WINDOW_MAX);
}

// The layers of a unit from c->at on; the first of them belongs to it.
static status take_unit(unit_layers *u, cutting *c, error *err) {
    const layer *l = &c->p->layers[c->at++];
    u->x = l->in;
    switch (role_of(l)) {
    case ROLE_NONE:
    case ROLE_CONCAT: // cut_concat
        return error_set(err, STATUS_USAGE, "cannot run layer '%s': no kernel for its kind yet",
                         l->name);
    case ROLE_ANCHOR: u->anchor = l; break;
    case ROLE_SUM: u->sum = true; break;
    case ROLE_VIEW:
        u->x = l->out;
        u->flattens = true;
        break;
    case ROLE_NORM:
    case ROLE_RELU: (void)take_epilogue_layer(u, l); break;
    case ROLE_SMOOTH:
    case ROLE_POOL:
    case ROLE_SCALE:
    case ROLE_UNFUSED: u->unfused = l; return check_window(l, err);
    case ROLE_SLICE: u->moved = l; return STATUS_OK;
    }
    while (continues_unit(c) && (take_epilogue_layer(u, &c->p->layers[c->at]) || take_sum(u, c)))
        c->at++;
    take_logits_scale(u, c);
    return STATUS_OK;
}

static void find_shapes(unit_layers *u) {
    const layer *own = u->unfused ? u->unfused : u->moved ? u->moved : u->anchor;
    u->z = own ? own->out : u->x;
    u->y = u->pool ? (shape){u->z.channels, u->z.height / 2, u->z.width / 2} : u->z;
}

static void number_norm(unit_list *l, unit_layers *u) {
    if (!u->norm) return;
    u->norm_index = l->norms++;
    u->norm_channel = l->norm_channels;
    l->norm_channels += (size_t)u->norm->out.channels;
}

// Is its result a z, with nothing around it, over which the loss can write the gradient?
static bool ends_in_z(const unit_layers *u) {
    if (has_epilogue(u)) return false;
    return u->sum || u->flattens || (u->anchor && u->anchor->kind == LAYER_LINEAR);
}

static size_t positions(shape s) {
    return (size_t)s.height * (size_t)s.width;
}

static unit_layers *new_unit(cutting *c) {
    static const value_range none = {UNIT_NONE, 0};
    unit_layers *u = &c->list->units[c->list->count++];
    *u = (unit_layers){.source = {.unit = UNIT_NONE},
                       .second = {.unit = UNIT_NONE},
                       .part = none,
                       .within = none,
                       .gradient_within = none};
    return u;
}

// A unit for each input, and one for the whole.
static void cut_concat(cutting *c) {
    const layer *l = &c->p->layers[c->at];
    value_range part = {c->list->count + layer_inputs(l), 0};
    for (int k = 0; k < layer_inputs(l); k++) {
        const int source = layer_input_source(c->p, c->at, k);
        unit_layers *u = new_unit(c);
        u->moved = l;
        u->source.unit = c->unit[source + 1];
        u->x = u->z = u->y = program_value(c->p, source);
        u->part = u->within = u->gradient_within = part;
        part.feature += shape_size(u->x);
    }
    unit_layers *whole = new_unit(c);
    whole->joined = l;
    whole->x = whole->z = whole->y = l->out;
    c->unit[++c->at] = part.unit;
}

// Logits of any other unit are copied to be a z.
static void add_logits(cutting *c) {
    const int from = c->list->count - 1;
    unit_layers *u;
    if (c->p->count == 0 || (from >= 0 && ends_in_z(&c->list->units[from]))) return;
    u = new_unit(c);
    u->source.unit = c->unit[c->p->count];
    u->flattens = true;
    u->x = c->p->layers[c->p->count - 1].out;
    find_shapes(u);
}

static status cut(cutting *c, error *err) {
    const program *p = c->p;
    c->unit[0] = UNIT_INPUT;
    while (c->at < p->count) {
        const int first = c->at, from = c->unit[layer_source(p, first) + 1];
        if (is_free(c, first)) {
            c->unit[++c->at] = from;
            continue;
        }
        if (role_of(&p->layers[first]) == ROLE_CONCAT) {
            cut_concat(c);
            continue;
        }
        const int number = c->list->count;
        unit_layers *u = new_unit(c);
        const status rc = take_unit(u, c, err);
        if (rc != STATUS_OK) return rc;
        u->source.unit = from;
        if (layer_has_second(&p->layers[first]))
            u->second.unit = c->unit[layer_second_source(p, first) + 1];
        c->unit[c->at] = number;
        find_shapes(u);
        if (u->moved) u->part = (value_range){from, (size_t)u->moved->channel * positions(u->x)};
        number_norm(c->list, u);
    }
    if (c->logits) add_logits(c);
    if (c->list->count > 0) return STATUS_OK;
    return error_set(err, STATUS_USAGE, "cannot run this model: it has no layers");
}

// Who writes the gradient of a value, and who adds to it: backward runs from the last unit to the
// first. `written`: of each unit's y, after one for the input.
static void find_gradients(const unit_list *l, bool receives, bool *written) {
    for (int i = l->count - 1; i >= 0; i--) {
        unit_layers *u = &l->units[i];
        if (u->joined) continue;
        // The gradient reaches the second operand of an epilogue's sum first.
        unit_source *sources[] = {&u->source, &u->second, &u->source};
        for (int k = u->plus; k < 1 + u->plus + unit_has_second(u); k++) {
            unit_source *s = sources[k];
            s->gradient = s->unit != UNIT_INPUT || receives;
            s->adds = written[s->unit + 1];
            written[s->unit + 1] = true;
        }
        u->first = !u->source.gradient;
    }
}

static size_t most_units(const program *p) {
    size_t most = (size_t)p->count + 1; // with that of the logits
    for (int i = 0; i < p->count; i++)
        if (role_of(&p->layers[i]) == ROLE_CONCAT) most += (size_t)layer_inputs(&p->layers[i]);
    return most;
}

status units_init(unit_list *l, const program *p, bool receives, bool logits, error *err) {
    const size_t values = (size_t)p->count + 1;
    cutting c = {.p = p,
                 .list = l,
                 .logits = logits,
                 .readers = memory_new(values, sizeof *c.readers),
                 .unit = memory_new(values, sizeof *c.unit)};
    const size_t most = most_units(p);
    bool *written = memory_new(most + 1, sizeof *written);
    status rc;
    *l = (unit_list){.units = memory_new(most + 1, sizeof *l->units)};
    count_readers(&c);
    TRY(cut(&c, err));
    find_gradients(l, receives, written);
    l->units[l->count - 1].last = logits;
out:
    free(c.readers);
    free(c.unit);
    free(written);
    if (rc != STATUS_OK) units_release(l);
    return rc;
}

void units_release(unit_list *l) {
    free(l->units);
    *l = (unit_list){0};
}

int units_readers(const unit_list *l, int unit) {
    int readers = 0;
    for (int i = unit + 1; i < l->count; i++) {
        const unit_layers *u = &l->units[i];
        readers += u->source.unit == unit;
        readers += unit_has_second(u) && u->second.unit == unit;
    }
    return readers;
}

void units_own_part(const program *p, size_t *first, size_t *end) {
    *first = p->parameters;
    *end = 0;
    for (int i = 0; i < p->count; i++) {
        const layer *l = &p->layers[i];
        const size_t biases = layer_biases(l);
        const size_t behind = biases ? l->bias + biases : l->weight + layer_weights(l);
        if (layer_weights(l) == 0) continue;
        if (l->weight < *first) *first = l->weight;
        if (behind > *end) *end = behind;
    }
    if (*end < *first) *end = *first;
}
