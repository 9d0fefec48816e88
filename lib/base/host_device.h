// SPDX-License-Identifier: MIT
// host_device.h - the keyword before inline functions that CUDA kernels call as well.
#ifndef LOCKSTEP_BASE_HOST_DEVICE_H
#define LOCKSTEP_BASE_HOST_DEVICE_H

// Only nvcc knows these keywords.
#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif

#endif
