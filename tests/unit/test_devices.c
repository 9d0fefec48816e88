// SPDX-License-Identifier: MIT
// Lists of devices, and their handling if there is no GPU. tests/bats/device.bats tests opening a
// CUDA backend, with one made for the test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compute/devices.h"

static devices parsed(const char *text) {
    devices d;
    error err = {0};
    if (devices_parse(&d, text, &err) != STATUS_OK) fail_msg("%s", err.message);
    return d;
}

static void assert_name(const devices *d, int i, const char *expected) {
    char name[DEVICES_TEXT_BYTES];
    devices_name(d, i, name);
    assert_string_equal(name, expected);
}

static void one_device(void **state) {
    (void)state;
    const devices by_itself = parsed("auto"), cpu = parsed("cpu"), first = parsed("cuda"),
                  later = parsed("cuda:12");
    assert_true(devices_have(&by_itself, DEVICE_AUTO));
    assert_int_equal(by_itself.count, 1);
    assert_true(devices_have(&cpu, DEVICE_CPU));
    assert_int_equal(cpu.count, 1);
    assert_name(&cpu, 0, "cpu");
    assert_true(devices_have(&first, DEVICE_CUDA));
    assert_name(&first, 0, "cuda:0");
    assert_name(&later, 0, "cuda:12");
    assert_int_equal(devices_index(&later, 7), 12);
    assert_int_equal(devices_index(NULL, 7), 0);
    assert_int_equal(devices_threads(&cpu, 5), 5);
    assert_int_equal(devices_threads(&first, 5), 1);
}

static void lists_are_used_in_turn(void **state) {
    (void)state;
    const devices two = parsed("cuda:3,cuda"), same = parsed("cuda:0,cuda:0"),
                  cpus = parsed("cpu,cpu,cpu");
    const int expected[] = {3, 0, 3, 0, 3};
    assert_int_equal(two.count, 2);
    for (int w = 0; w < 5; w++) assert_int_equal(devices_index(&two, w), expected[w]);
    assert_name(&two, 1, "cuda:0");
    assert_int_equal(same.count, 2);
    assert_int_equal(cpus.count, 3);
    assert_false(devices_mixed(&two) || devices_mixed(&cpus));
}

static void the_cpu_and_gpus(void **state) {
    (void)state;
    devices both = parsed("cuda:1,cpu");
    error err = {0};
    assert_true(devices_mixed(&both));
    assert_name(&both, 0, "cuda:1");
    assert_name(&both, 1, "cpu");
    assert_int_equal(devices_index(&both, 2), 1);
    assert_ptr_equal(devices_backend(&both, 3), backend_find("cpu"));
    assert_int_equal(devices_threads(&both, 5), 5);
    assert_int_equal(devices_math(&both, "exact", &err), STATUS_OK);
    assert_string_equal(devices_arithmetic(&both), "cpu");
    assert_int_equal(devices_math(&both, "fast", &err), STATUS_USAGE);
}

static void expect_refused(const char *text, const char *reason) {
    devices d;
    error err = {0};
    assert_int_equal(devices_parse(&d, text, &err), STATUS_USAGE);
    if (!strstr(err.message, reason)) fail_msg("'%s' does not contain: %s", err.message, reason);
}

static void bad_lists(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",         ",",          "gpu",   "cuda:",     "cuda:x",   "cuda:-1", "cuda:1,", ",cuda:1",
        "cuda:1;2", "cuda:99999", "cpu:0", "cuda, cpu", "auto,cpu", "CUDA",    "cudas"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        expect_refused(texts[i], "expected auto, cpu, cuda, or a list");
        expect_refused(texts[i], texts[i]);
    }
}

static void too_many(void **state) {
    (void)state;
    char text[4 * (DEVICES_MAX + 1)] = "cpu";
    for (int i = 1; i < DEVICES_MAX; i++) strcat(text, ",cpu");
    assert_int_equal(parsed(text).count, DEVICES_MAX);
    strcat(text, ",cpu");
    expect_refused(text, "more than 64 devices");
}

static void the_cpu_is_always_available(void **state) {
    (void)state;
    error err = {0};
    devices d = parsed("cpu,cpu");
    assert_int_equal(devices_open(&d, 2, NULL, &err), STATUS_OK);
    assert_ptr_equal(devices_backend(&d, 1), backend_find("cpu"));
    assert_int_equal(d.count, 2);
    d = parsed("auto");
    assert_int_equal(devices_open(&d, 4, NULL, &err), STATUS_OK);
    assert_true(devices_have(&d, DEVICE_CPU));
    assert_int_equal(d.count, 1);
    assert_int_equal(d.gpu_count, 0);
    assert_ptr_equal(devices_backend(&d, 0), backend_find("cpu"));
}

static void expect_missing(const char *library, const char *reason) {
    error err = {0};
    const backend *b;
    devices d = parsed("cuda");
    if (library) setenv("LOCKSTEP_CUDA_LIBRARY", library, 1);
    assert_int_equal(devices_open(&d, 1, NULL, &err), STATUS_FAILED);
    if (!strstr(err.message, reason)) fail_msg("'%s' does not contain: %s", err.message, reason);
    assert_int_equal(backend_open("cuda", &b, &err), STATUS_FAILED);
    assert_null(b);
}

static void no_cuda_backend(void **state) {
    (void)state;
    error err = {0};
    const backend *b;
    expect_missing("/nowhere/library.so", "no CUDA backend ('/nowhere/library.so' does not exist)");
    expect_missing("none", "'./none'");
    expect_missing("/dev/null", "cannot be loaded");
    assert_int_equal(backend_open("abacus", &b, &err), STATUS_USAGE);
    assert_int_equal(backend_open("cpu", &b, &err), STATUS_OK);
    assert_string_equal(b->name, "cpu");
}

// A test is not a tool: there is no library next to it.
static void default_path_of_the_backend(void **state) {
    (void)state;
    unsetenv("LOCKSTEP_CUDA_LIBRARY");
    expect_missing(NULL, "/lib/lockstep-cuda.so' does not exist");
    setenv("LOCKSTEP_CUDA_LIBRARY", "", 1);
    expect_missing(NULL, "/lib/lockstep-cuda.so' does not exist");
}

int main(void) {
    setenv("LOCKSTEP_CUDA_LIBRARY", "none", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_device),       cmocka_unit_test(lists_are_used_in_turn),
        cmocka_unit_test(the_cpu_and_gpus), cmocka_unit_test(bad_lists),
        cmocka_unit_test(too_many),         cmocka_unit_test(the_cpu_is_always_available),
        cmocka_unit_test(no_cuda_backend),  cmocka_unit_test(default_path_of_the_backend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
