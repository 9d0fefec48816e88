// SPDX-License-Identifier: MIT
// Command lines: accepted and refused ones, and suggestions.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/cli.h"
#include "base/spelling.h"

// The values that the option table below fills.
typedef struct values {
    bool flag;
    const char *out;
    cli_list set;
    int64_t count;
    double rate;
    cli_list operands;
    logger log;
    bool done;
    error err;
} values;

enum { MAX_ARGUMENTS = 10 };

// Parses the words of `line`, separated by blanks.
static status parse(values *v, char *line) {
    char *argv[MAX_ARGUMENTS + 1] = {(char[]){"tool"}};
    int argc = 1;
    for (char *word = strtok(line, " "); word && argc < MAX_ARGUMENTS; word = strtok(NULL, " "))
        argv[argc++] = word;
    *v = (values){.count = 4, .log.level = LOG_NORMAL};
    const cli_option options[] = {
        {"fast", CLI_FLAG, &v->flag, NULL, "be fast", 0, 0},
        {"out", CLI_STRING, &v->out, "FILE", "write there", 0, 0},
        {"set", CLI_LIST, &v->set, "KEY=VALUE", "replace a value", 0, 0},
        {"count", CLI_INTEGER, &v->count, "N", "how many", 1, 64},
        {"rate", CLI_NUMBER, &v->rate, "X", "how much", -10000, 10000},
        {0},
    };
    const cli_tool tool = {
        .name = "tool", .options = options, .operands_min = 1, .operands_max = 2};
    return cli_parse(&tool, argc, argv, &v->log, &v->operands, &v->done, &v->err);
}

static void release(values *v) {
    cli_list_release(&v->set);
    cli_list_release(&v->operands);
}

static void test_values(void **state) {
    (void)state;
    values v;
    char all[] = "in --set x=1 --set=y= --count=64 --rate -2.5e3 --fast";
    assert_int_equal(parse(&v, all), STATUS_OK);
    assert_true(v.flag);
    assert_int_equal(v.count, 64);
    assert_true(v.rate == -2500);
    assert_int_equal(v.set.count, 2);
    assert_string_equal(v.set.items[0], "x=1");
    assert_string_equal(v.set.items[1], "y=");
    assert_int_equal(v.operands.count, 1);
    assert_string_equal(v.operands.items[0], "in");
    assert_false(v.done);
    release(&v);
    char last[] = "--out=a=b --out - -";
    assert_int_equal(parse(&v, last), STATUS_OK);
    assert_string_equal(v.out, "-");
    assert_string_equal(v.operands.items[0], "-");
    assert_int_equal(v.count, 4); // the default
    release(&v);
}

static void test_end_of_options(void **state) {
    (void)state;
    values v;
    char line[] = "-- --fast -q";
    assert_int_equal(parse(&v, line), STATUS_OK);
    assert_false(v.flag);
    assert_string_equal(v.operands.items[0], "--fast");
    assert_string_equal(v.operands.items[1], "-q");
    release(&v);
    char value[] = "a --out --fast"; // the next word is the value, whatever it looks like
    assert_int_equal(parse(&v, value), STATUS_OK);
    assert_string_equal(v.out, "--fast");
    assert_false(v.flag);
    release(&v);
}

static void test_levels(void **state) {
    (void)state;
    values v;
    char quiet[] = "a -q", verbose[] = "a --verbose", both[] = "a -qv";
    assert_int_equal(parse(&v, quiet), STATUS_OK);
    assert_int_equal(v.log.level, LOG_QUIET);
    release(&v);
    assert_int_equal(parse(&v, verbose), STATUS_OK);
    assert_int_equal(v.log.level, LOG_VERBOSE);
    release(&v);
    assert_int_equal(parse(&v, both), STATUS_OK);
    assert_int_equal(v.log.level, LOG_VERBOSE);
    release(&v);
}

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"a --fats", "unknown option: '--fats': did you mean '--fast'?"},
        {"a --verbsoe", "did you mean '--verbose'?"},
        {"a --something", "unknown option: '--something': no such option"},
        {"a -x", "unknown option: '-x'"},
        {"a --fast=1", "bad option: '--fast=1': --fast takes no value"},
        {"a --help=1", "unknown option: '--help=1'"},
        {"a --out", "bad option: '--out': missing value"},
        {"a --count 0", "bad option value: '--count': expected an integer from 1 to 64, got '0'"},
        {"a --count 65", "got '65'"},
        {"a --count 6x", "got '6x'"},
        {"a --count=", "got ''"},
        {"a --count 99999999999999999999", "got '99999999999999999999'"},
        {"a --rate x", "bad option value: '--rate': expected a number, got 'x'"},
        {"a --rate inf", "got 'inf'"},
        {"a --rate 10001", "expected a number from -10000 to 10000, got '10001'"},
        {"a b c", "unexpected argument: 'c': too many arguments"},
        {"--fast", "missing arguments: expected at least 1, got 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        values v;
        char line[64];
        snprintf(line, sizeof line, "%s", cases[i].line);
        assert_int_equal(parse(&v, line), STATUS_USAGE);
        if (!strstr(v.err.message, cases[i].message))
            fail_msg("'%s': expected '%s', got '%s'", cases[i].line, cases[i].message,
                     v.err.message);
        release(&v);
    }
}

static void test_nearest(void **state) {
    (void)state;
    static const char *const words[] = {"optimizer", "schedule", "seed", "lr", "epochs"};
    const size_t n = sizeof words / sizeof *words;
    assert_string_equal(spelling_nearest("optimiser", words, n), "optimizer");
    assert_string_equal(spelling_nearest("shedule", words, n), "schedule");
    assert_string_equal(spelling_nearest("sede", words, n),
                        "seed"); // a transposition is one mistake
    assert_string_equal(spelling_nearest("epoch", words, n), "epochs");
    assert_string_equal(spelling_nearest("lr", words, n), "lr");
    assert_null(spelling_nearest("batch", words, n));
    assert_string_equal(spelling_nearest("Sche-Dule", words, n), "schedule");
    assert_true(spelling_alike("Cat ", "cat", " ") && !spelling_alike("cat-a", "cat", " "));
    assert_false(spelling_alike("训练", "测试", " -_"));
    assert_null(spelling_nearest("x", words, n));
    assert_null(spelling_nearest("", words, n));
    char longest[200];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_null(spelling_nearest(longest, words, n));
    const char *const only[] = {longest};
    assert_null(spelling_nearest("word", only, 1));
    assert_null(spelling_nearest("word", NULL, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_end_of_options),
        cmocka_unit_test(test_levels),  cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
