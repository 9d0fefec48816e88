// SPDX-License-Identifier: MIT
// NCCL over shared memory: implements nccl.h.
//
// Everything is done with messages. A rank has a channel to each rank, itself included. A channel
// holds one piece of a message at a time, with a label that describes the message. A collective is
// one message to every rank and one from every rank.
#include "nccl.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "streams.h"

namespace emulation {

enum { MAX_RANKS = 16, PIECE = 64 << 10, WHY_BYTES = 256, DEVICE_BYTES = 16 };

// ---- Shared by the ranks ----

enum class calls : uint32_t { point_to_point, all_gather, all_reduce };

// Must be equal at both ends of a message.
struct label {
    calls what;
    uint64_t count;  // of floats
    uint64_t number; // of earlier collectives
};

struct channel {
    std::atomic<uint32_t> full;
    label what;
    uint64_t bytes; // of the piece that lies here
    unsigned char piece[PIECE];
};

struct member {
    std::atomic<int> here; // ABSENT, COMING, HERE, FINAL
    char device[DEVICE_BYTES];
};
enum { ABSENT, COMING, HERE, FINAL };

struct rendezvous {
    uint64_t token;
    std::atomic<int> size;
    std::atomic<int> failed; // 2: `why` is complete; 1: it is being written
    char why[WHY_BYTES];
    member members[MAX_RANKS];
    channel channels[MAX_RANKS][MAX_RANKS]; // [from][to]
};

// The contents of a unique id.
struct name {
    char magic[16];
    pid_t process;
    int file; // of that process
    uint64_t token;
};
static const char MAGIC[16] = "lockstep-nccl";

// ---- A rank's work ----

struct transfer {
    bool out;
    int peer;
    label what;
    char *at;
    size_t left; // bytes
};

struct sum {
    float *to;
    size_t count;
    std::vector<std::vector<float>> terms; // of each rank
};

struct operation {
    bool send, receive; // a collective: both
    calls what;
    const void *from;
    void *to;
    size_t count;
    int peer;
};

// Calls between ncclGroupStart and ncclGroupEnd, or one outside.
struct group_of_calls {
    int depth = 0;
    ncclComm *comm = nullptr;
    cudaStream_t stream = nullptr;
    std::vector<operation> operations;
    ncclResult_t failed = ncclSuccess;
};
static thread_local group_of_calls group;

using monotonic = std::chrono::steady_clock;

} // namespace emulation

using namespace emulation;

struct ncclComm {
    int rank, size, device;
    int file; // of the unique id, if this rank has created it; else -1
    rendezvous *shared;
    bool joined = false;
    ncclResult_t state = ncclInProgress;
    char why[WHY_BYTES] = "";
    monotonic::time_point moved = monotonic::now(); // last progress
    uint64_t collectives = 0;
    // Of the group in progress:
    cudaStream_t stream = nullptr;
    uint64_t put = 0;     // work in the stream before it
    bool settled = false; // that work is done, and the group is planned
    group_of_calls calls;
    std::shared_ptr<capture> capturing; // null: not captured. Else its node follows
    std::vector<size_t> behind;         // these, once the thread that adds it is done
    monotonic::time_point called;       // ... which begins then
    std::vector<transfer> transfers;
    std::vector<sum> sums;
    // Of captured groups: each node of a graph holds this, too. `running`: the group whose
    // transfers are in progress.
    struct on_graphs {
        ncclComm *comm; // null: aborted
        const group_of_calls *running;
    };
    std::shared_ptr<on_graphs> graphs = std::make_shared<on_graphs>(on_graphs{this, nullptr});
};

namespace emulation {

// ---- Failing ----

__attribute__((format(printf, 3, 4))) static ncclResult_t fail(ncclComm *c, ncclResult_t code,
                                                               const char *format, ...) {
    va_list arguments;
    int nobody = 0;
    va_start(arguments, format);
    vsnprintf(c->why, sizeof c->why, format, arguments);
    va_end(arguments);
    c->state = code;
    if (c->shared->failed.compare_exchange_strong(nobody, 1)) {
        memcpy(c->shared->why, c->why, sizeof c->why);
        c->shared->failed = 2;
    }
    return code;
}

static bool is_final(const ncclComm *c) {
    return c->shared->members[c->rank].here == FINAL;
}

static bool is_failed(const ncclComm *c) {
    return c->state != ncclSuccess && c->state != ncclInProgress;
}

// A failure that another rank reported.
static void hear_of_failure(ncclComm *c) {
    if (is_failed(c) || c->shared->failed != 2) return;
    c->state = ncclRemoteError;
    memcpy(c->why, c->shared->why, sizeof c->why);
}

static bool overdue(const ncclComm *c) {
    return std::chrono::duration<double>(monotonic::now() - c->moved).count() > patience_seconds();
}

static std::string describe(const label &l) {
    static const char *const names[] = {"a message", "an all-gather", "an all-reduce"};
    std::string text = names[(int)l.what];
    if (l.what != calls::point_to_point) text += " (number " + std::to_string(l.number) + ")";
    return text + " of " + std::to_string(l.count) + " floats";
}

// ---- Moving ----

static bool same(const label &a, const label &b) {
    return a.what == b.what && a.count == b.count && a.number == b.number;
}

static bool send_piece(channel *c, transfer *t) {
    if (c->full) return false;
    c->what = t->what;
    c->bytes = t->left < PIECE ? t->left : (size_t)PIECE;
    memcpy(c->piece, t->at, c->bytes);
    t->at += c->bytes;
    t->left -= c->bytes;
    c->full = 1;
    return true;
}

static bool receive_piece(ncclComm *comm, channel *c, transfer *t) {
    if (!c->full) return false;
    if (!same(c->what, t->what)) {
        fail(comm, ncclInvalidUsage, "rank %d waits for %s, and rank %d sends %s", comm->rank,
             describe(t->what).c_str(), t->peer, describe(c->what).c_str());
        return false;
    }
    memcpy(t->at, c->piece, c->bytes);
    t->at += c->bytes;
    t->left -= c->bytes;
    c->full = 0;
    return true;
}

// Messages of one channel do not overtake each other. Returns the first that is not complete.
static const transfer *move_all(ncclComm *c) {
    bool busy[2][MAX_RANKS] = {};
    const transfer *first = nullptr;
    for (transfer &t : c->transfers) {
        if (t.left == 0 || busy[t.out][t.peer]) continue;
        const bool moved = t.out ? send_piece(&c->shared->channels[c->rank][t.peer], &t)
                                 : receive_piece(c, &c->shared->channels[t.peer][c->rank], &t);
        if (moved) c->moved = monotonic::now();
        busy[t.out][t.peer] = t.left > 0;
        if (t.left > 0 && !first) first = &t;
    }
    return first;
}

static void add_up(ncclComm *c) {
    for (const sum &s : c->sums)
        for (size_t i = 0; i < s.count; i++) {
            float total = s.terms[0][i];
            for (size_t r = 1; r < s.terms.size(); r++) total += s.terms[r][i];
            s.to[i] = total;
        }
    c->transfers.clear();
    c->sums.clear();
}

static void plan(ncclComm *c, const operation &o);

// Earlier work in the stream runs first; no work may follow the group before the group is done.
static bool settle(ncclComm *c) {
    CUstream_st *s;
    if (find_stream(c->stream, &s) != cudaSuccess) {
        fail(c, ncclInvalidUsage, "the stream of a group of calls is gone");
        return false;
    }
    if (s->queue->put != c->put) {
        fail(c, ncclInvalidUsage,
             "work was submitted to a stream after calls that were still in progress");
        return false;
    }
    if (c->settled) return true;
    const cudaError_t code = s->queue->advance(c->put);
    if (code != cudaSuccess && code != cudaErrorNotReady)
        fail(c, ncclUnhandledCudaError, "the work before a group of calls has failed");
    if (code != cudaSuccess) return false;
    c->settled = true;
    for (const operation &o : c->calls.operations) plan(c, o);
    c->moved = monotonic::now();
    return true;
}

// Moves everything that can be moved now. False: something is left.
static bool move_group(ncclComm *c) {
    const transfer *waits = move_all(c);
    if (!waits) {
        add_up(c);
        return true;
    }
    if (overdue(c))
        fail(c, ncclRemoteError, "rank %d has waited for %g s to %s %s %s rank %d", c->rank,
             patience_seconds(), waits->out ? "send" : "receive", describe(waits->what).c_str(),
             waits->out ? "to" : "from", waits->peer);
    return false;
}

static void run_group(ncclComm *c) {
    if (!settle(c)) return;
    if (c->graphs->running) {
        fail(c, ncclInvalidUsage, "a group of calls next to a graph is not supported");
        return;
    }
    device_access access;
    CUstream_st *s;
    (void)find_stream(c->stream, &s);
    races::piece running(&s->queue->order);
    if (move_group(c) && c->state == ncclInProgress) c->state = ncclSuccess;
}

// ---- Captured groups ----

static double seconds_of_thread() {
    const char *text = getenv("LOCKSTEP_EMULATED_NCCL_SECONDS");
    return text && *text ? atof(text) : 0;
}

// NCCL's thread would continue with a graph that may be gone.
static void check_capture(const ncclComm *c) {
    CUstream_st *s;
    if (c->state != ncclInProgress || !c->capturing) return;
    if (find_stream(c->stream, &s) == cudaSuccess && s->capture == c->capturing) return;
    fprintf(stderr, "emulation: a capture has ended before NCCL was done with the calls in it\n");
    abort();
}

// A node of a graph. Like an NCCL kernel it runs until all ranks have received their data, or the
// communicator is aborted, regardless of other calls in progress.
static cudaError_t run_captured(const group_of_calls &g, ncclComm::on_graphs *graphs) {
    ncclComm *c = graphs->comm;
    if (!c) return cudaSuccess;
    hear_of_failure(c);
    if (is_failed(c) || (graphs->running && graphs->running != &g)) return cudaErrorNotReady;
    if (!graphs->running) {
        for (const operation &o : g.operations) plan(c, o);
        c->moved = monotonic::now();
    }
    graphs->running = &g;
    if (!move_group(c) || is_failed(c)) return cudaErrorNotReady;
    graphs->running = nullptr;
    return cudaSuccess;
}

// Does the work of NCCL's thread: adds the group as a node. Nothing may follow the group before
// that.
static void finish_capture(ncclComm *c) {
    check_capture(c);
    if (std::chrono::duration<double>(monotonic::now() - c->called).count() < seconds_of_thread())
        return;
    if (c->stream->behind != c->behind) {
        fail(c, ncclInvalidUsage, "work was captured after calls that were still in progress");
    } else if (c->capturing->lost) {
        fail(c, ncclUnhandledCudaError, "the capture of a group of calls is lost");
    } else {
        add_node(c->stream,
                 [g = c->calls, graphs = c->graphs] { return run_captured(g, graphs.get()); });
        c->state = ncclSuccess;
    }
}

// ---- Joining ----

// Have all ranks come this far?
static bool all_are(ncclComm *c, int far, const char *what) {
    for (int r = 0; r < c->size; r++) {
        if (c->shared->members[r].here >= far) continue;
        if (overdue(c))
            fail(c, ncclRemoteError, "rank %d has waited for %g s for rank %d to %s", c->rank,
                 patience_seconds(), r, what);
        return false;
    }
    return true;
}

static void join(ncclComm *c) {
    const member *m = c->shared->members;
    if (!all_are(c, HERE, "join")) return;
    for (int a = 0; a < c->size; a++)
        for (int b = 0; b < a; b++)
            if (memcmp(m[a].device, m[b].device, sizeof m[a].device) == 0) {
                fail(c, ncclInvalidUsage, "ranks %d and %d are on the same device", b, a);
                return;
            }
    c->joined = true;
    c->state = ncclSuccess;
}

static void progress(ncclComm *c) {
    if (c->state != ncclInProgress) return;
    hear_of_failure(c);
    if (is_failed(c)) return;
    if (c->capturing) {
        finish_capture(c);
    } else if (is_final(c)) {
        if (all_are(c, FINAL, "finalize")) c->state = ncclSuccess;
    } else if (c->joined) {
        run_group(c);
    } else {
        join(c);
    }
}

static ncclResult_t map(ncclComm *c, const ncclUniqueId &id) {
    name n;
    char path[64];
    struct stat info;
    memcpy(&n, &id, sizeof n);
    if (memcmp(n.magic, MAGIC, sizeof MAGIC) != 0) return ncclInvalidArgument;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)n.process, n.file);
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return ncclSystemError;
    void *at = MAP_FAILED;
    if (fstat(file, &info) == 0 && info.st_size == (off_t)sizeof(rendezvous))
        at = mmap(nullptr, sizeof(rendezvous), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (at == MAP_FAILED) return ncclSystemError;
    c->shared = (rendezvous *)at;
    c->file = c->rank == 0 && n.process == getpid() ? n.file : -1;
    return c->shared->token == n.token ? ncclSuccess : ncclInvalidArgument;
}

static void come(ncclComm *c) {
    cudaDeviceProp properties;
    int size = 0, absent = ABSENT;
    member &me = c->shared->members[c->rank];
    static_assert(sizeof properties.uuid == DEVICE_BYTES, "a device is its UUID");
    if (!c->shared->size.compare_exchange_strong(size, c->size) && size != c->size) {
        fail(c, ncclInvalidUsage, "rank %d expects %d ranks, others expect %d", c->rank, c->size,
             size);
    } else if (!me.here.compare_exchange_strong(absent, COMING)) {
        fail(c, ncclInvalidUsage, "two ranks have the number %d", c->rank);
    } else {
        (void)cudaGetDeviceProperties(&properties, c->device);
        memcpy(me.device, &properties.uuid, sizeof me.device);
        me.here = HERE;
    }
}

// ---- Calls ----

static ncclResult_t check_operation(const ncclComm *c, const operation &o) {
    int device = c->device;
    const size_t bytes = o.count * sizeof(float);
    const size_t all = o.send && o.receive && o.what == calls::all_gather ? (size_t)c->size : 1;
    if (o.peer < 0 || o.peer >= c->size) return ncclInvalidArgument;
    if (o.send && (where(o.from, bytes, &device) != memory::device || device != c->device))
        return ncclInvalidArgument;
    if (o.receive && (where(o.to, all * bytes, &device) != memory::device || device != c->device))
        return ncclInvalidArgument;
    return ncclSuccess;
}

static ncclResult_t add_call(ncclComm *c, cudaStream_t stream, ncclDataType_t type,
                             const operation &o) {
    hold lock(everything);
    ncclResult_t code = ncclSuccess;
    if (!c || is_final(c) || type != ncclFloat || stream_exists(stream) != cudaSuccess)
        code = ncclInvalidArgument;
    else if (c->state != ncclSuccess)
        code = ncclInvalidArgument; // earlier calls are not done, or have failed
    else if (group.comm && (group.comm != c || group.stream != stream))
        code = ncclInvalidUsage; // not supported by this emulation
    else if (o.count > 0)
        code = check_operation(c, o);
    if (group.failed == ncclSuccess) group.failed = code;
    if (code != ncclSuccess || o.count == 0) return code;
    group.comm = c;
    group.stream = stream;
    group.operations.push_back(o);
    return ncclSuccess;
}

// A collective: sends to every rank, and receives from rank r at `to` + r · stride.
static void add_collective(ncclComm *c, const operation &o) {
    const size_t bytes = o.count * sizeof(float);
    const label l = {o.what, o.count, c->collectives++};
    if (o.what == calls::all_reduce)
        c->sums.push_back(
            {(float *)o.to, o.count,
             std::vector<std::vector<float>>((size_t)c->size, std::vector<float>(o.count))});
    for (int r = 0; r < c->size; r++) {
        char *const to = o.what == calls::all_reduce
                             ? (char *)c->sums.back().terms[(size_t)r].data()
                             : (char *)o.to + (size_t)r * bytes;
        c->transfers.push_back({true, r, l, (char *)o.from, bytes});
        c->transfers.push_back({false, r, l, to, bytes});
    }
}

static void plan(ncclComm *c, const operation &o) {
    const size_t bytes = o.count * sizeof(float);
    const label l = {calls::point_to_point, o.count, 0};
    if (o.send && o.receive)
        add_collective(c, o);
    else if (o.send)
        c->transfers.push_back({true, o.peer, l, (char *)o.from, bytes});
    else
        c->transfers.push_back({false, o.peer, l, (char *)o.to, bytes});
}

static ncclResult_t launch(const group_of_calls &g) {
    hold lock(everything);
    ncclComm *c = g.comm;
    CUstream_st *s;
    if (find_stream(g.stream, &s) != cudaSuccess) return ncclInvalidUsage;
    if (s->capture && s->capture->lost) return ncclUnhandledCudaError;
    c->stream = g.stream;
    c->capturing = s->capture;
    c->behind = s->behind;
    c->called = monotonic::now();
    c->put = s->queue->put;
    c->settled = false;
    if (!s->capture) races::line_follows(&s->queue->order, races::host_now());
    c->calls = g;
    c->state = ncclInProgress;
    return ncclInProgress;
}

// NCCL waits until no graph holds calls of the communicator, aborted or not; calls in progress
// finish. A thread that still works on a capture may also make it wait.
static void end_graphs(ncclComm *c) {
    const bool captures = c->state == ncclInProgress && c->capturing;
    c->graphs->comm = nullptr;
    (void)finish_device(c->device);
    if (c->graphs.use_count() == 1 && !captures) return;
    fprintf(stderr,
            "emulation: the end of a communicator waits for graphs that are never destroyed\n");
    abort();
}

static void end_comm(ncclComm *c) {
    check_capture(c);
    end_graphs(c);
    if (c->file >= 0) close(c->file);
    munmap(c->shared, sizeof *c->shared);
    delete c;
}

static ncclResult_t call(ncclComm *c, cudaStream_t stream, ncclDataType_t type,
                         const operation &o) {
    (void)ncclGroupStart();
    const ncclResult_t code = add_call(c, stream, type, o), end = ncclGroupEnd();
    return code == ncclSuccess ? end : code;
}

} // namespace emulation

const char *ncclGetErrorString(ncclResult_t result) {
    switch (result) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error";
    case ncclSystemError: return "unhandled system error";
    case ncclInternalError: return "internal error";
    case ncclInvalidArgument: return "invalid argument";
    case ncclInvalidUsage: return "invalid usage";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "NCCL operation in progress";
    }
    return "unknown result code";
}

const char *ncclGetLastError(ncclComm_t comm) {
    return comm ? comm->why : "";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
    name n = {};
    memcpy(n.magic, MAGIC, sizeof MAGIC);
    n.process = getpid();
    n.file = memfd_create(MAGIC, MFD_CLOEXEC);
    if (n.file < 0 || ftruncate(n.file, sizeof(rendezvous)) != 0 ||
        getrandom(&n.token, sizeof n.token, 0) != (ssize_t)sizeof n.token ||
        pwrite(n.file, &n.token, sizeof n.token, offsetof(rendezvous, token)) !=
            (ssize_t)sizeof n.token)
        return ncclSystemError;
    static_assert(sizeof n <= sizeof *id, "an id has room for a name");
    memset(id, 0, sizeof *id);
    memcpy(id, &n, sizeof n);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
    hold lock(everything);
    *comm = nullptr;
    if (ranks < 1 || ranks > MAX_RANKS || rank < 0 || rank >= ranks || config->blocking != 0)
        return ncclInvalidArgument;
    ncclComm *c = new ncclComm;
    c->rank = rank;
    c->size = ranks;
    c->shared = nullptr;
    ncclResult_t code =
        current_device(&c->device) == cudaSuccess ? map(c, id) : ncclUnhandledCudaError;
    if (code != ncclSuccess) {
        if (c->shared) munmap(c->shared, sizeof *c->shared);
        delete c;
        return code;
    }
    *comm = c;
    come(c);
    return c->state;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state) {
    hold lock(everything);
    if (!comm) return ncclInvalidArgument;
    progress(comm);
    *state = comm->state;
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
    hold lock(everything);
    if (!comm || is_final(comm)) return ncclInvalidArgument;
    if (comm->state != ncclSuccess)
        return fail(comm, ncclInvalidUsage,
                    "a communicator is finalized before its calls are done");
    comm->capturing = nullptr;
    comm->moved = monotonic::now();
    comm->shared->members[comm->rank].here = FINAL;
    return comm->state = ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    hold lock(everything);
    if (!comm) return ncclSuccess;
    if (!is_final(comm) || comm->state != ncclSuccess)
        return fail(comm, ncclInvalidUsage, "a communicator is destroyed before it is finalized");
    end_comm(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
    hold lock(everything);
    if (comm) end_comm(comm);
    return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
    group.depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
    if (group.depth == 0) return ncclInvalidUsage;
    if (--group.depth > 0) return ncclSuccess;
    const group_of_calls whole = std::move(group);
    group = group_of_calls();
    if (whole.failed != ncclSuccess) return whole.failed;
    return whole.comm ? launch(whole) : ncclSuccess;
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
    return call(comm, stream, type,
                {true, false, calls::point_to_point, from, nullptr, count, peer});
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
    return call(comm, stream, type, {false, true, calls::point_to_point, nullptr, to, count, peer});
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
    return call(comm, stream, type, {true, true, calls::all_gather, from, to, count, 0});
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
    if (op != ncclSum) return ncclInvalidArgument;
    return call(comm, stream, type, {true, true, calls::all_reduce, from, to, count, 0});
}
