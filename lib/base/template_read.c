// SPDX-License-Identifier: MIT
// Reads templates: text, tags and expressions.
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/paths.h"
#include "base/template.h"
#include "base/template_internal.h"

// ---- Folders ----

enum { TEMPLATES_MAX = 100 };

static bool is_template(const char *name) {
    const size_t length = strlen(name);
    return *name != '.' && length > 3 && strcmp(name + length - 3, ".md") == 0;
}

status template_folder_list(const char *folder, strvec *names, error *err) {
    if (!paths_list(folder, is_template, false, names))
        return error_system(err, STATUS_INPUT, errno, "cannot read the templates in '%s'", folder);
    if (names->count == 0)
        return error_set(err, STATUS_INPUT, "no template (*.md) in '%s'", folder);
    if (names->count > TEMPLATES_MAX)
        return error_set(err, STATUS_INPUT, "more than %d templates (*.md) in '%s'", TEMPLATES_MAX,
                         folder);
    return STATUS_OK;
}

// ---- Expressions ----

// A place in a template. `end` is that of the tag.
typedef struct reader {
    const char *at, *end, *place;
    int line, depth, links; // of the tag's expressions
    error *err;
} reader;

static void free_expression(expression *e) {
    if (!e) return;
    free_expression(e->left);
    free_expression(e->right);
    free(e->text);
    free(e);
}

static expression *new_expression(expression_kind kind, expression *left, expression *right) {
    expression *e = memory_new(1, sizeof *e);
    e->kind = kind;
    e->left = left;
    e->right = right;
    return e;
}

static char *copy(const char *from, size_t length) {
    char *to = memory_new(length + 1, 1);
    memcpy(to, from, length);
    return to;
}

static void skip_blanks(reader *r) {
    while (r->at < r->end && isspace((unsigned char)*r->at)) {
        if (*r->at == '\n') r->line++;
        r->at++;
    }
}

static status wrong(reader *r, const char *what) {
    skip_blanks(r);
    int length = (int)(r->end - r->at);
    if (length > 20) length = 20;
    if (length == 0)
        return error_set(r->err, STATUS_INPUT, "%s:%d: %s, but the tag ends", r->place, r->line,
                         what);
    return error_set(r->err, STATUS_INPUT, "%s:%d: %s before '%.*s'", r->place, r->line, what,
                     length, r->at);
}

static bool is_letter(char c) {
    return isalpha((unsigned char)c) || c == '_';
}

// Returns the length of the word that begins here; 0: none.
static size_t word_length(const reader *r) {
    const char *at = r->at;
    if (at == r->end || !is_letter(*at)) return 0;
    while (at < r->end && (is_letter(*at) || isdigit((unsigned char)*at))) at++;
    return (size_t)(at - r->at);
}

// Takes a sign or a whole word.
static bool take(reader *r, const char *sign) {
    const size_t length = strlen(sign);
    skip_blanks(r);
    if ((size_t)(r->end - r->at) < length || strncmp(r->at, sign, length) != 0) return false;
    if (is_letter(*sign) && word_length(r) != length) return false;
    r->at += length;
    return true;
}

// Takes any word, or returns NULL.
static char *take_word(reader *r) {
    skip_blanks(r);
    const size_t length = word_length(r);
    if (!length) return NULL;
    r->at += length;
    return copy(r->at - length, length);
}

static status read_expression(reader *r, int level, expression **e);

// Counts what makes an expression of another one, as a member, a filter and an operator do.
static status read_link(reader *r) {
    return ++r->links > TEMPLATE_LINKS ? wrong(r, "too long an expression") : STATUS_OK;
}

static status read_text(reader *r, expression **e) {
    const char quote = *r->at, *begin = ++r->at;
    while (r->at < r->end && *r->at != quote && *r->at != '\n') r->at++;
    if (r->at == r->end || *r->at != quote) return wrong(r, "expected the end of a text");
    *e = new_expression(EXPRESSION_TEXT, NULL, NULL);
    (*e)->text = copy(begin, (size_t)(r->at++ - begin));
    return STATUS_OK;
}

static status read_atom(reader *r, expression **e) {
    static const struct {
        const char *word;
        expression_kind kind;
        bool truth;
    } constants[] = {{"true", EXPRESSION_BOOLEAN, true},
                     {"false", EXPRESSION_BOOLEAN, false},
                     {"nothing", EXPRESSION_NOTHING, false}};
    skip_blanks(r);
    if (r->at == r->end) return wrong(r, "expected a value");
    if (*r->at == '"' || *r->at == '\'') return read_text(r, e);
    if (take(r, "(")) {
        const status rc = read_expression(r, 0, e);
        return rc != STATUS_OK || take(r, ")") ? rc : wrong(r, "expected ')'");
    }
    if (isdigit((unsigned char)*r->at)) {
        char *end;
        *e = new_expression(EXPRESSION_NUMBER, NULL, NULL);
        (*e)->number = strtod(r->at, &end);
        r->at = end;
        return STATUS_OK;
    }
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        if (!take(r, constants[i].word)) continue;
        *e = new_expression(constants[i].kind, NULL, NULL);
        (*e)->truth = constants[i].truth;
        return STATUS_OK;
    }
    char *word = take_word(r);
    if (!word) return wrong(r, "expected a value");
    *e = new_expression(EXPRESSION_NAME, NULL, NULL);
    (*e)->text = word;
    return STATUS_OK;
}

static status read_path(reader *r, expression **e) {
    status rc = read_atom(r, e);
    while (rc == STATUS_OK && (rc = read_link(r)) == STATUS_OK) {
        // No blank is allowed within a path: "a .5" is none.
        if (r->at < r->end && *r->at == '.') {
            r->at++;
            expression *member = new_expression(EXPRESSION_MEMBER, *e, NULL);
            *e = member;
            member->text = take_word(r);
            if (!member->text) return wrong(r, "expected the name of a member");
        } else if (r->at < r->end && *r->at == '[') {
            r->at++;
            *e = new_expression(EXPRESSION_INDEX, *e, NULL);
            rc = read_expression(r, 0, &(*e)->right);
            if (rc == STATUS_OK && !take(r, "]")) rc = wrong(r, "expected ']'");
        } else if (r->at < r->end && *r->at == '?') {
            r->at++;
            (*e)->optional = true;
        } else {
            break;
        }
    }
    return rc;
}

static status read_filters(reader *r, expression **e) {
    status rc = read_path(r, e);
    while (rc == STATUS_OK && take(r, "|") && (rc = read_link(r)) == STATUS_OK) {
        *e = new_expression(EXPRESSION_FILTER, *e, NULL);
        (*e)->text = take_word(r);
        if (!(*e)->text) return wrong(r, "expected the name of a filter");
        skip_blanks(r);
        if (r->at < r->end && (isdigit((unsigned char)*r->at) || *r->at == '"'))
            rc = read_atom(r, &(*e)->right);
    }
    return rc;
}

static const struct {
    const char *sign;
    int level; // 0 binds loosest
} operators[OPERATORS] = {
    [OPERATOR_OR] = {"or", 0},      [OPERATOR_AND] = {"and", 1},    [OPERATOR_EQUAL] = {"==", 3},
    [OPERATOR_UNEQUAL] = {"!=", 3}, [OPERATOR_AT_MOST] = {"<=", 3}, [OPERATOR_AT_LEAST] = {">=", 3},
    [OPERATOR_LESS] = {"<", 3},     [OPERATOR_MORE] = {">", 3},     [OPERATOR_ADD] = {"+", 4},
    [OPERATOR_SUBTRACT] = {"-", 4}, [OPERATOR_MULTIPLY] = {"*", 5}, [OPERATOR_DIVIDE] = {"/", 5},
};
enum { LEVEL_NOT = 2, LEVELS = 6 };

static status read_unary(reader *r, expression **e) {
    if (!take(r, "-")) return read_filters(r, e);
    *e = new_expression(EXPRESSION_MINUS, NULL, NULL);
    return read_expression(r, LEVELS, &(*e)->left);
}

static bool take_operator(reader *r, int level, binary_operator *o) {
    for (int i = 0; i < OPERATORS; i++) {
        if (operators[i].level != level || !take(r, operators[i].sign)) continue;
        *o = (binary_operator)i;
        return true;
    }
    return false;
}

static status read_level(reader *r, int level, expression **e) {
    binary_operator o;
    if (level == LEVELS) return read_unary(r, e);
    if (level == LEVEL_NOT && take(r, "not")) {
        *e = new_expression(EXPRESSION_NOT, NULL, NULL);
        return read_expression(r, LEVEL_NOT, &(*e)->left);
    }
    status rc = read_level(r, level + 1, e);
    while (rc == STATUS_OK && take_operator(r, level, &o)) {
        *e = new_expression(EXPRESSION_BINARY, *e, NULL);
        (*e)->operator= o;
        rc = read_link(r);
        if (rc == STATUS_OK) rc = read_level(r, level + 1, &(*e)->right);
    }
    return rc;
}

// Reads operators of this level and tighter ones.
static status read_expression(reader *r, int level, expression **e) {
    *e = NULL;
    if (++r->depth > TEMPLATE_DEPTH) return wrong(r, "too many levels");
    const status rc = read_level(r, level, e);
    r->depth--;
    return rc;
}

static status expect_end(reader *r) {
    skip_blanks(r);
    return r->at == r->end ? STATUS_OK : wrong(r, "expected the end of the tag");
}

// ---- Tags ----

// Where a block of a template goes on: the lists that are open, with the part each belongs to.
typedef struct open_block {
    part_list *owner; // that holds the part, which is its last one
    part_list *into;  // that grows
    bool elif;        // ends with the block around it
} open_block;

typedef struct blocks {
    open_block items[TEMPLATE_DEPTH];
    size_t count;
    part_list *into;
} blocks;

static part *add_part(part_list *list, part_kind kind, int line) {
    list->items = memory_grow(list->items, &list->capacity, list->count + 1, sizeof *list->items);
    part *p = &list->items[list->count++];
    *p = (part){.kind = kind, .line = line};
    return p;
}

static void free_part(part *p) {
    for (size_t i = 0; i < p->argument_count; i++) {
        free(p->arguments[i].name);
        free_expression(p->arguments[i].value);
    }
    free(p->arguments);
    free_expression(p->value);
    free_expression(p->condition);
    template_parts_release(&p->body);
    template_parts_release(&p->between);
    template_parts_release(&p->otherwise);
    free(p->text);
}

void template_parts_release(part_list *parts) {
    for (size_t i = 0; i < parts->count; i++) free_part(&parts->items[i]);
    free(parts->items);
    *parts = (part_list){0};
}

static part *open_part(blocks *b) {
    part_list *owner = b->items[b->count - 1].owner;
    return &owner->items[owner->count - 1];
}

static status begin_block(blocks *b, reader *r, bool elif) {
    if (b->count == TEMPLATE_DEPTH) return wrong(r, "too many blocks in each other");
    part_list *owner = b->into;
    b->into = &owner->items[owner->count - 1].body;
    b->items[b->count++] = (open_block){owner, b->into, elif};
    return STATUS_OK;
}

static status read_if(blocks *b, reader *r, bool elif) {
    part *p = add_part(b->into, PART_IF, r->line);
    const status rc = read_expression(r, 0, &p->value);
    return rc == STATUS_OK ? begin_block(b, r, elif) : rc;
}

static status read_elif(blocks *b, reader *r) {
    if (!b->count || open_part(b)->kind != PART_IF) return wrong(r, "'elif' without 'if'");
    b->into = &open_part(b)->otherwise;
    return read_if(b, r, true);
}

static status read_each(blocks *b, reader *r) {
    part *p = add_part(b->into, PART_EACH, r->line);
    status rc;
    p->text = take_word(r);
    if (!p->text) return wrong(r, "expected a name for the items");
    if (!take(r, "in")) return wrong(r, "expected 'in'");
    rc = read_expression(r, 0, &p->value);
    if (rc == STATUS_OK && take(r, "if")) rc = read_expression(r, 0, &p->condition);
    return rc == STATUS_OK ? begin_block(b, r, false) : rc;
}

static status read_let(blocks *b, reader *r) {
    part *p = add_part(b->into, PART_LET, r->line);
    p->text = take_word(r);
    if (!p->text || !take(r, "=")) return wrong(r, "expected NAME = VALUE");
    return read_expression(r, 0, &p->value);
}

static status read_define(blocks *b, reader *r) {
    if (b->count) return wrong(r, "'define' within a block");
    part *p = add_part(b->into, PART_DEFINE, r->line);
    p->text = take_word(r);
    return p->text ? begin_block(b, r, false) : wrong(r, "expected a name");
}

static status read_use(blocks *b, reader *r, bool alone) {
    part *p = add_part(b->into, PART_USE, r->line);
    status rc = read_atom(r, &p->value);
    p->alone = alone;
    p->arguments = memory_new(TEMPLATE_ARGUMENTS, sizeof *p->arguments);
    for (skip_blanks(r); rc == STATUS_OK && r->at < r->end; skip_blanks(r)) {
        if (p->argument_count == TEMPLATE_ARGUMENTS) return wrong(r, "too many names");
        argument *a = &p->arguments[p->argument_count];
        a->name = take_word(r);
        if (a->name) p->argument_count++;
        if (!a->name || !take(r, "=")) return wrong(r, "expected NAME=VALUE");
        rc = read_expression(r, 0, &a->value);
    }
    return rc;
}

static status read_end(blocks *b, reader *r) {
    bool elif;
    if (!b->count) return wrong(r, "'end' without a block");
    do {
        elif = b->items[--b->count].elif;
        b->into = b->items[b->count].owner;
    } while (elif);
    // The chain of an `elif` ends in the list that holds the first `if`.
    return STATUS_OK;
}

static status read_tag(blocks *b, reader *r, bool alone) {
    status rc = STATUS_OK;
    r->links = 0;
    if (take(r, "#")) return STATUS_OK;
    if (take(r, "if")) {
        rc = read_if(b, r, false);
    } else if (take(r, "elif")) {
        rc = read_elif(b, r);
    } else if (take(r, "each")) {
        rc = read_each(b, r);
    } else if (take(r, "else")) {
        if (!b->count || open_part(b)->kind == PART_DEFINE)
            return wrong(r, "'else' without 'if' or 'each'");
        b->into = &open_part(b)->otherwise;
    } else if (take(r, "between")) {
        if (!b->count || open_part(b)->kind != PART_EACH)
            return wrong(r, "'between' without 'each'");
        b->into = &open_part(b)->between;
    } else if (take(r, "end")) {
        rc = read_end(b, r);
    } else if (take(r, "let")) {
        rc = read_let(b, r);
    } else if (take(r, "define")) {
        rc = read_define(b, r);
    } else if (take(r, "use")) {
        rc = read_use(b, r, alone);
    } else if (take(r, "insert")) {
        rc = read_atom(r, &add_part(b->into, PART_INSERT, r->line)->value);
    } else {
        rc = read_expression(r, 0, &add_part(b->into, PART_VALUE, r->line)->value);
    }
    return rc == STATUS_OK ? expect_end(r) : rc;
}

// ---- Text ----

// Returns the end of the tag that begins at `at`; NULL: none. Texts in it may hold braces.
static const char *tag_end(const char *at) {
    char quote = 0;
    if (at[2] == '#') return strstr(at, "}}");
    for (at += 2; *at; at++) {
        if (quote ? *at == quote : *at == '"') quote = quote ? 0 : *at;
        if (!quote && at[0] == '}' && at[1] == '}') return at;
        if (*at == '\n') quote = 0;
    }
    return NULL;
}

// Room for the blanks before such a word, and for the word.
enum { LONGEST_WORD = 64 };

// Does this tag write nothing at its place?
static bool is_silent(const char *tag) {
    static const char *const words[] = {"if",  "elif", "each", "between", "else",
                                        "end", "let",  "use",  "insert",  "define"};
    reader r = {.at = tag + 2, .end = tag + strnlen(tag, LONGEST_WORD)};
    if (take(&r, "#")) return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (take(&r, words[i])) return true;
    return false;
}

// Does the line that begins here hold such tags and nothing else? Returns its end then, else NULL.
static const char *silent_line(const char *at) {
    bool any = false;
    for (;;) {
        at += strspn(at, " \t");
        if (*at == '\n' || !*at) return any ? at + (*at != 0) : NULL;
        const char *end = strncmp(at, "{{", 2) == 0 && is_silent(at) ? tag_end(at) : NULL;
        if (!end) return NULL;
        any = true;
        at = end + 2;
    }
}

// A "\\" at the end of a line takes the line break with it.
static void add_text(blocks *b, const char *from, const char *to, int line) {
    if (to - from > 1 && to[-1] == '\n' && to[-2] == '\\') to -= 2;
    if (from < to) add_part(b->into, PART_TEXT, line)->text = copy(from, (size_t)(to - from));
}

// Reads from *at to the next tag or the end of the line, and both.
static status read_piece(blocks *b, reader *r, const char **at, const char *line_end) {
    const char *tag = strstr(*at, "{{");
    if (tag && tag >= line_end) tag = NULL;
    const char *text_end = tag ? tag : line_end;
    add_text(b, *at, text_end, r->line);
    *at = text_end;
    if (!tag) return STATUS_OK;
    const char *end = tag_end(tag);
    if (!end)
        return error_set(r->err, STATUS_INPUT, "%s:%d: a tag without an end", r->place, r->line);
    r->at = tag + 2;
    r->end = end;
    const status rc = read_tag(b, r, false);
    for (; r->at < end; r->at++) r->line += *r->at == '\n'; // of a comment
    *at = end + 2;
    return rc;
}

static status read_silent_line(blocks *b, reader *r, const char *at, const char *end) {
    const int line = r->line;
    status rc = STATUS_OK;
    while (rc == STATUS_OK && (at = strstr(at, "{{")) != NULL && at < end) {
        r->at = at + 2;
        r->end = tag_end(at);
        at = r->end + 2;
        rc = read_tag(b, r, true);
    }
    r->line = line;
    return rc;
}

static const char *end_of_line(const char *at) {
    const char *end = strchr(at, '\n');
    return end ? end + 1 : at + strlen(at);
}

status template_read(const char *source, const char *place, part_list *parts, error *err) {
    blocks b = {.into = parts};
    reader r = {.place = place, .line = 1, .err = err};
    status rc = STATUS_OK;
    *parts = (part_list){0};
    for (const char *at = source; rc == STATUS_OK && *at;) {
        at += strspn(at, " \t");
        const char *next = silent_line(at);
        if (next) {
            rc = read_silent_line(&b, &r, at, next);
            for (; at < next; at++) r.line += *at == '\n';
            continue;
        }
        while (rc == STATUS_OK && *at) {
            const char *before = at, *end = end_of_line(at);
            rc = read_piece(&b, &r, &at, end);
            if (at == end && at > before && at[-1] == '\n') {
                r.line++;
                break;
            }
        }
    }
    if (rc == STATUS_OK && b.count)
        rc = error_set(err, STATUS_INPUT, "%s:%d: this block has no {{end}}", place,
                       open_part(&b)->line);
    if (rc != STATUS_OK) template_parts_release(parts);
    return rc;
}
