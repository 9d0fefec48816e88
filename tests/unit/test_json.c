// SPDX-License-Identifier: MIT
// Canonical JSON from YAML, and back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// The allocation that fails: the one after so many; never if negative.
static int allocations_before = -1;

static void *fail_once(size_t bytes) {
    return allocations_before-- == 0 ? NULL : malloc(bytes);
}

// The file itself, so that its allocations can fail.
#define malloc fail_once
#include "base/json.c"
#undef malloc

static void gives(const char *yaml, const char *json) {
    yaml_node *root;
    error err = {0};
    if (yaml_read_text(yaml, strlen(yaml), "t.yaml", &root, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    char *string = json_from_yaml(root);
    assert_string_equal(string, json);
    free(string);
    yaml_free(root);
}

static void canonical_text(void **state) {
    (void)state;
    gives("{b: 1, a: [x, '1', 1.50, true, ~], B: {}}",
          "{\"B\":{},\"a\":[\"x\",\"1\",1.5,true,null],\"b\":1}");
    gives("[0.1, 1e-5, 1.0, 100000, 1e+9, -0.0, -0, +7, 007, 3.14159265358979]",
          "[0.1,1e-05,1,100000,1000000000,0,0,7,7,3.14159265358979]");
    gives("[0.09999999776, 0.09999999777, 1E9, 1000000000.0, 1e-8, 1e15]",
          "[0.09999999776,0.09999999777,1000000000,1000000000,1e-08,1e+15]");
    gives("[123456789012345, -5]", "[123456789012345,-5]"); // integers keep all digits
    gives("[False, TRUE, 1e999, 0x10]", "[false,true,\"1e999\",\"0x10\"]");
    gives("\"q\\\"b\\\\n\\n\\x01gr\\xfcn\"", "\"q\\\"b\\\\n\\n\\u0001gr\xc3\xbcn\"");
    gives("{a: {b: {c: 1}}, a-b: 2, aa: 3}", "{\"a\":{\"b\":{\"c\":1}},\"a-b\":2,\"aa\":3}");
}

static void round_trip(void **state) {
    (void)state;
    static const char json[] = "{\"a\":[1,2.5,true,false,null,\"7\",\"null\"],\"b\":{\"c\":\"\"}}";
    yaml_node *root;
    error err;
    assert_int_equal(json_to_yaml(json, "m", &root, &err), STATUS_OK);
    assert_true(yaml_get(root, "a.5")->quoted);
    char *string = json_from_yaml(root);
    assert_string_equal(string, json);
    free(string);
    int64_t value;
    assert_int_equal(yaml_integer(yaml_get(root, "a.2"), "k", 0, 1, &value, &err), STATUS_INPUT);
    assert_string_equal(err.message, "m: 'k': expected an integer, got 'true'");
    yaml_free(root);
}

static void refuses(const char *json, const char *message) {
    yaml_node *root = (yaml_node *)1;
    error err = {0};
    assert_int_equal(json_to_yaml(json, "x.st: model", &root, &err), STATUS_INPUT);
    assert_null(root);
    if (!strstr(err.message, message)) fail_msg("'%s' lacks '%s'", err.message, message);
}

static void refuses_bad_text(void **state) {
    (void)state;
    refuses("", "x.st: model:");
    refuses("{\"a\": 1", "x.st: model:1:");
    refuses("{\"a\": 1,\n \"a\": 2}", "duplicate object key");
    refuses("[1] 2", "end of file expected");
    refuses("[1e999]", "real number overflow");
    refuses("[99999999999999999999]", "too big integer");
    refuses("[\"\xff\"]", "unable to decode byte 0xff");
    refuses("[\"\\u0000\"]", "\\u0000");
    refuses("[[[[[[[[[1]]]]]]]]]", "nested deeper than 8 levels");
    char *big = malloc((1 << 20) + 2);
    memset(big, ' ', (1 << 20) + 1);
    big[(1 << 20) + 1] = 0;
    refuses(big, "longer than 1048576 bytes");
    char *p = big;
    *p++ = '{';
    for (int i = 0; i < 5000; i++) p += sprintf(p, "%s\"k%d\":0", i ? "," : "", i);
    memcpy(p, "}", 2);
    refuses(big, "more than 4096 members");
    free(big);
}

static void prints_as(yaml_node *node, const char *json) {
    assert_non_null(node);
    char *string = json_from_yaml(node);
    assert_string_equal(string, json);
    free(string);
    yaml_free(node);
}

static void values_for_listings(void **state) {
    (void)state;
    prints_as(json_new_number(0.5), "0.5");
    prints_as(json_new_number(NAN), "null");
    prints_as(json_new_number(-INFINITY), "null");
    prints_as(json_new_string("null"), "\"null\"");
    prints_as(json_new_string("1"), "\"1\"");
    prints_as(json_new_string("\xC3\xA9\n"), "\"\xC3\xA9\\n\"");
    prints_as(json_new_string("a\xFF\xC3"), "\"a??\"");
    prints_as(yaml_new_string("a\n\xFF\xC3"), "\"a\\n??\"");
    prints_as(json_new_lines(""), "[]");
    prints_as(json_new_lines("a\n\n1"), "[\"a\",\"\",\"1\"]");
    prints_as(json_new_lines("a\n"), "[\"a\"]");
}

// jansson reports some failed allocations as bad text, and others not at all: then characters are
// missing.
static void a_failed_allocation_ends_the_process(void **state) {
    (void)state;
    static const char json[] = "{\"a\":[1,\"b\",{\"c\":\"d\"}]}";
    int ended = -1;
    for (int n = 0; n < 40; n++) {
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            yaml_node *root;
            (void)close(STDERR_FILENO);
            allocations_before = n;
            _exit(json_to_yaml(json, "m", &root, NULL) == STATUS_OK &&
                          strcmp(json_from_yaml(root), json) == 0
                      ? 0
                      : 2);
        }
        assert_int_equal(waitpid(child, &ended, 0), child);
        assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) != 2);
        if (n == 0) assert_int_equal(WEXITSTATUS(ended), STATUS_FAILED);
    }
    assert_int_equal(WEXITSTATUS(ended), 0); // there are fewer allocations
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_for_listings),
        cmocka_unit_test(canonical_text),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(refuses_bad_text),
        cmocka_unit_test(a_failed_allocation_ends_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
