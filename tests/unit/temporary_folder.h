// SPDX-License-Identifier: MIT
// temporary_folder.h - for tests with files: a separate folder for each test program, below
// $TMPDIR.
#ifndef LOCKSTEP_TESTS_TEMPORARY_FOLDER_H
#define LOCKSTEP_TESTS_TEMPORARY_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"

// Its path; paths of files in it fit in FILE_PATH_SIZE.
enum { FOLDER_SIZE = 128, FILE_PATH_SIZE = FOLDER_SIZE + 64 };
static char folder[FOLDER_SIZE];

// Fixtures for cmocka, before and after a test or a group. enter_folder also makes it the current
// folder.
static inline int make_folder(void **state) {
    (void)state;
    const char *above = getenv("TMPDIR");
    const int length =
        snprintf(folder, sizeof folder, "%s/lockstep-test.XXXXXX", above ? above : "/tmp");
    return length < (int)sizeof folder && mkdtemp(folder) ? 0 : -1;
}

static inline int enter_folder(void **state) {
    return make_folder(state) || chdir(folder);
}

static inline int remove_folder(void **state) {
    (void)state;
    char command[FOLDER_SIZE + 16];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return chdir("/") || system(command);
}

// Writes text to the file of that name in the folder, creating a subfolder if needed, or to an
// absolute path.
static inline void write_file(const char *name, const char *written) {
    char path[2 * FILE_PATH_SIZE];
    error err;
    if (name[0] == '/')
        snprintf(path, sizeof path, "%s", name);
    else
        snprintf(path, sizeof path, "%s/%s", folder, name);
    char *last = strrchr(path, '/');
    *last = '\0';
    if (output_make_folder(path, &err) != STATUS_OK) fail_msg("%s", err.message);
    *last = '/';
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(written, file) >= 0);
    assert_int_equal(fclose(file), 0);
}
#endif
