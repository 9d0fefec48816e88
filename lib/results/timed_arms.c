// SPDX-License-Identifier: MIT
#include "results/timed_arms.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/manifest.h"
#include "results/like_for_like.h"

// ---- Reading ----

static status read_manifest(timed_arms *t, error *err) {
    NEED(manifest_read_in(&t->manifest, err, "%s", t->folder));
    t->arms = yaml_get(t->manifest, "run.arms");
    if (strcmp(yaml_text_at(t->manifest, "tool"), "time-runs") != 0)
        return yaml_error(t->manifest, err, "expected a manifest of time-runs");
    if (!t->arms || t->arms->kind != YAML_SEQUENCE || t->arms->count < 2)
        return yaml_error(t->manifest, err, "'run.arms': expected a list of two or more");
    return run_number(t->manifest, "run.cores", &t->cores, err);
}

static double mean_known(const double *x, size_t count) {
    double sum = 0;
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(x[i])) sum += x[i], known++;
    return known ? sum / (double)known : NAN;
}

// Those that load the machine alike need none.
static uint32_t quiet_demand(const timed_arms *t) {
    const double quiet = yaml_number_at(t->manifest, "run.quiet");
    return quiet >= 0 && quiet < DEMAND_UNKNOWN ? (uint32_t)quiet : 0;
}

static status read_turns(timed_arms *t, error *err) {
    tensor_file f = {0};
    turn_log l = {0};
    status rc;
    char *path = memory_format("%s/%s", t->folder, TURNS_FILE);
    TRY(tensor_file_read(path, TENSOR_FILE_DEFAULT_MAX, &f, err));
    TRY(turn_log_load(&l, t->arms->count, &f, path, err));
    turn_load *loads = memory_new(t->arms->count, sizeof *loads);
    for (size_t a = 0; a < t->arms->count; a++)
        loads[a] = turn_load_read(yaml_get(t->arms->items[a], "execution"));
    turn_evidence_make(&l, loads, t->arms->count, quiet_demand(t), &t->evidence);
    free(loads);
    memcpy(t->content, f.content, sizeof t->content);
    t->others = mean_known(l.others, l.execution_count);
out:
    turn_log_release(&l);
    tensor_file_release(&f);
    free(path);
    return rc;
}

status timed_arms_read(const char *folder, timed_arms *t, error *err) {
    *t = (timed_arms){.folder = memory_string(folder)};
    status rc = read_manifest(t, err);
    if (rc == STATUS_OK) rc = read_turns(t, err);
    if (rc != STATUS_OK) timed_arms_release(t);
    return rc;
}

void timed_arms_release(timed_arms *t) {
    free(t->folder);
    yaml_free(t->manifest);
    turn_evidence_release(&t->evidence);
    *t = (timed_arms){0};
}

// ---- The runs ----

bool timed_arms_find(const timed_arms *t, const run *r, size_t *arm) {
    bool found = false;
    if (!*r->key || r->samples < 1) return false;
    for (size_t i = 0; i < t->arms->count; i++) {
        const yaml_node *one = t->arms->items[i], *execution = yaml_get(one, "execution");
        const bool built = strcmp(yaml_text_at(one, "version"), r->version) == 0;
        if (strcmp(yaml_text_at(one, "key"), r->key) != 0 || !like_timed(r, execution)) continue;
        if (!found || built) *arm = i;
        if (built) return true;
        found = true;
    }
    return found;
}

static bool assign(const timed_arms *t, run_list *runs) {
    bool any = false;
    for (size_t i = 0; i < runs->count; i++) {
        run *r = &runs->runs[i];
        size_t arm;
        if (!timed_arms_find(t, r, &arm)) continue;
        any = true;
        if (r->timing) continue;
        r->timing = t;
        r->arm = arm;
        r->seconds_per_epoch = timed_arms_epoch(r).value;
    }
    return any;
}

status timed_arms_assign(timed_arms *list, size_t count, run_list *runs, error *err) {
    for (size_t i = 0; i < count; i++) {
        list[i].next = i + 1 < count ? &list[i + 1] : NULL;
        if (!assign(&list[i], runs))
            return error_set(err, STATUS_INPUT,
                             "cannot report on '%s': none of its %zu arms has the key of a run of "
                             "this report and was executed alike",
                             list[i].folder, list[i].arms->count);
    }
    return STATUS_OK;
}

// ---- Times ----

estimate timed_arms_epoch(const run *r) {
    const estimate sample = turn_fit_seconds(turn_evidence_shown(&r->timing->evidence), r->arm);
    const double samples = (double)r->samples;
    return (estimate){sample.value * samples,
                      {sample.range.low * samples, sample.range.high * samples}};
}

double timed_arms_execution(const run *r, size_t execution) {
    const turn_fit *shown = turn_evidence_shown(&r->timing->evidence);
    return turn_fit_execution(shown, execution, r->arm) * (double)r->samples;
}
