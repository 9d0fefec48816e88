// SPDX-License-Identifier: MIT
#include "train/turn_taker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "dist/endpoint.h"

status turn_taker_parse(const char *address, turn_taker *t, error *err) {
    char *end;
    const unsigned long number = strtoul(address, &end, 10);
    const bool listens = number >= 1 && number <= 65535 && *end == '/';
    char *last = end;
    const unsigned long arm = listens ? strtoul(end + 1, &last, 10) : 0;
    if (!listens || last == end + 1 || *last || arm > UINT16_MAX)
        return error_set(err, STATUS_USAGE,
                         "bad option value: '--turns': expected ENDPOINT/ARM, as time-runs gives "
                         "it, got '%s'",
                         address);
    t->endpoint = (int)number;
    t->arm = (uint32_t)arm;
    t->connection = -1;
    return STATUS_OK;
}

// A file in memory; -1: no memory.
static int file_of(const char *text) {
    const int file = memfd_create("manifest", MFD_CLOEXEC);
    const ssize_t bytes = (ssize_t)strlen(text);
    if (file < 0 || write(file, text, (size_t)bytes) == bytes) return file;
    close(file);
    return -1;
}

static status say_hello(const turn_taker *t, error *err) {
    const turn_hello hello = {t->arm, t->rank, t->ranks};
    const int file = t->description ? file_of(t->description) : -1;
    if (t->description && file < 0)
        return error_system(err, STATUS_FAILED, errno, "cannot take turns");
    endpoint_send(t->connection, &hello, sizeof hello, file);
    if (file >= 0) close(file);
    return STATUS_OK;
}

status turn_taker_join(turn_taker *t, error *err) {
    enum { PATIENCE_NS = 1000000000 };
    t->done = memory_new(TURN_STEPS, sizeof *t->done);
    NEED(endpoint_connect(t->endpoint, clock_now() + PATIENCE_NS, &t->connection, err));
    if (t->connection < 0)
        return error_set(err, STATUS_FAILED,
                         "cannot take turns: '--turns %d/%u': no time-runs listens there",
                         t->endpoint, t->arm);
    return say_hello(t, err);
}

status turn_taker_wait(turn_taker *t, uint64_t *steps, error *err) {
    turn_order order;
    endpoint_outcome outcome;
    status rc =
        endpoint_receive(t->connection, &order, sizeof order, NULL, UINT64_MAX, &outcome, err);
    if (rc == STATUS_STOPPED) return error_set(err, rc, "between two turns");
    if (rc != STATUS_OK) return rc;
    if (outcome != ENDPOINT_WHOLE || order.steps > TURN_STEPS)
        return error_set(err, STATUS_FAILED,
                         "cannot take turns: '--turns %d/%u': time-runs has ended", t->endpoint,
                         t->arm);
    *steps = order.steps;
    return STATUS_OK;
}

void turn_taker_record(turn_taker *t, uint32_t steps, uint32_t samples, uint64_t ns) {
    t->done[t->count++] = (turn_step){ns, steps, samples};
}

void turn_taker_pass(turn_taker *t) {
    const turn_report report = {t->rank == 0 ? t->count : 0};
    endpoint_send(t->connection, &report, sizeof report, -1);
    if (report.count) endpoint_send(t->connection, t->done, t->count * sizeof *t->done, -1);
    t->count = 0;
}

void turn_taker_release(turn_taker *t) {
    if (t->done && t->connection >= 0) close(t->connection);
    free(t->done);
    free(t->description);
    *t = (turn_taker){.connection = -1};
}
