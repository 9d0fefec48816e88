// SPDX-License-Identifier: MIT
// Memory and events that processes share, each in a nameless file (memfd). A handle names the
// process and its file, so nothing remains after the last process ends.
#include "ipc.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>

namespace emulation {

struct name {
    char magic[16];
    uint32_t host; // this_host() of the process
    pid_t process;
    int file;    // of that process
    ino_t inode; // to recognise that file
    size_t size; // of the memory
    int device;
};
static const char MAGIC[16] = "lockstep-ipc";

// How often this process has opened the memory, where it is mapped, and its file, which is locked
// as long as it is open, so that the owner does not free it.
struct opened {
    void *at;
    int times, file;
};
static std::map<ino_t, opened> memories;

static bool is_forbidden(const char *what) {
    const char *text = getenv("LOCKSTEP_EMULATED_IPC");
    return text && (strcmp(text, "none") == 0 || strcmp(text, what) == 0);
}

// ---- Handles ----

template <typename T> static cudaError_t write_name(int file, size_t size, int device, T *handle) {
    name n = {};
    struct stat info;
    static_assert(sizeof n <= sizeof *handle, "a handle has room for a name");
    if (is_forbidden("none")) return cudaErrorNotSupported;
    if (fstat(file, &info) != 0) return cudaErrorUnknown;
    memcpy(n.magic, MAGIC, sizeof MAGIC);
    n.host = this_host();
    n.process = getpid();
    n.file = file;
    n.inode = info.st_ino;
    n.size = size;
    n.device = device;
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &n, sizeof n);
    return cudaSuccess;
}

// A process opens neither its own handles nor those of another host.
template <typename T> static cudaError_t read_name(const T &handle, name *n) {
    memcpy(n, &handle, sizeof *n);
    if (memcmp(n->magic, MAGIC, sizeof MAGIC) != 0) return cudaErrorInvalidValue;
    if (is_forbidden("export")) return cudaErrorNotSupported;
    if (n->host != this_host()) return cudaErrorInvalidResourceHandle;
    return n->process == getpid() ? cudaErrorDeviceUninitialized : cudaSuccess;
}

// Leaves the file open.
static cudaError_t map_name(const name &n, void **at, int *file) {
    char path[64];
    struct stat info;
    const size_t room = whole_pages(n.size);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)n.process, n.file);
    *file = open(path, O_RDWR | O_CLOEXEC);
    *at = MAP_FAILED;
    if (*file < 0) return cudaErrorInvalidResourceHandle;
    if (fstat(*file, &info) == 0 && info.st_ino == n.inode)
        *at = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
    if (*at != MAP_FAILED) return cudaSuccess;
    close(*file);
    return cudaErrorInvalidResourceHandle;
}

// ---- Events ----

std::shared_ptr<shared_event> new_shared_event() {
    const int file = memfd_create("lockstep-event", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)whole_pages(sizeof(shared_event))) != 0) abort();
    void *at = mmap(nullptr, sizeof(shared_event), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) abort();
    shared_event *event = new (at) shared_event{};
    event->file = file;
    return {event, [](shared_event *e) {
                close(e->file);
                munmap(e, sizeof *e);
            }};
}

cudaError_t name_event(const shared_event &event, cudaIpcEventHandle_t *handle) {
    return write_name(event.file, sizeof event, 0, handle);
}

cudaError_t find_event(const cudaIpcEventHandle_t &handle, std::shared_ptr<shared_event> *event) {
    name n;
    void *at;
    int file;
    cudaError_t result = read_name(handle, &n);
    if (result == cudaSuccess) result = map_name(n, &at, &file);
    if (result != cudaSuccess) return result;
    close(file);
    *event = {(shared_event *)at, [](shared_event *e) { munmap(e, sizeof *e); }};
    return cudaSuccess;
}

// ---- Memory ----

static cudaError_t open_memory(const name &n, void **pointer) {
    opened &o = memories[n.inode];
    if (o.times == 0) {
        const cudaError_t result = map_name(n, &o.at, &o.file);
        if (result != cudaSuccess) {
            memories.erase(n.inode);
            return result;
        }
        (void)flock(o.file, LOCK_SH);
        add_foreign(o.at, n.size, n.device);
    }
    o.times++;
    *pointer = o.at;
    return cudaSuccess;
}

static cudaError_t close_memory(void *pointer) {
    size_t size;
    auto found = memories.begin();
    while (found != memories.end() && found->second.at != pointer) ++found;
    if (found == memories.end()) return cudaErrorInvalidValue;
    if (--found->second.times > 0) return cudaSuccess;
    close(found->second.file);
    memories.erase(found);
    const cudaError_t result = remove_foreign(pointer, &size);
    if (result == cudaSuccess) munmap(pointer, whole_pages(size));
    return result;
}

} // namespace emulation

using namespace emulation;

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer) {
    hold lock(everything);
    int file, device;
    size_t size;
    if (is_forbidden("none")) return done(cudaErrorNotSupported);
    cudaError_t result = allowed_now();
    if (result == cudaSuccess) result = share_memory(pointer, &file, &size, &device);
    if (result == cudaSuccess) result = write_name(file, size, device, handle);
    return done(result);
}

cudaError_t cudaIpcOpenMemHandle(void **pointer, cudaIpcMemHandle_t handle, unsigned flags) {
    hold lock(everything);
    name n;
    int device;
    cudaError_t result =
        flags == cudaIpcMemLazyEnablePeerAccess ? cudaSuccess : cudaErrorInvalidValue;
    if (result == cudaSuccess) result = current_device(&device);
    if (result == cudaSuccess) result = allowed_now();
    if (result == cudaSuccess) result = read_name(handle, &n);
    if (result == cudaSuccess) result = open_memory(n, pointer);
    return done(result);
}

cudaError_t cudaIpcCloseMemHandle(void *pointer) {
    hold lock(everything);
    cudaError_t result = allowed_now();
    if (result == cudaSuccess) result = finish_all();
    if (result == cudaSuccess) result = close_memory(pointer);
    return done(result);
}
