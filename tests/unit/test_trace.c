// SPDX-License-Identifier: MIT
// Spans and tracks: recording, joining, omission, and their JSON.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/trace.h"

enum { ROOM = 16, FILE_BYTES = 1 << 18 };

static trace *recorder(size_t room, trace_track **track) {
    trace *t = trace_new(2, "rank 2", room);
    trace_track_new(t, track, "thread %d", 0);
    return t;
}

// The whole file, its events in pieces of at most `room` bytes.
static char *write_all(trace *t, uint64_t origin, size_t room) {
    char *file = calloc(FILE_BYTES, 1), *piece = malloc(room);
    trace_cursor at = {0};
    trace_end(t);
    size_t bytes = trace_head("test", file, FILE_BYTES), n;
    while ((n = trace_text(t, origin, &at, piece, room)) > 0) {
        assert_true(n <= room);
        memcpy(file + bytes, piece, n);
        bytes += n;
        assert_int_equal(file[bytes - 1], '}'); // whole events
    }
    trace_tail("test", trace_left_out(t), file + bytes, FILE_BYTES - bytes);
    free(piece);
    return file;
}

static yaml_node *parse(const char *text) {
    error err = {0};
    yaml_node *root;
    if (json_to_yaml(text, "trace.json", &root, &err) != STATUS_OK) fail_msg("%s", err.message);
    return root;
}

static yaml_node *events_of(trace *t, uint64_t origin) {
    char *text = write_all(t, origin, TRACE_TEXT_BYTES);
    yaml_node *root = parse(text);
    free(text);
    return root;
}

static double number(const yaml_node *event, const char *key) {
    const yaml_node *value = yaml_find(event, key);
    assert_non_null(value);
    return strtod(value->text, NULL);
}

// Spans and marks in file order, as "NAME@BEGIN+MICROSECONDS" separated by spaces.
static void assert_spans(trace *t, uint64_t origin, const char *expected) {
    char found[1024] = "";
    yaml_node *root = events_of(t, origin);
    const yaml_node *list = yaml_find(root, "traceEvents");
    for (size_t i = 0; i < list->count; i++) {
        const yaml_node *e = list->items[i];
        const bool mark = strcmp(yaml_find(e, "ph")->text, "i") == 0;
        if (!mark && strcmp(yaml_find(e, "ph")->text, "X") != 0) continue;
        size_t used = strlen(found);
        snprintf(found + used, sizeof found - used, "%s%s@%g+%g", used ? " " : "",
                 yaml_find(e, "name")->text, number(e, "ts"), mark ? 0.0 : number(e, "dur"));
    }
    assert_string_equal(found, expected);
    yaml_free(root);
}

// ---- Recording ----

static void without_a_recorder(void **state) {
    (void)state;
    error err = {0};
    trace_track *track = (trace_track *)&err;
    trace_track_new(NULL, &track, "x");
    assert_null(track);
    assert_null(trace_first(NULL));
    assert_int_equal(trace_clock(NULL), 0);
    trace_phase(NULL, "load", 1, 2);
    trace_operation(NULL, "step", 1, 1, 2);
    trace_rest(NULL, "wait", 1, 2);
    trace_free(NULL);
}

static void consecutive_phases_are_joined(void **state) {
    (void)state;
    trace_track *track;
    trace *t = recorder(ROOM, &track);
    trace_phase(track, "forward", 1000, 2000);
    trace_phase(track, "forward", 2000, 5000); // continues
    trace_phase(track, "wait", 5000, 5000);    // took no time
    trace_phase(track, "forward", 5000, 6000);
    trace_phase(track, "forward", 6500, 7000); // after a gap
    trace_phase(track, "wait", 7000, 7250);
    trace_phase(track, "forward", 7250, 8000);
    assert_spans(t, 1000, "forward@0+5 forward@5.5+0.5 wait@6+0.25 forward@6.25+0.75");
    trace_free(t);
}

// Equal operations stay apart, and one between two phases keeps them apart.
static void operations_are_not_joined(void **state) {
    (void)state;
    trace_track *track;
    trace *t = recorder(ROOM, &track);
    trace_phase(track, "copy", 0, 1000);
    trace_operation(track, "scatter", TRACE_UNNUMBERED, 0, 1000);
    trace_phase(track, "copy", 1000, 2000);
    trace_operation(track, "scatter", TRACE_UNNUMBERED, 1000, 2000);
    assert_spans(t, 0, "scatter@0+1 copy@0+1 scatter@1+1 copy@1+1");
    trace_free(t);
}

// An enclosing span comes first, also if it begins, or begins and ends, with the enclosed one.
static void nesting_in_the_file(void **state) {
    (void)state;
    trace_track *track;
    trace *t = recorder(ROOM, &track);
    for (int64_t step = 0; step < 2; step++) {
        const uint64_t at = 10000 * (uint64_t)step;
        trace_phase(track, "load", at + 1000, at + 2000);
        trace_phase(track, "update", at + 2000, at + 9000);
        trace_operation(track, "step", step, at, at + 10000);
    }
    trace_operation(track, "epoch", 1, 0, 20000);
    trace_operation(track, "run", TRACE_UNNUMBERED, 0, 20000);
    assert_spans(t, 0,
                 "run@0+20 epoch 1@0+20 step 0@0+10 load@1+1 update@2+7 step 1@10+10 load@11+1 "
                 "update@12+7");
    assert_int_equal(trace_begin(t), 0);
    trace_free(t);
}

static void the_rest_is_uncovered_time(void **state) {
    (void)state;
    trace_track *track;
    trace *t = recorder(ROOM, &track);
    trace_rest(track, "wait", 1000, 2000);
    trace_phase(track, "copy", 3000, 4000);
    trace_rest(track, "wait", 1000, 5000); // only the part after the copy
    trace_rest(track, "wait", 1000, 4500); // nothing is left
    trace_rest(track, "wait", 7000, 8000); // not the part before 7000
    assert_spans(t, 0, "wait@1+1 copy@3+1 wait@4+1 wait@7+1");
    trace_free(t);
}

static void a_full_track_counts_omitted_spans(void **state) {
    (void)state;
    trace_track *small, *other;
    trace *t = recorder(3, &small);
    trace_track_new(t, &other, "thread 1");
    for (uint64_t i = 0; i < 8; i++)
        trace_phase(small, i % 2 ? "load" : "wait", 1000 * i, 1000 * (i + 1));
    trace_rest(small, "copy", 0, 8000); // the omitted span still covers it
    trace_phase(other, "load", 0, 1000);
    assert_int_equal(trace_left_out(t), 5);
    assert_spans(t, 0, "wait@0+1 load@1+1 wait@2+1 track full: 5 spans dropped@3+0 load@0+1");
    yaml_node *root = events_of(t, 0);
    assert_string_equal(yaml_get(root, "otherData.left_out")->text, "5");
    yaml_free(root);
    trace_free(t);
}

// ---- Writing ----

static const yaml_node *named(const yaml_node *list, const char *name, int tid) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(yaml_find(list->items[i], "name")->text, name) == 0 &&
            number(list->items[i], "tid") == tid)
            return list->items[i];
    fail_msg("no event '%s' in track %d", name, tid);
    return NULL;
}

static void names_and_numbers(void **state) {
    (void)state;
    trace_track *track, *second;
    trace *t = recorder(ROOM, &track);
    assert_ptr_equal(trace_first(t), track);
    trace_track_new(t, &second, "loader %d", 7);
    assert_ptr_equal(trace_first(t), track);
    trace_operation(second, "batch", 12, 5000001, 5000003);
    yaml_node *root = events_of(t, 5000000);
    const yaml_node *list = yaml_find(root, "traceEvents");
    assert_string_equal(yaml_get(named(list, "process_name", 1), "args.name")->text, "rank 2");
    assert_string_equal(yaml_get(named(list, "thread_name", 1), "args.name")->text, "thread 0");
    assert_string_equal(yaml_get(named(list, "thread_name", 2), "args.name")->text, "loader 7");
    const yaml_node *batch = named(list, "batch 12", 2);
    assert_true(number(batch, "pid") == 3); // from 1
    assert_string_equal(yaml_find(batch, "cat")->text, "operation");
    assert_true(number(batch, "ts") == 0.001 && number(batch, "dur") == 0.002);
    assert_string_equal(yaml_get(root, "otherData.tool")->text, "test");
    yaml_free(root);
    trace_free(t);
}

// Nanoseconds survive, however long the machine has been up.
static void times_are_exact(void **state) {
    (void)state;
    trace_track *track;
    trace *t = recorder(ROOM, &track);
    trace_phase(track, "load", UINT64_C(31536000123456789),
                UINT64_C(31536000123456789) + 4000000007);
    char *text = write_all(t, 0, TRACE_TEXT_BYTES);
    assert_non_null(strstr(text, "\"ts\":31536000123456.789,\"dur\":4000000.007}"));
    free(text);
    trace_free(t);
}

static void pieces_make_the_whole(void **state) {
    (void)state;
    trace_track *tracks[3];
    trace *t = recorder(200, &tracks[0]);
    for (int k = 1; k < 3; k++) trace_track_new(t, &tracks[k], "thread %d", k);
    for (uint64_t i = 0; i < 250; i++) // track 2 stays empty, track 0 overflows
        trace_operation(tracks[i % 5 ? 0 : 1], "step", (int64_t)i, i, i + 1);
    trace_operation(tracks[0], "step", 250, 250, 251);
    char *whole = write_all(t, 0, FILE_BYTES);
    for (size_t room = TRACE_TEXT_BYTES; room < 3 * TRACE_TEXT_BYTES; room += 211) {
        char *text = write_all(t, 0, room);
        assert_string_equal(text, whole);
        free(text);
    }
    yaml_node *root = parse(whole);
    assert_int_equal(yaml_find(root, "traceEvents")->count, 1 + 2 + 3 * 2 + 200 + 50 + 1);
    yaml_free(root);
    free(whole);
    trace_free(t);
}

static void nothing_recorded(void **state) {
    (void)state;
    trace_track *track;
    trace *t = recorder(ROOM, &track);
    assert_true(trace_begin(t) == UINT64_MAX);
    assert_spans(t, 0, "");
    trace_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_recorder),
        cmocka_unit_test(consecutive_phases_are_joined),
        cmocka_unit_test(operations_are_not_joined),
        cmocka_unit_test(nesting_in_the_file),
        cmocka_unit_test(the_rest_is_uncovered_time),
        cmocka_unit_test(a_full_track_counts_omitted_spans),
        cmocka_unit_test(names_and_numbers),
        cmocka_unit_test(times_are_exact),
        cmocka_unit_test(pieces_make_the_whole),
        cmocka_unit_test(nothing_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
