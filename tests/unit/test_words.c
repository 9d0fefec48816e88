// SPDX-License-Identifier: MIT
// Translations are in order, and take the same arguments as the English text. scripts/check-words
// checks that every text has one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "words/words.h"

enum { ARGUMENTS_MAX = 16, TYPE_MAX = 4 };

// The conversion of each argument, without flags, width and precision: "s", "lld", "zu", "f".
typedef char signature[ARGUMENTS_MAX][TYPE_MAX];

static const char *read_conversion(const char *p, size_t *next, signature s) {
    size_t place = *next;
    char *end;
    unsigned long position = strtoul(p, &end, 10);
    if (end > p && *end == '$') {
        place = position - 1;
        p = end + 1;
    }
    p += strspn(p, "+-# 0123456789.");
    size_t length = strspn(p, "hlzjt") + 1;
    assert_true(place < ARGUMENTS_MAX && length < TYPE_MAX &&
                isalpha((unsigned char)p[length - 1]));
    memcpy(s[place], p, length);
    (*next)++;
    return p + length;
}

static void read_signature(const char *format, signature s) {
    size_t next = 0;
    memset(s, 0, sizeof(signature));
    for (const char *p = format; (p = strchr(p, '%'));) {
        p++;
        if (*p == '%')
            p++;
        else
            p = read_conversion(p, &next, s);
    }
}

// Some texts are formats with "%%", others are shown as they are with "% ".
static bool is_plain(const char *text) {
    for (const char *p = text; (p = strchr(p, '%')); p += 2)
        if (p[1] != '%') return p[1] == ' ' || !p[1];
    return true;
}

// words_in searches them by bisection.
static void pairs_are_in_order(void **state) {
    (void)state;
    const char *english, *other, *before = "";
    for (int l = 1; l < LANGUAGES; l++, before = "")
        for (size_t i = 0; words_pair((language)l, i, &english, &other); i++, before = english) {
            if (strcmp(before, english) >= 0) fail_msg("'%s' comes after '%s'", english, before);
            assert_string_equal(words_in((language)l, english), other);
            assert_string_equal(words_in(LANGUAGE_EN, english), english);
        }
}

static void formats_agree(void **state) {
    (void)state;
    const char *english, *other;
    for (int l = 1; l < LANGUAGES; l++)
        for (size_t i = 0; words_pair((language)l, i, &english, &other); i++) {
            signature of_english, of_other;
            if (is_plain(english)) continue;
            read_signature(english, of_english);
            read_signature(other, of_other);
            if (memcmp(of_english, of_other, sizeof of_english) != 0)
                fail_msg("'%s' and '%s' take different arguments", english, other);
        }
}

static void unknown_texts_stay_english(void **state) {
    (void)state;
    assert_string_equal(words_in(LANGUAGE_ZH, "no such text"), "no such text");
}

static void languages_are_found_by_name(void **state) {
    (void)state;
    language l;
    assert_true(language_find("zh", &l));
    assert_int_equal(l, LANGUAGE_ZH);
    assert_string_equal(language_name(l), "zh");
    assert_false(language_find("fr", &l));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_in_order),
        cmocka_unit_test(formats_agree),
        cmocka_unit_test(unknown_texts_stay_english),
        cmocka_unit_test(languages_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
