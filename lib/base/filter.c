// SPDX-License-Identifier: MIT
#include "base/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/paths.h"

enum { EXIT_NOT_FOUND = 127 }; // exit code of a child that could not become the program (POSIX)

static const char *search_path(void) {
    const char *path = getenv("PATH");
    return path ? path : "/usr/bin:/bin";
}

// Returns 0, or why the file cannot be run.
static int look_at(const char *path) {
    if (paths_is_folder(path)) return EISDIR;
    return access(path, X_OK) == 0 ? 0 : errno;
}

int filter_search(const char *program) {
    int reason = ENOENT;
    if (strchr(program, '/')) return look_at(program);
    for (const char *part = search_path();; part++) {
        const size_t length = strcspn(part, ":");
        char *path = memory_format("%.*s%s%s", (int)length, part, length ? "/" : "./", program);
        const int own = look_at(path);
        free(path);
        if (!own) return 0;
        if (own != ENOENT && own != ENOTDIR) reason = own;
        part += length;
        if (!*part) return reason;
    }
}

bool filter_exists(const char *program) {
    return filter_search(program) == 0;
}

// ---- Files in memory: no pipe that could block or break ----

// Makes a file that holds `content`, ready to be read. Returns -1 on failure, with errno set.
static int memory_file(const char *content, size_t length) {
    int fd = memfd_create("lockstep-filter", MFD_CLOEXEC);
    if (fd < 0) return -1;
    for (size_t done = 0; done < length;) {
        ssize_t n = write(fd, content + done, length - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            const int reason = errno;
            close(fd);
            errno = reason;
            return -1;
        }
        done += (size_t)n;
    }
    if (lseek(fd, 0, SEEK_SET) == 0) return fd;
    close(fd);
    return -1;
}

static status read_back(int fd, const char *program, text *out, error *err) {
    if (lseek(fd, 0, SEEK_SET) == 0 && text_read(out, fd, SIZE_MAX)) return STATUS_OK;
    return error_system(err, STATUS_FAILED, errno, "cannot read from '%s'", program);
}

// ---- The program ----

// Returns 0 or an errno value.
static int spawn(char *const *arguments, int in, int out, pid_t *child) {
    char path_entry[4096];
    snprintf(path_entry, sizeof path_entry, "PATH=%s", search_path());
    char locale[] = "LC_ALL=C.UTF-8", date[] = "SOURCE_DATE_EPOCH=0";
    char *environment[] = {path_entry, locale, date, NULL};
    posix_spawn_file_actions_t actions;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure) return failure;
    failure = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    if (!failure) failure = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (!failure)
        failure =
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!failure)
        failure = posix_spawnp(child, arguments[0], &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}

// Waits until the program has ended. If that takes too long, kills it and returns false.
static bool wait_for(pid_t child, int seconds, int *state) {
    const uint64_t begin = clock_now(), limit = (uint64_t)seconds * 1000000000u;
    const struct timespec millisecond = {.tv_nsec = 1000000};
    for (;;) {
        const pid_t ended = waitpid(child, state, WNOHANG);
        if (ended == child) return true;
        if (ended < 0 && errno != EINTR) return true; // there is nothing to wait for
        if (clock_now() - begin > limit) break;
        (void)nanosleep(&millisecond, NULL);
    }
    (void)kill(child, SIGKILL);
    while (waitpid(child, state, 0) < 0 && errno == EINTR) continue;
    return false;
}

static status check_exit(const char *program, int state, error *err) {
    if (WIFSIGNALED(state))
        return error_set(err, STATUS_FAILED, "'%s' was killed by signal %d", program,
                         WTERMSIG(state));
    if (WEXITSTATUS(state))
        return error_set(err, STATUS_FAILED, "'%s' failed with exit code %d", program,
                         WEXITSTATUS(state));
    return STATUS_OK;
}

static status run(char *const *arguments, int in, int out, int seconds, bool *found, error *err) {
    pid_t child = -1;
    int state = 0;
    const int failure = spawn(arguments, in, out, &child);
    *found = failure != ENOENT;
    if (!*found) return STATUS_OK;
    if (failure)
        return error_system(err, STATUS_FAILED, failure, "cannot start program: '%s'",
                            arguments[0]);
    if (!wait_for(child, seconds, &state))
        return error_set(err, STATUS_FAILED, "'%s' took longer than %d s and was killed",
                         arguments[0], seconds);
    // Where the child runs in memory of its own, posix_spawn cannot report that there is no
    // program.
    if (WIFEXITED(state) && WEXITSTATUS(state) == EXIT_NOT_FOUND)
        *found = filter_exists(arguments[0]);
    return *found ? check_exit(arguments[0], state, err) : STATUS_OK;
}

status filter_run(char *const *arguments, const text *input, int seconds, text *output, bool *found,
                  error *err) {
    status rc = STATUS_OK;
    int in = -1, out = -1;
    *found = true;
    in = memory_file(text_string(input), input->length);
    out = memory_file("", 0);
    if (in < 0 || out < 0)
        TRY(error_system(err, STATUS_FAILED, errno, "cannot make a file for '%s'", arguments[0]));
    rc = run(arguments, in, out, seconds, found, err);
    if (*found) {
        error second;
        const bool ran = rc == STATUS_OK;
        const status read = read_back(out, arguments[0], output, ran ? err : &second);
        if (ran) rc = read;
    }
out:
    if (in >= 0) close(in);
    if (out >= 0) close(out);
    return rc;
}
