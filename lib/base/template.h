// SPDX-License-Identifier: MIT
// template.h - Markdown made from a template and a tree of values: the language of share/report.
// Sentences without markup can also be made as plain text.
//
// A template is text with tags:
//
//     {{run.accuracy}}                    the value at a path
//     {{seconds | fixed 2}}               the value through filters
//     {{if run.simulated}} … {{elif runs | size > 1}} … {{else}} … {{end}}
//     {{each r in runs if r.accuracy}} … {{between}}, {{else}} … {{end}}
//     {{let first = runs[0]}}             a name for a value, to the end of the block
//     {{use "verdict" of=comparison}}     another template, which has the names of the tree and
//                                         those given to it; within a line, its lines are joined;
//                                         root=VALUE: a mapping that takes the tree's place in it;
//                                         nested=true: its headings are one level lower
//     {{define ratio}} … {{end}}          a part of this file, used as "FILE.ratio"; writes nothing
//     {{# a comment}}
//
// Expressions, from the loosest to the tightest: or; and; not; == != < <= > >=; + -; * /; |
// filters; paths such as runs[0].name, numbers, "text", true, false, nothing, (…). A path that
// leads nowhere is an error, as it is a slip; after `?` it is nothing: step.published?. Nothing,
// "", false, 0, and an empty list count as false. `+` joins if one side is a text. A mapping with a
// key `value` counts and computes as that value, and is written as its `text`: that is how figures
// are stored.
//
// `each` also gives `loop`: loop.number (from 1), loop.first, loop.last. `between` is written
// between two items, `else` if there is no item.
//
// Filters:
//     fixed N     N decimals: 1.50                percent N   64.12 % (of 0.6412)
//     signed N    N decimals and a sign: +1.50    digits N    N digits at most: 0.0123
//     grouped     1,234,567                       abs         without its sign
//     size        of a list                       short       the first 12 characters
//     bare        the text of a figure without "†", where its row or column is marked
//     code        `as code`                       literal     for fenced code: nothing is escaped
//     name TABLE  the word for it in the table TABLE of the language's names; itself if none
//
// A value is written as plain text: what Markdown or HTML would take for markup is escaped, also at
// the beginning of a line. `{{use}}` writes Markdown.
//
// Lines: blanks at the beginning of a line do not count. A line that holds nothing but tags without
// output is left out; a "\" at the end of a line joins the next one to it. A line break within a
// paragraph is a blank, or nothing beside a character of Chinese punctuation or between two Chinese
// characters. Several empty lines count as one.
//
// A template may be a stranger's: it reads nothing but templates and the tree, and ends with an
// error when it takes more than a page needs: 32 templates or 64 blocks in each other, 4 million
// steps, 16 MiB of text.
#ifndef LOCKSTEP_BASE_TEMPLATE_H
#define LOCKSTEP_BASE_TEMPLATE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/strvec.h"
#include "base/text.h"
#include "base/yaml_tree.h"

// The templates read so far, for any number of renderings by one host. Start from zeros; release
// at last.
typedef struct template_cache {
    struct known_template **items;
    size_t count, capacity;
} template_cache;
void template_cache_release(template_cache *c);

typedef struct template_host {
    template_cache *cache;
    // Returns the text of a template, and in *place its name for messages, if it has another one;
    // free() both. NULL with `err` filled if it cannot be read. Called once for each template, with
    // `folders`.
    char *(*find)(void *folders, const char *name, char **place, error *err);
    void *folders;
    // Returns a member that a mapping lacks, or NULL. Sets *known if the member may be absent.
    const yaml_node *(*member)(void *context, const yaml_node *mapping, const char *key,
                               bool *known);
    // Writes Markdown for {{insert "NAME"}} in the tree `root`; NULL: there is no such tag.
    status (*insert)(void *context, const yaml_node *root, const char *name, text *out, error *err);
    const yaml_node *names; // TABLE → word → text; NULL: none
    bool plain; // values are written for a terminal, as of printable(), instead of for Markdown
    void *context;
} template_host;

// Renders a template over `root`, whose keys are its names. STATUS_INPUT, with the place, if a
// template is wrong or asks for what is not there.
status template_render(const template_host *host, const char *name, const yaml_node *root,
                       text *out, error *err) MUST_CHECK;

// Adds the names of the templates in a folder that somebody gives in place of ours, NAME.md, in
// order. STATUS_INPUT if it cannot be read, or has none or more than 100.
status template_folder_list(const char *folder, strvec *names, error *err) MUST_CHECK;

// What the last paragraph above says about lines, for Markdown of any origin.
void template_tidy(text *markdown);

#endif
