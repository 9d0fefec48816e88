// SPDX-License-Identifier: MIT
// output.h - files that appear whole or not at all.
//
// Bytes go to a file without a name (O_TMPFILE) or, on file systems that lack this, with a
// temporary name next to the final one. Commit makes them durable and then visible: fsync, link or
// rename, fsync of the folder. If the program is killed in between, nothing appears under the final
// name, and an older file stays as it was.
#ifndef LOCKSTEP_BASE_OUTPUT_H
#define LOCKSTEP_BASE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"

typedef struct output output;

// Opens `path` for writing; "-" is standard output, which commit only flushes. Folders must exist.
status output_open(const char *path, output **out, error *err) MUST_CHECK;

status output_write(output *o, const void *data, size_t bytes, error *err) MUST_CHECK;

// Return the bytes written so far, and their SHA-256 as 64 hexadecimal digits and a zero (valid
// after commit).
uint64_t output_bytes(const output *o);
const char *output_sha256(const output *o);

// Makes the file visible. Whether it succeeds or not, only output_free may follow.
status output_commit(output *o, error *err) MUST_CHECK;

// Frees the output. If it was not committed, nothing remains on disk. NULL is fine.
void output_free(output *o);

// Writes a whole small file in one call.
status output_write_file(const char *path, const void *data, size_t bytes, error *err) MUST_CHECK;

// Makes the folder and those above it. An empty name, and "-", which means standard output
// everywhere else, are STATUS_USAGE.
status output_make_folder(const char *path, error *err) MUST_CHECK;
// The same of the folder of a file.
status output_make_parent(const char *path, error *err) MUST_CHECK;

// Checks that output_make_folder could make the folder, that output_lock_folder could lock it once
// no other process does, and that files could be written there; if not, fails with STATUS_FAILED
// and the reason. Changes nothing.
status output_check_folder(const char *path, const logger *log, error *err) MUST_CHECK;
// Checks that the file could be written. Its folder must exist.
status output_check_file(const char *path, error *err) MUST_CHECK;

// Takes an advisory lock: one writer per folder. Fails with STATUS_FAILED, naming the folder, if
// another process holds the lock for longer than OUTPUT_LOCK_SECONDS; a process that was killed
// ends within that time. The lock file is `folder/.lock`; output_unlock_folder or the end of the
// process releases the lock. If the file system has no locks (file_lock.h), warns and goes on
// without one.
enum { OUTPUT_LOCK_SECONDS = 5 };
status output_lock_folder(const char *folder, const logger *log, int *lock, error *err) MUST_CHECK;
void output_unlock_folder(int lock);

#endif
