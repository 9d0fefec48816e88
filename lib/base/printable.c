// SPDX-License-Identifier: MIT
#include "base/printable.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

// Returns the number of bytes of the character at `s`, and its code; 0 if it is not a character.
static size_t decode(const unsigned char *s, uint32_t *code) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t length = *s < 0x80             ? 1
                          : (*s & 0xE0) == 0xC0 ? 2
                          : (*s & 0xF0) == 0xE0 ? 3
                          : (*s & 0xF8) == 0xF0 ? 4
                                                : 0;
    *code = length == 1 ? *s : *s & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xC0) != 0x80) return 0;
        *code = *code << 6 | (s[i] & 0x3Fu);
    }
    if (length > 1 && *code < least[length]) return 0; // overlong
    return *code > 0x10FFFF || (*code >= 0xD800 && *code < 0xE000) ? 0 : length;
}

bool printable_is_utf8(const char *string) {
    uint32_t code;
    for (size_t length; *string; string += length) {
        length = decode((const unsigned char *)string, &code);
        if (!length) return false;
    }
    return true;
}

static bool is_utf16(const unsigned char *s, size_t bytes) {
    const bool mark = bytes >= 2 && s[0] + s[1] == 0xFF + 0xFE && s[0] >= 0xFE;
    return mark || (bytes >= 4 && !s[0] != !s[1] && !s[2] == !s[0] && !s[3] == !s[1]);
}

// Most characters of Chinese text are pairs of high bytes that begin with 0xA1 to 0xD7. In Western
// text a high byte is mostly alone, and seldom one of those.
const char *printable_encoding(const char *string, size_t bytes) {
    const unsigned char *s = (const unsigned char *)string;
    size_t chinese = 0, western = 0;
    bool windows = false;
    if (is_utf16(s, bytes)) return "UTF-16";
    for (size_t i = 0; i < bytes; i++) {
        if (s[i] < 0x80) continue;
        const bool pair = i + 1 < bytes && s[i + 1] >= 0xA1;
        windows |= s[i] < 0xA0;
        if (pair && s[i] >= 0xA1 && s[i] <= 0xD7)
            chinese++;
        else
            western++;
        i += pair;
    }
    return chinese > western ? "GBK" : windows ? "WINDOWS-1252" : "ISO-8859-1";
}

static bool is_control(uint32_t code, bool one_line) {
    if (code == '\t' || code == '\n') return one_line;
    const bool turns = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || turns;
}

size_t printable(char *string, bool one_line) {
    char *to = string;
    for (const char *from = string; *from;) {
        uint32_t code;
        const size_t length = decode((const unsigned char *)from, &code);
        if (!length || is_control(code, one_line)) {
            *to++ = '?';
        } else {
            memmove(to, from, length);
            to += length;
        }
        from += length ? length : 1;
    }
    *to = 0;
    return (size_t)(to - string);
}

void printable_escape(const char *string, char *escaped) {
    for (const char *from = string; *from;) {
        uint32_t code;
        const size_t length = decode((const unsigned char *)from, &code);
        const size_t bytes = length ? length : 1;
        const bool shown = length && !is_control(code, true);
        for (size_t i = 0; i < bytes; i++)
            escaped += sprintf(escaped, shown ? "%c" : "\\x%02x", (unsigned char)from[i]);
        from += bytes;
    }
    *escaped = 0;
}

bool printable_line_ends(char *string) {
    char *to = string;
    for (const char *c = string; *c; c++)
        if (c[0] != '\r' || c[1] != '\n') *to++ = *c;
    const bool any = *to != 0;
    *to = 0;
    return any;
}
