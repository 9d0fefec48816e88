// Verdicts on simulated times, through all that a report does from manifests to a verdict: pairs of
// runs that do not differ must come out as "no difference", and a difference of 5 % must be found.
// What the figures here promise is said in lib/report/statistics.h.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "report/effects.h"
#include "results/compare.h"
#include "results/run_list.h"

// The time of an epoch, 1 s but for: a log-normal jitter; a drift, in a straight line over the run,
// by an amount that is normal from run to run; what the run as a whole differs by; and, for a share
// of the epochs, something else that the machine did meanwhile.
typedef struct noise {
    double jitter, drift, between_runs; // standard deviations, of logarithms
    double disturbed, disturbance;      // share of the epochs; up to so much longer
} noise;

typedef struct setting {
    int repeats, epochs; // the first epoch does not count, as in every report
    noise noise;
} setting;

enum {
    PAIRS = 120,
    RUNS_MAX = 8,
    EPOCHS_MAX = 32,
};

static const noise usual = {.jitter = 0.01, .drift = 0.01, .disturbed = 0.05, .disturbance = 0.2};

// Normal with variance 1, by Box and Muller's method.
static double normal(const random_stream *s, uint64_t draw) {
    double u = 1 - (double)random_uniform(s, 2 * draw), v = random_uniform(s, 2 * draw + 1);
    return sqrt(-2 * log(u)) * cos(2 * acos(-1) * v);
}

static void draw_epochs(const random_stream *s, const setting *t, double *seconds) {
    const noise *n = &t->noise;
    double whole = n->between_runs * normal(s, 0), drift = n->drift * normal(s, 1);
    for (int e = 0; e < t->epochs; e++) {
        uint64_t draw = 2 + 2 * (uint64_t)e;
        double place = (double)e / (t->epochs - 1) - 0.5;
        bool disturbed = random_uniform(s, 2 * (draw + 1)) < n->disturbed;
        double more = disturbed ? n->disturbance * random_uniform(s, 2 * (draw + 1) + 1) : 0;
        seconds[e] = exp(whole + drift * place + n->jitter * normal(s, draw)) * (1 + more);
    }
}

// ---- Runs as their manifests tell them ----

static yaml_node *write_manifest(const char *name, int seed, const double *seconds, int epochs) {
    error err = {0};
    yaml_node *root = NULL;
    double total = 0;
    text t;
    text_init(&t, &err);
    for (int e = 0; e < epochs; e++) total += seconds[e];
    text_format(&t,
                "{tool: train-single, version: x, inputs: [{path: train.st.zst, content: abc}],\n");
    text_format(&t, "parameters: {name: %s, seed: %d, epochs: %d, global_batch: 64},\n", name, seed,
                epochs);
    text_format(&t, "run: {host: h, cpu: c, cores: 2, execution: {world_size: 1, threads: 2}},\n");
    text_format(&t, "results: {steps: %d, total_seconds: %.9g, epochs: [", epochs, total);
    for (int e = 0; e < epochs; e++)
        text_format(&t, "%s{seconds: %.9g}", e ? ", " : "", seconds[e]);
    text_append(&t, "]}}\n");
    if (yaml_read_text(text_string(&t), t.length, "manifest", &root, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    text_release(&t);
    return root;
}

static void add_run(run_list *list, const char *name, int seed, const double *seconds, int epochs) {
    error err = {0};
    run *x = &list->executions[list->execution_count++]; // owns all but the run's name
    run_init(x);
    x->train = write_manifest(name, seed, seconds, epochs);
    x->folder = memory_string("train", &err);
    if (run_read_train(x, &err) != STATUS_OK) fail_msg("%s", err.message);
    run *r = &list->runs[list->count++];
    *r = *x;
    r->name = memory_format(&err, "%s-%d", name, seed);
}

// The runs of both sides; those of the second take `factor` times as long.
static void draw_pair(const setting *t, uint32_t pair, double factor, run_list *list) {
    error err = {0};
    *list = (run_list){.executions = memory_new(2 * RUNS_MAX, sizeof(run), &err),
                       .runs = memory_new(2 * RUNS_MAX, sizeof(run), &err)};
    for (int i = 0; i < 2 * t->repeats; i++) {
        const random_stream s = {.seed = 11,
                                 .purpose = RANDOM_BOOTSTRAP,
                                 .layer = 2,
                                 .epoch = pair,
                                 .sample = (uint32_t)i};
        bool second = i >= t->repeats;
        double seconds[EPOCHS_MAX];
        draw_epochs(&s, t, seconds);
        for (int e = 0; second && e < t->epochs; e++) seconds[e] *= factor;
        add_run(list, second ? "b" : "a", 1 + i % t->repeats, seconds, t->epochs);
    }
}

// ---- Verdicts ----

// Is b said to be slower (-1) or faster (1) than a, or no different (0)? The two places of a report
// that say so must agree: a comparison and a step of a plan.
static int verdict(const setting *t, uint32_t pair, double factor) {
    error err = {0};
    run_list list;
    group *groups;
    size_t count;
    comparison c;
    draw_pair(t, pair, factor, &list);
    assert_int_equal(groups_make(&list, &groups, &count, &err), STATUS_OK);
    assert_int_equal(count, 2);
    if (compare(&groups[1], &groups[0], LANGUAGE_EN, &c, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_null(c.reasons);
    assert_true(c.speedup.range.low > 0); // there is an interval
    int said = c.speedup.range.high < 1 ? -1 : c.speedup.range.low > 1 ? 1 : 0;
    if (effect_on_time(&c) == EFFECT_SHOWN) assert_int_not_equal(said, 0);
    comparison_release(&c);
    groups_free(groups, count);
    run_list_release(&list);
    return said;
}

static void check(const setting *t) {
    int none = 0, found = 0;
    for (uint32_t pair = 0; pair < PAIRS; pair++) {
        bool faster = pair % 2;
        none += verdict(t, pair, 1) == 0;
        found += verdict(t, PAIRS + pair, faster ? 1 / 1.05 : 1.05) == (faster ? 1 : -1);
    }
    print_message("%d × %d epochs: %d of %d no difference, 5 %% found in %d\n", t->repeats,
                  t->epochs, none, PAIRS, found);
    assert_true(100 * none >= 95 * PAIRS);
    assert_true(100 * found >= 90 * PAIRS);
}

static void one_run_of_ten_epochs(void **state) {
    (void)state;
    check(&(setting){1, 10, usual});
}

static void three_runs_of_ten_epochs(void **state) {
    (void)state;
    check(&(setting){3, 10, usual});
}

// With three runs a side the interval knows what differs from run to run.
static void three_runs_that_differ_as_a_whole(void **state) {
    (void)state;
    setting t = {3, 10, usual};
    t.noise.between_runs = 0.01;
    check(&t);
}

// A quiet machine needs few epochs.
static void four_epochs_on_a_quiet_machine(void **state) {
    (void)state;
    check(&(setting){1, 4, {.jitter = 0.005, .drift = 0.005}});
}

// One run a side cannot tell: the header says so, and this is what it is about.
static void one_run_does_not_know_how_runs_differ(void **state) {
    (void)state;
    setting t = {1, 20, usual};
    int none = 0;
    t.noise.between_runs = 0.02;
    for (uint32_t pair = 0; pair < PAIRS; pair++) none += verdict(&t, pair, 1) == 0;
    assert_true(100 * none < 95 * PAIRS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_run_of_ten_epochs),
        cmocka_unit_test(three_runs_of_ten_epochs),
        cmocka_unit_test(three_runs_that_differ_as_a_whole),
        cmocka_unit_test(four_epochs_on_a_quiet_machine),
        cmocka_unit_test(one_run_does_not_know_how_runs_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
