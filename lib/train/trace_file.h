// SPDX-License-Identifier: MIT
// trace_file.h - the file of --trace: the events that the threads of all ranks recorded, merged by
// rank 0 (docs/formats.md).
//
// The ranks exchange no events during training. After the last step they send them to rank 0 piece
// by piece, so rank 0's memory does not grow with their number.
#ifndef LOCKSTEP_TRAIN_TRACE_FILE_H
#define LOCKSTEP_TRAIN_TRACE_FILE_H

#include <stddef.h>

#include "base/error.h"
#include "base/log.h"
#include "base/output.h"
#include "base/trace.h"
#include "dist/comm.h"

// Spans per track: 10 MiB of memory, about 25 MB in the file.
enum { TRACE_FILE_ROOM = 1 << 18 };

typedef struct trace_file {
    trace *trace; // recorder; NULL: no trace was requested
    output *out;  // rank 0
    const char *path;
    comm *comm;
    uint64_t ahead; // ns by which this rank's clock is ahead of rank 0's, modulo 2^64
} trace_file;

// Opens the file, so that a failure to write it shows before the run, and a recorder with this
// thread's track. NULL `path`: no trace. Rank 0 decides for all; STATUS_USAGE if another rank
// requests a trace and rank 0 does not. All ranks call this function and trace_file_write.
status trace_file_open(trace_file *f, const char *path, const char *track, size_t room, comm *c,
                       error *err) MUST_CHECK;

// Ends the recording and writes the whole file. Warns if spans were left out. `tool` is the tool's
// name.
status trace_file_write(trace_file *f, const char *tool, const logger *log, error *err) MUST_CHECK;

// Frees `f`; leaves no file unless it was written. A zeroed struct is fine.
void trace_file_release(trace_file *f);

#endif
