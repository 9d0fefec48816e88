// transport.h - what carries messages between ranks that share no memory: a table of functions.
// comm_messages.h makes collectives of it; transport_mpi.c is one.
#ifndef LOCKSTEP_DIST_TRANSPORT_H
#define LOCKSTEP_DIST_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct transport transport;

enum { TRANSPORT_MESSAGE_MAX = 1 << 30 }; // bytes

typedef struct transport_message {
    int peer;   // the rank that it goes to, or comes from; never the own one
    void *data; // of a message that is sent, only read
    size_t bytes;
} transport_message;

typedef struct transport_ops {
    const char *name; // "mpi"
    // Begins to receive and to send; the data must stay until test() says that all is done, and
    // nothing else may begin before. Two messages from one rank to another arrive in the order in
    // which they were sent: the k-th that comes is the k-th that is received, and as long.
    status (*begin)(transport *t, const transport_message *receive, int receives,
                    const transport_message *send, int sends, error *err);
    // Has all arrived, and may what was sent be changed? Never waits.
    status (*test)(transport *t, bool *done, error *err);
    // Sends a word beside the messages, at once; it overtakes them. Each rank sends each other one
    // word at most.
    status (*tell)(transport *t, int peer, uint64_t word, error *err);
    // The next word that has come, and from whom; *peer = -1 where none has. Never waits.
    status (*hear)(transport *t, int *peer, uint64_t *word, error *err);
    // The end. Orderly: all ranks close it so, none has begun what is not done, and nothing is lost
    // that was sent. Otherwise the others are left alone at once. False: the data of what was begun
    // may still be read and written, until the process ends.
    bool (*close)(transport *t, bool orderly);
} transport_ops;

struct transport {
    const transport_ops *ops;
    int rank, size;
};

// lockstep-mpi.so exports one function of this name, so that the tools start where MPI is not. It
// joins the ranks of an MPI launcher; `describe` is what MPI calls itself, for messages.
#define TRANSPORT_MPI_SYMBOL "lockstep_transport_mpi"
enum { TRANSPORT_MPI_ABI = 2, TRANSPORT_DESCRIBE_BYTES = 256 };
typedef status transport_mpi_entry(int abi, transport **t, char describe[TRANSPORT_DESCRIBE_BYTES],
                                   error *err);
transport_mpi_entry lockstep_transport_mpi;

#endif
