// SPDX-License-Identifier: MIT
// Large linear layers: matrix products by cuBLAS.
//
// Samples are innermost, so cuBLAS sees an activation [features][lanes] as a column-major matrix of
// `lanes` rows and `features` columns, and a weight [out][in] as one of `in` rows and `out`
// columns. There is one call per shard, always of the same shape, on a handle with its own
// workspace, in full single precision and without atomics. So cuBLAS selects the same kernel every
// time, and a shard's bits do not depend on the number of the engine's shards.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/cuda/device/device.h"
#include "compute/cuda/device/opened.h"

enum {
    FEATURES_MOST = 512,          // of a layer that does not use cuBLAS
    MULTIPLY_ADDS_MOST = 64 << 20 // in one product of such a layer
};

// Launches dominate the time of a small layer. cuBLAS needs one launch per shard, one more for the
// bias or its gradient, and separate ones for batch norm's statistics and the epilogue; our own
// product needs one. We use it for layers that cannot lose much by it: those with few features,
// because a block adds all terms of its sums one tile after another, and few multiply-adds:
// MULTIPLY_ADDS_MOST take 5 µs at 25 TFLOP/s, which bounds what cuBLAS could save. Both limits are
// estimates, not measurements. They refer to one shard, because its bits must not depend on the
// number of shards.
bool cuda_linear_by_blas(const layer *l, int lanes) {
    const size_t in = shape_size(l->in), out = shape_size(l->out);
    return in > FEATURES_MOST || out > FEATURES_MOST ||
           in * out * (size_t)lanes > MULTIPLY_ADDS_MOST;
}

// cuBLAS's manual recommends this for Hopper; earlier devices need less.
enum { WORKSPACE_BYTES = 32 << 20 };

// Environment variables that can change how cuBLAS computes: with 10-bit operands, with sums of
// products of 8-bit factors, or by a table that maps shapes to kernels. Its manual does not promise
// that a handle's settings override them. CUBLAS_WORKSPACE_CONFIG only concerns the workspace of
// handles that have none of their own.
static status check_environment(error *err) {
    static const char *const names[] = {"NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION",
                                        "CUBLASLT_HEURISTICS_LUT_FILE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value && strcmp(value, "0") != 0)
            return error_set(err, STATUS_USAGE,
                             "cannot compute: '%s=%s' is set in the environment and changes "
                             "cuBLAS's results: unset it",
                             names[i], value);
    }
    return STATUS_OK;
}

// Others may give other bits.
static void add_to_name(cuda_device *d) {
    static const libraryPropertyType parts[] = {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL};
    int blas[] = {0, 0, 0};
    const size_t length = strlen(d->name);
    for (int i = 0; i < 3; i++) (void)cublasGetProperty(parts[i], &blas[i]);
    snprintf(d->name + length, sizeof d->name - length, ", cuBLAS %d.%d.%d", blas[0], blas[1],
             blas[2]);
}

// Pedantic mode: the default mode may use any operations at least as exact as single precision, and
// the selection depends on the device and the version. The workspace is set after the stream,
// because setting the stream resets the workspace.
status cuda_linear_open(cuda_device *d, error *err) {
    void *workspace;
    NEED(check_environment(err));
    NEED(cuda_need_blas(err));
    add_to_name(d);
    NEED(cuda_take(d, WORKSPACE_BYTES, &workspace, err));
    NEED(cuda_check_blas(d, cublasCreate(&d->blas), "opening cuBLAS", err));
    NEED(cuda_check_blas(d, cublasSetStream(d->blas, d->stream), "cublasSetStream", err));
    NEED(cuda_check_blas(d, cublasSetWorkspace(d->blas, workspace, WORKSPACE_BYTES),
                         "cublasSetWorkspace", err));
    NEED(cuda_check_blas(d, cublasSetMathMode(d->blas, CUBLAS_PEDANTIC_MATH), "cublasSetMathMode",
                         err));
    return cuda_check_blas(d, cublasSetAtomicsMode(d->blas, CUBLAS_ATOMICS_NOT_ALLOWED),
                           "cublasSetAtomicsMode", err);
}

typedef struct product { // c = op(a) · op(b) + beta · c, column-major, leading dimensions lda …
    cublasOperation_t op_a, op_b;
    int rows, columns, inner;
    const float *a;
    int lda;
    const float *b;
    int ldb;
    float *c;
    int ldc;
    float beta;
} product;

static status multiply(const cuda_device *d, const product *p, error *err) {
    const float one = 1;
    launch_after_other(cuda_main(d));
    return cuda_check_blas(d,
                           cublasSgemm(d->blas, p->op_a, p->op_b, p->rows, p->columns, p->inner,
                                       &one, p->a, p->lda, p->b, p->ldb, &p->beta, p->c, p->ldc),
                           "computing a matrix product", err);
}

typedef struct sizes {
    int lanes, in, out;
    size_t x, z; // floats of a shard
} sizes;

static sizes sizes_of(const cut *c, const cuda_conv_task *t) {
    sizes s = {.lanes = c->lanes, .in = (int)shape_size(t->in), .out = (int)shape_size(t->out)};
    s.x = (size_t)s.in * (size_t)s.lanes;
    s.z = (size_t)s.out * (size_t)s.lanes;
    return s;
}

status cuda_linear(const cuda_device *d, const cut *c, const cuda_conv_task *t, error *err) {
    const sizes n = sizes_of(c, t);
    status rc = STATUS_OK;
    if (t->bias) cuda_fill_rows(cuda_main(d), c, n.out, t->bias, t->z);
    for (int s = c->first; s < c->end && rc == STATUS_OK; s++) {
        const product p = {CUBLAS_OP_N, CUBLAS_OP_N,
                           n.lanes,     n.out,
                           n.in,        t->x + (size_t)s * n.x,
                           n.lanes,     t->weight,
                           n.in,        t->z + (size_t)s * n.z,
                           n.lanes,     t->bias ? 1.0f : 0.0f};
        rc = multiply(d, &p, err);
    }
    return rc;
}

status cuda_linear_input(const cuda_device *d, const cut *c, const cuda_conv_task *t, error *err) {
    const sizes n = sizes_of(c, t);
    status rc = STATUS_OK;
    for (int s = c->first; s < c->end && rc == STATUS_OK; s++) {
        const product p = {CUBLAS_OP_N, CUBLAS_OP_T,
                           n.lanes,     n.in,
                           n.out,       t->z + (size_t)s * n.z,
                           n.lanes,     t->weight,
                           n.in,        t->dx + (size_t)s * n.x,
                           n.lanes,     0};
        rc = multiply(d, &p, err);
    }
    return rc;
}

status cuda_linear_weight(const cuda_device *d, const cut *c, const cuda_conv_task *t, error *err) {
    const sizes n = sizes_of(c, t);
    const gradient_set *r = &t->gradients;
    status rc = STATUS_OK;
    for (int s = c->first; s < c->end && rc == STATUS_OK; s++) {
        const product p = {CUBLAS_OP_T, CUBLAS_OP_N,
                           n.in,        n.out,
                           n.lanes,     t->x + (size_t)s * n.x,
                           n.lanes,     t->z + (size_t)s * n.z,
                           n.lanes,     r->base + (size_t)s * r->stride + t->weight_at,
                           n.in,        0};
        rc = multiply(d, &p, err);
    }
    if (rc == STATUS_OK && t->bias) cuda_sum_rows(cuda_main(d), c, n.out, t->z, r, t->bias_at);
    return rc;
}
