// SPDX-License-Identifier: MIT
// The NCCL stand-in: what it moves, and that ranks which break the rules get an error. Ranks are
// threads, each with a device.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include <cmocka.h>
}

#include "cuda_runtime_api.h"
#include "nccl.h"

enum { MOST = 40000 }; // floats: more than fit in one piece

// ---- Ranks ----

struct rank {
    int number, size;
    ncclComm_t comm = nullptr;
    cudaStream_t stream = nullptr;
    float *from = nullptr, *to = nullptr; // MOST floats, and `size` times as many
    ncclResult_t result = ncclSuccess;
    std::string why;
    std::vector<float> got;

    void fill(size_t n, float value) const {
        std::vector<float> values(n);
        for (size_t i = 0; i < n; i++) values[i] = value + (float)i;
        (void)cudaMemcpy(from, values.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    }
    // Waits until the communicator has done its work, or has failed.
    ncclResult_t wait(ncclResult_t code) {
        while (code == ncclInProgress && ncclCommGetAsyncError(comm, &code) == ncclSuccess)
            usleep(100);
        return code;
    }
};

using body = std::function<ncclResult_t(rank &)>;

// Freeing memory waits for all of a process's devices, and thus for other ranks' turns: so no rank
// frees any before all are done and no longer wait.
static void be_rank(rank *r, const ncclUniqueId *id, const body *what, std::atomic<int> *busy) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    (void)cudaSetDevice(r->number);
    (void)cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking);
    (void)cudaMalloc((void **)&r->from, MOST * sizeof(float));
    (void)cudaMalloc((void **)&r->to, (size_t)r->size * MOST * sizeof(float));
    r->result = r->wait(ncclCommInitRankConfig(&r->comm, r->size, *id, r->number, &config));
    if (r->result == ncclSuccess) r->result = r->wait((*what)(*r));
    r->why = ncclGetLastError(r->comm);
    r->got.resize((size_t)r->size * MOST);
    (void)cudaMemcpy(r->got.data(), r->to, r->got.size() * sizeof(float), cudaMemcpyDeviceToHost);
    for ((*busy)--; *busy > 0;) usleep(100);
    (void)ncclCommAbort(r->comm);
    for ((*busy)--; *busy > -r->size;) usleep(100);
    (void)cudaFree(r->from);
    (void)cudaFree(r->to);
    (void)cudaStreamDestroy(r->stream);
}

static std::vector<rank> run(int size, const body &what) {
    ncclUniqueId id;
    std::vector<rank> ranks;
    std::vector<std::thread> threads;
    std::atomic<int> busy(size);
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    for (int r = 0; r < size; r++) ranks.push_back({r, size, {}, {}, {}, {}, {}, {}, {}});
    for (rank &r : ranks) threads.emplace_back(be_rank, &r, &id, &what, &busy);
    for (std::thread &t : threads) t.join();
    return ranks;
}

static void all_succeed(const std::vector<rank> &ranks) {
    for (const rank &r : ranks)
        if (r.result != ncclSuccess) fail_msg("rank %d: %s", r.number, r.why.c_str());
}

// All fail and report `why`; one with `result`, the others with a remote error.
static void all_fail(const std::vector<rank> &ranks, ncclResult_t result, const char *why) {
    int own = 0;
    for (const rank &r : ranks) {
        if (r.why.find(why) == std::string::npos)
            fail_msg("rank %d: no '%s' in '%s'", r.number, why, r.why.c_str());
        if (r.result != ncclRemoteError) assert_int_equal(r.result, result);
        own += r.result == result;
    }
    assert_true(own > 0);
}

// ---- Transfers ----

static void slices_go_round(void **) {
    for (size_t n : {(size_t)1, (size_t)1000, (size_t)MOST}) {
        const std::vector<rank> ranks = run(3, [n](rank &r) {
            r.fill(n, (float)(100000 * r.number));
            (void)ncclGroupStart();
            for (int q = 0; q < r.size; q++) {
                (void)ncclSend(r.from, n, ncclFloat, q, r.comm, r.stream);
                (void)ncclRecv(r.to + (size_t)q * MOST, n, ncclFloat, q, r.comm, r.stream);
            }
            return ncclGroupEnd();
        });
        all_succeed(ranks);
        for (const rank &r : ranks)
            for (size_t q = 0; q < 3; q++)
                for (size_t i = 0; i < n; i += n - 1 + (n == 1))
                    assert_true(r.got[q * MOST + i] == (float)(100000 * q) + (float)i);
    }
}

static void messages_keep_their_order(void **) {
    const std::vector<rank> ranks = run(2, [](rank &r) {
        r.fill(30, 0);
        (void)ncclGroupStart();
        for (int k = 0; k < 3; k++)
            if (r.number == 0)
                (void)ncclSend(r.from + 10 * k, 10, ncclFloat, 1, r.comm, r.stream);
            else
                (void)ncclRecv(r.to + 10 * k, 10, ncclFloat, 0, r.comm, r.stream);
        return ncclGroupEnd();
    });
    all_succeed(ranks);
    for (size_t i = 0; i < 30; i++) assert_true(ranks[1].got[i] == (float)i);
}

static void gathers_in_place_and_reduces(void **) {
    const std::vector<rank> ranks = run(4, [](rank &r) {
        const size_t n = MOST / 4;
        r.fill(n, (float)r.number);
        float *mine = r.to + (size_t)r.number * n;
        (void)cudaMemcpyAsync(mine, r.from, n * sizeof(float), cudaMemcpyDeviceToDevice, r.stream);
        const ncclResult_t code = r.wait(ncclAllGather(mine, r.to, n, ncclFloat, r.comm, r.stream));
        if (code != ncclSuccess) return code;
        return ncclAllReduce(r.from, r.to + MOST, n, ncclFloat, ncclSum, r.comm, r.stream);
    });
    all_succeed(ranks);
    for (const rank &r : ranks)
        for (size_t i = 0; i < MOST / 4; i++) {
            for (size_t q = 0; q < 4; q++)
                assert_true(r.got[q * (MOST / 4) + i] == (float)q + (float)i);
            assert_true(r.got[MOST + i] == 4 * (float)i + 6);
        }
}

// ---- In graphs ----

// All ranks capture `what` on their streams and launch the graph so many times, each time with
// other numbers. No rank may block on a stream while the others' turns are still to come: streams
// are polled.
static ncclResult_t replay(rank &r, size_t n, int times, const body &what) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    (void)cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeThreadLocal);
    ncclResult_t code = r.wait(what(r));
    if (cudaStreamEndCapture(r.stream, &graph) != cudaSuccess ||
        cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess)
        code = code == ncclSuccess ? ncclUnhandledCudaError : code;
    for (int i = 0; i < times && code == ncclSuccess; i++) {
        r.fill(n, (float)(r.number + 10 * i));
        (void)cudaGraphLaunch(exec, r.stream);
        while (code == ncclSuccess && cudaStreamQuery(r.stream) == cudaErrorNotReady) {
            (void)ncclCommGetAsyncError(r.comm, &code);
            usleep(100);
        }
    }
    if (exec) (void)cudaGraphExecDestroy(exec);
    if (graph) (void)cudaGraphDestroy(graph);
    return code;
}

static ncclResult_t exchange_and_reduce(rank &r, size_t n) {
    const int next = (r.number + 1) % r.size, before = (r.number + r.size - 1) % r.size;
    (void)ncclGroupStart();
    (void)ncclSend(r.from, n, ncclFloat, next, r.comm, r.stream);
    (void)ncclRecv(r.to, n, ncclFloat, before, r.comm, r.stream);
    const ncclResult_t code = r.wait(ncclGroupEnd());
    if (code != ncclSuccess) return code;
    return ncclAllReduce(r.to, r.to + MOST, n, ncclFloat, ncclSum, r.comm, r.stream);
}

static void captured_calls_run_with_their_graph(void **) {
    for (size_t n : {(size_t)10, (size_t)MOST}) {
        const std::vector<rank> ranks = run(3, [n](rank &r) {
            return replay(r, n, 3, [n](rank &inside) { return exchange_and_reduce(inside, n); });
        });
        all_succeed(ranks);
        for (const rank &r : ranks)
            for (size_t i = 0; i < n; i += n - 1) {
                assert_true(r.got[i] == (float)((r.number + 2) % 3 + 20) + (float)i);
                assert_true(r.got[MOST + i] == 3 * (float)(20 + i) + 3);
            }
    }
}

// Work may follow calls only after NCCL has reported that they are in place.
static void work_captured_after_calls_in_progress(void **) {
    all_fail(run(2,
                 [](rank &r) {
                     return replay(r, 8, 0, [](rank &inside) {
                         const ncclResult_t code =
                             ncclAllReduce(inside.from, inside.to, 8, ncclFloat, ncclSum,
                                           inside.comm, inside.stream);
                         (void)cudaMemsetAsync(inside.from, 0, 4, inside.stream);
                         return code;
                     });
                 }),
             ncclInvalidUsage, "work was captured after calls");
}

// NCCL's thread may work on captured calls for long; a caller that ends the capture has waited.
static void calls_that_are_captured_late(void **) {
    setenv("LOCKSTEP_EMULATED_NCCL_SECONDS", "0.2", 1);
    const std::vector<rank> ranks = run(2, [](rank &r) {
        return replay(r, 10, 3, [](rank &inside) { return exchange_and_reduce(inside, 10); });
    });
    unsetenv("LOCKSTEP_EMULATED_NCCL_SECONDS");
    all_succeed(ranks);
    for (const rank &r : ranks) assert_true(r.got[MOST] == 2 * 20 + 1);
}

// Otherwise it writes to a graph that may be gone.
static void a_capture_that_ends_too_early(void **) {
    int code;
    const pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        (void)run(1, [](rank &r) {
            cudaGraph_t graph;
            (void)cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeThreadLocal);
            const ncclResult_t what =
                ncclAllReduce(r.from, r.to, 8, ncclFloat, ncclSum, r.comm, r.stream);
            (void)cudaStreamEndCapture(r.stream, &graph);
            return what;
        });
        _exit(0);
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFSIGNALED(code) && WTERMSIG(code) == SIGABRT);
}

// ---- Mistakes that are found ----

// Messages are longer than a piece: a shorter one is gone before another rank examines it.

static void counts_that_differ(void **) {
    all_fail(run(2,
                 [](rank &r) {
                     if (r.number == 0)
                         return ncclSend(r.from, 20000, ncclFloat, 1, r.comm, r.stream);
                     return ncclRecv(r.to, 30000, ncclFloat, 0, r.comm, r.stream);
                 }),
             ncclInvalidUsage,
             "rank 1 waits for a message of 30000 floats, and rank 0 sends a message of 20000");
}

static void collectives_in_different_orders(void **) {
    all_fail(run(2,
                 [](rank &r) {
                     if (r.number == 0)
                         return ncclAllReduce(r.from, r.to, 8, ncclFloat, ncclSum, r.comm,
                                              r.stream);
                     return ncclAllGather(r.from, r.to, 8, ncclFloat, r.comm, r.stream);
                 }),
             ncclInvalidUsage, "an all-reduce (number 0) of 8 floats");
}

static void a_send_that_meets_a_collective(void **) {
    all_fail(run(2,
                 [](rank &r) {
                     if (r.number == 0)
                         return ncclSend(r.from, 20000, ncclFloat, 1, r.comm, r.stream);
                     return ncclAllGather(r.from, r.to, 20000, ncclFloat, r.comm, r.stream);
                 }),
             ncclInvalidUsage, "and rank 0 sends a message of 20000 floats");
}

// For tests in which a rank waits in vain; the others wait long enough, however slow the machine
// is.
static std::atomic<bool> gave_up;

static int impatient(void **) {
    gave_up = false;
    return setenv("LOCKSTEP_EMULATED_SECONDS", "2", 1); // time enough to join
}

static int patient(void **) {
    return unsetenv("LOCKSTEP_EMULATED_SECONDS");
}

// Rank 0, which waits in vain.
static ncclResult_t give_up(rank &r, ncclResult_t code) {
    code = r.wait(code);
    gave_up = true;
    return code;
}

// Rank 1 does nothing until then; its next call reports the failure.
static ncclResult_t look_later(rank &r) {
    ncclResult_t state;
    while (!gave_up) usleep(1000);
    const ncclResult_t code = ncclRecv(r.to, 1, ncclFloat, 0, r.comm, r.stream);
    return code == ncclInProgress ? r.wait(code) : (ncclCommGetAsyncError(r.comm, &state), state);
}

static void a_receive_without_a_send(void **) {
    all_fail(run(2,
                 [](rank &r) {
                     if (r.number == 1) return look_later(r);
                     return give_up(r, ncclRecv(r.to, 100, ncclFloat, 1, r.comm, r.stream));
                 }),
             ncclRemoteError, "to receive a message of 100 floats from rank 1");
}

// The first piece is written; the next one waits.
static void a_send_without_a_receive(void **) {
    all_fail(run(2,
                 [](rank &r) {
                     if (r.number == 1) return look_later(r);
                     return give_up(r, ncclSend(r.from, MOST, ncclFloat, 1, r.comm, r.stream));
                 }),
             ncclRemoteError, "to send a message of 40000 floats to rank 1");
}

// Rank 1 launches no graph.
static void a_graph_that_waits_in_vain(void **) {
    all_fail(run(2,
                 [](rank &r) {
                     const body reduce = [](rank &inside) {
                         return ncclAllReduce(inside.from, inside.to, MOST, ncclFloat, ncclSum,
                                              inside.comm, inside.stream);
                     };
                     const ncclResult_t code = replay(r, 8, r.number == 0, reduce);
                     return r.number == 0 ? give_up(r, code) : look_later(r);
                 }),
             ncclRemoteError, "an all-reduce (number 0) of 40000 floats to rank 1");
}

static void work_after_calls_in_progress(void **) {
    all_fail(run(2,
                 [](rank &r) {
                     const ncclResult_t code =
                         ncclAllReduce(r.from, r.to, 8, ncclFloat, ncclSum, r.comm, r.stream);
                     (void)cudaMemsetAsync(r.from, 0, 4, r.stream);
                     return code;
                 }),
             ncclInvalidUsage, "work was submitted to a stream after calls");
}

static void calls_during_calls_in_progress(void **) {
    const std::vector<rank> ranks = run(2, [](rank &r) {
        (void)ncclAllReduce(r.from, r.to, 8, ncclFloat, ncclSum, r.comm, r.stream);
        return ncclAllReduce(r.from, r.to, 8, ncclFloat, ncclSum, r.comm, r.stream);
    });
    for (const rank &r : ranks) assert_int_equal(r.result, ncclInvalidArgument);
}

static void memory_outside_the_device(void **) {
    static float host[100];
    const std::vector<rank> ranks = run(2, [](rank &r) {
        ncclResult_t code = ncclAllGather(host, r.to, 100, ncclFloat, r.comm, r.stream);
        if (code != ncclInvalidArgument) return ncclInternalError;
        // Past the end, for the part of the second rank.
        code = ncclAllGather(r.from, r.to + MOST + 1, MOST, ncclFloat, r.comm, r.stream);
        return code == ncclInvalidArgument ? ncclSuccess : ncclInternalError;
    });
    all_succeed(ranks);
}

// ---- The end of a communicator ----

static void ranks_end_together(void **) {
    all_succeed(run(3, [](rank &r) {
        usleep((unsigned)r.number * 20000);
        ncclResult_t code =
            r.wait(ncclAllReduce(r.from, r.to, 8, ncclFloat, ncclSum, r.comm, r.stream));
        if (code == ncclSuccess) code = r.wait(ncclCommFinalize(r.comm));
        if (code == ncclSuccess) code = ncclCommDestroy(r.comm);
        if (code == ncclSuccess) r.comm = nullptr;
        return code;
    }));
}

static void an_end_before_the_others(void **) {
    all_fail(run(2,
                 [](rank &r) {
                     (void)ncclCommFinalize(r.comm);
                     return r.number == 0 ? give_up(r, ncclCommDestroy(r.comm)) : look_later(r);
                 }),
             ncclInvalidUsage, "destroyed before it is finalized");
    all_fail(run(2,
                 [](rank &r) {
                     (void)ncclAllReduce(r.from, r.to, 8, ncclFloat, ncclSum, r.comm, r.stream);
                     return r.number == 0 ? give_up(r, ncclCommFinalize(r.comm)) : look_later(r);
                 }),
             ncclInvalidUsage, "finalized before its calls are done");
}

static void an_end_without_the_others(void **) {
    all_fail(run(2,
                 [](rank &r) {
                     return r.number == 1 ? look_later(r) : give_up(r, ncclCommFinalize(r.comm));
                 }),
             ncclRemoteError, "for rank 1 to finalize");
}

// ---- Joining ----

static void join_as(const ncclUniqueId &id, int device, int size, int number, ncclResult_t *result,
                    std::string *why, std::atomic<bool> *came) {
    rank r = {number, size, {}, {}, {}, {}, {}, {}, {}};
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    (void)cudaSetDevice(device);
    const ncclResult_t code = ncclCommInitRankConfig(&r.comm, size, id, number, &config);
    *came = true;
    *result = r.wait(code);
    *why = ncclGetLastError(r.comm);
    (void)ncclCommAbort(r.comm);
}

static void expect_no_group(int device, int size, int number, const char *expected) {
    ncclUniqueId id;
    ncclResult_t result[2];
    std::string why[2];
    std::atomic<bool> came[2] = {false, false};
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    std::thread first(join_as, id, 0, 2, 0, &result[0], &why[0], &came[0]);
    while (!came[0]) usleep(1000);
    std::thread second(join_as, id, device, size, number, &result[1], &why[1], &came[1]);
    first.join();
    second.join();
    for (int i = 0; i < 2; i++) {
        assert_true(result[i] == ncclInvalidUsage || result[i] == ncclRemoteError);
        if (why[i].find(expected) == std::string::npos) fail_msg("%s", why[i].c_str());
    }
}

static void inconsistent_ranks(void **) {
    expect_no_group(0, 2, 1, "ranks 0 and 1 are on the same device");
    expect_no_group(1, 2, 0, "two ranks have the number 0");
    expect_no_group(1, 3, 1, "rank 1 expects 3 ranks, others expect 2");
}

static void a_missing_rank(void **) {
    ncclUniqueId id;
    ncclResult_t result;
    std::string why;
    std::atomic<bool> came;
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    join_as(id, 0, 2, 0, &result, &why, &came);
    assert_int_equal(result, ncclRemoteError);
    assert_string_equal(why.c_str(), "rank 0 has waited for 2 s for rank 1 to join");
    memset(&id, 0, sizeof id);
    join_as(id, 0, 2, 0, &result, &why, &came);
    assert_int_equal(result, ncclInvalidArgument);
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(slices_go_round),
        cmocka_unit_test(messages_keep_their_order),
        cmocka_unit_test(gathers_in_place_and_reduces),
        cmocka_unit_test(captured_calls_run_with_their_graph),
        cmocka_unit_test(work_captured_after_calls_in_progress),
        cmocka_unit_test(calls_that_are_captured_late),
        cmocka_unit_test(a_capture_that_ends_too_early),
        cmocka_unit_test(counts_that_differ),
        cmocka_unit_test(collectives_in_different_orders),
        cmocka_unit_test(a_send_that_meets_a_collective),
        cmocka_unit_test_setup_teardown(a_receive_without_a_send, impatient, patient),
        cmocka_unit_test_setup_teardown(a_send_without_a_receive, impatient, patient),
        cmocka_unit_test_setup_teardown(a_graph_that_waits_in_vain, impatient, patient),
        cmocka_unit_test(work_after_calls_in_progress),
        cmocka_unit_test(calls_during_calls_in_progress),
        cmocka_unit_test(memory_outside_the_device),
        cmocka_unit_test(ranks_end_together),
        cmocka_unit_test_setup_teardown(an_end_before_the_others, impatient, patient),
        cmocka_unit_test_setup_teardown(an_end_without_the_others, impatient, patient),
        cmocka_unit_test(inconsistent_ranks),
        cmocka_unit_test_setup_teardown(a_missing_rank, impatient, patient),
    };
    setenv("LOCKSTEP_EMULATED_DEVICES", "4", 1);
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
