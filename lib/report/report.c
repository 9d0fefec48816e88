#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/sha256.h"
#include "report/document.h"
#include "report/sections.h"
#include "results/reproduction.h"

static char *study_title(const results *r, error *err) {
    const char *title = run_text(r->plan.head, "title");
    if (*title) return memory_string(title, err);
    return memory_format(err, say(r, "Study: %s"), r->plan.name);
}

static char *make_title(const results *r, const char *given, error *err) {
    const run *first = &r->list.runs[0];
    if (given) return memory_string(given, err);
    if (r->reproduction) {
        const char *title = run_text(r->reproduction->root, "title");
        return memory_string(*title ? title : say(r, "Published reports, reproduced"), err);
    }
    if (r->plan.count && r->plan.ladder)
        return memory_format(err, say(r, "From %s to %s, one factor at a time"), r->plan.from,
                             r->plan.to);
    if (r->plan.count) return study_title(r, err);
    if (r->comparison_count == 1)
        return memory_format(err, say(r, "%s against %s"), r->groups[1].name, r->groups[0].name);
    if (r->comparison_count > 1)
        return memory_format(err, say(r, "%zu experiments against %s"), r->comparison_count,
                             r->groups[0].name);
    const char *title = r->group_count == 1 && *first->title ? first->title : r->groups[0].name;
    if (r->group_count == 1) return memory_string(title, err);
    return memory_format(err, say(r, "%s and %zu more"), title, r->group_count - 1);
}

static status section_plan(const results *r, document *d, bool draw, error *err) {
    return r->plan.ladder ? section_ladder(r, d, draw, err) : section_study(r, d, draw, err);
}

static status compose(const results *r, const char *title_given, document *d, error *err) {
    status rc = STATUS_OK;
    char *title = make_title(r, title_given, err);
    if (!title) return STATUS_FAILED;
    document_init(d, title, language_name(r->options.language), err);
    free(title);
    if (r->reproduction) return section_reproduction(r, d, err);
    if (r->plan.count) {
        TRY(section_plan(r, d, true, err));
        section_prediction(r, d);
        document_add(d, BLOCK_HEADING, "%s", say(r, "All runs"));
    }
    section_summary(r, d);
    TRY(section_comparison(r, d, err));
    if (!r->plan.count) section_prediction(r, d);
    section_repeats(r, d);
    TRY(section_published(r, d, err));
    TRY(section_curves(r, d, err));
    TRY(section_time_split(r, d, err));
    TRY(section_strategy(r, d, err));
    TRY(section_gpus(r, d, err));
    TRY(section_classes(r, d, err));
    section_environment(r, d);
    section_files(r, d);
    section_commands(r, d);
    if (r->plan.count) section_loader_verdict(r, d);
    rc = document_status(d);
out:
    return rc;
}

static status write_output(const char *folder, const char *name, const text *content, manifest *m,
                           error *err) {
    status rc = text_status(content);
    char hash[SHA256_TEXT_BYTES];
    if (rc != STATUS_OK) return rc;
    char *path = memory_format(err, "%s/%s", folder, name);
    if (!path) return STATUS_FAILED;
    TRY(output_write_file(path, text_string(content), content->length, err));
    TRY(sha256_buffer(text_string(content), content->length, hash, err));
    manifest_file file = {.path = path, .bytes = content->length, .sha256 = hash};
    TRY(manifest_add_output(m, &file, err));
out:
    free(path);
    return rc;
}

static status write_outputs(const results *r, const document *d, const char *folder, manifest *m,
                            error *err) {
    status rc = STATUS_OK;
    text html, markdown, latex, csv;
    text_init(&html, err);
    text_init(&markdown, err);
    text_init(&latex, err);
    text_init(&csv, err);
    document_to_html(d, &html);
    document_to_markdown(d, &markdown);
    document_to_latex(d, &latex);
    figures_to_csv(&r->figures, &csv);
    TRY(write_output(folder, "report.html", &html, m, err));
    TRY(write_output(folder, "report.md", &markdown, m, err));
    TRY(write_output(folder, "report.csv", &csv, m, err));
    TRY(write_output(folder, "report.tex", &latex, m, err));
out:
    text_release(&html);
    text_release(&markdown);
    text_release(&latex);
    text_release(&csv);
    return rc;
}

static status write_figures(const document *d, const char *folder, manifest *m, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; rc == STATUS_OK && i < d->count; i++) {
        const block *b = &d->blocks[i];
        if (!b->svg) continue;
        text svg;
        text_init(&svg, err);
        document_figure_to_svg(b, &svg);
        char *name = memory_format(err, "%s.svg", b->id);
        rc = name ? output_make_folder(folder, err) : STATUS_FAILED;
        if (rc == STATUS_OK) rc = write_output(folder, name, &svg, m, err);
        free(name);
        text_release(&svg);
    }
    return rc;
}

status report_record(const results *r, const report_options *o, manifest *m, error *err) {
    const char *title = o->title ? o->title : "", *name = language_name(r->options.language);
    yaml_node *parameters = manifest_parameters(m);
    status rc;
    TRY(results_record(r, m, err));
    TRY(yaml_put(parameters, "language", yaml_new_string(name, err), err));
    // Not "title": the stage key leaves that out, and another heading is another report.
    TRY(yaml_put(parameters, "heading", yaml_new_string(title, err), err));
    if (o->figures) TRY(yaml_put(parameters, "figures", yaml_new_boolean(true, err), err));
out:
    return rc;
}

status report_write(const results *r, const report_options *o, const char *folder, manifest *m,
                    error *err) {
    document d = {0};
    status rc = compose(r, o->title, &d, err);
    if (rc == STATUS_OK) rc = write_outputs(r, &d, folder, m, err);
    if (rc == STATUS_OK && o->figures) rc = write_figures(&d, o->figures, m, err);
    document_release(&d);
    return rc;
}

status report_answer(const results *r, text *out, error *err) {
    document d;
    status rc = STATUS_OK;
    if (!r->plan.count && !r->reproduction)
        return error_set(err, STATUS_USAGE, "no answer: the plan '%s' asks nothing",
                         r->options.plan);
    char *title = make_title(r, NULL, err);
    if (!title) return STATUS_FAILED;
    document_init(&d, title, language_name(r->options.language), err);
    free(title);
    TRY(r->reproduction ? section_rows(r, &d, false, err) : section_plan(r, &d, false, err));
    section_loader_verdict(r, &d);
    TRY(document_status(&d));
    document_to_plain(&d, out);
    rc = text_status(out);
out:
    document_release(&d);
    return rc;
}

static void append_summary(text *out, const run *r) {
    const size_t count = run_execution_count(r);
    text_format(out, "%s:", r->name);
    if (!isnan(r->accuracy)) text_format(out, " test accuracy %.4f,", r->accuracy);
    if (!run_has_time(r) || isnan(r->seconds_per_epoch))
        text_append(out, " no times");
    else
        text_format(out, " %.3f s an epoch%s", r->seconds_per_epoch,
                    r->simulated ? ", SIMULATED" : "");
    text_format(out, " (%zu execution%s)\n", count, count == 1 ? "" : "s");
}

status report_summary(const results *r, text *out, error *err) {
    (void)err; // that of `out`
    for (size_t i = 0; i < r->list.count; i++) append_summary(out, &r->list.runs[i]);
    return text_status(out);
}
