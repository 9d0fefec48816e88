// SPDX-License-Identifier: MIT
#include "data/images/earlier_import.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/paths.h"

static const char *const FILES[] = {"train.st.zst", "test.st.zst"};
enum { FILE_COUNT = sizeof FILES / sizeof *FILES, DIGITS = 6 };

// Returns the folder beside `folder`; free() it.
static char *folder_beside(const char *folder, const char *key) {
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    char *typed = memory_format("%.*s", (int)length, folder), *real = NULL;
    const char *name = paths_name(typed);
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) real = realpath(typed, NULL);
    char *beside = memory_format("%s-%.*s", real ? real : typed, DIGITS, key);
    free(real);
    free(typed);
    return beside;
}

// Another name for the same bytes; where the file system has no such links, the file moves.
static status keep_file(const char *folder, const char *kept, const char *name, error *err) {
    char *from = memory_format("%s/%s", folder, name), *to = memory_format("%s/%s", kept, name);
    status rc = STATUS_OK;
    if (link(from, to) != 0 && errno != EEXIST && rename(from, to) != 0)
        rc = error_system(err, STATUS_FAILED, errno,
                          "cannot keep the earlier data set: '%s': pass another --out", from);
    free(from);
    free(to);
    return rc;
}

// The manifest comes last, and after the links, which change the times of the files
// (data/recorded.h).
static status keep_files(const char *folder, const earlier_import *e, error *err) {
    char *path = memory_format("%s/manifest.yaml", e->kept);
    status rc = STATUS_OK;
    TRY(output_make_folder(e->kept, err));
    for (int i = 0; i < FILE_COUNT; i++) TRY(keep_file(folder, e->kept, FILES[i], err));
    TRY(manifest_write_tree(e->root, path, err));
out:
    free(path);
    return rc;
}

status earlier_import_keep(const char *folder, const manifest *m, earlier_import *e, error *err) {
    char key[SHA256_TEXT_BYTES];
    *e = (earlier_import){0};
    if (manifest_read_in(&e->root, NULL, "%s", folder) != STATUS_OK) return STATUS_OK;
    NEED(manifest_key(m, key, err));
    const char *own = yaml_text_at(e->root, "key"), *tool = yaml_text_at(e->root, "tool");
    if (strcmp(tool, "import-images") != 0 || strcmp(own, key) == 0 || strlen(own) < DIGITS)
        return STATUS_OK;
    char *train = memory_format("%s/%s", folder, FILES[0]);
    (void)!dataset_read_header(train, &e->training, NULL);
    free(train);
    e->kept = folder_beside(folder, own);
    return keep_files(folder, e, err);
}

void earlier_import_settle(earlier_import *e, const manifest *m) {
    bool same = e->kept != NULL;
    for (int i = 0; same && i < FILE_COUNT; i++)
        same = strcmp(manifest_output_content(e->root, FILES[i]),
                      manifest_output_content(m->root, FILES[i])) == 0;
    if (!same) return;
    static const char *const all[] = {"manifest.yaml", "train.st.zst", "test.st.zst"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char *path = memory_format("%s/%s", e->kept, all[i]);
        (void)unlink(path);
        free(path);
    }
    (void)rmdir(e->kept);
    free(e->kept);
    e->kept = NULL;
}

void earlier_import_release(earlier_import *e) {
    free(e->kept);
    yaml_free(e->root);
    dataset_release(&e->training);
}
