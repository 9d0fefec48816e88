// SPDX-License-Identifier: MIT
// The CUDA emulation itself: kernels run as they should, and mistakes are found.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include <cmocka.h>
}

#include "compute/cuda/kernels/last_block.cuh"
#include "cublas_v2.h"
#include "emulation.h"

static const char *const ORDERS[] = {"forward", "backward", "shuffle"};

static void set_order(const char *order) {
    setenv("LOCKSTEP_EMULATED_ORDER", order, 1);
}

static int forward(void **) {
    set_order("forward");
    (void)cudaGetLastError();
    return 0;
}

#define assert_cuda(expected, call) assert_string_equal(cudaGetErrorName(call), #expected)
#define assert_good(call)           assert_cuda(cudaSuccess, call)

// ---- Device memory as a vector ----

template <typename T> class on_device {
  public:
    T *at = nullptr;
    explicit on_device(size_t n) : n_(n) { assert_good(cudaMalloc((void **)&at, n * sizeof(T))); }
    explicit on_device(const std::vector<T> &from) : on_device(from.size()) {
        assert_good(cudaMemcpy(at, from.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~on_device() { (void)cudaFree(at); }
    on_device(const on_device &) = delete;
    on_device &operator=(const on_device &) = delete;

    std::vector<T> get() const {
        std::vector<T> out(n_);
        assert_good(cudaDeviceSynchronize());
        assert_good(cudaMemcpy(out.data(), at, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return out;
    }

  private:
    size_t n_;
};

static std::vector<float> counting(size_t n) {
    std::vector<float> v(n);
    for (size_t i = 0; i < n; i++) v[i] = (float)i;
    return v;
}

static cudaStream_t new_stream() {
    cudaStream_t stream;
    assert_good(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

static __global__ void nothing() {
    wait_for_kernels_before();
}

// A launch whose kernel begins after the earlier ones have ended.
static launch_stream in_turn(cudaStream_t stream = nullptr) {
    return {stream, nullptr};
}

// One that asks to begin before their end, whatever they are.
static launch_stream at_once(cudaStream_t stream) {
    static bool after_kernel;
    after_kernel = true;
    return {stream, &after_kernel};
}

// ... and one that may: it comes after a kernel.
static launch_stream early(cudaStream_t stream = nullptr) {
    LAUNCH(nothing, 1, 1, in_turn(stream));
    return at_once(stream);
}

// The output of `body` if it ends by a signal; "" otherwise.
template <typename F> static std::string last_words(F body) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        body();
        (void)cudaDeviceSynchronize();
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    char part[512];
    for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0;) text.append(part, (size_t)n);
    close(ends[0]);
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    return WIFEXITED(code) && WEXITSTATUS(code) == 0 ? "" : text;
}

static void assert_says(const std::string &text, const char *part) {
    if (text.find(part) == std::string::npos) fail_msg("'%s' is not in '%s'", part, text.c_str());
}

// ---- Threads, barriers, shuffles ----

static __global__ void where_am_i(uint3 *out) {
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    out[block * threads + thread] = {threadIdx.x * 100 + blockIdx.x, threadIdx.y * 100 + blockIdx.y,
                                     threadIdx.z * 100 + blockIdx.z};
}

static void test_indices(void **) {
    const dim3 grid(2, 3, 4), block(5, 3, 2);
    for (const char *order : ORDERS) {
        set_order(order);
        on_device<uint3> out(24 * 30);
        LAUNCH(where_am_i, grid, block, in_turn(), out.at);
        assert_good(cudaGetLastError());
        const std::vector<uint3> got = out.get();
        for (unsigned b = 0; b < 24; b++)
            for (unsigned t = 0; t < 30; t++) {
                assert_int_equal(got[b * 30 + t].x, t % 5 * 100 + b % 2);
                assert_int_equal(got[b * 30 + t].y, t / 5 % 3 * 100 + b / 2 % 3);
                assert_int_equal(got[b * 30 + t].z, t / 15 * 100 + b / 6);
            }
    }
}

// Reverses block by block; with BARRIER false, incorrectly.
template <bool BARRIER> static __global__ void reverse(float *v) {
    __shared__ float all[256];
    float *const mine = v + blockIdx.x * blockDim.x;
    all[threadIdx.x] = mine[threadIdx.x];
    if (BARRIER) __syncthreads();
    mine[threadIdx.x] = all[blockDim.x - 1 - threadIdx.x];
}

template <bool BARRIER> static bool reverses(const char *order) {
    set_order(order);
    const unsigned blocks = 3, threads = 96;
    on_device<float> v(counting(blocks * threads));
    LAUNCH(reverse<BARRIER>, blocks, threads, in_turn(), v.at);
    assert_good(cudaGetLastError());
    const std::vector<float> got = v.get();
    for (unsigned i = 0; i < blocks * threads; i++)
        if (got[i] != (float)(i / threads * threads + threads - 1 - i % threads)) return false;
    return true;
}

static void test_barrier(void **) {
    for (const char *order : ORDERS) assert_true(reverses<true>(order));
}

static void test_missing_barrier(void **) {
    for (const char *order : ORDERS) assert_false(reverses<false>(order));
}

// Correct only if the threads happen to run forward.
static __global__ void sum_so_far(float *v) {
    __shared__ float first;
    if (threadIdx.x == 0) first = v[0];
    v[threadIdx.x] += first;
}

static void test_orders_find_errors_that_forward_hides(void **) {
    int right = 0;
    for (const char *order : ORDERS) {
        set_order(order);
        on_device<float> v(counting(64));
        LAUNCH(sum_so_far, 1, 64, in_turn(), v.at);
        bool finite = true;
        for (const float x : v.get()) finite &= std::isfinite(x);
        right += finite;
    }
    assert_int_equal(right, 1);
}

static __device__ void say_and_leave(float *shared, float *out) {
    out[2 * blockIdx.x] = *shared;
    __syncthreads();
    *shared = 1;
    out[2 * blockIdx.x + 1] = *shared;
}

static __global__ void in_a_kernel(float *out) {
    __shared__ float left_behind[2];
    say_and_leave(left_behind, out);
}

template <int N> static __global__ void in_a_template(float *out) {
    __shared__ float left_behind[N];
    say_and_leave(left_behind, out);
}

struct shares {
    template <int N> __device__ void with(float *out) const {
        __shared__ float left_behind[N];
        say_and_leave(left_behind, out);
    }
};

static __global__ void in_a_member(float *out) {
    const shares member{};
    member.with<3>(out);
}

// Compilers store the variables of these three in different ways.
static void test_shared_memory_starts_as_nan(void **) {
    for (void (*kernel)(float *) : {in_a_kernel, in_a_template<3>, in_a_member}) {
        on_device<float> out(8);
        LAUNCH(kernel, 4, 1, in_turn(), out.at);
        const std::vector<float> got = out.get();
        for (unsigned i = 0; i < 8; i++) assert_int_equal(std::isnan(got[i]), i % 2 == 0);
    }
}

template <typename T> static __global__ void sums(const T *v, T *out) {
    const unsigned thread = thread_of_block(), n = threads_of_block();
    const T all = block_sum(v[thread]), squares = block_sum(v[thread] * v[thread]);
    out[thread] = all;
    out[n + thread] = squares;
}

template <typename T> static void check_sums(dim3 block) {
    const size_t n = (size_t)block.x * block.y * block.z;
    std::vector<T> v(n), first;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        v[i] = (T)sin((double)i);
        sum += (double)v[i];
        squares += (double)(v[i] * v[i]);
    }
    for (const char *order : ORDERS) {
        set_order(order);
        on_device<T> from(v), to(2 * n);
        LAUNCH(sums<T>, 1, block, in_turn(), from.at, to.at);
        const std::vector<T> got = to.get();
        assert_true(fabs((double)got[0] - sum) < 1e-4 && fabs((double)got[n] - squares) < 1e-4);
        for (size_t i = 0; i < 2 * n; i++) assert_true(got[i] == got[i / n * n]);
        if (first.empty()) first = got;
        assert_true(first == got); // the same bits in every order
    }
}

static void test_block_sum(void **) {
    check_sums<float>(32);
    check_sums<float>(256);
    check_sums<double>(1024);
    check_sums<double>(dim3(16, 4, 3));
}

static __global__ void shuffles(float *xors, float *downs, float *third) {
    const float mine = (float)threadIdx.x;
    xors[threadIdx.x] = __shfl_xor_sync(ALL_LANES, mine, 5);
    downs[threadIdx.x] = __shfl_down_sync(ALL_LANES, mine, 4);
    third[threadIdx.x] = __shfl_sync(ALL_LANES, mine, 3);
}

static void test_shuffles(void **) {
    for (const char *order : ORDERS) {
        set_order(order);
        on_device<float> x(64), d(64), t(64);
        LAUNCH(shuffles, 1, 64, in_turn(), x.at, d.at, t.at);
        const std::vector<float> xors = x.get(), downs = d.get(), third = t.get();
        for (unsigned i = 0; i < 64; i++) {
            assert_true(xors[i] == (float)(i ^ 5));
            assert_true(downs[i] == (float)(i % 32 < 28 ? i + 4 : i));
            assert_true(third[i] == (float)(i / 32 * 32 + 3));
        }
    }
}

static __global__ void count(unsigned long long *sum) {
    atomicAdd(sum, threadIdx.x);
}

static void test_atomic(void **) {
    on_device<unsigned long long> sum(std::vector<unsigned long long>{5});
    LAUNCH(count, 10, 100, in_turn(), sum.at);
    assert_int_equal(sum.get()[0], 5 + 10 * 4950);
}

// Every block writes a partial sum; the last one adds them, in order.
static __global__ void add_blocks(float *parts, unsigned *counter, float *total, unsigned *added) {
    if (threadIdx.x == 0) parts[blockIdx.x] = 1 / (float)(blockIdx.x + 1);
    if (!is_last_block(counter, gridDim.x) || threadIdx.x > 0) return;
    float sum = 0;
    for (unsigned i = 0; i < gridDim.x; i++) sum += __ldcg(parts + i);
    *total = sum;
    ++*added;
}

static void test_last_block(void **) {
    for (const unsigned blocks : {1u, 2u, 50u}) {
        float sum = 0;
        for (unsigned i = 0; i < blocks; i++) sum += 1 / (float)(i + 1);
        for (const char *order : ORDERS) {
            set_order(order);
            on_device<float> parts(blocks), total(1);
            on_device<unsigned> counter(std::vector<unsigned>{0}), added(std::vector<unsigned>{0});
            for (unsigned launch = 1; launch <= 3; launch++) {
                LAUNCH(add_blocks, blocks, 64, in_turn(), parts.at, counter.at, total.at, added.at);
                assert_true(total.get()[0] == sum);
                assert_int_equal(added.get()[0], launch);
                assert_int_equal(counter.get()[0], 0);
            }
        }
    }
}

// ---- Mistakes in kernels ----

static __global__ void half_a_barrier() {
    if (threadIdx.x < 32) __syncthreads();
}

static __global__ void two_barriers() {
    if (threadIdx.x < 32)
        __syncthreads();
    else
        __syncthreads();
}

static __global__ void half_a_shuffle(float *out) {
    if (threadIdx.x < 16) *out = __shfl_xor_sync(ALL_LANES, 1.0f, 1);
}

static __global__ void two_shuffles(float *out) {
    if (threadIdx.x < 16)
        *out = __shfl_xor_sync(ALL_LANES, 1.0f, 1);
    else
        *out = __shfl_xor_sync(ALL_LANES, 2.0f, 1);
}

static __global__ void masked_shuffle(float *out) {
    *out = __shfl_xor_sync(0xffffu, 1.0f, 1);
}

static __global__ void lonely_shuffle(float *out) {
    *out = __shfl_xor_sync(ALL_LANES, 1.0f, 1);
}

static __global__ void shuffle_or_barrier(float *out) {
    if (threadIdx.x < 48)
        __syncthreads();
    else
        *out = __shfl_xor_sync(ALL_LANES, 1.0f, 1);
}

static void test_divergence_is_refused(void **) {
    for (const char *order : ORDERS) {
        set_order(order);
        std::string text = last_words([] { LAUNCH(half_a_barrier, dim3(2, 1, 2), 64, in_turn()); });
        assert_says(text, "emulation: kernel half_a_barrier, block (");
        assert_says(text, "a barrier or a shuffle that not all threads reach");
        text = last_words([] { LAUNCH(two_barriers, 1, 64, in_turn()); });
        assert_says(text, "one thread waits at the barrier tests/emulation/test_emulation.cc:");
        on_device<float> out(1);
        text = last_words([&] { LAUNCH(half_a_shuffle, 1, 32, in_turn(), out.at); });
        assert_says(text, "a barrier or a shuffle that not all threads reach");
        assert_says(text, "16 of 32 threads wait in a shuffle: thread (0, 0, 0) at ");
        assert_says(text, "16 of 32 threads have ended: thread (16, 0, 0)\n");
        text = last_words([&] { LAUNCH(two_shuffles, 1, 32, in_turn(), out.at); });
        assert_says(text, "one lane of a warp is in the shuffle of line ");
        text = last_words([&] { LAUNCH(masked_shuffle, 1, 32, in_turn(), out.at); });
        assert_says(text, "a shuffle with the mask 0xffff");
        text = last_words([&] { LAUNCH(lonely_shuffle, 1, 33, in_turn(), out.at); });
        assert_says(text, "a shuffle in a warp that is not whole");
        text = last_words([&] { LAUNCH(shuffle_or_barrier, 1, 64, in_turn(), out.at); });
        assert_says(text, "a barrier or a shuffle that not all threads reach");
        (void)cudaGetLastError();
        // None of this happened in this process.
        assert_true(reverses<true>(order));
    }
}

// ---- Kernels that wait for earlier ones ----

enum { WAITING = 64 }; // threads of a block

static __global__ void waits_first(float *v) {
    __shared__ float shared[WAITING];
    wait_for_kernels_before();
    shared[threadIdx.x] = v[blockIdx.x * WAITING + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == WAITING - 1) return;
    v[blockIdx.x * WAITING + threadIdx.x] = shared[threadIdx.x + 1];
}

static __global__ void waits_never(float *) {}

static __global__ void some_wait(float *v) {
    if (threadIdx.x == 40) return;
    wait_for_kernels_before();
    *v = 1;
}

static __global__ void waits_behind_barrier(float *v) {
    __syncthreads();
    wait_for_kernels_before();
    *v = 1;
}

static __global__ void waits_behind_shuffle(float *v) {
    const float sum = warp_sum(1.0f);
    wait_for_kernels_before();
    *v = sum;
}

static void test_waiting(void **) {
    for (const char *order : ORDERS) {
        set_order(order);
        const cudaStream_t stream = new_stream();
        on_device<float> v(counting(3 * WAITING));
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        LAUNCH(waits_first, 3, WAITING, early(stream), v.at);
        assert_good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        LAUNCH(waits_first, 3, WAITING, early(stream), v.at);
        LAUNCH(waits_first, 3, WAITING, in_turn(stream), v.at);
        assert_good(cudaStreamEndCapture(stream, &graph));
        assert_good(cudaGraphInstantiate(&exec, graph, 0));
        assert_good(cudaGraphLaunch(exec, stream));
        assert_good(cudaGetLastError());
        const std::vector<float> moved = v.get();
        for (size_t b = 0; b < 3; b++)
            for (size_t i = 0; i < WAITING; i++)
                assert_true(moved[b * WAITING + i] ==
                            (float)(b * WAITING + (i + 3 < WAITING ? i + 3 : WAITING - 1)));
        assert_good(cudaGraphExecDestroy(exec));
        assert_good(cudaGraphDestroy(graph));
        assert_good(cudaStreamDestroy(stream));
    }
}

static void test_missing_wait(void **) {
    on_device<float> v(1);
    for (const char *order : ORDERS) {
        set_order(order);
        std::string text = last_words([&] { LAUNCH(waits_never, 2, WAITING, early(), v.at); });
        assert_says(text, "emulation: kernel waits_never, block (");
        assert_says(text, ") ends, and has not waited for the kernels in front\n");
        text = last_words([&] { LAUNCH(some_wait, 2, WAITING, early(), v.at); });
        assert_says(text, "thread (40, 0, 0) ends, and has not waited for the kernels in front\n");
        text = last_words([&] { LAUNCH(waits_behind_barrier, 1, WAITING, early(), v.at); });
        assert_says(text, "comes to a barrier, and has not waited for the kernels in front\n");
        text = last_words([&] { LAUNCH(waits_behind_shuffle, 1, WAITING, early(), v.at); });
        assert_says(text, "comes to a shuffle, and has not waited for the kernels in front\n");
    }
    // Every kernel has to wait, or only those that may start early.
    set_order("forward");
    unsetenv("LOCKSTEP_EMULATED_WAITS");
    assert_says(last_words([&] { LAUNCH(waits_never, 2, WAITING, in_turn(), v.at); }),
                ") ends, and has not waited for the kernels in front\n");
    setenv("LOCKSTEP_EMULATED_WAITS", "early", 1);
    LAUNCH(waits_never, 2, WAITING, in_turn(), v.at);
    LAUNCH(some_wait, 2, WAITING, in_turn(), v.at);
    LAUNCH(waits_behind_barrier, 2, WAITING, in_turn(), v.at);
    assert_good(cudaDeviceSynchronize());
    assert_good(cudaGetLastError());
}

// A launch that may not begin early where it is, and then one that may.
static void refuses_early(cudaStream_t stream) {
    LAUNCH(nothing, 1, 1, at_once(stream));
    assert_cuda(cudaErrorInvalidValue, cudaGetLastError());
    LAUNCH(nothing, 1, 1, early(stream));
    assert_good(cudaGetLastError());
}

// Only a kernel may be followed early, in a capture, too; an event that is recorded changes
// nothing.
static void test_early_launches(void **) {
    const cudaStream_t stream = new_stream(), other = new_stream();
    cudaGraph_t graph;
    cudaEvent_t event;
    float *memory;
    assert_good(cudaEventCreate(&event));
    assert_good(cudaMalloc((void **)&memory, sizeof *memory));
    for (const bool capturing : {false, true}) {
        if (capturing)
            assert_good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        refuses_early(stream);
        assert_good(cudaMemsetAsync(memory, 0, sizeof *memory, stream));
        refuses_early(stream);
        assert_good(cudaEventRecord(event, stream));
        LAUNCH(nothing, 1, 1, at_once(stream));
        assert_good(cudaGetLastError());
        assert_good(cudaStreamWaitEvent(other, event, 0));
        refuses_early(other);
        assert_good(cudaEventRecord(event, other));
        assert_good(cudaStreamWaitEvent(stream, event, 0));
        refuses_early(stream);
    }
    assert_good(cudaStreamEndCapture(stream, &graph));
    refuses_early(stream);
    assert_good(cudaGraphDestroy(graph));
    assert_good(cudaDeviceSynchronize());
    assert_good(cudaFree(memory));
    assert_good(cudaEventDestroy(event));
    assert_good(cudaStreamDestroy(other));
    assert_good(cudaStreamDestroy(stream));
}

static void refused_launch(dim3 grid, dim3 block) {
    LAUNCH(nothing, grid, block, in_turn());
    assert_cuda(cudaErrorInvalidConfiguration, cudaPeekAtLastError());
    assert_cuda(cudaErrorInvalidConfiguration, cudaGetLastError());
    assert_good(cudaGetLastError());
}

static void test_launch_limits(void **) {
    refused_launch(0, 32);
    refused_launch(1, 0);
    refused_launch(1, 1025);
    refused_launch(1, dim3(32, 33, 1));
    refused_launch(1, dim3(1, 1, 65));
    refused_launch(dim3(1, 65536, 1), 1);
    refused_launch(dim3(1, 1, 65536), 1);
    refused_launch(0x80000000u, 1);
    LAUNCH(nothing, dim3(1, 1, 65535), dim3(4, 4, 64), in_turn());
    assert_good(cudaGetLastError());
}

// ---- Memory ----

static void test_copies_are_checked(void **) {
    on_device<float> a(16), b(16);
    std::vector<float> host(32);
    float *pinned;
    assert_good(cudaMallocHost((void **)&pinned, 64));
    assert_true(std::isnan(a.get()[15]));

    assert_good(cudaMemcpy(a.at, host.data(), 64, cudaMemcpyHostToDevice));
    assert_good(cudaMemcpy(b.at, a.at, 64, cudaMemcpyDeviceToDevice));
    assert_good(cudaMemcpy(pinned, a.at, 64, cudaMemcpyDefault));
    assert_good(cudaMemcpy(a.at, pinned, 64, cudaMemcpyHostToDevice));
    // A wrong direction.
    assert_cuda(cudaErrorInvalidValue, cudaMemcpy(a.at, host.data(), 64, cudaMemcpyDeviceToHost));
    assert_cuda(cudaErrorInvalidValue, cudaMemcpy(host.data(), a.at, 64, cudaMemcpyHostToDevice));
    assert_cuda(cudaErrorInvalidValue, cudaMemcpy(a.at, host.data(), 64, cudaMemcpyDeviceToDevice));
    assert_cuda(cudaErrorInvalidValue, cudaMemcpy(a.at, pinned, 64, cudaMemcpyDeviceToDevice));
    assert_cuda(cudaErrorInvalidMemcpyDirection,
                cudaMemcpy(a.at, host.data(), 64, (cudaMemcpyKind)7));
    // Past the end of either.
    assert_cuda(cudaErrorInvalidValue, cudaMemcpy(a.at, host.data(), 65, cudaMemcpyHostToDevice));
    assert_cuda(cudaErrorInvalidValue, cudaMemcpy(host.data(), a.at + 1, 64, cudaMemcpyDefault));
    assert_cuda(cudaErrorInvalidValue, cudaMemcpy(pinned, a.at, 68, cudaMemcpyDeviceToHost));
    assert_cuda(cudaErrorInvalidValue, cudaMemset(a.at, 0, 65));
    assert_cuda(cudaErrorInvalidValue, cudaMemset(host.data(), 0, 64));
    assert_good(cudaMemset(a.at + 15, 0, 4));
    assert_cuda(cudaErrorInvalidValue, cudaGetLastError());
    assert_good(cudaFreeHost(pinned));
}

static void test_frees_are_checked(void **) {
    void *device, *pinned, *gone, *none;
    int local;
    assert_good(cudaMalloc(&device, 1));
    assert_good(cudaMalloc(&gone, 100));
    assert_good(cudaHostAlloc(&pinned, 1, cudaHostAllocPortable));
    assert_good(cudaFree(gone));
    assert_cuda(cudaErrorInvalidValue, cudaFree(gone));
    assert_cuda(cudaErrorInvalidValue, cudaMemset(gone, 0, 100));
    assert_cuda(cudaErrorInvalidValue, cudaFree(&local));
    assert_cuda(cudaErrorInvalidValue, cudaFree(pinned));
    assert_cuda(cudaErrorInvalidValue, cudaFreeHost(device));
    assert_good(cudaFree(device));
    assert_good(cudaFreeHost(pinned));
    assert_good(cudaFree(nullptr));
    assert_good(cudaMalloc(&none, 0));
    assert_null(none);
}

static void test_memory_is_limited(void **) {
    size_t before, after, total;
    void *p, *q;
    setenv("LOCKSTEP_EMULATED_MEMORY", "1000", 1);
    assert_good(cudaMemGetInfo(&before, &total));
    assert_int_equal(total, 1000);
    assert_good(cudaMalloc(&p, 600));
    assert_cuda(cudaErrorMemoryAllocation, cudaMalloc(&q, 401));
    assert_good(cudaMemGetInfo(&after, &total));
    assert_int_equal(before - after, 600);
    assert_good(cudaMalloc(&q, 400));
    assert_good(cudaFree(p));
    assert_good(cudaFree(q));
    unsetenv("LOCKSTEP_EMULATED_MEMORY");
}

#ifdef EMULATION_ASAN
static __global__ void too_far(float *out, unsigned last) {
    __shared__ float shared[40];
    float *volatile all = shared; // hides it from the other sanitizer
    for (unsigned i = 0; i <= last; i++) all[i] = (float)i;
    *out = all[last];
}

static __global__ void reads_early(const float *from, float *to) {
    const float x = from[threadIdx.x];
    wait_for_kernels_before();
    to[threadIdx.x] = x;
}

static __global__ void writes_early(const float *from, float *to) {
    if (threadIdx.x == 7) to[7] = 0;
    wait_for_kernels_before();
    to[threadIdx.x] = from[threadIdx.x];
}

static void test_sanitizer_detects_late_waits(void **) {
    on_device<float> from(counting(64)), to(64);
    for (const char *order : ORDERS) {
        set_order(order);
        assert_says(last_words([&] { LAUNCH(reads_early, 2, 64, early(), from.at, to.at); }),
                    "use-after-poison");
        assert_says(last_words([&] { LAUNCH(writes_early, 2, 64, early(), from.at, to.at); }),
                    "use-after-poison");
        LAUNCH(reads_early, 2, 64, in_turn(), from.at, to.at);
        LAUNCH(writes_early, 2, 64, in_turn(), from.at, to.at);
    }
    assert_true(to.get() == counting(64));
}

static void test_sanitizer_detects_bad_accesses(void **) {
    on_device<float> v(counting(3));
    assert_says(last_words([&] { v.at[0] = 1; }), "use-after-poison");
    LAUNCH(reverse<true>, 1, 3, in_turn(), v.at);
    assert_says(last_words([&] { LAUNCH(reverse<true>, 1, 4, in_turn(), v.at); }),
                "use-after-poison");
    cudaIpcMemHandle_t handle; // the same if other processes can see it
    assert_good(cudaIpcGetMemHandle(&handle, v.at));
    assert_says(last_words([&] { v.at[0] = 1; }), "use-after-poison");
    LAUNCH(reverse<true>, 1, 3, in_turn(), v.at);
    assert_says(last_words([&] { LAUNCH(reverse<true>, 1, 4, in_turn(), v.at); }),
                "use-after-poison");
    LAUNCH(too_far, 1, 1, in_turn(), v.at, 39u);
    assert_says(last_words([&] { LAUNCH(too_far, 1, 1, in_turn(), v.at, 40u); }),
                "global-buffer-overflow");
}
#endif

// ---- Devices ----

static void test_devices(void **) {
    int n, device, value;
    void *p;
    cudaDeviceProp properties;
    assert_good(cudaGetDeviceCount(&n));
    assert_int_equal(n, 1);
    assert_cuda(cudaErrorInvalidDevice, cudaSetDevice(1));
    setenv("LOCKSTEP_EMULATED_DEVICES", "0", 1);
    assert_cuda(cudaErrorNoDevice, cudaGetDeviceCount(&n));
    assert_int_equal(n, 0);
    assert_cuda(cudaErrorNoDevice, cudaMalloc(&p, 4));
    assert_cuda(cudaErrorNoDevice, cudaSetDevice(0));
    setenv("LOCKSTEP_EMULATED_DEVICES", "2", 1);
    assert_good(cudaGetDeviceCount(&n));
    assert_int_equal(n, 2);
    assert_good(cudaSetDevice(1));
    std::thread([] {
        int other;
        assert_good(cudaGetDevice(&other));
        assert_int_equal(other, 0); // each thread has its own
    }).join();
    assert_good(cudaGetDevice(&device));
    assert_int_equal(device, 1);
    assert_good(cudaGetDeviceProperties(&properties, 1));
    assert_string_equal(properties.name, "emulated");
    assert_good(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 1));
    assert_int_equal(value, 32);
    assert_cuda(cudaErrorInvalidDevice, cudaGetDeviceProperties(&properties, 2));
    assert_good(cudaSetDevice(0));
    unsetenv("LOCKSTEP_EMULATED_DEVICES");
}

static void test_peers(void **) {
    int can;
    setenv("LOCKSTEP_EMULATED_DEVICES", "2", 1);
    assert_good(cudaDeviceCanAccessPeer(&can, 0, 1));
    assert_int_equal(can, 1);
    assert_good(cudaDeviceEnablePeerAccess(1, 0));
    assert_cuda(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(1, 0));
    assert_cuda(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(0, 0));
    const cudaStream_t stream = new_stream();
    {
        on_device<float> here(counting(8));
        assert_good(cudaSetDevice(1));
        on_device<float> there(8);
        assert_good(cudaMemcpyPeerAsync(there.at, 1, here.at, 0, 32, stream));
        assert_cuda(cudaErrorInvalidValue,
                    cudaMemcpyPeerAsync(there.at, 0, here.at, 0, 32, stream));
        assert_good(cudaStreamSynchronize(stream));
        assert_true(there.get() == counting(8));
        (void)cudaGetLastError();
        LAUNCH(nothing, 1, 1, in_turn(stream)); // belongs to the other device
        assert_cuda(cudaErrorInvalidResourceHandle, cudaGetLastError());
#ifdef EMULATION_ASAN
        assert_says(last_words([&] { LAUNCH(reverse<true>, 1, 8, in_turn(), here.at); }),
                    "use-after-poison"); // only device 0 reaches the other
#endif
        assert_good(cudaSetDevice(0));
        LAUNCH(reverse<true>, 1, 8, in_turn(), there.at);
        assert_good(cudaDeviceSynchronize());
        std::vector<float> back(8);
        assert_good(cudaMemcpy(back.data(), there.at, 32, cudaMemcpyDefault));
        assert_true(back[0] == 7 && back[7] == 0);
    }
    assert_good(cudaSetDevice(0));
    assert_good(cudaStreamDestroy(stream));
    unsetenv("LOCKSTEP_EMULATED_DEVICES");
}

static void test_devices_without_peers(void **) {
    int can;
    setenv("LOCKSTEP_EMULATED_DEVICES", "4", 1);
    setenv("LOCKSTEP_EMULATED_PEERS", "0", 1);
    assert_good(cudaDeviceCanAccessPeer(&can, 2, 3));
    assert_int_equal(can, 0);
    assert_cuda(cudaErrorPeerAccessUnsupported, cudaDeviceEnablePeerAccess(3, 0));
    unsetenv("LOCKSTEP_EMULATED_PEERS");
    unsetenv("LOCKSTEP_EMULATED_DEVICES");
    (void)cudaGetLastError();
}

// The lines that `body` adds to the list file that an environment variable names.
template <typename F> static std::string list_of(const char *variable, F body) {
    const char *folder = getenv("TMPDIR");
    std::string path = std::string(folder ? folder : "/tmp") + "/list-XXXXXX";
    const int file = mkstemp(path.data());
    assert_true(file >= 0);
    setenv(variable, path.c_str(), 1);
    body();
    unsetenv(variable);
    char text[512];
    const ssize_t n = read(file, text, sizeof text);
    assert_true(n >= 0);
    close(file);
    unlink(path.c_str());
    return std::string(text, (size_t)n);
}

template <typename F> static std::string copies_of(F body) {
    return list_of("LOCKSTEP_EMULATED_COPIES", body);
}

static void test_list_of_copies(void **) {
    setenv("LOCKSTEP_EMULATED_DEVICES", "4", 1);
    assert_good(cudaSetDevice(2));
    {
        std::vector<float> host(8);
        on_device<float> here(counting(8)), beside(8);
        assert_good(cudaSetDevice(3));
        on_device<float> there(8);
        const auto cross = [&] {
            assert_good(cudaMemcpyAsync(there.at, here.at, 32, cudaMemcpyDefault, nullptr));
            assert_good(cudaDeviceSynchronize());
        };
        assert_string_equal(copies_of(cross).c_str(), "2 host 32\nhost 3 32\n");
        assert_good(cudaDeviceEnablePeerAccess(2, 0));
        assert_string_equal(copies_of(cross).c_str(), "2 host 32\nhost 3 32\n");
        assert_good(cudaSetDevice(2));
        assert_good(cudaDeviceEnablePeerAccess(3, 0));
        assert_string_equal(copies_of(cross).c_str(), "2 3 32\n");
        const std::string others = copies_of([&] {
            assert_good(cudaMemcpyAsync(beside.at, here.at, 8, cudaMemcpyDefault, nullptr));
            assert_good(cudaMemcpy(host.data(), beside.at, 4, cudaMemcpyDefault));
            assert_good(cudaMemcpy(there.at, host.data(), 12, cudaMemcpyDefault));
        });
        assert_string_equal(others.c_str(), "2 2 8\n2 host 4\nhost 3 12\n");
    }
    assert_good(cudaSetDevice(0));
    unsetenv("LOCKSTEP_EMULATED_DEVICES");
}

// ---- Streams and events ----

static __global__ void add(float *v, float what) {
    v[threadIdx.x] += what;
}

static __global__ void times(float *v, float what) {
    v[threadIdx.x] *= what;
}

// backward: nothing runs before something waits for it, and then only the necessary work.
static void test_streams_may_be_late(void **) {
    set_order("backward");
    const cudaStream_t one = new_stream(), two = new_stream();
    float *pinned;
    cudaEvent_t event;
    assert_good(cudaMallocHost((void **)&pinned, 16));
    assert_good(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    on_device<float> v(std::vector<float>{1, 2, 3, 4});
    pinned[0] = -1;
    LAUNCH(add, 1, 4, in_turn(one), v.at, 1.0f);
    assert_good(cudaMemcpyAsync(pinned, v.at, 16, cudaMemcpyDeviceToHost, one));
    assert_good(cudaEventRecord(event, one));
    assert_true(pinned[0] == -1);
    assert_cuda(cudaErrorNotReady, cudaEventQuery(event));
    assert_good(cudaStreamWaitEvent(two, event));
    LAUNCH(times, 1, 4, in_turn(two), v.at, 10.0f);
    assert_cuda(cudaErrorNotReady, cudaStreamQuery(one));
    assert_good(cudaStreamSynchronize(two)); // runs the other one up to the event
    assert_true(pinned[0] == 2);
    assert_good(cudaEventQuery(event));
    assert_good(cudaStreamQuery(one));
    assert_true((v.get() == std::vector<float>{20, 30, 40, 50}));
    // Ordinary memory is copied before the call returns.
    float plain[4];
    LAUNCH(add, 1, 4, in_turn(two), v.at, 1.0f);
    assert_good(cudaMemcpyAsync(plain, v.at, 16, cudaMemcpyDeviceToHost, two));
    assert_true(plain[3] == 51);
    assert_good(cudaEventDestroy(event));
    assert_good(cudaStreamDestroy(one));
    assert_good(cudaStreamDestroy(two));
    assert_cuda(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(two));
    assert_good(cudaFreeHost(pinned));
}

// A NonBlocking stream does not wait for the device's default stream, in which cudaMemset works.
static void test_own_stream(void **) {
    set_order("backward");
    const cudaStream_t apart = new_stream();
    cudaStream_t blocking;
    assert_good(cudaStreamCreate(&blocking));
    float got;
    on_device<float> v(std::vector<float>{7});
    for (const cudaStream_t stream : {apart, blocking}) {
        assert_good(cudaMemset(v.at, 0, 4));
        assert_good(cudaMemcpyAsync(&got, v.at, 4, cudaMemcpyDeviceToHost, stream));
        assert_true(got == (stream == apart ? 7 : 0));
    }
    assert_good(cudaStreamDestroy(apart));
    assert_good(cudaStreamDestroy(blocking));
}

static void sleep_2_ms(void *) {
    usleep(2000);
}

static void test_events_have_times(void **) {
    for (const char *order : ORDERS) {
        set_order(order);
        const cudaStream_t stream = new_stream();
        cudaEvent_t begin, end, untimed;
        float ms = -1;
        assert_good(cudaEventCreate(&begin));
        assert_good(cudaEventCreate(&end));
        assert_good(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
        assert_cuda(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, begin, end));
        assert_good(cudaEventRecord(begin, stream));
        assert_good(cudaLaunchHostFunc(stream, sleep_2_ms, nullptr));
        assert_good(cudaEventRecord(end, stream));
        assert_good(cudaEventRecord(untimed, stream));
        assert_good(cudaEventSynchronize(end));
        assert_good(cudaEventElapsedTime(&ms, begin, end));
        assert_true(ms >= 2);
        assert_cuda(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, begin, untimed));
        for (const cudaEvent_t e : {begin, end, untimed}) assert_good(cudaEventDestroy(e));
        assert_good(cudaStreamDestroy(stream));
    }
}

// ---- Graphs ----

struct fork_join {
    cudaStream_t main = new_stream(), side = new_stream();
    cudaEvent_t forked, joined;
    on_device<float> a{std::vector<float>{1, 2}}, b{std::vector<float>{0, 0}};

    fork_join() {
        assert_good(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
        assert_good(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
    }
    ~fork_join() {
        (void)cudaEventDestroy(forked);
        (void)cudaEventDestroy(joined);
        (void)cudaStreamDestroy(main);
        (void)cudaStreamDestroy(side);
    }
    fork_join(const fork_join &) = delete;
    fork_join &operator=(const fork_join &) = delete;

    // a = 10 a; then b = a + 1 on the side stream, and a += 5 on the main stream, after it if
    // `ordered`.
    cudaError_t capture(bool ordered, bool join, cudaGraph_t *graph) {
        assert_good(cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal));
        LAUNCH(times, 1, 2, in_turn(main), a.at, 10.0f);
        assert_good(cudaEventRecord(forked, main));
        assert_good(cudaStreamWaitEvent(side, forked));
        assert_good(cudaMemcpyAsync(b.at, a.at, 8, cudaMemcpyDeviceToDevice, side));
        LAUNCH(add, 1, 2, in_turn(side), b.at, 1.0f);
        assert_good(cudaEventRecord(joined, side));
        if (ordered) assert_good(cudaStreamWaitEvent(main, joined));
        LAUNCH(add, 1, 2, in_turn(main), a.at, 5.0f);
        if (join && !ordered) assert_good(cudaStreamWaitEvent(main, joined));
        assert_good(cudaGetLastError());
        return cudaStreamEndCapture(main, graph);
    }
};

// Whether two launches of the graph give the right results.
static bool graph_is_right(bool ordered) {
    fork_join f;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    assert_good(f.capture(ordered, true, &graph));
    assert_true((f.a.get() == std::vector<float>{1, 2})); // nothing ran yet
    assert_good(cudaGraphInstantiate(&exec, graph));
    assert_good(cudaGraphDestroy(graph));
    assert_good(cudaGraphLaunch(exec, f.main));
    assert_good(cudaGraphLaunch(exec, f.main));
    assert_good(cudaGraphExecDestroy(exec));
    const bool a = f.a.get() == std::vector<float>{155, 255};
    return a && f.b.get() == std::vector<float>{151, 251};
}

// The copy and its addition on the side stream follow the first node; so does the last, or it
// follows them.
static void test_chains_of_graphs(void **) {
    for (const bool ordered : {false, true}) {
        fork_join f;
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        assert_good(f.capture(ordered, true, &graph));
        assert_good(cudaGraphInstantiate(&exec, graph));
        const std::string line = list_of("LOCKSTEP_EMULATED_GRAPHS",
                                         [&] { assert_good(cudaGraphLaunch(exec, f.main)); });
        assert_string_equal(line.c_str(), ordered ? "4 0 4\n" : "4 0 3\n");
        assert_good(cudaStreamSynchronize(f.main));
        assert_good(cudaGraphExecDestroy(exec));
        assert_good(cudaGraphDestroy(graph));
    }
}

static void test_graph(void **) {
    for (const char *order : ORDERS) {
        set_order(order);
        for (int i = 0; i < 8; i++) assert_true(graph_is_right(true));
    }
}

static void test_missing_dependency(void **) {
    assert_true(graph_is_right(false)); // by coincidence
    set_order("backward");
    assert_false(graph_is_right(false));
    set_order("shuffle");
    int wrong = 0;
    for (int i = 0; i < 16; i++) wrong += !graph_is_right(false);
    assert_true(wrong > 0);
}

static void test_capture_must_join(void **) {
    fork_join f;
    cudaGraph_t graph;
    assert_cuda(cudaErrorStreamCaptureUnjoined, f.capture(false, false, &graph));
    assert_null(graph);
    assert_cuda(cudaErrorIllegalState, cudaStreamEndCapture(f.main, &graph));
    // Both streams are free again.
    LAUNCH(add, 1, 2, in_turn(f.side), f.a.at, 1.0f);
    assert_good(cudaStreamSynchronize(f.side));
    assert_true((f.a.get() == std::vector<float>{2, 3}));
}

// A call that a capture does not allow fails, and the capture is lost.
template <typename F> static void loses_capture(cudaError_t expected, F call) {
    fork_join f;
    cudaGraph_t graph;
    cudaStreamCaptureStatus status;
    assert_good(cudaStreamBeginCapture(f.main, cudaStreamCaptureModeGlobal));
    LAUNCH(add, 1, 2, in_turn(f.main), f.a.at, 1.0f);
    assert_good(cudaStreamIsCapturing(f.main, &status));
    assert_int_equal(status, cudaStreamCaptureStatusActive);
    assert_string_equal(cudaGetErrorName(call(f)), cudaGetErrorName(expected));
    assert_good(cudaStreamIsCapturing(f.main, &status));
    assert_int_equal(status, cudaStreamCaptureStatusInvalidated);
    assert_cuda(cudaErrorStreamCaptureInvalidated,
                cudaMemsetAsync(f.a.at, 0, 4, f.main)); // so does the next call
    assert_cuda(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(f.main, &graph));
    assert_true((f.a.get() == std::vector<float>{1, 2}));
}

static void test_forbidden_in_capture(void **) {
    void *p = nullptr;
    float x;
    cudaEvent_t before;
    assert_good(cudaEventCreate(&before));
    assert_good(cudaEventRecord(before));
    loses_capture(cudaErrorStreamCaptureUnsupported,
                  [&](fork_join &) { return cudaMalloc(&p, 4); });
    loses_capture(cudaErrorStreamCaptureUnsupported,
                  [](fork_join &f) { return cudaStreamSynchronize(f.main); });
    loses_capture(cudaErrorStreamCaptureUnsupported,
                  [](fork_join &f) { return cudaStreamQuery(f.main); });
    loses_capture(cudaErrorStreamCaptureUnsupported,
                  [](fork_join &) { return cudaDeviceSynchronize(); });
    loses_capture(cudaErrorStreamCaptureImplicit,
                  [&](fork_join &f) { return cudaMemcpy(&x, f.a.at, 4, cudaMemcpyDeviceToHost); });
    loses_capture(cudaErrorCapturedEvent, [](fork_join &f) {
        assert_good(cudaEventRecord(f.forked, f.main));
        return cudaEventSynchronize(f.forked);
    });
    loses_capture(cudaErrorStreamCaptureIsolation,
                  [&](fork_join &f) { return cudaStreamWaitEvent(f.main, before); });
    // From another thread: a global capture forbids it there too.
    loses_capture(cudaErrorStreamCaptureUnsupported, [&](fork_join &) {
        cudaError_t result;
        std::thread([&] { result = cudaMalloc(&p, 4); }).join();
        return result;
    });
    assert_good(cudaEventDestroy(before));
    assert_null(p);
}

static void test_capture_of_one_thread(void **) {
    fork_join f;
    cudaGraph_t graph;
    assert_cuda(cudaErrorStreamCaptureUnsupported,
                cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed));
    assert_good(cudaStreamBeginCapture(f.main, cudaStreamCaptureModeThreadLocal));
    assert_cuda(cudaErrorIllegalState,
                cudaStreamBeginCapture(f.main, cudaStreamCaptureModeThreadLocal));
    std::thread([&] {
        // Another thread may do anything except wait for the whole device.
        const on_device<float> other(counting(4));
        std::vector<float> back(4);
        assert_good(cudaMemcpy(back.data(), other.at, 4 * sizeof back[0], cudaMemcpyDeviceToHost));
        assert_true(back == counting(4));
        assert_cuda(cudaErrorStreamCaptureWrongThread, cudaStreamEndCapture(f.main, &graph));
    }).join();
    assert_cuda(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(f.main, &graph));
}

// An event that is a node of the graph gets a new time from every launch.
// The backend's function: a time that is not known is no failure of the next launch.
extern "C" uint64_t cuda_time_between(cudaEvent_t begin, cudaEvent_t end);

static void test_unknown_time_is_no_error(void **) {
    cudaEvent_t begin, end;
    assert_good(cudaEventCreate(&begin));
    assert_good(cudaEventCreate(&end));
    assert_int_equal(cuda_time_between(begin, end), 0);
    assert_good(cudaGetLastError());
    for (const cudaEvent_t e : {begin, end}) assert_good(cudaEventDestroy(e));
}

static void test_events_in_graphs(void **) {
    for (const char *order : ORDERS) {
        set_order(order);
        const cudaStream_t stream = new_stream();
        cudaEvent_t begin, end;
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        float ms;
        assert_good(cudaEventCreate(&begin));
        assert_good(cudaEventCreate(&end));
        assert_good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        assert_good(cudaEventRecordWithFlags(begin, stream, cudaEventRecordExternal));
        assert_good(cudaLaunchHostFunc(stream, sleep_2_ms, nullptr));
        assert_good(cudaEventRecordWithFlags(end, stream, cudaEventRecordExternal));
        assert_good(cudaStreamEndCapture(stream, &graph));
        assert_good(cudaGraphInstantiate(&exec, graph));
        assert_cuda(cudaErrorNotReady, cudaEventElapsedTime(&ms, begin, end));
        assert_good(cudaGraphLaunch(exec, stream));
        assert_good(cudaStreamSynchronize(stream));
        assert_good(cudaEventElapsedTime(&ms, begin, end));
        assert_true(ms >= 2);
        assert_good(cudaGraphExecDestroy(exec));
        assert_good(cudaGraphDestroy(graph));
        assert_good(cudaEventDestroy(begin));
        assert_good(cudaEventDestroy(end));
        assert_good(cudaStreamDestroy(stream));
    }
}

// Nodes have the priority of the stream that captured them, if the graph is instantiated so.
static void test_priorities_of_nodes(void **) {
    int least, greatest;
    assert_good(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    assert_good(cudaDeviceGetStreamPriorityRange(nullptr, nullptr));
    assert_true(least == 0 && greatest < 0);
    const cudaStream_t stream = new_stream();
    cudaStream_t urgent;
    cudaEvent_t event;
    cudaGraph_t graph;
    assert_good(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest - 1));
    assert_good(cudaEventCreate(&event));
    on_device<float> v(counting(128));
    assert_good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    LAUNCH(reverse<true>, 2, 64, in_turn(stream), v.at);
    assert_good(cudaEventRecord(event, stream));
    assert_good(cudaStreamWaitEvent(urgent, event));
    LAUNCH(reverse<true>, 2, 64, in_turn(urgent), v.at);
    LAUNCH(reverse<true>, 2, 64, in_turn(urgent), v.at);
    assert_good(cudaEventRecord(event, urgent));
    assert_good(cudaStreamWaitEvent(stream, event));
    assert_good(cudaStreamEndCapture(stream, &graph));
    const auto launched = [&](unsigned flags, cudaStream_t where) {
        cudaGraphExec_t exec;
        assert_good(cudaGraphInstantiate(&exec, graph, flags));
        const std::string lines =
            list_of("LOCKSTEP_EMULATED_GRAPHS", [&] { assert_good(cudaGraphLaunch(exec, where)); });
        assert_good(cudaStreamSynchronize(where));
        assert_good(cudaGraphExecDestroy(exec));
        return lines;
    };
    assert_string_equal(launched(0, stream).c_str(), "3 0 3\n");
    assert_string_equal(launched(0, urgent).c_str(), "3 3 3\n");
    assert_string_equal(launched(cudaGraphInstantiateFlagUseNodePriority, stream).c_str(),
                        "3 2 3\n");
    cudaGraphExec_t none;
    assert_cuda(cudaErrorInvalidValue, cudaGraphInstantiate(&none, graph, 1));
    assert_good(cudaGraphDestroy(graph));
    assert_good(cudaEventDestroy(event));
    assert_good(cudaStreamDestroy(urgent));
    assert_good(cudaStreamDestroy(stream));
}

static void count_one(void *count) {
    ++*static_cast<int *>(count);
}

// If nothing waits for it, the work of a late stream runs when the queue is full.
static void test_streams_that_are_full(void **) {
    int ran = 0;
    const cudaStream_t stream = new_stream();
    set_order("backward");
    setenv("LOCKSTEP_EMULATED_QUEUE", "3", 1);
    for (int i = 0; i < 5; i++) assert_good(cudaLaunchHostFunc(stream, count_one, &ran));
    assert_int_equal(ran, 2);
    unsetenv("LOCKSTEP_EMULATED_QUEUE");
    assert_good(cudaStreamSynchronize(stream));
    assert_int_equal(ran, 5);
    assert_good(cudaStreamDestroy(stream));
}

// ---- Host threads ----

static void test_threads_take_turns(void **) {
    bool right[4] = {};
    std::vector<std::thread> threads;
    for (bool &mine : right)
        threads.emplace_back([&mine] {
            const cudaStream_t stream = new_stream();
            on_device<float> v(counting(128));
            for (int i = 0; i < 21; i++) LAUNCH(reverse<true>, 2, 64, in_turn(stream), v.at);
            const std::vector<float> got = v.get();
            mine = got[0] == 63 && got[63] == 0 && got[127] == 64;
            (void)cudaStreamDestroy(stream);
        });
    for (std::thread &t : threads) t.join();
    for (const bool mine : right) assert_true(mine);
}

// ---- cuBLAS ----

// op(A) op(B), element by element, from column-major matrices.
static float expected_element(const std::vector<float> &a, bool ta, int lda,
                              const std::vector<float> &b, bool tb, int ldb, int k, int i, int j) {
    float sum = 0;
    for (int l = 0; l < k; l++)
        sum = fmaf(a[(size_t)(ta ? i * lda + l : l * lda + i)],
                   b[(size_t)(tb ? l * ldb + j : j * ldb + l)], sum);
    return sum;
}

static void check_product(cublasHandle_t handle, bool ta, bool tb) {
    const int m = 3, n = 4, k = 5, ld = 6;
    std::vector<float> a(36), b(36);
    for (size_t i = 0; i < 36; i++) a[i] = sinf((float)i), b[i] = cosf((float)i);
    on_device<float> da(a), db(b), dc(36); // dc is NaN: with beta 0 it is not read
    const float one = 1, zero = 0, two = 2;
    const cublasOperation_t opa = ta ? CUBLAS_OP_T : CUBLAS_OP_N,
                            opb = tb ? CUBLAS_OP_T : CUBLAS_OP_N;
    assert_int_equal(
        cublasSgemm(handle, opa, opb, m, n, k, &one, da.at, ld, db.at, ld, &zero, dc.at, ld),
        CUBLAS_STATUS_SUCCESS);
    assert_int_equal(
        cublasSgemm(handle, opa, opb, m, n, k, &one, da.at, ld, db.at, ld, &two, dc.at, ld),
        CUBLAS_STATUS_SUCCESS);
    const std::vector<float> c = dc.get();
    for (int j = 0; j < n; j++)
        for (int i = 0; i < ld; i++) {
            const float got = c[(size_t)(j * ld + i)];
            if (i >= m) {
                assert_true(std::isnan(got));
            } else {
                const float e = expected_element(a, ta, ld, b, tb, ld, k, i, j);
                assert_true(got == fmaf(2, e, e));
            }
        }
}

static void test_products(void **) {
    cublasHandle_t handle;
    assert_int_equal(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    for (int i = 0; i < 4; i++) check_product(handle, i % 2, i / 2);
    on_device<float> v(counting(8));
    const float one = 1, zero = 0;
    // Past the end of C; too small a leading dimension.
    assert_int_equal(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 3, 1, &one, v.at, 3, v.at, 1,
                                 &zero, v.at, 3),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 1, 1, &one, v.at, 1, v.at, 1,
                                 &zero, v.at, 2),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
}

static void test_batched_product_in_graph(void **) {
    const cudaStream_t stream = new_stream();
    cublasHandle_t handle;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    on_device<float> a(counting(6)), b(counting(4)), c(6);
    assert_int_equal(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSetStream(handle, stream), CUBLAS_STATUS_SUCCESS);
    assert_good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    {
        const float alpha = 2, beta = 0; // read when called
        // Two batches: a column of 3 times a row of 1.
        assert_int_equal(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 1, 1,
                                                   &alpha, a.at, 3, 3, b.at, 1, 2, &beta, c.at, 3,
                                                   3, 2),
                         CUBLAS_STATUS_SUCCESS);
    }
    assert_good(cudaStreamEndCapture(stream, &graph));
    assert_good(cudaGraphInstantiate(&exec, graph));
    assert_true(std::isnan(c.get()[0]));
    assert_good(cudaGraphLaunch(exec, stream));
    assert_true((c.get() == std::vector<float>{0, 0, 0, 12, 16, 20}));
    assert_good(cudaGraphExecDestroy(exec));
    assert_good(cudaGraphDestroy(graph));
    assert_int_equal(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
    assert_good(cudaStreamDestroy(stream));
}

// ---- Other processes ----

// A process that runs `body` on data that it receives through a pipe; it succeeds if that returns
// true.
struct other_process {
    int to[2], from[2];
    pid_t process;

    template <typename F> explicit other_process(F body) {
        assert_int_equal(pipe(to) | pipe(from), 0);
        process = fork();
        if (process == 0) _exit(body(*this) ? 0 : 1);
    }
    template <typename T> void tell(const T &what) const {
        assert_int_equal(write(to[1], &what, sizeof what), sizeof what);
    }
    template <typename T> T hear() const { // in the process
        T what;
        if (read(to[0], &what, sizeof what) != (ssize_t)sizeof what) _exit(2);
        return what;
    }
    void answer() const { (void)!write(from[1], "", 1); }
    void wait_for_answer() const {
        char c;
        assert_int_equal(read(from[0], &c, 1), 1);
    }
    int end() const {
        int code;
        assert_int_equal(waitpid(process, &code, 0), process);
        for (const int file : {to[0], to[1], from[0], from[1]}) close(file);
        return code;
    }
};

static bool holds(const float *device, const std::vector<float> &expected) {
    std::vector<float> got(expected.size());
    return cudaMemcpy(got.data(), device, got.size() * sizeof(float), cudaMemcpyDeviceToHost) ==
               cudaSuccess &&
           got == expected;
}

static void test_memory_of_another_process(void **) {
    const std::vector<float> values = counting(3000), changed(3000, 7);
    const other_process other([&](const other_process &me) {
        float *at, *again;
        const auto handle = me.hear<cudaIpcMemHandle_t>();
        const bool good =
            cudaIpcOpenMemHandle((void **)&at, handle, cudaIpcMemLazyEnablePeerAccess) ==
                cudaSuccess &&
            holds(at, values) &&
            cudaMemcpy(at, changed.data(), 12000, cudaMemcpyHostToDevice) == cudaSuccess &&
            cudaMemset(at, 0, 12004) == cudaErrorInvalidValue && // past the end
            cudaFree(at) == cudaErrorInvalidValue &&
            cudaIpcOpenMemHandle((void **)&again, handle, cudaIpcMemLazyEnablePeerAccess) ==
                cudaSuccess &&
            again == at && cudaIpcCloseMemHandle(at) == cudaSuccess && holds(at, changed) &&
            cudaIpcCloseMemHandle(at) == cudaSuccess &&
            cudaIpcCloseMemHandle(at) == cudaErrorInvalidValue;
        return good;
    });
    cudaIpcMemHandle_t handle, same;
    void *here;
    {
        on_device<float> v(values);
        assert_good(cudaIpcGetMemHandle(&handle, v.at));
        assert_good(cudaIpcGetMemHandle(&same, v.at));
        assert_memory_equal(&handle, &same, sizeof handle);
        assert_cuda(cudaErrorInvalidValue, cudaIpcGetMemHandle(&same, v.at + 1));
        assert_true(v.get() == values);
        assert_cuda(cudaErrorDeviceUninitialized,
                    cudaIpcOpenMemHandle(&here, handle, cudaIpcMemLazyEnablePeerAccess));
        other.tell(handle);
        assert_int_equal(other.end(), 0);
        assert_true(v.get() == changed);
        LAUNCH(reverse<true>, 1, 64, in_turn(), v.at);
        assert_good(cudaDeviceSynchronize());
    }
    on_device<float> next(values); // possibly at the other one's former place
    assert_true(next.get() == values);
}

// One process's stream waits for work in another one's, which comes late.
static void test_event_of_another_process(void **) {
    set_order("backward");
    const other_process other([&](const other_process &me) {
        float *at, *mine;
        cudaEvent_t event;
        const cudaStream_t stream = new_stream();
        const std::vector<float> expected(100, 5);
        if (cudaIpcOpenMemHandle((void **)&at, me.hear<cudaIpcMemHandle_t>(),
                                 cudaIpcMemLazyEnablePeerAccess) != cudaSuccess ||
            cudaIpcOpenEventHandle(&event, me.hear<cudaIpcEventHandle_t>()) != cudaSuccess ||
            cudaMalloc((void **)&mine, 400) != cudaSuccess ||
            cudaEventRecord(event, stream) != cudaErrorNotSupported ||
            cudaEventQuery(event) != cudaErrorNotReady ||
            cudaStreamWaitEvent(stream, event) != cudaSuccess ||
            cudaMemcpyAsync(mine, at, 400, cudaMemcpyDeviceToDevice, stream) != cudaSuccess)
            return false;
        for (int i = 0; i < 5; i++)
            if (cudaStreamQuery(stream) != cudaErrorNotReady) return false;
        me.answer();
        return cudaStreamSynchronize(stream) == cudaSuccess && holds(mine, expected) &&
               cudaEventSynchronize(event) == cudaSuccess && cudaEventDestroy(event) == cudaSuccess;
    });
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t handle;
    cudaEvent_t event;
    const cudaStream_t stream = new_stream();
    on_device<float> v(std::vector<float>(100, 4));
    assert_good(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    assert_good(cudaIpcGetMemHandle(&memory, v.at));
    assert_good(cudaIpcGetEventHandle(&handle, event));
    LAUNCH(add, 1, 100, in_turn(stream), v.at, 1.0f);
    assert_good(cudaEventRecord(event, stream));
    other.tell(memory);
    other.tell(handle);
    other.wait_for_answer();
    assert_good(cudaStreamSynchronize(stream));
    assert_int_equal(other.end(), 0);
    assert_good(cudaEventDestroy(event));
    assert_good(cudaStreamDestroy(stream));
}

// A process that has died leaves its memory to those that have opened it; its events stay
// unreached.
static void test_processes_that_die(void **) {
    set_order("backward");
    setenv("LOCKSTEP_EMULATED_SECONDS", "0.2", 1);
    const other_process other([&](const other_process &me) {
        float *at;
        cudaEvent_t event;
        cudaIpcMemHandle_t memory;
        cudaIpcEventHandle_t handle;
        if (cudaMalloc((void **)&at, 400) != cudaSuccess || cudaMemset(at, 0, 400) != cudaSuccess ||
            cudaDeviceSynchronize() != cudaSuccess ||
            cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming) !=
                cudaSuccess ||
            cudaEventRecord(event, nullptr) != cudaSuccess ||
            cudaIpcGetMemHandle(&memory, at) != cudaSuccess ||
            cudaIpcGetEventHandle(&handle, event) != cudaSuccess ||
            write(me.from[1], &memory, sizeof memory) != (ssize_t)sizeof memory ||
            write(me.from[1], &handle, sizeof handle) != (ssize_t)sizeof handle)
            return false;
        (void)me.hear<char>();
        return true;
    });
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t handle;
    cudaEvent_t event, again;
    float *at;
    const cudaStream_t stream = new_stream();
    assert_int_equal(read(other.from[0], &memory, sizeof memory), sizeof memory);
    assert_int_equal(read(other.from[0], &handle, sizeof handle), sizeof handle);
    assert_good(cudaIpcOpenMemHandle((void **)&at, memory, cudaIpcMemLazyEnablePeerAccess));
    assert_good(cudaIpcOpenEventHandle(&event, handle));
    assert_good(cudaStreamWaitEvent(stream, event));
    other.tell('x');
    assert_int_equal(other.end(), 0);
    assert_cuda(cudaErrorNotReady, cudaStreamQuery(stream));
    assert_cuda(cudaErrorLaunchTimeout, cudaStreamSynchronize(stream));
    assert_cuda(cudaErrorLaunchTimeout, cudaEventSynchronize(event));
    assert_true(holds(at, std::vector<float>(100, 0)));
    assert_cuda(cudaErrorInvalidResourceHandle, cudaIpcOpenEventHandle(&again, handle));
    assert_good(cudaEventDestroy(event));
    assert_cuda(cudaErrorLaunchTimeout, cudaStreamDestroy(stream));
    assert_good(cudaIpcCloseMemHandle(at));
    unsetenv("LOCKSTEP_EMULATED_SECONDS");
}

static void test_objects_that_processes_cannot_share(void **) {
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t handle;
    cudaEvent_t event;
    void *pinned;
    const cudaStream_t stream = new_stream();
    cudaGraph_t graph;
    on_device<float> v(4);
    assert_cuda(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, cudaEventInterprocess));
    assert_good(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    assert_cuda(cudaErrorInvalidResourceHandle, cudaIpcGetEventHandle(&handle, event));
    assert_good(cudaEventDestroy(event));
    assert_good(cudaMallocHost(&pinned, 16));
    assert_cuda(cudaErrorInvalidValue, cudaIpcGetMemHandle(&memory, pinned));
    assert_good(cudaFreeHost(pinned));
    assert_good(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    assert_good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    assert_cuda(cudaErrorStreamCaptureUnsupported, cudaEventRecord(event, stream));
    assert_cuda(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    setenv("LOCKSTEP_EMULATED_IPC", "none", 1);
    assert_cuda(cudaErrorNotSupported, cudaIpcGetMemHandle(&memory, v.at));
    assert_cuda(cudaErrorNotSupported, cudaIpcGetEventHandle(&handle, event));
    setenv("LOCKSTEP_EMULATED_IPC", "export", 1);
    assert_good(cudaIpcGetMemHandle(&memory, v.at));
    assert_cuda(cudaErrorNotSupported,
                cudaIpcOpenMemHandle(&pinned, memory, cudaIpcMemLazyEnablePeerAccess));
    unsetenv("LOCKSTEP_EMULATED_IPC");
    assert_good(cudaEventDestroy(event));
    assert_good(cudaStreamDestroy(stream));
}

#define TEST(f) cmocka_unit_test_setup(f, forward)

int main() {
    const struct CMUnitTest tests[] = {
        TEST(test_indices),
        TEST(test_barrier),
        TEST(test_missing_barrier),
        TEST(test_orders_find_errors_that_forward_hides),
        TEST(test_shared_memory_starts_as_nan),
        TEST(test_block_sum),
        TEST(test_shuffles),
        TEST(test_atomic),
        TEST(test_last_block),
        TEST(test_divergence_is_refused),
        TEST(test_waiting),
        TEST(test_missing_wait),
        TEST(test_early_launches),
        TEST(test_launch_limits),
        TEST(test_copies_are_checked),
        TEST(test_frees_are_checked),
        TEST(test_memory_is_limited),
#ifdef EMULATION_ASAN
        TEST(test_sanitizer_detects_bad_accesses),
        TEST(test_sanitizer_detects_late_waits),
#endif
        TEST(test_devices),
        TEST(test_peers),
        TEST(test_devices_without_peers),
        TEST(test_list_of_copies),
        TEST(test_streams_may_be_late),
        TEST(test_own_stream),
        TEST(test_events_have_times),
        TEST(test_unknown_time_is_no_error),
        TEST(test_graph),
        TEST(test_chains_of_graphs),
        TEST(test_missing_dependency),
        TEST(test_capture_must_join),
        TEST(test_forbidden_in_capture),
        TEST(test_capture_of_one_thread),
        TEST(test_events_in_graphs),
        TEST(test_priorities_of_nodes),
        TEST(test_streams_that_are_full),
        TEST(test_threads_take_turns),
        TEST(test_products),
        TEST(test_batched_product_in_graph),
        TEST(test_memory_of_another_process),
        TEST(test_event_of_another_process),
        TEST(test_processes_that_die),
        TEST(test_objects_that_processes_cannot_share),
    };
    setenv("LOCKSTEP_EMULATED_WAITS", "early", 1);
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
