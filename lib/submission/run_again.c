// SPDX-License-Identifier: MIT
#include "submission/run_again.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/shell_words.h"
#include "base/text.h"
#include "data/manifest.h"
#include "pipeline/data_stages.h"
#include "submission/page.h"

static const char HEAD[] = "#!/bin/sh\n"
                           "# Runs everything in this folder again and compares the models. Usage: "
                           "sh run-again.sh [FOLDER]\n"
                           "#\n"
                           "# lockstep is found on PATH, or in BIN=FOLDER; outputs go below "
                           "FOLDER (again). DEVICE\n"
                           "# and THREADS set the device and the threads.\n"
                           "set -eu\n"
                           "here=$(cd \"$(dirname \"$0\")\" && pwd)\n"
                           "out=${1:-again}\n"
                           "lockstep=${BIN:+$BIN/}lockstep\n"
                           "run() {\n"
                           "    echo \"$1\"\n"
                           "    \"$lockstep\" \"$@\"\n"
                           "}\n\n";

static const char COMPARISON[] =
    "\n# Are they the same models, bit for bit?\n"
    "failed=0\n"
    "same() {\n"
    "    manifest=$out/$1/train/manifest.yaml\n"
    "    if [ \"$(\"$lockstep\" manifest get \"$manifest\" results.model)\" = \"$2\" ]; then\n"
    "        echo \"$1: the same model\"\n"
    "    else\n"
    "        echo \"$1: a DIFFERENT model\"\n"
    "        failed=4\n"
    "    fi\n"
    "}\n";

static const char OWN_DATA[] =
    "\n# The author's own data set, which is not in this folder.\n"
    ": \"${DATA:?must name the folder of the data set, with train.st.zst and test.st.zst}\"\n"
    "check_data() {\n"
    "    got=$(\"$lockstep\" tensor hash \"$DATA/$1\") || exit 3\n"
    "    if [ \"${got%% *}\" != \"$2\" ]; then\n"
    "        echo \"run-again.sh: '$DATA/$1' is another data set: expected the contents $2,\" \\\n"
    "            \"got ${got%% *}\" >&2\n"
    "        exit 3\n"
    "    fi\n"
    "}\n";

typedef struct script {
    const pipeline *p;
    const planned_runs *runs;
    const char *folder; // of the submission
    strvec filled;      // folders that a command already fills
    text out;
    error *err;
} script;

// ---- Words ----

// Returns the part of `word` below `folder`; NULL if it lies elsewhere.
static const char *below(const char *word, const char *folder) {
    const size_t length = folder ? strlen(folder) : 0;
    return length && strncmp(word, folder, length) == 0 && word[length] == '/' ? word + length + 1
                                                                               : NULL;
}

// Input files lie in $here or $DATA, outputs in $out.
static void write_word(script *s, const char *word) {
    const struct {
        const char *folder, *variable;
    } places[] = {
        {s->folder, "here"}, {data_own(&s->runs->items[0]), "DATA"}, {s->p->artifacts, "out"}};
    const char *variable = NULL, *rest = word;
    for (size_t i = 0; i < 3 && !variable; i++) {
        const char *inside = below(word, places[i].folder);
        if (!inside) continue;
        variable = places[i].variable;
        rest = inside;
    }
    char *quoted = shell_quote(rest);
    if (variable)
        text_format(&s->out, " \"$%s\"/%s", variable, quoted);
    else
        text_format(&s->out, " %s", quoted);
    free(quoted);
}

// Writes a line "run TOOL ARGUMENTS MORE"; `more` is shell text.
static void write_command(script *s, const strvec *command, const char *more) {
    text_append(&s->out, "run");
    for (size_t i = 0; i < command->count; i++) write_word(s, command->items[i]);
    text_format(&s->out, "%s\n", more);
}

// ---- Commands ----

// True on the first call for a folder.
static bool is_new(script *s, const char *folder) {
    if (strvec_has(&s->filled, folder)) return false;
    strvec_add(&s->filled, folder);
    return true;
}

// Checks the user's own data before anything is trained.
static status write_check(script *s, const planned_run *r) {
    yaml_node *root = NULL;
    status rc = manifest_read_in(&root, s->err, "%s", r->data);
    if (rc != STATUS_OK) return rc;
    const yaml_node *outputs = yaml_find(root, "outputs");
    text_append(&s->out, OWN_DATA);
    for (size_t i = 0; outputs && i < outputs->count; i++) {
        const yaml_node *file = outputs->items[i];
        const char *content = yaml_text_at(file, "content");
        if (!*content) continue;
        char *name = shell_quote(yaml_text_at(file, "path"));
        text_format(&s->out, "check_data %s %s\n", name, content);
        free(name);
    }
    text_append(&s->out, "\n");
    yaml_free(root);
    return rc;
}

static void write_data(script *s, const planned_run *r) {
    const char *source = settings_source_name(r->e.dataset);
    strvec fetch = {0}, shard = {0};
    char *from =
        source ? memory_format(" ${%s:+--from \"$%s\"}", source, source) : memory_string("");
    if (!r->own && is_new(s, r->data)) {
        data_fetch_command(r, NULL, &fetch);
        write_command(s, &fetch, from);
    }
    if (r->e.virtual_shards > 1 && is_new(s, r->train)) {
        data_shard_command(r, &shard);
        write_command(s, &shard, "");
    }
    free(from);
    strvec_release(&shard);
    strvec_release(&fetch);
}

static void write_training(script *s, const planned_run *r, const planned_seed *seed) {
    static const char where[] = " ${DEVICE:+--device \"$DEVICE\"}";
    static const char wide[] =
        " ${DEVICE:+--device \"$DEVICE\"} ${THREADS:+--threads \"$THREADS\"}";
    strvec train = {0}, evaluate = {0};
    char *folder = memory_format("%s/%s", s->p->artifacts, seed->own);
    char *out = memory_format("%s/%s", folder, tta_folder(r->e.tta));
    strvec_add(&train, r->tool);
    strvec_add(&train, "--experiment");
    strvec_format(&train, "%s/experiments/%s.yaml", s->folder, r->name);
    strvec_add(&train, "--set");
    strvec_format(&train, "seed=%llu", (unsigned long long)seed->seed);
    strvec_add_option(&train, "--train", r->train);
    if (!r->e.validation.samples) strvec_add_option(&train, "--test", r->test);
    strvec_add(&train, "--out");
    strvec_format(&train, "%s/train", folder);
    planned_run_evaluation(r, folder, out, &evaluate);
    write_command(s, &train, wide);
    write_command(s, &evaluate, where);
    strvec_release(&evaluate);
    strvec_release(&train);
    free(out);
    free(folder);
}

// Adds REPORT_FLAGS, with the path of the author's text in the submission.
static void add_flags(script *s, strvec *command) {
    static const char option[] = "--discussion";
    const strvec *flags = &s->p->settings->report_flags;
    for (size_t i = 0; i < flags->count; i++) {
        const char *flag = flags->items[i];
        const bool two = strcmp(flag, option) == 0 && flags->items[i + 1];
        if (!two && strncmp(flag, "--discussion=", sizeof option) != 0) {
            strvec_add(command, flag);
            continue;
        }
        strvec_add(command, option);
        strvec_format(command, "%s/" PAGE_DISCUSSION, s->folder);
        i += two;
    }
}

static void write_report(script *s) {
    strvec command = {0};
    strvec_add(&command, "report");
    for (size_t i = 0; i < s->runs->count; i++)
        for (size_t k = 0; k < s->runs->items[i].seed_count; k++)
            strvec_format(&command, "%s/%s", s->p->artifacts, s->runs->items[i].seeds[k].own);
    if (s->runs->count > 1) {
        strvec_add(&command, "--baseline");
        strvec_format(&command, "%s/%s", s->p->artifacts, s->runs->items[0].seeds[0].own);
    }
    strvec_add(&command, "--out");
    strvec_format(&command, "%s/report", s->p->artifacts);
    add_flags(s, &command);
    write_command(s, &command, "");
    strvec_release(&command);
}

static void write_comparison(script *s, const strvec *models) {
    size_t at = 0;
    text_append(&s->out, COMPARISON);
    for (size_t i = 0; i < s->runs->count; i++)
        for (size_t k = 0; k < s->runs->items[i].seed_count; k++) {
            char *place = shell_quote(s->runs->items[i].seeds[k].own);
            text_format(&s->out, "same %s %s\n", place, models->items[at++]);
            free(place);
        }
    text_append(&s->out, "exit $failed\n");
}

static status write_all(script *s, const strvec *models) {
    const planned_runs *runs = s->runs;
    text_append(&s->out, HEAD);
    if (runs->items[0].own) NEED(write_check(s, &runs->items[0]));
    for (size_t i = 0; i < runs->count; i++) write_data(s, &runs->items[i]);
    for (size_t i = 0; i < runs->count; i++)
        for (size_t k = 0; k < runs->items[i].seed_count; k++)
            write_training(s, &runs->items[i], &runs->items[i].seeds[k]);
    write_report(s);
    write_comparison(s, models);
    return STATUS_OK;
}

status run_again_write(const pipeline *p, const planned_runs *runs, const char *folder,
                       const strvec *models, error *err) {
    script s = {.p = p, .runs = runs, .folder = folder, .err = err};
    char *path = memory_format("%s/run-again.sh", folder);
    status rc = write_all(&s, models);
    if (rc == STATUS_OK) rc = output_write_file(path, text_string(&s.out), s.out.length, err);
    text_release(&s.out);
    strvec_release(&s.filled);
    if (rc == STATUS_OK && chmod(path, 0755) != 0)
        rc = error_set(err, STATUS_FAILED, "cannot make '%s' executable", path);
    free(path);
    return rc;
}

char *run_again_sources(const planned_runs *runs) {
    strvec names = {0};
    text list = {0};
    for (size_t i = 0; i < runs->count; i++) {
        const planned_run *r = &runs->items[i];
        const char *name = r->own ? "DATA" : settings_source_name(r->e.dataset);
        if (name && !strvec_has(&names, name)) strvec_add(&names, name);
    }
    for (size_t i = 0; i < names.count; i++)
        text_format(&list, "%s`%s=`", i ? " " : "", names.items[i]);
    strvec_release(&names);
    return text_take(&list);
}
