// SPDX-License-Identifier: MIT
// engine_frozen.h - steps whose batches say which parameters are frozen, against steps that leave
// this to the update: parameters, buffers and optimizer state must be equal in every bit. Included
// by engine_suite.h.
#ifndef LOCKSTEP_TESTS_ENGINE_FROZEN_H
#define LOCKSTEP_TESTS_ENGINE_FROZEN_H

#include "engine_problem.h"

enum { FREEZABLE = 1 }; // the group of the tensors that are frozen in the steps between

// Several choices of these tensors: all but those of the last layer; some in all layers; all but
// the middle third; all.
enum { FREEZABLE_CHOICES = 4 };

static bool is_freezable(int choice, int tensor, int tensors) {
    switch (choice) {
    case 0: return tensor < tensors - 2;
    case 1: return tensor % 3 != 1;
    case 2: return 3 * tensor / tensors != 1;
    default: return true;
    }
}

static uint8_t *freezable_groups(const problem *p, int choice) {
    uint8_t *groups = calloc(p->m.program.parameters / ARENA_ALIGNMENT + 1, sizeof *groups);
    assert_non_null(groups);
    for (int i = 0; i < p->m.tensor_count; i++) {
        const model_tensor *t = &p->m.tensors[i];
        for (size_t k = 0; k < t->count && !t->is_buffer; k++)
            if (is_freezable(choice, i, p->m.tensor_count))
                groups[(t->offset + k) / ARENA_ALIGNMENT] = FREEZABLE;
    }
    return groups;
}

// Takes four steps, of which the middle two freeze. Writes parameters, buffers and state after
// each.
enum { FREEZING_STEPS = 4 };

static size_t frozen_floats(const problem *p) {
    return 2 * p->m.program.parameters + p->m.program.buffers;
}

static void take_freezing_steps(const problem *p, const engine_options *o, const backend *be,
                                bool tell, float *after) {
    const program *prog = &p->m.program;
    engine *e = NULL;
    error err = {0};
    assert_int_equal(be->open(prog, o, OPTIMIZER_SGD, &e, &err), STATUS_OK);
    be->write(e, p->parameters, p->buffers, p->state);
    for (int i = 0; i < FREEZING_STEPS; i++, after += frozen_floats(p)) {
        const bool frozen = i == 1 || i == 2;
        const parameter_group groups[PARAMETER_GROUPS - 1] = {
            [FREEZABLE - 1] = {.lr = 0.05f, .frozen = frozen}};
        const update_rule rule = {.lr = 0.1f, .hyper = {[HYPER_MOMENTUM] = 0.9f}, .groups = groups};
        batch b = whole_batch(p);
        b.frozen = tell && frozen ? (uint32_t)1 << FREEZABLE : 0;
        update_result result;
        if (be->run(e, &b, NULL, &err) != STATUS_OK ||
            be->update(e, &rule, &result, &err) != STATUS_OK)
            fail_msg("%s", err.message);
        assert_int_equal(be->read(e, after, after + prog->parameters,
                                  after + prog->parameters + prog->buffers, &err),
                         STATUS_OK);
    }
    be->close(e);
}

// Takes every `stride`-th choice from `first` on.
static void check_frozen_left_out(const model_case *m, const split *s, const backend *be,
                                  bool exact, int first, int stride) {
    problem p;
    problem_init(&p, m, s);
    const size_t n = FREEZING_STEPS * frozen_floats(&p);
    float *untold = calloc(n, sizeof *untold), *told = calloc(n, sizeof *told);
    assert_true(untold && told);
    for (int choice = first; choice < FREEZABLE_CHOICES; choice += stride) {
        uint8_t *groups = freezable_groups(&p, choice);
        engine_options o = {.threads = 3,
                            .shards = s->shards,
                            .local_shards = s->shards,
                            .shard_samples = s->count[0],
                            .seed = PROBLEM_SEED,
                            .sync_batch_norm = s->sync,
                            .parameter_groups = groups,
                            .exact = exact};
        memcpy(o.mean, p.mean, sizeof o.mean);
        memcpy(o.std, p.std, sizeof o.std);
        take_freezing_steps(&p, &o, be, false, untold);
        take_freezing_steps(&p, &o, be, true, told);
        for (size_t i = 0; i < n; i++)
            if (memcmp(&told[i], &untold[i], sizeof *told))
                fail_msg("%s, choice %d: value %zu after step %zu is %.9g, not %.9g", m->name,
                         choice, i % frozen_floats(&p), i / frozen_floats(&p), (double)told[i],
                         (double)untold[i]);
        free(groups);
    }
    free(untold), free(told);
    problem_release(&p);
}

static const split freezing_splits[] = {{.shards = 4, .count = {17, 16, 16, 16}},
                                        {.shards = 4, .count = {17, 16, 16, 16}, .sync = true},
                                        {.shards = 2, .count = {3, 2}}}; // the smallest is last

#endif
