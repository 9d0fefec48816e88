// SPDX-License-Identifier: MIT
// GPU activity during a run: a thread queries NVML once per second.
//
// NVML comes with the driver, so it may be missing or older than CUDA. Figures that it does not
// provide for a device are left out. Only a library that cannot be used at all is an error, and
// that error does not fail a run.
#include "compute/cuda/device/monitor.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "compute/cuda/device/nvml.h"

// ---- NVML ----

typedef struct nvml {
    void *library;
    bool begun;
    __typeof__(nvmlInit_v2) *begin;
    __typeof__(nvmlShutdown) *end;
    __typeof__(nvmlErrorString) *describe;
    __typeof__(nvmlDeviceGetHandleByPciBusId_v2) *find;
    // NULL if the driver has no such function:
    __typeof__(nvmlDeviceGetUtilizationRates) *utilization;
    __typeof__(nvmlDeviceGetMemoryInfo) *memory;
    __typeof__(nvmlDeviceGetClockInfo) *clock;
    __typeof__(nvmlDeviceGetPowerUsage) *power;
    __typeof__(nvmlDeviceGetTemperature) *temperature;
} nvml;

static void look_up(nvml *n) {
#define LOOK_UP(member, name) n->member = (__typeof__(&name))dlsym(n->library, #name)
    LOOK_UP(begin, nvmlInit_v2);
    LOOK_UP(end, nvmlShutdown);
    LOOK_UP(describe, nvmlErrorString);
    LOOK_UP(find, nvmlDeviceGetHandleByPciBusId_v2);
    LOOK_UP(utilization, nvmlDeviceGetUtilizationRates);
    LOOK_UP(memory, nvmlDeviceGetMemoryInfo);
    LOOK_UP(clock, nvmlDeviceGetClockInfo);
    LOOK_UP(power, nvmlDeviceGetPowerUsage);
    LOOK_UP(temperature, nvmlDeviceGetTemperature);
#undef LOOK_UP
}

static status open_nvml(nvml *n, error *err) {
    const char *given = getenv("LOCKSTEP_NVML_LIBRARY");
    const char *name = given && *given ? given : "libnvidia-ml.so.1";
    n->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!n->library) return error_set(err, STATUS_FAILED, "cannot open NVML: %s", dlerror());
    look_up(n);
    if (!n->begin || !n->end || !n->describe || !n->find)
        return error_set(err, STATUS_FAILED, "cannot use NVML: '%s' lacks a function", name);
    const nvmlReturn_t code = n->begin();
    n->begun = code == NVML_SUCCESS;
    if (n->begun) return STATUS_OK;
    return error_set(err, STATUS_FAILED, "cannot start NVML: '%s': %s", name, n->describe(code));
}

static void close_nvml(nvml *n) {
    if (n->begun) n->end();
    if (n->library) dlclose(n->library);
}

// ---- Asking ----

typedef struct watched {
    nvmlDevice_t device; // NULL: unknown to NVML
    int samples, counts[GPU_FIGURES];
    double sum[GPU_FIGURES], max[GPU_FIGURES];
} watched;

static void note(watched *w, gpu_figure which, double value) {
    if (w->counts[which] == 0 || value > w->max[which]) w->max[which] = value;
    w->sum[which] += value;
    w->counts[which]++;
}

static void sample(const nvml *n, watched *w) {
    nvmlUtilization_t busy;
    nvmlMemory_t memory;
    unsigned value;
    if (n->utilization && n->utilization(w->device, &busy) == NVML_SUCCESS) {
        note(w, GPU_UTILIZATION, busy.gpu / 100.0);
        note(w, GPU_MEMORY_UTILIZATION, busy.memory / 100.0);
    }
    if (n->memory && n->memory(w->device, &memory) == NVML_SUCCESS)
        note(w, GPU_MEMORY_USED, (double)memory.used);
    if (n->clock && n->clock(w->device, NVML_CLOCK_SM, &value) == NVML_SUCCESS)
        note(w, GPU_SM_CLOCK, value);
    if (n->power && n->power(w->device, &value) == NVML_SUCCESS) note(w, GPU_POWER, value / 1000.0);
    if (n->temperature && n->temperature(w->device, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS)
        note(w, GPU_TEMPERATURE, value);
    w->samples++;
}

// CUDA's numbers depend on CUDA_VISIBLE_DEVICES, NVML's do not: the PCI bus ID links them.
static status find_devices(const nvml *n, const int *indices, int count, watched *found,
                           error *err) {
    enum { BUS_ID_BYTES = 32 };
    int known = 0;
    for (int i = 0; i < count; i++) {
        char id[BUS_ID_BYTES];
        if (cudaDeviceGetPCIBusId(id, sizeof id, indices[i]) != cudaSuccess)
            (void)cudaGetLastError();
        else if (n->find(id, &found[i].device) != NVML_SUCCESS)
            found[i].device = NULL;
        if (found[i].device) known++;
    }
    if (known > 0) return STATUS_OK;
    return error_set(err, STATUS_FAILED, "cannot use NVML: it finds none of the GPUs");
}

// ---- The thread ----

struct gpu_monitor {
    nvml nvml;
    int count;
    watched *devices; // owned by the thread until it has ended
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t end;
    bool ending; // under the lock
};

// Returns true when the thread must end.
static bool pause_a_second(gpu_monitor *m) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec++;
    pthread_mutex_lock(&m->lock);
    while (!m->ending && pthread_cond_timedwait(&m->end, &m->lock, &until) == 0) continue;
    const bool ending = m->ending;
    pthread_mutex_unlock(&m->lock);
    return ending;
}

// A monitor that stops within a second samples once, at its end.
static void *watch(void *argument) {
    gpu_monitor *m = argument;
    for (bool first = true;; first = false) {
        const bool ending = pause_a_second(m);
        for (int i = 0; i < m->count && (first || !ending); i++)
            if (m->devices[i].device) sample(&m->nvml, &m->devices[i]);
        if (ending) return NULL;
    }
}

// The new thread blocks all signals: the training thread handles them.
static status start_thread(gpu_monitor *m, error *err) {
    pthread_condattr_t monotonic;
    sigset_t all, before;
    pthread_mutex_init(&m->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&m->end, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&m->thread, NULL, watch, m);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed) return STATUS_OK;
    return error_system(err, STATUS_FAILED, failed, "cannot start the NVML thread");
}

static void free_monitor(gpu_monitor *m) {
    close_nvml(&m->nvml);
    free(m->devices);
    free(m);
}

status cuda_monitor_start(const int *indices, int count, gpu_monitor **out, error *err) {
    gpu_monitor *m = memory_new(1, sizeof *m);
    status rc = STATUS_OK;
    *out = NULL;
    m->count = count;
    m->devices = memory_new((size_t)count, sizeof *m->devices);
    TRY(open_nvml(&m->nvml, err));
    TRY(find_devices(&m->nvml, indices, count, m->devices, err));
    TRY(start_thread(m, err));
    *out = m;
    return STATUS_OK;
out:
    free_monitor(m);
    return rc;
}

static gpu_figures figures_of(const watched *w) {
    gpu_figures f = {.samples = w->samples};
    for (int i = 0; i < GPU_FIGURES; i++) {
        f.mean[i] = w->counts[i] ? w->sum[i] / w->counts[i] : NAN;
        f.max[i] = w->counts[i] ? w->max[i] : NAN;
    }
    return f;
}

void cuda_monitor_stop(gpu_monitor *m, gpu_figures *out) {
    if (!m) return;
    pthread_mutex_lock(&m->lock);
    m->ending = true;
    pthread_cond_signal(&m->end);
    pthread_mutex_unlock(&m->lock);
    pthread_join(m->thread, NULL);
    for (int i = 0; out && i < m->count; i++) out[i] = figures_of(&m->devices[i]);
    pthread_cond_destroy(&m->end);
    pthread_mutex_destroy(&m->lock);
    free_monitor(m);
}
