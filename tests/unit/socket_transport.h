// SPDX-License-Identifier: MIT
// socket_transport.h - a transport for tests: ranks of one test, processes or threads, that share
// nothing but sockets. Messages are sent a part at a time, so that they arrive in pieces.
#ifndef LOCKSTEP_TESTS_SOCKET_TRANSPORT_H
#define LOCKSTEP_TESTS_SOCKET_TRANSPORT_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dist/transport.h"

enum { SOCKETS_MAX_RANKS = 8, SOCKETS_MESSAGES = 4096 };

// at[a][b]: the socket on which rank a reads from and writes to rank b.
typedef struct sockets {
    int size;
    int messages[SOCKETS_MAX_RANKS][SOCKETS_MAX_RANKS], words[SOCKETS_MAX_RANKS][SOCKETS_MAX_RANKS];
} sockets;

typedef struct socket_transport {
    transport base;
    const sockets *sockets;
    int receives, sends;
    transport_message receive[SOCKETS_MESSAGES], send[SOCKETS_MESSAGES]; // the rest of each
} socket_transport;

static inline bool sockets_open(sockets *s, int size) {
    s->size = size;
    for (int a = 0; a < size; a++)
        for (int b = 0; b < a; b++) {
            int pair[2], words[2];
            if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0 ||
                socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, words) != 0)
                return false;
            s->messages[a][b] = pair[0];
            s->messages[b][a] = pair[1];
            s->words[a][b] = words[0];
            s->words[b][a] = words[1];
        }
    return true;
}

static inline void sockets_close(sockets *s) {
    for (int a = 0; a < s->size; a++)
        for (int b = 0; b < s->size; b++)
            if (a != b) {
                close(s->messages[a][b]);
                close(s->words[a][b]);
            }
}

static inline socket_transport *sockets_of(transport *t) {
    return (socket_transport *)(void *)t;
}

static inline status sockets_begin(transport *t, const transport_message *receive, int receives,
                                   const transport_message *send, int sends, error *err) {
    socket_transport *x = sockets_of(t);
    if (receives > SOCKETS_MESSAGES || sends > SOCKETS_MESSAGES)
        return error_set(err, STATUS_FAILED, "too many messages");
    x->receives = receives;
    x->sends = sends;
    memcpy(x->receive, receive, (size_t)receives * sizeof *receive);
    memcpy(x->send, send, (size_t)sends * sizeof *send);
    return STATUS_OK;
}

// Moves as much as possible of each peer's messages, in order. False: something is left.
static inline bool sockets_move(socket_transport *x, transport_message *list, int count,
                                bool receive) {
    bool busy[SOCKETS_MAX_RANKS] = {false};
    bool done = true;
    for (int i = 0; i < count; i++) {
        transport_message *m = &list[i];
        if (m->bytes == 0) continue;
        const int file = x->sockets->messages[x->base.rank][m->peer];
        const ssize_t n = busy[m->peer] ? -1
                          : receive     ? recv(file, m->data, m->bytes, 0)
                                        : send(file, m->data, m->bytes, MSG_NOSIGNAL);
        if (n > 0) {
            m->data = (char *)m->data + n;
            m->bytes -= (size_t)n;
        }
        if (m->bytes > 0) busy[m->peer] = true;
        if (m->bytes > 0) done = false;
    }
    return done;
}

static inline status sockets_test(transport *t, bool *done, error *err) {
    socket_transport *x = sockets_of(t);
    (void)err;
    const bool sent = sockets_move(x, x->send, x->sends, false);
    *done = sockets_move(x, x->receive, x->receives, true) && sent;
    return STATUS_OK;
}

static inline status sockets_send_word(transport *t, int peer, uint64_t word, error *err) {
    const int file = sockets_of(t)->sockets->words[t->rank][peer];
    if (send(file, &word, sizeof word, MSG_NOSIGNAL) == sizeof word) return STATUS_OK;
    return error_system(err, STATUS_FAILED, errno, "cannot send a word");
}

static inline status sockets_receive_word(transport *t, int *peer, uint64_t *word, error *err) {
    (void)err;
    for (*peer = 0; *peer < t->size; ++*peer)
        if (*peer != t->rank && recv(sockets_of(t)->sockets->words[t->rank][*peer], word,
                                     sizeof *word, 0) == sizeof *word)
            return STATUS_OK;
    *peer = -1;
    return STATUS_OK;
}

static inline bool sockets_leave(transport *t, bool orderly) {
    (void)orderly;
    free(t);
    return true;
}

// Does to a failed exchange what a transport still may: overwrites everything not yet received, and
// returns whether any unsent part consists of `forbidden`.
static inline bool sockets_go_on(transport *t, unsigned char written, unsigned char forbidden) {
    socket_transport *x = sockets_of(t);
    bool found = false;
    for (int i = 0; i < x->receives; i++) memset(x->receive[i].data, written, x->receive[i].bytes);
    for (int i = 0; i < x->sends; i++)
        if (x->send[i].bytes > 0)
            found = found || memchr(x->send[i].data, forbidden, x->send[i].bytes) != NULL;
    return found;
}

// Returns NULL if there is no memory.
static inline transport *sockets_join(const sockets *s, int rank) {
    static const transport_ops ops = {"sockets",         sockets_begin,        sockets_test,
                                      sockets_send_word, sockets_receive_word, sockets_leave};
    socket_transport *x = calloc(1, sizeof *x);
    if (!x) return NULL;
    x->base = (transport){&ops, rank, s->size};
    x->sockets = s;
    return &x->base;
}

#endif
