// SPDX-License-Identifier: MIT
#include "results/turn_evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "results/verdict.h"

// ---- How arms load a machine ----

// 0 where it is not given: a GPU has no threads.
static double number_in(const yaml_node *execution, const char *key) {
    const double number = yaml_number_at(execution, key);
    return isnan(number) ? 0 : number;
}

turn_load turn_load_read(const yaml_node *execution) {
    if (!execution) return (turn_load){NAN, NAN, NAN};
    return (turn_load){number_in(execution, "threads"), number_in(execution, "world_size"),
                       number_in(execution, "loader_workers")};
}

bool turn_load_equal(const turn_load *a, const turn_load *b) {
    return a->threads == b->threads && a->ranks == b->ranks &&
           a->loader_workers == b->loader_workers;
}

bool turn_loads_differ(const turn_load *loads, size_t arms) {
    for (size_t a = 1; a < arms; a++)
        if (!turn_load_equal(&loads[0], &loads[a])) return true;
    return false;
}

uint32_t turn_quiet_demand(const turn_load *loads, size_t arms, double cores) {
    double widest = 1;
    for (size_t a = 0; a < arms; a++) {
        const double own = loads[a].threads * loads[a].ranks;
        widest = fmax(widest, isnan(own) ? cores : own);
    }
    return cores > widest ? (uint32_t)(cores - widest) : 0;
}

// ---- Fits ----

void turn_evidence_make(const turn_log *l, const turn_load *loads, size_t arms, uint32_t quiet,
                        turn_evidence *e) {
    *e = (turn_evidence){.loads = memory_new(arms, sizeof *loads)};
    memcpy(e->loads, loads, arms * sizeof *loads);
    for (size_t i = 0; i < l->turn_count; i++) e->known |= l->turns[i].demand != DEMAND_UNKNOWN;
    turn_fit_make(l, arms, DEMAND_UNKNOWN, &e->all);
    turn_fit_make(l, arms, quiet, &e->quiet);
}

void turn_evidence_release(turn_evidence *e) {
    turn_fit_release(&e->all);
    turn_fit_release(&e->quiet);
    free(e->loads);
    *e = (turn_evidence){0};
}

const turn_fit *turn_evidence_on(const turn_evidence *e, size_t a, size_t b) {
    return turn_load_equal(&e->loads[a], &e->loads[b]) ? &e->all : &e->quiet;
}

const turn_fit *turn_evidence_shown(const turn_evidence *e) {
    const bool quiet =
        turn_loads_differ(e->loads, e->all.arms) && e->quiet.executions >= VERDICT_EXECUTIONS;
    return quiet ? &e->quiet : &e->all;
}

bool turn_evidence_settles(const turn_evidence *e, double precision, double *widest) {
    bool enough = precision > 0;
    double most = 0;
    for (size_t a = 0; a < e->all.arms; a++)
        for (size_t b = 0; b < a; b++) {
            const turn_fit *f = turn_evidence_on(e, a, b);
            const mean_estimate m = turn_fit_difference(f, a, b);
            const double half = turn_half_width(&m);
            if (!(half <= most)) most = half;
            enough &= half <= fmax(precision, fabs(m.value) / 10) &&
                      f->executions >= turn_executions_least(precision);
        }
    if (widest) *widest = most;
    return enough;
}
