// streams.h - streams, events and captures, as streams.cc, events.cc and graphs.cc share them.
#ifndef LOCKSTEP_EMULATION_STREAMS_H
#define LOCKSTEP_EMULATION_STREAMS_H

#include <cstdint>
#include <deque>
#include <memory>
#include <thread>

#include "emulation.h"

namespace emulation {

// What a stream has still to do, in order. It outlives the stream where an event points to it.
struct queue {
    std::deque<work> waiting;
    uint64_t put = 0, done = 0; // numbers of the last that came in, and of the last that has run

    cudaError_t step(); // runs one, if there is one; cudaErrorNotReady: it is still there
    // Runs until that number is done. advance stops at work that waits for another process, with
    // cudaErrorNotReady; finish does not.
    cudaError_t advance(uint64_t upto);
    cudaError_t finish(uint64_t upto);
};

// One node of a graph: what it does, behind which other nodes, and the priority of the stream that
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
// The stream itself, or the current device's own one for NULL.
cudaError_t find_stream(cudaStream_t stream, CUstream_st **found);
// The capture is over: its streams go back to ordinary work.
void end_capture(const std::shared_ptr<capture> &c);
// Behind everything that the stream has captured.
void add_node(CUstream_st *stream, work what);
// A call that a capturing stream does not allow: fails, and the capture is lost.
cudaError_t lose(capture *c, cudaError_t why);

} // namespace emulation

struct CUstream_st {
    int device = 0;
    bool blocking = true; // waits for the device's own stream, and that one for it
    bool own = false;     // is the device's own stream
    int priority = 0;
    std::shared_ptr<emulation::queue> queue = std::make_shared<emulation::queue>();
    std::shared_ptr<emulation::capture> capture; // null: none
    std::vector<size_t> behind;                  // its last nodes there
};

#endif
