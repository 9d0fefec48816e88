// SPDX-License-Identifier: MIT
// The functions of cuBLAS that the backend calls; see opened.h.
#include <cublas_v2.h>

#include "compute/cuda/device/opened.h"

// Another major version has other functions.
#define LIBRARY "libcublas.so." OPENED_NAME(CUBLAS_VER_MAJOR)

status cuda_need_blas(error *err) {
    if (dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL)) return STATUS_OK;
    return error_set(err, STATUS_FAILED,
                     "cannot compute: with --math fast a large linear layer needs cuBLAS: %s; "
                     "--math exact does not need it",
                     dlerror());
}

#define BLAS(name, parameters, arguments) \
    OPENED(LIBRARY, cublasStatus_t, name, parameters, arguments, CUBLAS_STATUS_NOT_INITIALIZED)

BLAS(cublasCreate, (cublasHandle_t * handle), (handle))
BLAS(cublasDestroy, (cublasHandle_t handle), (handle))
BLAS(cublasGetProperty, (libraryPropertyType type, int *value), (type, value))
BLAS(cublasSetStream, (cublasHandle_t handle, cudaStream_t stream), (handle, stream))
BLAS(cublasSetWorkspace, (cublasHandle_t handle, void *workspace, size_t size),
     (handle, workspace, size))
BLAS(cublasSetMathMode, (cublasHandle_t handle, cublasMath_t mode), (handle, mode))
BLAS(cublasSetAtomicsMode, (cublasHandle_t handle, cublasAtomicsMode_t mode), (handle, mode))
BLAS(cublasSgemm,
     (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
      int k, const float *alpha, const float *A, int lda, const float *B, int ldb,
      const float *beta, float *C, int ldc),
     (handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc))
OPENED(LIBRARY, const char *, cublasGetStatusString, (cublasStatus_t code), (code),
       "cuBLAS is missing")
