// Every experiment against the baseline.
#include <math.h>
#include <stdio.h>

#include "report/bars.h"
#include "report/sections.h"

static void verdict_cell(const results *r, document *d, const comparison *c) {
    interval range = c->speedup.range;
    if (c->reasons)
        document_cell(d, CELL_TEXT, say(r, "not like for like: %s"), c->reasons);
    else if (isnan(range.low))
        document_cell(d, CELL_TEXT,
                      say(r, "no verdict: at least %d timed epochs on each side are needed"),
                      STATISTICS_RATIO_MIN);
    else if (range.low <= 1 && range.high >= 1)
        document_cell(d, CELL_TEXT, "%s", say(r, "no difference"));
    else
        document_cell(d, CELL_TEXT, "%s", say(r, c->speedup.value > 1 ? "faster" : "slower"));
}

void cells_speedup(const results *r, document *d, const comparison *c) {
    interval range = c->speedup.range;
    const char *mark = c->simulated ? SIMULATED_MARK : "";
    if (c->reasons || isnan(c->speedup.value))
        document_cell(d, CELL_NUMBER, "%s", "");
    else
        document_cell(d, CELL_NUMBER, "%.2f×%s", c->speedup.value, mark);
    if (c->reasons || isnan(range.low))
        document_cell(d, CELL_NUMBER, "%s", "");
    else
        document_cell(d, CELL_NUMBER, "[%.2f, %.2f]", range.low, range.high);
    verdict_cell(r, d, c);
}

void cell_accuracy_verdict(const results *r, document *d, const comparison *c) {
    char how[128];
    if (isnan(c->accuracy_difference) && !c->identical) {
        document_cell(d, CELL_TEXT, "%s", say(r, "not comparable: other test data, or none"));
    } else if (c->identical) {
        document_cell(d, CELL_TEXT, "%s", say(r, "same model: exactly 0"));
    } else if (c->test == ACCURACY_NOT_TESTED) {
        document_cell(
            d, CELL_TEXT, "%s",
            say(r, "not tested: same seeds with predictions, or three common seeds, are needed"));
    } else {
        const char *by = c->test == ACCURACY_PAIRED ? WORD("paired t-test over %zu seeds")
                                                    : WORD("McNemar's test on %zu samples");
        const char *verdict = c->p < 0.05 ? WORD("significant (p = %.2g, %s)")
                                          : WORD("no significant difference (p = %.2g, %s)");
        snprintf(how, sizeof how, say(r, by), c->pairs);
        document_cell(d, CELL_TEXT, say(r, verdict), c->p, how);
    }
}

void cells_comparison(const results *r, document *d, const comparison *c) {
    cell_group(r, d, c->subject, "seconds_per_epoch");
    cells_speedup(r, d, c);
    if (c->arithmetic)
        document_cell(d, CELL_TEXT, say(r, "no: %s"), c->arithmetic);
    else
        document_cell(d, CELL_TEXT, "%s", say(r, "yes"));
    if (isnan(c->accuracy_difference))
        document_cell(d, CELL_NUMBER, "%s", "");
    else
        document_cell(d, CELL_NUMBER, say(r, "%+.2f points"), 100 * c->accuracy_difference);
    cell_accuracy_verdict(r, d, c);
    if (any_target(r)) cell_target(r, d, c->subject);
}

void cells_uncompared(const results *r, document *d, const group *g) {
    cell_group(r, d, g, "seconds_per_epoch");
    document_cell(d, CELL_NUMBER, "%s", "");
    document_cell(d, CELL_NUMBER, "%s", "");
    document_cell(d, CELL_TEXT, "%s", say(r, "baseline"));
    document_cell(d, CELL_TEXT, "%s", "");
    document_cell(d, CELL_NUMBER, "%s", "");
    document_cell(d, CELL_TEXT, "%s", "");
    if (any_target(r)) cell_target(r, d, g);
}

void head_comparison(const results *r, document *d, const wording *front, size_t count) {
    static const wording head[] = {"s / epoch",   "Speed-up",        "95 % interval",
                                   "Verdict",     "Same arithmetic", "Accuracy difference",
                                   "Its verdict", "Time to target"};
    size_t columns = any_target(r) ? 8 : 7;
    document_table(d, count + columns, "");
    head_cells(r, d, front, count);
    head_cells(r, d, head, columns);
}

// Bars of the speed-ups that may be given.
status section_speedups(const results *r, document *d, const char *axis, error *err) {
    static const char *const metric[] = {"speedup"};
    status rc = STATUS_OK;
    bars b = {.id = "speedup",
              .title = say(r, "Speed-up"),
              .axis = axis,
              .caption = say(r, "Speed-ups with their 95 % intervals; the dashed line is no "
                                "difference. What was not like for like has no bar."),
              .metrics = metric,
              .metric_count = 1,
              .scale = 1,
              .reference = 1,
              .err = err};
    for (size_t i = 0; i < r->comparison_count; i++) {
        const char *name = r->comparisons[i].subject->name;
        TRY(bars_add(&b, r, name, "", name));
    }
    rc = bars_draw(&b, r, d);
out:
    bars_release(&b);
    return rc;
}

void section_comparison(const results *r, document *d) {
    static const wording front[] = {"Experiment"};
    const group *baseline = &r->groups[0];
    if (!r->comparison_count) return;
    document_add(d, BLOCK_HEADING, say(r, "Against %s"), baseline->name);
    head_comparison(r, d, front, 1);
    document_cell(d, CELL_STRONG, "%s", baseline->name);
    cells_uncompared(r, d, baseline);
    for (size_t i = 0; i < r->comparison_count; i++) {
        document_cell(d, CELL_STRONG, "%s", r->comparisons[i].subject->name);
        cells_comparison(r, d, &r->comparisons[i]);
    }
    document_add(
        d, BLOCK_NOTE, "%s",
        say(r,
            "A speed-up is printed only between runs with the same data, model, global batch, "
            "epochs, augmentation, optimizer, precision, build, machine, device kind and loader "
            "workers. Intervals: 95 % bootstrap over repeats where a side has three or more, else "
            "over epochs: then they know the noise between epochs, not that between runs."));
    if (any_target(r))
        document_add(d, BLOCK_NOTE, "%s",
                     say(r, "Time to target: seconds of training up to the end of the first epoch "
                            "after which the test accuracy is that of the experiment's target; "
                            "evaluation is not counted."));
}
