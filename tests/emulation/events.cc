// SPDX-License-Identifier: MIT
// Events: a place in a stream, or in a graph that is being captured.
#include "streams.h"

#include <chrono>
#include <set>

#include "ipc.h"

namespace emulation {

enum class recorded { never, in_queue, in_capture, in_graph };

static const double NOT_YET = -1;

// Set by the recorded work.
struct reached {
    double seconds = NOT_YET;
    races::moment at;
};

} // namespace emulation

struct CUevent_st {
    int device;
    bool timed;
    emulation::recorded how = emulation::recorded::never;
    std::shared_ptr<emulation::reached> mark; // of the last record
    std::shared_ptr<emulation::queue> queue;  // in_queue
    uint64_t number = 0;
    std::shared_ptr<emulation::capture> capture; // in_capture
    std::vector<size_t> behind;
    std::shared_ptr<emulation::shared_event> shared; // of an interprocess event
    bool foreign = false;                            // another process's
};

namespace emulation {

static std::set<CUevent_st *> events;

static work set_to_now(std::shared_ptr<reached> mark) {
    return [mark] {
        using namespace std::chrono;
        mark->seconds = duration<double>(steady_clock::now().time_since_epoch()).count();
        mark->at = races::here();
        return cudaSuccess;
    };
}

// The same, visible to other processes.
static work reach(std::shared_ptr<reached> mark, std::shared_ptr<shared_event> shared) {
    if (!shared) return set_to_now(std::move(mark));
    const uint64_t number = ++shared->recorded;
    return [set = set_to_now(std::move(mark)), shared, number] {
        shared->reached = number;
        return set();
    };
}

// The latest record so far: later ones are not waited for.
static work foreign_reached(const CUevent_st *event) {
    return [shared = event->shared, number = event->shared->recorded.load()] {
        return shared->reached >= number ? cudaSuccess : cudaErrorNotReady;
    };
}

static cudaError_t new_event(cudaEvent_t *event, unsigned flags) {
    const bool interprocess = flags & cudaEventInterprocess;
    if (flags & ~(unsigned)(cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess))
        return cudaErrorInvalidValue;
    if (interprocess && !(flags & cudaEventDisableTiming)) return cudaErrorInvalidValue;
    int device;
    const cudaError_t result = current_device(&device);
    if (result != cudaSuccess) return result;
    *event = new CUevent_st;
    (*event)->device = device;
    (*event)->timed = !(flags & cudaEventDisableTiming);
    if (interprocess) (*event)->shared = new_shared_event();
    events.insert(*event);
    return cudaSuccess;
}

// In a capture an event is a place between nodes. With External it is a node, which each launch of
// the graph reaches again.
static cudaError_t record(CUevent_st *event, CUstream_st *stream, bool external) {
    if (event->device != stream->device) return cudaErrorInvalidResourceHandle;
    if (event->foreign) return cudaErrorNotSupported;
    if (stream->capture && stream->capture->lost) return cudaErrorStreamCaptureInvalidated;
    if (stream->capture && event->shared)
        return lose(stream->capture.get(), cudaErrorStreamCaptureUnsupported);
    event->mark = std::make_shared<reached>();
    if (stream->capture && !external) {
        event->how = recorded::in_capture;
        event->capture = stream->capture;
        event->behind = stream->behind;
        return cudaSuccess;
    }
    event->how = stream->capture ? recorded::in_graph : recorded::in_queue;
    event->queue = stream->queue;
    event->number = stream->queue->put + 1;
    const bool after_kernel = stream->after_kernel;
    const cudaError_t result =
        submit(stream->own ? nullptr : stream, reach(event->mark, event->shared));
    stream->after_kernel = after_kernel && event->how == recorded::in_queue;
    return result;
}

// The stream continues after the nodes that the event follows, and joins its capture.
static cudaError_t wait_in_capture(CUstream_st *stream, const CUevent_st *event) {
    capture *theirs = event->capture.get();
    if (stream->own) return lose(theirs, cudaErrorStreamCaptureImplicit);
    if (stream->capture && stream->capture != event->capture) {
        (void)lose(theirs, cudaErrorStreamCaptureMerge);
        return lose(stream->capture.get(), cudaErrorStreamCaptureMerge);
    }
    if (theirs->ended) return cudaErrorStreamCaptureIsolation;
    stream->capture = event->capture;
    stream->after_kernel = false;
    stream->behind.insert(stream->behind.end(), event->behind.begin(), event->behind.end());
    return cudaSuccess;
}

static cudaError_t wait(CUstream_st *stream, const CUevent_st *event, bool external) {
    if (stream->capture && stream->capture->lost) return cudaErrorStreamCaptureInvalidated;
    if (event->foreign) {
        if (stream->capture) return lose(stream->capture.get(), cudaErrorStreamCaptureIsolation);
        return submit(stream->own ? nullptr : stream, foreign_reached(event));
    }
    if (event->how == recorded::never) return cudaSuccess;
    if (event->how == recorded::in_capture) return wait_in_capture(stream, event);
    if (stream->capture && !external)
        return lose(stream->capture.get(), cudaErrorStreamCaptureIsolation);
    const bool in_graph = event->how == recorded::in_graph;
    const std::shared_ptr<queue> theirs = event->queue;
    const uint64_t number = event->number;
    return submit(stream->own ? nullptr : stream, [=, mark = event->mark] {
        const cudaError_t result = in_graph ? finish_all() : theirs->advance(number);
        races::follow(mark->at);
        return result;
    });
}

// Returns cudaErrorNotReady if the event's place has not been reached.
static cudaError_t state(const CUevent_st *event) {
    if (event->foreign) return foreign_reached(event)();
    if (event->how == recorded::in_capture) {
        if (!event->capture->ended) event->capture->lost = true;
        return cudaErrorCapturedEvent;
    }
    return event->how != recorded::never && event->mark->seconds == NOT_YET ? cudaErrorNotReady
                                                                            : cudaSuccess;
}

// The host has waited for the event, or has asked whether it was reached.
static cudaError_t seen(const CUevent_st *event, cudaError_t result) {
    if (result == cudaSuccess && event->mark) races::host_follows(event->mark->at);
    return done(result);
}

} // namespace emulation

using namespace emulation;

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
    hold lock(everything);
    return done(new_event(event, flags));
}

cudaError_t cudaEventCreate(cudaEvent_t *event) {
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    hold lock(everything);
    if (!events.erase(event)) return done(cudaErrorInvalidResourceHandle);
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    hold lock(everything);
    if (!events.count(event)) return done(cudaErrorInvalidResourceHandle);
    CUstream_st *s;
    const cudaError_t result = find_stream(stream, &s);
    return done(result == cudaSuccess ? record(event, s, flags & cudaEventRecordExternal) : result);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    hold lock(everything);
    if (!events.count(event)) return done(cudaErrorInvalidResourceHandle);
    CUstream_st *s;
    const cudaError_t result = find_stream(stream, &s);
    return done(result == cudaSuccess ? wait(s, event, flags & cudaEventWaitExternal) : result);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    hold lock(everything);
    if (!events.count(event)) return done(cudaErrorInvalidResourceHandle);
    const cudaError_t result = state(event);
    if (result != cudaErrorNotReady) return seen(event, result);
    if (event->foreign) return done(wait_patiently(foreign_reached(event)));
    return seen(event, event->how == recorded::in_queue ? event->queue->finish(event->number)
                                                        : finish_all());
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    hold lock(everything);
    if (!events.count(event)) return done(cudaErrorInvalidResourceHandle);
    if (!event->foreign && state(event) == cudaErrorNotReady) (void)event->queue->step();
    return seen(event, state(event));
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
    hold lock(everything);
    for (const cudaEvent_t event : {start, end}) {
        if (!events.count(event) || !event->timed || event->how == recorded::never)
            return done(cudaErrorInvalidResourceHandle);
        const cudaError_t result = state(event);
        if (result != cudaSuccess) return done(result);
    }
    *milliseconds = (float)((end->mark->seconds - start->mark->seconds) * 1000);
    return cudaSuccess;
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event) {
    hold lock(everything);
    if (!events.count(event) || !event->shared || event->foreign)
        return done(cudaErrorInvalidResourceHandle);
    return done(name_event(*event->shared, handle));
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle) {
    hold lock(everything);
    std::shared_ptr<shared_event> shared;
    cudaError_t result = find_event(handle, &shared);
    if (result == cudaSuccess) result = new_event(event, cudaEventDisableTiming);
    if (result != cudaSuccess) return done(result);
    (*event)->shared = shared;
    (*event)->foreign = true;
    return cudaSuccess;
}
