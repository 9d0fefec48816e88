// SPDX-License-Identifier: MIT
// CUDA engines that reduce among themselves, over NCCL (in the emulation, its stand-in) and over
// CUDA IPC: they give the bits of one engine with all shards; how ranks agree, and how they fail.
// Ranks are processes, as CUDA IPC requires; tests/bats/nccl.bats tests the tools.
//
// NCCL needs a device per rank: the emulation has four; on a real machine the tests use those it
// has.
#include "../few.h"
#include "engine_problem.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cuda_devices.h"
#include "dist/comm_shm.h"

enum { MAX_RANKS = 4, REQUESTS = 3, MAX_STEPS = 22 };

static const backend *cuda;
static int device_count;

static const update_rule rule = {
    .kind = OPTIMIZER_SGD, .lr = 0.5f, .hyper = {[HYPER_MOMENTUM] = 0.9f}, .weight_decay = 0.01f};

// ---- How ranks are placed on devices, and how they reduce ----

typedef struct layout {
    const char *transport;
    int ranks_a_device; // 0: all of them
    size_t bucket;      // as in engine_comm
} layout;

enum { SMALL_BUCKET = 16, LARGE_BUCKET = 1 << 18 };
static const layout layouts[] = {{"nccl", 1, SMALL_BUCKET},
                                 {"nccl", 1, LARGE_BUCKET},
                                 {"cuda ipc", 0, SMALL_BUCKET},
                                 {"cuda ipc", 2, SMALL_BUCKET}};
static const layout *const shared = &layouts[2];
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static int device_of(const layout *l, int number) {
    return l->ranks_a_device ? number / l->ranks_a_device : 0;
}

static bool is_possible(const layout *l, int size) {
    return device_of(l, size - 1) < device_count;
}

// ---- Ranks ----

// A rank's results, in memory that it shares with the test.
typedef struct outcome_of_rank {
    status rc;
    error err, why;
    char transport[32]; // "": none
    int buckets;
    uint64_t ended;
    update_result result;
    comm_traffic traffic;
    float requests[REQUESTS];
    uint64_t spent;    // ns in the engine's calls
    phase_times times; // the parts of that time
    float updated[];   // parameters, buffers, state
} outcome_of_rank;

typedef struct training {
    const problem *p;
    const layout *l;
    int steps;
    const split *step[MAX_STEPS]; // the first of the problem's samples, as many as each split has
    int size;
    bool fast;
    bool sync;                 // sync_batch_norm
    const uint8_t *groups;     // of parameters: group 1 is frozen in some steps, and several ranks
                               // are told; NULL: none
    const problem *other;      // trained by rank 1 instead; NULL: the same
    const char *ipc;           // LOCKSTEP_EMULATED_IPC of rank 1; NULL: as it is
    const char *graphs;        // LOCKSTEP_EMULATED_GRAPHS of rank 0; NULL: none
    int missing, missing_from; // a rank that dies before this reduction; -1: before joining
    int missing_behind;        // ... or after so many of its group's gathers; 0: never
    int late;                  // a rank that leaves the group later than the others; -1: none
    bool stops;                // rank 1, alive, stops before its fifth step until rank 0 has ended
    shared_memory *rendezvous;
    outcome_of_rank *outcomes[MAX_RANKS];
    size_t outcome_bytes;
    uint64_t *died; // at this time
} training;

// A rank, in its own process.
typedef struct member {
    const training *t;
    outcome_of_rank *out;
    int rank;
    comm *comm;
    engine *e;
    int gathers; // so far
} member;

_Noreturn static void die(const member *m) {
    *m->t->died = clock_now();
    raise(SIGKILL);
    _exit(1);
}

static status gather(void *context, const void *mine, size_t bytes, void *all, error *err) {
    member *m = context;
    status rc = m->comm->ops->all_gather(m->comm, mine, bytes, all, err);
    if (m->t->missing == m->rank && ++m->gathers == m->t->missing_behind) die(m);
    return rc;
}

static status alive(void *context, error *err) {
    member *m = context;
    return m->comm->ops->alive(m->comm, err);
}

static status exchange(void *context, const void *mine, size_t bytes_per_shard, void *all,
                       error *err) {
    const member *m = context;
    const size_t bytes = bytes_per_shard * (size_t)(m->t->step[0]->shards / m->t->size);
    return m->comm->ops->all_gather(m->comm, mine, bytes, all, err);
}

static const problem *problem_of(const training *t, int number) {
    return number == 1 && t->other ? t->other : t->p;
}

static status open_engine(member *m) {
    const training *t = m->t;
    const problem *p = problem_of(t, m->rank);
    engine_options o = {.threads = 1,
                        .device = device_of(t->l, m->rank),
                        .shards = t->step[0]->shards,
                        .local_shards = t->step[0]->shards / t->size,
                        .shard_samples = p->s->count[0],
                        .seed = 11,
                        .sync_batch_norm = t->sync,
                        .parameter_groups = t->groups,
                        .exchange = t->sync && t->size > 1 ? exchange : NULL,
                        .exchange_context = m,
                        .deferred = true};
    memcpy(o.mean, p->mean, sizeof o.mean);
    memcpy(o.std, p->std, sizeof o.std);
    status rc = cuda->open(&p->m.program, &o, rule.kind, &m->e, &m->out->err);
    if (rc == STATUS_OK) cuda->write(m->e, p->parameters, p->buffers, p->state);
    return rc;
}

static status join(member *m) {
    const engine_comm ranks = {.rank = m->rank,
                               .size = m->t->size,
                               .bucket = m->t->l->bucket,
                               .all_gather = gather,
                               .alive = alive,
                               .context = m};
    comm_way way;
    status rc = cuda->comm_join(m->e, &ranks, &way, &m->out->why, &m->out->err);
    if (rc == STATUS_OK && way.transport)
        snprintf(m->out->transport, sizeof m->out->transport, "%s", way.transport);
    m->out->buckets = way.buckets;
    return rc;
}

static bool is_frozen(const training *t, int step) {
    return t->groups && step / 3 % 2 == 1;
}

static status step(member *m, int number) {
    const split *s = m->t->step[number];
    const problem *p = problem_of(m->t, m->rank);
    const int local = s->shards / m->t->size, first = m->rank * local;
    size_t sample = 0;
    for (int v = 0; v < first; v++) sample += (size_t)s->count[v];
    const batch b = {.shards = s->shards,
                     .count = s->count,
                     .first_shard = first,
                     .end_shard = first + local,
                     .pixels = p->pixels + sample,
                     .targets = p->targets + sample,
                     .ids = p->ids + sample,
                     .frozen = is_frozen(m->t, number) && m->t->size > 1 ? 1u << 1 : 0};
    return cuda->run(m->e, &b, NULL, &m->out->err);
}

static status update(const member *m, int number, update_result *result) {
    const parameter_group groups[PARAMETER_GROUPS - 1] = {
        {.lr = 0.1f, .frozen = is_frozen(m->t, number)}};
    update_rule own = rule;
    own.groups = groups;
    return cuda->update(m->e, &own, result, &m->out->err);
}

static status reduce_members(member *m, const split *s) {
    const training *t = m->t;
    outcome_of_rank *out = m->out;
    int first_leaf[MAX_RANKS + 1];
    const int *leaves = cuda->tree(m->e).shard_leaves;
    for (int r = 0; r <= t->size; r++) first_leaf[r] = leaves[r * (s->shards / t->size)];
    for (int i = 0; i < REQUESTS; i++) out->requests[i] = m->rank == i;
    return cuda->comm_reduce(m->e, first_leaf, !t->fast, out->requests, REQUESTS, &out->traffic,
                             &out->err);
}

_Noreturn static void die_later(const member *m) {
    usleep(300000); // the others wait by now
    die(m);
}

// However long that takes; a minute is for a rank 0 that never ends.
static void await_the_end_of_rank_0(const member *m) {
    const uint64_t *ended = &m->t->outcomes[0]->ended;
    for (int i = 0; i < 6000 && !__atomic_load_n(ended, __ATOMIC_SEQ_CST); i++) usleep(10000);
}

static bool dies_before(const member *m, int reduction) {
    return m->t->missing == m->rank && m->t->missing_from == reduction;
}

static status train(member *m) {
    const training *t = m->t;
    update_result results[MAX_STEPS];
    status rc = STATUS_OK;
    (void)cuda->times(m->e);
    const uint64_t begin = clock_now();
    for (int i = 0; i < t->steps && rc == STATUS_OK; i++) {
        if (t->stops && m->rank == 1 && i == 4) await_the_end_of_rank_0(m);
        rc = step(m, i);
        if (dies_before(m, i)) die_later(m);
        if (rc == STATUS_OK && t->size > 1) rc = reduce_members(m, t->step[i]);
        if (rc == STATUS_OK) rc = update(m, i, &results[i]);
        if (rc == STATUS_OK && t->size > 1 && i + 1 == t->steps)
            rc = cuda->comm_result(m->e, m->out->requests, REQUESTS, &m->out->err);
    }
    if (rc == STATUS_OK) rc = cuda->collect(m->e, results, t->steps, &m->out->err);
    m->out->spent = clock_now() - begin;
    m->out->times = cuda->times(m->e);
    if (rc == STATUS_OK) m->out->result = results[t->steps - 1];
    return rc;
}

static status run_member(member *m) {
    const program *prog = &problem_of(m->t, m->rank)->m.program;
    float *updated = m->out->updated;
    status rc = open_engine(m);
    if (dies_before(m, -1)) die_later(m);
    if (rc == STATUS_OK && m->t->size > 1) rc = join(m);
    if (rc == STATUS_OK) rc = train(m);
    if (rc == STATUS_OK)
        rc = cuda->read(m->e, updated, updated + prog->parameters,
                        updated + prog->parameters + prog->buffers, &m->out->err);
    return rc;
}

// The others receive a failure before this rank leaves, as in lib/dist/launch_local.c.
_Noreturn static void be_member(const training *t, int number) {
    member m = {.t = t, .out = t->outcomes[number], .rank = number};
    status rc = STATUS_OK;
    if (t->ipc && number == 1) setenv("LOCKSTEP_EMULATED_IPC", t->ipc, 1);
    if (t->graphs && number == 0) setenv("LOCKSTEP_EMULATED_GRAPHS", t->graphs, 1);
    if (t->size > 1) rc = comm_shm(t->rendezvous, number, false, &m.comm, &m.out->err);
    if (rc == STATUS_OK) rc = run_member(&m);
    if (t->late == number) usleep(200000);
    if (rc == STATUS_OK && t->size > 1) rc = cuda->comm_leave(m.e, &m.out->err);
    if (rc == STATUS_OK) {
        cuda->close(m.e);
        m.e = NULL;
    }
    // As in training: no rank ends while others may still check which are there.
    if (rc == STATUS_OK && t->size > 1) rc = m.comm->ops->barrier(m.comm, &m.out->err);
    m.out->rc = rc;
    m.out->ended = clock_now();
    if (rc != STATUS_OK && t->size > 1) shared_fail(t->rendezvous, number, SHARED_ERROR);
    cuda->close(m.e);
    comm_free(m.comm);
    _exit(0);
}

static void *share(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    return at;
}

static void prepare(training *t) {
    error err;
    const program *prog = &t->p->m.program;
    const size_t floats = 2 * prog->parameters + prog->buffers;
    t->outcome_bytes = sizeof *t->outcomes[0] + floats * sizeof(float);
    for (int r = 0; r < t->size; r++) {
        t->outcomes[r] = share(t->outcome_bytes);
        t->outcomes[r]->rc = STATUS_FAILED; // until the rank reports otherwise
    }
    t->died = share(sizeof *t->died);
    if (t->size > 1 && shared_create(t->size, 16, 1024, &t->rendezvous, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

static void run_members(training *t) {
    pid_t processes[MAX_RANKS];
    int ended;
    prepare(t);
    for (int r = 0; r < t->size; r++) {
        processes[r] = fork();
        assert_true(processes[r] >= 0);
        if (processes[r] == 0) be_member(t, r);
    }
    for (int r = 0; r < t->size; r++) {
        assert_int_equal(waitpid(processes[r], &ended, 0), processes[r]);
        assert_true(r == t->missing ? WIFSIGNALED(ended)
                                    : WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    }
    shared_free(t->rendezvous);
}

static void release_members(const training *t) {
    for (int r = 0; r < t->size; r++) munmap(t->outcomes[r], t->outcome_bytes);
    munmap(t->died, sizeof *t->died);
}

static void all_are_well(const training *t) {
    for (int r = 0; r < t->size; r++) {
        if (t->outcomes[r]->rc != STATUS_OK)
            fail_msg("%s: rank %d: %s", t->l->transport, r, t->outcomes[r]->err.message);
        if (t->size > 1) assert_string_equal(t->outcomes[r]->transport, t->l->transport);
    }
}

// ---- Problems ----

// A small model with batch norm; one with gradient buffers longer than a stand-in moves at once;
// and one whose gradient buffers are only a few floats.
static const model_case cases[] = {
    {.name = "conv-bn",
     .input = "[2, 7, 6]",
     .layers = "[conv: {out: 5, kernel: 3}, batch_norm, relu, max_pool: {size: 2}, flatten, "
               "linear: {out: 7}, batch_norm, relu, linear: {out: 10}]"},
    {.name = "long",
     .input = "[1, 8, 8]",
     .layers = "[flatten, linear: {out: 600}, relu, "
               "linear: {out: 10}]"},
    {.name = "short", .input = "[1, 1, 3]", .layers = "[flatten, linear: {out: 2}]"},
};

static const split four = {.shards = 4, .count = {5, 5, 4, 4}},
                   four_tail = {.shards = 4, .count = {2, 1, 1, 1}},
                   four_last = {.shards = 4, .count = {1, 1, 0, 0}},
                   twelve = {.shards = 12, .count = {3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2}},
                   twelve_last = {.shards = 12, .count = {1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0}};

static training of(const problem *p, const layout *l, int size) {
    training t = {
        .p = p, .l = l, .size = size, .missing = -1, .late = -1, .step = {p->s}, .steps = 1};
    return t;
}

static void need_emulation(void) {
    if (!getenv("LOCKSTEP_CUDA_LIBRARY") || !strstr(getenv("LOCKSTEP_CUDA_LIBRARY"), "emulated"))
        skip();
}

// ---- Bits ----

// Rank i asked for i; all hold leaves.
static void expect_requests(const training *t) {
    for (int r = 0; r < t->size; r++)
        for (int i = 0; i < REQUESTS; i++)
            assert_true(t->outcomes[r]->requests[i] == (float)(i < t->size));
}

static void expect_same(const training *t, const outcome_of_rank *expected) {
    const program *prog = &t->p->m.program;
    const execution x = {.be = cuda, .engines = t->size};
    for (int r = 0; r < t->size; r++) {
        const outcome_of_rank *o = t->outcomes[r];
        same_bits("after the update", o->updated, expected->updated,
                  2 * prog->parameters + prog->buffers, &x);
        assert_true(o->result.digest == expected->result.digest);
        assert_true(memcmp(&o->result.loss, &expected->result.loss, sizeof(float)) == 0);
    }
}

// Full steps, then shorter ones, in which some ranks have fewer terms or none, then full ones
// again.
static training of_steps(const problem *p, const layout *l, const split *last, int size) {
    training t = of(p, l, size);
    t.steps = 4;
    t.step[1] = t.step[3] = p->s;
    t.step[2] = last;
    return t;
}

// Trains `one` in one engine, then with ranks of these sizes in every layout.
static void same_bits_as_one(training one, const int *sizes) {
    const training steps = one;
    run_members(&one);
    all_are_well(&one);
    for (; *sizes; sizes++)
        for (int l = 0; l < LAYOUTS; l++) {
            training many = steps;
            many.l = &layouts[l];
            many.size = *sizes;
            if (!is_possible(many.l, many.size)) continue;
            run_members(&many);
            all_are_well(&many);
            expect_same(&many, one.outcomes[0]);
            expect_requests(&many);
            release_members(&many);
        }
    release_members(&one);
}

static void exact_has_the_bits_of_one_engine(void **state) {
    static const struct {
        const split *full, *last;
        int sizes[MAX_RANKS];
    } ways[] = {{&four, &four_tail, {2, 4}},
                {&four, &four_last, {2, 4}},
                {&twelve, &twelve_last, {2, 3, 4}}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            problem p;
            if (few_cases() && (c + i) % 3) continue; // each case and each way remains
            problem_init(&p, &cases[c], ways[i].full);
            same_bits_as_one(of_steps(&p, shared, ways[i].last, 1), ways[i].sizes);
            problem_release(&p);
        }
}

// Enough steps that each of the engine's input blocks is used again with its own graph, and shorter
// ones in between.
static training of_many_steps(const problem *p, const layout *l, int size) {
    training t = of(p, l, size);
    t.steps = MAX_STEPS;
    for (int i = 0; i < t.steps; i++) t.step[i] = i % 10 == 9 ? &twelve_last : &twelve;
    return t;
}

static void graphs_with_reductions_are_replayed(void **state) {
    static const int sizes[] = {2, 4, 0};
    (void)state;
    problem p;
    problem_init(&p, &cases[0], &twelve);
    same_bits_as_one(of_many_steps(&p, shared, 1), fewest_cases() ? &sizes[1] : sizes);
    problem_release(&p);
}

// Of all layers but the last: buckets without a gradient, reduced with the others in order.
static void frozen_layers_are_left_out(void **state) {
    static const int sizes[] = {2, 4, 0};
    (void)state;
    problem p;
    problem_init(&p, &cases[0], &twelve);
    const layer *last = &p.m.program.layers[p.m.program.count - 1];
    uint8_t *groups = calloc(p.m.program.parameters / ARENA_ALIGNMENT + 1, 1);
    assert_non_null(groups);
    memset(groups, 1, last->weight / ARENA_ALIGNMENT);
    training t = of(&p, shared, 1);
    t.groups = groups;
    t.steps = 9;
    for (int i = 0; i < t.steps; i++) t.step[i] = i == 4 ? &twelve_last : &twelve;
    same_bits_as_one(t, fewest_cases() ? &sizes[1] : sizes);
    free(groups);
    problem_release(&p);
}

// Full steps, and for each L in `steps` a short one, as at the end of an epoch.
static training of_pattern(const problem *p, const layout *l, int size, const char *steps) {
    training t = of(p, l, size);
    t.steps = (int)strlen(steps);
    for (int i = 0; i < t.steps; i++) t.step[i] = steps[i] == 'L' ? &twelve_last : &twelve;
    return t;
}

// Returns the number of graphs that rank 0 launched; in each, some nodes have priority over the
// others.
static int count_graphs(FILE *list) {
    size_t nodes, urgent, chain;
    int lines = 0;
    for (rewind(list); fscanf(list, "%zu %zu %zu", &nodes, &urgent, &chain) == 3; lines++)
        assert_true(0 < urgent && urgent < nodes && chain < nodes);
    return lines;
}

static void expect_graphs(const problem *p, const char *steps, int graphs) {
    FILE *list = tmpfile(); // inherited by ranks
    char path[64];
    assert_non_null(list);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(list));
    training one = of_pattern(p, shared, 1, steps), two = of_pattern(p, &layouts[0], 2, steps);
    two.graphs = path;
    run_members(&one);
    run_members(&two);
    all_are_well(&one);
    all_are_well(&two);
    expect_same(&two, one.outcomes[0]);
    assert_int_equal(count_graphs(list), graphs);
    release_members(&one);
    release_members(&two);
    fclose(list);
}

// All full steps but the first are graphs, whether the end of an epoch comes first, second, or in
// every other step.
static void full_steps_are_graphs(void **state) {
    (void)state;
    need_emulation();
    problem p;
    problem_init(&p, &cases[0], &twelve);
    // A sanitizer gets the pattern that takes every way.
    if (!fewest_cases()) {
        expect_graphs(&p, "L........", 7);
        expect_graphs(&p, "LL.......", 6);
        expect_graphs(&p, ".L......L", 6);
    }
    expect_graphs(&p, ".L.L.L.L.", 4);
    problem_release(&p);
}

// A bucket for each layer with parameters, or one if they are small; none with a transport that
// cannot be part of a step.
static void bucket_sizes_follow_the_layout(void **state) {
    static const int expected[LAYOUTS] = {3, 1, 0, 0};
    (void)state;
    problem p;
    problem_init(&p, &cases[0], &four);
    for (int l = 0; l < LAYOUTS; l++) {
        training t = of(&p, &layouts[l], 2);
        if (!is_possible(&layouts[l], 2)) continue;
        run_members(&t);
        all_are_well(&t);
        for (int r = 0; r < 2; r++) assert_int_equal(t.outcomes[r]->buckets, expected[l]);
        release_members(&t);
    }
    problem_release(&p);
}

static void restore_order(const char *order) {
    if (order)
        setenv("LOCKSTEP_EMULATED_ORDER", order, 1);
    else
        unsetenv("LOCKSTEP_EMULATED_ORDER");
}

// With sync_batch_norm a step waits for the stream halfway. It must wait for the results of the
// reduction all the same, which shows if streams are late.
static void reductions_beside_batch_norms_that_meet(void **state) {
    const char *before = getenv("LOCKSTEP_EMULATED_ORDER");
    (void)state;
    problem p;
    problem_init(&p, &cases[0], &twelve);
    setenv("LOCKSTEP_EMULATED_ORDER", "backward", 1);
    training one = of_steps(&p, shared, &twelve_last, 1);
    one.sync = true;
    run_members(&one);
    all_are_well(&one);
    for (int size = 2; size <= MAX_RANKS; size *= 2)
        for (int l = 0; l < LAYOUTS; l++) {
            training many = of_steps(&p, &layouts[l], &twelve_last, size);
            if (!is_possible(&layouts[l], size)) continue;
            many.sync = true;
            run_members(&many);
            all_are_well(&many);
            expect_same(&many, one.outcomes[0]);
            expect_requests(&many);
            release_members(&many);
        }
    release_members(&one);
    restore_order(before);
    problem_release(&p);
}

static void in_every_order_of_the_emulation(void **state) {
    static const char *const orders[] = {"backward", "shuffle"};
    static const int sizes[] = {4, 0};
    const char *const set = getenv("LOCKSTEP_EMULATED_ORDER");
    char *const before = set ? strdup(set) : NULL;
    (void)state;
    problem p;
    problem_init(&p, &cases[0], &twelve);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (before && strcmp(before, orders[i]) == 0) continue; // the other tests' order
        setenv("LOCKSTEP_EMULATED_ORDER", orders[i], 1);
        same_bits_as_one(of_steps(&p, shared, &twelve_last, 1), sizes);
    }
    restore_order(before);
    free(before);
    problem_release(&p);
}

static void near(const problem *p, const outcome_of_rank *a, const outcome_of_rank *b) {
    const size_t n = p->m.program.parameters;
    double *got = ops_zeros(n), *expected = ops_zeros(n);
    widen(a->updated, got, n);
    widen(b->updated, expected, n);
    ops_near("parameters", got, expected, n, 1e-5);
    free(got), free(expected);
}

static void fast_is_the_same_on_all_ranks_and_nearly_exact(void **state) {
    (void)state;
    problem p;
    problem_init(&p, &cases[0], &twelve);
    training one = of_steps(&p, shared, &twelve_last, 1);
    run_members(&one);
    for (int l = 0; l < LAYOUTS; l++)
        for (int size = 2; size <= MAX_RANKS; size++) {
            training many = of_steps(&p, &layouts[l], &twelve_last, size);
            if (!is_possible(&layouts[l], size)) continue;
            many.fast = true;
            run_members(&many);
            all_are_well(&many);
            expect_same(&many, many.outcomes[0]);
            expect_requests(&many);
            near(&p, many.outcomes[0], one.outcomes[0]);
            release_members(&many);
        }
    release_members(&one);
    problem_release(&p);
}

// ---- The counters of a reduction ----

static void traffic_is_counted(void **state) {
    (void)state;
    problem p;
    problem_init(&p, &cases[0], &twelve);
    const size_t n = gradient_floats(&p.m.program), slice = n / 4;
    assert_int_equal(n % 16, 0);
    for (int l = 0; l < LAYOUTS; l++)
        for (int fast = 0; fast < 2; fast++) {
            training t = of(&p, &layouts[l], 4);
            if (!is_possible(&layouts[l], 4)) continue;
            t.fast = fast;
            run_members(&t);
            all_are_well(&t);
            const size_t vectors = fast ? 1 : 2; // of rank 0: shards 0 and 1, and shard 2
            assert_int_equal(t.outcomes[0]->traffic.vectors, 2);
            assert_int_equal(t.outcomes[0]->traffic.bytes_sent,
                             (vectors * (n - slice) + 3 * slice) * sizeof(float));
            release_members(&t);
        }
    problem_release(&p);
}

// Whether all the time that a rank spent is booked, except between phases, and little as loading.
static bool is_booked(const outcome_of_rank *o) {
    uint64_t booked = 0;
    for (int k = 0; k < PHASES; k++) booked += o->times.ns[k];
    assert_in_range(booked, 0, o->spent);
    return booked >= o->spent / 5 * 4 && o->times.ns[PHASE_LOAD] <= o->spent / 4;
}

// With a device that is never ahead of the rank that waits for it. A rank receives the others'
// requests and waits for input blocks in use: that is the device's time, not that of preparing a
// step. A busy machine may suspend the process between two phases, but not each time.
static void expect_booked(const problem *p, const layout *l, int size) {
    bool booked = false;
    if (!is_possible(l, size)) return;
    for (int tries = 0; tries < 20 && !booked; tries++) {
        training t = of_many_steps(p, l, size);
        run_members(&t);
        all_are_well(&t);
        booked = true;
        for (int r = 0; r < size; r++) booked = is_booked(t.outcomes[r]) && booked;
        release_members(&t);
    }
    assert_true(booked);
}

static void all_time_is_booked_where_it_was_spent(void **state) {
    const char *before = getenv("LOCKSTEP_EMULATED_ORDER");
    (void)state;
    need_emulation();
    problem p;
    problem_init(&p, &cases[0], &twelve);
    setenv("LOCKSTEP_EMULATED_ORDER", "backward", 1);
    expect_booked(&p, shared, 1);
    for (int l = 0; l < LAYOUTS; l++)
        if (strcmp(layouts[l].transport, "nccl") == 0) expect_booked(&p, &layouts[l], 2);
    restore_order(before);
    problem_release(&p);
}

// ---- Failing ----

// The emulation ends a process that frees memory which another has open.
static void no_rank_frees_what_others_have_open(void **state) {
    (void)state;
    problem p;
    problem_init(&p, &cases[0], &four);
    for (int l = 0; l < LAYOUTS; l++)
        for (int late = 0; late < 2; late++) {
            training t = of(&p, &layouts[l], 2);
            t.late = late;
            if (!is_possible(&layouts[l], 2)) continue;
            run_members(&t);
            all_are_well(&t);
            release_members(&t);
        }
    problem_release(&p);
}

// Every rank but `missing` fails with `message`: soon after its death (seconds on a busy machine),
// not after the 20 s that the emulation waits for a missing rank.
static void expect_failure(training *t, const char *message) {
    run_members(t);
    for (int r = 0; r < t->size; r++) {
        const outcome_of_rank *o = t->outcomes[r];
        if (r == t->missing) continue;
        assert_int_equal(o->rc, STATUS_FAILED);
        if (!strstr(o->err.message, message))
            fail_msg("rank %d: no '%s' in '%s'", r, message, o->err.message);
        assert_true(t->missing < 0 || o->ended - *t->died < 15 * UINT64_C(1000000000));
    }
    release_members(t);
}

// Before it joins, in the first step, in a captured step, and in a step that the others launch with
// further ones after it: they wait when they have no input block left.
static void a_dead_rank_ends_the_others(void **state) {
    static const int moments[] = {-1, 0, 1, 4};
    (void)state;
    problem p;
    problem_init(&p, &cases[0], &four);
    for (int l = 0; l < LAYOUTS; l++)
        for (int size = 2; size <= MAX_RANKS; size += 2)
            for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
                training t = of(&p, &layouts[l], size);
                if (!is_possible(&layouts[l], size)) continue;
                t.steps = MAX_STEPS;
                for (int k = 0; k < t.steps; k++) t.step[k] = &four;
                t.missing = 1;
                t.missing_from = moments[i];
                t.fast = size == 4;
                expect_failure(&t, "rank 1 died");
            }
    problem_release(&p);
}

// Whether or not a test has failed.
static int as_it_was(void **state) {
    (void)state;
    unsetenv("LOCKSTEP_EMULATED_NCCL_SECONDS");
    return unsetenv("LOCKSTEP_EMULATED_QUEUE");
}

// Before a captured step, while NCCL's thread works on the first calls and the others receive the
// failure; then the thread either finishes, or does not.
static void a_rank_that_dies_while_nccl_captures(void **state) {
    static const char *const seconds[] = {"0.7", "4"};
    (void)state;
    need_emulation();
    problem p;
    problem_init(&p, &cases[0], &twelve);
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        training t = of_pattern(&p, &layouts[0], 2, "...");
        t.missing = 1;
        t.missing_from = 1;
        setenv("LOCKSTEP_EMULATED_NCCL_SECONDS", seconds[i], 1);
        expect_failure(&t, "rank 1 died");
    }
    problem_release(&p);
}

// Before a short step after two graphs, for which there is room: a rank that waited for room on the
// host would not notice the death.
static void a_rank_that_dies_before_a_short_step(void **state) {
    (void)state;
    need_emulation();
    problem p;
    problem_init(&p, &cases[0], &twelve);
    training t = of_pattern(&p, &layouts[0], 2, ".....L.L....");
    t.missing = 1;
    t.missing_from = 3;
    setenv("LOCKSTEP_EMULATED_QUEUE", "12", 1);
    expect_failure(&t, "rank 1 died");
    problem_release(&p);
}

// After the gathers of joining (three) and those of a reduction: there the others' streams wait for
// an event that, with streams as late as possible, no longer occurs.
static void a_rank_that_dies_while_streams_wait_for_it(void **state) {
    const char *before = getenv("LOCKSTEP_EMULATED_ORDER");
    (void)state;
    problem p;
    problem_init(&p, &cases[0], &four);
    setenv("LOCKSTEP_EMULATED_ORDER", "backward", 1);
    for (int behind = 1; behind <= 8; behind++) {
        training t = of(&p, shared, 2 + 2 * (behind % 2));
        t.steps = 2;
        t.step[1] = &four;
        t.missing = 1;
        t.missing_from = t.steps;
        t.missing_behind = behind;
        expect_failure(&t, "rank 1 died");
    }
    restore_order(before);
    problem_release(&p);
}

// NCCL may fail while all ranks are alive. A rank without a free input block gets that error, too.
static void an_nccl_error_ends_a_wait_for_a_block(void **state) {
    const layout *const nccl = &layouts[0];
    (void)state;
    need_emulation();
    problem p;
    problem_init(&p, &cases[0], &four);
    setenv("LOCKSTEP_EMULATED_SECONDS", "2", 1);
    training t = of(&p, nccl, 2);
    t.steps = MAX_STEPS;
    for (int k = 0; k < t.steps; k++) t.step[k] = &four;
    t.stops = true;
    run_members(&t);
    unsetenv("LOCKSTEP_EMULATED_SECONDS");
    for (int r = 0; r < 2; r++) assert_int_equal(t.outcomes[r]->rc, STATUS_FAILED);
    assert_non_null(strstr(t.outcomes[0]->err.message, "NCCL: "));
    release_members(&t);
    problem_release(&p);
}

static void disagreeing_ranks_get_an_error(void **state) {
    (void)state;
    problem p, other;
    problem_init(&p, &cases[0], &four);
    problem_init(&other, &cases[2], &four);
    training t = of(&p, shared, 2);
    t.other = &other;
    expect_failure(&t, "the records of rank 1 and rank 0 differ in shape");
    problem_release(&p);
    problem_release(&other);
}

// All ranks get the reason, whichever rank it is, and continue without a group.
static void one_rank_without_ipc_disables_it_for_all(void **state) {
    static const char *const settings[] = {"none", "export"};
    (void)state;
    need_emulation();
    problem p;
    problem_init(&p, &cases[0], &four);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        training t = of(&p, shared, 4);
        t.ipc = settings[i];
        run_members(&t);
        for (int r = 0; r < t.size; r++) {
            const outcome_of_rank *o = t.outcomes[r];
            assert_string_equal(o->transport, "");
            assert_non_null(strstr(o->why.message, "rank 1: "));
            assert_non_null(
                strstr(o->err.message, "is not in a group")); // if it reduces all the same
        }
        release_members(&t);
    }
    problem_release(&p);
}

// ---- With CUDA in this process: last, because no rank survives a fork after this ----

// The path through the host, and the reference.
static void exact_has_the_bits_of_sums_on_the_host(void **state) {
    (void)state;
    problem p;
    outcome host;
    problem_init(&p, &cases[0], &twelve);
    const execution x = {.be = cuda, .threads = 1, .engines = 2};
    training t = of(&p, shared, 2);
    run_members(&t);
    all_are_well(&t);
    run(&p, &x, &rule, &host);
    compare_with_reference(&p, &host);
    compare_update(&p, &host, &rule);
    outcome device = host; // all other results come from one place
    device.updated = t.outcomes[1]->updated;
    device.result = t.outcomes[1]->result;
    compare_bits(&device, &host, &x);
    release_members(&t);
    outcome_release(&host);
    problem_release(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_has_the_bits_of_one_engine),
        cmocka_unit_test(graphs_with_reductions_are_replayed),
        cmocka_unit_test(frozen_layers_are_left_out),
        cmocka_unit_test(full_steps_are_graphs),
        cmocka_unit_test(bucket_sizes_follow_the_layout),
        cmocka_unit_test(reductions_beside_batch_norms_that_meet),
        cmocka_unit_test(in_every_order_of_the_emulation),
        cmocka_unit_test(fast_is_the_same_on_all_ranks_and_nearly_exact),
        cmocka_unit_test(traffic_is_counted),
        cmocka_unit_test(all_time_is_booked_where_it_was_spent),
        cmocka_unit_test(no_rank_frees_what_others_have_open),
        cmocka_unit_test(a_dead_rank_ends_the_others),
        cmocka_unit_test(a_rank_that_dies_while_streams_wait_for_it),
        cmocka_unit_test_teardown(a_rank_that_dies_while_nccl_captures, as_it_was),
        cmocka_unit_test_teardown(a_rank_that_dies_before_a_short_step, as_it_was),
        cmocka_unit_test(an_nccl_error_ends_a_wait_for_a_block),
        cmocka_unit_test(disagreeing_ranks_get_an_error),
        cmocka_unit_test(one_rank_without_ipc_disables_it_for_all),
        cmocka_unit_test(exact_has_the_bits_of_sums_on_the_host),
    };
    error err = {0};
    setenv("LOCKSTEP_EMULATED_DEVICES", "4", 1);
    if (backend_open("cuda", &cuda, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    device_count = count_devices();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
