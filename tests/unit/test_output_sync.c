// SPDX-License-Identifier: MIT
// Outputs on a failing disk: a file that could not be made durable does not appear.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"

#include "temporary_folder.h"

static bool folders_fail, files_fail;

// Replaces the C library's.
int fsync(int fd) {
    struct stat info;
    const bool is_folder = fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
    if (is_folder ? !folders_fail : !files_fail) return 0;
    errno = EIO;
    return -1;
}

static void assert_written(const char *name, const char *expected) {
    char content[32] = "";
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    content[fread(content, 1, sizeof content - 1, file)] = 0;
    fclose(file);
    assert_string_equal(content, expected);
}

static void assert_fails(const char *content) {
    error err = {0};
    assert_int_equal(output_write_file("file", content, strlen(content), &err), STATUS_FAILED);
    assert_string_equal(err.message, "cannot write: 'file': Input/output error");
}

static void a_failed_new_file_does_not_appear(void **state) {
    (void)state;
    folders_fail = true;
    assert_fails("new");
    folders_fail = false;
    assert_int_equal(access("file", F_OK), -1);
    files_fail = true;
    assert_fails("new");
    files_fail = false;
    assert_int_equal(access("file", F_OK), -1);
}

static void a_failed_replacement_leaves_a_whole_file(void **state) {
    (void)state;
    error err = {0};
    assert_int_equal(output_write_file("file", "old", 3, &err), STATUS_OK);
    files_fail = true;
    char real[FILE_PATH_SIZE + FOLDER_SIZE];
    assert_int_equal(output_write_file("file", "new", 3, &err), STATUS_FAILED);
    files_fail = false;
    assert_written("file", "old");
    folders_fail = true;
    assert_int_equal(output_write_file("file", "new", 3, &err), STATUS_FAILED);
    folders_fail = false;
    snprintf(real, sizeof real, "cannot write: '%s/file': Input/output error", folder);
    assert_string_equal(err.message, real);
    assert_written("file", "new");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_failed_new_file_does_not_appear),
        IN_FOLDER(a_failed_replacement_leaves_a_whole_file),
    };
    return cmocka_run_group_tests_name("output_sync", tests, NULL, NULL);
}
