// SPDX-License-Identifier: MIT
#include "dist/comm_messages.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "dist/terms.h"

enum {
    // A waiting rank first spins, then yields the processor between two looks, then sleeps, because
    // being woken takes longer than an exchange. The first phase is short: the rank that it waits
    // for may need this processor (two ranks on one core: seven times as slow with 20 µs).
    SPIN_NS = 2000,
    YIELD_NS = 2000000,
    SLEEP_NS = 100000,
    DRAIN_MS = 2000,    // how long a failed rank keeps sending its pending messages
    ROUND = (1 << 22),  // floats per rank that are reduced at a time
    GATHER = (1 << 24), // bytes per rank that are gathered at a time
};

// A rank's status word, sent when it finalizes or fails: how many exchanges it has completed, which
// rank is the cause, and whether that rank finalized or failed. Every word names the cause, because
// words of different ranks may arrive in any order.
enum { WORD_FINALIZED = 1, WORD_CAUSE = 1, WORD_EXCHANGES = 24 }; // a bit; offsets of the others

static const uint64_t NO_WORD = UINT64_MAX; // instead of a word, for a rank that has sent none

// Memory for messages. The transport reads and writes no other memory: a failed exchange may still
// be under way when the caller has its own memory back, and sent data must not change, because
// another rank may still receive them.
typedef struct mail {
    void *at;
    size_t room; // bytes
} mail;

typedef struct group {
    comm base;
    transport *transport;
    terms terms;                       // of the reduction in progress
    transport_message *receive, *send; // of the exchange in progress
    mail incoming, outgoing;
    mail parts;         // this rank's slices of all terms, and its sum of them
    uint64_t exchanges; // completed here
    uint64_t *words;    // by rank, or NO_WORD
    int words_received; // ranks whose word has arrived
    bool failed;
    // For own_word: the rank that is the cause, and whether it finalized. Until something fails,
    // that is this rank, which may finalize.
    int cause;
    bool cause_finalized;
} group;

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static group *group_of(comm *c) {
    return (group *)(void *)c; // its first member
}

// ---- Departures ----

static uint64_t own_word(const group *g) {
    return g->exchanges << WORD_EXCHANGES | (uint64_t)g->cause << WORD_CAUSE |
           (g->cause_finalized ? WORD_FINALIZED : 0);
}

static int cause_of(uint64_t word) {
    return (int)(word >> WORD_CAUSE & ((1 << (WORD_EXCHANGES - WORD_CAUSE)) - 1));
}

// Returns true if the rank that sent this word finalized by itself.
static bool finalized_itself(int rank, uint64_t word) {
    return cause_of(word) == rank && word & WORD_FINALIZED;
}

// Sends the word to every rank that can be reached, even if another one cannot.
static status send_words(group *g) {
    transport *t = g->transport;
    error ignored;
    status rc = STATUS_OK;
    for (int r = 0; r < t->size; r++)
        if (r != t->rank && t->ops->send_word(t, r, own_word(g), &ignored) != STATUS_OK)
            rc = STATUS_FAILED;
    return rc;
}

static status receive_words(group *g, error *err) {
    transport *t = g->transport;
    for (;;) {
        int peer;
        uint64_t word;
        NEED(t->ops->receive_word(t, &peer, &word, err));
        if (peer < 0) break;
        g->words[peer] = word;
        g->words_received++;
    }
    return STATUS_OK;
}

// Returns the word of a rank that takes no part in exchange `number`, or NO_WORD if there is none.
// Prefers a word whose cause finalized to one whose cause failed.
static uint64_t find_missing(const group *g, uint64_t number) {
    uint64_t missing = NO_WORD;
    for (int r = 0; r < g->base.size && g->words_received > 0; r++) {
        const uint64_t word = g->words[r];
        if (word == NO_WORD || word >> WORD_EXCHANGES > number) continue;
        if (missing == NO_WORD || word & WORD_FINALIZED) missing = word;
    }
    return missing;
}

static void record_failure(group *g, uint64_t word) {
    g->cause = cause_of(word);
    g->cause_finalized = word & WORD_FINALIZED;
}

static status report_failure(const group *g, error *err) {
    if (g->cause == g->base.rank)
        return error_set(err, STATUS_FAILED, "message exchange between ranks failed");
    return error_set(err, STATUS_FAILED, "rank %d %s", g->cause,
                     g->cause_finalized ? "left the group while other ranks waited for it"
                                        : "failed");
}

static void sleep_briefly(void) {
    const struct timespec time = {.tv_nsec = SLEEP_NS};
    (void)nanosleep(&time, NULL);
}

static void pause_after(uint64_t waited) {
    if (waited > YIELD_NS)
        sleep_briefly();
    else if (waited > SPIN_NS)
        sched_yield();
}

// Notifies the others, and lets pending messages arrive: a transport may progress only when called.
static void abort_group(group *g) {
    const uint64_t end = clock_now() + DRAIN_MS * UINT64_C(1000000);
    error ignored;
    g->failed = true;
    if (g->cause == g->base.rank) g->cause_finalized = false;
    (void)send_words(g);
    while (g->words_received < g->base.size - 1 && clock_now() < end) {
        sleep_briefly();
        if (receive_words(g, &ignored) != STATUS_OK) break;
    }
}

// ---- Exchanges ----

static status wait_for_messages(group *g, error *err) {
    transport *t = g->transport;
    const uint64_t begin = clock_now();
    bool done;
    status rc = STATUS_OK;
    for (;;) {
        TRY(t->ops->test(t, &done, err));
        if (done) break;
        const uint64_t waited = clock_now() - begin;
        pause_after(waited);
        if (waited < SPIN_NS) continue;
        TRY(receive_words(g, err));
        const uint64_t missing = find_missing(g, g->exchanges);
        if (missing != NO_WORD) {
            record_failure(g, missing);
            rc = report_failure(g, err);
            break;
        }
    }
out:
    return rc;
}

// Exchanges the first `receives` and `sends` of g's messages.
static status exchange(group *g, int receives, int sends, error *err) {
    transport *t = g->transport;
    status rc;
    TRY(t->ops->begin(t, g->receive, receives, g->send, sends, err));
    TRY(wait_for_messages(g, err));
    g->exchanges++;
    for (int i = 0; i < receives; i++) g->base.bytes_received += g->receive[i].bytes;
    for (int i = 0; i < sends; i++) g->base.bytes_sent += g->send[i].bytes;
out:
    if (rc != STATUS_OK) abort_group(g);
    return rc;
}

static status make_room(mail *m, size_t bytes, error *err) {
    if (bytes <= m->room) return STATUS_OK;
    free(m->at);
    m->room = 0;
    m->at = memory_try_new_aligned(bytes, 1, err);
    if (!m->at) return STATUS_FAILED;
    m->room = bytes;
    return STATUS_OK;
}

// After a failure every collective fails, and touches no messages: they may still be under way.
static status check_whole(const group *g, error *err) {
    return g->failed ? report_failure(g, err) : STATUS_OK;
}

static status barrier(comm *c, error *err) {
    group *g = group_of(c);
    NEED(check_whole(g, err));
    NEED(make_room(&g->incoming, 1, err));
    NEED(make_room(&g->outgoing, 1, err));
    for (int distance = 1; distance < c->size; distance *= 2) {
        g->receive[0] =
            (transport_message){(c->rank + c->size - distance) % c->size, g->incoming.at, 1};
        g->send[0] = (transport_message){(c->rank + distance) % c->size, g->outgoing.at, 1};
        NEED(exchange(g, 1, 1, err));
    }
    return STATUS_OK;
}

static status gather_round(group *g, const unsigned char *mine, size_t bytes, size_t stride,
                           unsigned char *all, error *err) {
    const int rank = g->base.rank, size = g->base.size;
    int count = 0;
    NEED(make_room(&g->incoming, (size_t)size * bytes, err));
    NEED(make_room(&g->outgoing, bytes, err));
    unsigned char *const from = g->incoming.at;
    memcpy(g->outgoing.at, mine, bytes);
    for (int r = 0; r < size; r++) {
        if (r == rank) continue;
        g->receive[count] = (transport_message){r, from + (size_t)r * bytes, bytes};
        g->send[count++] = (transport_message){r, g->outgoing.at, bytes};
    }
    NEED(exchange(g, count, count, err));
    for (int r = 0; r < size; r++)
        memcpy(all + (size_t)r * stride, r == rank ? mine : from + (size_t)r * bytes, bytes);
    return STATUS_OK;
}

static status all_gather(comm *c, const void *mine, size_t bytes, void *all, error *err) {
    NEED(check_whole(group_of(c), err));
    for (size_t at = 0; at < bytes; at += GATHER)
        NEED(gather_round(group_of(c), (const unsigned char *)mine + at,
                          smaller(GATHER, bytes - at), bytes, (unsigned char *)all + at, err));
    return STATUS_OK;
}

// ---- Reducing ----

// A range of a vector that is reduced in one round.
typedef struct piece {
    size_t first, length;
} piece;

// Term i of all ranks is received into part i. This rank's own terms stay in place. The sum goes to
// part 0; if a received term lies there, it is the first one added.
static status find_terms(group *g, const float *const *mine, const piece *p, error *err) {
    terms *t = &g->terms;
    const slice own = slice_of(p->length, g->base.size, g->base.rank);
    const int all = t->first[g->base.size], first = t->first[g->base.rank];
    const size_t n = own.high - own.low;
    if (n == 0) return STATUS_OK;
    NEED(make_room(&g->parts, n * (size_t)(all > 0 ? all : 1) * sizeof(float), err));
    for (int i = 0; i < all; i++) t->at[i] = (float *)g->parts.at + (size_t)i * n;
    for (int k = 0; k < terms_count(t, g->base.rank); k++)
        t->at[first + k] = mine[k] + p->first + own.low;
    return STATUS_OK;
}

// Adds no message if n is 0: a rank's slice may be empty.
static void add_message(transport_message *list, int *count, int peer, const mail *m, size_t first,
                        size_t n) {
    if (n > 0)
        list[(*count)++] = (transport_message){peer, (float *)m->at + first, n * sizeof(float)};
}

// Sends the other ranks their slices of this rank's vectors, and receives its own slice of theirs.
static status exchange_terms(group *g, const float *const *mine, const piece *p, error *err) {
    const terms *t = &g->terms;
    const int rank = g->base.rank, size = g->base.size, count = terms_count(t, rank);
    const slice own = slice_of(p->length, size, rank);
    const size_t n = own.high - own.low;
    int receives = 0, sends = 0;
    NEED(make_room(&g->outgoing, (size_t)count * p->length * sizeof(float), err));
    for (int k = 0; k < count; k++)
        memcpy((float *)g->outgoing.at + (size_t)k * p->length, mine[k] + p->first,
               p->length * sizeof(float));
    for (int r = 0; r < size; r++) {
        const slice theirs = slice_of(p->length, size, r);
        if (r == rank) continue;
        for (int i = t->first[r]; i < t->first[r + 1]; i++)
            add_message(g->receive, &receives, r, &g->parts, (size_t)i * n, n);
        for (int k = 0; k < count; k++)
            add_message(g->send, &sends, r, &g->outgoing, (size_t)k * p->length + theirs.low,
                        theirs.high - theirs.low);
    }
    return exchange(g, receives, sends, err);
}

// This rank's sum is in part 0.
static status exchange_sums(group *g, float *out, const piece *p, error *err) {
    const int rank = g->base.rank, size = g->base.size;
    const slice own = slice_of(p->length, size, rank);
    int receives = 0, sends = 0;
    NEED(make_room(&g->incoming, p->length * sizeof(float), err));
    for (int r = 0; r < size; r++) {
        const slice theirs = slice_of(p->length, size, r);
        if (r == rank) continue;
        add_message(g->receive, &receives, r, &g->incoming, theirs.low, theirs.high - theirs.low);
        add_message(g->send, &sends, r, &g->parts, 0, own.high - own.low);
    }
    NEED(exchange(g, receives, sends, err));
    const float *const from = g->incoming.at;
    memcpy(out, from, own.low * sizeof *out);
    if (own.high > own.low) memcpy(out + own.low, g->parts.at, (own.high - own.low) * sizeof *out);
    memcpy(out + own.high, from + own.high, (p->length - own.high) * sizeof *out);
    return STATUS_OK;
}

static status reduce_round(group *g, const float *const *mine, float *out, const piece *p,
                           error *err) {
    const slice own = slice_of(p->length, g->base.size, g->base.rank);
    NEED(find_terms(g, mine, p, err));
    NEED(exchange_terms(g, mine, p, err));
    // A sum in rank order can only overwrite the first term.
    if (own.high > own.low) terms_sum(&g->terms, g->parts.at, own.high - own.low);
    return exchange_sums(g, out + p->first, p, err);
}

static status reduce(group *g, const float *const *mine, float *out, size_t n, error *err) {
    const size_t most = (size_t)terms_most(&g->terms), length = ROUND / (most > 0 ? most : 1);
    NEED(check_whole(g, err));
    for (size_t at = 0; at < n; at += length) {
        const piece p = {at, smaller(length, n - at)};
        NEED(reduce_round(g, mine, out, &p, err));
    }
    return STATUS_OK;
}

static status reduce_exact(comm *c, const comm_ownership *own, const float *const *term, float *out,
                           size_t n, error *err) {
    group *g = group_of(c);
    terms_set_exact(&g->terms, own);
    return reduce(g, term, out, n, err);
}

static status reduce_fast(comm *c, float *values, size_t n, error *err) {
    group *g = group_of(c);
    const float *const mine[] = {values};
    terms_set_fast(&g->terms);
    return reduce(g, mine, values, n, err);
}

// ---- Lifetime ----

// The caller waits for something that all others should have done already: any rank that left is
// missing.
static status alive(comm *c, error *err) {
    group *g = group_of(c);
    status rc = STATUS_OK;
    if (!g->failed) TRY(receive_words(g, err));
    if (!g->failed && g->words_received == 0) return rc;
    if (!g->failed) record_failure(g, find_missing(g, NO_WORD));
    rc = report_failure(g, err);
out:
    if (rc != STATUS_OK && !g->failed) abort_group(g);
    return rc;
}

// Finalizes: all ranks close together, none before the last one arrives, because rank 0 may still
// have files to write. Returns false if a rank failed, or if this rank's word cannot be sent.
static bool finalize(group *g) {
    error ignored;
    status rc = send_words(g);
    while (rc == STATUS_OK && g->words_received < g->base.size - 1) {
        sleep_briefly();
        rc = receive_words(g, &ignored);
    }
    for (int r = 0; r < g->base.size; r++)
        if (r != g->base.rank && g->words[r] != NO_WORD && !finalized_itself(r, g->words[r]))
            return false;
    return rc == STATUS_OK;
}

// `untouched`: no message to or from the group's memory is under way; else it is never freed.
static void free_group(group *g, bool untouched) {
    terms_release(&g->terms);
    free(g->receive);
    free(g->send);
    free(g->words);
    if (untouched) {
        free(g->incoming.at);
        free(g->outgoing.at);
        free(g->parts.at);
    }
    free(g);
}

static void release(comm *c) {
    group *g = group_of(c);
    const bool orderly = !g->failed && finalize(g);
    const bool untouched = g->transport->ops->close(g->transport, orderly);
    free_group(g, untouched);
}

static const comm_ops ops = {
    .all_gather = all_gather,
    .reduce_exact = reduce_exact,
    .reduce_fast = reduce_fast,
    .barrier = barrier,
    .alive = alive,
    .free = release,
};

comm *comm_messages(transport *t) {
    const size_t size = (size_t)t->size;
    group *g = memory_new(1, sizeof *g);
    g->base = (comm){.ops = &ops, .transport = t->ops->name, .rank = t->rank, .size = t->size};
    g->transport = t;
    g->receive = memory_new(size * TERMS_MAX, sizeof *g->receive);
    g->send = memory_new(size * TERMS_MAX, sizeof *g->send);
    g->words = memory_new(size, sizeof *g->words);
    for (size_t r = 0; r < size; r++) g->words[r] = NO_WORD;
    g->cause = t->rank;
    g->cause_finalized = true;
    terms_init(&g->terms, t->size);
    return &g->base;
}
