#include "dist/endpoint.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/signals.h"

enum {
    LOOK_MS = 200,  // how often a wait looks for signals
    RETRY_MS = 50,  // between two attempts to connect
    BACKLOG = 1024, // ranks that may knock at the same time
};

static uint64_t milliseconds_left(uint64_t deadline) {
    const uint64_t now = clock_now();
    return now < deadline ? (deadline - now + 999999) / 1000000 : 0;
}

// Until something can be read or accepted (or, with file -1, just so long). *ready says whether it
// was before the deadline.
static status wait_until(int file, short what, uint64_t deadline, bool *ready, error *err) {
    struct pollfd p = {.fd = file, .events = what};
    *ready = false;
    for (;;) {
        if (signals_pending())
            return error_set(err, STATUS_STOPPED, "stopped while waiting for the other ranks");
        const uint64_t left = milliseconds_left(deadline);
        const int n = poll(&p, 1, left < LOOK_MS ? (int)left : LOOK_MS);
        if (n < 0 && errno != EINTR)
            return error_system(err, STATUS_FAILED, errno, "cannot wait for the other ranks");
        if (n > 0) *ready = true;
        if (n > 0 || (n == 0 && left == 0)) return STATUS_OK;
    }
}

static status resolve(const char *address, int port, int flags, struct addrinfo **list,
                      error *err) {
    char service[16];
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    snprintf(service, sizeof service, "%d", port);
    const int rc = getaddrinfo(address, service, &hints, list);
    if (rc == 0) return STATUS_OK;
    return error_set(err, STATUS_USAGE, "cannot find the host of rank 0: '%s': %s", address,
                     rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
}

// ---- The side that waits ----

static int listen_at(const struct addrinfo *at) {
    const int yes = 1;
    const int file = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (file < 0) return -1;
    // A run that ended a moment ago must not block its successor.
    (void)setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(file, at->ai_addr, at->ai_addrlen) == 0 && listen(file, BACKLOG) == 0) return file;
    const int why = errno;
    close(file);
    errno = why;
    return -1;
}

status endpoint_listen(const char *address, int port, int *listener, error *err) {
    struct addrinfo *list;
    int why = 0;
    *listener = -1;
    status rc = resolve(address, port, AI_PASSIVE, &list, err);
    if (rc != STATUS_OK) return rc;
    for (const struct addrinfo *at = list; at && *listener < 0; at = at->ai_next) {
        *listener = listen_at(at);
        // What the first address says counts, unless it is that it is none of ours.
        if (*listener < 0 && (why == 0 || why == EADDRNOTAVAIL)) why = errno;
    }
    freeaddrinfo(list);
    if (*listener >= 0) return STATUS_OK;
    if (why == EADDRNOTAVAIL)
        return error_set(err, STATUS_USAGE,
                         "cannot listen: '%s:%d': no address of this host: rank 0 must run on the "
                         "host that MASTER_ADDR names",
                         address, port);
    return error_system(err, STATUS_FAILED, why, "cannot listen: '%s:%d'", address, port);
}

status endpoint_accept(int listener, uint64_t deadline, int *connection, error *err) {
    bool ready = true;
    *connection = -1;
    while (ready) {
        status rc = wait_until(listener, POLLIN, deadline, &ready, err);
        if (rc != STATUS_OK) return rc;
        if (ready) *connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (*connection >= 0) return STATUS_OK;
        if (ready && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
            return error_system(err, STATUS_FAILED, errno, "cannot accept a rank");
    }
    return STATUS_OK;
}

// ---- The side that comes ----

static int connect_to(const struct addrinfo *at) {
    const struct timeval patience = {.tv_sec = 1}; // bounds connect, too
    const int file = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (file < 0) return -1;
    (void)setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(file, at->ai_addr, at->ai_addrlen) == 0) return file;
    close(file);
    return -1;
}

status endpoint_connect(const char *address, int port, uint64_t deadline, int *connection,
                        error *err) {
    struct addrinfo *list;
    *connection = -1;
    status rc = resolve(address, port, 0, &list, err);
    if (rc != STATUS_OK) return rc;
    do {
        for (const struct addrinfo *at = list; at && *connection < 0; at = at->ai_next)
            *connection = connect_to(at);
        bool ready;
        if (*connection < 0)
            rc = wait_until(-1, 0, clock_now() + RETRY_MS * UINT64_C(1000000), &ready, err);
    } while (rc == STATUS_OK && *connection < 0 && clock_now() < deadline);
    freeaddrinfo(list);
    return rc;
}

// ---- Both ----

status endpoint_receive(int connection, void *data, size_t bytes, uint64_t deadline,
                        endpoint_news *news, error *err) {
    for (size_t got = 0; got < bytes;) {
        bool ready;
        status rc = wait_until(connection, POLLIN, deadline, &ready, err);
        if (rc != STATUS_OK) return rc;
        *news = ENDPOINT_LATE;
        if (!ready) return STATUS_OK;
        const ssize_t n = recv(connection, (char *)data + got, bytes - got, MSG_DONTWAIT);
        *news = ENDPOINT_CLOSED;
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return STATUS_OK;
        if (n > 0) got += (size_t)n;
    }
    *news = ENDPOINT_WHOLE;
    return STATUS_OK;
}

void endpoint_send(int connection, const void *data, size_t bytes) {
    (void)!send(connection, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool endpoint_closed(int connection) {
    char byte;
    const ssize_t n = recv(connection, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}
