// SPDX-License-Identifier: MIT
// Trainings that took turns: the fit of their times (results/turn_times.h), its error rates on
// simulated noise, its file, and what a report makes of it (results/timed_arms.h).
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "results/compare.h"
#include "results/timed_arms.h"
#include "results/verdict.h"
#include "temporary_folder.h"

// How simulated arms are timed. A step has `samples` samples.
typedef struct plan {
    uint32_t executions, rounds, arms, entries, samples;
    double ns[3];       // of a step of each arm
    uint32_t slow;      // first entries of each turn, which take three times as long
    uint32_t disturbed; // a round of each execution that takes five times as long for arm 0
    // Standard deviations, of logarithms: of a turn, of an arm in an execution, and of what is
    // common to a round, which also depends on the round before it.
    double turn, execution, round;
    uint32_t trial;
} plan;

enum { NO_ROUND = UINT32_MAX };
static const plan simple = {.executions = 3,
                            .rounds = 5,
                            .arms = 2,
                            .entries = 20,
                            .samples = 10,
                            .ns = {2e6, 3e6, 8e6},
                            .disturbed = NO_ROUND};

// Normal with variance 1, by Box and Muller's method.
static double normal(const random_stream *s, uint64_t draw) {
    double u = 1 - (double)random_uniform(s, 2 * draw), v = random_uniform(s, 2 * draw + 1);
    return sqrt(-2 * log(u)) * cos(2 * acos(-1) * v);
}

static void add_turn(turn_log *l, const plan *p, const turn *t, double factor) {
    turn_step steps[64];
    if (t->round == p->disturbed && !t->arm) factor *= 5;
    for (uint32_t k = 0; k < t->entries; k++)
        steps[k] =
            (turn_step){.ns = (uint64_t)llround(p->ns[t->arm] * factor * (k < p->slow ? 3 : 1)),
                        .steps = 1,
                        .samples = p->samples};
    turn_log_add(l, t, steps);
}

static void simulate(turn_log *l, const plan *p) {
    *l = (turn_log){0};
    for (uint32_t e = 0; e < p->executions; e++) {
        const random_stream s = {
            .seed = 5, .purpose = RANDOM_TRIAL, .layer = 3, .epoch = p->trial, .sample = e};
        double own[3], common = 0;
        uint64_t draw = 0;
        for (uint32_t a = 0; a < p->arms; a++) own[a] = p->execution * normal(&s, draw++);
        for (uint32_t r = 0; r < p->rounds; r++) {
            common = 0.8 * common + p->round * normal(&s, draw++);
            for (uint32_t i = 0; i < p->arms; i++) {
                const turn t = {e, r, (i + r) % p->arms, p->entries, 0};
                add_turn(l, p, &t, exp(common + own[t.arm] + p->turn * normal(&s, draw++)));
            }
        }
        turn_log_end(l, 0.5);
    }
}

static turn_fit fit_of(const plan *p) {
    turn_log l;
    turn_fit f;
    simulate(&l, p);
    turn_fit_make(&l, p->arms, DEMAND_UNKNOWN, &f);
    turn_log_release(&l);
    return f;
}

// ---- Known numbers ----

static void known_times_are_found(void **state) {
    (void)state;
    for (uint32_t arms = 2; arms <= 3; arms++) {
        plan p = simple;
        p.arms = arms;
        turn_fit f = fit_of(&p);
        assert_int_equal(f.executions, 3);
        for (size_t a = 0; a < arms; a++) {
            const estimate seconds = turn_fit_seconds(&f, a);
            assert_true(fabs(seconds.value / (p.ns[a] / 1e10) - 1) < 1e-9);
            assert_true(fabs(turn_fit_execution(&f, 2, a) / seconds.value - 1) < 1e-9);
            assert_true(seconds.range.low <= seconds.value && seconds.value <= seconds.range.high);
            assert_int_equal(f.skipped[a], 0);
        }
        const mean_estimate longer = turn_fit_difference(&f, arms - 1, 0);
        assert_true(fabs(exp(longer.value) - p.ns[arms - 1] / p.ns[0]) < 1e-9);
        assert_true(longer.df == 2);
        turn_fit_release(&f);
    }
}

static void slow_first_steps_are_left_out(void **state) {
    (void)state;
    plan p = simple;
    p.slow = 3;
    turn_fit f = fit_of(&p);
    for (size_t a = 0; a < 2; a++) {
        assert_int_equal(f.skipped[a], 3);
        assert_true(fabs(turn_fit_seconds(&f, a).value / (p.ns[a] / 1e10) - 1) < 1e-9);
    }
    turn_fit_release(&f);
    // Not more than half of a turn.
    p.slow = 15;
    f = fit_of(&p);
    assert_true(f.skipped[0] <= 10);
    turn_fit_release(&f);
}

static void a_disturbed_round_changes_nothing(void **state) {
    (void)state;
    plan p = simple;
    turn_fit quiet = fit_of(&p);
    p.disturbed = 2;
    turn_fit f = fit_of(&p);
    for (size_t a = 0; a < 2; a++)
        assert_true(fabs(turn_fit_seconds(&f, a).value / turn_fit_seconds(&quiet, a).value - 1) <
                    1e-9);
    turn_fit_release(&f);
    turn_fit_release(&quiet);
}

static void an_execution_that_did_not_end_does_not_count(void **state) {
    (void)state;
    turn_log l;
    turn_fit f;
    simulate(&l, &simple);
    const turn more = {3, 0, 1, 20, 0};
    add_turn(&l, &simple, &more, 100);
    turn_fit_make(&l, 2, DEMAND_UNKNOWN, &f);
    assert_int_equal(f.executions, 3);
    assert_true(fabs(turn_fit_seconds(&f, 1).value / 3e-4 - 1) < 1e-9);
    turn_fit_release(&f);
    turn_log_release(&l);
}

static void an_arm_of_one_entry_keeps_it(void **state) {
    (void)state;
    // The other arm has slow first entries, so a share of each turn is left out.
    plan p = simple;
    turn_log l = {0};
    turn_fit f;
    p.slow = 3;
    for (uint32_t e = 0; e < p.executions; e++) {
        for (uint32_t round = 0; round < p.rounds; round++) {
            const turn long_turn = {e, round, 0, p.entries, 0}, short_turn = {e, round, 1, 1, 0};
            add_turn(&l, &p, &long_turn, 1);
            p.slow = 0;
            add_turn(&l, &p, &short_turn, 1);
            p.slow = 3;
        }
        turn_log_end(&l, 0);
    }
    turn_fit_make(&l, 2, DEMAND_UNKNOWN, &f);
    assert_int_equal(f.skipped[0], 3);
    assert_int_equal(f.skipped[1], 0);
    assert_true(fabs(turn_fit_seconds(&f, 1).value / 3e-4 - 1) < 1e-9);
    turn_fit_release(&f);
    turn_log_release(&l);
}

// ---- Evidence ----

static const turn_load alike[2] = {{2, 1, 0}, {2, 1, 0}}, unlike[2] = {{2, 1, 0}, {1, 4, 0}};

// Two arms beside a program that works in rounds `busy` and later ones of each execution: then arm
// 0 takes three times as long, and arm 1 half as long again.
static void simulate_busy(turn_log *l, uint32_t busy) {
    plan p = simple;
    *l = (turn_log){0};
    for (uint32_t e = 0; e < p.executions; e++) {
        for (uint32_t round = 0; round < p.rounds; round++) {
            for (uint32_t a = 0; a < 2; a++) {
                const turn t = {e, round, a, p.entries, 0};
                add_turn(l, &p, &t, round < busy ? 1 : a ? 1.5 : 3);
            }
            turn_log_demand(l, 2, round >= busy);
        }
        turn_log_end(l, 1);
    }
}

static turn_evidence evidence_of(uint32_t busy, const turn_load *loads) {
    turn_log l;
    turn_evidence e;
    simulate_busy(&l, busy);
    turn_evidence_make(&l, loads, 2, 0, &e);
    turn_log_release(&l);
    return e;
}

static void unlike_arms_are_compared_in_quiet_rounds(void **state) {
    (void)state;
    turn_evidence e = evidence_of(3, unlike);
    comparison c = {0};
    assert_ptr_equal(turn_evidence_on(&e, 1, 0), &e.quiet);
    assert_ptr_equal(turn_evidence_shown(&e), &e.quiet);
    compare_arms(&e, 1, 0, 1, &c);
    assert_true(fabs(c.speedup.value * 1.5 - 1) < 1e-9);
    assert_int_equal(c.time.missing, MISSING_NOTHING);
    assert_true(isnan(c.beside.value));
    turn_evidence_release(&e);
    // Two quiet rounds of five are too few, and four busy ones would turn the sign.
    e = evidence_of(1, unlike);
    assert_int_equal(e.quiet.executions, 0);
    assert_false(turn_evidence_settles(&e, 0.99, NULL));
    assert_ptr_equal(turn_evidence_shown(&e), &e.all);
    compare_arms(&e, 1, 0, 1, &c);
    assert_int_equal(c.time.kind, VERDICT_NONE);
    assert_int_equal(c.time.missing, MISSING_QUIET);
    assert_true(isnan(c.speedup.value));
    assert_true(c.beside.value > 1);
    turn_evidence_release(&e);
}

// As on a system whose /proc does not count what others want, and in turns of older versions.
static void unlike_arms_need_to_know_what_others_want(void **state) {
    (void)state;
    turn_log l;
    turn_evidence e;
    comparison c = {0};
    simulate_busy(&l, 5);
    for (size_t i = 0; i < l.turn_count; i++) l.turns[i].demand = DEMAND_UNKNOWN;
    turn_evidence_make(&l, unlike, 2, 0, &e);
    assert_false(e.known);
    compare_arms(&e, 1, 0, 1, &c);
    assert_int_equal(c.time.missing, MISSING_DEMAND);
    assert_true(isnan(c.speedup.value) && c.beside.value > 0);
    turn_evidence_release(&e);
    turn_log_release(&l);
}

static void alike_arms_are_compared_in_every_round(void **state) {
    (void)state;
    turn_evidence e = evidence_of(1, alike);
    comparison c = {0};
    assert_ptr_equal(turn_evidence_on(&e, 1, 0), &e.all);
    compare_arms(&e, 1, 0, 1, &c);
    assert_int_equal(c.time.missing, MISSING_NOTHING);
    turn_evidence_release(&e);
}

static void a_machine_is_quiet_if_it_has_room(void **state) {
    (void)state;
    assert_int_equal(turn_quiet_demand(unlike, 2, 2), 0);
    assert_int_equal(turn_quiet_demand(unlike, 2, 4), 0);
    assert_int_equal(turn_quiet_demand(unlike, 2, 16), 12);
}

// ---- Error rates ----

// Rounds that follow each other are alike, and an execution may favour an arm.
static const plan noisy = {.executions = 6,
                           .rounds = 20,
                           .arms = 2,
                           .entries = 4,
                           .samples = 10,
                           .ns = {2e6, 2e6},
                           .disturbed = NO_ROUND,
                           .turn = 0.02,
                           .execution = 0.01,
                           .round = 0.1};

static mean_estimate difference_in(uint32_t trial, double factor) {
    plan p = noisy;
    p.trial = trial;
    p.ns[1] *= factor;
    turn_fit f = fit_of(&p);
    const mean_estimate longer = turn_fit_difference(&f, 1, 0);
    turn_fit_release(&f);
    return longer;
}

static void equal_arms_rarely_differ(void **state) {
    enum { PAIRS = 200, MOST = 16 };
    (void)state;
    int differ = 0;
    for (uint32_t i = 0; i < PAIRS; i++) {
        const mean_estimate longer = difference_in(i, 1);
        estimate ratio;
        const verdict v = verdict_on_turns(&longer, noisy.executions, false, &ratio);
        differ += verdict_is_difference(&v);
    }
    if (differ > MOST) fail_msg("%d of %d pairs of equal arms differ", differ, PAIRS);
}

static void intervals_cover_the_difference(void **state) {
    enum { PAIRS = 2000 };
    (void)state;
    int covered = 0;
    for (uint32_t i = 0; i < PAIRS; i++) {
        const mean_estimate longer = difference_in(1000 + i, 1.02);
        const interval range = statistics_interval(&longer, 0.95);
        covered += range.low <= log(1.02) && log(1.02) <= range.high;
    }
    if (covered < 0.93 * PAIRS) fail_msg("%d of %d intervals cover the value", covered, PAIRS);
}

static void a_difference_of_five_percent_is_found(void **state) {
    enum { PAIRS = 100 };
    (void)state;
    int found = 0;
    for (uint32_t i = 0; i < PAIRS; i++) {
        const mean_estimate longer = difference_in(4000 + i, 1.05);
        estimate ratio;
        const verdict v = verdict_on_turns(&longer, noisy.executions, false, &ratio);
        found += verdict_is_difference(&v) && ratio.value < 1;
    }
    assert_true(found >= 95);
}

// ---- The file ----

static void a_log_survives_its_file(void **state) {
    (void)state;
    error err = {0};
    char path[FILE_PATH_SIZE];
    tensor_file f = {0}, read = {0};
    turn_log l, loaded;
    simulate(&l, &noisy);
    snprintf(path, sizeof path, "%s/%s", folder, TURNS_FILE);
    turn_log_store(&l, &f);
    assert_int_equal(tensor_file_write(path, &f, &err), STATUS_OK);
    assert_int_equal(tensor_file_read(path, TENSOR_FILE_DEFAULT_MAX, &read, &err), STATUS_OK);
    if (turn_log_load(&loaded, 2, &read, path, &err) != STATUS_OK) fail_msg("%s", err.message);
    assert_int_equal(loaded.turn_count, l.turn_count);
    assert_int_equal(loaded.step_count, l.step_count);
    assert_int_equal(loaded.execution_count, l.execution_count);
    assert_memory_equal(loaded.turns, l.turns, l.turn_count * sizeof *l.turns);
    assert_memory_equal(loaded.steps, l.steps, l.step_count * sizeof *l.steps);
    assert_memory_equal(loaded.others, l.others, l.execution_count * sizeof *l.others);
    // As turns of two arms they are no rounds of three.
    turn_log_release(&loaded);
    assert_int_equal(turn_log_load(&loaded, 3, &read, path, &err), STATUS_INPUT);
    tensor_file_release(&f);
    tensor_file_release(&read);
    turn_log_release(&l);
}

static void refuse(const tensor_file *f) {
    error err = {0};
    turn_log l;
    assert_int_equal(turn_log_load(&l, 2, f, "there/" TURNS_FILE, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "there/" TURNS_FILE));
    assert_null(l.turns);
}

static void hole(turn_log *l) {
    for (size_t i = 4; i < 10; i++) l->turns[i].round++;
}
static void late_start(turn_log *l) {
    for (size_t i = 0; i < 10; i++) l->turns[i].round++;
}
static void large_arm(turn_log *l) {
    l->turns[7].arm = 2;
}
static void arm_twice(turn_log *l) {
    l->turns[7].arm = l->turns[6].arm;
}
static void skipped_execution(turn_log *l) {
    for (size_t i = 20; i < 30; i++) l->turns[i].execution++;
    l->execution_count++;
    l->others[3] = 0;
}
static void half_round(turn_log *l) {
    l->turns[28].execution = l->turns[29].execution = 3; // not stored
    l->turns[27].execution = 3;
}
static void no_time(turn_log *l) {
    l->steps[11].ns = 0;
}
static void no_samples(turn_log *l) {
    l->steps[11].samples = 0;
}
static void empty_turn(turn_log *l) {
    l->turns[2].entries = 0;
    l->turns[4].entries += 20;
}
static void no_turns(turn_log *l) {
    l->execution_count = 0;
}

static void damaged_logs_are_refused(void **state) {
    static void (*const damages[])(turn_log *) = {
        hole,       late_start, large_arm,  arm_twice,  skipped_execution,
        half_round, no_time,    no_samples, empty_turn, no_turns,
    };
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        tensor_file f = {0};
        turn_log l;
        simulate(&l, &simple);
        damages[i](&l);
        turn_log_store(&l, &f);
        refuse(&f);
        tensor_file_release(&f);
        turn_log_release(&l);
    }
}

static void other_tensors_are_refused(void **state) {
    (void)state;
    tensor_file f = {0};
    turn_log l;
    simulate(&l, &simple);
    turn_log_store(&l, &f);
    for (size_t i = 0; i < f.count; i++) {
        tensor *t = &f.tensors[i];
        const tensor right = *t;
        t->shape[0]--;
        refuse(&f);
        t->shape[0]++;
        t->type = TENSOR_I64;
        refuse(&f);
        *t = right;
        t->rank = 0;
        refuse(&f);
        *t = right;
        t->name = "another";
        if (strcmp(right.name, "turns.demand") != 0) refuse(&f);
        *t = right;
    }
    tensor_file_release(&f);
    turn_log_release(&l);
}

// ---- In a report ----

// Two runs and the folder that times them: arm 1 takes 1.5 times as long a sample as arm 0.
typedef struct report {
    run runs[2];
    const run *pointers[2];
    seed_group groups[2];
    run_list list;
    timed_arms timing;
} report;

static yaml_node *parse(const char *written) {
    error err = {0};
    yaml_node *root;
    if (yaml_read_text(written, strlen(written), "y", &root, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return root;
}

static void add_run(report *r, size_t i, const char *version, const char *more) {
    error err = {0};
    char manifest[1024];
    run *one = &r->runs[i];
    snprintf(manifest, sizeof manifest,
             "{key: k%zu, version: %s, inputs: [{path: train.st.zst, content: t}], parameters: "
             "{seed: 1}, run: {host: %s, execution: %s}, results: {samples: %zu, "
             "seconds_per_epoch: 7, total_seconds: 9, epochs: [{seconds: 7}, {seconds: 7}]}}",
             i, version, version, more, 1000 * (i + 1));
    run_init(one);
    one->train = parse(manifest);
    one->name = memory_string("run");
    one->folder = memory_string("folder");
    if (run_read_train(one, &err) != STATUS_OK) fail_msg("%s", err.message);
    r->pointers[i] = one;
    r->groups[i] = (seed_group){.name = "run", .runs = &r->pointers[i], .count = 1};
}

static void give_evidence(timed_arms *t, const plan *p, const turn_load *loads) {
    turn_log l;
    simulate(&l, p);
    turn_evidence_make(&l, loads, p->arms, 0, &t->evidence);
    turn_log_release(&l);
}

static void make_report(report *r, const char *second) {
    *r = (report){.list = {.runs = r->runs, .count = 2}};
    add_run(r, 0, "old", "{threads: 2, tool: a, transport: memory}");
    add_run(r, 1, "new", second);
    r->timing.manifest = parse("{run: {arms: [{key: k0, version: other, execution: {threads: 2, "
                               "tool: a}}, {key: k1, execution: {threads: 2, tool: b}}]}}");
    r->timing.arms = yaml_get(r->timing.manifest, "run.arms");
    r->timing.folder = memory_string("turns");
    plan p = simple;
    p.turn = 0.01;
    give_evidence(&r->timing, &p, alike);
}

static void release_report(report *r) {
    for (size_t i = 0; i < 2; i++) run_release(&r->runs[i]);
    timed_arms_release(&r->timing);
}

static void turns_are_compared_whatever_the_builds(void **state) {
    (void)state;
    error err = {0};
    report r;
    comparison c;
    make_report(&r, "{threads: 2, tool: b}");
    if (timed_arms_assign(&r.timing, 1, &r.list, &err) != STATUS_OK) fail_msg("%s", err.message);
    assert_true(r.runs[1].arm == 1 && r.runs[0].arm == 0);
    assert_true(fabs(r.runs[0].seconds_per_epoch / 0.2 - 1) < 0.05);
    assert_true(r.runs[0].total_seconds == 9);
    if (compare(&r.groups[1], &r.groups[0], NULL, &c, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(c.unlike.count, 0);
    assert_ptr_equal(c.timing, &r.timing);
    assert_int_equal(c.time.test, TEST_TURNS);
    assert_int_equal(c.time.subject, 3);
    // The subject has twice as many samples an epoch.
    assert_true(fabs(c.speedup.value * 3 - 1) < 0.05);
    assert_true(fabs(c.seconds.value / 0.4 - 1) < 0.05);
    assert_true(c.seconds.range.low < c.seconds.value && c.seconds.value < c.seconds.range.high);
    assert_true(isnan(c.total.range.low));
    comparison_release(&c);
    release_report(&r);
}

static void whole_executions_count_without_common_turns(void **state) {
    (void)state;
    error err = {0};
    report r;
    comparison c;
    make_report(&r, "{threads: 2, tool: c}"); // not executed as the arm was
    if (timed_arms_assign(&r.timing, 1, &r.list, &err) != STATUS_OK) fail_msg("%s", err.message);
    assert_ptr_equal(r.runs[0].timing, &r.timing);
    assert_null(r.runs[1].timing);
    if (compare(&r.groups[1], &r.groups[0], NULL, &c, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_null(c.timing);
    assert_true(c.unlike.count > 0); // other builds
    comparison_release(&c);
    release_report(&r);
}

static void a_resumed_run_has_the_time_of_its_turns(void **state) {
    (void)state;
    error err = {0};
    report r;
    comparison c;
    make_report(&r, "[{threads: 2, tool: b}, {threads: 2, tool: b}]");
    if (timed_arms_assign(&r.timing, 1, &r.list, &err) != STATUS_OK) fail_msg("%s", err.message);
    assert_false(run_has_time(&r.runs[1]));
    assert_true(run_has_epoch_time(&r.runs[1]));
    if (compare(&r.groups[1], &r.groups[0], NULL, &c, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(c.unlike.count, 0);
    assert_true(fabs(c.speedup.value * 3 - 1) < 0.05);
    assert_true(isnan(c.total.value));
    comparison_release(&c);
    release_report(&r);
}

static void without_quiet_rounds_there_is_no_verdict(void **state) {
    (void)state;
    error err = {0};
    report r;
    comparison c;
    turn_log l;
    make_report(&r, "{threads: 2, tool: b}");
    turn_evidence_release(&r.timing.evidence);
    simulate_busy(&l, 0);
    turn_evidence_make(&l, unlike, 2, 0, &r.timing.evidence);
    turn_log_release(&l);
    if (timed_arms_assign(&r.timing, 1, &r.list, &err) != STATUS_OK) fail_msg("%s", err.message);
    if (compare(&r.groups[1], &r.groups[0], NULL, &c, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(c.time.missing, MISSING_QUIET);
    assert_true(isnan(c.speedup.value) && isnan(c.seconds.value));
    comparison_release(&c);
    release_report(&r);
}

static void turns_of_other_runs_are_refused(void **state) {
    (void)state;
    error err = {0};
    report r;
    make_report(&r, "{threads: 2, tool: b}");
    r.list.count = 0;
    assert_int_equal(timed_arms_assign(&r.timing, 1, &r.list, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "'turns'"));
    release_report(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_times_are_found),
        cmocka_unit_test(slow_first_steps_are_left_out),
        cmocka_unit_test(a_disturbed_round_changes_nothing),
        cmocka_unit_test(an_execution_that_did_not_end_does_not_count),
        cmocka_unit_test(an_arm_of_one_entry_keeps_it),
        cmocka_unit_test(unlike_arms_are_compared_in_quiet_rounds),
        cmocka_unit_test(unlike_arms_need_to_know_what_others_want),
        cmocka_unit_test(alike_arms_are_compared_in_every_round),
        cmocka_unit_test(a_machine_is_quiet_if_it_has_room),
        cmocka_unit_test(equal_arms_rarely_differ),
        cmocka_unit_test(intervals_cover_the_difference),
        cmocka_unit_test(a_difference_of_five_percent_is_found),
        cmocka_unit_test(a_log_survives_its_file),
        cmocka_unit_test(damaged_logs_are_refused),
        cmocka_unit_test(other_tensors_are_refused),
        cmocka_unit_test(turns_are_compared_whatever_the_builds),
        cmocka_unit_test(whole_executions_count_without_common_turns),
        cmocka_unit_test(a_resumed_run_has_the_time_of_its_turns),
        cmocka_unit_test(without_quiet_rounds_there_is_no_verdict),
        cmocka_unit_test(turns_of_other_runs_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
