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

static const char *text_of(const yaml_node *mapping, const char *key) {
    const yaml_node *node = yaml_find(mapping, key);
    return node && node->kind == YAML_SCALAR ? node->text : NULL;
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
static status report_unreadable(verifying *v, const char *path, status rc, const error *why) {
    if (rc == STATUS_FAILED) return error_set(v->err, rc, "%s", why->message);
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
        rc = report_unreadable(v, path, rc, &unreadable);
    tensor_file_release(&f);
    return rc;
}

static status verify_bytes(verifying *v, const yaml_node *entry, const char *path,
                           const char *full) {
    const char *hash = text_of(entry, "sha256"), *content = text_of(entry, "content");
    long long bytes = strtoll(text_of(entry, "bytes"), NULL, 10);
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
    if (hash) {
        status rc = sha256_file(full, actual, &unreadable);
        if (rc != STATUS_OK) return report_unreadable(v, path, rc, &unreadable);
        if (strcmp(actual, hash) != 0) {
            compare_hash(v, path, "SHA-256", hash, actual);
            return STATUS_OK;
        }
    }
    return content ? verify_content(v, path, full, content) : STATUS_OK;
}

static bool leaves_folder(const char *path) {
    return *path == '/' || strncmp(path, "../", 3) == 0 || strstr(path, "/../");
}

static status verify_list(verifying *v, const yaml_node *list) {
    for (size_t i = 0; i < list->count; i++) {
        const char *path = text_of(list->items[i], "path");
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
    const char *recorded = text_of(root, "key");
    if (!recorded || strlen(recorded) != SHA256_TEXT_BYTES - 1) goto out;
    rc = manifest_key_of(root, key, &incomplete);
    if (rc == STATUS_FAILED)
        rc = error_set(err, rc, "%s", incomplete.message);
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

status manifest_verify_text(const char *path, manifest_findings *f, error *err) {
    char digest[SHA256_TEXT_BYTES], recorded[SHA256_TEXT_BYTES], *text;
    size_t bytes;
    status rc = zreader_read_file(path, YAML_MAX_BYTES, &text, &bytes, err);
    if (rc != STATUS_OK) return rc;
    const char *line = last_line(text, bytes);
    if (sscanf(line, "digest: %64[0-9a-f]", recorded) != 1) goto out;
    sha256_buffer(text, (size_t)(line - text), digest);
    if (strcmp(digest, recorded) != 0)
        manifest_finding(f,
                         "%s: changed since it was written: its digest is %s, but %s is recorded",
                         path, digest, recorded);
out:
    free(text);
    return rc;
}

// ---- Diff ----

typedef struct comparing {
    manifest_findings *findings;
    error *err;
} comparing;

// Formats a value in at most `size` bytes: scalars as they are, collections as JSON.
static status show(const yaml_node *node, char *text, size_t size, error *err) {
    if (!node || node->kind == YAML_SCALAR) {
        snprintf(text, size, "%s", node ? node->text : "(absent)");
        return STATUS_OK;
    }
    char *json;
    NEED(json_from_yaml(node, &json, err));
    snprintf(text, size, "%s", json);
    free(json);
    return STATUS_OK;
}

static status unequal(comparing *c, const char *path, const yaml_node *a, const yaml_node *b) {
    char left[100], right[100];
    status rc = show(a, left, sizeof left, c->err);
    if (rc == STATUS_OK) rc = show(b, right, sizeof right, c->err);
    if (rc != STATUS_OK) return rc;
    manifest_finding(c->findings, "%s: %s != %s", path, left, right);
    return STATUS_OK;
}

static bool is_time(const char *key) {
    return strstr(key, "seconds") || !strcmp(key, "phases");
}

static status compare(comparing *c, const char *path, const yaml_node *a, const yaml_node *b);

// Compares the keys of `a`. With `rest`, only reports those that `b` does not have.
static status compare_keys(comparing *c, const char *path, const yaml_node *a, const yaml_node *b,
                           bool rest) {
    for (size_t i = 0; i < a->count; i++) {
        const char *key = a->keys[i];
        const yaml_node *other = yaml_find(b, key);
        if (is_time(key) || (rest && other)) continue;
        char *below = memory_format("%s.%s", path, key);
        status rc =
            rest ? unequal(c, below, NULL, a->items[i]) : compare(c, below, a->items[i], other);
        free(below);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

static status compare_items(comparing *c, const char *path, const yaml_node *a,
                            const yaml_node *b) {
    for (size_t i = 0; i < a->count; i++) {
        char *below = memory_format("%s.%zu", path, i);
        status rc = compare(c, below, a->items[i], b->items[i]);
        free(below);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

// Recurses as long as both have the same kind; skips times at every level.
static status compare(comparing *c, const char *path, const yaml_node *a, const yaml_node *b) {
    if (a && b && a->kind == YAML_MAPPING && b->kind == YAML_MAPPING) {
        status rc = compare_keys(c, path, a, b, false);
        return rc == STATUS_OK ? compare_keys(c, path, b, a, true) : rc;
    }
    if (a && b && a->kind == YAML_SEQUENCE && b->kind == YAML_SEQUENCE && a->count == b->count)
        return compare_items(c, path, a, b);
    return yaml_equal(a, b) ? STATUS_OK : unequal(c, path, a, b);
}

static const char *identity(const yaml_node *file) {
    const char *source = text_of(file, "source"), *content = text_of(file, "content");
    const char *hash = text_of(file, "sha256");
    return source ? source : content ? content : hash ? hash : "";
}

static bool was_read(const yaml_node *inputs, const char *hash) {
    for (size_t i = 0; i < inputs->count; i++)
        if (!strcmp(identity(inputs->items[i]), hash)) return true;
    return false;
}

// Reports the inputs that only `a` has, each source once.
static void compare_inputs(comparing *c, const yaml_node *a, const yaml_node *b, bool swapped) {
    for (size_t i = 0; i < a->count; i++) {
        const char *hash = identity(a->items[i]);
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++) seen = !strcmp(identity(a->items[k]), hash);
        if (seen || was_read(b, hash)) continue;
        manifest_finding(c->findings, "inputs: %s != %s", swapped ? "(absent)" : hash,
                         swapped ? hash : "(absent)");
    }
}

static const yaml_node *find_output(const yaml_node *outputs, const char *path) {
    for (size_t i = 0; i < outputs->count; i++)
        if (!strcmp(text_of(outputs->items[i], "path"), path)) return outputs->items[i];
    return NULL;
}

static bool holds_times(const char *path) {
    const char *name = paths_name(path);
    return !strcmp(name, "steps.st.zst") || !strcmp(name, "state.st.zst");
}

static status compare_output(comparing *c, const char *path, const yaml_node *a,
                             const yaml_node *b) {
    if (holds_times(path)) return STATUS_OK;
    const char *key = yaml_find(a, "content") && yaml_find(b, "content") ? "content" : "sha256";
    const yaml_node *x = yaml_find(a, key), *y = yaml_find(b, key);
    if (yaml_equal(x, y)) return STATUS_OK;
    char *name = memory_format("outputs.%s.%s", path, key);
    status rc = unequal(c, name, x, y);
    free(name);
    return rc;
}

// Kept states hold times, too, and are no part of the result.
static bool is_kept_state(const char *path) {
    return strncmp(path, "states/", 7) == 0;
}

static status compare_outputs(comparing *c, const yaml_node *a, const yaml_node *b, bool swapped) {
    for (size_t i = 0; i < a->count; i++) {
        const char *path = text_of(a->items[i], "path");
        const yaml_node *other = find_output(b, path);
        status rc = STATUS_OK;
        if (is_kept_state(path)) continue;
        if (!other)
            manifest_finding(c->findings, "outputs.%s: %s", path,
                             swapped ? "(absent) != written" : "written != (absent)");
        else if (!swapped)
            rc = compare_output(c, path, a->items[i], other);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

static status compare_tools(comparing *c, const yaml_node *a, const yaml_node *b) {
    const yaml_node *x = yaml_find(a, "tool"), *y = yaml_find(b, "tool");
    if (!x || !y || x->kind != YAML_SCALAR || y->kind != YAML_SCALAR)
        return yaml_equal(x, y) ? STATUS_OK : unequal(c, "tool", x, y);
    return manifest_same_kind(x->text, y->text) ? STATUS_OK : unequal(c, "tool", x, y);
}

status manifest_diff(const yaml_node *a, const yaml_node *b, manifest_findings *f, error *err) {
    comparing c = {f, err};
    const yaml_node *inputs[] = {yaml_find(a, "inputs"), yaml_find(b, "inputs")};
    const yaml_node *outputs[] = {yaml_find(a, "outputs"), yaml_find(b, "outputs")};
    NEED(compare_tools(&c, a, b));
    compare_inputs(&c, inputs[0], inputs[1], false);
    compare_inputs(&c, inputs[1], inputs[0], true);
    NEED(compare_outputs(&c, outputs[0], outputs[1], false));
    NEED(compare_outputs(&c, outputs[1], outputs[0], true));
    NEED(compare(&c, "parameters", yaml_find(a, "parameters"), yaml_find(b, "parameters")));
    return compare(&c, "results", yaml_find(a, "results"), yaml_find(b, "results"));
}
