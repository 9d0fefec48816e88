// SPDX-License-Identifier: MIT
// cuBLAS by its definition: C = alpha · op(A) op(B) + beta · C, all matrices column-major, and each
// element's sum in the order of k.
#include "cublas_v2.h"

#include <cmath>
#include <cstdlib>

#include "compute/cuda/device/opened.h"
#include "emulation.h"

struct cublasContext {
    int device;
    cudaStream_t stream;
    cublasPointerMode_t pointers;
};

namespace emulation {

// One of the three matrices, for all batches: `at` is element (0, 0) of the first batch.
template <typename T> struct matrices {
    T *at;
    bool transposed;
    int leading;
    long long stride;

    T &element(int batch, int row, int column) const {
        const long long r = transposed ? column : row, c = transposed ? row : column;
        return at[batch * stride + c * leading + r];
    }
    // Whether `rows` × `columns` elements of every batch lie in device memory.
    bool fits(int rows, int columns, int batches) const {
        const int stored = transposed ? columns : rows, across = transposed ? rows : columns;
        if (leading < (stored > 1 ? stored : 1) || stride < 0) return false;
        if (stored == 0 || across == 0 || batches == 0) return true;
        const long long last = (batches - 1) * stride + (long long)(across - 1) * leading + stored;
        return where(at, (size_t)last * sizeof(T)) == memory::device;
    }
};

struct product {
    int m, n, k, batches;
    matrices<const float> a, b;
    matrices<float> c;
};

static void multiply(const product &p, float alpha, float beta) {
    for (int batch = 0; batch < p.batches; batch++)
        for (int j = 0; j < p.n; j++)
            for (int i = 0; i < p.m; i++) {
                float sum = 0;
                for (int l = 0; l < p.k; l++)
                    sum = fmaf(p.a.element(batch, i, l), p.b.element(batch, l, j), sum);
                float &c = p.c.element(batch, i, j);
                c = beta == 0 ? alpha * sum : fmaf(beta, c, alpha * sum); // 0: C may be NaN
            }
}

static cublasStatus_t submit_product(cublasHandle_t handle, const product &p, const float *alpha,
                                     const float *beta) {
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (p.m < 0 || p.n < 0 || p.k < 0 || p.batches < 0 || !p.a.fits(p.m, p.k, p.batches) ||
        !p.b.fits(p.k, p.n, p.batches) || !p.c.fits(p.m, p.n, p.batches))
        return CUBLAS_STATUS_INVALID_VALUE;
    cudaError_t result;
    if (handle->pointers == CUBLAS_POINTER_MODE_HOST) {
        const float now_alpha = *alpha, now_beta = *beta; // the caller's may be gone when this runs
        result = submit(handle->stream, [=] {
            multiply(p, now_alpha, now_beta);
            return cudaSuccess;
        });
    } else {
        result = submit(handle->stream, [=] {
            multiply(p, *alpha, *beta);
            return cudaSuccess;
        });
    }
    return result == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

} // namespace emulation

using namespace emulation;

// With LOCKSTEP_EMULATED_LIBRARIES=none neither cuBLAS nor NCCL is installed.
static bool has_libraries() {
    const char *text = getenv("LOCKSTEP_EMULATED_LIBRARIES");
    return !text || strcmp(text, "none") != 0;
}

status cuda_need_blas(error *err) {
    return has_libraries() ? STATUS_OK : error_set(err, STATUS_FAILED, "cannot compute: no cuBLAS");
}

bool cuda_has_nccl(void) {
    return has_libraries();
}

cublasStatus_t cublasCreate(cublasHandle_t *handle) {
    hold lock(everything);
    int device;
    if (current_device(&device) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
    // The real cuBLAS allocates here, too.
    if (allowed_now() != cudaSuccess) return CUBLAS_STATUS_ALLOC_FAILED;
    *handle = new cublasContext{device, nullptr, CUBLAS_POINTER_MODE_HOST};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value) {
    if (!has_libraries()) return CUBLAS_STATUS_NOT_INITIALIZED;
    *value = type == MAJOR_VERSION   ? CUBLAS_VERSION / 10000
             : type == MINOR_VERSION ? CUBLAS_VERSION / 100 % 100
                                     : CUBLAS_VERSION % 100;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t size) {
    hold lock(everything);
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    const bool fits = size == 0 || where(workspace, size) == memory::device;
    const bool aligned = (size_t)workspace % 256 == 0;
    return fits && aligned ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t) {
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t) {
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->pointers = mode;
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusString(cublasStatus_t code) {
    switch (code) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    }
    return "unknown";
}

static cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t transa,
                           cublasOperation_t transb, product p, const float *alpha,
                           const float *beta) {
    hold lock(everything);
    p.a.transposed = transa == CUBLAS_OP_T;
    p.b.transposed = transb == CUBLAS_OP_T;
    return submit_product(handle, p, alpha, beta);
}

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t transa,
                           cublasOperation_t transb, int m, int n, int k, const float *alpha,
                           const float *A, int lda, const float *B, int ldb, const float *beta,
                           float *C, int ldc) {
    return gemm(handle, transa, transb,
                {m, n, k, 1, {A, false, lda, 0}, {B, false, ldb, 0}, {C, false, ldc, 0}}, alpha,
                beta);
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa,
                                         cublasOperation_t transb, int m, int n, int k,
                                         const float *alpha, const float *A, int lda,
                                         long long strideA, const float *B, int ldb,
                                         long long strideB, const float *beta, float *C, int ldc,
                                         long long strideC, int batchCount) {
    return gemm(handle, transa, transb,
                {m,
                 n,
                 k,
                 batchCount,
                 {A, false, lda, strideA},
                 {B, false, ldb, strideB},
                 {C, false, ldc, strideC}},
                alpha, beta);
}
