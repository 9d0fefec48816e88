// SPDX-License-Identifier: MIT
// opened.h - libraries that are opened when they are first needed: cuBLAS and NCCL.
//
// lockstep-cuda.so does not link with them, so that a GPU needs nothing but its driver. cuBLAS is
// for large linear layers with --math fast, NCCL for ranks with a GPU each; these can also reduce
// by other means. The functions of both that the backend calls are defined in cublas_opened.c and
// nccl_opened.c, under their own names; each calls the library's function. The emulation has
// functions of its own.
#ifndef LOCKSTEP_COMPUTE_CUDA_DEVICE_OPENED_H
#define LOCKSTEP_COMPUTE_CUDA_DEVICE_OPENED_H

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "base/error.h"

// STATUS_FAILED if cuBLAS is missing: the message says how to do without. Otherwise it is open, and
// stays so.
status cuda_need_blas(error *err) MUST_CHECK;

// Returns true if NCCL is there. It is then open, and stays so.
bool cuda_has_nccl(void);

#ifdef __cplusplus
}
#endif

// OPENED(LIBRARY, result, name, (parameters), (arguments), missing) defines a function that calls
// the library's function of that name, or returns `missing` if there is none. dlopen finds an open
// library by its name, without reading a file.
#define OPENED(LIBRARY, result, name, parameters, arguments, missing) \
    result name parameters {                                          \
        result(*function) parameters = NULL;                          \
        void *library = dlopen((LIBRARY), RTLD_NOW | RTLD_LOCAL);     \
        if (!library) return (missing);                               \
        void *symbol = dlsym(library, OPENED_NAME(name));             \
        memcpy(&function, &symbol, sizeof function);                  \
        return function ? function arguments : (missing);             \
    }
// Of a name that is a macro for another one, as cublasCreate is for cublasCreate_v2: the latter.
#define OPENED_NAME(name) OPENED_TEXT(name)
#define OPENED_TEXT(name) #name

#endif
