// SPDX-License-Identifier: MIT
// transport.h - message transport between ranks without shared memory: a table of functions.
// comm_messages.h builds collectives on it; transport_mpi.c implements it.
#ifndef LOCKSTEP_DIST_TRANSPORT_H
#define LOCKSTEP_DIST_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"

typedef struct transport transport;

enum { TRANSPORT_MESSAGE_MAX = 1 << 30 }; // bytes

typedef struct transport_message {
    int peer;   // the rank that it goes to, or comes from; never this rank
    void *data; // read-only if the message is sent
    size_t bytes;
} transport_message;

typedef struct transport_ops {
    const char *name; // "mpi"
    // Begins to receive and to send. The data must stay until test() reports completion, and
    // nothing else may begin before. Two messages from one rank to another arrive in the order in
    // which they were sent: the k-th sent matches the k-th receive, and has its length.
    status (*begin)(transport *t, const transport_message *receive, int receives,
                    const transport_message *send, int sends, error *err);
    // Sets *done if all messages have arrived and sent data may be changed. Never waits.
    status (*test)(transport *t, bool *done, error *err);
    // Sends a word at once, apart from the messages; it overtakes them. Each rank sends each other
    // rank at most one word.
    status (*send_word)(transport *t, int peer, uint64_t word, error *err);
    // Receives the next word and its sender; *peer = -1 if there is none. Never waits.
    status (*receive_word)(transport *t, int *peer, uint64_t *word, error *err);
    // Closes the transport. Orderly: all ranks close it so, no message is incomplete, and nothing
    // that was sent is lost. Otherwise it closes at once, without the other ranks. Returns false if
    // the data of messages begun may still be read and written until the process ends.
    bool (*close)(transport *t, bool orderly);
} transport_ops;

struct transport {
    const transport_ops *ops;
    int rank, size;
};

// lockstep-mpi.so exports one function of this name, so that the tools start without MPI. It joins
// the ranks of an MPI launcher; `describe` receives MPI's name and version, for messages; `end`
// ends the process when there is no memory (memory.h). A library of another version refuses `abi`
// with a message in `err`. So parameters are added at the end, and error.h keeps its first members.
#define TRANSPORT_MPI_SYMBOL "lockstep_transport_mpi"
enum { TRANSPORT_MPI_ABI = 3, TRANSPORT_DESCRIBE_BYTES = 256 };
typedef status transport_mpi_entry(int abi, transport **t, char describe[TRANSPORT_DESCRIBE_BYTES],
                                   error *err, memory_end *end);
transport_mpi_entry lockstep_transport_mpi;

#endif
