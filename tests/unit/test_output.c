// SPDX-License-Identifier: MIT
// Outputs appear whole or not at all.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/output.h"
#include "base/output_folder.h"
#include "base/sha256.h"

#include "temporary_folder.h"

// Counts the entries of the current folder.
static int entries(void) {
    DIR *d = opendir(".");
    assert_non_null(d);
    int count = 0;
    while (readdir(d)) count++;
    closedir(d);
    return count - 2;
}

static void assert_content(const char *path, const char *expected) {
    char text[256] = "";
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    assert_string_equal(text, expected);
}

static void test_commit(void **state) {
    (void)state;
    error err = {0};
    output *o;
    assert_int_equal(output_open("file", &o, &err), STATUS_OK);
    assert_int_equal(output_write(o, "line 1\n", 7, &err), STATUS_OK);
    assert_int_equal(output_write(o, "end", 3, &err), STATUS_OK);
    assert_int_equal(access("file", F_OK), -1); // not before commit
    assert_int_equal(output_commit(o, &err), STATUS_OK);
    assert_content("file", "line 1\nend");
    char text[SHA256_TEXT_BYTES];
    assert_int_equal(sha256_file("file", text, &err), STATUS_OK);
    assert_string_equal(output_sha256(o), text);
    assert_int_equal(output_bytes(o), 10);
    output_free(o);
    assert_int_equal(entries(), 1);
    struct stat info;
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(stat("file", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0666 & ~mask);
}

static void test_abandon(void **state) {
    (void)state;
    error err = {0};
    output *o;
    assert_int_equal(output_write_file("file", "old", 3, &err), STATUS_OK);
    assert_int_equal(output_open("file", &o, &err), STATUS_OK);
    assert_int_equal(output_write(o, "new", 3, &err), STATUS_OK);
    output_free(o);
    assert_content("file", "old");
    assert_int_equal(entries(), 1);
    output_free(NULL);
}

static void test_replace(void **state) {
    (void)state;
    error err = {0};
    assert_int_equal(output_write_file("file", "old and long", 12, &err), STATUS_OK);
    assert_int_equal(chmod("file", 0444), 0);
    int reader = open("file", O_RDONLY);
    assert_int_equal(output_write_file("file", "new", 3, &err), STATUS_OK);
    assert_content("file", "new");
    char text[16] = "";
    assert_int_equal(read(reader, text, sizeof text), 12); // a reader keeps the old file
    close(reader);
    assert_int_equal(entries(), 1);
}

static void test_large(void **state) {
    (void)state;
    error err = {0};
    output *o;
    char text[SHA256_TEXT_BYTES];
    static unsigned char block[300001];
    for (size_t i = 0; i < sizeof block; i++) block[i] = (unsigned char)(i * 7 % 251);
    assert_int_equal(output_open("file", &o, &err), STATUS_OK);
    for (size_t at = 0, n = 1; at < sizeof block; at += n, n = n * 3 + 1) {
        if (n > sizeof block - at) n = sizeof block - at;
        assert_int_equal(output_write(o, block + at, n, &err), STATUS_OK);
    }
    assert_int_equal(output_commit(o, &err), STATUS_OK);
    sha256_buffer(block, sizeof block, text);
    assert_string_equal(output_sha256(o), text);
    assert_int_equal(sha256_file("file", text, &err), STATUS_OK);
    assert_string_equal(output_sha256(o), text);
    output_free(o);
}

static void test_refusals(void **state) {
    (void)state;
    error err = {0};
    output *o;
    assert_int_equal(output_open("absent/file", &o, &err), STATUS_FAILED);
    assert_null(o);
    assert_string_equal(err.message, "cannot write: 'absent/file': No such file or directory");
    assert_int_equal(output_open(".", &o, &err), STATUS_FAILED);
    assert_string_equal(err.message, "cannot write: '.': Is a directory");
    assert_int_equal(output_open("", &o, &err), STATUS_FAILED);
    assert_int_equal(output_open("name/", &o, &err), STATUS_FAILED);
    assert_int_equal(output_open("/sys/file", &o, &err), STATUS_FAILED); // read-only, also for root
    assert_int_equal(output_write_file("/dev/full", "x", 1, &err), STATUS_FAILED);
    assert_string_equal(err.message, "cannot write: '/dev/full': No space left on device");
    assert_int_equal(entries(), 0);
}

static void test_streams(void **state) {
    (void)state;
    error err = {0};
    assert_int_equal(mkfifo("pipe", 0600), 0);
    int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    assert_int_equal(output_write_file("pipe", "through", 7, &err), STATUS_OK);
    char text[16] = "";
    assert_int_equal(read(reader, text, sizeof text), 7);
    assert_string_equal(text, "through");
    close(reader);
    struct stat info;
    assert_int_equal(stat("pipe", &info), 0);
    assert_true(S_ISFIFO(info.st_mode)); // written to, not replaced
}

// An unlocked temporary file is left over from a writer that was killed; a locked one is being
// written.
static void test_leftovers(void **state) {
    (void)state;
    error err = {0};
    static const char stale[] = ".file.0123456789abcdef.tmp", used[] = ".file.fedcba9876543210.tmp",
                      others[] = ".file2.0123456789abcdef.tmp", own[] = ".file.notes.tmp";
    const char *const names[] = {stale, used, others, own};
    for (size_t i = 0; i < 4; i++) close(open(names[i], O_WRONLY | O_CREAT, 0666));
    const int held = open(used, O_RDONLY);
    assert_int_equal(flock(held, LOCK_EX), 0);
    assert_int_equal(output_write_file("file", "new", 3, &err), STATUS_OK);
    assert_int_equal(output_write_file("./file", "newer", 5, &err), STATUS_OK);
    assert_content("file", "newer");
    assert_int_equal(access(stale, F_OK), -1);
    assert_int_equal(access(used, F_OK), 0);
    assert_int_equal(access(others, F_OK), 0);
    assert_int_equal(access(own, F_OK), 0);
    close(held);
    assert_int_equal(output_write_file("file", "last", 4, &err), STATUS_OK);
    assert_int_equal(access(used, F_OK), -1);
    assert_int_equal(entries(), 3);
}

static void test_make_folder(void **state) {
    (void)state;
    error err = {0};
    const char *const paths[] = {"a", "a", "a/b/c", "./d//e/", "/", "a/../f"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_int_equal(output_make_folder(paths[i], &err), STATUS_OK);
    struct stat info;
    assert_int_equal(stat("a/b/c", &info), 0);
    assert_int_equal(stat("d/e", &info), 0);
    assert_int_equal(stat("f", &info), 0);
    assert_int_equal(output_write_file("file", "", 0, &err), STATUS_OK);
    assert_int_equal(output_make_folder("file", &err), STATUS_FAILED);
    assert_int_equal(output_make_folder("file/x", &err), STATUS_FAILED);
    assert_string_equal(err.message, "cannot make folder: 'file': Not a directory");
}

static void test_lock(void **state) {
    (void)state;
    error err = {0};
    int lock, second;
    assert_int_equal(output_lock_folder(".", NULL, &lock, &err), STATUS_OK);
    assert_int_equal(output_lock_folder(".", NULL, &second, &err), STATUS_FAILED);
    assert_non_null(strstr(err.message, "another process holds the lock"));
    assert_int_equal(second, -1);
    output_unlock_folder(lock);
    output_unlock_folder(-1);
    assert_int_equal(output_lock_folder(".", NULL, &lock, &err), STATUS_OK);
    output_unlock_folder(lock);
    assert_int_equal(output_lock_folder("absent", NULL, &lock, &err), STATUS_FAILED);
}

static bool is_there(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

// After a failure nothing is left of the folders that were made, unless something is in them.
static void test_folder_of_a_failure(void **state) {
    (void)state;
    error err = {0};
    output_folder f;
    assert_int_equal(output_folder_open("new/er/one/", NULL, &f, &err), STATUS_OK);
    assert_true(is_there("new/er/one/.lock"));
    output_folder_close(&f, STATUS_INPUT);
    output_folder_close(&f, STATUS_INPUT); // closed
    assert_false(is_there("new"));
    assert_int_equal(mkdir("own", 0777), 0);
    assert_int_equal(output_folder_open("own/one", NULL, &f, &err), STATUS_OK);
    output_folder_close(&f, STATUS_INPUT);
    assert_true(is_there("own") && !is_there("own/one"));
    assert_int_equal(output_folder_open("own", NULL, &f, &err), STATUS_OK);
    output_folder_close(&f, STATUS_INPUT);
    assert_true(is_there("own")); // it is the user's
    assert_int_equal(output_folder_open("full/one", NULL, &f, &err), STATUS_OK);
    assert_int_equal(output_write_file("full/one/x", "", 0, &err), STATUS_OK);
    output_folder_close(&f, STATUS_FAILED);
    assert_true(is_there("full/one/x") && is_there("full/one/.lock"));
    assert_int_equal(output_folder_open("done", NULL, &f, &err), STATUS_OK);
    output_folder_close(&f, STATUS_OK);
    assert_true(is_there("done/.lock"));
    assert_int_equal(output_write_file("plain", "", 0, &err), STATUS_OK);
    assert_int_equal(output_folder_open("plain/x", NULL, &f, &err), STATUS_FAILED);
    output_folder_close(&f, STATUS_FAILED);
}

// A process that waited for the lock of a folder that is removed meanwhile makes it again.
static void test_lock_of_a_folder_that_goes(void **state) {
    (void)state;
    error err = {0};
    output_folder f;
    int held[2];
    char byte;
    assert_int_equal(pipe(held), 0);
    const pid_t holder = fork();
    if (holder == 0) {
        if (output_folder_open("going/one", NULL, &f, NULL) != STATUS_OK ||
            write(held[1], "", 1) != 1)
            _exit(1);
        usleep(300000);
        output_folder_close(&f, STATUS_INPUT);
        _exit(0);
    }
    assert_int_equal(read(held[0], &byte, 1), 1);
    if (output_folder_open("going/one", NULL, &f, &err) != STATUS_OK) fail_msg("%s", err.message);
    assert_true(is_there("going/one/.lock"));
    output_folder_close(&f, STATUS_OK);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    close(held[0]);
    close(held[1]);
}

// A killed process's locks are free only after the kernel has released them.
static void test_lock_of_a_process_that_ends(void **state) {
    (void)state;
    error err = {0};
    int held[2], lock;
    char byte;
    assert_int_equal(pipe(held), 0);
    const pid_t holder = fork();
    if (holder == 0) {
        if (output_lock_folder(".", NULL, &lock, NULL) != STATUS_OK || write(held[1], "", 1) != 1)
            _exit(1);
        usleep(500000);
        _exit(0);
    }
    assert_int_equal(read(held[0], &byte, 1), 1);
    if (output_lock_folder(".", NULL, &lock, &err) != STATUS_OK) fail_msg("%s", err.message);
    output_unlock_folder(lock);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    close(held[0]);
    close(held[1]);
}

// A process that is killed while it writes leaves nothing behind.
static void test_killed(void **state) {
    (void)state;
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        output *o;
        if (output_open("file", &o, NULL) != STATUS_OK) _exit(1);
        if (output_write(o, "half", 4, NULL) != STATUS_OK || write(ready[1], "", 1) != 1) _exit(1);
        pause();
    }
    char byte;
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(access("file", F_OK), -1);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_commit),
        IN_FOLDER(test_abandon),
        IN_FOLDER(test_replace),
        IN_FOLDER(test_large),
        IN_FOLDER(test_refusals),
        IN_FOLDER(test_streams),
        IN_FOLDER(test_make_folder),
        IN_FOLDER(test_lock),
        IN_FOLDER(test_folder_of_a_failure),
        IN_FOLDER(test_lock_of_a_folder_that_goes),
        IN_FOLDER(test_lock_of_a_process_that_ends),
        IN_FOLDER(test_killed),
        IN_FOLDER(test_leftovers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
