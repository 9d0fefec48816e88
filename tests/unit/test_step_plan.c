// SPDX-License-Identifier: MIT
// The plan of a step: its order, what it leaves out, what is in use when, and that every part of
// the gradient buffer is written once. No engine is opened.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "base/yaml_tree.h"
#include "compute/plan/lifetimes.h"
#include "compute/plan/plan_text.h"
#include "compute/plan/within.h"
#include "nn/model.h"

// A model, its units as the CPU's engine runs them, and the plan of a step.
typedef struct planned {
    model m;
    engine_options options;
    unit_list units;
    step_plan plan;
} planned;

static void load(model *m, const char *layers) {
    char yaml[1000];
    error err;
    yaml_node *root = NULL;
    snprintf(yaml, sizeof yaml,
             "schema: lockstep.model/1\nname: m\ninput: [3, 8, 8]\nlayers: [%s]\n", layers);
    status rc = yaml_read_text(yaml, strlen(yaml), "m.yaml", &root, &err);
    if (rc == STATUS_OK) rc = model_from_yaml(m, root, &err);
    yaml_free(root);
    if (rc != STATUS_OK) fail_msg("%s", err.message);
}

// `cpu`: else each operation does a single thing.
static void plan_step(planned *p, const char *layers, const engine_options *o, bool cpu,
                      uint32_t frozen) {
    error err;
    *p = (planned){.options = *o};
    load(&p->m, layers);
    const program *of = &p->m.program;
    const status rc = cpu ? backend_find("cpu")->units(of, o, &p->units, &err)
                          : units_init(&p->units, of, o->receives, engine_has_logits(o), &err);
    if (rc != STATUS_OK) fail_msg("%s", err.message);
    step_plan_training(&p->plan, of, &p->units, &p->options, frozen);
}

static void release(planned *p) {
    step_plan_release(&p->plan);
    units_release(&p->units);
    model_release(&p->m);
}

static const engine_options plain = {.shards = 2, .local_shards = 2, .shard_samples = 16};

// ---- What holds for every plan ----

static void check_supersteps(const step_plan *p) {
    int at = 0;
    for (int i = 0; i < p->superstep_count; i++) {
        const superstep *s = &p->supersteps[i];
        assert_int_equal(s->first, at);
        assert_true(s->end > s->first);
        for (int k = s->first; k < s->end; k++)
            assert_false(operation_kind_traits[p->operations[k].kind].joins);
        if (s->joins) assert_true(operation_kind_traits[p->operations[s->end].kind].joins);
        at = s->end + s->joins;
    }
    assert_int_equal(at, p->operation_count);
}

// Counts how often each float is written.
static void count_writes(const step_plan *p, uint8_t *writes) {
    int range = 0;
    for (int i = 0; i < p->operation_count; i++) {
        const operation *op = &p->operations[i];
        assert_int_equal(op->first_range, range);
        for (; range < op->end_range; range++)
            for (size_t k = 0; k < p->ranges[range].count; k++)
                writes[p->ranges[range].first + k]++;
    }
    assert_int_equal(range, p->range_count);
}

static void expect_writes(const step_plan *p, uint8_t *expected) {
    const program *of = p->program;
    const size_t statistics = of->parameters;
    for (int i = 0; i < of->count; i++) {
        const layer *l = &of->layers[i];
        memset(expected + l->weight, 1, layer_weights(l));
        memset(expected + l->bias, 1, layer_biases(l));
        memset(expected + statistics + l->mean, 1, layer_statistics(l));
        memset(expected + statistics + l->variance, 1, layer_statistics(l));
    }
    memset(expected + of->parameters + of->buffers, 1, GRADIENT_TAIL);
}

// With nothing frozen and all layers here.
static void check_whole(const step_plan *p) {
    const size_t floats = gradient_floats(p->program);
    uint8_t *writes = calloc(floats, 1), *expected = calloc(floats, 1);
    assert_true(writes && expected);
    check_supersteps(p);
    count_writes(p, writes);
    expect_writes(p, expected);
    assert_memory_equal(writes, expected, floats);
    free(writes), free(expected);
}

// ---- Lists ----

static void check_list(const step_plan *p, int first, const char *expected) {
    text found = {0};
    for (int i = first; i < p->operation_count; i++)
        text_format(&found, "%s%s", i > first ? ", " : "",
                    operation_kind_traits[p->operations[i].kind].name);
    assert_string_equal(text_string(&found), expected);
    text_release(&found);
}

static const char normed[] = "conv: {out: 4, kernel: 3, padding: 1}, batch_norm, relu, "
                             "conv: {out: 4, kernel: 3, padding: 1}, batch_norm, relu, flatten, "
                             "linear: {out: 10}";

static void test_plain(void **state) {
    (void)state;
    planned p;
    plan_step(&p,
              "conv: {out: 4, kernel: 3}, relu, avg_pool: {size: 2}, flatten, linear: {out: 10}",
              &plain, false, 0);
    check_whole(&p.plan);
    assert_int_equal(p.plan.superstep_count, 1);
    check_list(&p.plan, 0,
               "load, anchor, epilogue, unfused, anchor, loss, weight gradient, input gradient, "
               "unfused gradient, epilogue gradient, weight gradient");
    release(&p);
}

static void test_batch_norm(void **state) {
    (void)state;
    planned p;
    plan_step(&p, normed, &plain, false, 0);
    check_whole(&p.plan);
    assert_int_equal(p.plan.superstep_count, 5);
    check_list(&p.plan, 0,
               "load, anchor, moments, norm, epilogue, anchor, moments, norm, epilogue, anchor, "
               "loss, weight gradient, input gradient, sums, statistics, norm gradient, "
               "epilogue gradient, weight gradient, input gradient, sums, statistics, "
               "norm gradient, epilogue gradient, weight gradient");
    release(&p);
}

// The y of the last batch norm is not kept; those that convolutions read with a border are.
static void test_recomputation(void **state) {
    (void)state;
    planned p;
    plan_step(&p, normed, &plain, true, 0);
    check_whole(&p.plan);
    check_list(&p.plan, p.plan.backward,
               "loss, epilogue again, weight gradient, input gradient, sums, statistics, "
               "norm gradient, epilogue gradient, weight gradient, input gradient, sums, "
               "statistics, norm gradient, epilogue gradient, weight gradient");
    release(&p);
}

// The block's input is read twice: the later reader's gradient is added to the first one's.
static void test_residual(void **state) {
    (void)state;
    static const char layers[] =
        "conv: {out: 4, kernel: 3, padding: 1, name: a}, relu, "
        "conv: {out: 4, kernel: 3, padding: 1}, add: {with: relu1}, relu, flatten, "
        "linear: {out: 10}";
    planned p;
    plan_step(&p, layers, &plain, true, 0);
    check_whole(&p.plan);
    check_list(&p.plan, p.plan.backward,
               "loss, weight gradient, input gradient, activation gradient, gradient of second, "
               "epilogue gradient, weight gradient, input gradient, add gradient, "
               "epilogue gradient, weight gradient");
    release(&p);
}

static const char dense[] =
    "conv: {out: 4, kernel: 3, padding: 1, name: x}, batch_norm, relu, conv: {out: 2, kernel: 1, "
    "name: y}, concat: {with: x}, batch_norm, relu, flatten, linear: {out: 10}";

// Both convolutions write into the concat; batch norm reads x, and the concat, where they are.
static void test_concat(void **state) {
    (void)state;
    planned p;
    text out = {0};
    plan_step(&p, dense, &plain, true, 0);
    check_whole(&p.plan);
    check_list(&p.plan, 0,
               "load, anchor, epilogue, moments, norm, epilogue, anchor, epilogue, moments, norm, "
               "epilogue, anchor, loss, epilogue again, weight gradient, input gradient, sums, "
               "statistics, norm gradient, epilogue gradient, input gradient, epilogue gradient, "
               "epilogue again, weight gradient, input gradient, sums, statistics, norm gradient, "
               "epilogue gradient, input gradient, epilogue gradient, weight gradient");
    const value_range x = units_place(&p.units, 0), y = units_place(&p.units, 2);
    assert_int_equal(x.unit, y.unit);
    assert_ptr_equal(p.units.units[x.unit].joined, &p.m.program.layers[4]);
    assert_int_equal(y.feature, 0);
    assert_int_equal(x.feature, 2 * 64);
    plan_text(&p.plan, &out);
    assert_non_null(strstr(text_string(&out), "\nin place, not copied:\n"
                                              "concat1 0-1: y, and its gradient\n"
                                              "concat1 2-5: x, and its gradient\n"));
    text_release(&out);
    release(&p);
}

static void test_concat_copied(void **state) {
    (void)state;
    planned p;
    plan_step(&p, dense, &plain, false, 0);
    check_whole(&p.plan);
    check_list(&p.plan, 0,
               "load, anchor, epilogue, anchor, moments, norm, epilogue, anchor, epilogue, copy, "
               "copy, anchor, moments, norm, epilogue, anchor, loss, weight gradient, "
               "input gradient, sums, statistics, norm gradient, epilogue gradient, "
               "input gradient, copy gradient, copy gradient, epilogue gradient, weight gradient, "
               "input gradient, sums, statistics, norm gradient, epilogue gradient, "
               "input gradient, epilogue gradient, weight gradient");
    release(&p);
}

static void check_slices(const char *layers, const char *backward) {
    planned p;
    plan_step(&p, layers, &plain, true, 0);
    check_whole(&p.plan);
    check_list(&p.plan, p.plan.backward, backward);
    assert_int_equal(units_place(&p.units, 1).unit, 0);
    release(&p);
}

// A slice stays where it is; so does the gradient of one, if every channel is in exactly one slice.
static void test_slices(void **state) {
    (void)state;
    check_slices("conv: {out: 4, kernel: 1, name: x}, slice: {channels: [0, 2]}, conv: {out: 2, "
                 "kernel: 1}, slice: {from: x, channels: [2, 4]}, add: {with: conv2}, flatten, "
                 "linear: {out: 10}",
                 "loss, weight gradient, input gradient, epilogue gradient, input gradient, "
                 "epilogue gradient, weight gradient, input gradient, epilogue gradient, "
                 "weight gradient");
    check_slices("conv: {out: 4, kernel: 1, name: x}, slice: {channels: [0, 2]}, conv: {out: 3, "
                 "kernel: 1}, slice: {from: x, channels: [1, 4]}, add: {with: conv2}, flatten, "
                 "linear: {out: 10}",
                 "loss, weight gradient, input gradient, epilogue gradient, input gradient, "
                 "copy gradient, epilogue gradient, weight gradient, input gradient, "
                 "copy gradient, epilogue gradient, weight gradient");
}

static void test_inference(void **state) {
    (void)state;
    planned p;
    step_plan inference;
    plan_step(&p, normed, &plain, true, 0);
    step_plan_inference(&inference, &p.m.program, &p.units);
    check_supersteps(&inference);
    assert_int_equal(inference.superstep_count, 1);
    check_list(&inference, 0, "load, anchor, epilogue, anchor, epilogue, anchor");
    step_plan_release(&inference);
    release(&p);
}

// ---- Parts ----

static void test_stage(void **state) {
    (void)state;
    static const engine_options middle = {.shards = 2,
                                          .local_shards = 2,
                                          .shard_samples = 16,
                                          .stage = true,
                                          .receives = true,
                                          .sends = true};
    planned p;
    plan_step(&p, "conv: {out: 4, kernel: 3}, relu, flatten, linear: {out: 10}", &middle, true, 0);
    check_supersteps(&p.plan);
    assert_int_equal(p.plan.backward_superstep, 1);
    assert_int_equal(p.plan.supersteps[1].first, p.plan.backward);
    check_list(&p.plan, 0,
               "receive, anchor, epilogue, anchor, epilogue, send, receive gradient, "
               "epilogue gradient, weight gradient, input gradient, epilogue gradient, "
               "weight gradient, input gradient, send gradient");
    release(&p);
}

// The logits leave as they are: they have no epilogue.
static void test_replica(void **state) {
    (void)state;
    engine_options replica = plain;
    replica.sends = true;
    planned p;
    plan_step(&p, normed, &replica, true, 0);
    check_whole(&p.plan);
    assert_int_equal(p.plan.supersteps[p.plan.backward_superstep].first, p.plan.backward);
    assert_int_equal(p.plan.operations[p.plan.backward - 2].kind, OP_ANCHOR);
    assert_int_equal(p.plan.operations[p.plan.backward - 1].kind, OP_SEND);
    assert_int_equal(p.plan.operations[p.plan.backward].kind, OP_RECEIVE_GRADIENT);
    release(&p);
}

// ---- Frozen groups ----

// Puts the tensors of the layers [0, layers) into group 1.
static uint8_t *lower_layers(const program *p, int layers) {
    uint8_t *groups = calloc(p->parameters / ARENA_ALIGNMENT + 1, 1);
    assert_non_null(groups);
    for (int i = 0; i < layers; i++) {
        const layer *l = &p->layers[i];
        for (size_t k = 0; k < layer_weights(l); k++) groups[(l->weight + k) / ARENA_ALIGNMENT] = 1;
        for (size_t k = 0; k < layer_biases(l); k++) groups[(l->bias + k) / ARENA_ALIGNMENT] = 1;
    }
    return groups;
}

static void check_frozen(int layers, uint32_t frozen, const char *backward) {
    planned p;
    model m;
    load(&m, normed);
    uint8_t *groups = lower_layers(&m.program, layers);
    engine_options o = plain;
    o.parameter_groups = groups;
    plan_step(&p, normed, &o, true, frozen);
    check_supersteps(&p.plan);
    check_list(&p.plan, p.plan.backward, backward);
    release(&p);
    model_release(&m);
    free(groups);
}

// Statistics remain, and the barrier of a norm below which something is trained.
static void test_frozen(void **state) {
    (void)state;
    static const char first_convolution_frozen[] =
        "loss, epilogue again, weight gradient, input gradient, sums, statistics, norm gradient, "
        "epilogue gradient, weight gradient, input gradient, sums, statistics, norm gradient, "
        "epilogue gradient";
    check_frozen(1, 1u << 1, first_convolution_frozen);
    check_frozen(2, 1u << 1,
                 "loss, epilogue again, weight gradient, input gradient, sums, statistics, "
                 "norm gradient, epilogue gradient, weight gradient, statistics");
    check_frozen(6, 1u << 1, "loss, epilogue again, weight gradient, statistics, statistics");
    check_frozen(6, 1u,
                 "loss, input gradient, sums, statistics, norm gradient, epilogue gradient, "
                 "weight gradient, input gradient, sums, statistics, norm gradient, "
                 "epilogue gradient, weight gradient");
}

// ---- What an engine does along with other operations ----

static void test_fused(void **state) {
    (void)state;
    planned p;
    plan_step(&p, normed, &plain, false, 0);
    for (int i = 0; i < p.units.count; i++)
        p.units.units[i].options = (unit_options){.moments_with_anchor = true,
                                                  .norm_with_moments = true,
                                                  .statistics_forward = true,
                                                  .sums_with_reader = i == 0};
    step_plan_release(&p.plan);
    step_plan_training(&p.plan, &p.m.program, &p.units, &plain, 0);
    check_whole(&p.plan);
    check_list(&p.plan, 0,
               "load, anchor, epilogue, anchor, epilogue, anchor, loss, weight gradient, "
               "input gradient, sums, epilogue gradient, weight gradient, input gradient, "
               "epilogue gradient, weight gradient");
    release(&p);
}

// ---- Lifetimes ----

static void check_lifetime(const lifetimes *l, int unit, value_kind kind, const char *first,
                           const char *last) {
    const lifetime t = lifetime_of(l, unit, kind);
    assert_true(t.first < t.end);
    const operation *o = l->plan->operations;
    assert_string_equal(operation_kind_traits[o[t.first].kind].name, first);
    assert_string_equal(operation_kind_traits[o[t.end - 1].kind].name, last);
}

// Activations stay for the weight gradients; the gradient of an activation is gone earlier.
static void test_lifetimes(void **state) {
    (void)state;
    planned p;
    lifetimes l;
    plan_step(&p, normed, &plain, false, 0);
    lifetimes_init(&l, &p.plan, false);
    check_lifetime(&l, UNIT_INPUT, VALUE_Y, "load", "weight gradient");
    check_lifetime(&l, 0, VALUE_Z, "anchor", "weight gradient");
    check_lifetime(&l, 1, VALUE_DY, "input gradient", "epilogue gradient");
    check_lifetime(&l, 2, VALUE_Z, "anchor", "input gradient");
    assert_int_equal(lifetime_of(&l, 2, VALUE_Y).end, 0); // the logits have no epilogue
    assert_int_equal(lifetime_of(&l, UNIT_INPUT, VALUE_DY).end, 0);
    const int end = lifetime_of(&l, 1, VALUE_DY).end;
    assert_true(end < lifetime_of(&l, 0, VALUE_DY).end && end < lifetime_of(&l, 1, VALUE_Z).end);
    lifetimes_release(&l);
    lifetimes_init(&l, &p.plan, true);
    assert_int_equal(lifetime_of(&l, 2, VALUE_Z).end, p.plan.operation_count);
    lifetimes_release(&l);
    release(&p);
}

// What works in place is the value that it works on.
static void test_lifetimes_in_place(void **state) {
    (void)state;
    static const char layers[] = "conv: {out: 4, kernel: 3}, relu, avg_pool: {size: 2}, relu, "
                                 "flatten, linear: {out: 10}";
    planned p;
    lifetimes l;
    plan_step(&p, layers, &plain, true, 0);
    lifetimes_init(&l, &p.plan, false);
    assert_true(p.units.units[2].options.in_place);
    assert_int_equal(lifetime_of(&l, 2, VALUE_Z).end, 0);
    assert_int_equal(lifetime_of(&l, 1, VALUE_DY).end, 0);
    check_lifetime(&l, 1, VALUE_Y, "unfused", "unfused gradient");
    lifetimes_release(&l);
    release(&p);
}

static void test_arena(void **state) {
    (void)state;
    arena a = {.pieces = NULL};
    assert_int_equal(arena_take(&a, 10, (lifetime){0, 4}), 0);
    assert_int_equal(arena_take(&a, 5, (lifetime){3, 6}), 10);
    assert_int_equal(arena_take(&a, 10, (lifetime){4, 6}), 0);
    assert_int_equal(arena_take(&a, 6, (lifetime){6, 7}), 0);
    assert_int_equal(arena_take(&a, 4, (lifetime){5, 7}), 15);
    assert_int_equal(a.end, 19);
    arena_release(&a);
}

// ---- Text ----

static void test_text(void **state) {
    (void)state;
    static const char *const lines[] = {
        "24 operations in 5 supersteps\n",
        "superstep  phase     operation          layers    shapes         cut  writes\n",
        "        0  load      load                         3x8x8\n",
        "      0|1  forward   norm               bn1\n",
        "        1  forward   epilogue           bn1 relu  4x8x8 > 4x8x8\n",
        "        2  forward   loss               fc1       10                  2992+16\n"};
    planned p;
    text out = {0};
    plan_step(&p, normed, &plain, false, 0);
    plan_text(&p.plan, &out);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(text_string(&out), lines[i]))
            fail_msg("no '%s' in\n%s", lines[i], text_string(&out));
    text_release(&out);
    release(&p);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),     cmocka_unit_test(test_batch_norm),
        cmocka_unit_test(test_residual),  cmocka_unit_test(test_recomputation),
        cmocka_unit_test(test_concat),    cmocka_unit_test(test_concat_copied),
        cmocka_unit_test(test_slices),    cmocka_unit_test(test_inference),
        cmocka_unit_test(test_stage),     cmocka_unit_test(test_replica),
        cmocka_unit_test(test_frozen),    cmocka_unit_test(test_fused),
        cmocka_unit_test(test_lifetimes), cmocka_unit_test(test_lifetimes_in_place),
        cmocka_unit_test(test_arena),     cmocka_unit_test(test_text)};
    return cmocka_run_group_tests_name("plans of steps", tests, NULL, NULL);
}
