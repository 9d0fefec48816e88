// SPDX-License-Identifier: MIT
// Pickles: those of Python 2 and of a current Python are read, nothing else; no truncated or
// altered file does harm.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/source/pickle.h"

// {"labels": [1, 300, -2], "data": array([[1, 2, 3], [4, 5, 6]], dtype=uint8)}, without the final
// zero of the C string.
static const char python2[] =
    "\x80\x02}q\x01(U\x06labelsq\x02]q\x03(K\x01M\x2c\x01J\xfe\xff\xff\xff"
    "eU\x04"
    "dataq\x04"
    "cnumpy.core.multiarray\n_reconstruct\nq\x05"
    "cnumpy\nndarray\nq\x06K\x00\x85U\x01"
    "b\x87Rq\x07(K\x01K\x02K\x03\x86"
    "cnumpy\ndtype\nq\x08U\x02u1K\x00K\x01\x87Rq\x09(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff"
    "\xffK\x00tb\x89U\x06\x01\x02\x03\x04\x05\x06tbu.";
// The same array alone, by protocol 4: frames, MEMOIZE, STACK_GLOBAL, bytes.
static const char python4[] =
    "\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x04"
    "data\x94\x8c\x16numpy._core.multiarray\x94\x8c\x0c_reconstruct\x94\x93\x94\x8c\x05numpy\x94"
    "\x8c\x07ndarray\x94\x93\x94K\x00\x85\x94"
    "C\x01"
    "b\x94\x87\x94R\x94(K\x01K\x02K\x03\x86\x94h\x05\x8c\x05"
    "dtype\x94\x93\x94\x8c\x02u1\x94\x89\x88\x87\x94R\x94(K\x03\x8c\x01|\x94NNNJ\xff\xff\xff\xffJ"
    "\xff\xff\xff\xffK\x00t\x94"
    "b\x89"
    "C\x06\x01\x02\x03\x04\x05\x06\x94t\x94"
    "bu.";

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

static void expect_array(const pickle *p) {
    const pickle_value *data = pickle_find(p->root, "data");
    assert_non_null(data);
    assert_int_equal(data->kind, PICKLE_ARRAY);
    assert_int_equal(data->rank, 2);
    assert_int_equal(data->shape[0], 2);
    assert_int_equal(data->shape[1], 3);
    assert_memory_equal(data->bytes, "\1\2\3\4\5\6", 6);
}

static void reads_python_2_and_python_3(void **state) {
    (void)state;
    pickle p;
    assert_int_equal(pickle_parse(BYTES(python2), "p", &p, NULL), STATUS_OK);
    expect_array(&p);
    const pickle_value *labels = pickle_find(p.root, "labels");
    assert_int_equal(labels->count, 3);
    assert_int_equal(labels->items[0]->integer, 1);
    assert_int_equal(labels->items[1]->integer, 300);
    assert_int_equal(labels->items[2]->integer, -2);
    assert_null(pickle_find(p.root, "label"));
    pickle_release(&p);
    assert_int_equal(pickle_parse(BYTES(python4), "p", &p, NULL), STATUS_OK);
    expect_array(&p);
    pickle_release(&p);
}

// By protocol 2, Python 3 writes bytes as encode("é…", "latin1").
static void decodes_latin1(void **state) {
    (void)state;
    pickle p;
    assert_int_equal(pickle_parse(BYTES("\x80\x02"
                                        "c_codecs\nencode\nX\x05\x00\x00\x00"
                                        "a\xc3\xbf\xc2\x80X\x06\x00\x00\x00latin1\x86R."),
                                  "p", &p, NULL),
                     STATUS_OK);
    assert_int_equal(p.root->length, 3);
    assert_memory_equal(p.root->bytes, "a\xff\x80", 3);
    pickle_release(&p);
}

static void refuses(const uint8_t *file, size_t bytes, const char *why) {
    pickle p;
    error err = {0};
    assert_int_equal(pickle_parse(file, bytes, "some-file", &p, &err), STATUS_INPUT);
    pickle_release(&p);
    assert_non_null(strstr(err.message, "cannot read pickle: 'some-file': "));
    if (!strstr(err.message, why)) fail_msg("'%s' lacks '%s'", err.message, why);
}

static void reads_empty_tuples(void **state) {
    pickle p;
    (void)state;
    assert_int_equal(pickle_parse(BYTES("\x80\x02)."), "p", &p, NULL), STATUS_OK);
    assert_int_equal(p.root->kind, PICKLE_TUPLE);
    pickle_release(&p);
    assert_int_equal(pickle_parse(BYTES("\x80\x02(t."), "p", &p, NULL), STATUS_OK);
    assert_int_equal(p.root->count, 0);
    pickle_release(&p);
}

static void executes_nothing(void **state) {
    (void)state;
    refuses(BYTES("\x80\x02"
                  "cos\nsystem\nU\x04true\x85R."),
            "it calls something other than NumPy's array functions, at byte 2");
    refuses(BYTES("\x80\x04\x8c\x08"
                  "builtins\x8c\x04"
                  "eval\x93."),
            "it calls something other than NumPy's array functions, at byte 18");
    refuses(BYTES("\x80\x02(ios\nsystem\n."), "unsupported opcode 0x69, at byte 3");
    refuses(BYTES("\x80\x02U\x01x)R."), "it calls a value that is not a function, at byte 6");
    refuses(BYTES("\x80\x02}}b."),
            "sets the state of something other than a NumPy array, at byte 4");
    refuses(BYTES("\x80\x02"
                  "cnumpy\ndtype\nU\x02O8\x85R."),
            "elements other than unsigned bytes");
}

static void refuses_bad_pickles(void **state) {
    (void)state;
    refuses(BYTES(""), "does not begin as a pickle");
    refuses(BYTES("(dp1\n."), "does not begin as a pickle");
    refuses(BYTES("\x80\x05N."), "protocol 5, expected 2 to 4, at byte 0");
    refuses(BYTES("\x80\x02NN."), "2 values remain");
    refuses(BYTES("\x80\x02N.N"), "extra bytes after its end, at byte 4");
    refuses(BYTES("\x80\x02N"), "ends without STOP, at byte 3");
    refuses(BYTES("\x80\x02."), "0 values remain");
    refuses(BYTES("\x80\x02t."), "there is no mark, at byte 2");
    refuses(BYTES("\x80\x02N(\x85."), "its stack is empty, at byte 4");
    refuses(BYTES("\x80\x02(Na."), "its stack is empty");
    refuses(BYTES("\x80\x02](NNNu."), "appends to a value that is not a dictionary, at byte 7");
    refuses(BYTES("\x80\x02}(Nu."), "appends to a value that is not a dictionary");
    refuses(BYTES("\x80\x02h\x00."), "the memo has no such entry, at byte 2");
    refuses(BYTES("\x80\x02Nr\xff\xff\xff\x7f."), "the memo has a gap, at byte 3");
    refuses(BYTES("\x80\x02T\xff\xff\xff\xffx."), "ends inside an opcode, at byte 2");
    refuses(BYTES("\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xffx."), "ends inside an opcode");
}

// Many requested copies of a text would fill the memory.
static void refuses_a_bomb(void **state) {
    (void)state;
    enum { TEXT = 1000, COPIES = 100 };
    uint8_t file[TEXT + 40 + 24 * COPIES];
    size_t at = 0;
#define PUT(text) (memcpy(file + at, text, sizeof(text) - 1), at += sizeof(text) - 1)
    PUT("\x80\x02X\xe8\x03\x00\x00");
    memset(file + at, 'x', TEXT);
    at += TEXT;
    PUT("q\x00X\x06\x00\x00\x00latin1q\x01");
    for (int i = 0; i < COPIES; i++) PUT("c_codecs\nencode\nh\x00h\x01\x86R");
    PUT(".");
    refuses(file, at, "encodes more text than there is");
}

// Any damaged file must do no harm, whatever the answer is. The copy has exactly the file's size,
// so that a sanitizer detects the first byte read past it.
static status parse_copy(const uint8_t *file, size_t bytes) {
    uint8_t *copy = malloc(bytes + !bytes);
    pickle p;
    memcpy(copy, file, bytes);
    status rc = pickle_parse(copy, bytes, "p", &p, NULL);
    pickle_release(&p);
    free(copy);
    return rc;
}

static void survives_cuts_and_changes(const uint8_t *file, size_t bytes) {
    uint8_t *changed = malloc(bytes);
    for (size_t cut = 0; cut < bytes; cut++) assert_int_equal(parse_copy(file, cut), STATUS_INPUT);
    for (size_t at = 0; at < bytes; at++)
        for (int value = 0; value < 256; value++) {
            memcpy(changed, file, bytes);
            changed[at] = (uint8_t)value;
            const status rc = parse_copy(changed, bytes);
            assert_true(rc == STATUS_OK || rc == STATUS_INPUT);
        }
    free(changed);
}

static void survives_truncated_and_changed_files(void **state) {
    (void)state;
    survives_cuts_and_changes(BYTES(python2));
    survives_cuts_and_changes(BYTES(python4));
}

static void refuses_other_opcodes(void **state) {
    (void)state;
    static const char known[] = "(.JKMNRTUXBCabcehjqrstu)]}\x80\x85\x86\x87\x88\x89\x8a\x8c\x8d\x8e"
                                "\x93\x94\x95";
    for (int opcode = 0; opcode < 256; opcode++) {
        const uint8_t file[] = {0x80, 2, (uint8_t)opcode};
        char why[40];
        snprintf(why, sizeof why, "unsupported opcode 0x%02x, at byte 2", (unsigned)opcode);
        if (!opcode || !strchr(known, opcode)) refuses(file, sizeof file, why);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_python_2_and_python_3),
        cmocka_unit_test(decodes_latin1),
        cmocka_unit_test(reads_empty_tuples),
        cmocka_unit_test(executes_nothing),
        cmocka_unit_test(refuses_bad_pickles),
        cmocka_unit_test(refuses_a_bomb),
        cmocka_unit_test(survives_truncated_and_changed_files),
        cmocka_unit_test(refuses_other_opcodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
