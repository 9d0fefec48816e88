// SPDX-License-Identifier: MIT
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/filter.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/printable.h"
#include "base/sha256.h"
#include "base/template.h"
#include "report/charts.h"
#include "report/drawing.h"
#include "report/facts.h"
#include "report/markdown.h"
#include "report/page_templates.h"
#include "report/report_page.h"
#include "report/written.h"
#include "results/inputs.h"

typedef struct drawing_list {
    drawing *items;
    size_t count, capacity;
} drawing_list;

// A page under construction.
typedef struct composition {
    const results *r;
    const report_options *o;
    page_templates *templates;
    facts facts;
    drawing_list drawings;
    text discussion; // the author's, as Markdown
    bool undrawn;    // it says that gnuplot is missing
    bool plain;      // for a terminal, which leaves pictures out: none is drawn
} composition;

// Returns the id of a drawing: the chart's name without "_", in a part of the page after the name
// of the part.
static char *drawing_id(const yaml_node *root, const char *name) {
    const char *part = yaml_text_at(root, "part");
    char *id = memory_format("%s%s%s", part, *part ? "-" : "", name), *to = id;
    for (const char *from = id; *from; from++)
        if (*from != '_') *to++ = *from;
    *to = 0;
    return id;
}

static status write_template(composition *c, const char *name, text *out, error *err);

// A drawing that the page has already is shown again as it is.
static bool is_drawn(const drawing_list *d, const char *id) {
    for (size_t i = 0; i < d->count; i++)
        if (strcmp(d->items[i].id, id) == 0) return true;
    return false;
}

static void add_drawing(drawing_list *d, const drawing *one) {
    d->items = memory_grow(d->items, &d->capacity, d->count + 1, sizeof *d->items);
    d->items[d->count++] = *one;
}

static void write_picture(const char *id, text *out) {
    text_format(out, "![%s](figures/%s.svg)\n", id, id);
}

// Writes once on the page that gnuplot is not installed: a report without drawings is valid.
static status write_missing(composition *c, text *out, error *err) {
    if (c->undrawn) return STATUS_OK;
    c->undrawn = true;
    return write_template(c, "page.no_drawing", out, err);
}

// The drawing itself is made with all others, by drawings_make.
static status insert_drawing(composition *c, const yaml_node *chart, const char *id, text *out,
                             error *err) {
    drawing d = {.id = memory_string(id)};
    status rc = chart_draw(chart, page_word, c->templates, &d, err);
    if (rc == STATUS_OK && (!d.script.length || filter_exists("gnuplot"))) {
        write_picture(id, out);
        add_drawing(&c->drawings, &d);
        return STATUS_OK;
    }
    drawing_release(&d);
    return rc == STATUS_OK ? write_missing(c, out, err) : rc;
}

// Puts a chart of the facts on the page.
static status insert_chart(composition *c, const yaml_node *root, const char *name, text *out,
                           error *err) {
    const yaml_node *charts = yaml_find(root, "charts"), *chart = yaml_find(charts, name);
    char *id = drawing_id(root, name);
    status rc = STATUS_OK;
    if (!chart)
        rc = error_set(err, STATUS_INPUT, "there is no chart '%s'", name);
    else if (c->plain || is_drawn(&c->drawings, id))
        write_picture(id, out);
    else if (chart->kind == YAML_MAPPING)
        rc = insert_drawing(c, chart, id, out, err);
    free(id);
    return rc;
}

static status compose_part(void *context, const yaml_node *root, const char *name, text *out,
                           error *err) {
    static const char chart[] = "chart ";
    composition *c = context;
    if (strncmp(name, chart, strlen(chart)) == 0)
        return insert_chart(c, root, name + strlen(chart), out, err);
    if (strcmp(name, "discussion") != 0)
        return error_set(err, STATUS_INPUT, "there is no part '%s'", name);
    text_append(out, text_string(&c->discussion));
    return STATUS_OK;
}

static const yaml_node *find_figure(void *context, const yaml_node *mapping, const char *key,
                                    bool *known) {
    return facts_figure(&((const composition *)context)->facts, mapping, key, known);
}

static status write_template(composition *c, const char *name, text *out, error *err) {
    const page_host host = {find_figure, compose_part, c};
    return page_write(c->templates, name, c->facts.root, &host, out, err);
}

static status compose(composition *c, text *markdown, text *json, error *err) {
    if (c->o->discussion) NEED(written_read(c->o->discussion, &c->discussion, err));
    NEED(facts_make(&c->facts, c->r, &c->o->head, true, err));
    yaml_put(c->facts.root, "discussed", yaml_new_boolean(c->discussion.length > 0));
    NEED(page_templates_open(&c->templates, c->o->head.language, c->o->templates, err));
    NEED(write_template(c, "page", markdown, err));
    facts_write(&c->facts, json);
    return STATUS_OK;
}

static void close_composition(composition *c) {
    page_templates_close(c->templates);
    facts_release(&c->facts);
    for (size_t i = 0; i < c->drawings.count; i++) drawing_release(&c->drawings.items[i]);
    free(c->drawings.items);
    text_release(&c->discussion);
}

static status write_output(const char *folder, const char *name, const text *content, manifest *m,
                           error *err) {
    status rc = STATUS_OK;
    char hash[SHA256_TEXT_BYTES];
    char *path = memory_format("%s/%s", folder, name);
    TRY(output_write_file(path, text_string(content), content->length, err));
    sha256_buffer(text_string(content), content->length, hash);
    manifest_file file = {.path = path, .bytes = content->length, .sha256 = hash};
    manifest_add_output(m, &file);
out:
    free(path);
    return rc;
}

// Renders a template for a terminal.
static status write_plain(composition *c, const char *name, text *out, error *err) {
    text page = {0};
    const status rc = write_template(c, name, &page, err);
    if (rc == STATUS_OK) page_to_text(text_string(&page), out);
    text_release(&page);
    return rc;
}

// A plan of runs that are not compared asks nothing.
static bool asks(const results *r) {
    return r->plan.count || r->reproduction || r->comparison_count;
}

// What a terminal shows: a line for each run, tables and the answer. Always by our templates: an
// author's page need not have these parts.
static status write_terminal(const composition *page, const char *folder, manifest *m, error *err) {
    composition c = {.r = page->r, .o = page->o, .facts = page->facts, .plain = true};
    text plain = {0};
    status rc;
    TRY(page_templates_open(&c.templates, c.o->head.language, NULL, err));
    TRY(write_plain(&c, "page.summary", &plain, err));
    if (asks(c.r)) TRY(write_plain(&c, "page.answer", &plain, err));
    TRY(write_output(folder, "report.txt", &plain, m, err));
out:
    page_templates_close(c.templates);
    text_release(&plain);
    return rc;
}

// Writes report.tex, if pandoc is installed.
static status write_latex(const text *page, const char *folder, manifest *m, error *err) {
    text latex = {0};
    status rc = page_to_latex(text_string(page), filter_exists("rsvg-convert"), &latex, err);
    if (rc == STATUS_OK && latex.length) rc = write_output(folder, "report.tex", &latex, m, err);
    text_release(&latex);
    return rc;
}

static status write_outputs(const composition *c, const text *page, const text *json,
                            const char *folder, manifest *m, error *err) {
    status rc;
    text html = {0}, markdown = {0}, csv = {0};
    page_to_html(text_string(page), c->o->head.language, c->drawings.items, c->drawings.count,
                 &html);
    page_to_markdown(text_string(page), &markdown);
    figures_to_csv(&c->r->figures, &csv);
    TRY(write_output(folder, "report.html", &html, m, err));
    TRY(write_output(folder, "report.md", &markdown, m, err));
    TRY(write_output(folder, "report.json", json, m, err));
    TRY(write_output(folder, "report.csv", &csv, m, err));
    TRY(write_terminal(c, folder, m, err));
    TRY(write_latex(page, folder, m, err));
out:
    text_release(&html);
    text_release(&markdown);
    text_release(&csv);
    return rc;
}

static status write_figure(const drawing *d, const char *folder, manifest *m, error *err) {
    status rc = STATUS_OK;
    text svg = {0}, pdf = {0};
    char *drawn = memory_format("%s.svg", d->id), *printed = memory_format("%s.pdf", d->id);
    TRY(output_make_folder(folder, err));
    drawing_to_file(d->svg, &svg);
    TRY(write_output(folder, drawn, &svg, m, err));
    // If the converter is missing, LaTeX omits the drawings.
    TRY(drawing_to_pdf(&svg, &pdf, err));
    if (pdf.length) TRY(write_output(folder, printed, &pdf, m, err));
out:
    free(drawn);
    free(printed);
    text_release(&svg);
    text_release(&pdf);
    return rc;
}

static status write_figures(const drawing_list *d, const char *folder, manifest *m, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < d->count; i++)
        rc = write_figure(&d->items[i], folder, m, err);
    return rc;
}

// Records the author's own templates: another text in them is another report.
static status record_templates(const char *folder, manifest *m, error *err) {
    strvec names = {0};
    status rc = template_folder_list(folder, &names, err);
    for (size_t i = 0; rc == STATUS_OK && i < names.count; i++) {
        char *path = memory_format("%s/%s", folder, names.items[i]);
        rc = inputs_add_file(m, path, err);
        free(path);
    }
    strvec_release(&names);
    return rc;
}

status report_record(const results *r, const report_options *o, manifest *m, error *err) {
    const char *title = o->head.title ? o->head.title : "";
    yaml_node *parameters = manifest_parameters(m);
    NEED(inputs_add(r, m, err));
    yaml_put(parameters, "language", yaml_new_string(o->head.language));
    // Not "title", which the stage key ignores: a report with another heading is a different one.
    yaml_put(parameters, "heading", yaml_new_string(title));
    if (o->head.author) yaml_put(parameters, "author", yaml_new_string(o->head.author));
    if (o->head.student) yaml_put(parameters, "student", yaml_new_string(o->head.student));
    if (o->discussion) NEED(inputs_add_file(m, o->discussion, err));
    if (o->templates) NEED(record_templates(o->templates, m, err));
    if (o->figures) yaml_put(parameters, "figures", yaml_new_boolean(true));
    // If one of these programs is installed later, the report is made again.
    static const char *const programs[] = {"gnuplot", "rsvg-convert", "pandoc"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (!filter_exists(programs[i])) yaml_put(parameters, programs[i], yaml_new_boolean(false));
    // On it depend the bytes of report.html.
    yaml_put(manifest_results(m), "cmark-gfm", yaml_new_string(markdown_library_version()));
    return STATUS_OK;
}

status report_write(const results *r, const report_options *o, const char *folder, manifest *m,
                    error *err) {
    composition c = {.r = r, .o = o};
    text markdown = {0}, json = {0};
    char *figures_folder = memory_format("%s/figures", folder);
    status rc;
    TRY(compose(&c, &markdown, &json, err));
    TRY(drawings_make(c.drawings.items, c.drawings.count, err));
    TRY(write_outputs(&c, &markdown, &json, folder, m, err));
    TRY(write_figures(&c.drawings, figures_folder, m, err));
    if (o->figures && strcmp(o->figures, figures_folder) != 0)
        TRY(write_figures(&c.drawings, o->figures, m, err));
out:
    free(figures_folder);
    text_release(&markdown);
    text_release(&json);
    close_composition(&c);
    return rc;
}

// Renders a template for a terminal without a page.
static status write_alone(const results *r, const char *language, const char *name, text *out,
                          error *err) {
    const report_options o = {.head.language = language};
    composition c = {.r = r, .o = &o, .plain = true};
    status rc;
    TRY(facts_make(&c.facts, r, &o.head, false, err));
    TRY(page_templates_open(&c.templates, language, NULL, err));
    TRY(write_plain(&c, name, out, err));
out:
    close_composition(&c);
    return rc;
}

status report_answer(const results *r, const char *language, text *out, error *err) {
    if (!asks(r))
        return error_set(err, STATUS_USAGE, "no answer: the plan '%s' asks no question",
                         r->options.plan);
    return write_alone(r, language, "page.answer", out, err);
}

status report_summary(const results *r, const char *language, text *out, error *err) {
    return write_alone(r, language, "page.summary", out, err);
}
