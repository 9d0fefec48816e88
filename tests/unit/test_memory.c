// SPDX-License-Identifier: MIT
// Allocation: zeroed, aligned, growing; sizes that overflow are refused, or end the process.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"

// AddressSanitizer ends a program that requests too much, unless it is configured to return NULL
// like malloc.
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

static void test_new(void **state) {
    (void)state;
    unsigned char *p = memory_new(1000, 3);
    for (int i = 0; i < 3000; i++) assert_int_equal(p[i], 0);
    free(p);
    p = memory_new(0, 8);
    assert_non_null(p);
    free(p);
}

static void test_overflow(void **state) {
    (void)state;
    error err = {0};
    assert_null(memory_try_new(SIZE_MAX / 2, 4, &err));
    assert_int_equal(err.code, STATUS_FAILED);
    assert_non_null(strstr(err.message, "out of memory"));
    assert_null(memory_try_new_aligned(SIZE_MAX / 2, 4, &err));
    assert_null(memory_try_new_aligned(SIZE_MAX, 1, NULL));
}

static void test_aligned(void **state) {
    (void)state;
    const size_t sizes[] = {0, 1, 63, 64, 65, 1 << 20, (2 << 20) + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *p = memory_new_aligned(sizes[i], 1);
        assert_int_equal((uintptr_t)p % MEMORY_ALIGNMENT, 0);
        for (size_t k = 0; k < sizes[i]; k++) assert_int_equal(p[k], 0);
        memset(p, 1, sizes[i]);
        free(p);
    }
}

static void test_grow(void **state) {
    (void)state;
    error err = {0};
    void *array = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 1000; i++) {
        array = memory_grow(array, &capacity, i + 1, sizeof(size_t));
        assert_true(capacity > i);
        ((size_t *)array)[i] = i;
    }
    for (size_t i = 0; i < 1000; i++) assert_int_equal(((size_t *)array)[i], i);
    // A failed allocation leaves the array unchanged.
    void *before = array;
    size_t room = capacity;
    assert_int_equal(memory_try_grow(&array, &capacity, SIZE_MAX, 8, &err), STATUS_FAILED);
    assert_int_equal(memory_try_grow(&array, &capacity, SIZE_MAX / 4, 8, &err), STATUS_FAILED);
    assert_ptr_equal(array, before);
    assert_int_equal(capacity, room);
    free(array);
}

static void test_text(void **state) {
    (void)state;
    char *copy = memory_string("text"), *made = memory_format("%s-%03d", "a", 7);
    assert_string_equal(copy, "text");
    assert_string_equal(made, "a-007");
    free(copy);
    free(made);
}

// ---- The end without memory ----

static void *ask_too_much(void *argument) {
    (void)argument;
    return memory_new(SIZE_MAX / 2, 4);
}

static void in_this_thread(void) {
    (void)ask_too_much(NULL);
}

static void in_two_threads(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) (void)pthread_create(&threads[i], NULL, ask_too_much, NULL);
    for (int i = 0; i < 2; i++) (void)pthread_join(threads[i], NULL);
}

static void when_it_grows(void) {
    void *array = NULL;
    size_t capacity = 0;
    array = memory_grow(array, &capacity, SIZE_MAX / 2, 4);
}

static void of_a_library(void) {
    memory_die(0);
}

static int told_to;

static bool tell(void *argument, const char *message) {
    (void)!write(told_to, message, strlen(message));
    return argument != NULL;
}

static void told_elsewhere(void) {
    memory_at_death(tell, &told_to);
    memory_die(4096);
}

static void told_here_too(void) {
    memory_at_death(tell, NULL);
    memory_die(4096);
}

static void forgotten(void) {
    memory_at_death(tell, &told_to);
    memory_forget(tell, &told_to);
    memory_die(4096);
}

// The acts of a process are not those of its children.
static void in_a_child(void) {
    memory_at_death(tell, &told_to);
    pid_t child = fork();
    if (child == 0) memory_die(4096);
    int ended = 0;
    (void)waitpid(child, &ended, 0);
    _exit(WEXITSTATUS(ended));
}

// Reads what the child wrote to the end of the pipe.
static void collect(int from, char text[256]) {
    size_t used = 0;
    for (ssize_t got; (got = read(from, text + used, 255 - used)) > 0;) used += (size_t)got;
    text[used] = 0;
    close(from);
}

static void ends(void (*act)(void), const char *printed, const char *told) {
    int errors[2], acts[2];
    char text[256], line[300];
    assert_int_equal(pipe(errors), 0);
    assert_int_equal(pipe(acts), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(errors[1], STDERR_FILENO);
        told_to = acts[1];
        act();
        _exit(0);
    }
    close(errors[1]);
    close(acts[1]);
    collect(errors[0], text);
    line[0] = '\0';
    if (*printed) snprintf(line, sizeof line, "%s: %s\n", program_invocation_short_name, printed);
    assert_string_equal(text, line);
    collect(acts[0], text);
    assert_string_equal(text, told);
    int ended = 0;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), STATUS_FAILED);
}

static void test_end(void **state) {
    (void)state;
    static const char much[] = "out of memory: cannot allocate so many bytes";
    static const char page[] = "out of memory: cannot allocate 4096 bytes";
    ends(in_this_thread, much, "");
    ends(in_two_threads, much, "");
    ends(when_it_grows, much, "");
    ends(of_a_library, "out of memory", "");
    ends(told_elsewhere, "", page);
    ends(told_here_too, page, page);
    ends(forgotten, page, "");
    ends(in_a_child, page, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new),     cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_aligned), cmocka_unit_test(test_grow),
        cmocka_unit_test(test_text),    cmocka_unit_test(test_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
