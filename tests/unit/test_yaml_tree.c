// SPDX-License-Identifier: MIT
// The YAML reader's accepted and refused input; written values read back the same.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/printable.h"
#include "base/yaml_tree.h"

static yaml_node *parse(const char *text) {
    yaml_node *root;
    error err = {0};
    if (yaml_read_text(text, strlen(text), "t.yaml", &root, &err) != STATUS_OK)
        fail_msg("%s: %s", text, err.message);
    return root;
}

static void refuses_bytes(const char *text, size_t bytes, const char *message) {
    yaml_node *root = (yaml_node *)1;
    error err = {0};
    assert_int_equal(yaml_read_text(text, bytes, "t.yaml", &root, &err), STATUS_INPUT);
    assert_null(root);
    if (!strstr(err.message, message)) fail_msg("'%s' lacks '%s'", err.message, message);
    assert_null(strchr(err.message, '\n'));
}

static void refuses(const char *text, const char *message) {
    refuses_bytes(text, strlen(text), message);
}

static void reads_plain_documents(void **state) {
    (void)state;
    yaml_node *root = parse("# comment\n"
                            "a: 1\n"
                            "list: [x, {b: 'two'}, 3.5]\n"
                            "nested:\n"
                            "  - deep: {er: [true]}\n");
    assert_int_equal(root->kind, YAML_MAPPING);
    assert_int_equal(root->count, 3);
    assert_string_equal(yaml_get(root, "list.1.b")->text, "two");
    assert_true(yaml_get(root, "list.1.b")->quoted);
    assert_true(yaml_get(root, "list")->flow);
    assert_false(yaml_get(root, "nested")->flow);
    assert_string_equal(yaml_get(root, "nested.0.deep.er.0")->text, "true");
    const yaml_node *b = yaml_get(root, "list.1.b");
    assert_int_equal(b->line, 3);
    assert_int_equal(b->column, 15);
    assert_int_equal(b->key_line, 3);
    assert_int_equal(b->key_column, 12);
    assert_null(yaml_get(root, "list.3"));
    assert_null(yaml_get(root, "list.-1"));
    assert_null(yaml_get(root, "list.99999999999999999999"));
    assert_null(yaml_get(root, "a.b"));
    assert_null(yaml_get(root, "lis"));
    assert_null(yaml_get(root, ""));
    yaml_free(root);
}

static void finds_keys_with_dots(void **state) {
    (void)state;
    yaml_node *root = parse("{a.b: 1}");
    assert_null(yaml_get(root, "a.b"));
    assert_string_equal(yaml_find(root, "a.b")->text, "1");
    yaml_free(root);
}

static void refuses_documents_that_are_not_plain(void **state) {
    (void)state;
    refuses("a: &x 1\n", "t.yaml:1:4: anchors are not accepted");
    refuses("a: 1\nb: *x\n", "t.yaml:2:4: aliases are not accepted");
    refuses("a: !!str 1\n", "t.yaml:1:4: tags are not accepted");
    refuses("a: !x {b: 1}\n", "t.yaml:1:4: tags are not accepted");
    refuses("a: &x [1]\n", "t.yaml:1:4: anchors are not accepted");
    refuses("a: 1\nb: 2\n  \na: 3\n", "t.yaml:4:1: duplicate key 'a': first used in line 1");
    refuses("x: {q: 1, z: 2, q: 3}\n", "t.yaml:1:17: duplicate key 'q'");
    refuses("? [1, 2]\n: 3\n", "t.yaml:1:3: a key must be a scalar");
    refuses("a: 1\n---\nb: 2\n", "t.yaml:2:1: more than one document");
    refuses("", "t.yaml:1:1: the document is empty");
    refuses("# nothing\n", "the document is empty");
}

static void skips_a_byte_order_mark(void **state) {
    (void)state;
    yaml_node *root = parse("\xef\xbb\xbf# from an editor\na: 1\n");
    assert_string_equal(yaml_find(root, "a")->text, "1");
    yaml_free(root);
    refuses("\xef\xbb\xbf"
            "a: &x 1\n",
            "t.yaml:1:4: anchors");
    refuses(
        "\xef\xbb\xbf"
        "a: \xff\n",
        "t.yaml:1:4: not UTF-8, but probably ISO-8859-1: convert it with iconv -f ISO-8859-1 -t "
        "UTF-8");
    refuses("\xef\xbb\xbf", "the document is empty");
}

static void names_the_encoding_of_other_text(void **state) {
    (void)state;
    refuses("a: \xce\xd2\xb5\xc4\xbb\xa8\n", // 我的花
            "t.yaml:1:5: not UTF-8, but probably GBK: convert it with iconv -f GBK -t UTF-8");
    refuses("# \xce\xd2\xb5\xc4\xd0\xc2\xca\xb5\xd1\xe9\na: 1\n", "probably GBK");
    refuses("a: Gr\xf6\xdf"
            "e\n",
            "not UTF-8, but probably ISO-8859-1");
    refuses("a: 5 \x93quoted\x94\n", "probably WINDOWS-1252");
    const char marked[] = "\xff\xfe"
                          "a\0:\0 \0"
                          "1\0",
               plain[] = "\0a\0:\0 \0"
                         "1";
    refuses_bytes(marked, sizeof marked - 1, "t.yaml:1:1: not UTF-8, but probably UTF-16");
    refuses_bytes(plain, sizeof plain - 1, "probably UTF-16: convert it with iconv -f UTF-16 -t");
    refuses("a: \x01\n", "t.yaml:1:4: control characters are not allowed");
}

static void only_valid_utf8_can_be_written(void **state) {
    (void)state;
    assert_true(printable_is_utf8(""));
    assert_true(printable_is_utf8("a\nb\x01 \xc3\xbc \xe2\x98\x83"));
    assert_false(printable_is_utf8("a\xff"));
    assert_false(printable_is_utf8("\xc3"));
}

static void refuses_ambiguous_booleans(void **state) {
    (void)state;
    static const char *const words[] = {"yes", "No", "ON", "off"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[32];
        snprintf(text, sizeof text, "a:\n  - %s\n", words[i]);
        refuses(text, "t.yaml:2:5: a bare yes, no, on or off");
    }
    refuses("on: 1\n", "t.yaml:1:1: a bare");
    yaml_node *root = parse("{a: 'no', b: \"yes\", c: nowhere}");
    yaml_free(root);
}

static void refuses_depth(void **state) {
    (void)state;
    yaml_node *root = parse("[[[[[[[[1]]]]]]]]"); // 8 levels
    yaml_free(root);
    refuses("[[[[[[[[[1]]]]]]]]]", "t.yaml:1:9: nested deeper than 8 levels");
    refuses("a:\n b:\n  c:\n   d:\n    e:\n     f:\n      g:\n       h:\n        i: 1\n",
            "t.yaml:9:9: nested deeper");
    // A bomb of brackets stops at the ninth, not after a million.
    char *bomb = malloc(1 << 20);
    memset(bomb, '[', 1 << 20);
    refuses_bytes(bomb, 1 << 20, "nested deeper");
    free(bomb);
}

static void refuses_size(void **state) {
    (void)state;
    char *big = malloc(YAML_MAX_BYTES + 1);
    memset(big, ' ', YAML_MAX_BYTES + 1);
    refuses_bytes(big, YAML_MAX_BYTES + 1, "longer than 1048576 bytes");
    free(big);
}

static void many_keys_are_quick(void **state) {
    (void)state;
    char *text = malloc(YAML_MAX_BYTES);
    size_t used = 0;
    for (int i = 0; used < YAML_MAX_BYTES - 20; i++)
        used += (size_t)sprintf(text + used, "k%d: 1\n", i);
    yaml_node *root;
    error err;
    assert_int_equal(yaml_read_text(text, used, "t", &root, &err), STATUS_OK);
    assert_true(root->count > 80000);
    yaml_free(root);
    used += (size_t)sprintf(text + used, "k7: 1\n");
    assert_int_equal(yaml_read_text(text, used, "t", &root, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "duplicate key 'k7': first used in line 8"));
    free(text);
}

static void refuses_bad_syntax(void **state) {
    (void)state;
    refuses("a: [1, 2\n", "t.yaml:1:4: this '[' is not closed by ']'");
    refuses("b: 1\na: {c: 1,\nd: 2\n", "t.yaml:2:4: this '{' is not closed by '}'");
    refuses("a: b: c\n", "t.yaml:1:5: unexpected ':'");
    refuses("a:\n\t- 1\n", "t.yaml:2:1: a tab: indent with blanks");
    refuses("a: 1\n\tb: 2\n", "t.yaml:2:1: a tab: indent with blanks");
    refuses("a:\n  b: 1\n  \tc: 2\n", "t.yaml:3:3: a tab: indent with blanks");
    refuses("a: @b\n", "t.yaml:1:4: a value cannot begin with this character: quote it");
    refuses("a: 'x\n", "t.yaml:1:4: this quote is not closed");
    refuses("a: 1\n b: 2\n", "t.yaml:2:3: unexpected ':': is this line, or the one before it");
    refuses("a:\n  b: 1\n c: 2\n", "t.yaml:3:2: unexpected text: is this line indented wrongly?");
    refuses("a: 1\nb 2\nc: 3\n", "t.yaml:2:1: expected KEY: VALUE");
    refuses("a: 1\nb:2\n", "t.yaml:2:1: expected KEY: VALUE, with a blank after the colon");
    refuses("%YAML 3.0\n---\na: 1\n", "t.yaml:");
    refuses_bytes("a: 1\nb\xff: 2\n", 11, "t.yaml:2:2: ");
    refuses_bytes("a: 1\n\xc3\xa4: \x01\n", 11, "t.yaml:2:4: ");
    refuses_bytes("a: \0\n", 5, "t.yaml:1:4: ");
    refuses("a: \"\\0\"\n", "t.yaml:1:4: a string must not contain a zero byte");
    refuses("a: \"\\ud800\"\n", "t.yaml:1:");
}

static void accepts_a_byte_order_mark(void **state) {
    (void)state;
    yaml_node *root = parse("\xef\xbb\xbf"
                            "a: 1\n");
    assert_non_null(yaml_find(root, "a"));
    yaml_free(root);
}

static yaml_type type_of(const char *text) {
    char line[64];
    snprintf(line, sizeof line, "- %s\n", text);
    yaml_node *root = parse(line);
    yaml_type type = yaml_scalar_type(root->items[0]);
    yaml_free(root);
    return type;
}

static void reads_the_core_types(void **state) {
    (void)state;
    assert_int_equal(type_of(""), YAML_NULL);
    assert_int_equal(type_of("~"), YAML_NULL);
    assert_int_equal(type_of("null"), YAML_NULL);
    assert_int_equal(type_of("'null'"), YAML_STRING);
    assert_int_equal(type_of("true"), YAML_BOOLEAN);
    assert_int_equal(type_of("False"), YAML_BOOLEAN);
    assert_int_equal(type_of("tRue"), YAML_STRING);
    assert_int_equal(type_of("0"), YAML_INTEGER);
    assert_int_equal(type_of("-12"), YAML_INTEGER);
    assert_int_equal(type_of("+12"), YAML_INTEGER);
    assert_int_equal(type_of("012"), YAML_NUMBER);
    assert_int_equal(type_of("0x12"), YAML_STRING);
    assert_int_equal(type_of("1.5"), YAML_NUMBER);
    assert_int_equal(type_of(".5"), YAML_NUMBER);
    assert_int_equal(type_of("5."), YAML_NUMBER);
    assert_int_equal(type_of("1e-3"), YAML_NUMBER);
    assert_int_equal(type_of("1e"), YAML_STRING);
    assert_int_equal(type_of("1.5.2"), YAML_STRING);
    assert_int_equal(type_of("."), YAML_STRING);
    assert_int_equal(type_of(".inf"), YAML_STRING);
    assert_int_equal(type_of("'1'"), YAML_STRING);
}

static void values_are_checked(void **state) {
    (void)state;
    yaml_node *root = parse("i: 12\nf: 1e-3\ns: word\nq: '12'\nb: true\nn:\nm: {}\n"
                            "h: 99999999999999999999\nhuge: 1e999\n");
    error err = {0};
    int64_t integer;
    double number;
    bool flag;
    const char *text;
    assert_int_equal(yaml_integer(yaml_find(root, "i"), "i", 0, 12, &integer, &err), STATUS_OK);
    assert_int_equal(integer, 12);
    assert_int_equal(yaml_number(yaml_find(root, "i"), "i", &number, &err), STATUS_OK);
    assert_true(number == 12);
    assert_int_equal(yaml_number(yaml_find(root, "f"), "f", &number, &err), STATUS_OK);
    assert_true(number == 1e-3);
    assert_int_equal(yaml_string(yaml_find(root, "q"), "q", &text, &err), STATUS_OK);
    assert_string_equal(text, "12");
    assert_int_equal(yaml_boolean(yaml_find(root, "b"), "b", &flag, &err), STATUS_OK);
    assert_true(flag);

    assert_int_equal(yaml_integer(yaml_find(root, "i"), "i", 0, 11, &integer, &err), STATUS_INPUT);
    assert_string_equal(err.message,
                        "t.yaml:1:4: 'i': expected an integer between 0 and 11, got '12'");
    assert_int_equal(yaml_integer(yaml_find(root, "h"), "h", 0, INT64_MAX, &integer, &err),
                     STATUS_INPUT);
    assert_non_null(strstr(
        err.message, "t.yaml:8:4: 'h': expected an integer between 0 and 9223372036854775807"));
    assert_int_equal(yaml_integer(yaml_find(root, "f"), "f", 0, 9, &integer, &err), STATUS_INPUT);
    assert_string_equal(err.message, "t.yaml:2:4: 'f': expected an integer, got '1e-3'");
    assert_int_equal(yaml_integer(yaml_find(root, "q"), "q", 0, 99, &integer, &err), STATUS_INPUT);
    assert_string_equal(err.message, "t.yaml:4:4: 'q': expected an integer, got the string '12'");
    assert_int_equal(yaml_number(yaml_find(root, "s"), "s", &number, &err), STATUS_INPUT);
    assert_string_equal(err.message, "t.yaml:3:4: 's': expected a number, got 'word'");
    assert_int_equal(yaml_number(yaml_find(root, "huge"), "huge", &number, &err), STATUS_INPUT);
    assert_int_equal(yaml_string(yaml_find(root, "n"), "n", &text, &err), STATUS_INPUT);
    assert_string_equal(err.message, "t.yaml:6:3: 'n': expected a string, got nothing");
    assert_int_equal(yaml_string(yaml_find(root, "i"), "i", &text, &err), STATUS_INPUT);
    assert_int_equal(yaml_string(yaml_find(root, "m"), "m", &text, &err), STATUS_INPUT);
    assert_string_equal(err.message, "t.yaml:7:4: 'm': expected a string, got a mapping");
    assert_int_equal(yaml_boolean(yaml_find(root, "s"), "s", &flag, &err), STATUS_INPUT);
    assert_string_equal(err.message, "t.yaml:3:4: 's': expected true or false, got 'word'");
    yaml_free(root);
}

static void unknown_keys_name_the_nearest(void **state) {
    (void)state;
    static const char *const known[] = {"global_batch", "epochs"};
    yaml_node *root = parse("epochs: 1\nglobal_bach: 64\n");
    error err;
    assert_int_equal(yaml_check_keys(root, known, 2, &err), STATUS_INPUT);
    assert_string_equal(err.message,
                        "t.yaml:2:1: unknown key 'global_bach': did you mean 'global_batch'?");
    yaml_free(root);
    root = parse("{epochs: 1, qqq: 2}");
    assert_int_equal(yaml_check_keys(root, known, 2, &err), STATUS_INPUT);
    assert_string_equal(err.message,
                        "t.yaml:1:13: unknown key 'qqq': the keys are: global_batch, epochs");
    yaml_free(root);
    root = parse("[1]");
    assert_int_equal(yaml_check_keys(root, known, 2, &err), STATUS_INPUT);
    assert_string_equal(err.message, "t.yaml:1:1: expected a mapping, got a list");
    yaml_free(root);
}

static char *written(const yaml_node *root) {
    char *text;
    size_t bytes;
    error err;
    assert_int_equal(yaml_write_text(root, &text, &bytes, &err), STATUS_OK);
    assert_int_equal(strlen(text), bytes);
    return text;
}

#define WORDS     "words and words and words and words "
#define LONG_LINE WORDS WORDS WORDS "and the end"

static void strings_are_quoted_if_necessary(void **state) {
    (void)state;
    static const char *const strings[] = {
        "plain",    "",       "null",      "~",     "true",   "yes", "No",
        "on",       "y",      "12",        "1e5",   "0x1f",   "012", "1_000",
        "12:30",    ".5",     ".inf",      "-.Inf", ".NaN",   "+1",  "2026-01-31T12:00:00Z",
        "1234abcd", "- x",    "a: b",      "a #b",  "{x",     "[x",  "*x",
        "&x",       "!x",     "%x",        "@x",    "'",      "\"",  "two\nlines",
        " lead",    "trail ", "tab\there", "<<",    "=",      "a,b", "grün",
        "\x01",     "-",      "?",         ":",     "x:",     "#x",  "|",
        ">",        "`x",     "---",       "...",   LONG_LINE};
    enum { N = sizeof strings / sizeof *strings };
    error err;
    yaml_node *root = yaml_new(YAML_SEQUENCE), *flow = yaml_new(YAML_SEQUENCE), *back;
    yaml_node *mapping = yaml_new(YAML_MAPPING);
    flow->flow = true;
    for (size_t i = 0; i < N; i++) {
        yaml_append(root, yaml_new_string(strings[i]));
        yaml_append(flow, yaml_new_string(strings[i]));
        yaml_put(mapping, strings[i], yaml_new_integer((int64_t)i));
    }
    yaml_append(root, flow);
    yaml_append(root, mapping);
    char *text = written(root);
    if (yaml_read_text(text, strlen(text), "back", &back, &err) != STATUS_OK)
        fail_msg("%s\n%s", err.message, text);
    assert_true(yaml_equal(root, back));
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(yaml_scalar_type(back->items[i]), YAML_STRING);
        assert_int_equal(yaml_scalar_type(back->items[N]->items[i]), YAML_STRING);
    }
    free(text);
    yaml_free(back);
    yaml_free(root);
}

static void writing_is_deterministic(void **state) {
    (void)state;
    yaml_node *root = yaml_new(YAML_MAPPING), *list = yaml_new(YAML_SEQUENCE);
    list->flow = true;
    yaml_append(list, yaml_new_number(0.5));
    yaml_append(list, yaml_new_number(1e-5));
    yaml_append(list, yaml_new_number(-10));
    yaml_append(list, yaml_new_number(3e6));
    yaml_put(root, "z", list);
    yaml_put(root, "a", yaml_new_boolean(true));
    yaml_put(root, "s", yaml_new_string("7"));
    yaml_put(root, "e", yaml_new(YAML_MAPPING));
    yaml_put(root, "a", yaml_new_integer(3)); // replaces
    char *text = written(root);
    assert_string_equal(text, "z: [0.5, 1.0e-05, -10, 3000000]\na: 3\ns: \"7\"\ne: {}\n");
    free(text);
    yaml_remove(root, "z");
    yaml_remove(root, "absent");
    text = written(root);
    assert_string_equal(text, "a: 3\ns: \"7\"\ne: {}\n");
    free(text);
    yaml_free(root);
}

static void numbers_read_back_exactly(void **state) {
    (void)state;
    static const double values[] = {0,      1,       -1,   0.1,           1e-5,   1e300,
                                    1e-300, 1.0 / 3, 2e22, 123456789.125, 5e-324, 0.001};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        error err;
        double back;
        yaml_node *node = yaml_new_number(values[i]);
        assert_int_equal(yaml_number(node, "x", &back, &err), STATUS_OK);
        assert_memory_equal(&back, &values[i], sizeof back);
        yaml_free(node);
    }
}

// Returns the text of `value`; checks that reading it, as YAML and as JSON, gives the value and the
// text again.
static char *number_of(double value) {
    error err;
    double back;
    yaml_node *node = yaml_new_number(value);
    assert_int_equal(yaml_number(node, "x", &back, &err), STATUS_OK);
    assert_memory_equal(&back, &value, sizeof back);
    char *text = strdup(node->text), *json, *again;
    yaml_node *second = yaml_new_number(back), *third;
    assert_string_equal(second->text, text);
    json = json_from_yaml(node);
    assert_int_equal(json_to_yaml(json, "j", &third, &err), STATUS_OK);
    assert_string_equal(third->text, text);
    again = json_from_yaml(third);
    assert_string_equal(again, json);
    yaml_free(node);
    yaml_free(second);
    yaml_free(third);
    free(again);
    free(json);
    return text;
}

static void different_numbers_have_different_texts(void **state) {
    (void)state;
    uint64_t bits = 1;
    for (int i = 0; i < 20000; i++) {
        double value;
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        memcpy(&value, &bits, sizeof value);
        // Every other one has a magnitude that settings have.
        if (i % 2) value = (double)(bits >> 20) / (double)(1ull << (i % 60));
        if (!isfinite(value) || !isfinite(nextafter(value, INFINITY))) continue;
        char *text = number_of(value), *next = number_of(nextafter(value, INFINITY));
        assert_string_not_equal(text, next);
        free(text);
        free(next);
    }
}

static void a_number_has_one_text(void **state) {
    (void)state;
    static const struct {
        const char *written, *text;
    } cases[] = {
        {"1e9", "1000000000"}, {"1e+09", "1000000000"}, {"1000000000", "1000000000"},
        {"1.0", "1"},          {"1e-8", "1.0e-08"},     {"0.00000001", "1.0e-08"},
        {"0.001", "0.001"},    {"1e-3", "0.001"},       {".1", "0.1"},
        {"-0.0", "0"},         {"1e15", "1.0e+15"},     {"1000000000000000", "1.0e+15"},
        {"2.50", "2.5"},       {"1e22", "1.0e+22"},     {"0.09999999776", "0.09999999776"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        error err;
        double value;
        yaml_node *written = parse(cases[i].written);
        assert_int_equal(yaml_number(written, "x", &value, &err), STATUS_OK);
        assert_false(signbit(value) && value == 0);
        yaml_node *number = yaml_new_number(value);
        assert_string_equal(number->text, cases[i].text);
        yaml_free(number);
        yaml_free(written);
    }
}

static void floats_have_nine_digits(void **state) {
    (void)state;
    yaml_node *node = yaml_new_float(0.1f);
    assert_string_equal(node->text, "0.100000001");
    yaml_free(node);
    node = yaml_new_float(0.5f);
    assert_string_equal(node->text, "0.5");
    yaml_free(node);
    float value = 0.1307f;
    for (int i = 0; i < 1000; i++) {
        node = yaml_new_float(value);
        yaml_node *next = yaml_new_float(nextafterf(value, 1));
        assert_true(strtof(node->text, NULL) == value);
        assert_string_not_equal(node->text, next->text);
        value = nextafterf(value, 1) * 1.01f;
        yaml_free(node);
        yaml_free(next);
    }
}

static void copies_keep_places_and_names(void **state) {
    (void)state;
    error err;
    yaml_node *root = parse("a: {b: [1, x]}\n"), *other = parse("y: 2\n");
    yaml_set_origin(other, "elsewhere", ERROR_IN_FILE, 0);
    yaml_put(root, "c", other);
    yaml_node *copy = yaml_copy(root);
    assert_true(yaml_equal(root, copy));
    yaml_free(root);
    int64_t value;
    assert_int_equal(yaml_integer(yaml_get(copy, "a.b.1"), "k", 0, 1, &value, &err), STATUS_INPUT);
    assert_string_equal(err.message, "t.yaml:1:12: 'k': expected an integer, got 'x'");
    assert_int_equal(yaml_integer(yaml_get(copy, "c.y"), "k", 0, 1, &value, &err), STATUS_INPUT);
    assert_string_equal(err.message,
                        "elsewhere: 'k': expected an integer between 0 and 1, got '2'");
    yaml_node *below = yaml_copy(yaml_get(copy, "a.b"));
    yaml_free(copy);
    assert_int_equal(yaml_integer(below->items[1], "k", 0, 1, &value, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "t.yaml:1:12: "));
    yaml_free(below);
}

static void equality_ignores_the_order_of_keys(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {{"{a: 1, b: 2}", "{b: 2, a: 1}", true},
                 {"[1, 2]", "[2, 1]", false},
                 {"{a: 1}", "{a: 1, b: 2}", false},
                 {"{a: 1, b: 2}", "{a: 1, c: 2}", false},
                 {"[1]", "{a: 1}", false},
                 {"x", "x", true},
                 {"[1, [2]]", "[1, [2]]", true},
                 {"[1, [2]]", "[1, [3]]", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        yaml_node *a = parse(cases[i].a), *b = parse(cases[i].b);
        assert_int_equal(yaml_equal(a, b), cases[i].equal);
        yaml_free(a);
        yaml_free(b);
    }
}

static void files_that_cannot_be_read(void **state) {
    (void)state;
    yaml_node *root;
    error err;
    assert_int_equal(yaml_read_file("/nonexistent/x.yaml", &root, &err), STATUS_INPUT);
    assert_string_equal(err.message, "cannot read YAML file: '/nonexistent/x.yaml': No such file "
                                     "or directory");
    assert_int_equal(yaml_read_file("/", &root, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "Is a directory"));
    assert_null(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_plain_documents),
        cmocka_unit_test(finds_keys_with_dots),
        cmocka_unit_test(refuses_documents_that_are_not_plain),
        cmocka_unit_test(skips_a_byte_order_mark),
        cmocka_unit_test(names_the_encoding_of_other_text),
        cmocka_unit_test(only_valid_utf8_can_be_written),
        cmocka_unit_test(refuses_ambiguous_booleans),
        cmocka_unit_test(refuses_depth),
        cmocka_unit_test(refuses_size),
        cmocka_unit_test(many_keys_are_quick),
        cmocka_unit_test(refuses_bad_syntax),
        cmocka_unit_test(accepts_a_byte_order_mark),
        cmocka_unit_test(reads_the_core_types),
        cmocka_unit_test(values_are_checked),
        cmocka_unit_test(unknown_keys_name_the_nearest),
        cmocka_unit_test(strings_are_quoted_if_necessary),
        cmocka_unit_test(writing_is_deterministic),
        cmocka_unit_test(numbers_read_back_exactly),
        cmocka_unit_test(different_numbers_have_different_texts),
        cmocka_unit_test(a_number_has_one_text),
        cmocka_unit_test(floats_have_nine_digits),
        cmocka_unit_test(copies_keep_places_and_names),
        cmocka_unit_test(equality_ignores_the_order_of_keys),
        cmocka_unit_test(files_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
