// SPDX-License-Identifier: MIT
#include "report/report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/filter.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/printable.h"
#include "base/sha256.h"
#include "report/document.h"
#include "report/drawing.h"
#include "report/markdown.h"
#include "report/plot.h"
#include "report/report_page.h"
#include "report/sections.h"
#include "report/written.h"
#include "results/reproduction.h"

static char *study_title(const results *r) {
    const char *title = run_text(r->plan.head, "title");
    if (*title) return memory_string(say(r, title));
    return memory_format(say(r, "Study: %s"), r->plan.name);
}

static char *make_title(const results *r, const char *given) {
    const run *first = &r->list.runs[0];
    if (given && *given) return memory_string(given);
    if (r->reproduction) {
        const char *title = run_text(r->reproduction->root, "title");
        return memory_string(say(r, *title ? title : WORD("Published reports, reproduced")));
    }
    if (r->plan.count && r->plan.ladder)
        return memory_format(say(r, "From %s to %s, one factor at a time"), r->plan.from,
                             r->plan.to);
    if (r->plan.count) return study_title(r);
    if (r->comparison_count == 1)
        return memory_format(say(r, "%s compared with %s"), r->groups[1].name, r->groups[0].name);
    if (r->comparison_count > 1)
        return memory_format(say(r, "%zu experiments compared with %s"), r->comparison_count,
                             r->groups[0].name);
    const char *title = r->group_count == 1 && *first->title ? first->title : r->groups[0].name;
    title = say(r, title);
    if (r->group_count == 1) return memory_string(title);
    return memory_format(say(r, "%s and %zu more"), title, r->group_count - 1);
}

static status section_plan(const results *r, document *d, bool draw, error *err) {
    return r->plan.ladder ? section_ladder(r, d, draw, err) : section_study(r, d, draw, err);
}

// The limit on the author's text, in bytes of UTF-8.
enum { DISCUSSION_MAX = 1 << 18 };

static bool is_text(const char *written, size_t bytes) {
    for (const char *at = written; *at; at++)
        if (((unsigned char)*at < ' ' && !strchr("\t\r\n", *at)) || *at == 127) return false;
    return strlen(written) == bytes && printable_is_utf8(written);
}

static status refuse_text(const char *path, const char *written, size_t bytes, error *err) {
    const char *encoding = printable_encoding(written, bytes);
    if (printable_is_utf8(written) && strcmp(encoding, "UTF-16") != 0)
        return error_set(err, STATUS_INPUT, "'%s' is not UTF-8 text", path);
    return error_set(
        err, STATUS_INPUT,
        "'%s' is not UTF-8 text, but probably %s: convert it with iconv -f %s -t UTF-8", path,
        encoding, encoding);
}

static status section_discussion(const results *r, const char *path, document *d, error *err) {
    static const char mark[] = "\xef\xbb\xbf"; // written before UTF-8 by some editors
    char *written = memory_new(DISCUSSION_MAX + 2, 1);
    FILE *file = fopen(path, "re");
    status rc = STATUS_FAILED;
    if (!file) rc = error_system(err, STATUS_INPUT, errno, "cannot read '%s'", path);
    if (!file) goto out;
    const size_t bytes = fread(written, 1, DISCUSSION_MAX + 1, file);
    if (ferror(file))
        rc = error_system(err, STATUS_INPUT, errno, "cannot read '%s'", path);
    else if (bytes > DISCUSSION_MAX)
        rc = error_set(err, STATUS_INPUT, "'%s': more than %d bytes", path, DISCUSSION_MAX);
    else if (!is_text(written, bytes))
        rc = refuse_text(path, written, bytes, err);
    else
        rc = STATUS_OK;
    if (rc != STATUS_OK) goto out;
    text own = {0};
    written_append(&own,
                   strncmp(written, mark, strlen(mark)) == 0 ? written + strlen(mark) : written);
    if (own.length) document_add(d, BLOCK_HEADING, "%s", say(r, "Discussion"));
    if (own.length) document_add(d, BLOCK_MARKDOWN, "%s", text_string(&own));
    text_release(&own);
out:
    if (file) fclose(file);
    free(written);
    return rc;
}

// Composes all sections before the discussion.
static status compose_results(const results *r, document *d, error *err) {
    const bool draws_accuracy = r->plan.count || any_speedup(r);
    status rc = STATUS_OK;
    if (r->plan.count) {
        TRY(section_plan(r, d, true, err));
        section_prediction(r, d);
    } else {
        TRY(section_first(r, d, err));
    }
    TRY(section_curves(r, d, draws_accuracy, err));
    TRY(section_time_split(r, d, err));
    TRY(section_strategy(r, d, err));
    TRY(section_gpus(r, d, err));
    section_classes(r, d);
    TRY(section_mistakes(r, d, err));
    section_comparison(r, d);
    if (!r->plan.count) section_prediction(r, d);
    TRY(section_published(r, d, err));
    section_repeats(r, d);
    section_summary(r, d);
out:
    return rc;
}

static status compose(const results *r, const report_options *o, document *d, error *err) {
    status rc = STATUS_OK;
    char *title = make_title(r, o->title);
    document_init(d, title, language_name(r->options.language));
    free(title);
    section_byline(r, o, d);
    TRY(r->reproduction ? section_reproduction(r, d, err) : compose_results(r, d, err));
    if (o->discussion) TRY(section_discussion(r, o->discussion, d, err));
    section_environment(r, d);
    if (r->reproduction) {
        section_manifests(r, d);
    } else {
        section_files(r, d);
        section_commands(r, d);
    }
out:
    return rc;
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

// Writes report.tex, if pandoc is installed.
static status write_latex(const text *page, const char *folder, manifest *m, error *err) {
    text latex = {0};
    status rc = page_to_latex(text_string(page), filter_exists("rsvg-convert"), &latex, err);
    if (rc == STATUS_OK && latex.length) rc = write_output(folder, "report.tex", &latex, m, err);
    text_release(&latex);
    return rc;
}

static void write_html(const document *d, const text *page, text *html) {
    page_drawing *drawings = memory_new(d->count, sizeof *drawings);
    size_t count = 0;
    for (size_t i = 0; i < d->count; i++)
        if (d->blocks[i].svg) drawings[count++] = (page_drawing){d->blocks[i].id, d->blocks[i].svg};
    page_to_html(text_string(page), d->language, drawings, count, html);
    free(drawings);
}

static status write_outputs(const results *r, const document *d, const char *folder, manifest *m,
                            error *err) {
    status rc;
    text page = {0}, html = {0}, markdown = {0}, csv = {0};
    document_to_markdown(d, &page);
    write_html(d, &page, &html);
    page_to_markdown(text_string(&page), &markdown);
    figures_to_csv(&r->figures, &csv);
    TRY(write_output(folder, "report.html", &html, m, err));
    TRY(write_output(folder, "report.md", &markdown, m, err));
    TRY(write_output(folder, "report.csv", &csv, m, err));
    TRY(write_latex(&page, folder, m, err));
out:
    text_release(&page);
    text_release(&html);
    text_release(&markdown);
    text_release(&csv);
    return rc;
}

static status write_figure(const block *b, const char *folder, manifest *m, error *err) {
    status rc = STATUS_OK;
    text svg = {0}, pdf = {0};
    char *drawn = memory_format("%s.svg", b->id), *printed = memory_format("%s.pdf", b->id);
    TRY(output_make_folder(folder, err));
    drawing_to_file(b->svg, &svg);
    TRY(write_output(folder, drawn, &svg, m, err));
    // If the converter is missing, LaTeX omits the drawings.
    TRY(plot_to_pdf(&svg, &pdf, err));
    if (pdf.length) TRY(write_output(folder, printed, &pdf, m, err));
out:
    free(drawn);
    free(printed);
    text_release(&svg);
    text_release(&pdf);
    return rc;
}

static status write_figures(const document *d, const char *folder, manifest *m, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < d->count; i++)
        if (d->blocks[i].svg) rc = write_figure(&d->blocks[i], folder, m, err);
    return rc;
}

status report_record(const results *r, const report_options *o, manifest *m, error *err) {
    const char *title = o->title ? o->title : "", *name = language_name(r->options.language);
    yaml_node *parameters = manifest_parameters(m);
    status rc;
    TRY(results_record(r, m, err));
    yaml_put(parameters, "language", yaml_new_string(name));
    // Not "title", which the stage key ignores: a report with another heading is a different one.
    yaml_put(parameters, "heading", yaml_new_string(title));
    if (o->author) yaml_put(parameters, "author", yaml_new_string(o->author));
    if (o->student) yaml_put(parameters, "student", yaml_new_string(o->student));
    if (o->discussion) TRY(results_record_file(m, o->discussion, err));
    if (o->figures) yaml_put(parameters, "figures", yaml_new_boolean(true));
    // If one of these programs is installed later, the report is made again.
    static const char *const programs[] = {"gnuplot", "rsvg-convert", "pandoc"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (!filter_exists(programs[i])) yaml_put(parameters, programs[i], yaml_new_boolean(false));
    // On it depend the bytes of report.html.
    yaml_put(manifest_results(m), "cmark-gfm", yaml_new_string(markdown_library_version()));
out:
    return rc;
}

status report_write(const results *r, const report_options *o, const char *folder, manifest *m,
                    error *err) {
    document d = {0};
    char *figures_folder = memory_format("%s/figures", folder);
    status rc = STATUS_OK;
    TRY(compose(r, o, &d, err));
    TRY(write_outputs(r, &d, folder, m, err));
    TRY(write_figures(&d, figures_folder, m, err));
    if (o->figures && strcmp(o->figures, figures_folder) != 0)
        TRY(write_figures(&d, o->figures, m, err));
out:
    free(figures_folder);
    document_release(&d);
    return rc;
}

status report_answer(const results *r, text *out, error *err) {
    document d;
    text page = {0};
    status rc = STATUS_OK;
    if (!r->plan.count && !r->reproduction)
        return error_set(err, STATUS_USAGE, "no answer: the plan '%s' asks no question",
                         r->options.plan);
    char *title = make_title(r, NULL);
    document_init(&d, title, language_name(r->options.language));
    free(title);
    write_footnote(r, &d);
    TRY(r->reproduction ? section_rows(r, &d, false, err) : section_plan(r, &d, false, err));
    document_to_markdown(&d, &page);
    page_to_text(text_string(&page), out);
out:
    text_release(&page);
    document_release(&d);
    return rc;
}

// Appends why a run has no times, as far as its manifest tells.
static void append_no_times(const results *r, text *out, const run *one) {
    if (!one->train)
        text_append(out, say(r, "no times: it has no training run"));
    else if (run_has_epoch_time(one))
        text_append(out, say(r, "no times"));
    else if (one->restarted)
        text_append(out, say(r, "no times: it was restarted after a process died"));
    else
        text_append(out, say(r, "no times: it was resumed"));
}

// Appends "3 executions", or how the run took turns.
static void append_timing(const results *r, text *out, const run *one) {
    char count[COUNT_TEXT];
    if (one->timing)
        timed_arms_append(out, one, 1, r->options.language);
    else
        text_append(out, say_count(r, (double)run_execution_count(one), "%.9g execution",
                                   "%.9g executions", count));
}

static void append_summary(const results *r, text *out, const run *one) {
    text timing = {0};
    append_timing(r, &timing, one);
    text_format(out, "%s: ", one->name);
    if (!isnan(one->accuracy)) text_format(out, say(r, "test accuracy %.4f, "), one->accuracy);
    if (!run_has_epoch_time(one) || isnan(one->seconds_per_epoch))
        append_no_times(r, out, one);
    else
        text_format(out, say(r, "%.3f s per epoch%s"), one->seconds_per_epoch,
                    one->simulated ? say(r, ", SIMULATED") : "");
    text_format(out, say(r, " (%s)\n"), text_string(&timing));
    text_release(&timing);
}

void report_summary(const results *r, text *out) {
    for (size_t i = 0; i < r->list.count; i++) append_summary(r, out, &r->list.runs[i]);
}
