// SPDX-License-Identifier: MIT
// streams.h - streams, events and captures, shared by streams.cc, events.cc and graphs.cc.
#ifndef LOCKSTEP_EMULATION_STREAMS_H
#define LOCKSTEP_EMULATION_STREAMS_H

#include <cstdint>
#include <deque>
#include <memory>
#include <thread>

#include "emulation.h"
#include "races.h"

namespace emulation {

// The work that is left in a stream, in order. It outlives the stream if an event points to it.
struct queue {
    std::deque<work> waiting;
    uint64_t put = 0, done = 0; // numbers of the last one submitted, and of the last one done
    races::timeline order;

    cudaError_t step(); // runs the first, if any; cudaErrorNotReady: it is still there
    // Run until that number is done. advance stops at work that waits for another process, with
    // cudaErrorNotReady; finish does not.
    cudaError_t advance(uint64_t upto);
    cudaError_t finish(uint64_t upto);
};

// One node of a graph: its work, the nodes that it follows, and the priority of the stream that
// captured it.
struct node {
    work what;
    std::vector<size_t> after;
    int priority;
};

struct capture {
    cudaStream_t origin;
    cudaStreamCaptureMode mode;
    std::thread::id thread;
    std::vector<node> nodes;
    bool lost = false; // something forbidden was done
    bool ended = false;
};

cudaError_t stream_exists(cudaStream_t stream);
// Returns the stream itself, or the current device's default stream for NULL.
cudaError_t find_stream(cudaStream_t stream, CUstream_st **found);
// Ends the capture: its streams return to ordinary work.
void end_capture(const std::shared_ptr<capture> &c);
// Adds a node after everything that the stream has captured.
void add_node(CUstream_st *stream, work what);
// Rejects a call that a capturing stream does not allow: fails, and the capture is lost.
cudaError_t lose(capture *c, cudaError_t why);

} // namespace emulation

struct CUstream_st {
    int device = 0;
    bool blocking = true; // waits for the device's default stream, and vice versa
    bool own = false;     // is the device's default stream
    int priority = 0;
    std::shared_ptr<emulation::queue> queue = std::make_shared<emulation::queue>();
    std::shared_ptr<emulation::capture> capture; // null: none
    std::vector<size_t> behind;                  // its last nodes there
    bool after_kernel = false;                   // is the last work in it a kernel's launch?
};

#endif
