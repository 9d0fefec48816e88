// SPDX-License-Identifier: MIT
// Parses a small subset of Markdown into blocks of a document.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/document.h"

// ---- Pieces of a text ----

typedef struct mark {
    const char *sign;
    span_style style;
} mark;

// Longest first.
static const mark marks[] = {{"`", SPAN_CODE},
                             {"**", SPAN_STRONG},
                             {"__", SPAN_STRONG},
                             {"*", SPAN_EMPHASIS},
                             {"_", SPAN_EMPHASIS}};

// The longest text between two marks. Without a limit, a file of unclosed marks would take
// quadratic time.
enum { MARKED_MAX = 2048 };

static bool is_blank(char c) {
    return c == ' ' || c == '\n' || c == 0;
}

// Does `sign` close at `at`, after its text? An underscore inside a word does not.
static bool closes(const char *at, const char *sign) {
    const size_t length = strlen(sign);
    if (strncmp(at, sign, length) != 0 || is_blank(at[-1])) return false;
    return *sign != '_' || !isalnum((unsigned char)at[length]);
}

// Finds the mark that opens at `at` and is closed; *end is its end. NULL if there is none.
static const mark *find_mark(const char *all, const char *at, const char **end) {
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *sign = marks[i].sign, *inside = at + strlen(sign);
        if (strncmp(at, sign, strlen(sign)) != 0 || is_blank(*inside)) continue;
        if (*sign == '_' && at > all && isalnum((unsigned char)at[-1])) continue;
        for (*end = inside + 1; **end && *end - inside < MARKED_MAX; ++*end)
            if (closes(*end, sign)) return &marks[i];
    }
    return NULL;
}

bool document_next_span(const block *b, const char **at, span *s) {
    const char *start = *at, *end = NULL;
    if (!*start) return false;
    *s = (span){SPAN_PLAIN, start, strlen(start)};
    const mark *m = b->marked ? find_mark(b->text, start, &end) : NULL;
    if (m) {
        const size_t sign = strlen(m->sign);
        *s = (span){m->style, start + sign, (size_t)(end - start) - sign};
        *at = end + sign;
        return true;
    }
    for (size_t i = 1; b->marked && start[i] && s->length > i; i++)
        if (find_mark(b->text, start + i, &end)) s->length = i;
    *at = start + s->length;
    return true;
}

// ---- Lines ----

// A block that grows line by line.
typedef struct open_block {
    document *d;
    text text;
    block_kind kind;
    int number;
} open_block;

static void finish(open_block *o) {
    if (o->text.length) {
        document_add(o->d, o->kind, "%s", text_string(&o->text));
        block *b = &o->d->blocks[o->d->count - 1];
        b->marked = o->kind != BLOCK_CODE;
        b->number = o->number;
    }
    text_release(&o->text);
    text_init(&o->text);
    o->kind = BLOCK_PARAGRAPH;
    o->number = 0;
}

static void begin(open_block *o, block_kind kind, int number) {
    finish(o);
    o->kind = kind;
    o->number = number;
}

// Joins lines with a blank, except between wide characters, which are written without blanks.
static void add_line(open_block *o, const char *line, size_t length) {
    const char *before = text_string(&o->text);
    if (o->kind == BLOCK_CODE) {
        if (o->text.length) text_append(&o->text, "\n");
    } else if (o->text.length && length) {
        size_t last = o->text.length - 1;
        while (last && ((unsigned char)before[last] & 0xC0) == 0x80) last--;
        bool wide = (unsigned char)before[last] >= TEXT_WIDE && (unsigned char)*line >= TEXT_WIDE;
        if (!wide) text_append(&o->text, " ");
    }
    text_bytes(&o->text, line, length);
}

// Returns the length of "- ", "* ", "12. "; 0 if the line begins no item. *number: see block.
static size_t item_sign(const char *line, int *number) {
    size_t digits = strspn(line, "0123456789");
    *number = 0;
    if (strchr("-*+", *line) && *line && line[1] == ' ') return 2;
    if (!digits || digits > 4 || line[digits] != '.' || line[digits + 1] != ' ') return 0;
    *number = atoi(line);
    return digits + 2;
}

static void read_line(open_block *o, const char *line, size_t length) {
    const size_t hashes = strspn(line, "#");
    int number;
    size_t blank = strspn(line, " \t");
    if (blank > length) blank = length;
    line += blank;
    length -= blank;
    size_t sign = item_sign(line, &number);
    if (!length) {
        finish(o);
    } else if (hashes && hashes <= 6 && line[hashes] == ' ') {
        begin(o, BLOCK_SUBHEADING, 0);
        add_line(o, line + hashes + 1, length - hashes - 1);
        finish(o);
    } else if (sign && sign < length) {
        begin(o, BLOCK_ITEM, number);
        add_line(o, line + sign, length - sign);
    } else {
        add_line(o, line, length);
    }
}

// "```", "```python", also inside a list; "```x``` y" is text.
static bool is_fence(const char *line, size_t length) {
    const size_t blank = strspn(line, " \t");
    if (strncmp(line + blank, "```", 3) != 0) return false;
    return !memchr(line + blank + 3, '`', length - blank - 3);
}

void document_markdown(document *d, const char *markdown) {
    open_block o = {.d = d, .kind = BLOCK_PARAGRAPH};
    bool fenced = false;
    text_init(&o.text);
    while (*markdown) {
        size_t length = strcspn(markdown, "\r\n");
        bool fence = is_fence(markdown, length);
        if (fence) begin(&o, fenced ? BLOCK_PARAGRAPH : BLOCK_CODE, 0);
        if (fence)
            fenced = !fenced;
        else if (fenced)
            add_line(&o, markdown, length);
        else
            read_line(&o, markdown, length);
        markdown += length;
        if (*markdown == '\r') markdown++;
        if (*markdown == '\n') markdown++;
    }
    finish(&o);
    text_release(&o.text);
}
