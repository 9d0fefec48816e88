// SPDX-License-Identifier: MIT
// Captures and graphs. A graph runs in any order that its dependencies allow;
// LOCKSTEP_EMULATED_ORDER selects which.
#include "streams.h"

#include <algorithm>

struct CUgraph_st {
    std::vector<emulation::node> nodes;
};

struct CUgraphExec_st {
    std::shared_ptr<const std::vector<emulation::node>> nodes; // shared with launches that wait
    bool prioritized; // nodes have their own priorities, not that of the launch's stream
    std::shared_ptr<emulation::races::branches> branches = emulation::races::new_branches();
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
    stream->after_kernel = false;
    stream->capture->mode = mode;
    stream->capture->thread = std::this_thread::get_id();
    captures.push_back(stream->capture);
    return cudaSuccess;
}

// Whether every node is among `last`, or is one that they follow.
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
    const std::vector<node> nodes = std::move(c->nodes); // an event may keep the capture itself
    const bool joined = all_joined(nodes, stream->behind);
    end_capture(c);
    *graph = nullptr;
    if (c->lost) return cudaErrorStreamCaptureInvalidated;
    if (!joined) return cudaErrorStreamCaptureUnjoined;
    *graph = new CUgraph_st{nodes};
    return cudaSuccess;
}

// A launched graph, and its progress.
struct launched {
    std::shared_ptr<const std::vector<node>> nodes;
    std::vector<size_t> preferred;
    std::vector<bool> ran;
    size_t left;
    std::shared_ptr<races::branches> branches;
    std::shared_ptr<races::graph_run> run; // begins with the first node
};

static bool may_run(const launched &l, size_t i) {
    const std::vector<size_t> &after = (*l.nodes)[i].after;
    return !l.ran[i] && std::all_of(after.begin(), after.end(), [&](size_t b) { return l.ran[b]; });
}

// Runs always the first of `preferred` that may run. A node that waits for another process stops
// only those that follow it: the others run, and it is tried again the next time the stream is
// examined.
static cudaError_t advance_graph(launched *l) {
    std::vector<bool> waits(l->nodes->size());
    if (!l->run) l->run = races::begin_graph(l->branches, l->nodes->size());
    while (l->left > 0) {
        const auto next = std::find_if(l->preferred.begin(), l->preferred.end(),
                                       [&](size_t i) { return !waits[i] && may_run(*l, i); });
        if (next == l->preferred.end()) return cudaErrorNotReady;
        const node &n = (*l->nodes)[*next];
        const cudaError_t result = races::run_node(l->run.get(), *next, n.after, n.what);
        waits[*next] = result == cudaErrorNotReady;
        if (waits[*next]) continue;
        if (result != cudaSuccess) return result;
        l->ran[*next] = true;
        l->left--;
    }
    races::end_graph(l->run.get());
    return cudaSuccess;
}

static work launch_of(const CUgraphExec_st *exec) {
    const auto l = std::make_shared<launched>();
    l->nodes = exec->nodes;
    l->left = exec->nodes->size();
    l->ran.resize(l->left);
    l->branches = exec->branches;
    arrange(&l->preferred, l->left);
    return [l] { return advance_graph(l.get()); };
}

// The number of nodes that follow each other in a row, at most.
static size_t longest_chain(const std::vector<node> &nodes) {
    std::vector<size_t> length(nodes.size(), 1);
    for (size_t i = 0; i < nodes.size(); i++)
        for (const size_t before : nodes[i].after) // an earlier node
            length[i] = std::max(length[i], length[before] + 1);
    return nodes.empty() ? 0 : *std::max_element(length.begin(), length.end());
}

static void note_launch(const CUgraphExec_st *exec, cudaStream_t stream) {
    FILE *list = open_list("LOCKSTEP_EMULATED_GRAPHS");
    if (!list) return;
    const int launched = stream ? stream->priority : 0;
    const auto urgent = std::count_if(exec->nodes->begin(), exec->nodes->end(), [&](const node &n) {
        return (exec->prioritized ? n.priority : launched) < 0;
    });
    fprintf(list, "%zu %zu %zu\n", exec->nodes->size(), (size_t)urgent,
            longest_chain(*exec->nodes));
    fclose(list);
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

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long flags) {
    hold lock(everything);
    const bool prioritized = flags == cudaGraphInstantiateFlagUseNodePriority;
    if (!graph || (flags && !prioritized)) return done(cudaErrorInvalidValue);
    *exec =
        new CUgraphExec_st{std::make_shared<const std::vector<node>>(graph->nodes), prioritized};
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    hold lock(everything);
    const cudaError_t result = exec ? stream_exists(stream) : cudaErrorInvalidValue;
    if (result != cudaSuccess) return done(result);
    note_launch(exec, stream);
    return done(submit(stream, launch_of(exec)));
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
