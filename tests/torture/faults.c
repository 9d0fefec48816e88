// SPDX-License-Identifier: MIT
// faults.c - a preloaded library that makes one call of a program fail, or kills it there.
//
// FAULT=KIND:N[:kill] in the environment: the N-th call of KIND (read, write, fsync, link, rename,
// open, close, fork, malloc) fails with a typical system error, or SIGKILL ends the process at this
// call. FAULT=space:BYTES: a disk with so much free space; every write after that fails with
// ENOSPC. FAULT_ONLY=PROGRAM: only processes of that name are affected; FAULT_RANK=N: of those only
// the rank that a launcher started as N. FAULT_OWN=1: only the calls of Lockstep itself fail and
// count, not those of its libraries: MPI hangs if its own fail. FAULT_COUNT=FILE: a process that
// ends appends its name and the number of its calls of each kind.
//
// Calls are counted from the library's constructor on, separately in each process. A forked child
// continues its parent's count.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

typedef enum kind { READ, WRITE, FSYNC, LINK, RENAME, OPEN, CLOSE, FORK, MALLOC, KINDS } kind;

static const char *const kind_names[KINDS] = {"read", "write", "fsync", "link",  "rename",
                                              "open", "close", "fork",  "malloc"};
static const int kind_errors[KINDS] = {EIO, ENOSPC, EIO, EIO, EIO, EMFILE, EIO, EAGAIN, ENOMEM};

// The state of the library, for the whole process.
static atomic_long calls[KINDS];
static atomic_llong room;
static kind faulty = KINDS;
static long faulty_call;
static bool armed, counting, by_kill, limited, own;

// The next definition of a function, looked up at its first call.
#define NEXT(name)                 \
    static __typeof__(name) *next; \
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name)

// Returns whether calls that return to `caller` fail and count.
static bool counts(const void *caller) {
    Dl_info in;
    return counting && (!own || !dladdr(caller, &in) || !in.dli_fname ||
                        strcmp(in.dli_fname, program_invocation_name) == 0 ||
                        strstr(in.dli_fname, "/lockstep-"));
}

// Counts a call, and returns whether it is the one that fails; sets errno if so.
static bool is_faulty(kind k) {
    long call = atomic_fetch_add(&calls[k], 1) + 1;
    if (!armed || k != faulty || call != faulty_call) return false;
    if (by_kill) kill(getpid(), SIGKILL);
    errno = kind_errors[k];
    return true;
}

// Returns whether there is no space for so many bytes. A write that does not fit is not done in
// part.
static bool is_full(size_t bytes) {
    if (!limited || atomic_fetch_sub(&room, (long long)bytes) >= (long long)bytes) return false;
    atomic_store(&room, 0);
    errno = ENOSPC;
    return true;
}

// Whether the call of the function that says so fails; of a write, also for want of space.
#define FAILS(k) (counts(__builtin_return_address(0)) && is_faulty(k))
#define WRITE_FAILS(bytes) \
    (counts(__builtin_return_address(0)) && (is_faulty(WRITE) || is_full(bytes)))

static void read_fault(const char *text) {
    char name[16] = "";
    int end = 0;
    long number = 0;
    if (sscanf(text, "%15[a-z]:%ld%n", name, &number, &end) != 2) return;
    by_kill = strcmp(text + end, ":kill") == 0;
    if (strcmp(name, "space") == 0) {
        atomic_store(&room, number);
        limited = true;
    }
    for (kind k = 0; k < KINDS; k++)
        if (strcmp(name, kind_names[k]) == 0) faulty = k;
    faulty_call = number;
    armed = faulty != KINDS;
}

__attribute__((constructor)) static void begin(void) {
    const char *only = getenv("FAULT_ONLY"), *fault = getenv("FAULT"), *rank = getenv("RANK");
    const char *only_rank = getenv("FAULT_RANK");
    if (!rank) rank = getenv("OMPI_COMM_WORLD_RANK");
    if (only && strcmp(only, program_invocation_short_name) != 0) return;
    if (only_rank && (!rank || strcmp(only_rank, rank) != 0)) return;
    if (fault) read_fault(fault);
    own = getenv("FAULT_OWN") != NULL;
    counting = true;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("FAULT_COUNT");
    if (!counting || !path) return;
    counting = limited = false;
    char line[512];
    int used = snprintf(line, sizeof line, "%s", program_invocation_short_name);
    for (kind k = 0; k < KINDS; k++)
        used += snprintf(line + used, sizeof line - (size_t)used, " %s=%ld", kind_names[k],
                         atomic_load(&calls[k]));
    line[used++] = '\n';
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) return;
    if (write(fd, line, (size_t)used) < 0) perror(path);
    close(fd);
}

// ---- Reading and writing ----

ssize_t read(int fd, void *data, size_t bytes) {
    NEXT(read);
    return FAILS(READ) ? -1 : next(fd, data, bytes);
}

ssize_t pread(int fd, void *data, size_t bytes, off_t at) {
    NEXT(pread);
    return FAILS(READ) ? -1 : next(fd, data, bytes, at);
}

ssize_t write(int fd, const void *data, size_t bytes) {
    NEXT(write);
    // Messages on standard error are no data: a full disk does not swallow them.
    return (fd != STDERR_FILENO && WRITE_FAILS(bytes)) ? -1 : next(fd, data, bytes);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at) {
    NEXT(pwrite);
    return WRITE_FAILS(bytes) ? -1 : next(fd, data, bytes, at);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    NEXT(writev);
    return FAILS(WRITE) ? -1 : next(fd, parts, count);
}

size_t fread(void *data, size_t size, size_t count, FILE *f) {
    NEXT(fread);
    if (!FAILS(READ)) return next(data, size, count, f);
    f->_flags |= 0x20; // _IO_ERR_SEEN of glibc: ferror() is true
    return 0;
}

char *fgets(char *text, int size, FILE *f) {
    NEXT(fgets);
    if (!FAILS(READ)) return next(text, size, f);
    f->_flags |= 0x20;
    return NULL;
}

size_t fwrite(const void *data, size_t size, size_t count, FILE *f) {
    NEXT(fwrite);
    if (f == stderr || !WRITE_FAILS(size * count)) return next(data, size, count, f);
    f->_flags |= 0x20;
    return 0;
}

int fflush(FILE *f) {
    NEXT(fflush);
    return f && f != stderr && FAILS(WRITE) ? EOF : next(f);
}

int ftruncate(int fd, off_t size) {
    NEXT(ftruncate);
    return FAILS(WRITE) ? -1 : next(fd, size);
}

int fsync(int fd) {
    NEXT(fsync);
    return FAILS(FSYNC) ? -1 : next(fd);
}

int fdatasync(int fd) {
    NEXT(fdatasync);
    return FAILS(FSYNC) ? -1 : next(fd);
}

// ---- Names ----

int link(const char *from, const char *to) {
    NEXT(link);
    return FAILS(LINK) ? -1 : next(from, to);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    NEXT(linkat);
    return FAILS(LINK) ? -1 : next(from_folder, from, to_folder, to, flags);
}

int symlink(const char *target, const char *name) {
    NEXT(symlink);
    return FAILS(LINK) ? -1 : next(target, name);
}

int rename(const char *from, const char *to) {
    NEXT(rename);
    return FAILS(RENAME) ? -1 : next(from, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    NEXT(renameat);
    return FAILS(RENAME) ? -1 : next(from_folder, from, to_folder, to);
}

// ---- Opening and closing ----

// The mode of a file that open may create.
#define MODE_OF(flags, mode)                                     \
    mode_t mode = 0;                                             \
    if (((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE) { \
        va_list args;                                            \
        va_start(args, flags);                                   \
        mode = va_arg(args, mode_t);                             \
        va_end(args);                                            \
    }

int open(const char *path, int flags, ...) {
    NEXT(open);
    MODE_OF(flags, mode)
    return FAILS(OPEN) ? -1 : next(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    NEXT(openat);
    MODE_OF(flags, mode)
    return FAILS(OPEN) ? -1 : next(folder, path, flags, mode);
}

FILE *fopen(const char *path, const char *mode) {
    NEXT(fopen);
    return FAILS(OPEN) ? NULL : next(path, mode);
}

DIR *opendir(const char *path) {
    NEXT(opendir);
    return FAILS(OPEN) ? NULL : next(path);
}

int memfd_create(const char *name, unsigned flags) {
    NEXT(memfd_create);
    return FAILS(OPEN) ? -1 : next(name, flags);
}

int pipe2(int ends[2], int flags) {
    NEXT(pipe2);
    return FAILS(OPEN) ? -1 : next(ends, flags);
}

// As on Linux, the descriptor is closed whatever close returns.
int close(int fd) {
    NEXT(close);
    bool failed = FAILS(CLOSE);
    int rc = next(fd);
    if (failed) errno = EIO;
    return failed ? -1 : rc;
}

int fclose(FILE *f) {
    NEXT(fclose);
    bool failed = FAILS(CLOSE);
    int rc = next(f);
    if (failed) errno = EIO;
    return failed ? EOF : rc;
}

// ---- Processes and threads ----

pid_t fork(void) {
    NEXT(fork);
    return FAILS(FORK) ? -1 : next();
}

int posix_spawnp(pid_t *child, const char *program, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const arguments[],
                 char *const environment[]) {
    NEXT(posix_spawnp);
    return FAILS(FORK) ? EAGAIN : next(child, program, actions, attributes, arguments, environment);
}

typedef void *thread_main(void *);
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, thread_main *main,
                   void *argument);
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, thread_main *main,
                   void *argument) {
    NEXT(pthread_create);
    return FAILS(FORK) ? EAGAIN : next(thread, attributes, main, argument);
}

// ---- Memory ----

// glibc's own names: dlsym itself allocates.
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes) {
    return FAILS(MALLOC) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t size) {
    return FAILS(MALLOC) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t bytes) {
    return FAILS(MALLOC) ? NULL : __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return FAILS(MALLOC) ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes) {
    if (FAILS(MALLOC)) return ENOMEM;
    *memory = __libc_memalign(alignment, bytes);
    return *memory ? 0 : ENOMEM;
}

void *mmap(void *where, size_t bytes, int protection, int flags, int fd, off_t at) {
    NEXT(mmap);
    return FAILS(MALLOC) ? MAP_FAILED : next(where, bytes, protection, flags, fd, at);
}
