// SPDX-License-Identifier: MIT
// Quotas and siblings, in trees of files like those of /proc and /sys.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cores.h"
#include "temporary_folder.h"

static bool is(double a, double b) {
    return a > b - 1e-9 && a < b + 1e-9;
}

static void test_quota(void **state) {
    (void)state;
    const char *root = folder;
    assert_true(is(cores_quota(root), 0));
    write_file("proc/self/cgroup", "0::/a/b\n");
    write_file("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    assert_true(is(cores_quota(root), 0));
    write_file("sys/fs/cgroup/a/cpu.max", "250000 100000\n"); // of a group around it
    assert_true(is(cores_quota(root), 2.5));
    write_file("sys/fs/cgroup/cpu.max", "400000 100000\n");
    assert_true(is(cores_quota(root), 2.5));
    // The path is the host's, and only the root is visible.
    write_file("proc/self/cgroup", "0::/docker/x\n");
    assert_true(is(cores_quota(root), 4));
    // Version 1.
    write_file("proc/self/cgroup", "4:memory:/a\n1:cpu,cpuacct:/c\n0::/a/b\n");
    write_file("sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "150000\n");
    write_file("sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us", "100000\n");
    assert_true(is(cores_quota(root), 1.5));
    write_file("sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "-1\n");
    assert_true(is(cores_quota(root), 2.5));
    write_file("proc/self/cgroup", "nonsense\n");
    assert_true(is(cores_quota(root), 0));
}

static void test_siblings(void **state) {
    (void)state;
    const char *root = folder;
    static const char *const lists[] = {"0,4\n", "1-2\n", "1-2\n", "3\n", "0,4\n"};
    assert_int_equal(cores_without_siblings(root, 5), 5); // unknown
    for (int i = 0; i < 5; i++) {
        char path[100];
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
                 i);
        write_file(path, lists[i]);
    }
    assert_int_equal(cores_without_siblings(root, 5), 3);
    assert_int_equal(cores_without_siblings(root, 4), 3);
    assert_int_equal(cores_without_siblings(root, 2), 2);
}

static void test_this_process(void **state) {
    (void)state;
    assert_true(cores_separate() >= 1 && cores_separate() <= cores_usable());
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_quota, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_siblings, make_folder, remove_folder),
        cmocka_unit_test(test_this_process)};
    return cmocka_run_group_tests_name("cores", tests, NULL, NULL);
}
