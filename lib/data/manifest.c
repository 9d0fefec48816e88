// SPDX-License-Identifier: MIT
#include "data/manifest.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/paths.h"
#include "base/printable.h"
#include "base/process.h"
#include "base/redact.h"

static const char SCHEMA[] = "lockstep.manifest/1";

static void put_text(yaml_node *mapping, const char *key, const char *text) {
    yaml_put(mapping, key, yaml_new_string(text));
}

static void put_integer(yaml_node *mapping, const char *key, int64_t value) {
    yaml_put(mapping, key, yaml_new_integer(value));
}

// ---- The run ----

// Finds the first "model name" in /proc/cpuinfo; otherwise the name is "unknown".
static void find_cpu(char *name, size_t size) {
    char line[512];
    snprintf(name, size, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        colon += strspn(colon, ": \t");
        snprintf(name, size, "%.*s", (int)strcspn(colon, "\n"), colon);
        break;
    }
    fclose(file);
}

static yaml_node *describe_libraries(void) {
    yaml_node *libraries = yaml_new(YAML_MAPPING);
    libraries->flow = true;
    put_text(libraries, "glibc", gnu_get_libc_version());
    put_text(libraries, "libyaml", yaml_library_version());
    put_text(libraries, "jansson", json_library_version());
    return libraries;
}

// After the '+' the version has the commit, and "-dirty" if the tree had changes.
static void describe_commit(yaml_node *run) {
    static const char dirty[] = "-dirty";
    const char *plus = strchr(cli_version(), '+');
    char commit[128];
    snprintf(commit, sizeof commit, "%s", plus ? plus + 1 : "unknown");
    size_t length = strlen(commit), suffix = sizeof dirty - 1;
    bool is_dirty = length > suffix && !strcmp(commit + length - suffix, dirty);
    if (is_dirty) commit[length - suffix] = 0;
    put_text(run, "commit", commit);
    yaml_put(run, "dirty", yaml_new_boolean(is_dirty));
}

#if defined __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static void describe_run(yaml_node *run, const char *started) {
    char host[PROCESS_HOST_BYTES], cpu[256];
    process_host(host);
    find_cpu(cpu, sizeof cpu);
    put_text(run, "host", host);
    put_text(run, "cpu", cpu);
    put_integer(run, "cores", sysconf(_SC_NPROCESSORS_ONLN));
    put_text(run, "compiler", COMPILER);
    put_text(run, "flags", cli_flags());
    put_text(run, "sources", cli_sources());
    yaml_put(run, "libraries", describe_libraries());
    describe_commit(run);
    put_text(run, "start", started);
}

// ---- Building ----

// Fails early rather than after the work, when the manifest is written.
static status check_arguments(int argc, char **argv, error *err) {
    for (int i = 1; i < argc; i++) {
        if (printable_is_utf8(argv[i])) continue;
        char *text = redact_urls(argv[i]);
        error_set(err, STATUS_USAGE, "bad argument: '%s': not UTF-8, which manifests require",
                  text);
        free(text);
        return STATUS_USAGE;
    }
    return STATUS_OK;
}

static void append_argument(yaml_node *command, const char *argument) {
    char *text = redact_urls(argument);
    yaml_append(command, yaml_new_string(text));
    free(text);
}

static yaml_node *describe_command(const char *tool, int argc, char **argv) {
    yaml_node *command = yaml_new(YAML_SEQUENCE);
    command->flow = true;
    yaml_append(command, yaml_new_string(tool));
    for (int i = 1; i < argc; i++) append_argument(command, argv[i]);
    return command;
}

status manifest_begin(manifest *m, const char *tool, int bits, int argc, char **argv, error *err) {
    *m = (manifest){0};
    clock_utc(m->started);
    yaml_node *root = m->root = yaml_new(YAML_MAPPING);
    status rc;
    TRY(check_arguments(argc, argv, err));
    put_text(root, "schema", SCHEMA);
    put_text(root, "tool", tool);
    put_text(root, "version", cli_version());
    put_integer(root, "bits", bits);
    yaml_put(root, "command", describe_command(tool, argc, argv));
    put_text(root, "key", "");
    yaml_put(root, "inputs", yaml_new(YAML_SEQUENCE));
    yaml_put(root, "outputs", yaml_new(YAML_SEQUENCE));
    yaml_put(root, "parameters", yaml_new(YAML_MAPPING));
    yaml_put(root, "results", yaml_new(YAML_MAPPING));
    yaml_put(root, "run", yaml_new(YAML_MAPPING));
    describe_run(manifest_run(m), m->started);
out:
    if (rc != STATUS_OK) manifest_release(m);
    return rc;
}

void manifest_release(manifest *m) {
    yaml_free(m->root);
    *m = (manifest){0};
}

static yaml_node *part(const manifest *m, const char *key) {
    return (yaml_node *)yaml_find(m->root, key); // the manifest owns the tree
}

yaml_node *manifest_parameters(manifest *m) {
    return part(m, "parameters");
}

yaml_node *manifest_results(manifest *m) {
    return part(m, "results");
}

yaml_node *manifest_run(manifest *m) {
    return part(m, "run");
}

static void add_file(yaml_node *list, const manifest_file *file, const char *source) {
    yaml_node *entry = yaml_new(YAML_MAPPING);
    put_text(entry, "path", file->path);
    put_integer(entry, "bytes", (int64_t)file->bytes);
    if (file->sha256) put_text(entry, "sha256", file->sha256);
    if (file->content) put_text(entry, "content", file->content);
    if (source) put_text(entry, "source", source);
    yaml_append(list, entry);
}

void manifest_add_input(manifest *m, const manifest_file *file) {
    add_file(part(m, "inputs"), file, NULL);
}

void manifest_add_shard(manifest *m, const manifest_file *file, const char *source) {
    add_file(part(m, "inputs"), file, source);
}

void manifest_add_repeats(manifest *m, const manifest_repeats *r) {
    yaml_node *inputs = part(m, "inputs"), *repeats = yaml_new(YAML_MAPPING);
    put_integer(repeats, "images", r->images);
    put_integer(repeats, "samples", r->samples);
    put_text(repeats, "train", r->train);
    yaml_put(inputs->items[inputs->count - 1], "repeats", repeats);
}

void manifest_add_output(manifest *m, const manifest_file *file) {
    add_file(part(m, "outputs"), file, NULL);
}

// ---- Paths ----

static status make_relative(yaml_node *list, const char *folder, error *err) {
    for (size_t i = 0; i < list->count; i++) {
        const yaml_node *path = yaml_find(list->items[i], "path");
        char *text = paths_relative(path->text, folder);
        status rc = STATUS_OK;
        if (printable_is_utf8(text))
            put_text(list->items[i], "path", text);
        else
            rc = error_set(err, STATUS_INPUT, "cannot write manifest: the path '%s' is not UTF-8",
                           text);
        free(text);
        if (rc != STATUS_OK) return rc;
    }
    return STATUS_OK;
}

// ---- Key and writing ----

// Lists the content hashes of the inputs, or the hash of the bytes for an input that has none.
static yaml_node *input_hashes(const yaml_node *inputs) {
    yaml_node *hashes = yaml_new(YAML_SEQUENCE);
    for (size_t i = 0; i < inputs->count; i++) {
        const bool content = yaml_find(inputs->items[i], "content");
        const char *hash = yaml_text_at(inputs->items[i], content ? "content" : "sha256");
        yaml_append(hashes, yaml_new_string(hash));
    }
    return hashes;
}

// A new name or a corrected title must not cause a new training. `tta` is what an experiment's
// evaluation does; in that one's own manifest it is `views`. The file of the initial weights is an
// input.
yaml_node *manifest_key_parameters(const yaml_node *all) {
    static const char *const shown[] = {"name",      "title", "repeats", "target_accuracy",
                                        "published", "tta"};
    static const char weights[] = "initial_weights";
    yaml_node *parameters = yaml_copy(all);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) yaml_remove(parameters, shown[i]);
    yaml_node *own = (yaml_node *)yaml_find(parameters, weights); // the copy's
    if (own && own->kind == YAML_MAPPING) yaml_remove(own, "file");
    if (own && own->count == 0) yaml_remove(parameters, weights);
    return parameters;
}

static status key_part(const yaml_node *root, const char *name, yaml_kind kind,
                       const yaml_node **found, error *err) {
    *found = yaml_find(root, name);
    if (*found && (*found)->kind == kind) return STATUS_OK;
    return yaml_error(root, err, "incomplete manifest: '%s' is missing", name);
}

status manifest_key_of(const yaml_node *root, char key[SHA256_TEXT_BYTES], error *err) {
    const yaml_node *tool, *bits, *parameters, *inputs;
    NEED(key_part(root, "tool", YAML_SCALAR, &tool, err));
    NEED(key_part(root, "bits", YAML_SCALAR, &bits, err));
    NEED(key_part(root, "parameters", YAML_MAPPING, &parameters, err));
    NEED(key_part(root, "inputs", YAML_SEQUENCE, &inputs, err));
    yaml_node *what = yaml_new(YAML_MAPPING);
    yaml_put(what, "tool", yaml_copy(tool));
    yaml_put(what, "bits", yaml_copy(bits));
    yaml_put(what, "parameters", manifest_key_parameters(parameters));
    yaml_put(what, "inputs", input_hashes(inputs));
    char *text = json_from_yaml(what);
    sha256_buffer(text, strlen(text), key);
    free(text);
    yaml_free(what);
    return STATUS_OK;
}

status manifest_key(const manifest *m, char key[SHA256_TEXT_BYTES], error *err) {
    return manifest_key_of(m->root, key, err);
}

static bool is_after(struct timespec a, struct timespec b) {
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

// File times come from a clock that ticks every few milliseconds. A manifest that is a tick younger
// than its outputs proves that these were not changed since (recorded.h). The wait is bounded,
// because some file systems have their own clock: there the outputs are read again instead.
static void let_outputs_age(const yaml_node *outputs) {
    enum { MOST = 20 };
    const struct timespec millisecond = {.tv_nsec = 1000000};
    struct timespec newest = {0}, now;
    for (size_t i = 0; i < outputs->count; i++) {
        struct stat info;
        if (stat(yaml_find(outputs->items[i], "path")->text, &info) == 0 &&
            is_after(info.st_ctim, newest))
            newest = info.st_ctim;
    }
    for (int i = 0; i < MOST; i++) {
        if (clock_gettime(CLOCK_REALTIME_COARSE, &now) || is_after(now, newest)) return;
        (void)nanosleep(&millisecond, NULL);
    }
}

status manifest_write_tree(yaml_node *root, const char *path, error *err) {
    char digest[SHA256_TEXT_BYTES], *text = NULL, *sealed = NULL;
    size_t bytes;
    status rc;
    yaml_remove(root, "digest");
    TRY(yaml_write_text(root, &text, &bytes, err));
    sha256_buffer(text, bytes, digest);
    sealed = memory_format("%sdigest: %s\n", text, digest);
    if (strlen(sealed) > YAML_MAX_BYTES)
        rc = error_set(err, STATUS_FAILED, "cannot write manifest: '%s': longer than %d bytes",
                       path, YAML_MAX_BYTES);
    else
        rc = output_write_file(path, sealed, strlen(sealed), err);
out:
    free(sealed);
    free(text);
    return rc;
}

status manifest_write(manifest *m, const char *path, error *err) {
    char key[SHA256_TEXT_BYTES], folder[PATH_MAX + 1], ended[CLOCK_TEXT_BYTES];
    paths_real_folder(path, folder);
    clock_utc(ended);
    let_outputs_age(part(m, "outputs"));
    put_text(manifest_run(m), "end", ended);
    NEED(manifest_key(m, key, err));
    put_text(m->root, "key", key);
    NEED(make_relative(part(m, "inputs"), folder, err));
    NEED(make_relative(part(m, "outputs"), folder, err));
    return manifest_write_tree(m->root, path, err);
}

status manifest_write_in(manifest *m, const char *folder, error *err) {
    char *path = memory_format("%s/manifest.yaml", folder);
    const status rc = manifest_write(m, path, err);
    free(path);
    return rc;
}

// ---- Reading ----

static status check_files(const yaml_node *root, const char *key, error *err) {
    const yaml_node *list = yaml_find(root, key);
    const char *path;
    int64_t bytes;
    if (!list || list->kind != YAML_SEQUENCE)
        return yaml_error(list ? list : root, err, "'%s': expected a list of files", key);
    for (size_t i = 0; i < list->count; i++) {
        const yaml_node *entry = list->items[i];
        if (!yaml_find(entry, "path") || !yaml_find(entry, "bytes"))
            return yaml_error(entry, err, "'%s': an entry needs 'path' and 'bytes'", key);
        NEED(yaml_string(yaml_find(entry, "path"), "path", &path, err));
        NEED(yaml_integer(yaml_find(entry, "bytes"), "bytes", 0, INT64_MAX, &bytes, err));
    }
    return STATUS_OK;
}

status manifest_read(const char *path, yaml_node **root, error *err) {
    status rc = yaml_read_file(path, root, err);
    if (rc != STATUS_OK) return rc;
    const yaml_node *schema = yaml_find(*root, "schema");
    if (strcmp(yaml_text_at(*root, "schema"), SCHEMA) != 0)
        rc = yaml_error(schema ? schema : *root, err, "not a manifest: expected schema '%s'",
                        SCHEMA);
    if (rc == STATUS_OK) rc = check_files(*root, "inputs", err);
    if (rc == STATUS_OK) rc = check_files(*root, "outputs", err);
    if (rc == STATUS_OK) return rc;
    yaml_free(*root);
    *root = NULL;
    return rc;
}

status manifest_read_in(yaml_node **root, error *err, const char *folder, ...) {
    va_list args;
    va_start(args, folder);
    char *where = memory_format_list(folder, args);
    char *path = memory_format("%s/manifest.yaml", where);
    const status rc = manifest_read(path, root, err);
    va_end(args);
    free(path);
    free(where);
    return rc;
}

// For callers that can do without one: *root is NULL if the file is missing, damaged or no
// manifest, and `why` (may be NULL) receives the reason. A failure at run time is still a failure.
static status try_read(const char *path, yaml_node **root, char *why, size_t why_size, error *err) {
    error unreadable;
    *root = NULL;
    if (why) snprintf(why, why_size, "%s", "");
    status rc = manifest_read(path, root, &unreadable);
    if (rc == STATUS_FAILED) return error_pass(&unreadable, err);
    if (rc != STATUS_OK && why) snprintf(why, why_size, "%s", unreadable.message);
    return STATUS_OK;
}

// ---- Existing folders ----

bool manifest_same_kind(const char *tool, const char *other) {
    size_t length = strcspn(tool, "-");
    return length == strcspn(other, "-") && strncmp(tool, other, length) == 0;
}

static status check_kind(const manifest *m, const yaml_node *old, const char *folder, error *err) {
    const char *tool = yaml_text_at(old, "tool");
    if (!*tool || manifest_same_kind(part(m, "tool")->text, tool)) return STATUS_OK;
    return error_set(
        err, STATUS_USAGE,
        "cannot write into folder: '%s': it holds the output of '%s'; choose another folder",
        folder, tool);
}

status manifest_check_folder(const manifest *m, const char *folder, error *err) {
    yaml_node *old = NULL;
    char *path = memory_format("%s/manifest.yaml", folder);
    status rc = try_read(path, &old, NULL, 0, err);
    if (rc == STATUS_OK && old) rc = check_kind(m, old, folder, err);
    yaml_free(old);
    free(path);
    return rc;
}

status manifest_remove_old(const manifest *m, const char *folder, error *err) {
    status rc = manifest_check_folder(m, folder, err);
    if (rc != STATUS_OK) return rc;
    char *path = memory_format("%s/manifest.yaml", folder);
    if (unlink(path) && errno != ENOENT)
        rc = error_system(err, STATUS_FAILED, errno, "cannot remove old output: '%s'", path);
    free(path);
    return rc;
}

// ---- Outputs ----

const yaml_node *manifest_output(const yaml_node *root, const char *name) {
    const yaml_node *outputs = yaml_get(root, "outputs");
    for (size_t i = 0; outputs && i < outputs->count; i++)
        if (strcmp(yaml_text_at(outputs->items[i], "path"), name) == 0) return outputs->items[i];
    return NULL;
}

const yaml_node *manifest_last_segment(const yaml_node *root) {
    const yaml_node *last = yaml_get(root, "run.execution");
    if (last && last->kind == YAML_SEQUENCE)
        last = last->count ? last->items[last->count - 1] : NULL;
    return last && last->kind == YAML_MAPPING ? last : NULL;
}

const char *manifest_output_content(const yaml_node *root, const char *name) {
    return yaml_text_at(manifest_output(root, name), "content");
}

// ---- Freshness ----

static bool outputs_are_there(const yaml_node *root, const char *folder, char *why, size_t size) {
    const yaml_node *outputs = yaml_find(root, "outputs");
    for (size_t i = 0; i < outputs->count; i++) {
        const char *path = yaml_find(outputs->items[i], "path")->text;
        char full[PATH_MAX];
        struct stat info;
        if (!strcmp(path, "-")) continue;
        snprintf(full, sizeof full, "%s%s%s", *path == '/' ? "" : folder, *path == '/' ? "" : "/",
                 path);
        if (stat(full, &info)) {
            snprintf(why, size, "output '%s' is missing", path);
            return false;
        }
        if (info.st_size != strtoll(yaml_find(outputs->items[i], "bytes")->text, NULL, 10)) {
            snprintf(why, size, "the size of output '%s' differs from the recorded one", path);
            return false;
        }
    }
    return true;
}

// Checks that the scalar at PATH has VALUE. A condition without '=' is a usage error.
static status check_condition(const yaml_node *root, const char *condition, bool *holds, char *why,
                              size_t size, error *err) {
    const char *equals = strchr(condition, '=');
    if (!equals || equals == condition)
        return error_set(err, STATUS_USAGE, "bad condition '%s': expected PATH=VALUE", condition);
    char *path = memory_format("%.*s", (int)(equals - condition), condition);
    const yaml_node *node = yaml_get(root, path);
    *holds = node && node->kind == YAML_SCALAR && !strcmp(node->text, equals + 1);
    if (!*holds)
        snprintf(why, size, "%s is '%s', not '%s'", path,
                 !node                       ? "absent"
                 : node->kind == YAML_SCALAR ? node->text
                                             : "no single value",
                 equals + 1);
    free(path);
    return STATUS_OK;
}

status manifest_fresh(const char *folder, const char *const *conditions, size_t count,
                      manifest_state *state, yaml_node **kept, char *why, size_t why_size,
                      error *err) {
    *state = MANIFEST_NONE;
    yaml_node *root = NULL;
    if (kept) *kept = NULL;
    status rc;
    char *path = memory_format("%s/manifest.yaml", folder);
    TRY(try_read(path, &root, why, why_size, err));
    if (!root) goto out;
    bool holds = true;
    for (size_t i = 0; i < count && holds; i++)
        TRY(check_condition(root, conditions[i], &holds, why, why_size, err));
    *state = !holds                                           ? MANIFEST_OTHER
             : outputs_are_there(root, folder, why, why_size) ? MANIFEST_FRESH
                                                              : MANIFEST_INCOMPLETE;
    if (kept) {
        *kept = root;
        root = NULL;
    }
out:
    yaml_free(root);
    free(path);
    return rc;
}

status manifest_print_key(const manifest *m, FILE *answers, error *err) {
    char key[SHA256_TEXT_BYTES];
    status rc = manifest_key(m, key, err);
    if (rc == STATUS_OK) fprintf(answers, "%s\n", key);
    return rc;
}
