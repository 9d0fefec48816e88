// SPDX-License-Identifier: MIT
// Transport by MPI: the content of lockstep-mpi.so. Calls only MPI-2 functions, from one thread.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "dist/transport.h"

// Messages and words use separate communicators, so that a word is never taken for a message.
typedef struct mpi_transport {
    transport base;
    MPI_Comm messages, words;
    MPI_Request *under_way; // requests of messages
    int count, room;
    MPI_Request *word_requests; // requests of the words to each rank
    MPI_Status *statuses;       // one per request, and at least one per rank
    uint64_t *sent_words;
} mpi_transport;

static mpi_transport *mpi_of(transport *t) {
    return (mpi_transport *)(void *)t; // its first member
}

static status check(int code, const char *what, error *err) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (code == MPI_SUCCESS) return STATUS_OK;
    (void)MPI_Error_string(code, text, &length);
    return error_set(err, STATUS_FAILED, "MPI: %s: %.400s", what, text);
}

// ---- Messages ----

static void make_room(mpi_transport *m, int needed) {
    if (needed <= m->room) return;
    const size_t room = (size_t)needed, ranks = (size_t)m->base.size;
    free(m->under_way);
    free(m->statuses);
    m->room = 0;
    m->under_way = memory_new(room, sizeof(MPI_Request));
    m->statuses = memory_new(room > ranks ? room : ranks, sizeof(MPI_Status));
    m->room = needed;
}

// Receives come first, so that arriving messages find their receive posted.
static status begin(transport *t, const transport_message *receive, int receives,
                    const transport_message *send, int sends, error *err) {
    mpi_transport *m = mpi_of(t);
    m->count = 0;
    make_room(m, receives + sends);
    for (int i = 0; i < receives; i++)
        NEED(check(MPI_Irecv(receive[i].data, (int)receive[i].bytes, MPI_BYTE, receive[i].peer, 0,
                             m->messages, &m->under_way[m->count++]),
                   "receiving", err));
    for (int i = 0; i < sends; i++)
        NEED(check(MPI_Isend(send[i].data, (int)send[i].bytes, MPI_BYTE, send[i].peer, 0,
                             m->messages, &m->under_way[m->count++]),
                   "sending", err));
    return STATUS_OK;
}

// Returns the error of the first message that has one.
static int find_fault(const mpi_transport *m) {
    for (int i = 0; i < m->count; i++) {
        const int code = m->statuses[i].MPI_ERROR;
        if (code != MPI_SUCCESS && code != MPI_ERR_PENDING) return code;
    }
    return MPI_ERR_IN_STATUS;
}

static status test(transport *t, bool *done, error *err) {
    mpi_transport *m = mpi_of(t);
    int all = 0;
    int code = MPI_Testall(m->count, m->under_way, &all, m->statuses);
    *done = all != 0;
    if (code == MPI_ERR_IN_STATUS) code = find_fault(m);
    return check(code, "exchanging messages", err);
}

// ---- Words ----

static status send_word(transport *t, int peer, uint64_t word, error *err) {
    mpi_transport *m = mpi_of(t);
    m->sent_words[peer] = word;
    return check(MPI_Isend(&m->sent_words[peer], sizeof word, MPI_BYTE, peer, 0, m->words,
                           &m->word_requests[peer]),
                 "sending a status word", err);
}

static status receive_word(transport *t, int *peer, uint64_t *word, error *err) {
    const mpi_transport *m = mpi_of(t);
    MPI_Status from;
    int there = 0;
    *peer = -1;
    NEED(check(MPI_Iprobe(MPI_ANY_SOURCE, 0, m->words, &there, &from), "probing for status words",
               err));
    if (!there) return STATUS_OK;
    NEED(check(MPI_Recv(word, sizeof *word, MPI_BYTE, from.MPI_SOURCE, 0, m->words, &from),
               "receiving a status word", err));
    *peer = from.MPI_SOURCE;
    return STATUS_OK;
}

// ---- Lifetime ----

// Unless orderly, messages under way may still be written: all memory stays until the process ends.
static bool close_mpi(transport *t, bool orderly) {
    mpi_transport *m = mpi_of(t);
    if (!orderly) return false;
    (void)MPI_Waitall(m->base.size, m->word_requests, m->statuses);
    (void)MPI_Comm_free(&m->messages);
    (void)MPI_Comm_free(&m->words);
    (void)MPI_Finalize();
    free(m->under_way);
    free(m->statuses);
    free(m->word_requests);
    free(m->sent_words);
    free(m);
    return true;
}

static const transport_ops ops = {
    .name = "mpi",
    .begin = begin,
    .test = test,
    .send_word = send_word,
    .receive_word = receive_word,
    .close = close_mpi,
};

// Cuts "Open MPI v4.1.4, package: …" and "MPICH Version: 4.0.2\nMPICH Release date: …" after the
// version.
static void describe_library(char text[TRANSPORT_DESCRIBE_BYTES]) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "MPI";
    int length;
    (void)MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = 0;
    size_t to = 0;
    for (const char *at = version; *at && to < TRANSPORT_DESCRIBE_BYTES - 1; at++)
        text[to++] = *at == '\t' ? ' ' : *at;
    text[to] = 0;
}

// Other threads prepare batches, but do not call MPI.
static status start(error *err) {
    int done = 0, provided = MPI_THREAD_SINGLE;
    NEED(check(MPI_Initialized(&done), "checking initialisation", err));
    if (done)
        NEED(check(MPI_Query_thread(&provided), "querying thread support", err));
    else
        NEED(check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided), "starting", err));
    if (provided < MPI_THREAD_FUNNELED)
        return error_set(err, STATUS_USAGE,
                         "cannot join the group: this MPI does not support threads (it does not "
                         "provide MPI_THREAD_FUNNELED): use one that does");
    return STATUS_OK;
}

// Errors return to the caller instead of ending the job.
static status own_communicator(MPI_Comm *c, error *err) {
    NEED(check(MPI_Comm_dup(MPI_COMM_WORLD, c), "creating a communicator", err));
    return check(MPI_Comm_set_errhandler(*c, MPI_ERRORS_RETURN), "creating a communicator", err);
}

static status open_mpi(mpi_transport *m, error *err) {
    m->base.ops = &ops;
    NEED(start(err));
    NEED(own_communicator(&m->messages, err));
    NEED(own_communicator(&m->words, err));
    NEED(check(MPI_Comm_rank(m->messages, &m->base.rank), "querying the rank", err));
    NEED(check(MPI_Comm_size(m->messages, &m->base.size), "querying the size", err));
    m->word_requests = memory_new((size_t)m->base.size, sizeof *m->word_requests);
    m->sent_words = memory_new((size_t)m->base.size, sizeof *m->sent_words);
    make_room(m, m->base.size);
    for (int r = 0; r < m->base.size; r++) m->word_requests[r] = MPI_REQUEST_NULL;
    return STATUS_OK;
}

status lockstep_transport_mpi(int abi, transport **t, char describe[TRANSPORT_DESCRIBE_BYTES],
                              error *err, memory_end *end) {
    *t = NULL;
    if (abi != TRANSPORT_MPI_ABI)
        return error_set(
            err, STATUS_FAILED,
            "lockstep-mpi.so was built for a different version of the tools: rebuild both");
    memory_die_by(end);
    mpi_transport *m = memory_new(1, sizeof *m);
    status rc = open_mpi(m, err);
    if (rc == STATUS_OK) {
        describe_library(describe);
        *t = &m->base;
    }
    return rc; // m stays: MPI has started
}
