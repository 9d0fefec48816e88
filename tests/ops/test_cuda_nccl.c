// CUDA engines that reduce among themselves, over NCCL or, in the emulation, its stand-in: the bits
// of one engine that has all shards, what ranks agree on, and how they fail. Ranks are threads
// here; tests/bats/nccl.bats has them as processes.
//
// Needs a device a rank: the emulation has four, of a machine's the tests take what they can.
#include "engine_problem.h"

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "compute/devices.h"

enum { MAX_RANKS = 4, WISHES = 3, MAX_STEPS = 4 };

static const backend *cuda;
static int device_count;

static const update_rule rule = {
    .kind = UPDATE_SGD, .lr = 0.5f, .momentum = 0.9f, .weight_decay = 0.01f};

// ---- Ranks ----

typedef struct training {
    const problem *p;
    int steps;
    const split *step[MAX_STEPS]; // of the problem's samples as many as they have
    int size;
    bool fast, one_device;
    const problem *other;      // what rank 1 trains instead; NULL: the same
    int missing, missing_from; // a rank that dies in front of this reduction; -1: before joining
    // What the ranks share:
    unsigned char id[BACKEND_GROUP_ID_BYTES];
    pthread_barrier_t met;
    atomic_int dead; // rank + 1; 0: nobody
    uint64_t died;   // when
} training;

typedef struct member {
    training *t;
    int rank;
    engine *e;
    status rc;
    error err;
    uint64_t ended;
    float *updated; // parameters, buffers, state
    update_result result;
    group_traffic traffic;
    float wishes[WISHES];
} member;

static status alive(void *context, error *err) {
    const training *t = context;
    const int dead = atomic_load(&t->dead);
    if (dead == 0) return STATUS_OK;
    return error_set(err, STATUS_FAILED, "rank %d died", dead - 1);
}

static const problem *problem_of(const member *m) {
    return m->rank == 1 && m->t->other ? m->t->other : m->t->p;
}

static status open_engine(member *m) {
    const training *t = m->t;
    const problem *p = problem_of(m);
    engine_options o = {.threads = 1,
                        .device = t->one_device ? 0 : m->rank,
                        .shards = t->step[0]->shards,
                        .local_shards = t->step[0]->shards / t->size,
                        .shard_samples = t->step[0]->count[0],
                        .seed = 11};
    memcpy(o.mean, p->mean, sizeof o.mean);
    memcpy(o.std, p->std, sizeof o.std);
    status rc = cuda->open(&p->m.program, &o, rule.kind, &m->e, &m->err);
    if (rc == STATUS_OK) cuda->write(m->e, p->parameters, p->buffers, p->state);
    return rc;
}

static status join(member *m) {
    training *t = m->t;
    status rc = STATUS_OK;
    engine_group g = {.rank = m->rank, .size = t->size, .alive = alive, .context = t};
    if (m->rank == 0) rc = cuda->group_id(m->e, t->id, &m->err);
    pthread_barrier_wait(&t->met);
    memcpy(g.id, t->id, sizeof g.id);
    return rc == STATUS_OK ? cuda->group_join(m->e, &g, &m->err) : rc;
}

static status step(member *m, const split *s) {
    const problem *p = problem_of(m);
    const int local = s->shards / m->t->size, first = m->rank * local;
    size_t sample = 0;
    for (int v = 0; v < first; v++) sample += (size_t)s->count[v];
    const batch b = {.shards = s->shards,
                     .count = s->count,
                     .first_shard = first,
                     .end_shard = first + local,
                     .pixels = p->pixels + sample,
                     .labels = p->labels + sample,
                     .ids = p->ids + sample};
    return cuda->step(m->e, &b, &m->err);
}

static status reduce_members(member *m, const split *s) {
    const training *t = m->t;
    int first_leaf[MAX_RANKS + 1];
    const int *leaves = cuda->shard_leaves(m->e);
    for (int r = 0; r <= t->size; r++) first_leaf[r] = leaves[r * (s->shards / t->size)];
    for (int i = 0; i < WISHES; i++) m->wishes[i] = m->rank == i;
    return cuda->group_reduce(m->e, first_leaf, !t->fast, m->wishes, WISHES, &m->traffic, &m->err);
}

static void die(member *m) {
    usleep(300000); // the others are waiting by now
    m->t->died = clock_now();
    atomic_store(&m->t->dead, m->rank + 1);
}

static status train(member *m) {
    const training *t = m->t;
    status rc = STATUS_OK;
    for (int i = 0; i < t->steps && rc == STATUS_OK; i++) {
        rc = step(m, t->step[i]);
        if (t->missing == m->rank && t->missing_from == i) {
            die(m);
            return rc;
        }
        if (rc == STATUS_OK && t->size > 1) rc = reduce_members(m, t->step[i]);
        if (rc == STATUS_OK) rc = cuda->update(m->e, &rule, &m->result, &m->err);
    }
    return rc;
}

static void *be_member(void *argument) {
    member *m = argument;
    const program *prog = &problem_of(m)->m.program;
    m->rc = open_engine(m);
    if (m->rc != STATUS_OK || (m->t->missing == m->rank && m->t->missing_from < 0)) {
        pthread_barrier_wait(&m->t->met);
        die(m);
    } else if (m->t->size == 1 || (m->rc = join(m)) == STATUS_OK) {
        m->rc = train(m);
    }
    m->updated = calloc(2 * prog->parameters + prog->buffers, sizeof *m->updated);
    if (m->rc == STATUS_OK)
        m->rc = cuda->read(m->e, m->updated, m->updated + prog->parameters,
                           m->updated + prog->parameters + prog->buffers, &m->err);
    m->ended = clock_now();
    return NULL;
}

static void run_members(training *t, member m[MAX_RANKS]) {
    pthread_t threads[MAX_RANKS];
    assert_int_equal(pthread_barrier_init(&t->met, NULL, (unsigned)t->size), 0);
    for (int r = 0; r < t->size; r++) {
        m[r] = (member){.t = t, .rank = r};
        assert_int_equal(pthread_create(&threads[r], NULL, be_member, &m[r]), 0);
    }
    for (int r = 0; r < t->size; r++) pthread_join(threads[r], NULL);
    for (int r = 0; r < t->size; r++) cuda->close(m[r].e);
    pthread_barrier_destroy(&t->met);
}

static void release_members(const training *t, member m[MAX_RANKS]) {
    for (int r = 0; r < t->size; r++) free(m[r].updated);
}

static void all_are_well(const training *t, const member m[MAX_RANKS]) {
    for (int r = 0; r < t->size; r++)
        if (m[r].rc != STATUS_OK) fail_msg("rank %d: %s", r, m[r].err.message);
}

static void need_devices(int count) {
    if (device_count < count) skip();
}

// ---- Problems ----

// Small, with batch norm; one of records that are longer than what a stand-in moves at once; and
// one that is sent in few floats.
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

static training of(const problem *p, int size) {
    training t = {.p = p, .size = size, .missing = -1, .step = {p->s}, .steps = 1};
    return t;
}

// ---- Bits ----

// Rank i wished for i; all had leaves.
static void expect_wishes(const member *m) {
    for (int i = 0; i < WISHES; i++) assert_true(m->wishes[i] == (float)(i < m->t->size));
}

static void expect_same(const program *prog, const member *a, const member *b, int size) {
    const execution x = {.be = cuda, .engines = size};
    same_bits("after the update", a->updated, b->updated, 2 * prog->parameters + prog->buffers, &x);
    assert_true(a->result.digest == b->result.digest);
    assert_true(memcmp(&a->result.loss, &b->result.loss, sizeof a->result.loss) == 0);
}

// Full steps, and then shorter ones, in which ranks have fewer terms or none, and full ones again.
static void same_bits_as_one(const problem *p, const split *last, int size) {
    training one = of(p, 1), many = of(p, size);
    member alone[MAX_RANKS], m[MAX_RANKS];
    one.steps = many.steps = 4;
    one.step[1] = one.step[3] = many.step[1] = many.step[3] = p->s;
    one.step[2] = many.step[2] = last;
    run_members(&one, alone);
    run_members(&many, m);
    all_are_well(&one, alone);
    all_are_well(&many, m);
    for (int r = 0; r < size; r++) expect_same(&p->m.program, &m[r], alone, size);
    for (int r = 0; r < size; r++) expect_wishes(&m[r]);
    release_members(&one, alone);
    release_members(&many, m);
}

static void exact_has_the_bits_of_one_engine(void **state) {
    static const struct {
        const split *full, *last;
        int size;
    } ways[] = {{&four, &four_tail, 2},    {&four, &four_last, 2},     {&four, &four_tail, 4},
                {&four, &four_last, 4},    {&twelve, &twelve_last, 2}, {&twelve, &twelve_last, 3},
                {&twelve, &twelve_last, 4}};
    (void)state;
    need_devices(2);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            problem p;
            if (ways[i].size > device_count) continue;
            problem_init(&p, &cases[c], ways[i].full);
            same_bits_as_one(&p, ways[i].last, ways[i].size);
            problem_release(&p);
        }
}

// The path through the host, and the reference.
static void exact_has_the_bits_of_records_summed_on_the_host(void **state) {
    (void)state;
    need_devices(2);
    problem p;
    outcome host;
    member m[MAX_RANKS];
    problem_init(&p, &cases[0], &twelve);
    const execution x = {.be = cuda, .threads = 1, .engines = 2};
    training t = of(&p, 2);
    run(&p, &x, &rule, &host);
    compare_with_reference(&p, &host);
    compare_update(&p, &host, &rule);
    run_members(&t, m);
    all_are_well(&t, m);
    outcome device = host; // what else there is comes from one place
    device.updated = m[1].updated;
    device.result = m[1].result;
    compare_bits(&device, &host, &x);
    release_members(&t, m);
    outcome_release(&host);
    problem_release(&p);
}

static void in_every_order_of_the_emulation(void **state) {
    static const char *const orders[] = {"backward", "shuffle"};
    (void)state;
    need_devices(4);
    problem p;
    problem_init(&p, &cases[0], &twelve);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        setenv("LOCKSTEP_EMULATED_ORDER", orders[i], 1);
        same_bits_as_one(&p, &twelve_last, 4);
    }
    unsetenv("LOCKSTEP_EMULATED_ORDER");
    problem_release(&p);
}

static void fast_is_the_same_on_all_ranks_and_nearly_exact(void **state) {
    (void)state;
    need_devices(2);
    problem p;
    problem_init(&p, &cases[0], &twelve);
    for (int size = 2; size <= device_count; size++) {
        const size_t n = p.m.program.parameters;
        training one = of(&p, 1), many = of(&p, size);
        member alone[MAX_RANKS], m[MAX_RANKS];
        many.fast = true;
        run_members(&one, alone);
        run_members(&many, m);
        all_are_well(&many, m);
        for (int r = 1; r < size; r++) expect_same(&p.m.program, &m[r], &m[0], size);
        double *got = ops_zeros(n), *expected = ops_zeros(n);
        widen(m[0].updated, got, n);
        widen(alone->updated, expected, n);
        ops_near("parameters", got, expected, n, 1e-6);
        free(got), free(expected);
        release_members(&one, alone);
        release_members(&many, m);
    }
    problem_release(&p);
}

// ---- What else a reduction carries ----

static void wishes_come_back_as_sums(void **state) {
    (void)state;
    need_devices(2);
    problem p;
    problem_init(&p, &cases[0], &four);
    for (int fast = 0; fast < 2; fast++) {
        training t = of(&p, 2);
        member m[MAX_RANKS];
        t.fast = fast;
        t.steps = 2;
        t.step[1] = &four;
        run_members(&t, m);
        all_are_well(&t, m);
        for (int r = 0; r < 2; r++) expect_wishes(&m[r]);
        release_members(&t, m);
    }
    problem_release(&p);
}

static void traffic_is_counted(void **state) {
    (void)state;
    need_devices(4);
    problem p;
    problem_init(&p, &cases[0], &twelve);
    const size_t n = record_floats(&p.m.program), slice = n / 4;
    for (int fast = 0; fast < 2; fast++) {
        training t = of(&p, 4);
        member m[MAX_RANKS];
        t.fast = fast;
        run_members(&t, m);
        all_are_well(&t, m);
        const size_t vectors = fast ? 1 : 2; // of rank 0: shards 0 and 1, and shard 2
        assert_int_equal(n % 16, 0);
        assert_int_equal(m[0].traffic.vectors, 2);
        assert_int_equal(m[0].traffic.bytes_sent,
                         (vectors * (n - slice) + 3 * slice) * sizeof(float));
        release_members(&t, m);
    }
    problem_release(&p);
}

// ---- Failing ----

// Everybody but `missing` fails, within 5 s of its death, and says `message`.
static void expect_failure(training *t, const char *message) {
    member m[MAX_RANKS];
    run_members(t, m);
    for (int r = 0; r < t->size; r++) {
        if (r == t->missing) continue;
        assert_int_equal(m[r].rc, STATUS_FAILED);
        if (!strstr(m[r].err.message, message))
            fail_msg("rank %d: no '%s' in '%s'", r, message, m[r].err.message);
        assert_true(t->missing < 0 || m[r].ended - t->died < 5 * UINT64_C(1000000000));
    }
    release_members(t, m);
}

static void a_dead_rank_ends_the_others(void **state) {
    (void)state;
    need_devices(2);
    problem p;
    problem_init(&p, &cases[0], &four);
    for (int size = 2; size <= device_count; size += 2)
        for (int from = -1; from < 2; from++)
            for (int fast = 0; fast < 2; fast++) {
                training t = of(&p, size);
                t.steps = 2;
                t.step[1] = &four;
                t.missing = 1;
                t.missing_from = from;
                t.fast = fast;
                expect_failure(&t, "rank 1 died");
            }
    problem_release(&p);
}

// What the real library would do with these is not defined.
static void need_emulation(int count) {
    need_devices(count);
    if (!getenv("LOCKSTEP_CUDA_LIBRARY") || !strstr(getenv("LOCKSTEP_CUDA_LIBRARY"), "emulated"))
        skip();
}

static void ranks_that_disagree_are_told(void **state) {
    (void)state;
    need_emulation(2);
    problem p, other;
    problem_init(&p, &cases[0], &four);
    problem_init(&other, &cases[2], &four);
    for (int fast = 0; fast < 2; fast++) {
        training t = of(&p, 2);
        t.other = &other;
        t.fast = fast;
        expect_failure(&t, " floats, and rank ");
    }
    problem_release(&p);
    problem_release(&other);
}

static void two_ranks_on_one_device_are_refused(void **state) {
    (void)state;
    need_emulation(2);
    problem p;
    problem_init(&p, &cases[0], &four);
    training t = of(&p, 2);
    t.one_device = true;
    expect_failure(&t, "joining a group: NCCL: ");
    problem_release(&p);
}

static void a_device_knows_who_it_is(void **state) {
    (void)state;
    need_devices(2);
    problem p;
    unsigned char id[3][BACKEND_DEVICE_ID_BYTES];
    problem_init(&p, &cases[2], &four);
    training t = of(&p, 2), one = of(&p, 2);
    one.one_device = true;
    member m[3] = {{.t = &t}, {.t = &t, .rank = 1}, {.t = &one, .rank = 1}};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(open_engine(&m[i]), STATUS_OK);
        assert_true(cuda->group_device(m[i].e, id[i]));
    }
    assert_memory_not_equal(id[0], id[1], sizeof id[0]);
    assert_memory_equal(id[0], id[2], sizeof id[0]);
    assert_int_equal(step(&m[0], &four), STATUS_OK);
    assert_int_equal(reduce_members(&m[0], &four), STATUS_FAILED);
    assert_non_null(strstr(m[0].err.message, "is in no group"));
    for (int i = 0; i < 3; i++) cuda->close(m[i].e);
    problem_release(&p);
}

static int count_devices(void) {
    static const char *const lists[] = {"cuda:0,cuda:1", "cuda:0,cuda:1,cuda:2",
                                        "cuda:0,cuda:1,cuda:2,cuda:3"};
    int count = 1;
    for (int i = 0; i < MAX_RANKS - 1; i++) {
        error err;
        devices d;
        if (devices_parse(&d, lists[i], &err) != STATUS_OK ||
            devices_open(&d, i + 2, NULL, &err) != STATUS_OK)
            break;
        count = i + 2;
    }
    return count;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_has_the_bits_of_one_engine),
        cmocka_unit_test(exact_has_the_bits_of_records_summed_on_the_host),
        cmocka_unit_test(in_every_order_of_the_emulation),
        cmocka_unit_test(fast_is_the_same_on_all_ranks_and_nearly_exact),
        cmocka_unit_test(wishes_come_back_as_sums),
        cmocka_unit_test(traffic_is_counted),
        cmocka_unit_test(a_dead_rank_ends_the_others),
        cmocka_unit_test(ranks_that_disagree_are_told),
        cmocka_unit_test(two_ranks_on_one_device_are_refused),
        cmocka_unit_test(a_device_knows_who_it_is),
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
