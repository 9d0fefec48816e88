// SPDX-License-Identifier: MIT
#include "data/manifest_check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/paths.h"
#include "base/printable.h"
#include "base/sha256.h"
#include "base/zstream.h"
#include "data/manifest.h"
#include "data/tensor/tensor_file.h"

void manifest_findings_release(manifest_findings *f) {
    for (size_t i = 0; i < f->count; i++) free(f->lines[i]);
    free(f->lines);
    *f = (manifest_findings){0};
}

void manifest_finding(manifest_findings *f, const char *format, ...) {
    char line[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    f->lines = memory_grow(f->lines, &f->capacity, f->count + 1, sizeof *f->lines);
    f->lines[f->count++] = memory_string(line);
}

// ---- Verify ----

typedef struct verifying {
    const char *manifest; // path
    int folder;           // length of its folder part, with the slash
    bool packed;          // only files that are there
    manifest_findings *findings;
    error *err;
} verifying;

static void compare_hash(verifying *v, const char *path, const char *what, const char *recorded,
                         const char *actual) {
    if (!strcmp(recorded, actual)) return;
    manifest_finding(v->findings, "%s: '%s': %s is %s, but %s is recorded", v->manifest, path, what,
                     actual, recorded);
}

// An unreadable file is a finding; a failure at run time, such as no memory, is a failure.
static status report_unreadable(verifying *v, const char *path, const error *why) {
    if (why->code == STATUS_FAILED) return error_pass(why, v->err);
    manifest_finding(v->findings, "%s: '%s': %s", v->manifest, path, why->message);
    return STATUS_OK;
}

static status verify_content(verifying *v, const char *path, const char *full,
                             const char *recorded) {
    tensor_file f = {0};
    error unreadable;
    status rc = tensor_file_read(full, TENSOR_FILE_DEFAULT_MAX, &f, &unreadable);
    if (rc == STATUS_OK)
        compare_hash(v, path, "content hash", recorded, f.content);
    else
        rc = report_unreadable(v, path, &unreadable);
    tensor_file_release(&f);
    return rc;
}

static status verify_bytes(verifying *v, const yaml_node *entry, const char *path,
                           const char *full) {
    const char *hash = yaml_text_at(entry, "sha256"), *content = yaml_text_at(entry, "content");
    long long bytes = strtoll(yaml_text_at(entry, "bytes"), NULL, 10);
    struct stat info;
    char actual[SHA256_TEXT_BYTES];
    error unreadable;
    if (stat(full, &info)) {
        manifest_finding(v->findings, "%s: '%s': %s", v->manifest, path, strerror(errno));
        return STATUS_OK;
    }
    if (info.st_size != bytes) {
        manifest_finding(v->findings, "%s: '%s': size is %lld bytes, but %lld is recorded",
                         v->manifest, path, (long long)info.st_size, bytes);
        return STATUS_OK;
    }
    if (yaml_find(entry, "sha256")) {
        if (sha256_file(full, actual, &unreadable) != STATUS_OK)
            return report_unreadable(v, path, &unreadable);
        if (strcmp(actual, hash) != 0) {
            compare_hash(v, path, "SHA-256", hash, actual);
            return STATUS_OK;
        }
    }
    return yaml_find(entry, "content") ? verify_content(v, path, full, content) : STATUS_OK;
}

static bool leaves_folder(const char *path) {
    return *path == '/' || strncmp(path, "../", 3) == 0 || strstr(path, "/../");
}

static status verify_list(verifying *v, const yaml_node *list) {
    for (size_t i = 0; i < list->count; i++) {
        const char *path = yaml_text_at(list->items[i], "path");
        if (!strcmp(path, "-") || (v->packed && leaves_folder(path))) continue;
        char *full = memory_format("%.*s%s", *path == '/' ? 0 : v->folder, v->manifest, path);
        status rc = STATUS_OK;
        if (!v->packed || access(full, F_OK) == 0) {
            v->findings->checked++;
            rc = verify_bytes(v, list->items[i], path, full);
        }
        free(full);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

static status verify_files(const char *path, bool packed, manifest_findings *f, error *err) {
    const char *slash = strrchr(path, '/');
    verifying v = {path, slash ? (int)(slash - path) + 1 : 0, packed, f, err};
    yaml_node *root;
    status rc = manifest_read(path, &root, err);
    if (rc != STATUS_OK) return rc;
    if (!packed) TRY(verify_list(&v, yaml_find(root, "inputs")));
    TRY(verify_list(&v, yaml_find(root, "outputs")));
out:
    yaml_free(root);
    return rc;
}

status manifest_verify(const char *path, manifest_findings *f, error *err) {
    return verify_files(path, false, f, err);
}

status manifest_verify_packed(const char *path, manifest_findings *f, error *err) {
    return verify_files(path, true, f, err);
}

status manifest_verify_key(const char *path, manifest_findings *f, error *err) {
    char key[SHA256_TEXT_BYTES];
    error incomplete;
    yaml_node *root;
    status rc = manifest_read(path, &root, err);
    if (rc != STATUS_OK) return rc;
    const char *recorded = yaml_text_at(root, "key");
    if (strlen(recorded) != SHA256_TEXT_BYTES - 1) goto out;
    rc = manifest_key_of(root, key, &incomplete);
    if (rc == STATUS_FAILED)
        rc = error_pass(&incomplete, err);
    else if (rc == STATUS_OK && strcmp(recorded, key) != 0)
        manifest_finding(f, "%s: tool, parameters and inputs give the key %s, but %s is recorded",
                         path, key, recorded);
    else
        rc = STATUS_OK;
out:
    yaml_free(root);
    return rc;
}

// The last line of a text that ends with a newline.
static const char *last_line(const char *text, size_t bytes) {
    if (bytes) bytes--;
    while (bytes && text[bytes - 1] != '\n') bytes--;
    return text + bytes;
}

// Has the text the recorded digest once its line ends are LF? Changes the text.
static bool has_only_other_line_ends(char *text, const char *recorded) {
    char digest[SHA256_TEXT_BYTES];
    printable_line_ends(text);
    const size_t bytes = strlen(text);
    sha256_buffer(text, (size_t)(last_line(text, bytes) - text), digest);
    return strcmp(digest, recorded) == 0;
}

status manifest_verify_text(const char *path, manifest_findings *f, error *err) {
    char digest[SHA256_TEXT_BYTES], recorded[SHA256_TEXT_BYTES], *text;
    size_t bytes;
    status rc = zreader_read_file(path, YAML_MAX_BYTES, &text, &bytes, err);
    if (rc != STATUS_OK) return rc;
    const char *line = last_line(text, bytes);
    if (sscanf(line, "digest: %64[0-9a-f]", recorded) != 1) goto out;
    sha256_buffer(text, (size_t)(line - text), digest);
    if (strcmp(digest, recorded) == 0) goto out;
    if (has_only_other_line_ends(text, recorded)) {
        f->line_ends++;
        manifest_finding(f, "%s: only its line ends were changed: CRLF in place of LF", path);
    } else
        manifest_finding(f,
                         "%s: changed since it was written: its digest is %s, but %s is recorded",
                         path, digest, recorded);
out:
    free(text);
    return rc;
}

// ---- Diff ----

// Returns a scalar as it is, a collection as JSON; free() it.
static char *show(const yaml_node *node) {
    if (node && node->kind != YAML_SCALAR) return json_from_yaml(node);
    return memory_string(node ? node->text : "(absent)");
}

static void unequal(manifest_findings *f, const char *path, const yaml_node *a,
                    const yaml_node *b) {
    char *left = show(a), *right = show(b);
    manifest_finding(f, "%s: %.99s != %.99s", path, left, right);
    free(left);
    free(right);
}

static bool is_time(const char *key) {
    return strstr(key, "seconds") || !strcmp(key, "phases");
}

static void compare(manifest_findings *f, const char *path, const yaml_node *a, const yaml_node *b);

// Compares the keys of `a`. With `rest`, only reports those that `b` does not have.
static void compare_keys(manifest_findings *f, const char *path, const yaml_node *a,
                         const yaml_node *b, bool rest) {
    for (size_t i = 0; i < a->count; i++) {
        const char *key = a->keys[i];
        const yaml_node *other = yaml_find(b, key);
        if (is_time(key) || (rest && other)) continue;
        char *below = memory_format("%s.%s", path, key);
        if (rest)
            unequal(f, below, NULL, a->items[i]);
        else
            compare(f, below, a->items[i], other);
        free(below);
    }
}

static void compare_items(manifest_findings *f, const char *path, const yaml_node *a,
                          const yaml_node *b) {
    for (size_t i = 0; i < a->count; i++) {
        char *below = memory_format("%s.%zu", path, i);
        compare(f, below, a->items[i], b->items[i]);
        free(below);
    }
}

// Recurses as long as both have the same kind; skips times at every level.
static void compare(manifest_findings *f, const char *path, const yaml_node *a,
                    const yaml_node *b) {
    if (a && b && a->kind == YAML_MAPPING && b->kind == YAML_MAPPING) {
        compare_keys(f, path, a, b, false);
        compare_keys(f, path, b, a, true);
    } else if (a && b && a->kind == YAML_SEQUENCE && b->kind == YAML_SEQUENCE &&
               a->count == b->count) {
        compare_items(f, path, a, b);
    } else if (!yaml_equal(a, b)) {
        unequal(f, path, a, b);
    }
}

static const char *identity(const yaml_node *file) {
    const char *source = yaml_text_at(file, "source"), *content = yaml_text_at(file, "content");
    return *source ? source : *content ? content : yaml_text_at(file, "sha256");
}

static bool was_read(const yaml_node *inputs, const char *hash) {
    for (size_t i = 0; i < inputs->count; i++)
        if (!strcmp(identity(inputs->items[i]), hash)) return true;
    return false;
}

// Reports the inputs that only `a` has, each source once.
static void compare_inputs(manifest_findings *f, const yaml_node *a, const yaml_node *b,
                           bool swapped) {
    for (size_t i = 0; i < a->count; i++) {
        const char *hash = identity(a->items[i]);
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++) seen = !strcmp(identity(a->items[k]), hash);
        if (seen || was_read(b, hash)) continue;
        manifest_finding(f, "inputs: %s != %s", swapped ? "(absent)" : hash,
                         swapped ? hash : "(absent)");
    }
}

static const yaml_node *find_output(const yaml_node *outputs, const char *path) {
    for (size_t i = 0; i < outputs->count; i++)
        if (!strcmp(yaml_text_at(outputs->items[i], "path"), path)) return outputs->items[i];
    return NULL;
}

static bool holds_times(const char *path) {
    const char *name = paths_name(path);
    return !strcmp(name, "steps.st.zst") || !strcmp(name, "state.st.zst");
}

static void compare_output(manifest_findings *f, const char *path, const yaml_node *a,
                           const yaml_node *b) {
    if (holds_times(path)) return;
    const char *key = yaml_find(a, "content") && yaml_find(b, "content") ? "content" : "sha256";
    const yaml_node *x = yaml_find(a, key), *y = yaml_find(b, key);
    if (yaml_equal(x, y)) return;
    char *name = memory_format("outputs.%s.%s", path, key);
    unequal(f, name, x, y);
    free(name);
}

// Kept states hold times, too, and are no part of the result.
static bool is_kept_state(const char *path) {
    return strncmp(path, "states/", 7) == 0;
}

static void compare_outputs(manifest_findings *f, const yaml_node *a, const yaml_node *b,
                            bool swapped) {
    for (size_t i = 0; i < a->count; i++) {
        const char *path = yaml_text_at(a->items[i], "path");
        const yaml_node *other = find_output(b, path);
        if (is_kept_state(path)) continue;
        if (!other)
            manifest_finding(f, "outputs.%s: %s", path,
                             swapped ? "(absent) != written" : "written != (absent)");
        else if (!swapped)
            compare_output(f, path, a->items[i], other);
    }
}

static void compare_tools(manifest_findings *f, const yaml_node *a, const yaml_node *b) {
    const yaml_node *x = yaml_find(a, "tool"), *y = yaml_find(b, "tool");
    const bool named = x && y && x->kind == YAML_SCALAR && y->kind == YAML_SCALAR;
    if (!(named ? manifest_same_kind(x->text, y->text) : yaml_equal(x, y)))
        unequal(f, "tool", x, y);
}

void manifest_diff(const yaml_node *a, const yaml_node *b, manifest_findings *f) {
    const yaml_node *inputs[] = {yaml_find(a, "inputs"), yaml_find(b, "inputs")};
    const yaml_node *outputs[] = {yaml_find(a, "outputs"), yaml_find(b, "outputs")};
    compare_tools(f, a, b);
    compare_inputs(f, inputs[0], inputs[1], false);
    compare_inputs(f, inputs[1], inputs[0], true);
    compare_outputs(f, outputs[0], outputs[1], false);
    compare_outputs(f, outputs[1], outputs[0], true);
    compare(f, "parameters", yaml_find(a, "parameters"), yaml_find(b, "parameters"));
    compare(f, "results", yaml_find(a, "results"), yaml_find(b, "results"));
}
