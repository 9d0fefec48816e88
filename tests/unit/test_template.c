// SPDX-License-Identifier: MIT
// Templates: values, filters, blocks, lines and columns, what is escaped, and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/template.h"

static const char data[] =
    "title: A & B\n"
    "hostile: \"<b>|x|\\n# *a* [y](javascript:z) `c`\"\n"
    "empty: ''\n"
    "zero: 0\n"
    "number: 1234567\n"
    "ratio: 0.64125\n"
    "loss: -0.5\n"
    "unknown: null\n"
    "yes_it_is: true\n"
    "none: []\n"
    "runs:\n"
    "- {name: single, accuracy: {id: single.accuracy, value: 0.5, text: 50.00 %}, busy: false}\n"
    "- {name: ddp4, accuracy: {id: ddp4.accuracy, value: null, text: ''}, busy: true}\n"
    "- {name: dp4, accuracy: {id: dp4.accuracy, value: 0, text: 0.00 %}, busy: true}\n";

static const char names_data[] = "strategy: {ddp4: DistributedDataParallel}\n";

static const char *source_of(const char *given, const char *name) {
    if (strcmp(name, "main") == 0) return given;
    if (strcmp(name, "one") == 0) return "<{{run.name}}>\n";
    if (strcmp(name, "file") == 0) return "{{define x}}\n[{{a}}]\n{{end}}\nfile\n";
    if (strcmp(name, "part") == 0) return "{{name}}{{if title?}} {{title}}{{end}}{{given}}\n";
    if (strcmp(name, "section") == 0) return "# A\n\n```\n# b\n```\n";
    if (strcmp(name, "twice") == 0)
        return "{{if title}}{{use \"twice\"}}{{use \"twice\"}}{{end}}\n";
    if (strcmp(name, "self") == 0) return "{{use \"self\"}}\n";
    if (strcmp(name, "outer names") == 0) return "{{if title}}{{outer?}}{{end}}\n";
    return NULL;
}

static char *find(void *folders, const char *name, char **place, error *err) {
    const char *source = source_of(folders, name);
    (void)place;
    if (source) return memory_string(source);
    (void)error_set(err, STATUS_INPUT, "there is no template '%s'", name);
    return NULL;
}

static const yaml_node *member(void *context, const yaml_node *mapping, const char *key,
                               bool *known) {
    (void)context;
    (void)mapping;
    *known = strcmp(key, "seconds") == 0;
    return NULL;
}

static status render(const char *source, text *out, error *err) {
    yaml_node *root, *names;
    assert_int_equal(yaml_read_text(data, strlen(data), "data", &root, NULL), STATUS_OK);
    assert_int_equal(yaml_read_text(names_data, strlen(names_data), "names", &names, NULL),
                     STATUS_OK);
    template_cache cache = {0};
    const template_host host = {.cache = &cache,
                                .find = find,
                                .folders = (void *)(uintptr_t)source,
                                .member = member,
                                .names = names};
    const status rc = template_render(&host, "main", root, out, err);
    template_cache_release(&cache);
    yaml_free(root);
    yaml_free(names);
    return rc;
}

static void gives(const char *source, const char *expected) {
    text out = {0};
    error err = {0};
    if (render(source, &out, &err) != STATUS_OK) fail_msg("%s: %s", source, err.message);
    if (strcmp(text_string(&out), expected) != 0)
        fail_msg("%s gives '%s', not '%s'", source, text_string(&out), expected);
    text_release(&out);
}

static void is_refused(const char *source, const char *expected) {
    text out = {0};
    error err = {0};
    assert_int_equal(render(source, &out, &err), STATUS_INPUT);
    if (!strstr(err.message, expected)) fail_msg("%s: '%s'", source, err.message);
    assert_int_equal(out.length, 0);
    text_release(&out);
}

static void values(void **state) {
    (void)state;
    gives("{{title}}\n", "A & B\n");
    gives("{{runs[0].name}} {{runs[-1].name}} {{runs[9]}}.\n", "single dp4 .\n");
    gives("{{number}} {{ratio}} {{loss}} {{unknown}} {{yes_it_is}}\n",
          "1234567 0.64125 -0.5  true\n");
    gives("{{1 + 2 * 3}} {{(1 + 2) * 3}} {{-ratio}} {{1 / 4}} {{1 / 0}}.\n",
          "7 9 -0.64125 0.25 .\n");
    gives("{{unknown + 1}}{{unknown < 1}}.\n", ".\n");
    gives("{{'a' + 1}} {{runs[0].name + '-' + runs[1].name}}{{'a' + unknown}}.\n",
          "a1 single-ddp4.\n");
    gives("{{no?}}{{runs[0].no?}}{{unknown?.no?}}.\n", ".\n");
    gives("{{runs[0].seconds}}.\n", ".\n"); // the host knows it
}

static void figures(void **state) {
    (void)state;
    gives("{{runs[0].accuracy}}\n", "\xee\x80\x80single.accuracy\xee\x80\x81"
                                    "50.00 %\xee\x80\x82\n");
    gives("{{runs[0].accuracy | percent 0}}\n", "\xee\x80\x80single.accuracy\xee\x80\x81"
                                                "50 %\xee\x80\x82\n");
    gives("{{runs[0].accuracy * 2}}{{runs[1].accuracy}}.\n", "1.\n");
    gives("{{each r in runs if r.accuracy}}{{r.name}} {{end}}.\n", "single dp4 .\n");
}

static void filters(void **state) {
    (void)state;
    gives("{{ratio | fixed 2}} {{ratio | percent 1}} {{loss | signed 2}} {{ratio | signed 1}}\n",
          "0.64 64.1 % -0.50 +0.6\n");
    gives("{{ratio | digits 2}} {{number | grouped}} {{12 | grouped}} {{loss | abs}}\n",
          "0.64 1,234,567 12 0.5\n");
    gives("{{runs | size}} {{none | size}} {{'0123456789abcdef' | short | code}}\n",
          "3 0 `0123456789ab`\n");
    gives("{{runs[1].name | name \"strategy\"}} {{runs[0].name | name \"strategy\"}}\n",
          "DistributedDataParallel single\n");
    gives("{{'1.5†' | bare}} {{'† 1' | bare}} {{runs[0].accuracy | bare}}.\n",
          "1.5 † 1 \xee\x80\x80single.accuracy\xee\x80\x81"
          "50.00 %\xee\x80\x82.\n");
    gives("{{unknown | fixed 2}}{{unknown | percent 1}}.\n", ".\n");
}

static void conditions(void **state) {
    (void)state;
    gives("{{if zero or empty or unknown or none}}a{{else}}b{{end}}\n", "b\n");
    gives("{{if not zero and yes_it_is}}a{{end}}{{if not yes_it_is == false}}b{{end}}\n", "ab\n");
    gives("{{if ratio < 0.5}}a{{elif ratio < 0.6}}b{{elif ratio < 0.7}}c{{else}}d{{end}}e\n",
          "ce\n");
    gives("{{if runs[0].name == \"single\"}}a{{end}}{{if runs[0].name != 'single'}}b{{end}}\n",
          "a\n");
    gives("{{if runs[0].accuracy >= 0.5}}a{{end}}{{if unknown == nothing}}b{{end}}\n", "ab\n");
}

static void lists(void **state) {
    (void)state;
    gives("{{each r in runs}}{{r.name}}{{between}}, {{end}}.\n", "single, ddp4, dp4.\n");
    gives("{{each r in runs if r.busy}}{{loop.number}}{{if loop.last}}!{{end}}{{r.name}}{{between}}"
          "; {{else}}none{{end}}\n",
          "1ddp4; 2!dp4\n");
    gives("{{each r in none}}x{{else}}none{{end}}{{each r in unknown}}x{{end}}\n", "none\n");
    gives("{{each r in runs if r.name == \"x\"}}x{{else}}none{{end}}\n", "none\n");
    gives("{{let n = runs[1].name}}{{if n}}{{let n = 5}}{{n}}{{end}} {{n}}\n", "5 ddp4\n");
    gives("{{use \"one\" run=runs[1]}} and {{use \"one\" run=runs[0]}}.\n",
          "<ddp4> and <single>.\n");
    gives("{{use \"section\" nested=true}}\n{{use \"section\"}}\n",
          "## A\n\n```\n# b\n```\n# A\n\n```\n# b\n```\n");
    gives("{{use \"file.x\" a=1}}{{use \"file\"}}\n", "[1] file\n");
    gives("{{use \"part\" root=runs[1] given=2}} {{title}}.\n", "ddp42 A & B.\n");
    gives("{{let outer = 1}}{{use \"outer names\"}}.\n", ".\n"); // only the names given to it
}

static void escaping(void **state) {
    (void)state;
    gives("x {{hostile}}\n", "x \\<b>\\|x\\| # \\*a\\* [y\\](javascript:z) \\`c\\`\n");
    gives("{{'# x'}}\n", "\\# x\n");
    gives("{{'12. x'}}\n\n{{'- x'}}\n", "12\\. x\n\n\\- x\n");
    gives("{{'a`b' | code}} {{'a|b' | code}}\n", "`` a`b `` a\\|b\n");
    gives("```\n{{hostile | literal}}\n{{'x```y' | literal}}\n```\n",
          "```\n<b>|x|\n# *a* [y](javascript:z) `c`\nx`` y\n```\n");
    gives("{{'a\xee\x80\x80z\xee\x80\x82'}}\n", "a?z?\n");
}

static void lines(void **state) {
    (void)state;
    gives("{{# says \"nothing }}\na\n{{if yes_it_is}}\n  b\n{{end}}\n{{if zero}}\nc\n{{end}}\nd\n",
          "a b d\n");
    gives("a\n\n{{if zero}}\nb\n{{end}}\n\n\nc\n\n", "a\n\nc\n");
    gives("{{use \"one\" run=runs[0]}}\n{{use \"one\" run=runs[1]}}\n", "<single>\n<ddp4>\n");
    gives("用时\n更短。\n{{runs[0].name}} 快\nx\n", "用时更短。single 快 x\n");
    gives("用时。\n\n另一段\n| a |\n", "用时。\n\n另一段\n| a |\n");
}

static void mistakes(void **state) {
    (void)state;
    is_refused("a\n{{titel}}\n", "main:2: there is no 'titel' here: did you mean 'title'?");
    is_refused("{{runs[0].acuracy}}", "did you mean 'accuracy'?");
    is_refused("{{if title}}x", "main:1: this block has no {{end}}");
    is_refused("{{title", "a tag without an end");
    is_refused("{{end}}", "'end' without a block");
    is_refused("{{else}}", "'else' without 'if' or 'each'");
    is_refused("{{if title}}{{between}}{{end}}", "'between' without 'each'");
    is_refused("{{title title}}", "expected the end of the tag before 'title'");
    is_refused("{{title | shout}}", "there is no filter 'shout'");
    is_refused("{{title | fixed 2}}", "needs a number: filter 'fixed'");
    is_refused("{{title | name \"no\"}}", "there is no table of names 'no'");
    is_refused("{{title - 1}}", "only numbers can be compared");
    is_refused("{{runs}}", "cannot write a list");
    is_refused("{{each r in title}}{{end}}", "needs a list");
    is_refused("{{use \"no\"}}", "there is no template 'no'");
    is_refused("{{use \"self\"}}", "use each other without an end");
    is_refused("{{use \"file.y\"}}", "no template defines 'file.y'");
    is_refused("{{if 1}}{{define x}}{{end}}{{end}}", "'define' within a block");
    is_refused("{{use \"one\" root=runs run=runs[0]}}", "needs a mapping: argument 'root'");
    is_refused("{{title + runs}}", "cannot join");
    is_refused("{{insert \"x\"}}", "nothing to 'insert'");
    is_refused("{{zero.x}}", "only a mapping has a member");
    is_refused("{{(1}}", "expected ')'");
    is_refused("{{1 +}}", "expected a value, but the tag ends");
    is_refused("{{if zero}}\n{{ttl}}\n{{end}}{{x y}}", "main:3:"); // also where nothing is written
}

// Whatever a template holds, it is read or refused.
static void damaged_templates(void **state) {
    static const char whole[] = "a {{each r in runs if not r.busy}}{{r.name | code}}{{between}}, "
                                "{{else}}{{(1 + 2) * -runs[0].accuracy?}}{{end}}\n{{# x }}\n"
                                "{{use \"one\" run=runs[1]}}\n| a |\n| - |\n";
    (void)state;
    for (size_t i = 0; i < sizeof whole; i++)
        for (size_t k = 0; k < 3; k++) {
            text out = {0};
            char damaged[sizeof whole];
            memcpy(damaged, whole, sizeof whole);
            damaged[i] = (char)(k == 0 ? 0 : k == 1 ? '{' : '"');
            damaged[sizeof whole - 1] = 0;
            const status rc = render(damaged, &out, NULL);
            assert_true(rc == STATUS_OK || rc == STATUS_INPUT);
            text_release(&out);
        }
}

// "BEFORE PIECE PIECE PIECE … AFTER" is refused.
static void many_are_refused(const char *before, const char *piece, size_t count, const char *after,
                             const char *expected) {
    text source = {0};
    text_append(&source, before);
    for (size_t i = 0; i < count; i++) text_append(&source, piece);
    text_append(&source, after);
    is_refused(text_string(&source), expected);
    text_release(&source);
}

// A stranger's template ends soon, in little memory, and without a deep stack.
static void hostile_templates(void **state) {
    (void)state;
    static const char ends[] =
        "{{end}}{{end}}{{end}}{{end}}{{end}}{{end}}{{end}}{{end}}{{end}}{{end}}"
        "{{end}}{{end}}{{end}}{{end}}{{end}}{{end}}{{end}}{{end}}{{end}}{{end}}";
    many_are_refused("", "{{each r in runs if r.busy or title}}", 20, ends,
                     "too many steps: more than '4 million'");
    many_are_refused("", "{{use \"twice\"}}", 2, "", "use each other without an end");
    many_are_refused("{{let a = title}}", "{{let a = a + a}}", 30, "", "too much text: more than");
    many_are_refused("{{let a = title}}", "{{let a = a + a}}", 20,
                     "{{each r in runs}}{{each s in runs}}{{a}}{{end}}{{end}}", "too much text");
    many_are_refused("", "{{if title}}", 65, "", "too many blocks in each other");
    many_are_refused("{{if 0}}", "{{elif 0}}", 65, "", "too many blocks in each other");
    many_are_refused("{{1", " + 1", 257, "}}", "too long an expression");
    many_are_refused("{{title", "?.a", 257, "}}", "too long an expression");
    many_are_refused("{{ratio", " | abs", 257, "}}", "too long an expression");
    many_are_refused("{{", "(", 65, "}}", "too many levels");
    many_are_refused("{{", "-", 65, "1}}", "too many levels");
    many_are_refused("{{", "not ", 100000, "1}}", "too many levels");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(figures),
        cmocka_unit_test(filters),
        cmocka_unit_test(conditions),
        cmocka_unit_test(lists),
        cmocka_unit_test(escaping),
        cmocka_unit_test(lines),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(damaged_templates),
        cmocka_unit_test(hostile_templates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
