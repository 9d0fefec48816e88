// endpoint.h - TCP connections that never wait longer than they should: for the rendezvous of
// ranks.
//
// A deadline is a time of clock_now(). A wait ends early, with STATUS_STOPPED, when a signal came
// that signals_watch noted.
#ifndef LOCKSTEP_DIST_ENDPOINT_H
#define LOCKSTEP_DIST_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

// Listens on an address of this host.
status endpoint_listen(const char *address, int port, int *listener, error *err) MUST_CHECK;

// The next connection. *connection = -1 when none came until the deadline.
status endpoint_accept(int listener, uint64_t deadline, int *connection, error *err) MUST_CHECK;

// Connects; tries again while nobody listens. *connection = -1 when nobody did until the deadline.
status endpoint_connect(const char *address, int port, uint64_t deadline, int *connection,
                        error *err) MUST_CHECK;

// What came of receiving.
typedef enum endpoint_news { ENDPOINT_WHOLE, ENDPOINT_LATE, ENDPOINT_CLOSED } endpoint_news;

// Exactly `bytes` bytes, or why not.
status endpoint_receive(int connection, void *data, size_t bytes, uint64_t deadline,
                        endpoint_news *news, error *err) MUST_CHECK;

// Small messages: they fit into the buffers of a fresh connection. A peer that is gone is no error;
// whoever waits for its answer finds out.
void endpoint_send(int connection, const void *data, size_t bytes);

// Has the peer closed it, with nothing left to read?
bool endpoint_closed(int connection);

#endif
