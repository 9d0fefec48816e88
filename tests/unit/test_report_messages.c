// Every message exists in every language, and takes the same arguments in all of them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "report/messages.h"

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
static bool is_plain(message m) {
    for (const char *p = message_text(LANGUAGE_EN, m); (p = strchr(p, '%')); p += 2)
        if (p[1] != '%') return p[1] == ' ' || !p[1];
    return true;
}

static void every_language_has_every_text(void **state) {
    (void)state;
    for (int m = 0; m < MESSAGES; m++)
        for (int l = 0; l < LANGUAGES; l++) assert_non_null(message_text((language)l, (message)m));
}

static void formats_agree(void **state) {
    (void)state;
    for (int m = 0; m < MESSAGES; m++) {
        signature english, other;
        if (is_plain((message)m)) continue;
        read_signature(message_text(LANGUAGE_EN, (message)m), english);
        for (int l = 1; l < LANGUAGES; l++) {
            read_signature(message_text((language)l, (message)m), other);
            if (memcmp(english, other, sizeof english) != 0)
                fail_msg("'%s' and '%s' take other arguments",
                         message_text(LANGUAGE_EN, (message)m),
                         message_text((language)l, (message)m));
        }
    }
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
        cmocka_unit_test(every_language_has_every_text),
        cmocka_unit_test(formats_agree),
        cmocka_unit_test(languages_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
