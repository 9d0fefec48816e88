// SPDX-License-Identifier: MIT
#include "train/print_plan.h"

#include "base/output.h"
#include "compute/plan/plan_text.h"
#include "train/strategy.h"

status print_plan_of(const experiment *e, const devices *d, error *err) {
    const executor_options x = {.experiment = e, .devices = d};
    const engine_options o = strategy_engine_options(&x, 0);
    const program *p = &e->model.program;
    parameter_group rule[PARAMETER_GROUPS - 1];
    unit_list units;
    step_plan plan;
    text lines = {0};
    status rc = devices_backend(d, 0)->units(p, &o, &units, err);
    if (rc != STATUS_OK) return rc;
    parameter_groups_rule(&e->parameter_groups, 0, 0, 0, 1, rule);
    step_plan_training(&plan, p, &units, &o, parameter_groups_frozen(&e->parameter_groups, rule));
    plan_text(&plan, &lines);
    rc = output_write_file("-", text_string(&lines), lines.length, err);
    text_release(&lines);
    step_plan_release(&plan);
    units_release(&units);
    return rc;
}
