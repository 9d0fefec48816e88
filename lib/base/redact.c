// SPDX-License-Identifier: MIT
#include "base/redact.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"

static const char HIDDEN[] = "***";

static const char *last_at(const char *url, const char *end) {
    while (end > url)
        if (*--end == '@') return end;
    return NULL;
}

// A password may contain a character that ends a host name: "user:a/b@host". Then the "port" is not
// a number.
static bool has_bad_port(const char *url, const char *end) {
    const char *colon = memchr(url, ':', (size_t)(end - url));
    if (!colon || *url == '[') return false;
    for (const char *p = colon + 1; p < end; p++)
        if (!isdigit((unsigned char)*p)) return true;
    return false;
}

// Returns the end of user and password in the text after "://", or NULL. It is at the '@', if there
// is one.
static const char *end_of_user(const char *url, const char *end) {
    const char *host_end = url + strcspn(url, "/?#");
    if (host_end > end) host_end = end;
    const char *at = last_at(url, host_end);
    if (at || !has_bad_port(url, host_end)) return at;
    at = last_at(host_end, end);
    return at ? at : end;
}

// "a=1&b" becomes "a=***&***".
static void put_query(text *to, const char *query, const char *end) {
    while (query < end) {
        const char *next = query;
        while (next < end && *next != '&' && *next != ';') next++;
        const char *equals = memchr(query, '=', (size_t)(next - query));
        if (equals) text_bytes(to, query, (size_t)(equals + 1 - query));
        if (next > query) text_append(to, HIDDEN);
        if (next < end) text_bytes(to, next++, 1);
        query = next;
    }
}

// Writes the text after "://".
static void put_url(text *to, const char *url, const char *end) {
    const char *at = end_of_user(url, end);
    if (at) {
        text_append(to, HIDDEN);
        url = at;
    }
    const char *fragment = memchr(url, '#', (size_t)(end - url));
    if (!fragment) fragment = end;
    const char *query = memchr(url, '?', (size_t)(fragment - url));
    if (query) query++;
    text_bytes(to, url, (size_t)((query ? query : fragment) - url));
    if (query) put_query(to, query, fragment);
    if (fragment < end) text_format(to, "#%s", HIDDEN);
}

char *redact_urls(const char *string) {
    static const char SCHEME_END[] = "://";
    text redacted = {0};
    for (const char *mark; (mark = strstr(string, SCHEME_END));) {
        const char *from = mark + sizeof SCHEME_END - 1, *end = from + strcspn(from, " \t\r\n");
        text_bytes(&redacted, string, (size_t)(from - string));
        put_url(&redacted, from, end);
        string = end;
    }
    text_append(&redacted, string);
    return text_take(&redacted);
}
