// SPDX-License-Identifier: MIT
#include "train/trace_file.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

// The piece that a rank sends at a time.
enum { PIECE_BYTES = 16384 };
typedef struct piece {
    uint32_t bytes;
    char text[PIECE_BYTES - sizeof(uint32_t)];
} piece;

// Is there a trace? Ranks that joined may have been started with different command lines.
static status agree(comm *c, bool *wanted, error *err) {
    uint8_t mine = *wanted, *all = memory_new((size_t)c->size, 1);
    status rc = c->ops->all_gather(c, &mine, 1, all, err);
    for (int r = 1; r < c->size && rc == STATUS_OK; r++)
        if (all[r] && !all[0])
            rc = error_set(err, STATUS_USAGE,
                           "cannot trace: 'rank %d' was started with --trace; rank 0, which writes "
                           "the file, was not",
                           r);
    *wanted = all[0];
    free(all);
    return rc;
}

// Ranks on one host read the same clock; another host's may differ by days. By the same clock every
// rank enters a barrier before any rank leaves it. If the times contradict that, the clock is
// aligned by the moment of leaving.
static status compare_clocks(trace_file *f, error *err) {
    comm *c = f->comm;
    uint64_t mine[2], *all = memory_new((size_t)c->size, sizeof mine);
    status rc = STATUS_OK;
    TRY(c->ops->barrier(c, err)); // all ranks are here: the next barrier takes no time
    mine[0] = clock_now();
    TRY(c->ops->barrier(c, err));
    mine[1] = clock_now();
    TRY(c->ops->all_gather(c, mine, sizeof mine, all, err));
    const bool one = mine[0] <= all[1] && all[0] <= mine[1];
    f->ahead = one ? 0 : mine[1] - all[1];
out:
    free(all);
    return rc;
}

status trace_file_open(trace_file *f, const char *path, const char *track, size_t room, comm *c,
                       error *err) {
    char name[TRACE_NAME_BYTES];
    bool wanted = path != NULL;
    trace_track *first;
    *f = (trace_file){.path = path, .comm = c};
    NEED(agree(c, &wanted, err));
    if (!wanted) return STATUS_OK;
    NEED(compare_clocks(f, err));
    if (c->rank == 0) NEED(output_open(path, &f->out, err));
    snprintf(name, sizeof name, "rank %d", c->rank);
    f->trace = trace_new(c->rank, name, room);
    trace_track_new(f->trace, &first, "%s", track);
    return STATUS_OK;
}

void trace_file_release(trace_file *f) {
    trace_free(f->trace);
    output_free(f->out);
    memset(f, 0, sizeof *f);
}

// Finds the beginning of the first span of all ranks, by this rank's clock, and the number of spans
// left out.
static status summarize(const trace_file *f, uint64_t *origin, uint64_t *left_out, error *err) {
    const uint64_t begin = trace_begin(f->trace); // UINT64_MAX: no span
    const uint64_t mine[2] = {begin == UINT64_MAX ? begin : begin - f->ahead,
                              trace_left_out(f->trace)};
    uint64_t *all = memory_new((size_t)f->comm->size, sizeof mine);
    status rc = f->comm->ops->all_gather(f->comm, mine, sizeof mine, all, err);
    *origin = UINT64_MAX;
    *left_out = 0;
    for (int r = 0; r < f->comm->size; r++) {
        if (all[2 * r] < *origin) *origin = all[2 * r];
        *left_out += all[2 * r + 1];
    }
    *origin += f->ahead;
    free(all);
    return rc;
}

// Loops until no rank has events left.
static status write_events(const trace_file *f, uint64_t origin, error *err) {
    status rc = STATUS_OK;
    trace_cursor at = {0};
    bool more = true;
    piece *mine = memory_new(1, sizeof *mine);
    piece *all = memory_new((size_t)f->comm->size, sizeof *all);
    while (more) {
        mine->bytes = (uint32_t)trace_text(f->trace, origin, &at, mine->text, sizeof mine->text);
        TRY(f->comm->ops->all_gather(f->comm, mine, sizeof *mine, all, err));
        more = false;
        for (int r = 0; r < f->comm->size; r++) {
            if (all[r].bytes == 0) continue;
            if (f->out) TRY(output_write(f->out, all[r].text, all[r].bytes, err));
            more = true;
        }
    }
out:
    free(mine);
    free(all);
    return rc;
}

static status write_file(const trace_file *f, const char *tool, uint64_t origin, uint64_t left_out,
                         error *err) {
    char text[TRACE_TEXT_BYTES];
    if (!f->out) return write_events(f, origin, err);
    NEED(output_write(f->out, text, trace_head(tool, text, sizeof text), err));
    NEED(write_events(f, origin, err));
    NEED(output_write(f->out, text, trace_tail(tool, left_out, text, sizeof text), err));
    return output_commit(f->out, err);
}

status trace_file_write(trace_file *f, const char *tool, const logger *log, error *err) {
    uint64_t origin, left_out;
    if (!f->trace) return STATUS_OK;
    trace_end(f->trace);
    NEED(summarize(f, &origin, &left_out, err));
    NEED(write_file(f, tool, origin, left_out, err));
    if (f->out && left_out)
        log_warn(log,
                 "'%s': %" PRIu64 " spans were left out; a thread has room for %d: stop earlier "
                 "(--stop-after-steps) to keep all",
                 f->path, left_out, (int)TRACE_FILE_ROOM);
    return STATUS_OK;
}
