// The rendezvous: rank 0 listens; every other rank connects and says who it is. When all are there,
// rank 0 tells each where the shared memory is (a descriptor of its own, which the others open
// through /proc), each answers whether it could map it, and the connections close. Whatever is
// wrong with one rank is told to all of them: nobody is left waiting.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "dist/comm_shm.h"
#include "dist/endpoint.h"
#include "dist/launch.h"
#include "dist/launch_mpi.h"

enum {
    PROTOCOL = 1,       // version of the two messages below
    HELLO_MS = 1000,    // how long a connection may take to say what it wants
    FAREWELL_MS = 2000, // what a rank waits longer than rank 0, to hear from it who is missing
    HOST_BYTES = 128,
};

static const char magic[8] = {'L', 'O', 'C', 'K', 'S', 'T', 'E', 'P'};

typedef struct hello {
    char magic[8];
    uint32_t protocol;
    int32_t size, rank;
    uint64_t n, gather_bytes;
    char host[HOST_BYTES];
} hello;

typedef struct answer {
    char magic[8];
    uint32_t protocol;
    int32_t code;          // a status; the text says why
    int32_t process, file; // where the shared memory is
    uint64_t token;
    char text[1024];
} answer;

static uint64_t after(uint64_t milliseconds) {
    return clock_now() + milliseconds * 1000000;
}

// What two processes that can map each other's memory have in common: the boot of the kernel, and
// the space of process numbers (containers on one host have their own).
static void name_host(char *host) {
    char boot[64] = "", space[48] = "";
    const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        const ssize_t got = read(file, boot, sizeof boot - 1);
        boot[got > 0 ? strcspn(boot, "\n") : 0] = 0;
        close(file);
    }
    if (readlink("/proc/self/ns/pid", space, sizeof space - 1) < 0) space[0] = 0;
    snprintf(host, HOST_BYTES, "%s %s", boot, space);
}

static hello introduce(const launch_environment *env, size_t n, size_t gather_bytes) {
    hello h = {.protocol = PROTOCOL,
               .size = env->size,
               .rank = env->rank,
               .n = n,
               .gather_bytes = gather_bytes};
    memcpy(h.magic, magic, sizeof magic);
    name_host(h.host);
    return h;
}

// ---- Rank 0 ----

typedef struct meeting {
    const launch_environment *env;
    hello own;
    int listener;
    int *peers; // connections by rank; -1: not there
    int present;
} meeting;

static status check_hello(const meeting *m, const hello *h, error *err) {
    const char *const what = "cannot start the group";
    if (h->protocol != PROTOCOL)
        return error_set(err, STATUS_USAGE, "%s: rank %d is of another version of lockstep", what,
                         h->rank);
    if (h->size != m->own.size)
        return error_set(err, STATUS_USAGE, "%s: rank %d says WORLD_SIZE=%d, rank 0 says %d", what,
                         h->rank, h->size, m->own.size);
    if (h->rank < 1 || h->rank >= h->size || m->peers[h->rank] >= 0)
        return error_set(err, STATUS_USAGE, "%s: two processes say RANK=%d", what, h->rank);
    if (memcmp(h->host, m->own.host, sizeof h->host) != 0)
        return error_set(
            err, STATUS_USAGE,
            "%s: rank %d is on another host, or in another container, than rank 0: "
            "several hosts need MPI: start the ranks with mpirun or srun, without MASTER_ADDR",
            what, h->rank);
    if (h->n != m->own.n || h->gather_bytes != m->own.gather_bytes)
        return error_set(err, STATUS_USAGE, "%s: ranks 0 and %d do not run the same experiment",
                         what, h->rank);
    return STATUS_OK;
}

static answer refusal(status rc, const error *err) {
    answer a = {.protocol = PROTOCOL, .code = (int32_t)rc};
    memcpy(a.magic, magic, sizeof magic);
    if (rc == STATUS_STOPPED) a.code = STATUS_FAILED; // rank 0 was asked to, the others were not
    snprintf(a.text, sizeof a.text, "%.1000s",
             rc == STATUS_STOPPED ? "cannot join the group: rank 0 was stopped"
             : err                ? err->message
                                  : "cannot join the group");
    return a;
}

static answer invitation(const shared_memory *s) {
    answer a = {.protocol = PROTOCOL,
                .process = (int32_t)getpid(),
                .file = shared_file(s),
                .token = shared_token(s)};
    memcpy(a.magic, magic, sizeof magic);
    return a;
}

// Takes the connection over. One that does not speak the protocol is none of ours.
static status welcome(meeting *m, int connection, error *err) {
    hello h;
    endpoint_news news;
    status rc = endpoint_receive(connection, &h, sizeof h, after(HELLO_MS), &news, err);
    if (rc != STATUS_OK || news != ENDPOINT_WHOLE || memcmp(h.magic, magic, sizeof magic) != 0) {
        close(connection);
        return rc;
    }
    // A rank that gave up and was started again replaces its former self.
    if (h.rank > 0 && h.rank < m->own.size && m->peers[h.rank] >= 0 &&
        endpoint_closed(m->peers[h.rank])) {
        close(m->peers[h.rank]);
        m->peers[h.rank] = -1;
        m->present--;
    }
    rc = check_hello(m, &h, err);
    if (rc == STATUS_OK) {
        m->peers[h.rank] = connection;
        m->present++;
        return STATUS_OK;
    }
    const answer a = refusal(rc, err);
    endpoint_send(connection, &a, sizeof a);
    close(connection);
    return rc;
}

static status name_missing(const meeting *m, error *err) {
    char list[256];
    size_t used = 0;
    for (int r = 1; r < m->own.size && used < sizeof list - 16; r++)
        if (m->peers[r] < 0)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%d", used ? ", " : "", r);
    return error_set(err, STATUS_FAILED,
                     "cannot start the group: %d of %d ranks did not come within %d s: %s%s",
                     m->own.size - m->present, m->own.size, m->env->seconds, list,
                     used < sizeof list - 16 ? "" : ", and more");
}

static status gather_peers(meeting *m, uint64_t deadline, error *err) {
    while (m->present < m->own.size) {
        int connection;
        status rc = endpoint_accept(m->listener, deadline, &connection, err);
        if (rc == STATUS_OK && connection < 0) rc = name_missing(m, err);
        if (rc == STATUS_OK) rc = welcome(m, connection, err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

static void tell_all(const meeting *m, const answer *a) {
    for (int r = 1; r < m->own.size; r++)
        if (m->peers[r] >= 0) endpoint_send(m->peers[r], a, sizeof *a);
}

// Waits until every peer has mapped the shared memory: from then on its lock tells whether it
// lives.
static status await_peers(const meeting *m, shared_memory *s, uint64_t deadline, error *err) {
    for (int r = 1; r < m->own.size; r++) {
        int32_t code = STATUS_FAILED;
        endpoint_news news;
        status rc = endpoint_receive(m->peers[r], &code, sizeof code, deadline, &news, err);
        if (rc == STATUS_OK && (news != ENDPOINT_WHOLE || code != STATUS_OK)) {
            shared_fail(s, r, SHARED_DIED);
            rc = error_set(err, STATUS_FAILED, "cannot start the group: rank %d %s", r,
                           news == ENDPOINT_WHOLE ? "could not map the shared memory"
                                                  : "ended while it joined");
        }
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

static status found_group(meeting *m, comm **c, error *err) {
    const uint64_t deadline = after((uint64_t)m->env->seconds * 1000);
    shared_memory *s;
    answer a;
    status rc;
    TRY(endpoint_listen(m->env->address, m->env->port, &m->listener, err));
    TRY(gather_peers(m, deadline, err));
    TRY(shared_create(m->own.size, m->own.n, m->own.gather_bytes, &s, err));
    TRY(comm_shm(s, 0, true, c, err));
    a = invitation(s);
    tell_all(m, &a);
    return await_peers(m, s, after(FAREWELL_MS), err);
out:
    a = refusal(rc, err);
    tell_all(m, &a);
    return rc;
}

static status lead(const launch_environment *env, const hello *own, comm **c, error *err) {
    meeting m = {.env = env, .own = *own, .listener = -1, .present = 1};
    m.peers = memory_new((size_t)env->size, sizeof *m.peers, err);
    if (!m.peers) return STATUS_FAILED;
    for (int r = 0; r < env->size; r++) m.peers[r] = -1;
    status rc = found_group(&m, c, err);
    if (rc != STATUS_OK) {
        comm_free(*c);
        *c = NULL;
    }
    for (int r = 0; r < env->size; r++)
        if (m.peers[r] >= 0) close(m.peers[r]);
    if (m.listener >= 0) close(m.listener);
    free(m.peers);
    return rc;
}

// ---- The others ----

static status read_answer(const launch_environment *env, int connection, uint64_t deadline,
                          answer *a, error *err) {
    endpoint_news news;
    status rc = endpoint_receive(connection, a, sizeof *a, deadline, &news, err);
    if (rc != STATUS_OK) return rc;
    if (news == ENDPOINT_LATE)
        return error_set(err, STATUS_FAILED,
                         "cannot join the group: not all ranks came to '%s:%d' within %d s",
                         env->address, env->port, env->seconds);
    if (news == ENDPOINT_CLOSED)
        return error_set(err, STATUS_FAILED,
                         "cannot join the group: '%s:%d' hung up: rank 0 ended, or it is another "
                         "program",
                         env->address, env->port);
    if (memcmp(a->magic, magic, sizeof magic) != 0 || a->protocol != PROTOCOL)
        return error_set(err, STATUS_FAILED, "cannot join the group: '%s:%d' is not rank 0",
                         env->address, env->port);
    a->text[sizeof a->text - 1] = 0;
    if (a->code != STATUS_OK) return error_set(err, (status)a->code, "%s", a->text);
    return STATUS_OK;
}

static status follow(const launch_environment *env, const hello *own, comm **c, error *err) {
    const uint64_t deadline = after((uint64_t)env->seconds * 1000);
    int connection = -1;
    answer a;
    shared_memory *s;
    status rc;
    TRY(endpoint_connect(env->address, env->port, deadline, &connection, err));
    if (connection < 0) {
        rc = error_set(err, STATUS_FAILED,
                       "cannot join the group: rank 0 did not come to '%s:%d' within %d s",
                       env->address, env->port, env->seconds);
        goto out;
    }
    endpoint_send(connection, own, sizeof *own);
    TRY(read_answer(env, connection, deadline + FAREWELL_MS * UINT64_C(1000000), &a, err));
    rc = shared_open((pid_t)a.process, a.file, a.token, &s, err);
    if (rc == STATUS_OK) rc = comm_shm(s, env->rank, true, c, err);
    const int32_t code = (int32_t)rc;
    endpoint_send(connection, &code, sizeof code);
out:
    if (connection >= 0) close(connection);
    return rc;
}

status launch_join(const launch_environment *env, size_t n, size_t gather_bytes, comm **c,
                   error *err) {
    *c = NULL;
    if (env->size == 1) return comm_self(c, err);
    if (env->mpi) return launch_mpi_join(env->rank, env->size, c, err);
    const hello own = introduce(env, n, gather_bytes);
    return env->rank == 0 ? lead(env, &own, c, err) : follow(env, &own, c, err);
}

void launch_excuse(const launch_environment *env) {
    error unsaid; // why this rank ends is said already
    comm *c;
    if (env->joined && env->mpi && launch_join(env, 0, 0, &c, &unsaid) == STATUS_OK) comm_free(c);
}
