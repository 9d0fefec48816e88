// SPDX-License-Identifier: MIT
// Convolution forward and input gradient: correlations (conv_correlation.cuh), whose sums a finish
// processes (conv_finish.cuh).
#include "compute/cuda/kernels/conv_correlation.cuh"
#include "compute/cuda/kernels/conv_finish.cuh"

// Rows and columns, depth, rows and columns of a thread, slices, resident blocks. The narrow ones
// are for LeNet's few channels; the first one is for its linear layers, which also have few
// columns: deep tiles and many slices, because these layers wait for memory.
#define SHAPES(SHAPE)                      \
    SHAPE(8x16, 8, 16, 64, 4, 4, 16, 4)    \
    SHAPE(8x32, 8, 32, 32, 4, 4, 8, 6)     \
    SHAPE(8x64, 8, 64, 32, 4, 4, 4, 6)     \
    SHAPE(16x32, 16, 32, 32, 4, 4, 4, 6)   \
    SHAPE(16x64, 16, 64, 32, 4, 4, 2, 4)   \
    SHAPE(32x64, 32, 64, 16, 4, 4, 1, 4)   \
    SHAPE(64x64, 64, 64, 16, 8, 4, 1, 4)   \
    SHAPE(64x128, 64, 128, 16, 8, 8, 1, 4) \
    SHAPE(128x128, 128, 128, 16, 8, 8, 1, 2)
SHAPES(SHAPE_TYPE)
enum { SHAPES(SHAPE_NAME) SHAPE_COUNT };

template <typename S, typename Finish>
static __global__ void __launch_bounds__(S::THREADS, S::RESIDENT)
    correlate(correlation t, Finish finish) {
    __shared__ kernel_tap taps[2][S::DEPTH];
    const product_block b = block_of<S, Finish::WINDOWS>(t);
    const float *from = t.from + (size_t)b.shard * (size_t)t.in.channels * (size_t)t.in_plane;

    const thread_place p = place_of_thread<S>();
    block_sums<S> sums;
    correlation_source<S, Finish::WINDOWS> source(t, from, b.part, b.row, b.column, taps);
    wait_for_kernels_before();
    __syncthreads();
    clear_sums(sums);
    multiply<S>(source, pieces(t.terms, S::DEPTH), p, sums);
    finish.finish(b, p, sums);
}

// ---- Launching ----

static const block_size sizes[SHAPE_COUNT] = {SHAPES(SHAPE_SIZE)};

// The larger blocks have no shared memory left to exchange the elements of windows.
enum { WINDOW_SHAPES = BLOCK_64x64 + 1 };

template <bool WINDOWS> static int picked_shape(const correlation &t) {
    const int count = WINDOWS ? (int)WINDOW_SHAPES : (int)SHAPE_COUNT;
    const int columns = WINDOWS ? WINDOW * t.columns : t.columns;
    return pick_block(sizes, count, t.out.channels, columns, FILL);
}

template <typename S, typename Finish>
static void launch(launch_stream s, const cut *c, correlation t, const Finish &e) {
    const int columns = columns_of_block<S, Finish::WINDOWS>();
    const int blocks = pieces(t.out.channels, S::ROWS) * pieces(t.columns, columns);
    const dim3 grid((unsigned)blocks, 1, parts_of(c, t));
    if (grid.x == 0 || grid.z == 0) return;
    t.tile_step = digits_of(S::DEPTH, t.kernel);
    LAUNCH((correlate<S, Finish>), grid, dim3(S::THREADS), s, t, e);
}

template <typename Finish>
static void launch_picked(launch_stream s, const cut *c, const correlation &t, const Finish &e) {
    switch (picked_shape<Finish::WINDOWS>(t)) {
#define SHAPE_CASE(name, ...)                                                     \
    case BLOCK_##name:                                                            \
        if constexpr (!Finish::WINDOWS || (int)BLOCK_##name < (int)WINDOW_SHAPES) \
            launch<block_##name>(s, c, t, e);                                     \
        break;
        SHAPES(SHAPE_CASE)
    }
}

void cuda_conv(launch_stream s, const cut *c, const cuda_conv_task *t) {
    launch_picked(s, c, forward_of(c->lanes, c->first, t), store_sums{t->bias, t->z});
}

// Returns what the blocks that sum the same rows share.
static shared_parts shared_parts_of(const correlation &r, double *parts, unsigned *counters) {
    const int blocks = pieces(r.columns, sizes[picked_shape<false>(r)].columns);
    return {parts, counters, bundle_size(blocks)};
}

static parts_room room_of(const correlation &r, int shards) {
    const block_size b = sizes[picked_shape<false>(r)];
    const int blocks = pieces(r.columns, b.columns), row_blocks = pieces(r.out.channels, b.rows);
    const size_t sets = (size_t)shards * (size_t)row_blocks;
    return {sets * (size_t)blocks * 2 * (size_t)b.rows,
            sets * (size_t)(pieces(blocks, bundle_size(blocks)) + 1)};
}

void cuda_conv_moments(launch_stream s, const cut *c, const cuda_conv_task *t, const norm_task *n,
                       const cuda_epilogue_task *epilogue) {
    const correlation r = forward_of(c->lanes, c->first, t);
    const store_moments e = {t->bias, t->z, c->count, shared_parts_of(r, n->parts, n->counters),
                             *n};
    if (epilogue)
        launch_picked(s, c, r, store_norm_epilogue{e, *epilogue});
    else
        launch_picked(s, c, r, e);
}

parts_room cuda_conv_moments_room(const cuda_conv_task *t, int lanes, int shards) {
    return room_of(forward_of(lanes, 0, t), shards);
}

void cuda_conv_epilogue(launch_stream s, const cut *c, const cuda_conv_task *t,
                        const cuda_epilogue_task *epilogue) {
    correlation r = forward_of(c->lanes, c->first, t);
    if (!epilogue->pool) {
        launch_picked(s, c, r, store_epilogue{t->bias, *epilogue});
        return;
    }
    r.columns = (t->out.height / 2) * (t->out.width / 2) * c->lanes;
    launch_picked(s, c, r, store_windows{t->bias, *epilogue});
}

void cuda_conv_input(launch_stream s, const cut *c, const cuda_conv_task *t) {
    if (!has_phases(t)) {
        launch_picked(s, c, input_of(c->lanes, c->first, t), store_sums{NULL, t->dx});
        return;
    }
    for (int y = 0; y < t->stride_y; y++)
        for (int x = 0; x < t->stride_x; x++) {
            store_phase e = {{}, t->dx};
            launch_picked(s, c, phase_of(c->lanes, c->first, t, y, x, &e.phase), e);
        }
}

void cuda_conv_input_sums(launch_stream s, const cut *c, const cuda_conv_task *t,
                          const cuda_epilogue_task *front) {
    const correlation r = input_of(c->lanes, c->first, t);
    const shared_parts m = shared_parts_of(r, front->parts, front->counters);
    launch_picked(s, c, r, store_gradient{t->dx, c->count, m, *front});
}

parts_room cuda_conv_input_sums_room(const cuda_conv_task *t, int lanes, int shards) {
    return room_of(input_of(lanes, 0, t), shards);
}
