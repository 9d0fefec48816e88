// SPDX-License-Identifier: MIT
#include "dist/endpoint.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/signals.h"

enum {
    LOOK_MS = 200,  // how often a wait checks for signals
    RETRY_MS = 50,  // between two attempts to connect, or to listen
    BACKLOG = 1024, // ranks that may connect at the same time
};

static uint64_t after(uint64_t milliseconds) {
    return clock_now() + milliseconds * 1000000;
}

static uint64_t milliseconds_left(uint64_t deadline) {
    const uint64_t now = clock_now();
    return now < deadline ? (deadline - now + 999999) / 1000000 : 0;
}

status endpoint_wait(struct pollfd *files, size_t count, uint64_t deadline, bool *ready,
                     error *err) {
    *ready = false;
    for (;;) {
        if (signals_pending())
            return error_set(err, STATUS_STOPPED, "stopped while waiting for the other ranks");
        const uint64_t left = milliseconds_left(deadline);
        const int n = poll(files, (nfds_t)count, left < LOOK_MS ? (int)left : LOOK_MS);
        if (n < 0 && errno != EINTR)
            return error_system(err, STATUS_FAILED, errno, "cannot wait for the other ranks");
        if (n > 0) *ready = true;
        if (n > 0 || (n == 0 && left == 0)) return STATUS_OK;
    }
}

static status pause_between(error *err) {
    bool ready;
    return endpoint_wait(NULL, 0, after(RETRY_MS), &ready, err);
}

// ---- Names ----

static status resolve(const char *address, struct addrinfo **list, error *err) {
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    const int rc = getaddrinfo(address, "0", &hints, list);
    if (rc == 0) return STATUS_OK;
    return error_set(err, STATUS_USAGE, "cannot find the host of rank 0: '%s': %s", address,
                     rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
}

// A host can bind only its own addresses.
static bool is_own(const struct addrinfo *at) {
    const int file = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (file < 0) return false;
    const bool bound = bind(file, at->ai_addr, at->ai_addrlen) == 0;
    close(file);
    return bound;
}

status endpoint_check_address(const char *address, error *err) {
    struct addrinfo *list;
    bool own = false;
    NEED(resolve(address, &list, err));
    for (const struct addrinfo *at = list; at && !own; at = at->ai_next) own = is_own(at);
    freeaddrinfo(list);
    if (own) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "cannot join the group: 'MASTER_ADDR=%s': not an address of this host: the "
                     "ranks must run on that host; several hosts need MPI: start the ranks with "
                     "mpirun or srun, without MASTER_ADDR",
                     address);
}

// The leading zero makes the name abstract. It contains the user's number, so that users do not
// collide by accident.
static socklen_t name_of(int port, struct sockaddr_un *name) {
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int length = snprintf(name->sun_path + 1, sizeof name->sun_path - 1,
                                "lockstep/%u/rendezvous/%d", (unsigned)geteuid(), port);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static bool read_peer(int connection, struct ucred *peer) {
    socklen_t bytes = sizeof *peer;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, peer, &bytes) == 0;
}

// Another user can take a name on purpose.
static bool is_of_this_user(int connection) {
    struct ucred peer;
    return read_peer(connection, &peer) && peer.uid == geteuid();
}

pid_t endpoint_process(int connection) {
    struct ucred peer;
    return read_peer(connection, &peer) ? peer.pid : 0;
}

// ---- The listening side ----

static int listen_once(int port) {
    struct sockaddr_un name;
    const socklen_t bytes = name_of(port, &name);
    const int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0) return -1;
    if (bind(file, (const struct sockaddr *)&name, bytes) == 0 && listen(file, BACKLOG) == 0)
        return file;
    const int why = errno;
    close(file);
    errno = why;
    return -1;
}

status endpoint_listen(int port, int *listener, error *err) {
    const uint64_t deadline = after(ENDPOINT_BUSY_SECONDS * 1000);
    for (;;) {
        *listener = listen_once(port);
        if (*listener >= 0) return STATUS_OK;
        if (errno != EADDRINUSE || clock_now() >= deadline)
            return error_system(err, STATUS_FAILED, errno, "cannot listen: 'MASTER_PORT=%d'", port);
        NEED(pause_between(err));
    }
}

status endpoint_accept(int listener, int *connection, error *err) {
    *connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (*connection < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return error_system(err, STATUS_FAILED, errno, "cannot accept a rank");
    if (*connection >= 0 && !is_of_this_user(*connection)) {
        close(*connection);
        *connection = -1;
    }
    return STATUS_OK;
}

// ---- The connecting side ----

static int connect_once(int port) {
    struct sockaddr_un name;
    const socklen_t bytes = name_of(port, &name);
    const struct timeval patience = {.tv_sec = 1}; // bounds connect too
    const int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (file < 0) return -1;
    (void)setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(file, (const struct sockaddr *)&name, bytes) == 0 && is_of_this_user(file))
        return file;
    close(file);
    return -1;
}

status endpoint_connect(int port, uint64_t deadline, int *connection, error *err) {
    for (;;) {
        *connection = connect_once(port);
        if (*connection >= 0 || clock_now() >= deadline) return STATUS_OK;
        NEED(pause_between(err));
    }
}

// ---- Both ----

// Returns the file descriptor sent with a message; -1: none.
static int file_of(struct msghdr *message) {
    int file = -1;
    const struct cmsghdr *part = CMSG_FIRSTHDR(message);
    if (part && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS &&
        part->cmsg_len == CMSG_LEN(sizeof file))
        memcpy(&file, CMSG_DATA(part), sizeof file);
    return file;
}

endpoint_outcome endpoint_try_receive(int connection, void *data, size_t bytes, int *file) {
    _Alignas(struct cmsghdr) char extra[CMSG_SPACE(sizeof(int))];
    struct iovec part = {.iov_base = data, .iov_len = bytes};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = extra, .msg_controllen = sizeof extra};
    const ssize_t n = recvmsg(connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return ENDPOINT_LATE;
    int came = n >= 0 ? file_of(&message) : -1;
    const bool whole = n >= 0 && (size_t)n == bytes && !(message.msg_flags & MSG_TRUNC);
    if (came >= 0 && (!whole || !file)) {
        close(came);
        came = -1;
    }
    if (file) *file = came;
    return whole ? ENDPOINT_WHOLE : ENDPOINT_CLOSED;
}

status endpoint_receive(int connection, void *data, size_t bytes, int *file, uint64_t deadline,
                        endpoint_outcome *outcome, error *err) {
    struct pollfd at = {.fd = connection, .events = POLLIN};
    if (file) *file = -1;
    for (;;) {
        bool ready;
        status rc = endpoint_wait(&at, 1, deadline, &ready, err);
        *outcome = ENDPOINT_LATE;
        if (rc != STATUS_OK || !ready) return rc;
        *outcome = endpoint_try_receive(connection, data, bytes, file);
        if (*outcome != ENDPOINT_LATE) return STATUS_OK;
    }
}

void endpoint_send(int connection, const void *data, size_t bytes, int file) {
    _Alignas(struct cmsghdr) char extra[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (file >= 0) {
        message.msg_control = extra;
        message.msg_controllen = sizeof extra;
        struct cmsghdr *along = CMSG_FIRSTHDR(&message);
        *along = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof file)};
        memcpy(CMSG_DATA(along), &file, sizeof file);
    }
    (void)!sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool endpoint_closed(int connection) {
    char byte;
    const ssize_t n = recv(connection, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}
