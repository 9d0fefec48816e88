// SPDX-License-Identifier: MIT
// nvml.h - the part of NVML that monitor.c uses.
//
// NVML comes with the driver; its header is a separate package, which not every CUDA installation
// has. So the functions and types used are declared here, under NVIDIA's names:
// https://docs.nvidia.com/deploy/nvml-api/. The library is opened by name: nothing links with it.
#ifndef LOCKSTEP_COMPUTE_CUDA_DEVICE_NVML_H
#define LOCKSTEP_COMPUTE_CUDA_DEVICE_NVML_H

typedef int nvmlReturn_t; // an enumeration there
enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
};

typedef struct nvmlDevice_st *nvmlDevice_t;

typedef struct nvmlUtilization_t {
    unsigned gpu;    // percent of the last 1/6 to 1 s in which a kernel ran
    unsigned memory; // ... in which its memory was read or written
} nvmlUtilization_t;

typedef struct nvmlMemory_t {
    unsigned long long total, free, used; // bytes
} nvmlMemory_t;

typedef enum nvmlClockType_t { NVML_CLOCK_SM = 1 } nvmlClockType_t;
typedef enum nvmlTemperatureSensors_t { NVML_TEMPERATURE_GPU = 0 } nvmlTemperatureSensors_t;

nvmlReturn_t nvmlInit_v2(void);
nvmlReturn_t nvmlShutdown(void);
const char *nvmlErrorString(nvmlReturn_t result);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization);
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory);
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned *mhz);
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *milliwatts);
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
                                      unsigned *celsius);

#endif
