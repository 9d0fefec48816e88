// SPDX-License-Identifier: MIT
// endpoint.h - connections between one user's processes on this host, with bounded waits: for the
// rendezvous of ranks.
//
// They are AF_UNIX sockets with names outside the file system. No other host can connect,
// connections of other users are closed before anything is read, messages arrive whole or not at
// all, and a file descriptor can be sent with a message.
//
// A deadline is a time of clock_now(). A wait ends early, with STATUS_STOPPED, after a signal that
// signals_watch noted.
#ifndef LOCKSTEP_DIST_ENDPOINT_H
#define LOCKSTEP_DIST_ENDPOINT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

// Checks that this is a name or an address of this host. If not: STATUS_USAGE, with the remedy.
status endpoint_check_address(const char *address, error *err) MUST_CHECK;

// Listens under a number from 1 to 65535; every user has their own set. If another process of this
// user listens there, it may be about to end, so this fails only after ENDPOINT_BUSY_SECONDS.
enum { ENDPOINT_BUSY_SECONDS = 5 };
status endpoint_listen(int port, int *listener, error *err) MUST_CHECK;

// Accepts a waiting connection; -1: there is none, or it is from another user.
status endpoint_accept(int listener, int *connection, error *err) MUST_CHECK;

// Connects; retries while no process listens. *connection = -1 if none did by the deadline.
status endpoint_connect(int port, uint64_t deadline, int *connection, error *err) MUST_CHECK;

// Waits until one of these files is readable. *ready: one was before the deadline.
status endpoint_wait(struct pollfd *files, size_t count, uint64_t deadline, bool *ready,
                     error *err) MUST_CHECK;

// The result of receiving. Closed also covers a foreign message: one of another length.
typedef enum endpoint_outcome { ENDPOINT_WHOLE, ENDPOINT_LATE, ENDPOINT_CLOSED } endpoint_outcome;

// Receives one message of exactly `bytes` bytes. *file: the descriptor sent with it, or -1; NULL:
// none is expected.
status endpoint_receive(int connection, void *data, size_t bytes, int *file, uint64_t deadline,
                        endpoint_outcome *outcome, error *err) MUST_CHECK;
// The same for a message that has already arrived. Never waits.
endpoint_outcome endpoint_try_receive(int connection, void *data, size_t bytes, int *file);

// Sends a message, with `file` unless that is -1. Small messages fit into the buffers of a fresh
// connection. A closed peer is not an error here; it shows when waiting for the answer.
void endpoint_send(int connection, const void *data, size_t bytes, int file);

// Returns the process at the other end, as it was when it connected; 0: unknown.
pid_t endpoint_process(int connection);

// Returns true if the peer has closed it and nothing is left to read.
bool endpoint_closed(int connection);

#endif
