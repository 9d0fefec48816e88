// SPDX-License-Identifier: MIT
// Makes the report of a submission again, and compares it with the author's.
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/paths.h"
#include "base/printable.h"
#include "base/sha256.h"
#include "data/manifest.h"
#include "submission/page.h"
#include "submission/verify_internal.h"

typedef struct page {
    page_kind kind;
    const char *folder;      // of the submission
    const char *test;        // its test data; NULL: they are not here
    char *author, *again;    // folders of both reports
    yaml_node *mine, *other; // their manifests: ours and the author's
    verification *v;
} page;

// Begins the text of a check of a page by its author's own templates.
static const char *own(const page *p) {
    return p->kind == PAGE_OWN ? "own page: " : "";
}

// ---- Files ----

static status read_text(const char *folder, const char *name, char **text, error *err) {
    char *path = memory_format("%s/%s", folder, name);
    status rc = read_file(path, text, err);
    free(path);
    return rc;
}

static bool same(const page *p, const char *path) {
    return strcmp(yaml_text_at(p->mine, path), yaml_text_at(p->other, path)) == 0;
}

// The key of a report, whether or not the programs are installed that make report.tex and its
// pictures.
static status key_without_latex(const yaml_node *root, char key[SHA256_TEXT_BYTES], error *err) {
    yaml_node *copy = yaml_copy(root);
    const yaml_node *parameters = yaml_find(root, "parameters");
    if (parameters && parameters->kind == YAML_MAPPING) {
        yaml_node *kept = yaml_copy(parameters);
        yaml_remove(kept, "pandoc");
        yaml_remove(kept, "rsvg-convert");
        yaml_put(copy, "parameters", kept);
    }
    const status rc = manifest_key_of(copy, key, err);
    yaml_free(copy);
    return rc;
}

// ---- Figures ----

// The length of a line with its newline.
static size_t line_length(const char *line) {
    const size_t length = strcspn(line, "\n");
    return length + (line[length] == '\n');
}

static const char *find_line(const char *text, const char *line, size_t length) {
    for (; *text; text += line_length(text))
        if (strncmp(text, line, length) == 0) return text;
    return NULL;
}

// Counts the lines of `text`, and those that are not in `other`; *first is the first of these.
static size_t count_others(const char *text, const char *other, size_t *lines, const char **first) {
    size_t missing = 0;
    for (*lines = 0, *first = NULL; *text; text += line_length(text), ++*lines) {
        if (find_line(other, text, line_length(text))) continue;
        if (!missing++) *first = text;
    }
    return missing;
}

// The first field of a line is the id of a figure.
static int id_length(const char *line) {
    return (int)strcspn(line, ",\n");
}

// The fourth field, its value.
static const char *value_of(const char *line, int *length) {
    const char *value = line;
    for (int i = 0; i < 3; i++) {
        value += strcspn(value, ",\n");
        if (*value == ',') value++;
    }
    *length = (int)strcspn(value, ",\n");
    return value;
}

// Names the first line of the author's that the files do not give, and what they give instead.
static void edited_figures(page *p, const char *line, const char *again, size_t count,
                           size_t lines) {
    const int id = id_length(line);
    int length, other_length;
    const char *value = value_of(line, &length), *other = find_line(again, line, (size_t)id + 1);
    const char *there = other ? value_of(other, &other_length) : NULL;
    if (!there) {
        verification_add(p->v, CHECK_FIGURES, CHECK_DIFFERENT,
                         "%zu of %zu lines of report.csv are not what the files give; the "
                         "first is %.*s, which they do not give",
                         count, lines, id, line);
        return;
    }
    const bool same = length == other_length && strncmp(value, there, (size_t)length) == 0;
    verification_add(p->v, CHECK_FIGURES, CHECK_DIFFERENT,
                     "%zu of %zu lines of report.csv are not what the files give; the first "
                     "is %.*s: %.*s there, %.*s by the files%s",
                     count, lines, id, line, length, value, other_length, there,
                     same ? ", and another field" : "");
}

static void differing_figures(page *p, const char *author, const char *again) {
    size_t lines, count;
    const char *line;
    count = count_others(author, again, &lines, &line);
    if (count) {
        edited_figures(p, line, again, count, lines);
        return;
    }
    count = count_others(again, author, &lines, &line);
    if (!count) {
        verification_add(p->v, CHECK_FIGURES, CHECK_DIFFERENT,
                         "the lines of report.csv are in another order, or repeated");
        return;
    }
    verification_add(p->v, CHECK_FIGURES, CHECK_DIFFERENT,
                     "report.csv lacks %zu of %zu lines; the first is %.*s", count, lines,
                     id_length(line), line);
}

static status compare_figures(page *p, error *err) {
    char *author = NULL, *again = NULL;
    size_t lines;
    const char *line;
    status rc;
    TRY(read_text(p->author, "report.csv", &author, err));
    TRY(read_text(p->again, "report.csv", &again, err));
    (void)count_others(again, again, &lines, &line);
    if (strcmp(author, again) == 0)
        verification_add(p->v, CHECK_FIGURES, CHECK_EQUAL,
                         "%zu figures made again from the packed files", lines - 1);
    else if (printable_line_ends(author) && strcmp(author, again) == 0)
        verification_add(p->v, CHECK_FIGURES, CHECK_DIFFERENT,
                         "only the line ends of report.csv differ: CRLF in place of LF");
    else
        differing_figures(p, author, again);
out:
    free(author);
    free(again);
    return rc;
}

// ---- Text ----

// Cuts the drawings: another version of gnuplot draws the same figures with other lines.
static void cut_drawings(char *text) {
    static const char begin[] = "<figure", end[] = "</figure>";
    char *to = text, *at;
    while ((at = strstr(text, begin))) {
        char *rest = strstr(at, end);
        memmove(to, text, (size_t)(at - text));
        to += at - text;
        text = rest ? rest + strlen(end) : at + strlen(at);
    }
    memmove(to, text, strlen(text) + 1);
}

enum { EXCERPT_BYTES = 48, EXCERPT_BEFORE = 16 };

static size_t common_length(const char *a, const char *b) {
    size_t n = 0;
    while (a[n] && a[n] == b[n]) n++;
    return n;
}

// Copies the text around the place of a difference, on one line.
static void excerpt(const char *string, size_t at, char out[EXCERPT_BYTES]) {
    const char *begin = string + (at > EXCERPT_BEFORE ? at - EXCERPT_BEFORE : 0);
    while ((*begin & 0xC0) == 0x80) begin++; // a character of UTF-8 is not cut
    snprintf(out, EXCERPT_BYTES, "%s", begin);
    for (char *c = out; *c; c++)
        if (*c == '\n' || *c == '\t') *c = ' ';
}

static status compare_text(page *p, const char *name, bool *equal, error *err) {
    char *author = NULL, *again = NULL;
    status rc;
    TRY(read_text(p->author, name, &author, err));
    TRY(read_text(p->again, name, &again, err));
    cut_drawings(author);
    cut_drawings(again);
    if (strcmp(author, again) == 0) goto out;
    *equal = false;
    if (printable_line_ends(author) && strcmp(author, again) == 0)
        verification_add(p->v, CHECK_REPORT, CHECK_DIFFERENT,
                         "%s%s: only its line ends differ: CRLF in place of LF", own(p), name);
    else {
        char mine[EXCERPT_BYTES], theirs[EXCERPT_BYTES];
        const size_t at = common_length(author, again);
        excerpt(author, at, theirs);
        excerpt(again, at, mine);
        verification_add(p->v, CHECK_REPORT, CHECK_DIFFERENT,
                         "%s%s: its text is not what the files give: '%s' there, '%s' by the "
                         "files",
                         own(p), name, theirs, mine);
    }
out:
    free(author);
    free(again);
    return rc;
}

static bool is_number(const yaml_node *scalar) {
    const yaml_type type = yaml_scalar_type(scalar);
    return type == YAML_INTEGER || type == YAML_NUMBER;
}

static bool same_scalars(const yaml_node *a, const yaml_node *b) {
    static const double tolerance = 1e-9; // relative
    if (!is_number(a) || !is_number(b))
        return yaml_scalar_type(a) == yaml_scalar_type(b) && strcmp(a->text, b->text) == 0;
    const double x = strtod(a->text, NULL), y = strtod(b->text, NULL);
    return fabs(x - y) <= tolerance * fmax(fabs(x), fabs(y));
}

static char *facts_differ(const yaml_node *a, const yaml_node *b);

// The place of a difference in the member `name`.
static char *differ_in(const yaml_node *a, const yaml_node *b, const char *name) {
    char *inside = a && b ? facts_differ(a, b) : memory_string("");
    char *place = inside ? memory_format("%s%s%s", name, *inside ? "." : "", inside) : NULL;
    free(inside);
    return place;
}

// Returns the place of the first difference of two report.json, "figures.12.value"; NULL: none.
// Their numbers have all digits, of which the last depend on the machine's C library: nine are
// compared.
static char *facts_differ(const yaml_node *a, const yaml_node *b) {
    char number[24], *place = NULL;
    if (a->kind != b->kind) return memory_string("");
    if (a->kind == YAML_SCALAR) return same_scalars(a, b) ? NULL : memory_string("");
    const yaml_node *more = a->count > b->count ? a : b, *less = more == a ? b : a;
    for (size_t i = 0; !place && i < more->count; i++) {
        snprintf(number, sizeof number, "%zu", i);
        if (more->kind == YAML_MAPPING)
            place = differ_in(more->items[i], yaml_find(less, more->keys[i]), more->keys[i]);
        else
            place = differ_in(more->items[i], i < less->count ? less->items[i] : NULL, number);
    }
    return place;
}

static status read_facts(const char *folder, yaml_node **root, error *err) {
    char *string = NULL;
    status rc = read_text(folder, "report.json", &string, err);
    if (rc == STATUS_OK) rc = json_to_yaml(string, "report.json", root, err);
    free(string);
    return rc;
}

static status compare_facts(page *p, bool *equal, error *err) {
    yaml_node *author = NULL, *again = NULL;
    char *place = NULL;
    status rc;
    TRY(read_facts(p->author, &author, err));
    TRY(read_facts(p->again, &again, err));
    place = facts_differ(author, again);
    if (place) {
        *equal = false;
        verification_add(p->v, CHECK_REPORT, CHECK_DIFFERENT,
                         "%sreport.json: '%s' is not what the files give: '%.*s' there, '%.*s' by "
                         "the files",
                         own(p), place, EXCERPT_BYTES, yaml_text_at(author, place), EXCERPT_BYTES,
                         yaml_text_at(again, place));
    }
out:
    free(place);
    yaml_free(author);
    yaml_free(again);
    return rc;
}

// The same page in other formats is made by other programs: report.html is compared if the same
// version of cmark-gfm made it, report.tex never.
static status compare_texts(page *p, error *err) {
    static const char library[] = "results.cmark-gfm";
    const bool html = same(p, library);
    bool equal = true;
    NEED(compare_facts(p, &equal, err));
    NEED(compare_text(p, "report.md", &equal, err));
    NEED(compare_text(p, "report.txt", &equal, err));
    if (html) NEED(compare_text(p, "report.html", &equal, err));
    if (equal && p->kind == PAGE_OWN)
        verification_add(p->v, CHECK_REPORT, CHECK_EQUAL,
                         "own page: it is what the files and its author's templates give; its "
                         "words are the author's");
    else if (equal && html)
        verification_add(p->v, CHECK_REPORT, CHECK_EQUAL,
                         "its text is what the files give; drawings and report.tex are not "
                         "compared");
    else if (equal)
        verification_add(p->v, CHECK_REPORT, CHECK_EQUAL,
                         "report.json and report.md are what the files give; report.html, made by "
                         "cmark-gfm %s and not %s, is not compared: read the one made again",
                         yaml_text_at(p->other, library), yaml_text_at(p->mine, library));
    return STATUS_OK;
}

// ---- Both ----

// Without its test data a report that is made again has no pictures of wrong predictions, and lacks
// their section.
static bool lacks_pictures(const page *p) {
    return !p->test && paths_allow(F_OK, "%s/figures/mistakes-1.svg", p->author);
}

// Another version may word or compute something else.
static bool is_of_another_version(const page *p) {
    const char *version = yaml_text_at(p->other, "version");
    if (same(p, "version") && same(p, "bits")) return false;
    if (p->kind == PAGE_OURS)
        verification_add(p->v, CHECK_FIGURES, CHECK_NOT_SHOWN,
                         "made by Lockstep %s, not %s: read the report that was made again",
                         version, yaml_text_at(p->mine, "version"));
    verification_add(p->v, CHECK_REPORT, CHECK_NOT_SHOWN, "%smade by Lockstep %s", own(p), version);
    return true;
}

static status compare(page *p, error *err) {
    char mine[SHA256_TEXT_BYTES], other[SHA256_TEXT_BYTES];
    if (is_of_another_version(p)) return STATUS_OK;
    if (p->kind == PAGE_OURS) NEED(compare_figures(p, err));
    NEED(key_without_latex(p->mine, mine, err));
    NEED(key_without_latex(p->other, other, err));
    if (strcmp(mine, other) != 0) {
        verification_add(p->v, CHECK_REPORT, CHECK_NOT_SHOWN,
                         "%sits options or inputs are others, or gnuplot is missing here", own(p));
        return STATUS_OK;
    }
    if (lacks_pictures(p)) {
        verification_add(p->v, CHECK_REPORT, CHECK_NOT_SHOWN,
                         "%sit shows test images, and the data set is not here: read the "
                         "report that was made again",
                         own(p));
        return STATUS_OK;
    }
    return compare_texts(p, err);
}

static void note_author(page *p) {
    const char *author = yaml_text_at(p->other, "parameters.author");
    const char *student = yaml_text_at(p->other, "parameters.student");
    if (p->kind == PAGE_OWN || (!*author && !*student)) return;
    p->v->author = memory_format("%s%s%s", author, *author && *student ? " " : "", student);
    (void)printable(p->v->author, true);
    if (!*student) return;
    p->v->student = memory_string(student);
    (void)printable(p->v->student, true);
}

static status make_again(page *p, const pipeline *pipe, error *err) {
    strvec options = {0};
    status rc;
    TRY(manifest_read_in(&p->other, err, "%s", p->author));
    note_author(p);
    page_options_of_manifest(p->other, &options);
    TRY(page_make(pipe, p->folder, p->kind, &options, p->test, err));
    TRY(manifest_read_in(&p->mine, err, "%s", p->again));
    rc = compare(p, err);
out:
    strvec_release(&options);
    return rc;
}

// Makes the page again and compares it with the author's, which moves out of its place.
static status check_page(page *p, const pipeline *pipe, error *err) {
    const check_subject subject = p->kind == PAGE_OURS ? CHECK_FIGURES : CHECK_REPORT;
    error why = {0};
    // No submission has a file there; one in the archive must not stop the verification.
    (void)!remove_tree(p->author, NULL);
    if (rename(p->again, p->author) == 0)
        return verification_add_failure(p->v, subject, make_again(p, pipe, &why),
                                        p->kind == PAGE_OURS ? "the report cannot be made again"
                                                             : "own page: it cannot be made again",
                                        &why, err);
    if (errno != ENOENT)
        return error_system(err, STATUS_FAILED, errno, "cannot rename: '%s'", p->again);
    verification_add(p->v, subject, CHECK_DIFFERENT, "%s",
                     p->kind == PAGE_OURS ? "it has no report"
                                          : "own page: it has templates, and no page by them");
    return STATUS_OK;
}

static status check_kind(page_kind kind, const pipeline *pipe, const char *folder, const char *test,
                         verification *v, char **made, error *err) {
    const char *place = kind == PAGE_OURS ? PAGE_FOLDER : PAGE_OWN_FOLDER;
    page p = {.kind = kind, .folder = folder, .test = test, .v = v};
    p.author = memory_format("%s/%s-author", folder, place);
    p.again = memory_format("%s/%s", folder, place);
    const status rc = check_page(&p, pipe, err);
    if (rc == STATUS_OK && p.mine) *made = memory_format("%s/report.html", p.again);
    yaml_free(p.mine);
    yaml_free(p.other);
    free(p.author);
    free(p.again);
    return rc;
}

status submission_check_page(const pipeline *pipe, const char *folder, const char *test,
                             verification *v, error *err) {
    const bool own = paths_allow(F_OK, "%s/" PAGE_TEMPLATES, folder) ||
                     paths_allow(F_OK, "%s/" PAGE_OWN_FOLDER, folder);
    NEED(check_kind(PAGE_OURS, pipe, folder, test, v, &v->report, err));
    return own ? check_kind(PAGE_OWN, pipe, folder, test, v, &v->own_page, err) : STATUS_OK;
}
