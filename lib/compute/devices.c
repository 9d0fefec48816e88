// SPDX-License-Identifier: MIT
#include "compute/devices.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plugin.h"

// ---- The list ----

static bool is_word(const char *text, size_t length, const char *word) {
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static bool parse_index(const char *text, size_t length, int *index) {
    enum { DIGITS_MAX = 4 };
    if (length < 1 || length > DIGITS_MAX) return false;
    *index = 0;
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)text[i])) return false;
        *index = *index * 10 + (text[i] - '0');
    }
    return true;
}

static bool parse_item(const char *text, size_t length, listed_device *item) {
    static const char numbered[] = "cuda:";
    const size_t head = sizeof numbered - 1;
    *item = (listed_device){.kind = is_word(text, length, "cpu") ? DEVICE_CPU : DEVICE_CUDA};
    if (item->kind == DEVICE_CPU || is_word(text, length, "cuda")) return true;
    if (length < head || memcmp(text, numbered, head) != 0) return false;
    return parse_index(text + head, length - head, &item->index);
}

status devices_parse(devices *d, const char *text, error *err) {
    *d = (devices){.count = 1, .list[0].kind = DEVICE_AUTO};
    if (strcmp(text, "auto") == 0) return STATUS_OK;
    d->count = 0;
    for (const char *item = text;; item++) {
        const size_t length = strcspn(item, ",");
        listed_device parsed;
        if (!parse_item(item, length, &parsed))
            return error_set(err, STATUS_USAGE,
                             "cannot compute: '--device %s': expected auto, cpu, cuda, or a list "
                             "such as cuda:0,cuda:1",
                             text);
        if (d->count == DEVICES_MAX)
            return error_set(err, STATUS_USAGE, "cannot compute: '--device': more than %d devices",
                             (int)DEVICES_MAX);
        d->list[d->count++] = parsed;
        item += length;
        if (!*item) return STATUS_OK;
    }
}

status devices_math(devices *d, const char *text, error *err) {
    d->exact = strcmp(text, "exact") == 0;
    if (!d->exact && strcmp(text, "fast") != 0)
        return error_set(err, STATUS_USAGE,
                         "bad option value: '--math': expected exact or fast, got '%s'", text);
    if (d->exact || !devices_mixed(d)) return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "cannot compute: '--device': the cpu and GPUs agree on a model only with "
                     "--math exact");
}

bool devices_have(const devices *d, device_kind kind) {
    for (int i = 0; i < d->count; i++)
        if (d->list[i].kind == kind) return true;
    return false;
}

bool devices_mixed(const devices *d) {
    return devices_have(d, DEVICE_CPU) && devices_have(d, DEVICE_CUDA);
}

const backend *devices_backend(const devices *d, int rank) {
    return d->list[rank % d->count].kind == DEVICE_CUDA ? d->cuda->backend : backend_find("cpu");
}

int devices_index(const devices *d, int rank) {
    return d ? d->list[rank % d->count].index : 0;
}

void devices_name(const devices *d, int i, char text[DEVICES_TEXT_BYTES]) {
    const listed_device *one = &d->list[i];
    if (one->kind == DEVICE_CUDA)
        snprintf(text, DEVICES_TEXT_BYTES, "cuda:%d", one->index);
    else
        snprintf(text, DEVICES_TEXT_BYTES, "%s", one->kind == DEVICE_CPU ? "cpu" : "auto");
}

const char *devices_arithmetic(const devices *d) {
    return d && devices_have(d, DEVICE_CUDA) && !d->exact ? "cuda" : "cpu";
}

bool devices_undecided(const devices *d) {
    return devices_have(d, DEVICE_AUTO) && !d->exact;
}

bool devices_exact(const devices *d) {
    return d && d->exact;
}

int devices_threads(const devices *d, int threads) {
    return devices_have(d, DEVICE_CUDA) && !devices_mixed(d) ? 1 : threads;
}

// ---- The shared object ----

static status find_library(char **path, error *err) {
    return plugin_find("lockstep-cuda.so", "LOCKSTEP_CUDA_LIBRARY", path, err);
}

static status open_library(const char *path, const cuda_library **library, error *err) {
    if (access(path, F_OK) != 0)
        return error_set(err, STATUS_FAILED,
                         "cannot compute: 'cuda': this build has no CUDA backend ('%s' does not "
                         "exist); --device cpu works everywhere",
                         path);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return error_set(err, STATUS_FAILED,
                         "cannot compute: 'cuda': its backend cannot be loaded: %s", dlerror());
    cuda_library_entry *entry = (cuda_library_entry *)dlsym(handle, CUDA_LIBRARY_SYMBOL);
    if (!entry) {
        dlclose(handle);
        return error_set(
            err, STATUS_FAILED,
            "cannot compute: 'cuda': '%s' is not a CUDA backend: it does not export '%s'", path,
            CUDA_LIBRARY_SYMBOL);
    }
    *library = entry();
    if ((*library)->abi == CUDA_LIBRARY_ABI) {
        (*library)->die_by(memory_die);
        return STATUS_OK;
    }
    dlclose(handle);
    return error_set(
        err, STATUS_FAILED,
        "cannot compute: 'cuda': '%s' was built for a different version of the tools: rebuild both",
        path);
}

status backend_open(const char *kind, const backend **b, error *err) {
    const cuda_library *library;
    char *path = NULL;
    status rc = STATUS_OK;
    *b = backend_find(kind);
    if (*b) return STATUS_OK;
    if (strcmp(kind, "cuda") != 0)
        return error_set(err, STATUS_USAGE, "cannot compute: '%s': no such backend", kind);
    TRY(find_library(&path, err));
    TRY(open_library(path, &library, err));
    *b = library->backend;
out:
    free(path);
    return rc;
}

// ---- Looking for GPUs ----

// The report of the child. It goes through a pipe as raw bytes: both ends are this program.
typedef struct report {
    status rc;
    error err;
    int count; // of all GPUs; `gpus` holds at most DEVICES_MAX
    device_info gpus[DEVICES_MAX];
} report;

static bool write_all(int to, const void *bytes, size_t left) {
    for (const char *at = bytes; left > 0;) {
        const ssize_t n = write(to, at, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        left -= (size_t)n;
    }
    return true;
}

// A driver takes a while to initialise many GPUs; a driver that hangs never returns.
enum { PROBE_SECONDS = 60, PROBE_SECONDS_MAX = 24 * 60 * 60 };

static int probe_seconds(void) {
    const char *text = getenv("LOCKSTEP_PROBE_SECONDS");
    const int seconds = text ? atoi(text) : 0;
    return seconds > 0 && seconds <= PROBE_SECONDS_MAX ? seconds : PROBE_SECONDS;
}

typedef enum reading { WHOLE, ENDED, LATE } reading;

static reading read_all(int from, void *bytes, size_t left, int seconds) {
    enum { NS_PER_MS = 1000000 };
    const uint64_t end = clock_now() / NS_PER_MS + 1000 * (uint64_t)seconds;
    for (char *at = bytes; left > 0;) {
        struct pollfd p = {.fd = from, .events = POLLIN};
        const uint64_t now = clock_now() / NS_PER_MS;
        if (now >= end) return LATE;
        if (poll(&p, 1, (int)(end - now)) <= 0) continue; // late, or a signal
        const ssize_t n = read(from, at, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return ENDED;
        at += n;
        left -= (size_t)n;
    }
    return WHOLE;
}

_Noreturn static void run_child(int to, const char *path) {
    report r = {.rc = STATUS_OK};
    const cuda_library *library;
    r.rc = open_library(path, &library, &r.err);
    if (r.rc == STATUS_OK) {
        r.rc = library->probe(r.gpus, DEVICES_MAX, &r.count, &r.err);
        if (r.rc != STATUS_OK) error_prefix(&r.err, "cannot compute: 'cuda': no GPU: ");
    }
    _exit(write_all(to, &r, sizeof r) ? 0 : 1);
}

static status describe_end(int ended, error *err) {
    if (WIFSIGNALED(ended))
        return error_set(
            err, STATUS_FAILED,
            "cannot compute: 'cuda': no GPU: CUDA crashed during the search for GPUs (%s)",
            strsignal(WTERMSIG(ended)));
    return error_set(
        err, STATUS_FAILED,
        "cannot compute: 'cuda': no GPU: CUDA terminated the process that searched for GPUs");
}

// Does not wait for the child: SIGKILL does not end a process that hangs in the driver.
static status report_timeout(pid_t child, int seconds, error *err) {
    kill(child, SIGKILL);
    (void)waitpid(child, NULL, WNOHANG);
    return error_set(err, STATUS_FAILED,
                     "cannot compute: 'cuda': no GPU: CUDA did not list the GPUs within %d s (set "
                     "LOCKSTEP_PROBE_SECONDS to wait longer)",
                     seconds);
}

// CUDA does not survive a fork, and train-ddp forks its ranks, so a short-lived child looks for
// GPUs.
static status probe_in_child(const char *path, report *r, error *err) {
    const int seconds = probe_seconds();
    int ends[2], ended = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_system(err, STATUS_FAILED, errno,
                            "cannot search for GPUs: cannot create a pipe");
    const pid_t child = fork();
    if (child == 0) run_child(ends[1], path);
    const int why = errno;
    close(ends[1]);
    const reading got = child > 0 ? read_all(ends[0], r, sizeof *r, seconds) : ENDED;
    close(ends[0]);
    if (child < 0)
        return error_system(err, STATUS_FAILED, why,
                            "cannot search for GPUs: cannot start a process");
    if (got == LATE) return report_timeout(child, seconds, err);
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR) continue;
    if (got == ENDED) return describe_end(ended, err);
    if (r->rc != STATUS_OK) {
        *err = r->err;
        return r->rc;
    }
    if (r->count > 0) return STATUS_OK;
    return error_set(err, STATUS_FAILED, "cannot compute: 'cuda': no GPU: CUDA found none");
}

static const device_info *find_gpu(const device_info *gpus, int count, int index) {
    for (int i = 0; i < count; i++)
        if (gpus[i].index == index) return &gpus[i];
    return NULL;
}

static status check_list(devices *d, const report *r, error *err) {
    const int known = r->count < DEVICES_MAX ? r->count : DEVICES_MAX;
    for (int i = 0; i < d->count; i++) {
        const int index = d->list[i].index;
        if (d->list[i].kind != DEVICE_CUDA) continue;
        const device_info *gpu = find_gpu(r->gpus, known, index);
        if (!gpu && r->count == 1)
            return error_set(err, STATUS_FAILED,
                             "cannot compute: 'cuda:%d': the only GPU is cuda:0", index);
        if (!gpu)
            return error_set(err, STATUS_FAILED,
                             "cannot compute: 'cuda:%d': this host has %d GPUs, cuda:0 to cuda:%d",
                             index, r->count, r->count - 1);
        if (!find_gpu(d->gpus, d->gpu_count, index)) d->gpus[d->gpu_count++] = *gpu;
    }
    return STATUS_OK;
}

// ---- Opening ----

static status open_gpus(devices *d, int world_size, const char *path, error *err) {
    report r;
    NEED(probe_in_child(path, &r, err));
    if (devices_have(d, DEVICE_AUTO)) {
        d->count = r.count < world_size ? r.count : world_size;
        if (d->count > DEVICES_MAX) d->count = DEVICES_MAX;
        for (int i = 0; i < d->count; i++) d->list[i] = (listed_device){DEVICE_CUDA, i};
    }
    NEED(check_list(d, &r, err));
    return open_library(path, &d->cuda, err);
}

static void take_cpu(devices *d) {
    *d = (devices){.count = 1, .list[0].kind = DEVICE_CPU, .exact = d->exact};
}

// CUDA's libraries are large, so they are opened only if there is a driver. A library that the
// environment names is always opened.
static bool may_have_gpu(void) {
    static const char *const drivers[] = {"/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-gpu"};
    if (getenv("LOCKSTEP_CUDA_LIBRARY")) return true;
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
        if (access(drivers[i], F_OK) == 0) return true;
    return false;
}

static void choose(devices *d, int world_size, const char *path, const logger *log) {
    error why = {0};
    char last[DEVICES_TEXT_BYTES];
    if (access(path, F_OK) != 0) {
        take_cpu(d);
        log_debug(log, "--device auto selects the cpu: this build has no CUDA backend");
    } else if (!may_have_gpu()) {
        take_cpu(d);
        log_debug(log, "--device auto selects the cpu: no GPU driver found");
    } else if (open_gpus(d, world_size, path, &why) != STATUS_OK) {
        take_cpu(d);
        log_info(log, "--device auto selects the cpu: %s", why.message);
    } else {
        devices_name(d, d->count - 1, last);
        log_info(log, "--device auto selects %s%s (%s)", d->count > 1 ? "cuda:0 to " : "", last,
                 d->gpus[0].name);
    }
}

status devices_open(devices *d, int world_size, const logger *log, error *err) {
    char *path = NULL;
    status rc = STATUS_OK;
    const bool is_auto = devices_have(d, DEVICE_AUTO);
    if (!is_auto && !devices_have(d, DEVICE_CUDA)) return rc;
    TRY(find_library(&path, err));
    if (is_auto)
        choose(d, world_size, path, log);
    else
        TRY(open_gpus(d, world_size, path, err));
out:
    free(path);
    return rc;
}

// ---- Monitoring the GPUs ----

status devices_watch(const devices *d, gpu_monitor **m, error *err) {
    int indices[DEVICES_MAX];
    for (int i = 0; i < d->gpu_count; i++) indices[i] = d->gpus[i].index;
    return d->cuda->monitor_start(indices, d->gpu_count, m, err);
}

void devices_unwatch(const devices *d, gpu_monitor *m, gpu_figures *figures) {
    if (m) d->cuda->monitor_stop(m, figures);
}
