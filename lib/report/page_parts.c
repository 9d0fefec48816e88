// SPDX-License-Identifier: MIT
#include "report/page_parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/markdown_text.h"
#include "base/memory.h"

// ---- Blocks ----

markdown_node *page_head(const markdown_node *root, text *title) {
    markdown_node *first = root->first;
    if (!first || first->kind != MARKDOWN_HEADING || first->number != 1) return first;
    markdown_text(first, title);
    return first->next;
}

static markdown_node *last_of(const markdown_node *node) {
    markdown_node *last = node->first;
    while (last && last->next) last = last->next;
    return last;
}

const markdown_node *page_footnote(const markdown_node *root) {
    const markdown_node *last = last_of(root), *first = last ? last->first : NULL;
    if (!first || last->kind != MARKDOWN_PARAGRAPH) return NULL;
    return strncmp(first->text, "†", strlen("†")) == 0 ? last : NULL;
}

bool page_is_section(const markdown_node *block) {
    return block->kind == MARKDOWN_HEADING && block->number == 2;
}

bool page_is_subsection(const markdown_node *block) {
    return block->kind == MARKDOWN_HEADING && block->number == 3;
}

static bool is_tag(const markdown_node *node, const char *tag) {
    return node && node->kind == MARKDOWN_HTML && strcmp(node->text, tag) == 0;
}

bool page_is_small(const markdown_node *node) {
    return is_tag(node, "<small>") || is_tag(node, "</small>");
}

bool page_is_note(const markdown_node *paragraph) {
    return paragraph->kind == MARKDOWN_PARAGRAPH && is_tag(paragraph->first, "<small>") &&
           is_tag(last_of(paragraph), "</small>");
}

bool page_is_picture(const markdown_node *paragraph) {
    const markdown_node *only = paragraph->first;
    return paragraph->kind == MARKDOWN_PARAGRAPH && only && only->kind == MARKDOWN_IMAGE &&
           !only->next;
}

bool page_is_caption(const markdown_node *block) {
    return block && block->kind == MARKDOWN_PARAGRAPH && !page_is_note(block) &&
           !page_is_picture(block);
}

bool page_is_comment(const markdown_node *block, const char *word) {
    const size_t length = strlen(word);
    if (block->kind != MARKDOWN_HTML_BLOCK || strncmp(block->text, "<!-- ", 5) != 0) return false;
    return strncmp(block->text + 5, word, length) == 0 &&
           strncmp(block->text + 5 + length, " -->", 4) == 0;
}

// ---- Marks ----

bool page_is_mark(const char *at, const char *mark) {
    return strncmp(at, mark, strlen(mark)) == 0;
}

const char *page_find_mark(const char *string) {
    while (*string && !page_is_mark(string, MARK_FIGURE) && !page_is_mark(string, MARK_SHOWN) &&
           !page_is_mark(string, MARK_END))
        string++;
    return string;
}

void page_strip_marks(text *t) {
    text plain = {0};
    for (const char *at = text_string(t); *at;) {
        const char *mark = page_find_mark(at);
        const char *shown = page_is_mark(mark, MARK_FIGURE) ? strstr(mark, MARK_SHOWN) : NULL;
        text_bytes(&plain, at, (size_t)(mark - at));
        at = shown ? shown + strlen(MARK_SHOWN) : *mark ? mark + strlen(MARK_END) : mark;
    }
    text_replace_by(t, &plain);
}

// ---- Cells ----

static size_t count_marks(const markdown_node *node) {
    size_t count = 0;
    for (const markdown_node *n = node->first; n; n = n->next) {
        for (const char *at = n->text; (at = strstr(at, MARK_FIGURE)); at++) count++;
        count += count_marks(n);
    }
    return count;
}

static void cut(char *from, const char *to) {
    memmove(from, to, strlen(to) + 1);
}

// Takes a text out of its parent if nothing is left of it.
static void drop_empty(markdown_node *parent, markdown_node *node) {
    markdown_node **at = &parent->first;
    if (*node->text) return;
    while (*at != node) at = &(*at)->next;
    *at = node->next;
    node->next = NULL;
    markdown_free(node);
}

// Returns the id if the whole cell shows one figure, and removes the marks; else NULL.
static char *take_id(markdown_node *c) {
    markdown_node *first = c->first, *last = last_of(c);
    if (!first || count_marks(c) != 1) return NULL;
    char *shown = strstr(first->text, MARK_SHOWN);
    char *end = last->kind == MARKDOWN_TEXT ? strstr(last->text, MARK_END) : NULL;
    const size_t mark = strlen(MARK_FIGURE);
    if (first->kind != MARKDOWN_TEXT || strncmp(first->text, MARK_FIGURE, mark) != 0 || !shown ||
        !end || end[mark])
        return NULL;
    *end = 0;
    *shown = 0;
    char *id = memory_string(first->text + mark);
    cut(first->text, shown + strlen(MARK_SHOWN));
    if (last != first) drop_empty(c, last);
    drop_empty(c, first);
    return id;
}

// Longer texts with words, in a column of numbers, are no numbers.
enum { NUMBER_COLUMNS = 14, WORD_LETTERS = 4 };

static bool has_words(const char *string) {
    size_t letters = 0;
    for (; *string && letters < WORD_LETTERS; string++)
        letters = isalpha((unsigned char)*string) || (unsigned char)*string >= TEXT_WIDE
                      ? letters + 1
                      : 0;
    return letters == WORD_LETTERS;
}

static bool is_only(const markdown_node *node, markdown_kind kind) {
    return node && !node->next && node->kind == kind;
}

static page_cell_kind kind_of(const page_cell *c) {
    if (is_only(c->content->first, MARKDOWN_STRONG)) return PAGE_STRONG;
    if (is_only(c->content->first, MARKDOWN_CODE)) return PAGE_CODE;
    if (!c->right) return PAGE_TEXT;
    return text_columns(c->text) > NUMBER_COLUMNS && has_words(c->text) ? PAGE_TEXT : PAGE_NUMBER;
}

static void read_cell(markdown_node *node, page_cell *c) {
    text plain = {0};
    markdown_node *holder = is_only(node->first, MARKDOWN_STRONG) ? node->first : node;
    *c = (page_cell){.right = node->number, .id = take_id(holder), .content = node};
    markdown_text(node, &plain);
    page_strip_marks(&plain);
    c->text = memory_string(text_string(&plain));
    c->kind = kind_of(c);
    text_release(&plain);
}

void page_table_read(markdown_node *node, page_table *t) {
    size_t room = 0;
    *t = (page_table){0};
    for (const markdown_node *row = node->first; row; row = row->next)
        for (markdown_node *c = row->first; c; c = c->next) {
            t->cells = memory_grow(t->cells, &room, t->count + 1, sizeof *t->cells);
            read_cell(c, &t->cells[t->count++]);
            t->columns += row == node->first;
        }
}

void page_table_release(page_table *t) {
    for (size_t i = 0; i < t->count; i++) {
        free(t->cells[i].text);
        free(t->cells[i].id);
    }
    free(t->cells);
    *t = (page_table){0};
}
