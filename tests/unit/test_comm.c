// SPDX-License-Identifier: MIT
// Collectives through shared memory and by messages: the right bits, the same on every rank, and
// how the other ranks detect a death. Ranks are processes; if it makes no difference they also run
// as threads, so that ThreadSanitizer can check them.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/random.h"
#include "dist/comm_messages.h"
#include "dist/comm_shm.h"
#include "socket_transport.h"

enum { RANK_SECONDS = 120 };
enum { MAX_RANKS = 6, MAX_LEAVES = 64, COVER = 2 * REDUCTION_TREE_MAX_DEPTH };

// ---- Running ranks ----

typedef status (*rank_body)(comm *c, const void *argument, error *err);

typedef struct result {
    status rc;
    error err;
    uint64_t ended; // on the clock
    uint64_t sent, received;
} result;

// The connection between ranks: `shared`, or with NULL `sockets`.
typedef struct medium {
    shared_memory *shared;
    sockets sockets;
    status (*send_word)(transport *t, int peer, uint64_t word,
                        error *err);                      // NULL: sockets_send_word
    status (*test)(transport *t, bool *done, error *err); // NULL: sockets_test
} medium;

typedef struct rank_run {
    const medium *medium;
    int rank;
    rank_body body;
    const void *argument;
    result *result;
    pthread_t thread;
} rank_run;

static _Thread_local transport *own_transport; // of a rank that is connected by sockets

static transport *join(const medium *m, int rank, transport_ops *ops) {
    transport *t = sockets_join(&m->sockets, rank);
    if (!t) return NULL;
    *ops = *t->ops;
    if (m->send_word) ops->send_word = m->send_word;
    if (m->test) ops->test = m->test;
    t->ops = ops;
    own_transport = t;
    return t;
}

static void *be_rank(void *argument) {
    rank_run *run = argument;
    result *out = run->result;
    const medium *m = run->medium;
    transport_ops ops;
    comm *c;
    if (m->shared)
        out->rc = comm_shm(m->shared, run->rank, false, &c, &out->err);
    else {
        c = comm_messages(join(m, run->rank, &ops));
        out->rc = STATUS_OK;
    }
    if (out->rc == STATUS_OK) {
        out->rc = run->body(c, run->argument, &out->err);
        out->sent = c->bytes_sent;
        out->received = c->bytes_received;
        comm_free(c);
    }
    out->ended = clock_now();
    return NULL;
}

static result *new_results(void) {
    void *p = mmap(NULL, MAX_RANKS * sizeof(result), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(p, MAP_FAILED);
    return p;
}

static void free_results(result *r) {
    munmap(r, MAX_RANKS * sizeof *r);
}

static pid_t fork_rank(rank_run run) {
    const pid_t process = fork();
    if (process == 0) {
        alarm(RANK_SECONDS); // with messages alone, no rank detects a death
        be_rank(&run);
        _exit(0);
    }
    assert_true(process > 0);
    return process;
}

static void run_processes(const medium *m, int size, rank_body body, const void *argument,
                          result *out) {
    pid_t process[MAX_RANKS];
    for (int r = 0; r < size; r++)
        process[r] = fork_rank((rank_run){m, r, body, argument, out + r, 0});
    for (int r = 0; r < size; r++) assert_int_equal(waitpid(process[r], NULL, 0), process[r]);
}

static void run_threads(const medium *m, int size, rank_body body, const void *argument,
                        result *out) {
    rank_run runs[MAX_RANKS];
    for (int r = 0; r < size; r++) {
        runs[r] = (rank_run){m, r, body, argument, out + r, 0};
        assert_int_equal(pthread_create(&runs[r].thread, NULL, be_rank, &runs[r]), 0);
    }
    for (int r = 0; r < size; r++) pthread_join(runs[r].thread, NULL);
}

static void open_medium(medium *m, bool shared, int size, size_t n, size_t gather_bytes) {
    error err;
    *m = (medium){0};
    if (shared) assert_int_equal(shared_create(size, n, gather_bytes, &m->shared, &err), STATUS_OK);
    if (!shared) assert_true(sockets_open(&m->sockets, size));
}

static void close_medium(medium *m) {
    shared_free(m->shared);
    sockets_close(&m->sockets);
}

// Runs `body` on `size` ranks, as processes and as threads, on either medium; all must succeed, and
// all data sent must have been received.
static void run_all_ways(int size, size_t n, size_t gather_bytes, rank_body body,
                         const void *argument) {
    enum { THREADS = 1, SHARED = 2, WAYS = 4 };
    for (int way = 0; way < WAYS; way++) {
        medium m;
        result *out = new_results();
        uint64_t sent = 0, received = 0;
        open_medium(&m, way & SHARED, size, n, gather_bytes);
        (way & THREADS ? run_threads : run_processes)(&m, size, body, argument, out);
        for (int r = 0; r < size; r++) {
            if (out[r].rc != STATUS_OK) print_error("rank %d: %s\n", r, out[r].err.message);
            assert_int_equal(out[r].rc, STATUS_OK);
            sent += out[r].sent;
            received += out[r].received;
        }
        assert_int_equal(sent, received);
        close_medium(&m);
        free_results(out);
    }
}

// ---- Gathering ----

static status gather(comm *c, const void *argument, error *err) {
    const size_t bytes = *(const size_t *)argument;
    unsigned char *mine = malloc(bytes), *all = malloc(bytes * (size_t)c->size);
    status rc = STATUS_OK;
    for (int round = 0; round < 50 && rc == STATUS_OK; round++) {
        for (size_t i = 0; i < bytes; i++) mine[i] = (unsigned char)(c->rank * 40 + round + (int)i);
        rc = c->ops->all_gather(c, mine, bytes, all, err);
        for (int r = 0; r < c->size && rc == STATUS_OK; r++)
            for (size_t i = 0; i < bytes && rc == STATUS_OK; i++)
                if (all[(size_t)r * bytes + i] != (unsigned char)(r * 40 + round + (int)i))
                    rc = error_set(err, STATUS_FAILED, "byte %zu of rank %d is wrong", i, r);
    }
    free(mine);
    free(all);
    return rc;
}

static void all_gather_puts_ranks_in_order(void **state) {
    (void)state;
    const size_t bytes[] = {1, 7, 64, 1000}; // the last ones take several rounds
    for (int size = 1; size <= MAX_RANKS; size++)
        for (size_t b = 0; b < 4; b++) run_all_ways(size, 1, 64, gather, &bytes[b]);
}

// ---- The exact reduction ----

typedef struct exact_case {
    int shards, groups[12];
    int size, first[MAX_RANKS + 1]; // ownership
    size_t n, room;                 // of the vectors, of the shared memory
} exact_case;

static void make_leaf(int leaf, size_t n, int round, float *out) {
    const random_stream s = {
        .seed = (uint64_t)round, .purpose = RANDOM_SYNTHETIC, .sample = (uint32_t)leaf};
    for (size_t i = 0; i < n; i++)
        out[i] = (random_uniform(&s, i) - 0.5f) * (float)(1 << ((int)i * 7 % 13 + leaf % 5));
}

// Computes the sum over the leaves of node `node`.
static void sum_node(const reduction_tree *t, int node, const float *leaves, size_t n, float *out) {
    const float *term[MAX_LEAVES];
    const int first = t->nodes[node].first, count = t->nodes[node].end - first;
    for (int i = 0; i < count; i++) term[i] = leaves + (size_t)(first + i) * n;
    reduction_tree_sum_part(t, node, t->leaf_node + first, term, count, 0, out, n);
}

// One reduction of a case's own numbers; the result overwrites the first term if possible.
static status reduce_once(comm *c, const exact_case *x, const reduction_tree *t, int round,
                          error *err) {
    const size_t n = x->n;
    const comm_ownership own = {t, x->first};
    float *leaves = malloc((size_t)t->leaves * n * sizeof *leaves + 1);
    float *sums = malloc(COVER * n * sizeof *sums);
    float *expected = calloc(n, sizeof *expected), *fresh = malloc(n * sizeof *fresh);
    const float *term[COVER];
    int cover[COVER];
    for (int i = 0; i < t->leaves; i++) make_leaf(i, n, round, leaves + (size_t)i * n);
    if (t->count) sum_node(t, t->count - 1, leaves, n, expected);
    const int terms = reduction_tree_cover(t, x->first[c->rank], x->first[c->rank + 1], cover);
    for (int k = 0; k < terms; k++) {
        sum_node(t, cover[k], leaves, n, sums + (size_t)k * n);
        term[k] = sums + (size_t)k * n;
    }
    float *out = terms && round % 2 ? sums + (size_t)(round % terms) * n : fresh;
    status rc = c->ops->reduce_exact(c, &own, term, out, n, err);
    if (rc == STATUS_OK && memcmp(out, expected, n * sizeof *out) != 0)
        rc = error_set(err, STATUS_FAILED, "round %d: other bits", round);
    free(leaves), free(sums), free(expected), free(fresh);
    return rc;
}

static status reduce_exact(comm *c, const void *argument, error *err) {
    const exact_case *x = argument;
    reduction_tree t;
    status rc = reduction_tree_init(&t, x->groups, x->shards, err);
    if (rc != STATUS_OK) return rc;
    for (int round = 0; round < 6 && rc == STATUS_OK; round++)
        rc = reduce_once(c, x, &t, round, err);
    reduction_tree_release(&t);
    return rc;
}

static const exact_case exact_cases[] = {
    {4, {1, 1, 1, 1}, 1, {0, 4}, 100, 100},
    {4, {1, 1, 1, 1}, 2, {0, 2, 4}, 1000, 1000},
    {4, {1, 1, 1, 1}, 4, {0, 1, 2, 3, 4}, 4096, 4096},
    // Shards that are not a whole subtree: a rank has several vectors.
    {12, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1}, 4, {0, 6, 12, 18, 23}, 777, 777},
    {12, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 6, {0, 2, 4, 6, 8, 10, 12}, 2000, 2000},
    {12, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 3, {0, 4, 8, 12}, 64, 64},
    // Any distribution works, also with ranks that have no leaves.
    {1, {23}, 3, {0, 9, 14, 23}, 500, 500},
    {1, {23}, 5, {0, 0, 11, 11, 23, 23}, 500, 500},
    {3, {5, 0, 2}, 4, {0, 1, 6, 7, 7}, 33, 33},
    {2, {0, 0}, 3, {0, 0, 0, 0}, 40, 40},
    // More vectors than fit, and vectors longer than the room: several rounds.
    {1, {63}, 2, {0, 31, 63}, 5000, 5000},
    {1, {63}, 3, {0, 1, 62, 63}, 3000, 3000},
    {4, {4, 4, 4, 3}, 4, {0, 4, 8, 12, 15}, 3001, 16},
    // Fewer floats than ranks, and lengths that are not a multiple of a cache line.
    {4, {1, 1, 1, 1}, 4, {0, 1, 2, 3, 4}, 1, 1},
    {4, {1, 1, 1, 1}, 4, {0, 1, 2, 3, 4}, 3, 3},
    {4, {2, 1, 1, 1}, 4, {0, 2, 3, 4, 5}, 17, 17},
    {6, {1, 1, 1, 1, 1, 1}, 6, {0, 1, 2, 3, 4, 5, 6}, 95, 95},
};

static void reduce_exact_gives_the_bits_of_the_tree(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof exact_cases / sizeof *exact_cases; k++)
        run_all_ways(exact_cases[k].size, exact_cases[k].room, 64, reduce_exact, &exact_cases[k]);
}

static void a_group_of_one_needs_no_shared_memory(void **state) {
    (void)state;
    error err;
    comm *c = comm_self();
    assert_int_equal(c->size, 1);
    for (size_t k = 0; k < sizeof exact_cases / sizeof *exact_cases; k++) {
        exact_case x = exact_cases[k];
        x.first[1] = x.first[x.size];
        assert_int_equal(reduce_exact(c, &x, &err), STATUS_OK);
    }
    int mine = 5, all = 0;
    float values[] = {1, 2};
    assert_int_equal(c->ops->all_gather(c, &mine, sizeof mine, &all, &err), STATUS_OK);
    assert_int_equal(all, 5);
    assert_int_equal(c->ops->reduce_fast(c, values, 2, &err), STATUS_OK);
    assert_true(values[0] == 1 && values[1] == 2);
    assert_int_equal(c->ops->barrier(c, &err), STATUS_OK);
    assert_int_equal(c->ops->alive(c, &err), STATUS_OK);
    assert_int_equal(c->bytes_sent + c->bytes_received, 0);
    comm_free(c);
}

// A rank sends all of an aligned vector except its slice, and its slice of the sum to all others.
static status count_bytes(comm *c, const void *argument, error *err) {
    status rc = reduce_exact(c, argument, err);
    const uint64_t rounds = 6, n = 4096, slice = n / 4;
    const uint64_t expected = rounds * sizeof(float) * (n - slice + 3 * slice);
    if (rc == STATUS_OK && (c->bytes_sent != expected || c->bytes_received != expected))
        rc = error_set(err, STATUS_FAILED, "sent %ju, received %ju, expected %ju",
                       (uintmax_t)c->bytes_sent, (uintmax_t)c->bytes_received, (uintmax_t)expected);
    return rc;
}

static void bytes_are_counted(void **state) {
    (void)state;
    run_all_ways(4, 4096, 64, count_bytes, &exact_cases[2]);
}

// ---- The other collectives, and a sequence of all ----

static status reduce_fast(comm *c, const void *argument, error *err) {
    const size_t n = *(const size_t *)argument;
    float *values = malloc(n * sizeof *values), *expected = malloc(n * sizeof *expected);
    float *term = malloc(n * sizeof *term);
    status rc = STATUS_OK;
    for (int round = 0; round < 5 && rc == STATUS_OK; round++) {
        make_leaf(0, n, round, expected);
        for (int r = 1; r < c->size; r++) {
            make_leaf(r, n, round, term);
            for (size_t i = 0; i < n; i++) expected[i] += term[i];
        }
        make_leaf(c->rank, n, round, values);
        rc = c->ops->reduce_fast(c, values, n, err);
        if (rc == STATUS_OK && memcmp(values, expected, n * sizeof *values) != 0)
            rc = error_set(err, STATUS_FAILED, "round %d: other bits", round);
    }
    free(values), free(expected), free(term);
    return rc;
}

static void reduce_fast_adds_in_rank_order(void **state) {
    (void)state;
    const size_t n[] = {1, 100, 5000};
    for (int size = 1; size <= MAX_RANKS; size += 2)
        for (int k = 0; k < 3; k++) run_all_ways(size, 100, 64, reduce_fast, &n[k]);
}

static status take_turns(comm *c, const void *argument, error *err) {
    const size_t bytes = 10, n = 300;
    status rc = STATUS_OK;
    for (int i = 0; i < 5; i++) {
        TRY(c->ops->alive(c, err));
        TRY(gather(c, &bytes, err));
        TRY(reduce_exact(c, argument, err));
        TRY(c->ops->barrier(c, err));
        TRY(reduce_fast(c, &n, err));
    }
out:
    return rc;
}

static void collectives_take_turns(void **state) {
    (void)state;
    run_all_ways(3, 500, 64, take_turns, &exact_cases[6]);
}

// ---- Death and other failures ----

typedef struct fate {
    int rank; // the one that fails
    void (*how)(comm *c);
} fate;

static status live_until_fate(comm *c, const void *argument, error *err) {
    const fate *f = argument;
    const exact_case *x = &exact_cases[3]; // for four ranks
    for (int i = 0; i < 1000; i++) {
        if (i == 5 && c->rank == f->rank) {
            f->how(c);
            return STATUS_OK;
        }
        status rc = reduce_exact(c, x, err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

// The others wait in another way, and poll.
static status ask_until_fate(comm *c, const void *argument, error *err) {
    const fate *f = argument;
    status rc = c->ops->barrier(c, err);
    if (rc == STATUS_OK && c->rank == f->rank) {
        f->how(c);
        return STATUS_OK;
    }
    while (rc == STATUS_OK) { // fork_rank's alarm ends it if no failure comes
        rc = c->ops->alive(c, err);
        if (rc == STATUS_OK) usleep(COMM_ALIVE_MS * 1000);
    }
    return rc;
}

static void be_killed(comm *c) {
    (void)c;
    kill(getpid(), SIGKILL);
}

static void end_quietly(comm *c) {
    (void)c;
    _exit(0);
}

static void just_return(comm *c) {
    (void)c;
}

static void be_stopped(comm *c) {
    (void)c;
    kill(getpid(), SIGSTOP);
}

// Rank 2 of 4 ends or stops. The others must all report `message`, not before `after_ms` and,
// however busy the machine, long before the time limit for a rank that is only late.
static void expect_news_in(bool shared, rank_body body, void (*how)(comm *c), int stall,
                           uint64_t after_ms, const char *message) {
    medium m;
    result *out = new_results();
    const fate f = {2, how};
    pid_t process[4];
    open_medium(&m, shared, 4, 777, 64);
    if (shared) shared_set_stall(m.shared, stall);
    const uint64_t begin = clock_now();
    for (int r = 0; r < 4; r++) process[r] = fork_rank((rank_run){&m, r, body, &f, out + r, 0});
    for (int r = 0; r < 4; r++) {
        if (r == 2) continue;
        assert_int_equal(waitpid(process[r], NULL, 0), process[r]);
        assert_int_equal(out[r].rc, STATUS_FAILED);
        assert_string_equal(out[r].err.message, message);
        assert_true(out[r].ended - begin < UINT64_C(30000000000));
        assert_true(out[r].ended - begin >= after_ms * 1000000);
    }
    kill(process[2], SIGKILL);
    assert_int_equal(waitpid(process[2], NULL, 0), process[2]);
    close_medium(&m);
    free_results(out);
}

static void expect_news(void (*how)(comm *c), int stall, uint64_t after_ms, const char *message) {
    expect_news_in(true, live_until_fate, how, stall, after_ms, message);
    expect_news_in(true, ask_until_fate, how, stall, after_ms, message);
}

static void the_other_ranks_detect_a_death(void **state) {
    (void)state;
    expect_news(be_killed, 60, 0, "rank 2 died");
    expect_news(end_quietly, 60, 0, "rank 2 died");
}

static void the_other_ranks_detect_that_a_rank_left(void **state) {
    (void)state;
    static const char message[] = "rank 2 left the group while other ranks waited for it";
    expect_news(just_return, 60, 0, message);
    expect_news_in(false, live_until_fate, just_return, 0, 0, message);
    expect_news_in(false, ask_until_fate, just_return, 0, 0, message);
}

// ---- Messages of failure that come late, or never ----

static status send_late(transport *t, int peer, uint64_t word, error *err) {
    if (t->rank == 2 && peer == 3) usleep(300000);
    return sockets_send_word(t, peer, word, err);
}

static status send_some(transport *t, int peer, uint64_t word, error *err) {
    if (t->rank == 2 && peer == 0) return error_set(err, STATUS_FAILED, "no way there");
    return sockets_send_word(t, peer, word, err);
}

// Rank 2 of 4 leaves; whichever rank first informs rank 3 or rank 0, rank 2 is named.
static void the_rank_that_left_is_named(void **state) {
    (void)state;
    status (*const send_word[])(transport *, int, uint64_t, error *) = {send_late, send_some};
    const fate f = {2, just_return};
    for (int i = 0; i < 2; i++) {
        medium m;
        result *out = new_results();
        open_medium(&m, false, 4, 777, 64);
        m.send_word = send_word[i];
        run_threads(&m, 4, live_until_fate, &f, out);
        for (int r = 0; r < 4; r++) {
            if (r == 2) continue;
            assert_int_equal(out[r].rc, STATUS_FAILED);
            assert_string_equal(out[r].err.message,
                                "rank 2 left the group while other ranks waited for it");
        }
        close_medium(&m);
        free_results(out);
    }
}

// When each rank leaves: before collective number at[rank].
typedef struct departures {
    int at[MAX_RANKS];
} departures;

enum { COLLECTIVES = 12 };

static status send_anytime(transport *t, int peer, uint64_t word, error *err) {
    const random_stream s = {.sample = (uint32_t)word, .epoch = (uint32_t)(t->rank * 8 + peer)};
    if (random_uniform(&s, 0) < 0.3f) usleep((useconds_t)(2000 * random_uniform(&s, 1)));
    return sockets_send_word(t, peer, word, err);
}

static status live_until_departure(comm *c, const void *argument, error *err) {
    const departures *d = argument;
    const size_t bytes = 100, n = 300;
    status rc = STATUS_OK;
    for (int i = 0; i < d->at[c->rank] && i < COLLECTIVES; i++) {
        if (i % 3 == 0) TRY(c->ops->barrier(c, err));
        if (i % 3 == 1) TRY(gather(c, &bytes, err));
        if (i % 3 == 2) TRY(reduce_fast(c, &n, err));
    }
out:
    return rc;
}

static void check_departures(const result *out, const departures *d, int size) {
    for (int r = 0; r < size; r++) {
        int culprit = -1;
        if (out[r].rc == STATUS_OK) continue;
        assert_int_equal(sscanf(out[r].err.message, "rank %d left the group", &culprit), 1);
        assert_in_range(culprit, 0, size - 1);
        assert_true(d->at[culprit] < COLLECTIVES);
    }
}

static void ranks_may_leave_at_any_time(void **state) {
    (void)state;
    for (uint64_t round = 0; round < 100; round++) {
        const random_stream s = {.seed = round};
        const int size = 2 + (int)(random_uniform(&s, 0) * (MAX_RANKS - 1));
        departures d;
        medium m;
        result *out = new_results();
        for (int r = 0; r < size; r++)
            d.at[r] = (int)(random_uniform(&s, 1 + (uint64_t)r) * 2 * COLLECTIVES);
        open_medium(&m, false, size, 1, 1);
        m.send_word = send_anytime;
        run_threads(&m, size, live_until_departure, &d, out);
        check_departures(out, &d, size);
        close_medium(&m);
        free_results(out);
    }
}

// ---- Pending transfers when an exchange fails ----

enum { OWN = 0x5A, LATE = 0xEE, MUCH = 1 << 20 }; // bytes: more than sockets hold

// Late data went elsewhere, and pending sends do not read the caller's current memory.
static status check_own(unsigned char *memory, size_t bytes, error *err) {
    memset(memory, OWN, bytes);
    if (sockets_go_on(own_transport, LATE, OWN))
        return error_set(err, STATUS_INPUT, "the caller's memory is still sent");
    for (size_t i = 0; i < bytes; i++)
        if (memory[i] != OWN)
            return error_set(err, STATUS_INPUT, "byte %zu of the caller's memory was written", i);
    return STATUS_OK;
}

// A collective that needs rank 2, which is gone; afterwards the caller owns its memory again.
static status fail_to_gather(comm *c, const void *argument, error *err) {
    const size_t bytes = MUCH * (size_t)(c->size + 1);
    (void)argument;
    if (c->rank == 2) return STATUS_OK;
    unsigned char *memory = calloc(bytes, 1);
    status rc = c->ops->all_gather(c, memory, MUCH, memory + MUCH, err);
    const status own = check_own(memory, bytes, err);
    free(memory);
    return own == STATUS_OK ? rc : own;
}

static status fail_to_reduce(comm *c, const void *argument, error *err) {
    (void)argument;
    if (c->rank == 2) return STATUS_OK;
    float *memory = calloc(MUCH, sizeof *memory);
    status rc = c->ops->reduce_fast(c, memory, MUCH, err);
    const status own = check_own((unsigned char *)memory, MUCH * sizeof *memory, err);
    free(memory);
    return own == STATUS_OK ? rc : own;
}

static void memory_belongs_to_the_caller_after_a_failure(void **state) {
    (void)state;
    const rank_body bodies[] = {fail_to_gather, fail_to_reduce};
    for (int i = 0; i < 2; i++) {
        medium m;
        result *out = new_results();
        open_medium(&m, false, 3, 1, 1);
        run_processes(&m, 3, bodies[i], NULL, out);
        for (int r = 0; r < 2; r++) {
            assert_string_equal(out[r].err.message,
                                "rank 2 left the group while other ranks waited for it");
            assert_int_equal(out[r].rc, STATUS_FAILED);
        }
        close_medium(&m);
        free_results(out);
    }
}

static volatile int *progress; // per rank, shared: the number of collectives that have succeeded

// Rank 2's third exchange fails after the others have received all of it.
static status test_until_third(transport *t, bool *done, error *err) {
    static _Thread_local int exchanges;
    sockets_test(t, done, err);
    status rc = STATUS_OK;
    if (rc != STATUS_OK || !*done || t->rank != 2 || ++exchanges < 3) return rc;
    while (progress[0] < 3 || progress[1] < 3) usleep(1000);
    return error_set(err, STATUS_FAILED, "the line is dead");
}

// The message starts with the number of collectives that succeeded.
static status gather_until_failure(comm *c, const void *argument, error *err) {
    const size_t bytes = 100;
    unsigned char mine[100], all[300];
    int succeeded = 0;
    status rc = STATUS_OK;
    (void)argument;
    for (; rc == STATUS_OK && succeeded < 10; succeeded += rc == STATUS_OK) {
        memset(mine, c->rank * 16 + succeeded, bytes);
        rc = c->ops->all_gather(c, mine, bytes, all, err);
        for (int r = 0; r < c->size && rc == STATUS_OK; r++)
            for (size_t i = 0; i < bytes; i++)
                if (all[(size_t)r * bytes + i] != r * 16 + succeeded)
                    return error_set(err, STATUS_INPUT, "rank %d's part is wrong", r);
        if (rc == STATUS_OK) progress[c->rank]++;
    }
    error_prefix(err, "%d: ", succeeded);
    return rc;
}

static void with_messages_some_ranks_may_succeed(void **state) {
    (void)state;
    static const char *const expected[] = {"3: rank 2 failed", "3: rank 2 failed",
                                           "2: the line is dead"};
    medium m;
    result *out = new_results();
    open_medium(&m, false, 3, 1, 1);
    m.test = test_until_third;
    progress = (volatile int *)(void *)new_results();
    run_processes(&m, 3, gather_until_failure, NULL, out);
    for (int r = 0; r < 3; r++) {
        assert_string_equal(out[r].err.message, expected[r]);
        assert_int_equal(out[r].rc, STATUS_FAILED);
    }
    free_results((result *)(void *)(uintptr_t)progress);
    close_medium(&m);
    free_results(out);
}

static void the_other_ranks_give_up_on_a_stopped_rank(void **state) {
    (void)state;
    expect_news(be_stopped, 1, 1000, "rank 2 is stopped and did not resume in time");
}

static status nap(comm *c, const void *argument, error *err) {
    (void)argument;
    if (c->rank == 1) usleep(1300000);
    return c->ops->barrier(c, err);
}

static void a_slow_rank_is_waited_for(void **state) {
    (void)state;
    medium m;
    result *out = new_results();
    open_medium(&m, true, 3, 1, 1);
    shared_set_stall(m.shared, 1);
    run_processes(&m, 3, nap, NULL, out);
    for (int r = 0; r < 3; r++) assert_int_equal(out[r].rc, STATUS_OK);
    close_medium(&m);
    free_results(out);
}

static status fail_first(comm *c, const void *argument, error *err) {
    shared_memory *s = *(shared_memory *const *)argument;
    if (c->rank == 1) {
        shared_fail(s, 1, SHARED_ERROR);
        shared_fail(s, 0, SHARED_DIED); // the first failure counts
    }
    return c->ops->barrier(c, err);
}

static void a_failure_reaches_every_rank(void **state) {
    (void)state;
    medium m;
    shared_failure how;
    result *out = new_results();
    open_medium(&m, true, 4, 1, 1);
    shared_memory *s = m.shared;
    assert_int_equal(shared_failed(s, &how), -1);
    run_processes(&m, 4, fail_first, &s, out);
    for (int r = 0; r < 4; r++) {
        assert_int_equal(out[r].rc, STATUS_FAILED);
        assert_string_equal(out[r].err.message, "rank 1 failed");
    }
    assert_int_equal(shared_failed(s, &how), 1);
    assert_int_equal(how, SHARED_ERROR);
    close_medium(&m);
    free_results(out);
}

// ---- Shared memory ----

static void bad_arguments_are_refused(void **state) {
    (void)state;
    error err;
    shared_memory *s;
    assert_int_equal(shared_create(SHARED_MAX_RANKS + 1, 1, 1, &s, &err), STATUS_USAGE);
    assert_null(s);
    assert_int_equal(shared_create(2, SIZE_MAX / 8, 1, &s, &err), STATUS_USAGE);
    assert_int_equal(shared_open(-1, 0, &s, &err), STATUS_FAILED);
    assert_int_equal(shared_open(open("/dev/null", O_RDWR), 0, &s, &err), STATUS_FAILED);
    assert_non_null(strstr(err.message, "not this group's"));
    assert_null(s);
}

static void only_the_right_token_opens_shared_memory(void **state) {
    (void)state;
    error err;
    shared_memory *s, *other;
    assert_int_equal(shared_create(2, 100, 100, &s, &err), STATUS_OK);
    const uint64_t token = shared_token(s);
    assert_int_equal(shared_open(dup(shared_file(s)), token + 1, &other, &err), STATUS_FAILED);
    assert_non_null(strstr(err.message, "not this group's"));
    assert_int_equal(shared_open(dup(shared_file(s)), token, &other, &err), STATUS_OK);
    assert_int_equal(shared_size(other), 2);
    size_t room;
    shared_vectors(s, 1, &room)[room - 1] = 42; // both see the same memory
    assert_true(shared_vectors(other, 1, &room)[room - 1] == 42);
    shared_free(other);
    shared_free(s);
    shared_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_gather_puts_ranks_in_order),
        cmocka_unit_test(reduce_exact_gives_the_bits_of_the_tree),
        cmocka_unit_test(a_group_of_one_needs_no_shared_memory),
        cmocka_unit_test(bytes_are_counted),
        cmocka_unit_test(reduce_fast_adds_in_rank_order),
        cmocka_unit_test(collectives_take_turns),
        cmocka_unit_test(the_other_ranks_detect_a_death),
        cmocka_unit_test(the_other_ranks_detect_that_a_rank_left),
        cmocka_unit_test(the_rank_that_left_is_named),
        cmocka_unit_test(ranks_may_leave_at_any_time),
        cmocka_unit_test(memory_belongs_to_the_caller_after_a_failure),
        cmocka_unit_test(with_messages_some_ranks_may_succeed),
        cmocka_unit_test(the_other_ranks_give_up_on_a_stopped_rank),
        cmocka_unit_test(a_slow_rank_is_waited_for),
        cmocka_unit_test(a_failure_reaches_every_rank),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(only_the_right_token_opens_shared_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
