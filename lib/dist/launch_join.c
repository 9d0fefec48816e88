// SPDX-License-Identifier: MIT
// The rendezvous. Rank 0 listens; every other rank connects and sends its number. When all have
// connected, rank 0 sends each the shared memory, each replies whether it could map it, and the
// connections close. If rank 0 or an accepted rank fails, all accepted ranks receive the reason, so
// none is left waiting. A process that does not match receives the reason and is refused, and the
// others go on waiting: it may belong to another group.
#include "dist/launch_join.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "dist/comm_shm.h"
#include "dist/endpoint.h"
#include "dist/launch_mpi.h"

enum {
    PROTOCOL = 2,       // version of the two messages below
    MAPPING_MS = 10000, // how long a rank may take to map the shared memory
    REPORT_MS = 2000,   // extra wait of the other ranks, for rank 0's message about missing ranks
    PENDING_MAX = 64,   // connections that have not sent anything yet
    HOST_BYTES = 128,
};

static const char magic[8] = {'L', 'O', 'C', 'K', 'S', 'T', 'E', 'P'};

typedef struct hello {
    char magic[8];
    uint32_t protocol;
    int32_t size, rank, unused;
    uint64_t n, gather_bytes;
    char host[HOST_BYTES];
} hello;

typedef struct answer {
    char magic[8];
    uint32_t protocol;
    int32_t code; // a status; the text has the reason. STATUS_OK: the shared memory is attached
    uint64_t token;
    char text[1024];
} answer;

static_assert(sizeof(hello) == 8 + 4 * 4 + 2 * 8 + HOST_BYTES, "messages have no padding");
static_assert(sizeof(answer) == 8 + 2 * 4 + 8 + 1024, "messages have no padding");

static uint64_t after(uint64_t milliseconds) {
    return clock_now() + milliseconds * 1000000;
}

// Writes the identity that processes share if they can watch each other: the kernel's boot, and the
// process number space (containers on one host have their own). Nothing of it without /proc.
static status name_host(char *host, error *err) {
    const char *path = "/proc/sys/kernel/random/boot_id";
    char boot[64] = "", space[48] = "";
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = file < 0 ? -1 : read(file, boot, sizeof boot - 1);
    const int why = errno;
    if (file >= 0) close(file);
    if (got < 0 && why != ENOENT)
        return error_system(err, STATUS_FAILED, why, "cannot read: '%s'", path);
    boot[strcspn(boot, "\n")] = 0;
    if (readlink("/proc/self/ns/pid", space, sizeof space - 1) < 0) space[0] = 0;
    snprintf(host, HOST_BYTES, "%s %s", boot, space);
    return STATUS_OK;
}

static status make_hello(const launch_environment *env, size_t n, size_t gather_bytes, hello *h,
                         error *err) {
    *h = (hello){.protocol = PROTOCOL,
                 .size = env->size,
                 .rank = env->rank,
                 .n = n,
                 .gather_bytes = gather_bytes};
    memcpy(h->magic, magic, sizeof magic);
    return name_host(h->host, err);
}

// The remedy if ranks are missing and, by the launcher's numbers, some are on other hosts.
static const char *remedy(const launch_environment *env) {
    return env->local_size < env->size ? ": ranks on several hosts need MPI: start them with "
                                         "mpirun or srun, without MASTER_ADDR"
                                       : "";
}

// ---- Rank 0 ----

typedef struct rendezvous {
    const launch_environment *env;
    hello own;
    int listener;
    int *peers; // connections by rank; -1: none yet
    int present;
    int pending[PENDING_MAX], waiting; // connections without a message so far, oldest first
    error refused;                     // the reason for the last refusal; or nothing
} rendezvous;

// Checks whether a process matches. The message goes to that process and to the others.
static status check_hello(const rendezvous *m, const hello *h, error *err) {
    if (h->protocol != PROTOCOL)
        return error_set(err, STATUS_USAGE, "rank %d runs another version of lockstep", h->rank);
    if (h->size != m->own.size)
        return error_set(err, STATUS_USAGE, "rank %d has WORLD_SIZE=%d, rank 0 has %d", h->rank,
                         h->size, m->own.size);
    if (h->rank < 1 || h->rank >= h->size || m->peers[h->rank] >= 0)
        return error_set(err, STATUS_USAGE, "two processes have RANK=%d", h->rank);
    if (memcmp(h->host, m->own.host, sizeof h->host) != 0)
        return error_set(err, STATUS_USAGE,
                         "rank %d is in a different container than rank 0: ranks that cannot share "
                         "memory need MPI: start them with mpirun or srun, without MASTER_ADDR",
                         h->rank);
    if (h->n != m->own.n || h->gather_bytes != m->own.gather_bytes)
        return error_set(err, STATUS_USAGE, "ranks 0 and %d do not run the same experiment",
                         h->rank);
    return STATUS_OK;
}

static answer refusal(status rc, const error *err) {
    answer a = {.protocol = PROTOCOL, .code = (int32_t)rc};
    memcpy(a.magic, magic, sizeof magic);
    if (rc == STATUS_STOPPED) a.code = STATUS_FAILED; // only rank 0 was asked to stop
    snprintf(a.text, sizeof a.text, "%.1000s",
             rc == STATUS_STOPPED ? "cannot join the group: rank 0 was stopped"
             : err                ? err->message
                                  : "cannot join the group");
    return a;
}

static answer acceptance(const shared_memory *s) {
    answer a = {.protocol = PROTOCOL, .token = shared_token(s)};
    memcpy(a.magic, magic, sizeof magic);
    return a;
}

static void refuse(const rendezvous *m, int connection, status rc) {
    error why = m->refused;
    error_prefix(&why, "cannot join the group: ");
    const answer a = refusal(rc, &why);
    endpoint_send(connection, &a, sizeof a, -1);
    close(connection);
}

// Takes ownership of the connection.
static void admit(rendezvous *m, const hello *h, int connection) {
    // A rank that ended and was started again replaces its previous connection.
    if (h->rank > 0 && h->rank < m->own.size && m->peers[h->rank] >= 0 &&
        endpoint_closed(m->peers[h->rank])) {
        close(m->peers[h->rank]);
        m->peers[h->rank] = -1;
        m->present--;
    }
    status rc = check_hello(m, h, &m->refused);
    if (rc != STATUS_OK) {
        refuse(m, connection, rc);
        return;
    }
    m->peers[h->rank] = connection;
    m->present++;
}

static int remove_pending(rendezvous *m, int i) {
    const int connection = m->pending[i];
    m->waiting--;
    memmove(m->pending + i, m->pending + i + 1, (size_t)(m->waiting - i) * sizeof(int));
    return connection;
}

// Closes a connection that does not use the protocol: it belongs to another program.
static void read_hello(rendezvous *m, int i) {
    hello h;
    const endpoint_outcome outcome = endpoint_try_receive(m->pending[i], &h, sizeof h, NULL);
    if (outcome == ENDPOINT_LATE) return;
    const int connection = remove_pending(m, i);
    if (outcome == ENDPOINT_WHOLE && memcmp(h.magic, magic, sizeof magic) == 0)
        admit(m, &h, connection);
    else
        close(connection);
}

// If there is no more room, the connection that has been silent longest is closed.
static status accept_pending(rendezvous *m, error *err) {
    int connection;
    status rc = endpoint_accept(m->listener, &connection, err);
    if (rc != STATUS_OK || connection < 0) return rc;
    if (m->waiting == PENDING_MAX) close(remove_pending(m, 0));
    m->pending[m->waiting++] = connection;
    return STATUS_OK;
}

static status report_missing(const rendezvous *m, error *err) {
    char list[256];
    size_t used = 0;
    const char *const why = m->refused.message;
    for (int r = 1; r < m->own.size && used < sizeof list - 16; r++)
        if (m->peers[r] < 0)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%d", used ? ", " : "", r);
    return error_set(
        err, STATUS_FAILED,
        "cannot start the group: %d of %d ranks did not connect within %d s: %s%s%s%s%s",
        m->own.size - m->present, m->own.size, m->env->seconds, list,
        used < sizeof list - 16 ? "" : ", and more",
        *why ? "; one connected and was refused: " : "", why, *why ? "" : remedy(m->env));
}

static status gather_peers(rendezvous *m, uint64_t deadline, error *err) {
    while (m->present < m->own.size) {
        struct pollfd at[1 + PENDING_MAX] = {{.fd = m->listener, .events = POLLIN}};
        const int waiting = m->waiting;
        bool ready;
        for (int i = 0; i < waiting; i++)
            at[1 + i] = (struct pollfd){.fd = m->pending[i], .events = POLLIN};
        status rc = endpoint_wait(at, 1 + (size_t)waiting, deadline, &ready, err);
        if (rc == STATUS_OK && !ready) rc = report_missing(m, err);
        if (rc != STATUS_OK) return rc;
        for (int i = waiting - 1; i >= 0; i--)
            if (at[1 + i].revents) read_hello(m, i);
        if (at[0].revents) rc = accept_pending(m, err);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

static void send_all(const rendezvous *m, const answer *a, int file) {
    for (int r = 1; r < m->own.size; r++)
        if (m->peers[r] >= 0) endpoint_send(m->peers[r], a, sizeof *a, file);
}

// Waits until every peer has mapped the shared memory: from then on its lock shows whether it is
// alive.
static status await_peers(const rendezvous *m, shared_memory *s, uint64_t deadline, error *err) {
    for (int r = 1; r < m->own.size; r++) {
        int32_t code = STATUS_FAILED;
        endpoint_outcome outcome;
        status rc =
            endpoint_receive(m->peers[r], &code, sizeof code, NULL, deadline, &outcome, err);
        if (rc == STATUS_OK && (outcome != ENDPOINT_WHOLE || code != STATUS_OK)) {
            shared_fail(s, r, SHARED_DIED);
            rc = error_set(err, STATUS_FAILED, "cannot start the group: rank %d %s", r,
                           outcome == ENDPOINT_WHOLE ? "could not map the shared memory"
                                                     : "ended while joining");
        }
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

static status create_group(rendezvous *m, comm **c, error *err) {
    const uint64_t deadline = after((uint64_t)m->env->seconds * 1000);
    shared_memory *s;
    answer a;
    status rc;
    TRY(endpoint_listen(m->env->port, &m->listener, err));
    TRY(gather_peers(m, deadline, err));
    TRY(shared_create(m->own.size, m->own.n, m->own.gather_bytes, &s, err));
    TRY(comm_shm(s, 0, true, c, err));
    a = acceptance(s);
    send_all(m, &a, shared_file(s));
    return await_peers(m, s, after(MAPPING_MS), err);
out:
    a = refusal(rc, err);
    send_all(m, &a, -1);
    return rc;
}

static status lead(const launch_environment *env, const hello *own, comm **c, error *err) {
    rendezvous m = {.env = env, .own = *own, .listener = -1, .present = 1};
    m.peers = memory_new((size_t)env->size, sizeof *m.peers);
    for (int r = 0; r < env->size; r++) m.peers[r] = -1;
    status rc = create_group(&m, c, err);
    if (rc != STATUS_OK) {
        comm_free(*c);
        *c = NULL;
    }
    for (int r = 0; r < env->size; r++)
        if (m.peers[r] >= 0) close(m.peers[r]);
    for (int i = 0; i < m.waiting; i++) close(m.pending[i]);
    if (m.listener >= 0) close(m.listener);
    free(m.peers);
    return rc;
}

// ---- The other ranks ----

static status read_answer(const launch_environment *env, int connection, uint64_t deadline,
                          answer *a, int *file, error *err) {
    endpoint_outcome outcome;
    NEED(endpoint_receive(connection, a, sizeof *a, file, deadline, &outcome, err));
    if (outcome == ENDPOINT_LATE)
        return error_set(err, STATUS_FAILED,
                         "cannot join the group: not all ranks connected to '%s:%d' within %d s",
                         env->address, env->port, env->seconds);
    if (outcome == ENDPOINT_CLOSED)
        return error_set(err, STATUS_FAILED,
                         "cannot join the group: '%s:%d' closed the connection: rank 0 ended, or "
                         "another program listens there",
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
    int connection = -1, file = -1;
    answer a;
    shared_memory *s;
    status rc;
    TRY(endpoint_connect(env->port, deadline, &connection, err));
    if (connection < 0) {
        rc = error_set(err, STATUS_FAILED,
                       "cannot join the group: rank 0 did not listen at '%s:%d' within %d s%s",
                       env->address, env->port, env->seconds, remedy(env));
        goto out;
    }
    endpoint_send(connection, own, sizeof *own, -1);
    TRY(read_answer(env, connection, deadline + REPORT_MS * UINT64_C(1000000), &a, &file, err));
    rc = shared_open(file, a.token, &s, err);
    file = -1;
    if (rc == STATUS_OK) rc = comm_shm(s, env->rank, true, c, err);
    const int32_t code = (int32_t)rc;
    endpoint_send(connection, &code, sizeof code, -1);
out:
    if (file >= 0) close(file);
    if (connection >= 0) close(connection);
    return rc;
}

status launch_join(const launch_environment *env, size_t n, size_t gather_bytes, comm **c,
                   error *err) {
    *c = NULL;
    if (env->size == 1) {
        *c = comm_self();
        return STATUS_OK;
    }
    if (env->mpi) return launch_mpi_join(env->rank, env->size, c, err);
    NEED(endpoint_check_address(env->address, err));
    hello own;
    NEED(make_hello(env, n, gather_bytes, &own, err));
    return env->rank == 0 ? lead(env, &own, c, err) : follow(env, &own, c, err);
}

void launch_abort(const launch_environment *env, const logger *log, error *err) {
    error ignored;
    comm *c;
    if (!env->joined || !env->mpi) return;
    log_error(log, err);
    if (launch_join(env, 0, 0, &c, &ignored) == STATUS_OK) comm_free(c);
}
