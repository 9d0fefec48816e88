// Captures and graphs. A graph is run in any order that its dependencies allow; which one is
// LOCKSTEP_EMULATED_ORDER's choice.
#include "streams.h"

#include <algorithm>

struct CUgraph_st {
    std::vector<emulation::node> nodes;
};

struct CUgraphExec_st {
    std::shared_ptr<const std::vector<emulation::node>> nodes; // shared with launches that wait
};

namespace emulation {

static std::vector<std::shared_ptr<capture>> captures; // some of them may have ended

cudaError_t lose(capture *c, cudaError_t why) {
    c->lost = true;
    return why;
}

// The rules of cudaThreadExchangeStreamCaptureMode.
cudaError_t allowed_now() {
    cudaError_t result = cudaSuccess;
    for (const auto &c : captures) {
        if (c->ended) continue;
        const bool mine = c->thread == std::this_thread::get_id();
        if (c->mode == cudaStreamCaptureModeGlobal ||
            (mine && c->mode == cudaStreamCaptureModeThreadLocal))
            result = lose(c.get(), cudaErrorStreamCaptureUnsupported);
    }
    return result;
}

static cudaError_t begin(cudaStream_t stream, cudaStreamCaptureMode mode) {
    if (!stream) return cudaErrorStreamCaptureUnsupported;
    const cudaError_t result = stream_exists(stream);
    if (result != cudaSuccess) return result;
    if (stream->capture) return cudaErrorIllegalState;
    const auto ended = [](const auto &c) { return c->ended; };
    captures.erase(std::remove_if(captures.begin(), captures.end(), ended), captures.end());
    stream->capture = std::make_shared<capture>();
    stream->capture->origin = stream;
    stream->capture->mode = mode;
    stream->capture->thread = std::this_thread::get_id();
    captures.push_back(stream->capture);
    return cudaSuccess;
}

// Whether every node is among `last`, or one of those that they come behind.
static bool all_joined(const std::vector<node> &nodes, const std::vector<size_t> &last) {
    std::vector<bool> seen(nodes.size());
    for (const size_t i : last) seen[i] = true;
    for (size_t i = nodes.size(); i-- > 0;) {
        if (!seen[i]) return false;
        for (const size_t before : nodes[i].after) seen[before] = true;
    }
    return true;
}

static cudaError_t end(cudaStream_t stream, cudaGraph_t *graph) {
    const cudaError_t result = stream_exists(stream);
    if (result != cudaSuccess) return result;
    if (!stream || !stream->capture) return cudaErrorIllegalState;
    const std::shared_ptr<capture> c = stream->capture;
    if (c->origin != stream) return lose(c.get(), cudaErrorStreamCaptureUnmatched);
    if (c->mode != cudaStreamCaptureModeRelaxed && c->thread != std::this_thread::get_id())
        return lose(c.get(), cudaErrorStreamCaptureWrongThread);
    const bool joined = all_joined(c->nodes, stream->behind);
    end_capture(c);
    *graph = nullptr;
    if (c->lost) return cudaErrorStreamCaptureInvalidated;
    if (!joined) return cudaErrorStreamCaptureUnjoined;
    *graph = new CUgraph_st{c->nodes};
    return cudaSuccess;
}

// Always the first of `preferred` that may run.
static cudaError_t run_graph(const std::vector<node> &nodes) {
    std::vector<size_t> preferred;
    arrange(&preferred, nodes.size());
    std::vector<bool> ran(nodes.size());
    const auto may_run = [&](size_t i) {
        const std::vector<size_t> &after = nodes[i].after;
        return !ran[i] && std::all_of(after.begin(), after.end(), [&](size_t b) { return ran[b]; });
    };
    for (size_t count = 0; count < nodes.size(); count++) {
        const size_t next = *std::find_if(preferred.begin(), preferred.end(), may_run);
        const cudaError_t result = nodes[next].what();
        if (result != cudaSuccess) return result;
        ran[next] = true;
    }
    return cudaSuccess;
}

} // namespace emulation

using namespace emulation;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    hold lock(everything);
    return done(begin(stream, mode));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    hold lock(everything);
    return done(end(stream, graph));
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status) {
    hold lock(everything);
    const cudaError_t result = stream_exists(stream);
    *status = cudaStreamCaptureStatusNone;
    if (result == cudaSuccess && stream && stream->capture)
        *status = stream->capture->lost ? cudaStreamCaptureStatusInvalidated
                                        : cudaStreamCaptureStatusActive;
    return done(result);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    hold lock(everything);
    if (!graph || nodes || !count) return done(cudaErrorInvalidValue);
    *count = graph->nodes.size();
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long) {
    hold lock(everything);
    if (!graph) return done(cudaErrorInvalidValue);
    *exec = new CUgraphExec_st{std::make_shared<const std::vector<node>>(graph->nodes)};
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    hold lock(everything);
    if (!exec) return done(cudaErrorInvalidValue);
    return done(submit(stream, [nodes = exec->nodes] { return run_graph(*nodes); }));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    hold lock(everything);
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    hold lock(everything);
    delete exec;
    return cudaSuccess;
}
