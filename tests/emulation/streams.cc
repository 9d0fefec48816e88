// SPDX-License-Identifier: MIT
// Streams: queues of work that run at once, or as late as possible (order::backward).
#include "streams.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>

namespace emulation {

static std::set<CUstream_st *> streams;
static std::map<int, CUstream_st> own_streams; // of the devices

// ---- Queues ----

cudaError_t queue::step() {
    if (waiting.empty()) return cudaSuccess;
    work next = std::move(waiting.front());
    waiting.pop_front();
    device_access access;
    races::piece running(&order);
    const cudaError_t result = next();
    if (result == cudaErrorNotReady)
        waiting.push_front(std::move(next));
    else
        done++;
    return result;
}

cudaError_t queue::advance(uint64_t upto) {
    cudaError_t first = cudaSuccess;
    while (done < upto && !waiting.empty()) {
        const cudaError_t result = step();
        if (result == cudaErrorNotReady) return result;
        if (first == cudaSuccess) first = result;
    }
    return first;
}

cudaError_t queue::finish(uint64_t upto) {
    return wait_patiently([this, upto] { return advance(upto); });
}

// ---- Waiting for other processes ----

double patience_seconds() {
    const char *text = getenv("LOCKSTEP_EMULATED_SECONDS");
    return text && *text ? atof(text) : 20;
}

cudaError_t wait_patiently(const work &what) {
    using namespace std::chrono;
    const auto begin = steady_clock::now();
    for (;;) {
        const cudaError_t result = what();
        if (result != cudaErrorNotReady) return result;
        if (duration<double>(steady_clock::now() - begin).count() > patience_seconds())
            return cudaErrorLaunchTimeout;
        usleep(50);
    }
}

static cudaError_t finish_stream(const CUstream_st *s) {
    return s->queue->finish(s->queue->put);
}

// ---- Finding streams ----

cudaError_t stream_exists(cudaStream_t stream) {
    return !stream || streams.count(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t find_stream(cudaStream_t stream, CUstream_st **found) {
    *found = stream;
    if (stream) return stream_exists(stream);
    int device;
    const cudaError_t result = current_device(&device);
    *found = &own_streams[device];
    (*found)->device = device;
    (*found)->own = true;
    return result;
}

cudaError_t stream_is_here(cudaStream_t stream) {
    CUstream_st *s;
    cudaError_t result = find_stream(stream, &s);
    int device;
    if (result == cudaSuccess) result = current_device(&device);
    if (result == cudaSuccess && s->device != device) result = cudaErrorInvalidResourceHandle;
    return result;
}

void end_capture(const std::shared_ptr<capture> &c) {
    c->ended = true;
    for (CUstream_st *s : streams)
        if (s->capture == c) {
            s->capture = nullptr;
            s->behind.clear();
            s->after_kernel = false;
        }
}

// ---- Work ----

void add_node(CUstream_st *stream, work what) {
    std::vector<node> &nodes = stream->capture->nodes;
    nodes.push_back({std::move(what), stream->behind, stream->priority});
    stream->behind = {nodes.size() - 1};
    stream->after_kernel = false;
}

// A device's default stream and those that are not NonBlocking take turns: submitting work to one
// first lets the other finish. So at most one has work.
static cudaError_t finish_before(const CUstream_st *other, const CUstream_st *stream) {
    const cudaError_t result = finish_stream(other);
    races::line_follows(&stream->queue->order, races::end_of(other->queue->order));
    return result;
}

static cudaError_t finish_other(const CUstream_st *stream) {
    if (!stream->own)
        return stream->blocking ? finish_before(&own_streams[stream->device], stream) : cudaSuccess;
    for (const CUstream_st *s : streams) {
        if (s->device != stream->device || !s->blocking) continue;
        if (s->capture) return lose(s->capture.get(), cudaErrorStreamCaptureImplicit);
        const cudaError_t result = finish_before(s, stream);
        if (result != cudaSuccess) return result;
    }
    return cudaSuccess;
}

// LOCKSTEP_EMULATED_QUEUE: a caller that submits more to a stream waits, as with a device.
static cudaError_t make_room(queue *q) {
    const char *text = getenv("LOCKSTEP_EMULATED_QUEUE");
    const uint64_t room = text && *text ? (uint64_t)atoll(text) : UINT64_MAX;
    return q->put > room ? q->finish(q->put - room) : cudaSuccess;
}

cudaError_t submit(cudaStream_t stream, work what) {
    CUstream_st *s;
    cudaError_t result = find_stream(stream, &s);
    if (result != cudaSuccess) return result;
    s->after_kernel = false;
    what = races::after_host(std::move(what));
    if (s->capture) {
        if (s->capture->lost) return cudaErrorStreamCaptureInvalidated;
        add_node(s, std::move(what));
        return cudaSuccess;
    }
    result = finish_other(s);
    if (result != cudaSuccess) return result;
    s->queue->waiting.push_back(std::move(what));
    s->queue->put++;
    if (run_order() == order::backward) return make_room(s->queue.get());
    result = s->queue->advance(s->queue->put);
    return result == cudaErrorNotReady ? make_room(s->queue.get()) : result; // the rest: later
}

static std::vector<const CUstream_st *> all_streams() {
    std::vector<const CUstream_st *> all;
    for (const auto &[number, s] : own_streams) all.push_back(&s);
    all.insert(all.end(), streams.begin(), streams.end());
    return all;
}

static cudaError_t finish_streams(const std::function<bool(const CUstream_st &)> &wanted) {
    cudaError_t first = cudaSuccess;
    for (const CUstream_st *s : all_streams()) {
        const cudaError_t result = wanted(*s) ? finish_stream(s) : cudaSuccess;
        if (first == cudaSuccess) first = result;
    }
    return first;
}

cudaError_t finish_device(int device) {
    return finish_streams([device](const CUstream_st &s) { return s.device == device; });
}

cudaError_t finish_all() {
    return finish_streams([](const CUstream_st &) { return true; });
}

static void host_follows_device(int device) {
    for (const CUstream_st *s : all_streams())
        if (s->device == device) races::host_follows(races::end_of(s->queue->order));
}

static cudaError_t new_stream(cudaStream_t *stream, unsigned flags, int priority) {
    if (flags & ~(unsigned)cudaStreamNonBlocking) return cudaErrorInvalidValue;
    int device;
    const cudaError_t result = current_device(&device);
    if (result != cudaSuccess) return result;
    *stream = new CUstream_st;
    (*stream)->device = device;
    (*stream)->blocking = !(flags & cudaStreamNonBlocking);
    (*stream)->priority = std::clamp(priority, (int)GREATEST_PRIORITY, 0);
    streams.insert(*stream);
    return cudaSuccess;
}

static cudaError_t free_stream(cudaStream_t stream) {
    if (!streams.count(stream)) return cudaErrorInvalidResourceHandle;
    if (const std::shared_ptr<capture> c = stream->capture) {
        c->lost = true;
        if (c->origin == stream) end_capture(c);
    }
    const cudaError_t result = finish_stream(stream);
    streams.erase(stream);
    delete stream;
    return result;
}

} // namespace emulation

using namespace emulation;

cudaError_t cudaStreamCreate(cudaStream_t *stream) {
    hold lock(everything);
    return done(new_stream(stream, cudaStreamDefault, 0));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    hold lock(everything);
    return done(new_stream(stream, flags, 0));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
    hold lock(everything);
    return done(new_stream(stream, flags, priority));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    hold lock(everything);
    return done(free_stream(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    hold lock(everything);
    CUstream_st *s;
    cudaError_t result = find_stream(stream, &s);
    if (result != cudaSuccess) return done(result);
    if (s->capture) return done(lose(s->capture.get(), cudaErrorStreamCaptureUnsupported));
    result = finish_other(s);
    if (result == cudaSuccess) result = finish_stream(s);
    races::host_follows(races::end_of(s->queue->order));
    return done(result);
}

// A caller that polls must see an end: each call does a little work.
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    hold lock(everything);
    CUstream_st *s;
    cudaError_t result = find_stream(stream, &s);
    if (result != cudaSuccess) return done(result);
    if (s->capture) return done(lose(s->capture.get(), cudaErrorStreamCaptureUnsupported));
    result = s->queue->step();
    if (!s->queue->waiting.empty()) return done(result == cudaSuccess ? cudaErrorNotReady : result);
    races::host_follows(races::end_of(s->queue->order));
    return done(result);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *context) {
    hold lock(everything);
    if (!function) return done(cudaErrorInvalidValue);
    return done(submit(stream, [=] {
        function(context);
        return cudaSuccess;
    }));
}

cudaError_t cudaDeviceSynchronize() {
    hold lock(everything);
    int device;
    cudaError_t result = current_device(&device);
    for (const CUstream_st *s : streams)
        if (result == cudaSuccess && s->device == device && s->capture)
            result = lose(s->capture.get(), cudaErrorStreamCaptureUnsupported);
    if (result == cudaSuccess) result = finish_device(device);
    host_follows_device(device);
    return done(result);
}
