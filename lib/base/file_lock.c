// SPDX-License-Identifier: MIT
#include "base/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_absent(int reason) {
    return reason == ENOSYS || reason == ENOLCK || reason == EOPNOTSUPP;
}

// A file that is open only for reading can have no lock for writing, but one for reading excludes
// that of a writer, too.
static int lock_description(int fd, bool wait) {
    const int flags = fcntl(fd, F_GETFL);
    const bool reads = flags >= 0 && (flags & O_ACCMODE) == O_RDONLY;
    struct flock whole = {.l_type = reads ? F_RDLCK : F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &whole);
}

file_lock_result file_lock(int fd, bool wait) {
    int code;
    while ((code = flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB))) != 0 && errno == EINTR) continue;
    if (code != 0 && is_absent(errno)) {
        while ((code = lock_description(fd, wait)) != 0 && errno == EINTR) continue;
        // EINVAL: a kernel that does not know these locks.
        if (code != 0 && (is_absent(errno) || errno == EINVAL)) return FILE_LOCK_ABSENT;
    }
    if (code == 0) return FILE_LOCK_TAKEN;
    return errno == EAGAIN || errno == EACCES ? FILE_LOCK_HELD : FILE_LOCK_FAILED;
}

bool file_lock_is_gone(int fd) {
    struct stat info;
    return fstat(fd, &info) == 0 && info.st_nlink == 0;
}
