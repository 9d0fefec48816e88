// SPDX-License-Identifier: MIT
#include "base/redact.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

static const char HIDDEN[] = "***";

typedef struct writer {
    char *to;
} writer;

static void put(writer *w, const char *text, size_t bytes) {
    memcpy(w->to, text, bytes);
    w->to += bytes;
}

static void hide(writer *w) {
    put(w, HIDDEN, sizeof HIDDEN - 1);
}

static const char *last_at(const char *text, const char *end) {
    while (end > text)
        if (*--end == '@') return end;
    return NULL;
}

// A password may contain a character that ends a host name: "user:a/b@host". Then the "port" is not
// a number.
static bool has_bad_port(const char *text, const char *end) {
    const char *colon = memchr(text, ':', (size_t)(end - text));
    if (!colon || *text == '[') return false;
    for (const char *p = colon + 1; p < end; p++)
        if (!isdigit((unsigned char)*p)) return true;
    return false;
}

// Returns the end of user and password in the text after "://", or NULL. It is at the '@', if there
// is one.
static const char *end_of_user(const char *text, const char *end) {
    const char *host_end = text + strcspn(text, "/?#");
    if (host_end > end) host_end = end;
    const char *at = last_at(text, host_end);
    if (at || !has_bad_port(text, host_end)) return at;
    at = last_at(host_end, end);
    return at ? at : end;
}

// "a=1&b" becomes "a=***&***".
static void put_query(writer *w, const char *text, const char *end) {
    while (text < end) {
        const char *next = text;
        while (next < end && *next != '&' && *next != ';') next++;
        const char *equals = memchr(text, '=', (size_t)(next - text));
        if (equals) put(w, text, (size_t)(equals + 1 - text));
        if (next > text) hide(w);
        if (next < end) put(w, next++, 1);
        text = next;
    }
}

// Writes the text after "://".
static void put_url(writer *w, const char *text, const char *end) {
    const char *at = end_of_user(text, end);
    if (at) {
        hide(w);
        text = at;
    }
    const char *fragment = memchr(text, '#', (size_t)(end - text));
    if (!fragment) fragment = end;
    const char *query = memchr(text, '?', (size_t)(fragment - text));
    if (query) query++;
    put(w, text, (size_t)((query ? query : fragment) - text));
    if (query) put_query(w, query, fragment);
    if (fragment == end) return;
    put(w, "#", 1);
    hide(w);
}

char *redact_urls(const char *text) {
    static const char SCHEME_END[] = "://";
    // Each byte becomes at most four: a query of "&a".
    char *redacted = memory_new(4 * strlen(text) + 1, 1);
    writer w = {redacted};
    for (;;) {
        const char *mark = strstr(text, SCHEME_END);
        if (!mark) break;
        const char *from = mark + sizeof SCHEME_END - 1, *end = from + strcspn(from, " \t\r\n");
        put(&w, text, (size_t)(from - text));
        put_url(&w, from, end);
        text = end;
    }
    put(&w, text, strlen(text) + 1);
    return redacted;
}
