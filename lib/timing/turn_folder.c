// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cores.h"
#include "base/memory.h"
#include "results/like_for_like.h"
#include "timing/session.h"

static void path_of(const session *s, const char *name, char **path) {
    *path = memory_format("%s/%s", s->o->out, name);
}

// What must agree for turns to count together: the training, the build and the machine. Of another
// command there is nothing but its line.
static void describe_arm(const arm *a, yaml_node *list) {
    static const char *const said[][2] = {{"key", "key"},         {"tool", "tool"},
                                          {"version", "version"}, {"sources", "run.sources"},
                                          {"host", "run.host"},   {"cpu", "run.cpu"},
                                          {"inputs", "inputs"}};
    yaml_node *item = yaml_new(YAML_MAPPING);
    yaml_put(item, "command", yaml_new_string(a->command));
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        const yaml_node *found = yaml_get(a->manifest, said[i][1]);
        if (found) yaml_put(item, said[i][0], yaml_copy(found));
    }
    const yaml_node *execution = yaml_get(a->manifest, "run.execution");
    if (execution) yaml_put(item, "execution", like_execution(execution));
    yaml_append(list, item);
}

static yaml_node *describe_arms(const session *s) {
    yaml_node *list = yaml_new(YAML_SEQUENCE);
    for (size_t a = 0; a < s->t->count; a++) describe_arm(&s->t->arms[a], list);
    return list;
}

static bool is_unchanged(const session *s, const yaml_node *now, size_t a) {
    const yaml_node *one = now->items[a];
    return (!s->t->arms[a].manifest || strcmp(yaml_text_at(one, "key"), s->t->arms[a].key) == 0) &&
           (!s->trainings || yaml_equal(one, s->trainings->items[a]));
}

static void read_loads(session *s) {
    for (size_t a = 0; a < s->t->count; a++)
        s->loads[a] = turn_load_read(yaml_get(s->trainings->items[a], "execution"));
    s->unlike = turn_loads_differ(s->loads, s->t->count);
    s->quiet = turn_quiet_demand(s->loads, s->t->count, cores_usable());
}

status session_describe_arms(session *s, error *err) {
    yaml_node *now = describe_arms(s);
    status rc = STATUS_OK;
    for (size_t a = 0; rc == STATUS_OK && a < s->t->count; a++)
        if (!is_unchanged(s, now, a))
            rc = error_set(err, STATUS_FAILED,
                           "arm %zu changed: its program, experiment or data was replaced: '%s'",
                           a + 1, s->t->arms[a].command);
    if (rc == STATUS_OK && !s->trainings) {
        s->trainings = now;
        read_loads(s);
    } else {
        yaml_free(now);
    }
    return rc;
}

static const char TRAININGS[] = "trainings", SOURCES[] = "sources"; // metadata

// Does the file have turns of the same arms?
static status is_of_same(const session *s, const tensor_file *f, bool *same, error *err) {
    const char *sources = yaml_text_at(manifest_run(s->m), SOURCES);
    const char *with = tensor_file_metadata(f, SOURCES), *of = tensor_file_metadata(f, TRAININGS);
    char *trainings = NULL;
    size_t bytes;
    NEED(yaml_write_text(s->trainings, &trainings, &bytes, err));
    *same = with && of && strcmp(with, sources) == 0 && strcmp(of, trainings) == 0;
    free(trainings);
    return STATUS_OK;
}

static status prepend(session *s, const tensor_file *f, const char *path, error *err) {
    turn_log earlier = {0};
    NEED(turn_log_load(&earlier, s->t->count, f, path, err));
    log_info(s->o->log, "continues after execution %zu of '%s'", earlier.execution_count,
             s->o->out);
    s->execution = (uint32_t)earlier.execution_count;
    turn_log_append(&earlier, &s->t->log);
    turn_log_release(&s->t->log);
    s->t->log = earlier;
    return STATUS_OK;
}

status session_read_earlier(session *s, error *err) {
    tensor_file f = {0};
    char *path = NULL;
    bool same = false;
    status rc = STATUS_OK;
    path_of(s, TURNS_FILE, &path);
    if (access(path, F_OK)) goto out;
    TRY(tensor_file_read(path, TENSOR_FILE_DEFAULT_MAX, &f, err));
    TRY(is_of_same(s, &f, &same, err));
    if (same)
        TRY(prepend(s, &f, path, err));
    else
        log_info(s->o->log, "begins anew: '%s' has turns of other trainings or builds", path);
out:
    tensor_file_release(&f);
    free(path);
    return rc;
}

// A manifest of earlier turns no longer describes them.
static status save_turns(session *s, tensor_file *f, error *err) {
    char *path = NULL, *trainings = NULL;
    size_t bytes;
    status rc;
    path_of(s, TURNS_FILE, &path);
    TRY(yaml_write_text(s->trainings, &trainings, &bytes, err));
    turn_log_store(&s->t->log, f);
    tensor_file_add_metadata(f, SOURCES, yaml_text_at(manifest_run(s->m), SOURCES));
    tensor_file_add_metadata(f, TRAININGS, trainings);
    TRY(manifest_remove_old(s->m, s->o->out, err));
    TRY(tensor_file_write(path, f, err));
out:
    free(trainings);
    free(path);
    return rc;
}

static void write_results(session *s) {
    const turn_fit *shown = turn_evidence_shown(&s->t->evidence);
    yaml_node *results = manifest_results(s->m), *list = yaml_new(YAML_SEQUENCE);
    for (size_t a = 0; a < s->t->count; a++) {
        const estimate e = turn_fit_seconds(shown, a);
        yaml_append(list, yaml_new_number(e.value));
    }
    yaml_put(results, "executions", yaml_new_integer((int64_t)s->t->evidence.all.executions));
    const size_t quiet = s->t->evidence.quiet.executions;
    if (s->unlike) yaml_put(results, "quiet_executions", yaml_new_integer((int64_t)quiet));
    if (s->unlike && quiet < EXECUTIONS_LEAST) yaml_put(results, "lacks", yaml_new_string("quiet"));
    if (!isnan(s->t->widest)) yaml_put(results, "precision", yaml_new_number(s->t->widest));
    yaml_put(results, s->by_epochs ? "seconds_per_sample" : "seconds", list);
}

// What the key of the folder is made of: on another machine, with another build, or for a narrower
// interval, the stage is stale.
void session_put_parameters(session *s) {
    static const char *const machine[] = {"host", "cpu", "cores", "sources"};
    yaml_node *p = manifest_parameters(s->m), *keys = yaml_new(YAML_SEQUENCE);
    for (size_t a = 0; a < s->t->count; a++) yaml_append(keys, yaml_new_string(s->t->arms[a].key));
    yaml_put(p, "arms", keys);
    yaml_put(p, "precision", yaml_new_number(s->o->precision));
    yaml_put(p, "limit", yaml_new_number(s->o->limit));
    if (s->o->whole) yaml_put(p, "whole", yaml_new_boolean(true));
    for (size_t i = 0; i < sizeof machine / sizeof *machine; i++)
        yaml_put(p, machine[i], yaml_copy(yaml_find(manifest_run(s->m), machine[i])));
}

static status write_manifest(session *s, const tensor_file *f, error *err) {
    char *turns = NULL;
    path_of(s, TURNS_FILE, &turns);
    const manifest_file file = {turns, f->file_bytes, f->sha256, f->content};
    manifest_add_output(s->m, &file);
    yaml_put(manifest_run(s->m), "arms", yaml_copy(s->trainings));
    if (s->unlike) yaml_put(manifest_run(s->m), "quiet", yaml_new_integer(s->quiet));
    write_results(s);
    const status rc = manifest_write_in(s->m, s->o->out, err);
    free(turns);
    return rc;
}

status session_save(session *s, bool enough, error *err) {
    tensor_file f = {0};
    status rc = STATUS_OK;
    if (!s->o->out) return rc;
    rc = save_turns(s, &f, err);
    if (rc == STATUS_OK && enough) rc = write_manifest(s, &f, err);
    tensor_file_release(&f);
    return rc;
}
