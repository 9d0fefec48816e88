// SPDX-License-Identifier: MIT
// Published figures along a plan: which ones are compared, and the arithmetic.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "results/published_walk.h"

static void assert_near(double value, double expected) {
    if (!(fabs(value - expected) < 1e-9)) fail_msg("%.12g is not %.12g", value, expected);
}

static yaml_node *parse(const char *text) {
    yaml_node *root;
    error err = {0};
    if (yaml_read_text(text, strlen(text), "plan", &root, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return root;
}

static published_walks walks_of(const yaml_node *runs) {
    published_walks w;
    error err = {0};
    if (published_walks_make(runs, &w, &err) != STATUS_OK) fail_msg("%s", err.message);
    return w;
}

// Checks a step's factors, e.g. "loader-workers", "world-size epochs".
static void check_factors(const published_step *s, const char *expected) {
    char names[256] = "";
    for (size_t i = 0; i < s->factor_count; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? " " : "", s->factors[i]);
    }
    assert_string_equal(names, expected);
}

// Four workers are four times as fast; eight ranks lose some of it. The third run differs from the
// second only in V, and the fourth is not on the way.
static const char ladder[] =
    "- role: start\n"
    "  published_epochs: 10\n"
    "  published:\n"
    "  - {source: R1, accuracy: 99, total_seconds: 81, note: rounded}\n"
    "  - {source: R1, accuracy: 98.5, total_seconds: 80.0, load_seconds: 0.01}\n"
    "- role: step\n"
    "  published_epochs: 10\n"
    "  published: [{source: R1, accuracy: 98.4, total_seconds: 20}]\n"
    "  published_factors: [loader-workers]\n"
    "- role: step\n"
    "  published_epochs: 10\n"
    "  same_but: [virtual_shards]\n"
    "  published: [{source: R1, accuracy: 98.4, total_seconds: 20}]\n"
    "- role: control\n"
    "  published_epochs: 10\n"
    "  published: [{source: R1, accuracy: 1, total_seconds: 1}]\n"
    "  published_factors: [learning-rate]\n"
    "- role: step\n"
    "  published_epochs: 10\n"
    "  published: [{source: R1, accuracy: 98.7, seconds_per_epoch: 3, total_seconds: 32}]\n"
    "  published_factors: [world-size]\n";

static void a_walk_goes_from_figure_to_figure(void **state) {
    (void)state;
    yaml_node *runs = parse(ladder);
    published_walks w = walks_of(runs);
    assert_int_equal(w.count, 2);
    const published_walk *time = &w.items[0];
    // Three runs have a total, one has seconds per epoch; of the first run's entries, the one with
    // more figures counts.
    assert_string_equal(time->source, "R1");
    assert_string_equal(time->key, "total_seconds");
    assert_true(time->time);
    assert_int_equal(time->count, 2);
    assert_int_equal(time->steps[0].from, 0);
    assert_int_equal(time->steps[0].to, 1);
    check_factors(&time->steps[0], "loader-workers");
    assert_string_equal(time->steps[0].before.node->text, "80.0");
    assert_near(time->steps[0].effect.low, 4);
    assert_near(time->steps[0].effect.high, 4);
    assert_int_equal(time->steps[1].from, 1);
    assert_int_equal(time->steps[1].to, 4);
    check_factors(&time->steps[1], "world-size");
    assert_near(time->steps[1].effect.low, 0.625);
    const published_walk *accuracy = &w.items[1];
    assert_string_equal(accuracy->key, "accuracy");
    assert_false(accuracy->time);
    assert_near(accuracy->steps[0].effect.low, -0.1);
    assert_near(accuracy->steps[1].effect.low, 0.3);
    published_walks_release(&w);
    yaml_free(runs);
}

static void the_cause_is_the_longest_step_on_a_log_scale(void **state) {
    (void)state;
    yaml_node *runs = parse(ladder);
    published_walks w = walks_of(runs);
    published_step whole = published_whole(&w.items[0]);
    published_cause cause = published_find_cause(&w.items[0]);
    assert_int_equal(whole.from, 0);
    assert_int_equal(whole.to, 4);
    check_factors(&whole, "loader-workers world-size");
    assert_near(whole.effect.low, 2.5);
    assert_int_equal(cause.direction, PUBLISHED_FASTER);
    assert_int_equal(cause.step, 0);
    assert_near(cause.share, log(4) / log(2.5));
    assert_int_equal(published_goes(&w.items[0].steps[1]), PUBLISHED_SLOWER);
    published_walks_release(&w);
    yaml_free(runs);
}

// A slow-down to which two steps contribute: 10 → 20 → 80 s per epoch.
static void steps_have_shares_of_a_slow_down(void **state) {
    (void)state;
    yaml_node *runs =
        parse("- {role: start, published_epochs: 1, published: [{source: A, seconds_per_epoch: "
              "10}]}\n"
              "- {role: step, published_epochs: 1, published: [{source: A, seconds_per_epoch: "
              "20}], published_factors: [world-size]}\n"
              "- {role: step, published_epochs: 1, published: [{source: A, seconds_per_epoch: "
              "80}], published_factors: [augment]}\n");
    published_walks w = walks_of(runs);
    assert_int_equal(w.count, 1);
    published_cause cause = published_find_cause(&w.items[0]);
    assert_int_equal(cause.direction, PUBLISHED_SLOWER);
    assert_int_equal(cause.step, 1);
    assert_near(cause.share, 2.0 / 3);
    published_walks_release(&w);
    yaml_free(runs);
}

static void totals_are_compared_by_epoch(void **state) {
    (void)state;
    yaml_node *runs =
        parse("- {role: start, published_epochs: 10, published: [{source: A, total_seconds: 50}]}\n"
              "- {role: step, published_epochs: 80, published: [{source: A, total_seconds: 160}], "
              "published_factors: [world-size, epochs]}\n");
    published_walks w = walks_of(runs);
    check_factors(&w.items[0].steps[0], "world-size epochs");
    assert_near(w.items[0].steps[0].effect.low, 2.5); // 5 s against 2 s
    published_walks_release(&w);
    yaml_free(runs);
}

static void ranges_give_ranges(void **state) {
    (void)state;
    yaml_node *runs = parse(
        "- {role: start, published_epochs: 1, published: [{source: A, seconds_per_epoch: 100, "
        "accuracy: [78, 82]}]}\n"
        "- {role: step, published_epochs: 1, published: [{source: A, seconds_per_epoch: [80, 125], "
        "accuracy: 81}], published_factors: [world-size]}\n");
    published_walks w = walks_of(runs);
    assert_near(w.items[0].steps[0].effect.low, 0.8);
    assert_near(w.items[0].steps[0].effect.high, 1.25);
    assert_near(w.items[1].steps[0].effect.low, -1);
    assert_near(w.items[1].steps[0].effect.high, 3);
    // It covers 1: neither faster nor slower, so there is no cause.
    assert_int_equal(published_find_cause(&w.items[0]).direction, PUBLISHED_OPEN);
    published_walks_release(&w);
    yaml_free(runs);
}

static void sources_are_separate(void **state) {
    (void)state;
    yaml_node *runs = parse("- {role: start, published_epochs: 1, published: [{source: A, "
                            "total_seconds: 8, accuracy: 9}]}\n"
                            "- {role: step, published_epochs: 1, published: [{source: B, "
                            "total_seconds: 4, accuracy: 9}], published_factors: [epochs]}\n");
    published_walks w = walks_of(runs);
    assert_int_equal(w.count, 0);
    published_walks_release(&w);
    yaml_free(runs);
    // Across a run of another source, and one without the figure, the factors accumulate.
    runs = parse("- {role: start, published_epochs: 1, published: [{source: A, total_seconds: 8, "
                 "accuracy: 90}]}\n"
                 "- {role: step, published_epochs: 1, published: [{source: B, total_seconds: 4}], "
                 "published_factors: [loader-workers]}\n"
                 "- {role: step, published_epochs: 1, published: [{source: A, total_seconds: 4}], "
                 "published_factors: [world-size]}\n"
                 "- {role: step, published_epochs: 1, published: [{source: A, total_seconds: 2, "
                 "accuracy: 91}], published_factors: [global-batch, world-size]}\n");
    w = walks_of(runs);
    assert_int_equal(w.count, 2);
    assert_int_equal(w.items[0].count, 2);
    check_factors(&w.items[0].steps[0], "loader-workers world-size");
    check_factors(&w.items[0].steps[1], "global-batch world-size");
    assert_int_equal(w.items[1].count, 1);
    check_factors(&w.items[1].steps[0], "loader-workers world-size global-batch");
    published_walks_release(&w);
    yaml_free(runs);
}

// Of two runs of one experiment, the one closer to it represents it, also at the end of a step.
static void the_closer_run_represents_both(void **state) {
    (void)state;
    yaml_node *runs =
        parse("- {role: start, published_epochs: 1, published: [{source: A, total_seconds: 8}]}\n"
              "- {role: step, published_epochs: 1, same_but: [virtual_shards], published: "
              "[{source: A, total_seconds: 4}], published_factors: [world-size]}\n"
              "- {role: step, published_epochs: 1, published: [{source: A, total_seconds: 4}]}\n"
              "- {role: step, published_epochs: 1, published: [{source: A, total_seconds: 2}], "
              "published_factors: [epochs]}\n");
    published_walks w = walks_of(runs);
    assert_int_equal(w.items[0].count, 2);
    assert_int_equal(w.items[0].steps[0].to, 2);
    assert_int_equal(w.items[0].steps[1].from, 2);
    published_walks_release(&w);
    yaml_free(runs);
}

static void check_refused(const char *text, const char *message) {
    published_walks w;
    error err = {0};
    yaml_node *runs = parse(text);
    assert_int_equal(published_walks_make(runs, &w, &err), STATUS_INPUT);
    if (!strstr(err.message, message)) fail_msg("%s", err.message);
    yaml_free(runs);
}

static void bad_figures_are_refused(void **state) {
    (void)state;
    check_refused("- {role: start, published_epochs: 1, published: [{source: A, total_seconds: "
                  "0}]}\n",
                  "'total_seconds': expected a number or [LOW, HIGH] above 0");
    check_refused("- {role: start, published_epochs: 1, published: [{source: A, accuracy: [3, "
                  "2]}]}\n",
                  "'accuracy': expected a number or [LOW, HIGH] above 0");
    check_refused("- {role: start, published: [{source: A, accuracy: 3}]}\n",
                  "'published_epochs' is missing");
    check_refused("- {role: start, published_epochs: 0, published: [{source: A, accuracy: 3}]}\n",
                  "'published_epochs' is not above 0");
    check_refused("- {role: start, published_epochs: 1, published: [{source: A, accuracy: 3}]}\n"
                  "- {role: step, published_factors: 7}\n",
                  "'published_factors': expected a list");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_goes_from_figure_to_figure),
        cmocka_unit_test(the_cause_is_the_longest_step_on_a_log_scale),
        cmocka_unit_test(steps_have_shares_of_a_slow_down),
        cmocka_unit_test(totals_are_compared_by_epoch),
        cmocka_unit_test(ranges_give_ranges),
        cmocka_unit_test(sources_are_separate),
        cmocka_unit_test(the_closer_run_represents_both),
        cmocka_unit_test(bad_figures_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
