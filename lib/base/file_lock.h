// SPDX-License-Identifier: MIT
// file_lock.h - advisory locks on open files, which the kernel releases when the process ends,
// however it ends.
//
// It is flock or, on file systems without flock (Lustre mounted without it, some of FUSE), an fcntl
// lock of the open file description, which has the same owner and the same end. A file created with
// O_EXCL would work everywhere, but would stay locked after a crash.
#ifndef LOCKSTEP_BASE_FILE_LOCK_H
#define LOCKSTEP_BASE_FILE_LOCK_H

#include <stdbool.h>

typedef enum file_lock_result {
    FILE_LOCK_TAKEN,
    FILE_LOCK_HELD,   // by another process
    FILE_LOCK_ABSENT, // the file system has no locks: nobody can tell whether the file is in use
    FILE_LOCK_FAILED, // errno tells why
} file_lock_result;

// Locks the file until its description is closed, also in children. `wait`: until it can be locked.
file_lock_result file_lock(int fd, bool wait);

// Was the file removed before its lock was taken (output_folder.h)? Then the lock excludes nobody.
bool file_lock_is_gone(int fd);

#endif
