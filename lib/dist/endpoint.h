// endpoint.h - connections between processes of one user on this host, which never wait longer than
// they should: for the rendezvous of ranks.
//
// They are sockets of the family AF_UNIX without a place in the file system. Nobody comes from
// another host, whoever comes from another user is turned away unheard, a message comes whole or
// not at all, and a file can be handed over with it.
//
// A deadline is a time of clock_now(). A wait ends early, with STATUS_STOPPED, when a signal came
// that signals_watch noted.
#ifndef LOCKSTEP_DIST_ENDPOINT_H
#define LOCKSTEP_DIST_ENDPOINT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

// Is it a name or an address of this host? If not: STATUS_USAGE, and what to do.
status endpoint_check_address(const char *address, error *err) MUST_CHECK;

// Listens under a number, of which each user has all: 1 to 65535. Where another process of this
// user does, it may be one that is ending: so this takes ENDPOINT_BUSY_SECONDS to fail.
enum { ENDPOINT_BUSY_SECONDS = 5 };
status endpoint_listen(int port, int *listener, error *err) MUST_CHECK;

// A connection that waits; -1: there is none, or it was another user's.
status endpoint_accept(int listener, int *connection, error *err) MUST_CHECK;

// Connects; tries again while nobody listens. *connection = -1 when nobody did until the deadline.
status endpoint_connect(int port, uint64_t deadline, int *connection, error *err) MUST_CHECK;

// Until one of these files has something to say. *ready: one had before the deadline.
status endpoint_wait(struct pollfd *files, size_t count, uint64_t deadline, bool *ready,
                     error *err) MUST_CHECK;

// What came of receiving. Closed also stands for a message that is none of ours: of another length.
typedef enum endpoint_news { ENDPOINT_WHOLE, ENDPOINT_LATE, ENDPOINT_CLOSED } endpoint_news;

// One message of exactly `bytes` bytes, or why not. *file: what was handed over with it, or -1;
// NULL: nothing is expected.
status endpoint_receive(int connection, void *data, size_t bytes, int *file, uint64_t deadline,
                        endpoint_news *news, error *err) MUST_CHECK;
// The same of what has come already. Never waits.
endpoint_news endpoint_take(int connection, void *data, size_t bytes, int *file);

// A message, and with it `file` unless that is -1. Small ones fit into the buffers of a fresh
// connection. A peer that is gone is no error; whoever waits for its answer finds out.
void endpoint_send(int connection, const void *data, size_t bytes, int file);

// Has the peer closed it, with nothing left to read?
bool endpoint_closed(int connection);

#endif
