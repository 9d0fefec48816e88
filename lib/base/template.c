// SPDX-License-Identifier: MIT
// Renders templates.
#include "base/template.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hint.h"
#include "base/markdown_text.h"
#include "base/memory.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "base/template_internal.h"

// A template may come from a stranger: what it can take of time and memory has an end, far above
// what a page needs.
enum { USE_DEPTH = 32, TEXT_MAX = 1 << 24, STEPS_MAX = 1 << 22 };

typedef enum value_kind {
    VALUE_NOTHING,
    VALUE_BOOLEAN,
    VALUE_NUMBER,
    VALUE_TEXT,
    VALUE_NODE // a mapping or a list
} value_kind;

typedef enum value_form { FORM_PLAIN, FORM_CODE, FORM_LITERAL } value_form;

typedef struct value {
    value_kind kind;
    double number; // a boolean: 0 or 1
    const char *text;
    const yaml_node *node;
    const char *id; // of the figure that it comes from; NULL: none
    value_form form;
    bool optional; // nothing, for a "?" in its path: its members are nothing, too
} value;

// A name and its value; those of a block are dropped at its end.
typedef struct variable {
    const char *name;
    value value;
} variable;

typedef struct known_template {
    char *name, *place;
    part_list parts;
} known_template;

typedef struct renderer {
    const template_host *host;
    const yaml_node *root;
    char **strings; // that values point to
    size_t string_count, string_capacity;
    size_t kept, steps; // bytes of these strings; expressions, parts and items so far
    variable *variables;
    size_t variable_count, variable_capacity, first_variable; // of the template
    const char *place;
    int line, depth;
    error *err;
} renderer;

static status wrong(const renderer *r, const char *what, const char *which) {
    return error_set(r->err, STATUS_INPUT, "%s:%d: %s '%s'", r->place, r->line, what, which);
}

// ---- Values ----

// Counts a part, an item or an expression.
static status step(renderer *r) {
    if (++r->steps > STEPS_MAX) return wrong(r, "too many steps: more than", "4 million");
    return r->kept > TEXT_MAX ? wrong(r, "too much text: more than", "16 MiB") : STATUS_OK;
}

static const char *keep(renderer *r, char *string) {
    const size_t count = r->string_count + 1;
    r->kept += strlen(string);
    r->strings = memory_grow(r->strings, &r->string_capacity, count, sizeof *r->strings);
    return r->strings[r->string_count++] = string;
}

static value number(double n) {
    return isnan(n) ? (value){0} : (value){.kind = VALUE_NUMBER, .number = n};
}

static value boolean(bool truth) {
    return (value){.kind = VALUE_BOOLEAN, .number = truth};
}

static value string(const char *characters) {
    return (value){.kind = VALUE_TEXT, .text = characters};
}

static value of_node(const yaml_node *node) {
    if (!node) return (value){0};
    if (node->kind != YAML_SCALAR) return (value){.kind = VALUE_NODE, .node = node};
    switch (yaml_scalar_type(node)) {
    case YAML_NULL: return (value){0};
    case YAML_BOOLEAN: return boolean(strcmp(node->text, "true") == 0);
    case YAML_INTEGER:
    case YAML_NUMBER: return number(strtod(node->text, NULL));
    case YAML_STRING: break;
    }
    return string(node->text);
}

// Of a figure: its value.
static value plain(value v) {
    const yaml_node *inner = v.kind == VALUE_NODE ? yaml_find(v.node, "value") : NULL;
    if (!inner) return v;
    const yaml_node *id = yaml_find(v.node, "id");
    value own = of_node(inner);
    own.id = id && id->kind == YAML_SCALAR ? id->text : NULL;
    return own;
}

static bool is_true(value v) {
    const yaml_node *node = v.node;
    if (v.kind == VALUE_NODE && yaml_find(node, "value"))
        return plain(v).kind != VALUE_NOTHING; // a figure of 0 is one, too
    switch (v.kind) {
    case VALUE_NOTHING: return false;
    case VALUE_BOOLEAN:
    case VALUE_NUMBER: return v.number != 0;
    case VALUE_TEXT: return *v.text != 0;
    case VALUE_NODE: break;
    }
    return node->kind == YAML_MAPPING || node->count > 0;
}

// ---- Looking up ----

static status no_member(const renderer *r, const yaml_node *mapping, const char *key) {
    char hint[HINT_BYTES] = "";
    if (mapping->kind == YAML_MAPPING)
        hint_about(key, (const char *const *)mapping->keys, mapping->count, HINT_KEYS, hint);
    return error_set(r->err, STATUS_INPUT, "%s:%d: there is no '%s' here%s", r->place, r->line, key,
                     hint);
}

static status look_up_member(renderer *r, value base, const char *key, bool optional, value *v) {
    bool known = false;
    const yaml_node *found = NULL;
    *v = (value){0};
    if (base.kind == VALUE_NODE && base.node->kind == YAML_MAPPING) {
        found = yaml_find(base.node, key);
        if (!found && r->host->member)
            found = r->host->member(r->host->context, base.node, key, &known);
    } else if (base.kind != VALUE_NOTHING || !(optional || base.optional)) {
        return wrong(r, "only a mapping has a member, here", key);
    }
    if (!found && !known && !optional && !base.optional) return no_member(r, base.node, key);
    *v = of_node(found);
    v->optional = optional || base.optional;
    return STATUS_OK;
}

static status look_up_index(renderer *r, value base, value at, bool optional, value *v) {
    *v = (value){0};
    if (at.kind == VALUE_TEXT) return look_up_member(r, base, at.text, optional, v);
    if (base.kind != VALUE_NODE || base.node->kind != YAML_SEQUENCE || at.kind != VALUE_NUMBER) {
        if (optional) return STATUS_OK;
        return wrong(r, "an index needs a list and a number, or a mapping and a text", "[]");
    }
    const double count = (double)base.node->count;
    const double i = at.number < 0 ? count + at.number : at.number; // -1 is the last one
    if (!(i >= 0 && i < count)) return STATUS_OK;
    *v = of_node(base.node->items[(size_t)i]);
    return STATUS_OK;
}

static status look_up_name(renderer *r, const char *name, bool optional, value *v) {
    for (size_t i = r->variable_count; i > r->first_variable; i--) {
        if (strcmp(r->variables[i - 1].name, name) != 0) continue;
        *v = r->variables[i - 1].value;
        return STATUS_OK;
    }
    return look_up_member(r, of_node(r->root), name, optional, v);
}

// ---- Filters ----

typedef struct filter filter;
struct filter {
    const char *name;
    status (*run)(renderer *r, const filter *f, value *v, value given);
    const char *format; // of a number, with its digits
    double scale;       // of the number
    value_form form;
};

static status take_number(renderer *r, const filter *f, value *v) {
    *v = plain(*v);
    if (v->kind == VALUE_NUMBER || v->kind == VALUE_NOTHING) return STATUS_OK;
    return wrong(r, "needs a number: filter", f->name);
}

static status print_number(renderer *r, const filter *f, value *v, value given) {
    const int digits = given.kind == VALUE_NUMBER && given.number < 18 ? (int)given.number : 0;
    const status rc = take_number(r, f, v);
    if (rc != STATUS_OK || v->kind == VALUE_NOTHING) return rc;
    const char *id = v->id;
    *v = string(keep(r, memory_format(f->format, digits, f->scale * v->number)));
    v->id = id;
    return STATUS_OK;
}

static status group_digits(renderer *r, const filter *f, value *v, value given) {
    const status rc = print_number(r, f, v, given);
    if (rc != STATUS_OK || v->kind != VALUE_TEXT) return rc;
    const size_t length = strlen(v->text);
    text out = {0};
    for (size_t i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0 && v->text[i - 1] != '-') text_append(&out, ",");
        text_bytes(&out, v->text + i, 1);
    }
    v->text = keep(r, text_take(&out));
    return STATUS_OK;
}

static status take_sign(renderer *r, const filter *f, value *v, value given) {
    const status rc = take_number(r, f, v);
    (void)given;
    v->number = fabs(v->number);
    return rc;
}

static status count_items(renderer *r, const filter *f, value *v, value given) {
    (void)given;
    if (v->kind != VALUE_NODE && v->kind != VALUE_NOTHING)
        return wrong(r, "needs a list: filter", f->name);
    *v = number(v->kind == VALUE_NODE ? (double)v->node->count : 0);
    return STATUS_OK;
}

// Returns a value as text, as it is written without any filter; a number as itself.
static const char *text_of(renderer *r, value v) {
    char digits[NUMBER_TEXT_BYTES];
    if (v.kind == VALUE_NODE) {
        const yaml_node *shown = yaml_find(v.node, "text");
        if (shown) return shown->text;
        v = plain(v);
    }
    switch (v.kind) {
    case VALUE_NOTHING: return "";
    case VALUE_BOOLEAN: return v.number != 0 ? "true" : "false";
    case VALUE_NUMBER: number_text(v.number, digits); return keep(r, memory_string(digits));
    case VALUE_TEXT: return v.text;
    case VALUE_NODE: break;
    }
    return NULL;
}

static status shorten(renderer *r, const filter *f, value *v, value given) {
    enum { SHORT = 12 };
    const char *whole = text_of(r, *v);
    (void)given;
    if (!whole) return wrong(r, "needs a text: filter", f->name);
    v->kind = VALUE_TEXT;
    v->text = keep(r, memory_format("%.*s", SHORT, whole));
    return STATUS_OK;
}

static status take_mark(renderer *r, const filter *f, value *v, value given) {
    static const char mark[] = "†";
    const char *id = plain(*v).id, *whole = text_of(r, *v);
    (void)given;
    if (!whole) return wrong(r, "needs a text: filter", f->name);
    const char *end = strstr(whole, mark);
    *v = end && !end[strlen(mark)]
             ? string(keep(r, memory_format("%.*s", (int)(end - whole), whole)))
             : string(whole);
    v->id = id;
    return STATUS_OK;
}

static status set_form(renderer *r, const filter *f, value *v, value given) {
    (void)r;
    (void)given;
    v->form = f->form;
    return STATUS_OK;
}

static status find_word(renderer *r, const filter *f, value *v, value given) {
    const char *word = text_of(r, *v);
    if (given.kind != VALUE_TEXT) return wrong(r, "needs the name of a table: filter", f->name);
    const yaml_node *table = r->host->names ? yaml_find(r->host->names, given.text) : NULL;
    if (!table) return wrong(r, "there is no table of names", given.text);
    const yaml_node *found = word ? yaml_find(table, word) : NULL;
    if (found && found->kind == YAML_SCALAR) *v = string(found->text);
    return STATUS_OK;
}

static const filter filters[] = {
    {"fixed", print_number, "%.*f", .scale = 1},
    {"signed", print_number, "%+.*f", .scale = 1},
    {"percent", print_number, "%.*f %%", .scale = 100},
    {"digits", print_number, "%.*g", .scale = 1},
    {"grouped", group_digits, "%.*f", .scale = 1},
    {"abs", .run = take_sign},
    {"size", .run = count_items},
    {"short", .run = shorten},
    {"bare", .run = take_mark},
    {"code", .run = set_form, .form = FORM_CODE},
    {"literal", .run = set_form, .form = FORM_LITERAL},
    {"name", .run = find_word},
};

static status run_filter(renderer *r, const char *name, value given, value *v) {
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        if (strcmp(filters[i].name, name) == 0) return filters[i].run(r, &filters[i], v, given);
    return wrong(r, "there is no filter", name);
}

// ---- Expressions ----

static status evaluate(renderer *r, const expression *e, value *v);

static bool is_equal(renderer *r, value a, value b) {
    a = plain(a);
    b = plain(b);
    if (a.kind == VALUE_TEXT && b.kind == VALUE_TEXT) return strcmp(a.text, b.text) == 0;
    if (a.kind == VALUE_TEXT || b.kind == VALUE_TEXT) { // names that look like numbers
        const char *x = text_of(r, a), *y = text_of(r, b);
        return a.kind != VALUE_NOTHING && b.kind != VALUE_NOTHING && x && y && strcmp(x, y) == 0;
    }
    if (a.kind != b.kind) return false;
    return a.kind == VALUE_NODE ? a.node == b.node : !(a.number < b.number || a.number > b.number);
}

static status join(renderer *r, value a, value b, value *v) {
    const char *x = text_of(r, a), *y = text_of(r, b);
    if (!x || !y) return wrong(r, "cannot join a list or a mapping to a text:", "+");
    *v = string(keep(r, memory_format("%s%s", x, y)));
    return STATUS_OK;
}

static status compute(renderer *r, binary_operator o, value a, value b, value *v) {
    a = plain(a);
    b = plain(b);
    *v = (value){0};
    // What is unknown is neither less nor more, and gives nothing.
    if (a.kind == VALUE_NOTHING || b.kind == VALUE_NOTHING) return STATUS_OK;
    if (o == OPERATOR_ADD && (a.kind == VALUE_TEXT || b.kind == VALUE_TEXT))
        return join(r, a, b, v);
    const char *other = text_of(r, a.kind != VALUE_NUMBER ? a : b);
    if (a.kind != VALUE_NUMBER || b.kind != VALUE_NUMBER)
        return wrong(r, "only numbers can be compared and computed, not", other ? other : "a list");
    switch (o) {
    case OPERATOR_AT_MOST: *v = boolean(a.number <= b.number); break;
    case OPERATOR_AT_LEAST: *v = boolean(a.number >= b.number); break;
    case OPERATOR_LESS: *v = boolean(a.number < b.number); break;
    case OPERATOR_MORE: *v = boolean(a.number > b.number); break;
    case OPERATOR_ADD: *v = number(a.number + b.number); break;
    case OPERATOR_SUBTRACT: *v = number(a.number - b.number); break;
    case OPERATOR_MULTIPLY: *v = number(a.number * b.number); break;
    case OPERATOR_DIVIDE: *v = number(b.number != 0 ? a.number / b.number : (double)NAN); break;
    case OPERATOR_OR:
    case OPERATOR_AND:
    case OPERATOR_EQUAL:
    case OPERATOR_UNEQUAL:
    case OPERATORS: break;
    }
    return STATUS_OK;
}

static status evaluate_binary(renderer *r, const expression *e, value *v) {
    value a, b;
    status rc = evaluate(r, e->left, &a);
    *v = a;
    if (rc != STATUS_OK) return rc;
    if (e->operator== OPERATOR_OR && is_true(a)) return STATUS_OK;
    if (e->operator== OPERATOR_AND && !is_true(a)) return STATUS_OK;
    rc = evaluate(r, e->right, &b);
    *v = b;
    if (rc != STATUS_OK || e->operator<= OPERATOR_AND) return rc;
    if (e->operator> OPERATOR_UNEQUAL) return compute(r, e->operator, a, b, v);
    *v = boolean(is_equal(r, a, b) == (e->operator== OPERATOR_EQUAL));
    return STATUS_OK;
}

static status evaluate_filter(renderer *r, const expression *e, value *v) {
    value given = {0};
    status rc = evaluate(r, e->left, v);
    if (rc == STATUS_OK && e->right) rc = evaluate(r, e->right, &given);
    return rc == STATUS_OK ? run_filter(r, e->text, given, v) : rc;
}

static status evaluate_minus(renderer *r, const expression *e, value *v) {
    const status rc = evaluate(r, e->left, v);
    return rc == STATUS_OK ? compute(r, OPERATOR_SUBTRACT, number(0), *v, v) : rc;
}

static status evaluate(renderer *r, const expression *e, value *v) {
    value base, at;
    status rc = step(r);
    *v = (value){0};
    if (rc != STATUS_OK) return rc;
    switch (e->kind) {
    case EXPRESSION_NOTHING: break;
    case EXPRESSION_BOOLEAN: *v = boolean(e->truth); break;
    case EXPRESSION_NUMBER: *v = number(e->number); break;
    case EXPRESSION_TEXT: *v = string(e->text); break;
    case EXPRESSION_NAME: return look_up_name(r, e->text, e->optional, v);
    case EXPRESSION_MEMBER:
        rc = evaluate(r, e->left, &base);
        return rc == STATUS_OK ? look_up_member(r, base, e->text, e->optional, v) : rc;
    case EXPRESSION_INDEX:
        rc = evaluate(r, e->left, &base);
        if (rc == STATUS_OK) rc = evaluate(r, e->right, &at);
        return rc == STATUS_OK ? look_up_index(r, base, at, e->optional, v) : rc;
    case EXPRESSION_FILTER: return evaluate_filter(r, e, v);
    case EXPRESSION_NOT:
        rc = evaluate(r, e->left, v);
        *v = boolean(!is_true(*v));
        return rc;
    case EXPRESSION_MINUS: return evaluate_minus(r, e, v);
    case EXPRESSION_BINARY: return evaluate_binary(r, e, v);
    }
    return STATUS_OK;
}

// ---- Writing values ----

// A table would break a code span at a "|".
static void write_code(text *out, const char *shown) {
    if (strchr(shown, '|'))
        markdown_escape(out, shown);
    else
        markdown_code(out, shown);
}

static void write_plain(text *out, const char *shown) {
    char *line = memory_string(shown);
    (void)printable(line, true);
    text_append(out, line);
    free(line);
}

static status write_value(renderer *r, const expression *e, text *out) {
    value v;
    NEED(evaluate(r, e, &v));
    const char *id = v.id ? v.id : plain(v).id, *shown = text_of(r, v);
    if (!shown) return wrong(r, "cannot write a list or a mapping", e->text ? e->text : "");
    if (r->host->plain) {
        write_plain(out, shown);
        return STATUS_OK;
    }
    if (id && *shown) {
        text_append(out, MARK_FIGURE);
        markdown_escape(out, id);
        text_append(out, MARK_SHOWN);
    }
    switch (v.form) {
    case FORM_PLAIN: markdown_escape(out, shown); break;
    case FORM_CODE: write_code(out, shown); break;
    case FORM_LITERAL: markdown_literal(out, shown); break;
    }
    if (id && *shown) text_append(out, MARK_END);
    return STATUS_OK;
}

// ---- Parts ----

static status render(renderer *r, const part_list *parts, text *out);

static void set(renderer *r, const char *name, value v) {
    r->variables = memory_grow(r->variables, &r->variable_capacity, r->variable_count + 1,
                               sizeof *r->variables);
    r->variables[r->variable_count++] = (variable){name, v};
}

static status render_block(renderer *r, const part_list *parts, text *out) {
    const size_t before = r->variable_count;
    const status rc = render(r, parts, out);
    r->variable_count = before;
    return rc;
}

static status render_if(renderer *r, const part *p, text *out) {
    value v;
    const status rc = evaluate(r, p->value, &v);
    return rc == STATUS_OK ? render_block(r, is_true(v) ? &p->body : &p->otherwise, out) : rc;
}

static yaml_node *new_loop(size_t number, bool last) {
    yaml_node *loop = yaml_new(YAML_MAPPING);
    yaml_put(loop, "number", yaml_new_integer((int64_t)number));
    yaml_put(loop, "first", yaml_new_boolean(number == 1));
    yaml_put(loop, "last", yaml_new_boolean(last));
    return loop;
}

// Finds the items that meet the condition: all, without one.
static status choose_items(renderer *r, const part *p, const yaml_node *list, bool *chosen,
                           size_t *count) {
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < list->count; i++) {
        value truth = boolean(true);
        set(r, p->text, of_node(list->items[i]));
        rc = p->condition ? evaluate(r, p->condition, &truth) : step(r);
        r->variable_count--;
        chosen[i] = is_true(truth);
        *count += chosen[i];
    }
    return rc;
}

static status render_items(renderer *r, const part *p, const yaml_node *list, text *out) {
    bool *chosen = memory_new(list->count, sizeof *chosen);
    const size_t before = r->variable_count;
    size_t count = 0, number = 0;
    status rc = choose_items(r, p, list, chosen, &count);
    for (size_t i = 0; rc == STATUS_OK && i < list->count; i++) {
        if (!chosen[i]) continue;
        if (number) rc = render(r, &p->between, out);
        number++;
        yaml_node *loop = new_loop(number, number == count);
        set(r, p->text, of_node(list->items[i]));
        set(r, "loop", of_node(loop));
        if (rc == STATUS_OK) rc = render(r, &p->body, out);
        r->variable_count = before;
        yaml_free(loop);
    }
    free(chosen);
    return rc == STATUS_OK && !count ? render_block(r, &p->otherwise, out) : rc;
}

static status render_each(renderer *r, const part *p, text *out) {
    value list;
    const status rc = evaluate(r, p->value, &list);
    if (rc != STATUS_OK) return rc;
    if (list.kind == VALUE_NOTHING) return render_block(r, &p->otherwise, out);
    if (list.kind != VALUE_NODE || list.node->kind != YAML_SEQUENCE)
        return wrong(r, "needs a list: 'each' with the items", p->text);
    return render_items(r, p, list.node, out);
}

static void free_template(known_template *t) {
    template_parts_release(&t->parts);
    free(t->name);
    free(t->place);
    free(t);
}

void template_cache_release(template_cache *c) {
    for (size_t i = 0; i < c->count; i++) free_template(c->items[i]);
    free(c->items);
    *c = (template_cache){0};
}

static status read_file(renderer *r, const char *name, const known_template **found) {
    template_cache *c = r->host->cache;
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->items[i]->name, name) == 0) {
            *found = c->items[i];
            return STATUS_OK;
        }
    error own = {0};
    char *place = NULL, *source = r->host->find(r->host->folders, name, &place, &own);
    if (!source)
        return error_set(r->err, STATUS_INPUT, "%s:%d: %s", r->place, r->line, own.message);
    known_template *t = memory_new(1, sizeof *t);
    t->name = memory_string(name);
    t->place = place ? place : memory_string(name);
    const status rc = template_read(source, t->place, &t->parts, r->err);
    free(source);
    if (rc != STATUS_OK) {
        free_template(t);
        return rc;
    }
    c->items = memory_grow(c->items, &c->capacity, c->count + 1, sizeof *c->items);
    *found = c->items[c->count++] = t;
    return STATUS_OK;
}

// Finds FILE, or in it what FILE.NAME defines.
static status find_template(renderer *r, const char *name, const known_template **found,
                            const part_list **parts) {
    const char *dot = strchr(name, '.');
    char *file = memory_format("%.*s", (int)(dot ? dot - name : (int)strlen(name)), name);
    const status rc = read_file(r, file, found);
    free(file);
    if (rc != STATUS_OK) return rc;
    *parts = dot ? NULL : &(*found)->parts;
    for (size_t i = 0; dot && i < (*found)->parts.count; i++) {
        const part *p = &(*found)->parts.items[i];
        if (p->kind == PART_DEFINE && strcmp(p->text, dot + 1) == 0) *parts = &p->body;
    }
    return *parts ? STATUS_OK : wrong(r, "no template defines", name);
}

// Renders a template whose names are the variables from `first` on.
static status render_template(renderer *r, const char *name, size_t first, text *out) {
    const char *place = r->place;
    const size_t first_before = r->first_variable;
    const int line = r->line;
    const known_template *t = NULL;
    if (r->depth == USE_DEPTH)
        return wrong(r, "templates that use each other without an end:", name);
    const part_list *parts = NULL;
    status rc = find_template(r, name, &t, &parts);
    if (rc != STATUS_OK) return rc;
    r->depth++;
    r->first_variable = first;
    r->place = t->place;
    rc = render(r, parts, out);
    r->depth--;
    r->first_variable = first_before;
    r->place = place;
    r->line = line;
    return rc;
}

// Finds an argument of a `use`, whose arguments are the variables from `first` on.
static const value *argument_of(const renderer *r, size_t first, const char *name) {
    for (size_t i = first; i < r->variable_count; i++)
        if (strcmp(r->variables[i].name, name) == 0) return &r->variables[i].value;
    return NULL;
}

// The argument `root` of a `use` takes the place of the tree.
static status take_root(renderer *r, size_t first) {
    const value *given = argument_of(r, first, "root");
    if (!given) return STATUS_OK;
    if (given->kind != VALUE_NODE || given->node->kind != YAML_MAPPING)
        return wrong(r, "needs a mapping: argument", "root");
    r->root = given->node;
    return STATUS_OK;
}

static status render_use(renderer *r, const part *p, text *out) {
    const size_t before = r->variable_count;
    const yaml_node *root_before = r->root;
    text written = {0};
    value name, v;
    status rc;
    TRY(evaluate(r, p->value, &name));
    if (name.kind != VALUE_TEXT) rc = wrong(r, "needs the name of a template: tag", "use");
    // The arguments are read with the names of this template, so they are set together.
    for (size_t i = 0; rc == STATUS_OK && i < p->argument_count; i++) {
        rc = evaluate(r, p->arguments[i].value, &v);
        set(r, "", v);
    }
    for (size_t i = 0; rc == STATUS_OK && i < p->argument_count; i++)
        r->variables[before + i].name = p->arguments[i].name;
    if (rc == STATUS_OK) rc = take_root(r, before);
    if (rc == STATUS_OK) rc = render_template(r, name.text, before, &written);
    const value *nested = argument_of(r, before, "nested");
    if (nested && is_true(*nested)) template_nest(&written);
    if (!p->alone) template_flatten(&written);
    text_append(out, text_string(&written));
out:
    r->root = root_before;
    r->variable_count = before;
    text_release(&written);
    return rc;
}

static status render_part(renderer *r, const part *p, text *out) {
    value v;
    r->line = p->line;
    status rc = step(r);
    if (rc == STATUS_OK && out->length > TEXT_MAX)
        rc = wrong(r, "too much text: more than", "16 MiB");
    if (rc != STATUS_OK) return rc;
    switch (p->kind) {
    case PART_TEXT: text_append(out, p->text); break;
    case PART_DEFINE: break;
    case PART_VALUE: return write_value(r, p->value, out);
    case PART_IF: return render_if(r, p, out);
    case PART_EACH: return render_each(r, p, out);
    case PART_LET:
        rc = evaluate(r, p->value, &v);
        set(r, p->text, v);
        return rc;
    case PART_USE: return render_use(r, p, out);
    case PART_INSERT:
        rc = evaluate(r, p->value, &v);
        if (rc != STATUS_OK) return rc;
        if (!r->host->insert || v.kind != VALUE_TEXT) return wrong(r, "nothing to", "insert");
        return r->host->insert(r->host->context, r->root, v.text, out, r->err);
    }
    return STATUS_OK;
}

static status render(renderer *r, const part_list *parts, text *out) {
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < parts->count; i++)
        rc = render_part(r, &parts->items[i], out);
    return rc;
}

static void release(renderer *r) {
    for (size_t i = 0; i < r->string_count; i++) free(r->strings[i]);
    free(r->strings);
    free(r->variables);
}

status template_render(const template_host *host, const char *name, const yaml_node *root,
                       text *out, error *err) {
    renderer r = {.host = host, .root = root, .place = name, .err = err};
    text written = {0};
    const status rc = render_template(&r, name, 0, &written);
    template_tidy(&written);
    if (rc == STATUS_OK) text_append(out, text_string(&written));
    text_release(&written);
    release(&r);
    return rc;
}
