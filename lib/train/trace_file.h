// trace_file.h - the file of --trace: what the threads of all ranks have recorded, put together by
// rank 0. docs/formats.md says what is in it.
//
// Nothing is shared while the ranks train. Behind the last step they hand their events to rank 0
// piece by piece, so memory does not grow with their number.
#ifndef LOCKSTEP_TRAIN_TRACE_FILE_H
#define LOCKSTEP_TRAIN_TRACE_FILE_H

#include <stddef.h>

#include "base/error.h"
#include "base/log.h"
#include "base/output.h"
#include "base/trace.h"
#include "dist/comm.h"

// Spans of a track: 10 MiB of memory, some 25 MB of the file.
enum { TRACE_FILE_ROOM = 1 << 18 };

typedef struct trace_file {
    trace *trace; // what to record to; NULL: nobody asked for a trace
    output *out;  // rank 0
    const char *path;
    comm *comm;
    uint64_t ahead; // ns that this rank's clock is before rank 0's; modulo 2^64
} trace_file;

// Opens the file, so that a run does not end with finding that it cannot be written, and a recorder
// with the track of this thread. A NULL `path`: not asked for. Rank 0 decides for all; STATUS_USAGE
// when another rank asks for what rank 0 does not. All ranks call this, as the next.
status trace_file_open(trace_file *f, const char *path, const char *track, size_t room, comm *c,
                       error *err) MUST_CHECK;

// Ends the recording and writes the file, whole. Warns when spans were left out. `tool`: its name.
status trace_file_write(trace_file *f, const char *tool, const logger *log, error *err) MUST_CHECK;

// Frees; no file is left unless it was written. A zeroed struct is fine.
void trace_file_release(trace_file *f);

#endif
