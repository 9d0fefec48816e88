#include "report/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/progress.h"
#include "base/sha256.h"
#include "report/document.h"
#include "report/naming.h"
#include "report/reproduction.h"
#include "report/sections.h"

// ---- Reading ----

static status add_folder(run_list *list, const char *path, error *err) {
    char *plain = memory_string(path, err);
    if (!plain) return STATUS_FAILED;
    for (size_t n = strlen(plain); n > 1 && plain[n - 1] == '/'; n--) plain[n - 1] = 0;
    status rc = run_list_add(list, plain, err);
    free(plain);
    return rc;
}

static status make_comparisons(report *r, error *err) {
    if (!r->has_baseline || r->group_count < 2) return STATUS_OK;
    r->comparisons = memory_new(r->group_count - 1, sizeof *r->comparisons, err);
    if (!r->comparisons) return STATUS_FAILED;
    for (size_t i = 1; i < r->group_count; i++) {
        status rc =
            compare(&r->groups[i], &r->groups[0], r->options.language, &r->comparisons[i - 1], err);
        if (rc != STATUS_OK) return rc;
        r->comparison_count++;
    }
    return STATUS_OK;
}

static status make_predictions(report *r, error *err) {
    if (!r->options.collectives) return STATUS_OK;
    status rc = collectives_read(r->options.collectives, &r->collectives, err);
    if (rc != STATUS_OK) return rc;
    r->predictions = memory_new(r->group_count, sizeof *r->predictions, err);
    if (!r->predictions) return STATUS_FAILED;
    for (size_t i = 0; i < r->group_count; i++) {
        prediction *p = &r->predictions[r->prediction_count];
        if (!prediction_is_due(&r->groups[i])) continue;
        rc = prediction_make(&r->groups[i], r->groups, r->group_count, &r->collectives,
                             r->options.language, p, err);
        if (rc != STATUS_OK) return rc;
        r->prediction_count++;
    }
    return STATUS_OK;
}

// Takes `root` over.
static status read_plan(report *r, yaml_node *root, error *err) {
    if (naming_is_all(root)) {
        r->plan.root = root; // names point into it
        return STATUS_OK;
    }
    if (!reproduction_is(root))
        return plan_read(root, &r->list, r->options.language, &r->plan, err);
    r->reproduction = memory_new(1, sizeof *r->reproduction, err);
    if (r->reproduction) return reproduction_open(root, r, r->reproduction, err);
    yaml_free(root);
    return STATUS_FAILED;
}

static status figures_of_reproduction(figure_list *list, const reproduction *p, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; i < p->count; i++) {
        const reproduced *one = &p->reports[i];
        for (size_t k = 0; k < one->rows.comparison_count; k++)
            TRY(figures_of_comparison(list, &one->rows.comparisons[k], err));
        for (size_t k = 0; k < one->study_count; k++)
            TRY(figures_of_plan(list, &one->studies[k].plan, err));
    }
out:
    return rc;
}

static status make_figures(report *r, error *err) {
    status rc = STATUS_OK;
    for (size_t i = 0; i < r->list.count; i++)
        TRY(figures_of_run(&r->figures, &r->list.runs[i], err));
    for (size_t i = 0; i < r->group_count; i++)
        TRY(figures_of_group(&r->figures, &r->groups[i], err));
    for (size_t i = 0; i < r->comparison_count; i++)
        TRY(figures_of_comparison(&r->figures, &r->comparisons[i], err));
    TRY(figures_of_plan(&r->figures, &r->plan, err));
    if (r->reproduction) TRY(figures_of_reproduction(&r->figures, r->reproduction, err));
    for (size_t i = 0; i < r->prediction_count; i++)
        TRY(figures_of_prediction(&r->figures, &r->predictions[i], &r->collectives, err));
out:
    return rc;
}

static status add_folders(report *r, error *err) {
    const report_options *o = &r->options;
    progress shown;
    status rc = STATUS_OK;
    progress_begin(&shown, o->log, "reading", "folders");
    if (o->baseline) TRY(add_folder(&r->list, o->baseline, err));
    for (size_t i = 0; i < r->list.execution_count; i++) r->list.executions[i].baseline = true;
    for (size_t i = 0; i < o->folder_count; i++) {
        TRY(add_folder(&r->list, o->folders[i], err));
        progress_show(&shown, i + 1, o->folder_count);
    }
out:
    progress_end(&shown);
    return rc;
}

// Without a plan that knows runs by their keys, two executions of one key can be compared: one is
// given as the baseline.
static status find_runs(report *r, const yaml_node *plan_root, error *err) {
    const bool named = plan_root && naming_is_given(plan_root);
    const char *baseline = r->options.baseline;
    status rc;
    if (baseline && plan_root && !naming_is_all(plan_root))
        return error_set(err, STATUS_USAGE, "--plan says what is compared: no --baseline with it");
    TRY(add_folders(r, err));
    TRY(run_list_pool(&r->list, !named, err));
    if (named) TRY(naming_apply(&r->list, plan_root, &baseline, err));
    r->has_baseline = baseline != NULL;
    TRY(run_list_name(&r->list, err));
    TRY(groups_make(&r->list, &r->groups, &r->group_count, err));
out:
    return rc;
}

status report_open(report *r, const report_options *o, error *err) {
    status rc = STATUS_OK;
    yaml_node *root = NULL;
    *r = (report){.options = *o};
    if (o->plan) TRY(plan_read_file(o->plan, &root, err));
    TRY(find_runs(r, root, err));
    TRY(make_comparisons(r, err));
    if (root) {
        yaml_node *taken = root;
        root = NULL;
        TRY(read_plan(r, taken, err));
    }
    TRY(make_predictions(r, err));
    TRY(make_figures(r, err));
out:
    yaml_free(root);
    if (rc != STATUS_OK) report_release(r);
    return rc;
}

void report_release(report *r) {
    for (size_t i = 0; i < r->comparison_count; i++) comparison_release(&r->comparisons[i]);
    free(r->comparisons);
    plan_release(&r->plan);
    if (r->reproduction) reproduction_release(r->reproduction);
    free(r->reproduction);
    for (size_t i = 0; i < r->prediction_count; i++) prediction_release(&r->predictions[i]);
    free(r->predictions);
    collectives_release(&r->collectives);
    groups_free(r->groups, r->group_count);
    figures_release(&r->figures);
    run_list_release(&r->list);
    *r = (report){0};
}

// ---- Writing ----

static char *study_title(const report *r, error *err) {
    const char *title = run_text(r->plan.head, "title");
    if (*title) return memory_string(title, err);
    return memory_format(err, say(r, MESSAGE_TITLE_STUDY), r->plan.name);
}

static char *make_title(const report *r, error *err) {
    const run *first = &r->list.runs[0];
    if (r->options.title) return memory_string(r->options.title, err);
    if (r->reproduction) {
        const char *title = run_text(r->reproduction->root, "title");
        return memory_string(*title ? title : say(r, MESSAGE_REPRODUCTION_TITLE), err);
    }
    if (r->plan.count && r->plan.ladder)
        return memory_format(err, say(r, MESSAGE_TITLE_LADDER), r->plan.from, r->plan.to);
    if (r->plan.count) return study_title(r, err);
    if (r->comparison_count == 1)
        return memory_format(err, say(r, MESSAGE_TITLE_VERSUS), r->groups[1].name,
                             r->groups[0].name);
    if (r->comparison_count > 1)
        return memory_format(err, say(r, MESSAGE_TITLE_MANY_VERSUS), r->comparison_count,
                             r->groups[0].name);
    const char *title = r->group_count == 1 && *first->title ? first->title : r->groups[0].name;
    if (r->group_count == 1) return memory_string(title, err);
    return memory_format(err, say(r, MESSAGE_TITLE_MANY), title, r->group_count - 1);
}

static status section_plan(const report *r, document *d, bool draw, error *err) {
    return r->plan.ladder ? section_ladder(r, d, draw, err) : section_study(r, d, draw, err);
}

static status compose(const report *r, document *d, error *err) {
    status rc = STATUS_OK;
    char *title = make_title(r, err);
    if (!title) return STATUS_FAILED;
    document_init(d, title, language_name(r->options.language), err);
    free(title);
    if (r->reproduction) return section_reproduction(r, d, err);
    if (r->plan.count) {
        TRY(section_plan(r, d, true, err));
        section_prediction(r, d);
        document_add(d, BLOCK_HEADING, "%s", say(r, MESSAGE_ALL_RUNS));
    }
    section_summary(r, d);
    TRY(section_comparison(r, d, err));
    if (!r->plan.count) section_prediction(r, d);
    TRY(section_repeats(r, d, err));
    TRY(section_published(r, d, err));
    TRY(section_curves(r, d, err));
    TRY(section_time_split(r, d, err));
    TRY(section_strategy(r, d, err));
    TRY(section_gpus(r, d, err));
    TRY(section_classes(r, d, err));
    section_environment(r, d);
    section_files(r, d);
    section_commands(r, d);
    if (r->plan.count) TRY(section_loader_verdict(r, d, err));
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

static status write_outputs(const report *r, const document *d, const char *folder, manifest *m,
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

// Any file, by the bytes that it has on disk.
status report_record_file(manifest *m, const char *path, error *err) {
    char hash[SHA256_TEXT_BYTES];
    struct stat info;
    if (stat(path, &info)) return error_system(err, STATUS_INPUT, errno, "cannot read '%s'", path);
    status rc = sha256_file(path, hash, err);
    if (rc != STATUS_OK) return rc;
    manifest_file file = {.path = path, .bytes = (uint64_t)info.st_size, .sha256 = hash};
    return manifest_add_input(m, &file, err);
}

static uint64_t recorded_bytes(const yaml_node *file) {
    return strtoull(run_text(file, "bytes"), NULL, 10);
}

// The manifest of a stage, and the output of it that the report reads; NULL: none.
static status record_input(const char *folder, const yaml_node *root, const char *name, manifest *m,
                           error *err) {
    status rc = STATUS_OK;
    if (!root) return STATUS_OK;
    char *path = memory_format(err, "%s/manifest.yaml", folder);
    char *data = memory_format(err, "%s/%s", folder, name ? name : "");
    const yaml_node *file = name ? run_file(root, "outputs", name) : NULL;
    if (!path || !data) {
        rc = STATUS_FAILED;
        goto out;
    }
    TRY(report_record_file(m, path, err));
    if (!file) goto out;
    manifest_file of_data = {.path = data,
                             .bytes = recorded_bytes(file),
                             .sha256 = run_text(file, "sha256"),
                             .content = run_text(file, "content")};
    TRY(manifest_add_input(m, &of_data, err));
out:
    free(path);
    free(data);
    return rc;
}

static status record_collectives(const collectives *c, manifest *m, error *err) {
    char *path = memory_format(err, "%s/manifest.yaml", c->folder);
    status rc = path ? report_record_file(m, path, err) : STATUS_FAILED;
    free(path);
    return rc;
}

status report_record(const report *r, manifest *m, error *err) {
    status rc = STATUS_OK;
    yaml_node *parameters = manifest_parameters(m);
    const char *baseline = r->comparison_count ? r->groups[0].name : "";
    const char *title = r->options.title ? r->options.title : "";
    const char *name = language_name(r->options.language);
    for (size_t i = 0; i < r->list.execution_count; i++) {
        const run *one = &r->list.executions[i];
        // Of one that is left out the manifest says why.
        TRY(record_input(one->folder, one->train, one->left_out ? NULL : "steps.st.zst", m, err));
        if (one->left_out) continue;
        TRY(record_input(one->evaluation, one->evaluate, "predictions.st.zst", m, err));
    }
    if (r->collectives.count) TRY(record_collectives(&r->collectives, m, err));
    for (size_t i = 0; r->reproduction && i < r->reproduction->count; i++) {
        const char *path = r->reproduction->reports[i].claim_path;
        if (*path) TRY(report_record_file(m, path, err));
    }
    TRY(yaml_put(parameters, "language", yaml_new_string(name, err), err));
    TRY(yaml_put(parameters, "baseline", yaml_new_string(baseline, err), err));
    // Not "title": the stage key leaves that out, and another heading is another report.
    TRY(yaml_put(parameters, "heading", yaml_new_string(title, err), err));
    TRY(yaml_put(manifest_results(m), "figures", yaml_new_integer((int64_t)r->figures.count, err),
                 err));
out:
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

status report_write(const report *r, const char *folder, const char *figures, manifest *m,
                    error *err) {
    document d = {0};
    status rc = compose(r, &d, err);
    if (rc == STATUS_OK) rc = write_outputs(r, &d, folder, m, err);
    if (rc == STATUS_OK && figures) rc = write_figures(&d, figures, m, err);
    document_release(&d);
    return rc;
}

status report_answer(const report *r, text *out, error *err) {
    document d;
    status rc = STATUS_OK;
    if (!r->plan.count && !r->reproduction)
        return error_set(err, STATUS_USAGE, "no answer: the plan '%s' asks nothing",
                         r->options.plan);
    char *title = make_title(r, err);
    if (!title) return STATUS_FAILED;
    document_init(&d, title, language_name(r->options.language), err);
    free(title);
    TRY(r->reproduction ? section_rows(r, &d, false, err) : section_plan(r, &d, false, err));
    TRY(section_loader_verdict(r, &d, err));
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

status report_summary(const report *r, text *out, error *err) {
    (void)err; // that of `out`
    for (size_t i = 0; i < r->list.count; i++) append_summary(out, &r->list.runs[i]);
    return text_status(out);
}
