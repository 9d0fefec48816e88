// SPDX-License-Identifier: MIT
// Compares the files of a submission with the hashes that its manifests record.
#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/paths.h"
#include "base/sha256.h"
#include "data/manifest.h"
#include "data/manifest_check.h"
#include "data/tta.h"
#include "submission/verify_internal.h"

static const char DIGITS[] = "0123456789", KEY_DIGITS[] = "0123456789abcdef";

status submission_each_folder(const char *folder, const char *characters,
                              status (*visit)(const char *folder, void *context, error *err),
                              void *context, error *err) {
    strvec names = {0};
    status rc = STATUS_OK;
    (void)paths_list(folder, NULL, true, &names);
    for (size_t i = 0; rc == STATUS_OK && i < names.count; i++) {
        const char *name = names.items[i];
        if (name[strspn(name, characters)]) continue;
        char *path = memory_format("%s/%s", folder, name);
        rc = visit(path, context, err);
        free(path);
    }
    strvec_release(&names);
    return rc;
}

// ---- Traces of executions ----

static void add_trace(verification *v, const char *kind, const char *hash) {
    if (*hash) strvec_format(&v->traces, "%s %s", kind, hash);
}

// `times` is the file of the times of its steps.
static void add_traces(verification *v, const yaml_node *root, const char *times) {
    const yaml_node *run = yaml_find(root, "run");
    char hash[SHA256_TEXT_BYTES] = "", *text = run ? json_from_yaml(run) : NULL;
    if (text) sha256_buffer(text, strlen(text), hash);
    add_trace(v, "record", hash);
    add_trace(v, "times", manifest_output_content(root, times));
    free(text);
}

// ---- Files ----

typedef struct files {
    verification *v;
    manifest_findings findings;
    const char *folder; // of the submission
} files;

// An invalid manifest is a finding. `times` is the file of the times of its steps; NULL: none.
static status check_manifest(files *f, const char *path, const char *times, error *err) {
    yaml_node *root = NULL;
    error invalid = {0};
    status rc = manifest_read(path, &root, &invalid);
    if (rc == STATUS_FAILED) return error_pass(&invalid, err);
    if (rc != STATUS_OK) {
        manifest_finding(&f->findings, "%s", invalid.message);
        return STATUS_OK;
    }
    TRY(manifest_verify_text(path, &f->findings, err));
    TRY(manifest_verify_key(path, &f->findings, err));
    TRY(manifest_verify_packed(path, &f->findings, err));
    if (times) add_traces(f->v, root, times);
out:
    yaml_free(root);
    return rc;
}

static status check_stage(files *f, const char *folder, const char *stage, error *err) {
    char *path = memory_format("%s/%s/manifest.yaml", folder, stage);
    status rc = STATUS_OK;
    if (access(path, F_OK) == 0)
        rc = check_manifest(f, path, strcmp(stage, "train") == 0 ? "steps.st.zst" : NULL, err);
    free(path);
    return rc;
}

static status check_execution(const char *folder, void *context, error *err) {
    status rc = check_stage(context, folder, "train", err);
    for (int view = 0; rc == STATUS_OK && view < TTA_KINDS; view++)
        rc = check_stage(context, folder, tta_folder((tta_kind)view), err);
    return rc;
}

static status check_run(const char *folder, void *context, error *err) {
    return submission_each_folder(folder, DIGITS, check_execution, context, err);
}

static status check_turns(const char *folder, void *context, error *err) {
    char *path = memory_format("%s/manifest.yaml", folder);
    status rc = check_manifest(context, path, "turns.st.zst", err);
    free(path);
    return rc;
}

// Compares the digests of all manifests below FOLDER/NAME, whose files are not packed.
static status check_records(files *f, const char *name, error *err) {
    char *root = memory_format("%s/%s", f->folder, name);
    char *const roots[] = {root, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    status rc = walk ? STATUS_OK : error_set(err, STATUS_FAILED, "cannot read '%s'", name);
    for (FTSENT *entry; rc == STATUS_OK && (entry = fts_read(walk));) {
        error invalid = {0};
        if (entry->fts_info != FTS_F || strcmp(entry->fts_name, "manifest.yaml") != 0) continue;
        rc = manifest_verify_text(entry->fts_path, &f->findings, &invalid);
        if (rc == STATUS_INPUT) {
            manifest_finding(&f->findings, "%s", invalid.message);
            rc = STATUS_OK;
        } else if (rc != STATUS_OK)
            rc = error_pass(&invalid, err);
    }
    if (walk) fts_close(walk);
    free(root);
    return rc;
}

static status check_all(files *f, error *err) {
    static const char *const records[] = {"data", "machine", "report"};
    char *runs = memory_format("%s/runs", f->folder);
    char *turns = memory_format("%s/turns", f->folder);
    status rc = submission_each_folder(runs, KEY_DIGITS, check_run, f, err);
    if (rc == STATUS_OK) rc = submission_each_folder(turns, KEY_DIGITS, check_turns, f, err);
    for (size_t i = 0; rc == STATUS_OK && i < sizeof records / sizeof *records; i++)
        rc = check_records(f, records[i], err);
    free(turns);
    free(runs);
    return rc;
}

status submission_check_files(const char *folder, verification *v, error *err) {
    files f = {.v = v, .folder = folder};
    const size_t length = strlen(folder);
    const manifest_findings *found = &f.findings;
    status rc = check_all(&f, err);
    const bool line_ends = found->count && found->line_ends == found->count;
    if (rc == STATUS_OK && line_ends)
        verification_add(v, CHECK_FILES, CHECK_DIFFERENT,
                         "only the line ends of %zu manifest%s differ: CRLF in place of LF, as git "
                         "writes them on Windows",
                         found->count, found->count == 1 ? "" : "s");
    for (size_t i = 0; rc == STATUS_OK && !line_ends && i < found->count; i++) {
        const char *line = found->lines[i];
        const bool below = strncmp(line, folder, length) == 0 && line[length] == '/';
        verification_add(v, CHECK_FILES, CHECK_DIFFERENT, "%s", below ? line + length + 1 : line);
    }
    if (rc == STATUS_OK && !found->count && found->checked)
        verification_add(v, CHECK_FILES, CHECK_EQUAL,
                         "%zu files have the hashes in their manifests", found->checked);
    if (rc == STATUS_OK && !found->count && !found->checked)
        verification_add(v, CHECK_FILES, CHECK_NOT_SHOWN,
                         "no file of a run: packed by an earlier version?");
    manifest_findings_release(&f.findings);
    return rc;
}
