// SPDX-License-Identifier: MIT
// The table of data sets: every row is complete, agrees with itself, and is like no other.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/tool_list.h"
#include "data/dataset.h"
#include "data/source/dataset_list.h"

static void each_row_is_found_by_its_name(void **state) {
    (void)state;
    for (size_t i = 0; i < DATASETS; i++)
        assert_ptr_equal(dataset_find(dataset_list[i].name), &dataset_list[i]);
    assert_null(dataset_find("cifar"));
    assert_null(dataset_find(DATASET_SYNTHETIC));
}

static void other_spellings_pass_for_a_data_set(void **state) {
    (void)state;
    assert_string_equal(dataset_namesake("cifar10"), "cifar10");
    assert_string_equal(dataset_namesake("CIFAR-10"), "cifar10");
    assert_string_equal(dataset_namesake("Fashion_MNIST."), "fashion-mnist");
    assert_string_equal(dataset_namesake("Synthetic"), DATASET_SYNTHETIC);
    assert_null(dataset_namesake("cifar"));
    assert_null(dataset_namesake("my-cifar10"));
    assert_null(dataset_namesake("cifar10-2-classes"));
}

static void check_texts(const dataset_entry *d) {
    assert_true(strlen(d->name) < DATASET_NAME_BYTES);
    assert_non_null(tool_summary(d->tool));
    assert_non_null(d->setting_help);
    assert_string_equal(d->setting + strlen(d->setting) - strlen("_FROM"), "_FROM");
    assert_true(!d->note || d->note[strlen(d->note) - 1] != '\n');
    assert_true(strncmp(d->url, "http", 4) == 0);
    const dataset_entry *alike = d->alike ? dataset_find(d->alike) : d;
    assert_non_null(alike);
    assert_string_equal(alike->tool, d->tool);
}

static void check_shape(const dataset_entry *d) {
    assert_true(d->channels == 1 || d->channels == 3);
    assert_int_equal(d->height, d->width);
    assert_true(d->classes > 1);
    for (int i = 0; i < d->classes; i++)
        for (int k = 0; k < i; k++) assert_string_not_equal(d->class_names[i], d->class_names[k]);
}

static void check_pin(const char *pin) {
    assert_int_equal(strspn(pin, "0123456789abcdef"), 64);
    assert_int_equal(strlen(pin), 64);
}

static void check_members(const dataset_entry *d) {
    assert_in_range(d->member_count, 1, MEMBERS_MAX);
    for (size_t i = 0; i < d->member_count; i++) {
        const dataset_member *m = &d->members[i];
        assert_true(m->bytes > 0);
        assert_true(m->sha256 || m->packed_sha256);
        if (m->sha256) check_pin(m->sha256);
        if (m->packed_sha256) check_pin(m->packed_sha256);
        for (size_t k = 0; k < i; k++) assert_string_not_equal(m->name, d->members[k].name);
    }
}

static void rows_are_complete(void **state) {
    (void)state;
    for (size_t i = 0; i < DATASETS; i++) {
        check_texts(&dataset_list[i]);
        check_shape(&dataset_list[i]);
        check_members(&dataset_list[i]);
    }
}

static void no_two_rows_are_alike(void **state) {
    (void)state;
    for (size_t i = 0; i < DATASETS; i++)
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(dataset_list[i].name, dataset_list[k].name);
            assert_string_not_equal(dataset_list[i].setting, dataset_list[k].setting);
            assert_string_not_equal(dataset_list[i].url, dataset_list[k].url);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_is_found_by_its_name),
        cmocka_unit_test(other_spellings_pass_for_a_data_set),
        cmocka_unit_test(rows_are_complete),
        cmocka_unit_test(no_two_rows_are_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
