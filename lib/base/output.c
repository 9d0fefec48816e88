// SPDX-License-Identifier: MIT
#include "base/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/file_lock.h"
#include "base/memory.h"
#include "base/paths.h"
#include "base/sha256.h"

enum { BUFFER_BYTES = 1 << 16, LOCK_PAUSE_MS = 50 };
// The names of files in a folder, with those of subfolders and of temporary files, are shorter.
enum { LONGEST_FILE = 96 };

struct output {
    int fd;
    bool direct;     // a stream or a device: written in place, nothing to rename
    char *path;      // final name, links resolved; for messages too
    char *folder;    // that holds it
    char *temporary; // name next to the final one; NULL while the file has no name
    bool fresh;      // no file had the final name when this one got it
    unsigned char *buffer;
    size_t used;
    uint64_t bytes;
    sha256 *hash;
    char sha256[SHA256_TEXT_BYTES];
};

static status failed(const output *o, int errnum, error *err) {
    return error_system(err, STATUS_FAILED, errnum, "cannot write: '%s'", o->path);
}

// ---- Temporary names: ".NAME.RANDOM.tmp", next to the final one ----

enum { RANDOM_DIGITS = 16 };
static const char TEMPORARY[] = ".tmp";

static bool unlink_at_death(void *temporary, const char *message) {
    (void)message;
    (void)unlink(temporary);
    return false;
}

static void forget_temporary(output *o) {
    if (o->temporary) memory_forget(unlink_at_death, o->temporary);
    free(o->temporary);
    o->temporary = NULL;
}

static status new_temporary_name(output *o, error *err) {
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) < 0) return failed(o, errno, err);
    forget_temporary(o);
    o->temporary = memory_format("%s/.%s.%0*llx%s", o->folder, paths_name(o->path), RANDOM_DIGITS,
                                 (unsigned long long)number, TEMPORARY);
    memory_at_death(unlink_at_death, o->temporary);
    return STATUS_OK;
}

// Returns whether `name` is a temporary name of the file `base`.
static bool is_temporary(const char *name, const char *base) {
    const size_t length = strlen(base);
    if (name[0] != '.' || strncmp(name + 1, base, length) != 0 || name[1 + length] != '.')
        return false;
    const char *digits = name + 2 + length;
    return strspn(digits, "0123456789abcdef") == RANDOM_DIGITS &&
           strcmp(digits + RANDOM_DIGITS, TEMPORARY) == 0;
}

// The writer of a temporary file holds its lock until it ends, however it ends.
static void remove_unlocked(int folder, const char *name) {
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    if (file_lock(fd, false) == FILE_LOCK_TAKEN) (void)unlinkat(folder, name, 0);
    close(fd);
}

// A writer that was killed after its file got a temporary name, and before it got the final one,
// left the file behind.
static void remove_leftovers(const output *o) {
    DIR *folder = opendir(o->folder);
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        if (is_temporary(entry->d_name, paths_name(o->path)))
            remove_unlocked(dirfd(folder), entry->d_name);
    if (folder) closedir(folder);
}

// Returns false if another process removed the file as a leftover before it was locked.
static bool lock_temporary(const output *o) {
    struct stat info;
    (void)file_lock(o->fd, false); // without locks, a leftover is never removed
    return fstat(o->fd, &info) == 0 && info.st_nlink > 0;
}

static status open_named(output *o, error *err) {
    for (;;) {
        NEED(new_temporary_name(o, err));
        o->fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (o->fd < 0 && errno != EEXIST) break;
        if (o->fd >= 0 && lock_temporary(o)) break;
        if (o->fd >= 0) close(o->fd);
    }
    if (o->fd >= 0) return STATUS_OK;
    int reason = errno;
    forget_temporary(o);
    return failed(o, reason, err);
}

// Without /proc an ordinary user cannot give a name to a file that has none.
static bool can_name_later(void) {
    return access("/proc/self/fd", X_OK) == 0;
}

static status open_file(output *o, error *err) {
    o->folder = paths_folder(o->path);
    remove_leftovers(o);
    if (can_name_later()) o->fd = open(o->folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (o->fd < 0) return open_named(o, err);
    (void)file_lock(o->fd, false);
    return STATUS_OK;
}

// Finds out what `path` is: a stream, a device or a pipe to write to in place, or a file to
// replace.
static status open_target(output *o, const char *path, error *err) {
    struct stat info;
    bool exists = stat(path, &info) == 0;
    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0) {
        o->direct = true;
        o->path = memory_string("standard output");
        o->fd = dup(STDOUT_FILENO);
        return o->fd >= 0 ? STATUS_OK : failed(o, errno, err);
    }
    if (exists && S_ISREG(info.st_mode)) { // write what a link points to; keep the link
        o->path = realpath(path, NULL);
        if (!o->path) return error_system(err, STATUS_FAILED, errno, "cannot write: '%s'", path);
        return open_file(o, err);
    }
    o->path = memory_string(path);
    size_t length = strlen(path);
    if ((exists && S_ISDIR(info.st_mode)) || (length && path[length - 1] == '/'))
        return failed(o, EISDIR, err);
    if (!length) return failed(o, ENOENT, err);
    if (!exists) return open_file(o, err);
    o->direct = true;
    o->fd = open(path, O_WRONLY | O_CLOEXEC);
    return o->fd >= 0 ? STATUS_OK : failed(o, errno, err);
}

status output_open(const char *path, output **out, error *err) {
    status rc = STATUS_OK;
    *out = NULL;
    output *o = memory_new(1, sizeof *o);
    o->fd = -1;
    TRY(open_target(o, path, err));
    o->hash = sha256_new();
    o->buffer = memory_new(BUFFER_BYTES, 1);
    *out = o;
    o = NULL;
out:
    output_free(o);
    return rc;
}

static status write_all(output *o, const unsigned char *data, size_t bytes, error *err) {
    sha256_update(o->hash, data, bytes);
    while (bytes) {
        ssize_t wrote = write(o->fd, data, bytes);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return failed(o, errno, err);
        data += wrote;
        bytes -= (size_t)wrote;
    }
    return STATUS_OK;
}

static status flush(output *o, error *err) {
    size_t used = o->used;
    o->used = 0;
    return write_all(o, o->buffer, used, err);
}

status output_write(output *o, const void *data, size_t bytes, error *err) {
    o->bytes += bytes;
    if (bytes > BUFFER_BYTES - o->used) {
        NEED(flush(o, err));
        if (bytes >= BUFFER_BYTES) return write_all(o, data, bytes, err);
    }
    if (bytes) memcpy(o->buffer + o->used, data, bytes);
    o->used += bytes;
    return STATUS_OK;
}

uint64_t output_bytes(const output *o) {
    return o->bytes;
}

const char *output_sha256(const output *o) {
    return o->sha256;
}

// Gives the file that has no name yet the name `name`. Returns 0 or an errno value.
static int give_name(const output *o, const char *name) {
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", o->fd);
    return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) ? errno : 0;
}

// linkat never replaces a file, rename does: an older file is replaced through a temporary name.
static status publish(output *o, error *err) {
    if (!o->temporary) {
        int reason = give_name(o, o->path);
        o->fresh = !reason;
        if (reason != EEXIST) return reason ? failed(o, reason, err) : STATUS_OK;
        NEED(new_temporary_name(o, err));
        reason = give_name(o, o->temporary);
        if (reason) {
            forget_temporary(o);
            return failed(o, reason, err);
        }
    }
    if (rename(o->temporary, o->path)) return failed(o, errno, err);
    forget_temporary(o);
    return STATUS_OK;
}

static status sync_folder(const output *o, error *err) {
    int folder = open(o->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return STATUS_OK; // a folder may be writable and not readable
    int reason = fsync(folder) ? errno : 0;
    close(folder);
    // Some network file systems cannot sync folders and return EINVAL.
    if (!reason || reason == EINVAL) return STATUS_OK;
    // A file whose commit failed is removed; otherwise a manifest could stay whose outputs the
    // caller removes. A file that replaced an older one stays, because the old one is gone.
    if (o->fresh) (void)unlink(o->path);
    return failed(o, reason, err);
}

status output_commit(output *o, error *err) {
    NEED(flush(o, err));
    sha256_finish(o->hash, o->sha256);
    if (!o->direct && fsync(o->fd)) NEED(failed(o, errno, err));
    if (!o->direct) NEED(publish(o, err));
    int fd = o->fd;
    o->fd = -1;
    // A file that fsync wrote is whole, whatever close reports; it has its name by now.
    if (close(fd) && o->direct) NEED(failed(o, errno, err));
    if (!o->direct) NEED(sync_folder(o, err));
    return STATUS_OK;
}

void output_free(output *o) {
    if (!o) return;
    if (o->fd >= 0) close(o->fd);
    if (o->temporary) unlink(o->temporary);
    forget_temporary(o);
    sha256_free(o->hash);
    free(o->path);
    free(o->folder);
    free(o->buffer);
    free(o);
}

status output_write_file(const char *path, const void *data, size_t bytes, error *err) {
    status rc = STATUS_OK;
    output *o = NULL;
    TRY(output_open(path, &o, err));
    TRY(output_write(o, data, bytes, err));
    TRY(output_commit(o, err));
out:
    output_free(o);
    return rc;
}

static status make_one_folder(const char *path, error *err) {
    if (mkdir(path, 0777) == 0) return STATUS_OK;
    int reason = errno;
    struct stat info;
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) return STATUS_OK;
        reason = ENOTDIR;
    }
    return error_system(err, STATUS_FAILED, reason, "cannot make folder: '%s'", path);
}

status output_make_folder(const char *path, error *err) {
    if (!*path || strcmp(path, "-") == 0)
        return error_set(err, STATUS_USAGE, "cannot make folder: '%s': expected a folder name",
                         path);
    char *copy = memory_string(path);
    status rc = STATUS_OK;
    for (char *end = copy + (*copy == '/'); rc == STATUS_OK; *end++ = '/') {
        end = strchrnul(end, '/');
        bool last = *end == '\0';
        *end = '\0';
        rc = make_one_folder(copy, err);
        if (last) break;
        while (end[1] == '/') *end++ = '/';
        if (end[1] == '\0') break;
    }
    free(copy);
    return rc;
}

status output_make_parent(const char *path, error *err) {
    char *folder = paths_folder(path);
    const status rc = output_make_folder(folder, err);
    free(folder);
    return rc;
}

// ---- Locks ----

static void warn_unlocked(const char *folder, const logger *log) {
    log_warn(log,
             "cannot lock folder: '%s': its file system has no locks: nothing stops a second "
             "command from writing there at the same time",
             folder);
}

// Takes the lock. A process that was killed holds its lock until the kernel has cleaned up after it
// and its children, which takes longest if it had much memory or a GPU. So a lock that is held is
// tried again for some time.
static file_lock_result take_lock(int fd) {
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * 1000000L};
    file_lock_result result;
    for (int waited = 0; (result = file_lock(fd, false)) == FILE_LOCK_HELD;) {
        if (waited >= OUTPUT_LOCK_SECONDS * 1000) break;
        (void)nanosleep(&pause, NULL);
        waited += LOCK_PAUSE_MS;
    }
    return result;
}

status output_lock_folder(const char *folder, const logger *log, int *lock, error *err) {
    *lock = -1;
    char *path = memory_format("%s/.lock", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    file_lock_result result = fd < 0 ? FILE_LOCK_FAILED : take_lock(fd);
    int reason = errno;
    if (result == FILE_LOCK_TAKEN && file_lock_is_gone(fd)) {
        close(fd);
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        result = fd < 0 ? FILE_LOCK_FAILED : take_lock(fd);
        reason = errno;
    }
    free(path);
    if (result == FILE_LOCK_ABSENT) warn_unlocked(folder, log);
    if (result == FILE_LOCK_TAKEN || result == FILE_LOCK_ABSENT) {
        *lock = fd;
        return STATUS_OK;
    }
    if (fd >= 0) close(fd);
    if (result == FILE_LOCK_HELD)
        return error_set(err, STATUS_FAILED,
                         "cannot lock folder: '%s': another process holds the lock", folder);
    return error_system(err, STATUS_FAILED, reason, "cannot lock folder: '%s'", folder);
}

void output_unlock_folder(int lock) {
    if (lock >= 0) close(lock);
}

// Could output_lock_folder lock the folder or, if it is not `made`, one in it? Where there is no
// lock file yet, a lock of the folder itself, for a moment, tells whether the file system has any.
static status check_lock(const char *folder, bool made, const logger *log, error *err) {
    char *path = memory_format("%s/.lock", folder);
    int fd = made ? open(path, O_RDWR | O_CLOEXEC) : -1;
    const int reason = made && fd < 0 ? errno : 0;
    free(path);
    if (reason && reason != ENOENT)
        return error_system(err, STATUS_FAILED, reason, "cannot lock folder: '%s'", folder);
    if (fd < 0) fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && file_lock(fd, false) == FILE_LOCK_ABSENT) warn_unlocked(folder, log);
    if (fd >= 0) close(fd);
    return STATUS_OK;
}

// ---- Checks beforehand ----

// A file system that is full, or has no more files. Some blocks are left to root alone.
static bool is_full(const char *folder) {
    struct statvfs info;
    return statvfs(folder, &info) == 0 && info.f_blocks &&
           (!(geteuid() ? info.f_bavail : info.f_bfree) || (info.f_files && !info.f_ffree));
}

static status check_writable(const char *folder, const char *what, const char *path, error *err) {
    struct stat info;
    int reason = 0;
    if (stat(folder, &info) != 0)
        reason = errno;
    else if (!S_ISDIR(info.st_mode))
        reason = ENOTDIR;
    else if (access(folder, W_OK | X_OK) != 0)
        reason = errno;
    else if (is_full(folder))
        reason = ENOSPC;
    return reason ? error_system(err, STATUS_FAILED, reason, "%s: '%s'", what, path) : STATUS_OK;
}

// Removes the last name; the way up always ends at "." or "/".
static void go_up(char *path) {
    char *slash = strrchr(path, '/');
    if (!slash)
        memcpy(path, ".", sizeof ".");
    else
        slash[slash == path] = '\0';
}

// Can these names be made in the folder `there`, and files in the last of them? The kernel reports
// a name that is too long only once the folder above it exists.
static bool are_short(const char *names, const char *there) {
    const long most = pathconf(there, _PC_NAME_MAX);
    for (const char *at = names; *at; at += strspn(at, "/")) {
        const size_t length = strcspn(at, "/");
        if (most > 0 && length > (size_t)most) return false;
        at += length;
    }
    return true;
}

status output_check_folder(const char *path, const logger *log, error *err) {
    struct stat info;
    if (!*path || strcmp(path, "-") == 0)
        return error_set(err, STATUS_USAGE, "cannot make folder: '%s': expected a folder name",
                         path);
    char *there = memory_string(path);
    while (stat(there, &info) != 0 && errno == ENOENT && strcmp(there, ".") != 0 &&
           strcmp(there, "/") != 0)
        go_up(there);
    const bool is_there = strcmp(there, path) == 0;
    const char *names = path + (strcmp(there, ".") == 0 ? 0 : strlen(there));
    status rc = check_writable(there, "cannot make folder", path, err);
    if (rc == STATUS_OK &&
        (strlen(path) + LONGEST_FILE >= PATH_MAX || (!is_there && !are_short(names, there))))
        rc = error_system(err, STATUS_FAILED, ENAMETOOLONG, "cannot make folder: '%s'", path);
    if (rc == STATUS_OK) rc = check_lock(there, is_there, log, err);
    free(there);
    return rc;
}

status output_check_file(const char *path, error *err) {
    struct stat info;
    if (strcmp(path, "-") == 0) return STATUS_OK;
    int reason = stat(path, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : 0;
    if (!reason && !S_ISREG(info.st_mode)) {
        // A device or a pipe is written in place, whoever may write in its folder.
        if (access(path, W_OK) == 0) return STATUS_OK;
        reason = errno;
    }
    if (reason && reason != ENOENT)
        return error_system(err, STATUS_FAILED, reason, "cannot write: '%s'", path);
    char *target = realpath(path, NULL); // a link stays, and what it points to is replaced
    char *folder = paths_folder(target ? target : path);
    status rc = check_writable(folder, "cannot write", path, err);
    free(folder);
    free(target);
    return rc;
}
