// SPDX-License-Identifier: MIT
// One trace of several ranks: assembled by rank 0, whole or absent, agreed on by all ranks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/json.h"
#include "dist/launch_local.h"
#include "train/trace_file.h"

enum { RANKS = 3, SPANS = 700 }; // several pieces per rank

typedef struct fixture {
    char folder[64], path[96];
    const char *paths[RANKS]; // passed to each rank
    size_t room;
    bool write, record;
} fixture;

static int begin(void **state) {
    static fixture f;
    memset(&f, 0, sizeof f);
    snprintf(f.folder, sizeof f.folder, "%s/trace.XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(f.folder));
    sprintf(f.path, "%s/t.json", f.folder);
    for (int r = 0; r < RANKS; r++) f.paths[r] = f.path;
    f.room = 2 * SPANS;
    f.write = f.record = true;
    *state = &f;
    return 0;
}

static int end(void **state) {
    fixture *f = *state;
    unlink(f->path);
    return rmdir(f->folder); // fails if anything else was left there
}

// Rank r's spans last r + 1 microseconds each; it has (r + 1) · SPANS of them.
static status body(void *argument, comm *c, error *err) {
    const fixture *f = argument;
    trace_file t = {0};
    status rc;
    TRY(trace_file_open(&t, f->paths[c->rank], "thread 0", f->room, c, err));
    if (!f->write) goto out;
    const uint64_t step = 1000 * ((uint64_t)c->rank + 1);
    for (uint64_t i = 0; f->record && i < SPANS * ((uint64_t)c->rank + 1); i++)
        trace_operation(trace_first(t.trace), "step", (int64_t)i, 5000000 + i * step,
                        5000000 + (i + 1) * step);
    TRY(trace_file_write(&t, "test", NULL, err));
out:
    trace_file_release(&t);
    return rc;
}

static status run(fixture *f, int ranks, error *err) {
    return launch_local(ranks, 16, 4096, body, f, NULL, NULL, err);
}

static yaml_node *read_trace(const fixture *f) {
    static char text[1 << 20];
    error err = {0};
    yaml_node *root;
    FILE *in = fopen(f->path, "r");
    assert_non_null(in);
    size_t n = fread(text, 1, sizeof text - 1, in);
    fclose(in);
    text[n] = 0;
    if (json_to_yaml(text, f->path, &root, &err) != STATUS_OK) fail_msg("%s", err.message);
    return root;
}

static int64_t value(const yaml_node *event, const char *key) {
    return strtoll(yaml_find(event, key)->text, NULL, 10);
}

static void all_ranks_in_one_file(void **state) {
    fixture *f = *state;
    error err = {0};
    int64_t next[RANKS] = {0};
    f->room = 3 * SPANS;
    if (run(f, RANKS, &err) != STATUS_OK) fail_msg("%s", err.message);
    yaml_node *root = read_trace(f);
    const yaml_node *list = yaml_find(root, "traceEvents");
    for (size_t i = 0; i < list->count; i++) {
        const yaml_node *e = list->items[i];
        char name[32];
        if (strcmp(yaml_find(e, "ph")->text, "X") != 0) continue;
        const int64_t rank = value(e, "pid") - 1;
        assert_true(rank >= 0 && rank < RANKS);
        snprintf(name, sizeof name, "step %lld", (long long)next[rank]);
        assert_string_equal(yaml_find(e, "name")->text, name);
        assert_int_equal(value(e, "ts"), next[rank] * (rank + 1)); // one time 0 for all
        next[rank]++;
    }
    for (int r = 0; r < RANKS; r++) assert_int_equal(next[r], SPANS * (r + 1));
    assert_int_equal(value(yaml_find(root, "otherData"), "left_out"), 0);
    yaml_free(root);
}

static void omitted_spans_are_counted_over_all_ranks(void **state) {
    fixture *f = *state;
    error err = {0};
    f->room = SPANS;
    assert_int_equal(run(f, RANKS, &err), STATUS_OK);
    yaml_node *root = read_trace(f);
    assert_int_equal(value(yaml_find(root, "otherData"), "left_out"), SPANS + 2 * SPANS);
    yaml_free(root);
}

static void nothing_was_recorded(void **state) {
    fixture *f = *state;
    error err = {0};
    f->record = false;
    assert_int_equal(run(f, RANKS, &err), STATUS_OK);
    yaml_free(read_trace(f));
}

static void not_requested(void **state) {
    fixture *f = *state;
    error err = {0};
    for (int r = 0; r < RANKS; r++) f->paths[r] = NULL;
    assert_int_equal(run(f, RANKS, &err), STATUS_OK);
    assert_int_equal(access(f->path, F_OK), -1);
}

// Only rank 0 needs to know the file.
static void rank_0_decides(void **state) {
    fixture *f = *state;
    error err = {0};
    f->paths[1] = f->paths[2] = NULL;
    assert_int_equal(run(f, RANKS, &err), STATUS_OK);
    yaml_node *root = read_trace(f);
    assert_true(yaml_find(root, "traceEvents")->count > RANKS * SPANS);
    yaml_free(root);
    unlink(f->path);
    f->paths[0] = NULL;
    f->paths[2] = f->path;
    assert_int_equal(run(f, RANKS, &err), STATUS_USAGE);
    assert_non_null(strstr(err.message, "'rank 2' was started with --trace"));
    assert_int_equal(access(f->path, F_OK), -1);
}

static void a_run_that_fails_leaves_nothing(void **state) {
    fixture *f = *state;
    error err = {0};
    f->write = false;
    assert_int_equal(run(f, RANKS, &err), STATUS_OK);
    assert_int_equal(access(f->path, F_OK), -1); // and nothing else: end() removes the folder
}

static void a_file_that_cannot_be_written_is_found_at_once(void **state) {
    fixture *f = *state;
    error err = {0};
    f->paths[0] = "/nowhere/t.json";
    f->write = false;
    assert_int_equal(run(f, RANKS, &err), STATUS_FAILED);
    assert_non_null(strstr(err.message, "cannot write: '/nowhere/t.json'"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(all_ranks_in_one_file),
        TEST(omitted_spans_are_counted_over_all_ranks),
        TEST(nothing_was_recorded),
        TEST(not_requested),
        TEST(rank_0_decides),
        TEST(a_run_that_fails_leaves_nothing),
        TEST(a_file_that_cannot_be_written_is_found_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
