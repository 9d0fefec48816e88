// SPDX-License-Identifier: MIT
// Weight and bias gradients of convolutions that CPUs compute directly, in the order of the CPU's
// engine: one sum per sample over the positions of the output, then over the samples of a group by
// halves, then over the groups along the tree.
//
// So there are 16 chains of fused multiply-adds for each weight and group. 16 neighbouring threads,
// a team, hold those of a tile of weights in registers. Its block reads the factors from shared
// memory, one *piece* at a time: neighbouring positions of a row. Those of the next pieces are
// copied meanwhile. The last block of a tile to end adds the groups.
#include <algorithm>

#include "compute/cuda/kernels/async_copy.cuh"
#include "compute/cuda/kernels/exact/exact_weight.cuh"
#include "compute/layer_sums.h"

// A strip is TAPS neighbouring elements of a kernel row, in a channel of the input: a whole row, or
// with one of the TAPS an element. From one position to the next, it moves by STEP of the elements
// that the block keeps. A team has OUTPUTS output channels × STRIPS strips.
template <int Outputs, int Strips, int Taps, int Stride, int Positions> struct tile_shape {
    static constexpr int OUTPUTS = Outputs, STRIPS = Strips, TAPS = Taps, STEP = Stride;
    static constexpr int WEIGHTS = Outputs * Strips * Taps;
    static constexpr int POSITIONS = Positions; // of a piece
    // An odd number, so that the two strips that a warp reads are in different banks.
    static constexpr int ELEMENTS = ((Positions - 1) * Stride + Taps) | 1;
    // A branch that ends a piece early costs few weights more than it saves: the loads behind it
    // cannot move up.
    static constexpr bool ENDS_EARLY = WEIGHTS > 5;
};

enum {
    SCHEDULERS = 4 * PROCESSORS,
    TEAMS_DOWN = 2, // of a block, for different outputs
    TEAMS_ACROSS = 4,
    WEIGHT_THREADS = TEAMS_DOWN * TEAMS_ACROSS * GROUP,
    PIECES = 3, // in shared memory: the one that is added, and those that are copied
    FOURS = GROUP / 4
};

template <typename S> struct alignas(16) piece {
    static constexpr int OUTPUTS = TEAMS_DOWN * S::OUTPUTS, STRIPS = TEAMS_ACROSS * S::STRIPS;
    float dz[OUTPUTS][S::POSITIONS][GROUP];
    float x[STRIPS][S::ELEMENTS][GROUP];
};

typedef struct exact_weights {
    shape in, out;
    int lanes;
    int channel_parts; // cuda_conv_task
    int first;         // of these, over all shards
    int kernel_h, kernel_w, stride_y, stride_x, pad_y, pad_x;
    int taps;            // elements of a strip; 1, or kernel_w
    int strips, columns; // of an output channel; columns: its weights
    // The CPU's kernels for 4 samples take four neighbouring positions of them for a vector. So
    // does a team, and the halves also add these; but not with a stride, when neighbours in the
    // output are none in the input.
    bool packed;
    unsigned tiles; // blocks of weights; those that follow sum biases
    const int *count;
    const float *x, *dz;
    float *sums; // [channel part][group][weights]
    unsigned *counters;
    gradient_set gradients;
    size_t at;
} exact_weights;

// ---- From global to shared memory ----

// A piece begins with position x of row y.
struct place {
    int y, x;
};

// Four floats of every piece. At a piece they are `from` moved by rows and columns of the plane,
// and zeros outside of it.
struct source {
    const float *from;
    int y, x; // relative to the piece; y NOWHERE: there are none
};

// The lanes and position of four floats, number `four` of an element's.
static __device__ __forceinline__ int lane_of(const exact_weights &t, unsigned group, int four) {
    const int lane = t.packed ? 0 : (int)(group * GROUP) + 4 * four;
    return lane < t.lanes ? lane : NOWHERE;
}
static __device__ __forceinline__ int position_of(const exact_weights &t, int element, int four) {
    return t.packed ? element * FOURS + four : element;
}

// The fours that a thread copies, of `Rows` rows of `Elements` elements.
template <int Rows, int Elements> struct sources {
    static constexpr int ALL = Rows * Elements * FOURS;
    static constexpr int OWN = (ALL + WEIGHT_THREADS - 1) / WEIGHT_THREADS;
    source at[OWN];

    // row_source(row, element, four, at)
    template <typename RowSource>
    __device__ __forceinline__ void find(const RowSource &row_source) {
#pragma unroll
        for (int i = 0; i < OWN; i++) {
            const int n = (int)thread_of_block() + i * WEIGHT_THREADS;
            row_source(n / FOURS / Elements, n / FOURS % Elements, n % FOURS, at[i]);
            compute_early(at[i].from);
        }
    }

    __device__ __forceinline__ void copy(place p, shape plane, int lanes, float *to) const {
        const ptrdiff_t moved = (ptrdiff_t)(p.y * plane.width + p.x) * lanes;
#pragma unroll
        for (int i = 0; i < OWN; i++) {
            const int n = (int)thread_of_block() + i * WEIGHT_THREADS;
            const bool exists = (unsigned)(p.y + at[i].y) < (unsigned)plane.height &&
                                (unsigned)(p.x + at[i].x) < (unsigned)plane.width;
            if ((i + 1) * WEIGHT_THREADS <= ALL || n < ALL)
                copy_four(to + 4 * n, at[i].from + moved, exists);
        }
    }
};

// ---- A block's tile ----

template <typename S> struct weight_tile {
    const exact_weights &t;
    size_t number;  // of the shard, or of a part of its channels
    int row, strip; // of the block: the first
    sources<piece<S>::OUTPUTS, S::POSITIONS> dz;
    sources<piece<S>::STRIPS, S::ELEMENTS> x;

    __device__ __forceinline__ weight_tile(const exact_weights &task)
        : t(task), number((size_t)task.first + blockIdx.z) {
        const int down = (int)blocks_for((size_t)t.out.channels, piece<S>::OUTPUTS);
        row = (int)blockIdx.x % down * piece<S>::OUTPUTS;
        strip = (int)blockIdx.x / down * piece<S>::STRIPS;
        dz.find([&](int r, int element, int four, source &s) { find_dz(r, element, four, s); });
        x.find([&](int r, int element, int four, source &s) { find_x(r, element, four, s); });
    }

    __device__ __forceinline__ void find_dz(int r, int element, int four, source &s) const {
        const int o = row + r, lane = lane_of(t, blockIdx.y, four);
        const size_t plane = (size_t)t.out.height * (size_t)t.out.width * (size_t)t.lanes;
        s.x = position_of(t, element, four);
        s.y = o < t.out.channels && lane >= 0 ? 0 : NOWHERE;
        s.from = t.dz;
        if (s.y == 0)
            s.from += (number * (size_t)t.out.channels + (size_t)o) * plane +
                      (size_t)(s.x * t.lanes + lane);
    }

    __device__ __forceinline__ void find_x(int r, int element, int four, source &s) const {
        const int n = strip + r, lane = lane_of(t, blockIdx.y, four);
        const int kernel_row = n * t.taps / t.kernel_w, tap = n * t.taps % t.kernel_w;
        const size_t plane = (size_t)t.in.height * (size_t)t.in.width * (size_t)t.lanes;
        const size_t channel = number * (size_t)t.in.channels + (size_t)(kernel_row / t.kernel_h);
        s.x = tap - t.pad_x + position_of(t, element, four) * (S::TAPS > 1 ? 1 : t.stride_x);
        s.y = kernel_row % t.kernel_h - t.pad_y;
        s.from = t.x;
        if (n < t.strips && lane >= 0)
            s.from +=
                (ptrdiff_t)(channel * plane) + ((ptrdiff_t)s.y * t.in.width + s.x) * t.lanes + lane;
        else
            s.y = NOWHERE;
    }

    __device__ __forceinline__ void copy(place p, piece<S> &to) const {
        if (p.y < t.out.height) {
            dz.copy(p, t.out, t.lanes, &to.dz[0][0][0]);
            x.copy({p.y * t.stride_y, p.x * t.stride_x}, t.in, t.lanes, &to.x[0][0][0]);
        }
        end_copies();
    }

    __device__ __forceinline__ void advance(place &p) const {
        p.x += S::POSITIONS * (t.packed ? FOURS : 1);
        if (p.x < t.out.width) return;
        p.x = 0;
        p.y++;
    }
};

// ---- Adding ----

// A thread's place in its block.
struct team_place {
    int lane, down, across;
};

static __device__ __forceinline__ team_place place_of_team(void) {
    const int team = (int)thread_of_block() / GROUP;
    return {(int)threadIdx.x, team / TEAMS_ACROSS, team % TEAMS_ACROSS};
}

// Returns a team's i-th strip in a block. A warp reads neighbours.
static __device__ __forceinline__ int strip_of(const team_place &own, int i) {
    return own.across + i * TEAMS_ACROSS;
}

// Adds the terms of a piece whose first position is x.
template <typename S>
static __device__ __forceinline__ void add_piece(const exact_weights &t, const piece<S> &from,
                                                 int x, const team_place &own,
                                                 float (&sum)[S::WEIGHTS]) {
    float v[S::STRIPS][S::TAPS]; // under the strips
    const int apart = t.packed ? FOURS : 1, last = t.out.width - x;
    const int shift = t.packed ? own.lane / 4 : 0; // of the thread's position
#pragma unroll
    for (int n = 0; n < S::POSITIONS; n++) {
        if (S::ENDS_EARLY && n % 4 == 0 && n * apart >= last) break;
        const bool exists = n * apart + shift < last;
        float d[S::OUTPUTS];
#pragma unroll
        for (int o = 0; o < S::OUTPUTS; o++) d[o] = from.dz[own.down * S::OUTPUTS + o][n][own.lane];
#pragma unroll
        for (int k = 0; k < S::STRIPS; k++) {
            const float(*x_of)[GROUP] = from.x[strip_of(own, k)];
#pragma unroll
            for (int tap = 0; tap < S::TAPS; tap++)
                v[k][tap] = n > 0 && tap + S::STEP < S::TAPS ? v[k][tap + S::STEP]
                                                             : x_of[n * S::STEP + tap][own.lane];
        }
#pragma unroll
        for (int i = 0; i < S::WEIGHTS; i++) {
            const float term = v[i / S::TAPS % S::STRIPS][i % S::TAPS];
            sum[i] = exists ? fmaf(d[i / S::TAPS / S::STRIPS], term, sum[i]) : sum[i];
        }
    }
}

template <typename S> static __device__ __forceinline__ void clear_sums(float (&sums)[S::WEIGHTS]) {
#pragma unroll
    for (int i = 0; i < S::WEIGHTS; i++) sums[i] = 0.0f;
}

// The sums of a team's weights, of one sample. A long sum is cut into parts of some rows, which are
// added in order.
template <typename S, bool PARTS>
static __device__ __forceinline__ void sum_positions(const weight_tile<S> &w, const team_place &own,
                                                     float (&total)[S::WEIGHTS]) {
    __shared__ piece<S> pieces[PIECES];
    const exact_weights &t = w.t;
    [[maybe_unused]] const int part = long_sum_rows(t.out.height, t.out.width);
    float sum[S::WEIGHTS];
    place next = {0, 0}, now = {0, 0};
#pragma unroll
    for (int i = 0; i < PIECES - 1; i++) {
        w.copy(next, pieces[i]);
        w.advance(next);
    }
    clear_sums<S>(total);
    clear_sums<S>(sum);
    for (int turn = 0; now.y < t.out.height; turn = turn + 1 < PIECES ? turn + 1 : 0) {
        [[maybe_unused]] const int y = now.y;
        wait_for_copies<PIECES - 2>();
        __syncthreads(); // the piece is here, and all threads have added the one before it
        w.copy(next, pieces[turn > 0 ? turn - 1 : PIECES - 1]);
        w.advance(next);
        add_piece<S>(t, pieces[turn], now.x, own, PARTS ? sum : total);
        w.advance(now);
        if constexpr (PARTS) {
            if (now.y == y || (now.y % part != 0 && now.y < t.out.height)) continue;
#pragma unroll
            for (int i = 0; i < S::WEIGHTS; i++) total[i] = y < part ? sum[i] : total[i] + sum[i];
            clear_sums<S>(sum);
        }
    }
}

// Adds the sums of the 16 threads of a team by halves, all N of them, a power of two: of two
// threads each passes on the sums that the other keeps. The thread keeps sums[0], and so on, up to
// N / 16 of them, or one; returns the number of the first. All threads of a warp must call it.
//
// The CPU's kernels for 8 samples begin with 4 + 4: here the zeros of eight missing samples come
// first.
template <int N> static __device__ __forceinline__ int add_lanes(float (&sums)[N]) {
    int first = 0, kept = N;
#pragma unroll
    for (int distance = GROUP / 2; distance > 0; distance /= 2) {
        const bool upper = threadIdx.x & (unsigned)distance;
        if (kept == 1) {
            sums[0] += __shfl_xor_sync(ALL_LANES, sums[0], distance);
            continue;
        }
        kept /= 2;
        first += upper ? kept : 0;
#pragma unroll
        for (int i = 0; i < N / 2; i++) {
            if (i >= kept) break;
            const float passed = upper ? sums[i] : sums[i + kept];
            sums[i] =
                (upper ? sums[i + kept] : sums[i]) + __shfl_xor_sync(ALL_LANES, passed, distance);
        }
    }
    return first;
}

static __host__ __device__ constexpr int power_of_two_from(int n) {
    return n <= 1 ? 1 : 2 * power_of_two_from((n + 1) / 2);
}

// Writes the sums of a team's weights over the samples of the group.
template <typename S>
static __device__ __forceinline__ void write_tile(const weight_tile<S> &w, const team_place &own,
                                                  const float (&of_sample)[S::WEIGHTS], float *to) {
    constexpr int N = power_of_two_from(S::WEIGHTS), KEPT = N > GROUP ? N / GROUP : 1;
    constexpr int SAME = N < GROUP ? GROUP / N : 1; // threads with the same sum
    float sums[N] = {};
#pragma unroll
    for (int i = 0; i < S::WEIGHTS; i++) sums[i] = of_sample[i];
    const int first = add_lanes(sums);
#pragma unroll
    for (int i = 0; i < KEPT; i++) {
        const int n = first + i, tap = n % S::TAPS;
        const int strip = w.strip + strip_of(own, n / S::TAPS % S::STRIPS);
        const int row = w.row + own.down * S::OUTPUTS + n / S::TAPS / S::STRIPS;
        if (own.lane % SAME == 0 && n < S::WEIGHTS && row < w.t.out.channels &&
            strip < w.t.strips && tap < w.t.taps)
            to[(size_t)row * (size_t)w.t.columns + (size_t)(strip * w.t.taps + tap)] = sums[i];
    }
}

// Adds the groups of the tile's weights.
template <typename S>
static __device__ __forceinline__ void add_groups_of(const weight_tile<S> &w, unsigned groups) {
    const exact_weights &t = w.t;
    const size_t shard = w.number / (size_t)t.channel_parts;
    const size_t part = w.number % (size_t)t.channel_parts;
    const size_t weights = (size_t)t.out.channels * (size_t)t.columns;
    const int column = w.strip * t.taps, wide = piece<S>::STRIPS * t.taps;
    const int columns = column + wide < t.columns ? wide : t.columns - column;
    const float *from = t.sums + w.number * groups_of(t.lanes) * weights;
    float *to = t.gradients.base + shard * t.gradients.stride + t.at + part * weights;
    for (int i = (int)thread_of_block(); i < piece<S>::OUTPUTS * columns; i += WEIGHT_THREADS) {
        const int row = w.row + i / columns;
        if (row >= t.out.channels) break;
        const size_t at = (size_t)row * (size_t)t.columns + (size_t)(column + i % columns);
        to[at] =
            tree_sum<float>(groups, [&](unsigned g) { return __ldcg(from + g * weights + at); });
    }
}

// blockIdx: tiles, then channels of biases; the group; the shard.
template <typename S, bool PARTS>
static __global__ void __launch_bounds__(WEIGHT_THREADS)
    sum_weights(exact_weights t, bias_sums biases) {
    const team_place own = place_of_team();
    const weight_tile<S> w(t);
    const size_t shard = w.number / (size_t)t.channel_parts;
    wait_for_kernels_before();
    if (blockIdx.x >= t.tiles) {
        sum_biases_of_block(biases, blockIdx.x - t.tiles);
        return;
    }
    const int samples = t.count[shard];
    if (samples_of_group(samples, blockIdx.y) <= 0) return;
    const size_t weights = (size_t)t.out.channels * (size_t)t.columns;
    float sums[S::WEIGHTS];
    sum_positions<S, PARTS>(w, own, sums);
    write_tile<S>(w, own, sums, t.sums + (w.number * groups_of(t.lanes) + blockIdx.y) * weights);
    const unsigned groups = groups_of(samples);
    if (is_last_block(t.counters + (size_t)blockIdx.z * t.tiles + blockIdx.x, groups))
        add_groups_of<S>(w, groups);
}

// ---- Launching ----

// One for each tile, of no fewer weights than this, and for each bias.
size_t cuda_exact_direct_counters(const cuda_conv_task *t, int shards) {
    const unsigned down = blocks_for((size_t)t->out.channels, TEAMS_DOWN);
    const unsigned across = blocks_for(columns_of(t), TEAMS_ACROSS);
    return (size_t)(shards * t->channel_parts) * ((size_t)down * across + (size_t)t->out.channels);
}

static exact_weights weights_task(const cut *c, const cuda_conv_task *t, bool rows) {
    exact_weights w = {};
    w.in = t->in;
    w.out = t->out;
    w.lanes = c->lanes;
    w.channel_parts = t->channel_parts;
    w.first = c->first * t->channel_parts;
    w.kernel_h = t->kernel_h;
    w.kernel_w = t->kernel_w;
    w.stride_y = t->stride_y;
    w.stride_x = t->stride_x;
    w.pad_y = t->pad_y;
    w.pad_x = t->pad_x;
    w.columns = (int)columns_of(t);
    w.taps = rows ? t->kernel_w : 1;
    w.strips = w.columns / w.taps;
    w.packed = c->lanes <= 4 && t->stride_x == 1;
    w.count = c->count;
    w.x = t->x;
    w.dz = t->z;
    w.sums = t->workspace;
    w.counters = t->counters;
    w.gradients = t->gradients;
    w.at = t->weight_at;
    return w;
}

template <typename S> static unsigned tiles_of(const exact_weights &w) {
    return blocks_for((size_t)w.out.channels, piece<S>::OUTPUTS) *
           blocks_for((size_t)w.strips, piece<S>::STRIPS);
}

template <typename S, bool PARTS>
static void launch(launch_stream s, const cut *c, const cuda_conv_task *t) {
    const dim3 block(GROUP, WEIGHT_THREADS / GROUP);
    exact_weights w = weights_task(c, t, S::TAPS > 1);
    bias_sums b = biases_of(c, t, block);
    w.tiles = tiles_of<S>(w);
    b.counters += (size_t)w.tiles * parts_of(c, t);
    const dim3 grid(w.tiles + b.blocks, groups_of(c->lanes), parts_of(c, t));
    LAUNCH((sum_weights<S, PARTS>), grid, block, s, w, b);
}

// What a row costs, in cycles: the instructions of all warps that share a scheduler, the reads from
// shared memory of all that share a multiprocessor, or the latency of copies; whichever is most.
template <typename S> static size_t row_cost(const cut *c, const cuda_conv_task *t) {
    enum { COPY_COST = 14, PIECE_COST = 40, PIECE_LATENCY = 300 };
    constexpr size_t READS = S::OUTPUTS + S::STRIPS * S::STEP;
    typedef sources<piece<S>::OUTPUTS, S::POSITIONS> dz;
    typedef sources<piece<S>::STRIPS, S::ELEMENTS> x;
    const exact_weights w = weights_task(c, t, S::TAPS > 1);
    const size_t width = (size_t)w.out.width;
    const size_t positions = w.packed ? blocks_for(width, FOURS) : width;
    const size_t in_row = blocks_for(positions, S::POSITIONS);
    const size_t added = S::ENDS_EARLY ? positions : in_row * S::POSITIONS;
    const size_t blocks = (size_t)tiles_of<S>(w) * groups_of(c->lanes) * parts_of(c, t);
    const size_t warps = blocks * (WEIGHT_THREADS / WARP);
    const size_t instructions = added * (READS + S::WEIGHTS) +
                                in_row * ((size_t)COPY_COST * (dz::OWN + x::OWN) + PIECE_COST);
    const size_t busy = (warps + SCHEDULERS - 1) / SCHEDULERS * instructions;
    const size_t reading = added * READS * ((warps + PROCESSORS - 1) / PROCESSORS);
    const size_t waiting = in_row * PIECE_LATENCY;
    return std::max(std::max(busy, reading), waiting);
}

// Launches the cheapest of some shapes, of which the first one is also for long sums: their parts
// take registers.
template <typename Long, typename... Others>
static void launch_cheapest(launch_stream s, const cut *c, const cuda_conv_task *t) {
    typedef void (*launcher)(launch_stream, const cut *, const cuda_conv_task *);
    if (is_long_sum(t->out.height, t->out.width)) return launch<Long, true>(s, c, t);
    const launcher all[] = {launch<Long, false>, launch<Others, false>...};
    const size_t costs[] = {row_cost<Long>(c, t), row_cost<Others>(c, t)...};
    all[std::min_element(costs, costs + 1 + sizeof...(Others)) - costs](s, c, t);
}

void cuda_exact_direct_weight(launch_stream s, const cut *c, const cuda_conv_task *t) {
    const int stride = c->lanes > 4 && t->kernel_w > 1 ? t->stride_x : 0;
    if (t->kernel_w <= 3 && stride == 1)
        launch_cheapest<tile_shape<4, 1, 3, 1, 16>, tile_shape<1, 1, 3, 1, 16>,
                        tile_shape<1, 1, 3, 1, 32>>(s, c, t);
    else if (t->kernel_w <= 5 && stride == 1)
        launch_cheapest<tile_shape<4, 1, 5, 1, 8>, tile_shape<2, 1, 5, 1, 16>,
                        tile_shape<1, 1, 5, 1, 8>, tile_shape<1, 1, 5, 1, 16>,
                        tile_shape<1, 1, 5, 1, 28>>(s, c, t);
    else if (t->kernel_w <= 3 && stride == 2)
        launch_cheapest<tile_shape<4, 2, 3, 2, 8>, tile_shape<8, 4, 3, 2, 4>,
                        tile_shape<1, 1, 3, 2, 16>>(s, c, t);
    else
        launch_cheapest<tile_shape<4, 4, 1, 1, 8>, tile_shape<8, 8, 1, 1, 4>,
                        tile_shape<1, 1, 1, 1, 16>>(s, c, t);
}
