// SPDX-License-Identifier: MIT
// Manifests: contents, stage keys, freshness, verification and comparison.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/manifest.h"
#include "data/manifest_check.h"
#include "data/tensor/tensor_file.h"

#include "temporary_folder.h"

static char out_folder[FILE_PATH_SIZE], manifest_path[FILE_PATH_SIZE];

static char *in_folder(const char *name) {
    static char path[FILE_PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int make_out_folder(void **state) {
    if (make_folder(state)) return -1;
    snprintf(out_folder, sizeof out_folder, "%s/out", folder);
    snprintf(manifest_path, sizeof manifest_path, "%s/out/manifest.yaml", folder);
    return mkdir(out_folder, 0777);
}

#define MUST(call)                                            \
    do {                                                      \
        if ((call) != STATUS_OK) fail_msg("%s", err.message); \
    } while (0)

static void begin(manifest *m, const char *tool, int bits) {
    error err;
    char *argv[] = {(char *)"./x", (char *)"--out", (char *)"a b", NULL};
    MUST(manifest_begin(m, tool, bits, 3, argv, &err));
    yaml_put(manifest_parameters(m), "lr", yaml_new_number(0.1));
}

// A stage with one tensor file and one text as outputs, and one input.
static void write_stage(const char *tool, double accuracy, const char *source) {
    error err;
    manifest m;
    char path[200];
    const int64_t shape[] = {3};
    const float values[] = {1, 2, 3};
    tensor_file f = {0};
    begin(&m, tool, 1);
    tensor_file_add(&f, "x", TENSOR_F32, 1, shape, values);
    snprintf(path, sizeof path, "%s/out/model.st.zst", folder);
    MUST(tensor_file_write(path, &f, &err));
    const manifest_file model = {path, f.file_bytes, f.sha256, f.content};
    manifest_add_output(&m, &model);
    tensor_file_release(&f);
    write_file("input.txt", "hello\n");
    char sha[SHA256_TEXT_BYTES];
    MUST(sha256_file(in_folder("input.txt"), sha, &err));
    const manifest_file input = {in_folder("input.txt"), 6, sha, NULL}, pipe = {"-", 99, NULL, sha};
    if (source)
        manifest_add_shard(&m, &input, source);
    else
        manifest_add_input(&m, &input);
    manifest_add_input(&m, &pipe);
    yaml_put(manifest_results(&m), "accuracy", yaml_new_number(accuracy));
    yaml_put(manifest_results(&m), "total_seconds", yaml_new_number(accuracy * 7));
    MUST(manifest_write(&m, manifest_path, &err));
    manifest_release(&m);
}

static void a_manifest_is_complete(void **state) {
    (void)state;
    error err;
    yaml_node *root;
    write_stage("train-single", 0.5, NULL);
    MUST(manifest_read(manifest_path, &root, &err));
    static const char *const keys[] = {"schema",     "tool",    "version", "bits",
                                       "command",    "key",     "inputs",  "outputs",
                                       "parameters", "results", "run",     "digest"};
    assert_int_equal(root->count, 12);
    for (size_t i = 0; i < 12; i++) assert_string_equal(root->keys[i], keys[i]);
    assert_string_equal(yaml_get(root, "schema")->text, "lockstep.manifest/1");
    assert_string_equal(yaml_get(root, "command.0")->text, "train-single");
    assert_string_equal(yaml_get(root, "command.2")->text, "a b");
    assert_string_equal(yaml_get(root, "inputs.0.path")->text, "../input.txt");
    assert_string_equal(yaml_get(root, "inputs.1.path")->text, "-");
    assert_null(yaml_get(root, "inputs.1.sha256"));
    assert_string_equal(yaml_get(root, "outputs.0.path")->text, "model.st.zst");
    assert_int_equal(strlen(yaml_get(root, "outputs.0.content")->text), 64);
    assert_int_equal(strlen(yaml_get(root, "key")->text), 64);
    static const char *const run[] = {"host",  "cpu",     "cores",     "compiler",
                                      "flags", "sources", "libraries", "commit",
                                      "dirty", "start",   "end"};
    for (size_t i = 0; i < sizeof run / sizeof *run; i++)
        assert_non_null(yaml_find(yaml_get(root, "run"), run[i]));
    assert_null(strstr(yaml_get(root, "run.commit")->text, "-dirty"));
    yaml_free(root);
}

static void paths_become_relative(void **state) {
    (void)state;
    static const struct {
        const char *given, *expected;
    } cases[] = {{"out/a", "a"},
                 {"a", "../a"},
                 {"./out/../a", "../a"},
                 {"out/deep/a", "deep/a"},
                 {"other/a", "../other/a"},
                 {"outer/a", "../outer/a"},
                 {"absent/a", "absent/a"}, // no such folder: unchanged
                 {"link/a", "deep/a"}};
    error err;
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(mkdir("out/deep", 0777) | mkdir("other", 0777) | mkdir("outer", 0777), 0);
    assert_int_equal(symlink("out/deep", "link"), 0);
    manifest m;
    begin(&m, "x", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const manifest_file file = {cases[i].given, 1, NULL, NULL};
        manifest_add_input(&m, &file);
    }
    MUST(manifest_write(&m, "out/paths.yaml", &err));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(yaml_find(yaml_find(m.root, "inputs")->items[i], "path")->text,
                            cases[i].expected);
    manifest_release(&m);
    assert_int_equal(chdir(here), 0);
}

static void key_of(const char *tool, int bits, double lr, const char *content, const char *shown,
                   char key[SHA256_TEXT_BYTES]) {
    error err;
    manifest m;
    char *argv[] = {(char *)"x", (char *)shown, NULL};
    MUST(manifest_begin(&m, tool, bits, 2, argv, &err));
    yaml_put(manifest_parameters(&m), "title", yaml_new_string(shown));
    yaml_put(manifest_parameters(&m), "lr", yaml_new_number(lr));
    const manifest_file input = {shown, 1, shown, content};
    manifest_add_input(&m, &input);
    MUST(manifest_key(&m, key, &err));
    manifest_release(&m);
}

static void keys_depend_on_tool_parameters_and_inputs(void **state) {
    (void)state;
    char base[SHA256_TEXT_BYTES], other[SHA256_TEXT_BYTES];
    key_of("t", 1, 0.1, "abc", "one", base);
    key_of("t", 1, 0.1, "abc", "two", other); // command, title, path and bytes of the input
    assert_string_equal(base, other);
    key_of("u", 1, 0.1, "abc", "one", other);
    assert_string_not_equal(base, other);
    key_of("t", 2, 0.1, "abc", "one", other);
    assert_string_not_equal(base, other);
    key_of("t", 1, 0.2, "abc", "one", other);
    assert_string_not_equal(base, other);
    key_of("t", 1, 0.1, "abd", "one", other);
    assert_string_not_equal(base, other);
    // sha256 of {"bits":1,"inputs":["abc"],"parameters":{"lr":0.1},"tool":"t"}
    char expected[SHA256_TEXT_BYTES];
    static const char text[] =
        "{\"bits\":1,\"inputs\":[\"abc\"],\"parameters\":{\"lr\":0.1},\"tool\":\"t\"}";
    sha256_buffer(text, sizeof text - 1, expected);
    assert_string_equal(base, expected);
}

static void a_name_is_not_part_of_a_key(void **state) {
    (void)state;
    error err;
    char keys[2][SHA256_TEXT_BYTES];
    for (int i = 0; i < 2; i++) {
        manifest m;
        begin(&m, "t", 1);
        const char *name = i ? "other" : "one";
        yaml_put(manifest_parameters(&m), "name", yaml_new_string(name));
        MUST(manifest_key(&m, keys[i], &err));
        manifest_release(&m);
    }
    assert_string_equal(keys[0], keys[1]);
}

// Another name, and a recorded key that is wrong.
static void a_manifest_reads_back_with_its_key(void **state) {
    (void)state;
    error err;
    yaml_node *root;
    char key[SHA256_TEXT_BYTES];
    write_stage("t", 0.5, "abc");
    MUST(manifest_read(manifest_path, &root, &err));
    MUST(manifest_key_of(root, key, &err));
    assert_string_equal(yaml_find(root, "key")->text, key);
    char recorded[SHA256_TEXT_BYTES];
    snprintf(recorded, sizeof recorded, "%s", key);
    yaml_node *parameters = (yaml_node *)yaml_find(root, "parameters");
    yaml_put(parameters, "name", yaml_new_string("old"));
    yaml_put(root, "key", yaml_new_string("0123"));
    MUST(manifest_key_of(root, key, &err));
    assert_string_equal(recorded, key);
    yaml_put(parameters, "lr", yaml_new_number(0.3));
    MUST(manifest_key_of(root, key, &err));
    assert_string_not_equal(recorded, key);
    static const char *const needed[] = {"tool", "bits", "parameters", "inputs"};
    for (size_t i = 0; i < 4; i++) {
        yaml_node *copy = yaml_copy(root);
        yaml_remove(copy, needed[i]);
        assert_int_equal(manifest_key_of(copy, key, &err), STATUS_INPUT);
        if (!strstr(err.message, needed[i])) fail_msg("'%s' lacks '%s'", err.message, needed[i]);
        yaml_free(copy);
    }
    yaml_free(root);
}

static manifest_state state_for(const char *const *conditions, size_t count, const char *why_part) {
    manifest_state found;
    char why[512];
    error err = {0};
    MUST(manifest_fresh(out_folder, conditions, count, &found, NULL, why, sizeof why, &err));
    if (found != MANIFEST_FRESH && !strstr(why, why_part))
        fail_msg("'%s' lacks '%s'", why, why_part);
    return found;
}

static void freshness(void **state) {
    (void)state;
    error err;
    manifest_state found;
    char why[64];
    write_stage("train-single", 0.5, NULL);
    static const char *const good[] = {"tool=train-single", "results.accuracy=0.5"};
    static const char *const bad[] = {"tool=train-single", "results.accuracy=0.6"};
    static const char *const absent = "results.nothing=1", *const many = "results=1";
    assert_int_equal(state_for(NULL, 0, ""), MANIFEST_FRESH);
    assert_int_equal(state_for(good, 2, ""), MANIFEST_FRESH);
    assert_int_equal(state_for(bad, 2, "results.accuracy is '0.5', not '0.6'"), MANIFEST_OTHER);
    assert_int_equal(state_for(&absent, 1, "results.nothing is 'absent', not '1'"), MANIFEST_OTHER);
    assert_int_equal(state_for(&many, 1, "results is 'no single value'"), MANIFEST_OTHER);
    static const char *const broken = "tool";
    assert_int_equal(manifest_fresh(out_folder, &broken, 1, &found, NULL, why, sizeof why, &err),
                     STATUS_USAGE);
    char *model = in_folder("out/model.st.zst");
    assert_int_equal(truncate(model, 10), 0);
    assert_int_equal(
        state_for(NULL, 0, "the size of output 'model.st.zst' differs from the recorded one"),
        MANIFEST_INCOMPLETE);
    assert_int_equal(unlink(model), 0);
    assert_int_equal(state_for(NULL, 0, "output 'model.st.zst' is missing"), MANIFEST_INCOMPLETE);
    write_file(manifest_path, "schema: lockstep.manifest/1\ninputs: [\n");
    assert_int_equal(state_for(NULL, 0, "manifest.yaml:3:1"), MANIFEST_NONE);
    assert_int_equal(unlink(manifest_path), 0);
    assert_int_equal(state_for(NULL, 0, "No such file or directory"), MANIFEST_NONE);
}

static void reading_refuses_files_that_are_not_manifests(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a: 1\n", ":1:1: not a manifest: expected schema 'lockstep.manifest/1'"},
        {"schema: lockstep.model/1\n", ":1:9: not a manifest"},
        {"schema: lockstep.manifest/1\n", ":1:1: 'inputs': expected a list of files"},
        {"schema: lockstep.manifest/1\ninputs: []\noutputs: 1\n", ":3:10: 'outputs': expected"},
        {"schema: lockstep.manifest/1\ninputs:\n- {path: a}\noutputs: []\n",
         ":3:3: 'inputs': an entry needs 'path' and 'bytes'"},
        {"schema: lockstep.manifest/1\ninputs:\n- {path: a, bytes: -1}\noutputs: []\n",
         ":3:20: 'bytes': expected an integer of at least 0, got '-1'"},
        {"schema: lockstep.manifest/1\ninputs:\n- x\noutputs: []\n", ":3:3: 'inputs': an entry"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        yaml_node *root;
        error err;
        write_file(manifest_path, cases[i].text);
        assert_int_equal(manifest_read(manifest_path, &root, &err), STATUS_INPUT);
        assert_null(root);
        if (!strstr(err.message, cases[i].message))
            fail_msg("'%s' lacks '%s'", err.message, cases[i].message);
    }
}

static void verify_finds(size_t count, const char *first) {
    manifest_findings f = {0};
    error err = {0};
    MUST(manifest_verify(manifest_path, &f, &err));
    assert_int_equal(f.count, count);
    assert_int_equal(f.checked, 2);
    if (count && !strstr(f.lines[0], first)) fail_msg("'%s' lacks '%s'", f.lines[0], first);
    manifest_findings_release(&f);
}

static void verifying_recomputes_hashes(void **state) {
    (void)state;
    write_stage("train-single", 0.5, NULL);
    verify_finds(0, "");
    write_file("input.txt", "jello\n");
    verify_finds(1, "'../input.txt': SHA-256 is ");
    write_file("input.txt", "hello you\n");
    verify_finds(1, "'../input.txt': size is 10 bytes, but 6 is recorded");
    assert_int_equal(unlink(in_folder("input.txt")), 0);
    verify_finds(1, "'../input.txt': No such file or directory");
    assert_int_equal(truncate(in_folder("out/model.st.zst"), 5), 0);
    verify_finds(2, "input.txt");
}

// The recorded content hash is wrong, but the bytes are as recorded.
static void verifying_recomputes_content(void **state) {
    (void)state;
    error err;
    yaml_node *root;
    char *text;
    write_stage("train-single", 0.5, NULL);
    MUST(manifest_read(manifest_path, &root, &err));
    yaml_node *entry = yaml_find(root, "outputs")->items[0];
    yaml_put(entry, "content", yaml_new_string("abc"));
    MUST(yaml_write_text(root, &text, NULL, &err));
    write_file(manifest_path, text);
    verify_finds(1, "'model.st.zst': content hash is ");
    free(text);
    yaml_free(root);
}

static yaml_node *stage(const char *tool, double accuracy, const char *source) {
    yaml_node *root;
    error err;
    write_stage(tool, accuracy, source);
    MUST(manifest_read(manifest_path, &root, &err));
    return root;
}

static void diff_finds(yaml_node *a, yaml_node *b, size_t count, const char *line) {
    manifest_findings f = {0};
    bool seen = !count;
    manifest_diff(a, b, &f);
    for (size_t i = 0; i < f.count; i++) seen = seen || !strcmp(f.lines[i], line);
    if (f.count != count || !seen)
        fail_msg("%zu findings, first '%s', expected %zu with '%s'", f.count,
                 f.count ? f.lines[0] : "", count, line);
    manifest_findings_release(&f);
}

static void diff_compares_the_work_not_the_times(void **state) {
    (void)state;
    yaml_node *a = stage("train-single", 0.5, NULL), *b = stage("train-ddp", 0.5, NULL);
    yaml_node *c = stage("evaluate", 0.5, NULL), *d = stage("train-ddp", 0.25, NULL);
    diff_finds(a, a, 0, "");
    diff_finds(a, b, 0, "");
    diff_finds(a, c, 1, "tool: train-single != evaluate");
    diff_finds(a, d, 1, "results.accuracy: 0.5 != 0.25");
    yaml_put((yaml_node *)yaml_find(b, "parameters"), "extra", yaml_new_integer(1));
    diff_finds(a, b, 1, "parameters.extra: (absent) != 1");
    diff_finds(b, a, 1, "parameters.extra: 1 != (absent)");
    yaml_free(b);
    yaml_free(c);
    yaml_free(d);
    b = yaml_copy(a);
    yaml_put(yaml_find(b, "outputs")->items[0], "content", yaml_new_string("x"));
    yaml_put(yaml_find(a, "outputs")->items[0], "content", yaml_new_string("y"));
    diff_finds(a, b, 1, "outputs.model.st.zst.content: y != x");
    for (int i = 0; i < 2; i++)
        yaml_put(yaml_find(i ? a : b, "outputs")->items[0], "path",
                 yaml_new_string("steps.st.zst"));
    diff_finds(a, b, 0, ""); // records times
    yaml_put(yaml_find(b, "outputs")->items[0], "path", yaml_new_string("z"));
    diff_finds(a, b, 2, "outputs.z: (absent) != written");
    yaml_free(a);
    yaml_free(b);
}

static void diff_identifies_shards_by_their_source(void **state) {
    (void)state;
    yaml_node *a = stage("train-single", 0.5, NULL), *b = stage("train-ddp", 0.5, "whole");
    yaml_node *list = (yaml_node *)yaml_find(b, "inputs");
    yaml_node *copy = yaml_copy(list->items[0]);
    yaml_append(list, copy); // two shards of one source
    diff_finds(a, b, 1, "inputs: (absent) != whole");
    yaml_put(yaml_find(a, "inputs")->items[0], "content", yaml_new_string("whole"));
    diff_finds(a, b, 0, "");
    yaml_free(a);
    yaml_free(b);
}

static void writing_to_a_missing_folder_fails(void **state) {
    (void)state;
    manifest m;
    error err;
    begin(&m, "x", 1);
    assert_int_equal(manifest_write(&m, "/nonexistent/manifest.yaml", &err), STATUS_FAILED);
    assert_non_null(strstr(err.message, "/nonexistent/manifest.yaml"));
    manifest_release(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manifest_is_complete),
        cmocka_unit_test(paths_become_relative),
        cmocka_unit_test(keys_depend_on_tool_parameters_and_inputs),
        cmocka_unit_test(a_name_is_not_part_of_a_key),
        cmocka_unit_test(a_manifest_reads_back_with_its_key),
        cmocka_unit_test(freshness),
        cmocka_unit_test(reading_refuses_files_that_are_not_manifests),
        cmocka_unit_test(verifying_recomputes_hashes),
        cmocka_unit_test(verifying_recomputes_content),
        cmocka_unit_test(diff_compares_the_work_not_the_times),
        cmocka_unit_test(diff_identifies_shards_by_their_source),
        cmocka_unit_test(writing_to_a_missing_folder_fails),
    };
    return cmocka_run_group_tests(tests, make_out_folder, remove_folder);
}
