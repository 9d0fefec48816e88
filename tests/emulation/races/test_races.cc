// SPDX-License-Identifier: MIT
// The search for races: with the order nothing is found, without it the two lines are.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

extern "C" {
#include <cmocka.h>
}

#include "compute/cuda/kernels/last_block.cuh"
#include "report.h"

using emulation::races::take_reports;

enum { FLOATS = 256 };

static void good(cudaError_t code) {
    assert_string_equal(cudaGetErrorName(code), "cudaSuccess");
}

// Two streams and memory, for each test.
struct fixture {
    cudaStream_t a, b;
    float *memory, *pinned;
    unsigned *counter;

    fixture() {
        good(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
        good(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
        good(cudaMalloc((void **)&memory, FLOATS * sizeof *memory));
        good(cudaMalloc((void **)&counter, sizeof *counter));
        good(cudaMallocHost((void **)&pinned, FLOATS * sizeof *pinned));
        good(cudaMemset(counter, 0, sizeof *counter));
        good(cudaDeviceSynchronize());
        (void)take_reports();
    }
    ~fixture() {
        good(cudaStreamDestroy(a));
        good(cudaStreamDestroy(b));
        good(cudaFree(memory));
        good(cudaFree(counter));
        good(cudaFreeHost(pinned));
    }
    fixture(const fixture &) = delete;
    fixture &operator=(const fixture &) = delete;
};

static void expect_silence() {
    good(cudaDeviceSynchronize());
    const std::vector<std::string> reports = take_reports();
    if (!reports.empty()) fail_msg("%s", reports[0].c_str());
}

static bool has_line(const std::string &report, int line) {
    const std::string place = "test_races.cc:" + std::to_string(line);
    const size_t at = report.find(place);
    return at != std::string::npos && !isdigit(report[at + place.size()]);
}

static void expect_race(int one, int other) {
    good(cudaDeviceSynchronize());
    const std::vector<std::string> reports = take_reports();
    for (const std::string &report : reports)
        if (has_line(report, one) && has_line(report, other)) return;
    fail_msg("no race of lines %d and %d in %zu reports: %s", one, other, reports.size(),
             reports.empty() ? "" : reports[0].c_str());
}

// ---- Within a kernel ----

enum : int { BARRIER_LINE = __LINE__ + 5 };
template <bool ORDERED> static __global__ void neighbours(float *to) {
    __shared__ float all[64];
    wait_for_kernels_before();
    const unsigned t = threadIdx.x;
    all[t] = (float)t;
    if (ORDERED) __syncthreads();
    to[t] = all[63 - t];
}

static void test_barrier(void **) {
    fixture f;
    LAUNCH(neighbours<true>, 1, 64, (launch_stream{f.a, nullptr}), f.memory);
    expect_silence();
    LAUNCH(neighbours<false>, 1, 64, (launch_stream{f.a, nullptr}), f.memory);
    expect_race(BARRIER_LINE, BARRIER_LINE + 2);
}

enum : int { WARP_LINE = __LINE__ + 5 };
template <bool ORDERED> static __global__ void lanes(float *to) {
    __shared__ float all[32];
    wait_for_kernels_before();
    const unsigned t = threadIdx.x;
    all[t] = (float)t;
    if (ORDERED)
        __syncwarp();
    else
        (void)__shfl_xor_sync(ALL_LANES, t, 1); // orders no memory
    to[t] = all[31 - t];
}

static void test_warp(void **) {
    fixture f;
    LAUNCH(lanes<true>, 1, 32, (launch_stream{f.a, nullptr}), f.memory);
    expect_silence();
    LAUNCH(lanes<false>, 1, 32, (launch_stream{f.a, nullptr}), f.memory);
    expect_race(WARP_LINE, WARP_LINE + 5);
}

enum : int { FENCE_LINE = __LINE__ + 6 };
template <bool BEFORE, bool AFTER>
static __global__ void last_adds(float *part, unsigned *counter) {
    __shared__ bool last;
    wait_for_kernels_before();
    const unsigned t = threadIdx.x, n = gridDim.x * blockDim.x;
    part[blockIdx.x * blockDim.x + t] = 1;
    if (BEFORE) __threadfence();
    __syncthreads();
    if (t == 0) last = atomicAdd(counter, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    if (AFTER) __threadfence();
    part[t] = part[n - 1 - t] + 1;
    if (t == 0) *counter = 0;
}

static void test_fence(void **) {
    fixture f;
    LAUNCH((last_adds<true, true>), 4, 32, (launch_stream{f.a, nullptr}), f.memory, f.counter);
    expect_silence();
    LAUNCH((last_adds<false, true>), 4, 32, (launch_stream{f.a, nullptr}), f.memory, f.counter);
    expect_race(FENCE_LINE, FENCE_LINE + 7);
    LAUNCH((last_adds<true, false>), 4, 32, (launch_stream{f.a, nullptr}), f.memory, f.counter);
    expect_race(FENCE_LINE, FENCE_LINE + 7);
}

// Neighbouring bytes do not race.
static __global__ void bytes(uint8_t *to) {
    wait_for_kernels_before();
    to[threadIdx.x] = 1;
}

static void test_bytes(void **) {
    fixture f;
    LAUNCH(bytes, 1, 64, (launch_stream{f.a, nullptr}), (uint8_t *)f.memory);
    expect_silence();
}

// ---- Between pieces of work ----

enum : int { FILL_LINE = __LINE__ + 3 };
static __global__ void fill(float *to) {
    wait_for_kernels_before();
    to[threadIdx.x] = 2;
}

enum : int { DOUBLE_LINE = __LINE__ + 4 };
template <bool WAITS> static __global__ void twice(float *v) {
    float before = 0;
    if (WAITS) wait_for_kernels_before();
    before = v[threadIdx.x];
    if (!WAITS) wait_for_kernels_before();
    v[threadIdx.x] = 2 * before;
}

static void launch_fill(const fixture &f, cudaStream_t s) {
    LAUNCH(fill, 1, 64, (launch_stream{s, nullptr}), f.memory);
}

static void launch_twice(const fixture &f, cudaStream_t s) {
    LAUNCH(twice<true>, 1, 64, (launch_stream{s, nullptr}), f.memory);
}

static void test_stream(void **) {
    fixture f;
    launch_fill(f, f.a);
    launch_twice(f, f.a);
    expect_silence();
    launch_fill(f, f.a);
    launch_twice(f, f.b);
    expect_race(FILL_LINE, DOUBLE_LINE);
}

static void fill_and_double(const fixture &f, bool ordered) {
    cudaEvent_t event;
    good(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    launch_fill(f, f.a);
    good(cudaEventRecord(event, f.a));
    if (ordered) good(cudaStreamWaitEvent(f.b, event));
    launch_twice(f, f.b);
    good(cudaEventDestroy(event));
}

static void test_event(void **) {
    fixture f;
    fill_and_double(f, true);
    expect_silence();
    fill_and_double(f, false);
    expect_race(FILL_LINE, DOUBLE_LINE);
}

static void launch_graph(const fixture &f, bool ordered) {
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    good(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    good(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    good(cudaStreamBeginCapture(f.a, cudaStreamCaptureModeThreadLocal));
    if (ordered) launch_fill(f, f.a);
    good(cudaEventRecord(fork, f.a));
    good(cudaStreamWaitEvent(f.b, fork));
    if (!ordered) launch_fill(f, f.a);
    launch_twice(f, f.b);
    good(cudaEventRecord(join, f.b));
    good(cudaStreamWaitEvent(f.a, join));
    good(cudaStreamEndCapture(f.a, &graph));
    good(cudaGraphInstantiate(&exec, graph));
    good(cudaGraphLaunch(exec, f.a));
    good(cudaGraphLaunch(exec, f.a));
    good(cudaDeviceSynchronize());
    good(cudaGraphExecDestroy(exec));
    good(cudaGraphDestroy(graph));
    good(cudaEventDestroy(fork));
    good(cudaEventDestroy(join));
}

static void test_graph(void **) {
    fixture f;
    launch_graph(f, true);
    expect_silence();
    launch_graph(f, false);
    expect_race(FILL_LINE, DOUBLE_LINE);
}

static void test_copy(void **) {
    fixture f;
    launch_fill(f, f.a);
    good(cudaMemcpyAsync(f.pinned, f.memory, 64 * sizeof(float), cudaMemcpyDeviceToHost, f.a));
    expect_silence();
    launch_fill(f, f.a);
    const int line = __LINE__ + 1;
    good(cudaMemcpyAsync(f.pinned, f.memory, 64 * sizeof(float), cudaMemcpyDeviceToHost, f.b));
    expect_race(FILL_LINE, line);
}

static void test_host(void **) {
    fixture f;
    f.pinned[0] = 1; // before the submission
    const int copy = __LINE__ + 1;
    good(cudaMemcpyAsync(f.memory, f.pinned, sizeof(float), cudaMemcpyHostToDevice, f.a));
    good(cudaStreamSynchronize(f.a));
    f.pinned[0] = 2;
    expect_silence();
    good(cudaMemcpyAsync(f.memory, f.pinned, sizeof(float), cudaMemcpyHostToDevice, f.a));
    const int host = __LINE__ + 1;
    f.pinned[0] = 3;
    expect_race(copy + 4, host);
}

// A kernel that starts early reads before it has waited for the one in front.
static void test_programmatic_wait(void **) {
    fixture f;
    launch_fill(f, f.a);
    bool after_kernel = true;
    LAUNCH(twice<true>, 1, 64, (launch_stream{f.a, &after_kernel}), f.memory);
    expect_silence();
    launch_fill(f, f.a);
    LAUNCH(twice<false>, 1, 64, (launch_stream{f.a, &after_kernel}), f.memory);
    expect_race(FILL_LINE, DOUBLE_LINE);
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_barrier), cmocka_unit_test(test_warp),
        cmocka_unit_test(test_fence),   cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_stream),  cmocka_unit_test(test_event),
        cmocka_unit_test(test_graph),   cmocka_unit_test(test_copy),
        cmocka_unit_test(test_host),    cmocka_unit_test(test_programmatic_wait),
    };
    setenv("LOCKSTEP_EMULATED_WAITS", "early", 1);
    return cmocka_run_group_tests_name("races", tests, nullptr, nullptr);
}
