// SPDX-License-Identifier: MIT
// Claims: accepted and refused files; rounding is not a finding; each fault is found, with its
// arithmetic.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "audit/audit.h"
#include "base/random.h"
#include "base/zstream.h"
#include "report/findings_text.h"
#include "temporary_folder.h"

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

// ---- Helpers -----------------------------------------------------------------------------------

#define HEAD "schema: lockstep.claim/1\nname: made-up\n"

// Two arms that agree in every figure: 500 steps per epoch.
#define ARM_A                                                                                   \
    "  - {name: a, batch: 100, samples: 50000, epochs: 10, batch_ms: 10.0, seconds_per_epoch: " \
    "5.0, "                                                                                     \
    "total_seconds: 50.0, accuracy: 90.00, test_samples: 10000, devices: 1, lr: 0.1}\n"
#define ARM_B                                                                                   \
    "  - {name: b, batch: 100, samples: 50000, epochs: 10, batch_ms: 12.3, seconds_per_epoch: " \
    "6.2, "                                                                                     \
    "total_seconds: 61.7, accuracy: 92.00, test_samples: 10000, devices: 2, lr: 0.1}\n"
#define ARMS       HEAD "rows:\n" ARM_A ARM_B
#define STATEMENTS "statements:\n"

typedef struct result {
    size_t count, kinds[FINDING_KINDS];
    char *text;
} result;

typedef enum language { ENGLISH, CHINESE, LANGUAGES } language;
static const char *const folders[LANGUAGES] = {"share/report/en", "share/report/zh"};
static page_templates *templates[LANGUAGES];
static text said; // the ids of all findings so far, each between blanks

static int open_templates(void **state) {
    error err = {0};
    (void)state;
    text_append(&said, " ");
    for (int l = 0; l < LANGUAGES; l++)
        if (page_templates_open_folder(&templates[l], folders[l], NULL, &err) != STATUS_OK) {
            print_error("%s\n", err.message);
            return -1;
        }
    return make_folder(state);
}

static int close_templates(void **state) {
    text_release(&said);
    for (int l = 0; l < LANGUAGES; l++) page_templates_close(templates[l]);
    return remove_folder(state);
}

// Notes the ids of a finding, and of its parts.
static void note_ids(const yaml_node *node) {
    for (size_t i = 0; node->kind != YAML_SCALAR && i < node->count; i++) {
        const char *key = node->kind == YAML_MAPPING ? node->keys[i] : "";
        char id[80];
        note_ids(node->items[i]);
        if (strcmp(key, "id") != 0 && strcmp(key, "so") != 0) continue;
        snprintf(id, sizeof id, " %s ", node->items[i]->text);
        if (!strstr(text_string(&said), id)) text_append(&said, id + 1);
    }
}

static result audit_in(language l, const char *yaml) {
    claim c = {0};
    findings a = {0};
    error err = {0};
    result r = {0};
    text out = {0};
    if (claim_read_text(yaml, "t.yaml", &c, &err) != STATUS_OK) fail_msg("%s", err.message);
    audit_run(&a, &c);
    if (findings_print(templates[l], &a, &out, &err) != STATUS_OK) fail_msg("%s", err.message);
    note_ids(a.list);
    r.count = a.list->count;
    memcpy(r.kinds, a.counts, sizeof r.kinds);
    r.text = text_take(&out);
    assert_non_null(r.text);
    findings_release(&a);
    claim_release(&c);
    return r;
}

// Audits the same in Chinese: as many findings of each kind, and no English left.
static void check_chinese(const char *yaml, const result *english) {
    static const char *const words[] = {" the ", " of ", " is ", "stated", "times", "so "};
    result r = audit_in(CHINESE, yaml);
    assert_memory_equal(r.kinds, english->kinds, sizeof r.kinds);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(r.text, words[i])) fail_msg("'%s' in the Chinese text\n%s", words[i], r.text);
    free(r.text);
}

static result audited(const char *yaml) {
    result r = audit_in(ENGLISH, yaml);
    check_chinese(yaml, &r);
    return r;
}

static void clean(const char *yaml) {
    result r = audited(yaml);
    if (r.count) fail_msg("%s", r.text);
    assert_string_equal(r.text, "made-up: no findings\n");
    free(r.text);
}

// Expects exactly one finding, of that kind, with these words in it (NULL: none).
static void finds(const char *yaml, finding_kind kind, const char *words, const char *more) {
    result r = audited(yaml);
    if (r.count != 1 || r.kinds[kind] != 1)
        fail_msg("expected one '%s':\n%s", finding_name(kind), r.text);
    if (!strstr(r.text, words)) fail_msg("'%s' is not in\n%s", words, r.text);
    if (more && !strstr(r.text, more)) fail_msg("'%s' is not in\n%s", more, r.text);
    free(r.text);
}

static void refuses(const char *yaml, const char *words) {
    claim c = {0};
    error err = {0};
    assert_int_equal(claim_read_text(yaml, "t.yaml", &c, &err), STATUS_INPUT);
    claim_release(&c);
    if (!strstr(err.message, words)) fail_msg("'%s' lacks '%s'", err.message, words);
    assert_null(strchr(err.message, '\n'));
}

// ---- Numbers -----------------------------------------------------------------------------------

static stated number(const char *yaml, stated_kind kind) {
    yaml_node *root;
    error err = {0};
    stated s;
    if (yaml_read_text(yaml, strlen(yaml), "t.yaml", &root, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    if (stated_read(root->items[0], "x", kind, 0, false, &s, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    yaml_free(root);
    return s;
}

static void stands_for(const char *yaml, stated_kind kind, double low, double high) {
    stated s = number(yaml, kind);
    assert_true(s.given);
    assert_near(s.range.low, low, 1e-12);
    assert_near(s.range.high, high, 1e-12);
}

static void numbers_cover_the_values_that_round_to_them(void **state) {
    (void)state;
    stands_for("x: 504.28", STATED_FIGURE, 504.275, 504.285);
    stands_for("x: 73", STATED_FIGURE, 72.5, 73.5);
    stands_for("x: 1.50", STATED_FIGURE, 1.495, 1.505);
    stands_for("x: 1.5e-3", STATED_FIGURE, 0.00145, 0.00155);
    stands_for("x: 0", STATED_FIGURE, 0, 0.5);
    stands_for("x: 0.001", STATED_SETTING, 0.001, 0.001);
    stands_for("x: 64", STATED_COUNT, 64, 64);
    stands_for("x: ~2.5", STATED_FIGURE, 2.25, 2.75);
    stands_for("x: ~2", STATED_FIGURE, 1, 3);
    stands_for("x: [78, 82]", STATED_FIGURE, 77.5, 82.5);
    stands_for("x: [10, 20]", STATED_COUNT, 10, 20);
    stands_for("x: [~1.5, 1.8]", STATED_FIGURE, 1.35, 1.85);
    assert_string_equal(number("x: [78, 82]", STATED_FIGURE).text, "78–82");
    assert_string_equal(number("x: 8.70", STATED_FIGURE).text, "8.70");
}

// A form with its unit, the values that it stands for, and how a finding quotes it.
static void numbers_have_units(void **state) {
    (void)state;
    static const struct form {
        const char *yaml;
        printed_unit unit;
        double low, high;
        const char *text;
    } forms[] = {
        {"x: 93.02%", PRINTED_PERCENT, 93.015, 93.025, "93.02"},
        {"x: \"93.02 %\"", PRINTED_PERCENT, 93.015, 93.025, "93.02"},
        {"x: 93.5 ± 0.2", PRINTED_PERCENT, 93.2, 93.8, "(93.5 ± 0.2 = 93.3–93.7)"},
        {"x: 93.5% +/- 0.2%", PRINTED_PERCENT, 93.2, 93.8, "(93.5% +/- 0.2% = 93.3–93.7)"},
        {"x: 8.27", PRINTED_ERROR, 91.725, 91.735, "(8.27 = 91.73)"},
        {"x: 0.8%", PRINTED_ERROR, 99.15, 99.25, "(0.8% = 99.2)"},
        // Cut off or rounded: 2:36.9 is printed as 2m36s by many.
        {"x: 2m36s", PRINTED_SECONDS, 155.5, 157, "(2m36s = 156)"},
        {"x: 2 min 36 s", PRINTED_SECONDS, 155.5, 157, "(2 min 36 s = 156)"},
        {"x: 0:02:36", PRINTED_SECONDS, 155.5, 157, "(0:02:36 = 156)"},
        {"x: 2:36", PRINTED_SECONDS, 155.5, 157, "(2:36 = 156)"},
        {"x: 0:01:18.741640", PRINTED_SECONDS, 78.7416395, 78.7416405,
         "(0:01:18.741640 = 78.74164)"},
        {"x: 1.5h", PRINTED_SECONDS, 5220, 5580, "(1.5h = 5400)"},
        {"x: 78.7s", PRINTED_SECONDS, 78.65, 78.75, "78.7"},
        {"x: ~80 s", PRINTED_SECONDS, 72, 88, "~80"},
        {"x: 12 ms", PRINTED_SECONDS, 0.0115, 0.0125, "(12 ms = 0.012)"},
        {"x: 500 µs", PRINTED_MS, 0.4995, 0.5005, "(500 µs = 0.5)"},
        {"x: 332 fps", PRINTED_IMAGE_RATE, 331.5, 332.5, "332"},
        {"x: 19.2 ms", PRINTED_MS, 19.15, 19.25, "19.2"},
        {"x: 12.3 ± 0.1 ms", PRINTED_MS, 12.1, 12.5, "(12.3 ± 0.1 ms = 12.2–12.4)"},
        {"x: 1.83x", PRINTED_TIMES, 1.825, 1.835, "1.83"},
        {"x: 332 images/s", PRINTED_IMAGE_RATE, 331.5, 332.5, "332"},
        {"x: 1.2k samples/sec", PRINTED_IMAGE_RATE, 1150, 1250, "(1.2k samples/sec = 1200)"},
        {"x: 12.5it/s", PRINTED_BATCH_RATE, 1000 / 12.55, 1000 / 12.45, "(12.5it/s = 80)"},
        {"x: 1.25s/it", PRINTED_BATCH_RATE, 1245, 1255, "(1.25s/it = 1250)"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const stated s = number(forms[i].yaml, STATED_IN(forms[i].unit));
        if (fabs(s.range.low - forms[i].low) > 1e-9 || fabs(s.range.high - forms[i].high) > 1e-9)
            fail_msg("%s: %.9g to %.9g", forms[i].yaml, s.range.low, s.range.high);
        assert_string_equal(s.text, forms[i].text);
    }
}

static void other_forms_are_refused_with_the_right_one(void **state) {
    (void)state;
#define ROW(figure) HEAD "rows: [{name: a, " figure "}]\n"
    refuses(ROW("accuracy: 92,4, epochs: 2"), "a comma ends a value here: write 92.4");
    refuses(ROW("accuracy: 92,4, train_loss: 0,4"), "a comma ends a value here: write 0.4");
    refuses(ROW("samples: 50,000"), "write 50000, or with a decimal point 50.000");
    refuses(HEAD "rows:\n  - name: a\n    accuracy: 92,4\n", "got '92,4': write 92.4");
    refuses(ROW("total_seconds: 2m36x"), "got '2m36x': write 156, 2m36s or 0:02:36");
    refuses(ROW("total_seconds: 36s2m"), "expected a number, got '36s2m'");
    refuses(ROW("total_seconds: 2:75"), "expected a number, got '2:75'");
    refuses(ROW("error: 0.08"), "below 1, with its sign");
    refuses(ROW("error: 120"), "got 120");
    refuses(ROW("utilization: [98, 198]"), "'utilization': expected percent, at most 100, got 198");
    refuses(ROW("class_accuracies: [90, 190]"), "'class_accuracies': expected percent");
    refuses(ROW("batch_size: 64"), "did you mean 'batch'?");
    refuses(ROW("test_acc: 93"), "did you mean 'accuracy'?");
    refuses(ROW("loss: 0.1"), "did you mean 'train_loss'?");
    refuses(ROW("training_time: 1h"), "did you mean 'total_seconds'?");
    refuses(ROW("time_per_epoch: 1m"), "did you mean 'seconds_per_epoch'?");
    refuses(ROW("gpus: 4"), "did you mean 'devices'?");
    refuses(ROW("fps: 332"), "did you mean 'images_per_second'?");
    refuses(ROW("test_error: 7"), "did you mean 'error'?");
    // Accuracies of classes are fractions, too.
    clean(ROW("accuracy: 85, class_accuracies: [0.9, 0.8], class_samples: [10, 10], "
              "test_samples: 20"));
    // Nothing would read these.
    refuses(ROW("class_accuracies: [90, 80], class_samples: [10]"),
            "'class_accuracies' has 2 figures, 'class_samples' 1");
    refuses(ROW("accuracy: 90, over: a"),
            "'over' needs 'speed_up' or 'efficiency', the figure relative");
    refuses(ROW("throughput: 332"), "its unit is missing: write 332 images/s");
    // A mean of runs is not a proportion of one test set.
    clean(ROW("accuracy: 93.525 ± 0.203, test_samples: 1000"));
    // Rows may be called by numbers.
    finds(HEAD "rows: [{name: 1, devices: 1, total_seconds: 80}, "
               "{name: 8, devices: 8, total_seconds: 1m20s}]\n" STATEMENTS
               "  - {kind: speedup, of: 8, than: 1, ratio: 6.7x}\n",
          FINDING_ARITHMETIC, "80 / (1m20s = 80) s in total: 1 times as fast, stated 6.7", NULL);
    // Two keys of one figure agree, or contradict each other.
    clean(ROW("error: 7, accuracy: 93"));
    clean(HEAD "rows: [{name: a, devices: 8, images_per_second: 880, throughput: 110 img/s/GPU, "
               "samples_per_second: 110 per device}]\n");
    finds(ROW("accuracy: 98.23%, error: 1.67%"), FINDING_ARITHMETIC, "98.23 + 1.67 = 99.9, not 100",
          "two figures for its accuracy");
    finds(ROW("batch_ms: 80, steps_per_second: 10"), FINDING_ARITHMETIC, "80 and (10 it/s = 100)",
          "two figures for its time per batch");
    clean(HEAD "common: {accuracy: 90, error: 7}\nrows: [{name: a, accuracy: 91}]\n");
    finds(HEAD "common: {accuracy: 90, error: 7}\nrows: [{name: a, epochs: 1}]\n",
          FINDING_ARITHMETIC, "90 + 7 = 97, not 100", NULL);
    refuses(ROW("images_per_second: 110 images/s per GPU"), "'devices' is missing");
    refuses(ROW("throughput: 110 images/s per node, devices: 8"),
            "write 332 or 332 images/s (of all devices), or 42 images/s per GPU");
    refuses(ROW("throughput: 110 per GPU, devices: 8"), "its unit is missing");
    // Iterations of a known batch are images.
    finds(HEAD "common: {global_batch: 200}\n"
               "rows: [{name: a, devices: 1, throughput: 1000 images/s}, "
               "{name: b, devices: 2, throughput: 10 it/s}]\n" STATEMENTS
               "  - {kind: speedup, of: b, than: a, ratio: 3.0}\n",
          FINDING_ARITHMETIC, "2000 / 1000 img/s in throughput: 2 times as fast, stated 3.0", NULL);
}

static void intervals(void **state) {
    (void)state;
    interval a = {1, 2}, b = {4, 5};
    assert_false(interval_meet(a, b));
    assert_true(interval_meet(a, (interval){2, 3}));
    // Intervals that are equal except for a double's rounding error meet.
    assert_true(interval_meet(interval_exact(0.1 + 0.2), interval_exact(0.3)));
    interval q = interval_divide(b, a);
    assert_near(q.low, 2, 0);
    assert_near(q.high, 5, 0);
    assert_true(isinf(interval_divide(b, (interval){0, 1}).high));
    interval d = interval_subtract(b, a);
    assert_near(d.low, 2, 0);
    assert_near(d.high, 4, 0);
}

static void proportions(void **state) {
    (void)state;
    // 87.74 % against 87.36 % of 10000: by hand, 0.0038 / sqrt(0.8755 * 0.1245 * 2 / 10000).
    assert_near(proportions_z(0.8774, 10000, 0.8736, 10000), 0.81387, 1e-5);
    assert_near(proportions_z(0.8736, 10000, 0.8774, 10000), -0.81387, 1e-5);
    assert_near(proportions_z(1, 100, 1, 100), 0, 0);
}

// ---- Reading -----------------------------------------------------------------------------------

static void bad_files_are_refused(void **state) {
    (void)state;
    refuses("name: x\nrows: [{name: a}]\n", "'schema' is missing");
    refuses("schema: lockstep.claim/2\nname: x\nrows: [{name: a}]\n",
            "expected one of lockstep.claim/1");
    refuses(HEAD, "'rows' is missing");
    refuses(HEAD "rows: []\n", "not empty");
    refuses(HEAD "rows: [a]\n", "t.yaml:3:8: expected a mapping");
    refuses(HEAD "rows: [{batch: 4}]\n", "'name' is missing");
    refuses(HEAD "rows: [{name: a, batchms: 4}]\n",
            "t.yaml:3:18: unknown key 'batchms': did you mean 'batch_ms'?");
    refuses(HEAD "row: [{name: a}]\n", "did you mean 'rows'?");
    refuses(HEAD "rows: [{name: a, batch: 4.5}]\n", "expected a whole number, got 4.5");
    refuses(HEAD "rows: [{name: a, batch: 0}]\n", "of at least 1, got 0");
    refuses(HEAD "rows: [{name: a, total_seconds: 0}]\n", "above 0, got 0");
    refuses(HEAD "rows: [{name: a, total_seconds: fast}]\n", "expected a number, got 'fast'");
    refuses(HEAD "rows: [{name: a, total_seconds: [1, 2, 3]}]\n", "[LOWEST, HIGHEST]");
    refuses(HEAD "rows: [{name: a, total_seconds: [3, 2]}]\n", "3 above 2");
    refuses(HEAD "rows: [{name: a, accuracy: 120}]\n", "expected percent");
    refuses(HEAD "rows: [{name: a, strategy: dpp}]\n", "did you mean");
    refuses(HEAD "rows: [{name: a}, {name: a}]\n", "two rows are called 'a'");
    refuses(HEAD "rows: [{name: \"a\\eb\"}]\n", "expected one line");
    refuses(HEAD "common: {name: a}\nrows: [{name: b}]\n", "a name cannot be common");
    refuses(ARMS STATEMENTS "  - {of: a}\n", "'kind' is missing");
    refuses(ARMS STATEMENTS "  - {kind: slowest, of: b, than: a}\n", "did you mean 'slower'?");
    refuses(ARMS STATEMENTS "  - {kind: slower, than: a}\n", "'of' is missing");
    refuses(ARMS STATEMENTS "  - {kind: slower, of: a, than: a}\n", "'a' twice");
    refuses(ARMS STATEMENTS "  - {kind: speedup, of: b, than: a}\n", "'ratio' is missing");
    refuses(ARMS STATEMENTS "  - {kind: speedup, of: b, than: a, points: 1}\n",
            "unknown key 'points'");
    refuses(ARMS STATEMENTS "  - {kind: slower, of: b, than: a, ratio: 2, by_percent: 1}\n",
            "only one");
    refuses(ARMS STATEMENTS "  - {kind: slower, of: b, than: a, basis: batch}\n",
            "expected one of total_seconds");
    refuses(ARMS STATEMENTS "  - {kind: code, of: b}\n", "needs a figure");
}

static void common_values_apply_to_all_rows(void **state) {
    (void)state;
    claim c = {0};
    error err = {0};
    assert_int_equal(claim_read_text(HEAD
                                     "common: {epochs: 10, dataset: mnist, measured: false}\n"
                                     "rows: [{name: a}, {name: b, epochs: 20, measured: true}]\n",
                                     "t.yaml", &c, &err),
                     STATUS_OK);
    assert_near(c.rows[0].values[QUANTITY_EPOCHS].value, 10, 0);
    assert_near(c.rows[1].values[QUANTITY_EPOCHS].value, 20, 0);
    assert_string_equal(c.rows[1].labels[LABEL_DATASET], "mnist");
    assert_false(c.rows[0].measured);
    assert_true(c.rows[1].measured);
    claim_release(&c);
}

// ---- Consistent claims -------------------------------------------------------------------------

static void consistent_claims_have_no_findings(void **state) {
    (void)state;
    clean(ARMS);
    // 61.7 / 50.0 = 1.234, 6.2 / 5.0 = 1.24, 12.3 / 10.0 = 1.23: one ratio, three roundings.
    clean(ARMS STATEMENTS "  - {kind: slower, by_percent: 23, of: b, than: a}\n"
                          "  - {kind: slower, by_percent: 23.4, of: b, than: a}\n"
                          "  - {kind: slower, of: b, than: a}\n"
                          "  - {kind: speedup, ratio: 0.81, of: b, than: a}\n"
                          "  - {kind: faster, by_percent: 19, of: a, than: b}\n" // less time
                          "  - {kind: faster, by_percent: 23, of: a, than: b}\n" // more speed
                          "  - {kind: overhead, ms: 2.3, of: b, than: a}\n"
                          "  - {kind: accuracy_difference, points: 2.00, of: b, than: a}\n"
                          "  - {kind: code, epochs: 10, needs_devices: 2, of: b}\n");
}

static void rounding_and_dropped_batches_are_not_findings(void **state) {
    (void)state;
    // 50000 / 128 = 390.6: 390 steps when the rest is dropped, 391 when not.
    clean(HEAD "rows:\n"
               "  - {name: a, batch: 128, samples: 50000, epochs: 10, batch_ms: 10.00, "
               "total_seconds: 39.0}\n"
               "  - {name: b, batch: 128, samples: 50000, epochs: 10, batch_ms: 10.00, "
               "total_seconds: 39.1}\n"
               "  - {name: c, epochs: 3, seconds_per_epoch: 0.3, total_seconds: 1}\n"
               // Start-up and evaluation may add up to a tenth.
               "  - {name: d, epochs: 10, seconds_per_epoch: 10.00, total_seconds: 109.0}\n"
               "  - {name: e, epochs: 10, seconds_per_epoch: 10.00, total_seconds: 150.0, "
               "other_seconds: 50}\n");
}

// Two random arms, every figure computed from the same step time and then rounded to few or many
// digits; `factor` multiplies one of them.
static void random_claim(char *yaml, size_t size, uint32_t sample, double factor) {
    random_stream s = {.seed = 7, .purpose = RANDOM_SYNTHETIC, .sample = sample};
    int digits = (int)random_below(&s, 0, 3) + 1, epochs = (int)random_below(&s, 1, 30) + 1;
    int batch = (int)random_below(&s, 2, 500) + 1, steps = (50000 + batch - 1) / batch;
    double ms = 1 + 50 * (double)random_uniform(&s, 3), other = ms * (1.1 + random_uniform(&s, 4));
    double epoch = ms * steps / 1000, other_epoch = other * steps / 1000;
    int right = 8000 + (int)random_below(&s, 5, 100);
    snprintf(
        yaml, size,
        HEAD "common: {samples: 50000, batch: %d, epochs: %d, test_samples: 10000}\n"
             "rows:\n"
             "  - {name: a, batch_ms: %.*f, seconds_per_epoch: %.*f, total_seconds: %.*f, "
             "accuracy: %.2f}\n"
             "  - {name: b, batch_ms: %.*f, seconds_per_epoch: %.*f, total_seconds: %.*f, "
             "accuracy: %.2f}\n" STATEMENTS "  - {kind: slower, by_percent: %.*f, of: b, than: a}\n"
             "  - {kind: speedup, ratio: %.*f, of: a, than: b}\n"
             "  - {kind: overhead, ms: %.*f, of: b, than: a}\n"
             "  - {kind: accuracy_difference, points: %.*f, of: b, than: a}\n",
        batch, epochs, digits, ms, digits, epoch, digits, epoch * epochs * factor, right / 100.0,
        digits, other, digits, other_epoch, digits, other_epoch * epochs, right / 100.0 + 5, digits,
        100 * (other / ms - 1), digits, other / ms, digits, other - ms, digits, 5.0);
}

static void rounded_figures_have_no_findings_but_errors_do(void **state) {
    (void)state;
    char yaml[2048];
    for (uint32_t i = 0; i < 300; i++) {
        random_claim(yaml, sizeof yaml, i, 1);
        clean(yaml);
        random_claim(yaml, sizeof yaml, i, 1.5);
        result r = audited(yaml);
        if (!r.kinds[FINDING_ARITHMETIC]) fail_msg("not found:\n%s", yaml);
        free(r.text);
    }
}

// Columns of tables on scaling.
static void efficiencies(void **state) {
    (void)state;
#define FOUR(column)                                                                              \
    HEAD "common: {samples: 50000, epochs: 10, global_batch: 256}\n"                              \
         "rows: [{name: one, strategy: single, devices: 1, total_seconds: 1000, efficiency: 1}, " \
         "{name: four, strategy: ddp, devices: 4, total_seconds: 300, " column "}]\n"
    clean(FOUR("efficiency: 83%"));
    clean(FOUR("efficiency: 0.833, speed_up: 3.3, over: one"));
    finds(FOUR("efficiency: 93%"), FINDING_ARITHMETIC,
          "(1000 / 300 s in total) / 4 = 83.3 %, stated 93 %", "a different efficiency");
    refuses(HEAD "rows: [{name: a, devices: 2, efficiency: 90%}, {name: b, devices: 4}]\n",
            "'over' is missing");
    refuses(HEAD "rows: [{name: a, efficiency: 90%, over: b}, {name: b, devices: 1}]\n",
            "'devices' is missing in the row 'a'");
    finds(HEAD "rows: [{name: a, devices: 2, efficiency: 90%, over: c}]\n", FINDING_UNSUPPORTED,
          "'c' is not among the 1 rows", NULL);
    finds(HEAD "rows: [{name: a, devices: 2, efficiency: 90%}, {name: b, devices: 1}]\n",
          FINDING_UNSUPPORTED, "the rows do not give the times",
          "'a' (90% x 2 = 1.8) times as fast");
    // Each device does as much as one did: no step takes less time.
#define STEPS(batch, efficiency)                                                              \
    HEAD "common: {" batch "}\nrows: [{name: one, devices: 1, batch_ms: 100}, {name: eight, " \
         "devices: 8, batch_ms: 107, efficiency: " efficiency "}]\n"
    clean(STEPS("epochs: 1", "93%"));
    finds(STEPS("epochs: 1", "73%"), FINDING_ARITHMETIC, "stated 73 %", NULL);
    finds(STEPS("global_batch: 64", "93%"), FINDING_ARITHMETIC, "stated 93 %", NULL);
}

static void throughputs_of_each_device(void **state) {
    (void)state;
#define EIGHT(rate, ratio)                                                              \
    HEAD "common: {batch: 32}\n"                                                        \
         "rows: [{name: one, strategy: single, devices: 1, throughput: 122 images/s}, " \
         "{name: eight, strategy: ddp, devices: 8, throughput: " rate "}]\n" STATEMENTS \
         "  - {kind: speedup, of: eight, than: one, ratio: " ratio "}\n"
    clean(EIGHT("110 images/s per GPU", "7.2"));
    clean(EIGHT("~110 images / s / device", "7"));
    clean(EIGHT("880 images/s", "7.2"));
    finds(EIGHT("110 images/s per GPU", "6.2"), FINDING_ARITHMETIC,
          "(8 x 110 = 880) / 122 img/s in throughput: 7.21 times as fast, stated 6.2", NULL);
    finds(EIGHT("110 images/s", "7.2"), FINDING_REMARK, "read as those of each device",
          "'eight': 8 x 110 = 880 img/s");
    result r = audited(EIGHT("110 images/s", "6.2"));
    assert_int_equal(r.kinds[FINDING_ARITHMETIC], 1);
    assert_non_null(strstr(r.text, "110 / 122 img/s in throughput: 0.902 times as fast"));
    free(r.text);
}

static void more_than_the_devices_explain(void **state) {
    (void)state;
#define SUPER(seconds, workers)                                                                   \
    HEAD "common: {samples: 50000, epochs: 10, global_batch: 256}\nrows: [{name: one, strategy: " \
         "single, devices: 1, total_seconds: 1000, loader_workers: 4}, {name: four, strategy: "   \
         "ddp, devices: 4, total_seconds: " seconds ", loader_workers: " workers "}]\n" STATEMENTS
    finds(SUPER("180", "4") "  - {kind: speedup, of: four, than: one, ratio: 5.56}\n",
          FINDING_REMARK, "at least 5.54 times as fast as 'one', on 4 times as many devices", NULL);
    finds(SUPER("180", "4") "  - {kind: slower, of: one, than: four, ratio: 5.56}\n"
                            "  - {kind: faster, of: four, than: one}\n",
          FINDING_REMARK, "'four' is faster than its number of devices explains", NULL);
    clean(SUPER("250", "4") "  - {kind: speedup, of: four, than: one, ratio: 4.0}\n");
    finds(SUPER("180", "8") "  - {kind: speedup, of: four, than: one, ratio: 5.56}\n",
          FINDING_CONDITIONS, "loader workers: 8 and 4", NULL);
}

// ---- Honest tables on scaling ------------------------------------------------------------------

// What a table states of its times.
enum { STEP = 1, EPOCH = 2, TOTAL = 4, RATE = 8, RATE_OF_EACH = 16, RATE_PER_GPU = 32 };
enum { RATES = RATE | RATE_OF_EACH | RATE_PER_GPU };

// Trainings on 1, 2, 4, … devices: with one batch, or with one batch for each device (`weak`). Each
// figure of a row is computed from the same step time, and then printed with few or many digits.
typedef struct scaling {
    random_stream s;
    uint32_t drawn;
    bool weak, dp, says_global;
    int samples, epochs, batch, digits, columns;
    double compute, fixed, exchange, besides;
    double first_rate; // of the row on one device
} scaling;

static int draw(scaling *t, uint32_t n) {
    return (int)random_below(&t->s, t->drawn++, n);
}

static double step_ms(const scaling *t, int devices) {
    const double images = t->weak ? t->batch : (double)t->batch / devices;
    return t->fixed + t->compute * images + (devices > 1 ? t->exchange * log2(devices) : 0);
}

static void put_times(scaling *t, int devices, double ms, double rate, text *yaml) {
    const int global = t->weak ? t->batch * devices : t->batch;
    const double epoch = ceil((double)t->samples / global) * ms / 1000;
    if (t->columns & STEP) text_format(yaml, ", batch_ms: %.*f", t->digits, ms);
    if (t->columns & EPOCH) text_format(yaml, ", seconds_per_epoch: %.*f", t->digits, epoch);
    if (t->columns & TOTAL)
        text_format(yaml, ", total_seconds: %.*f", t->digits, epoch * t->epochs * t->besides);
    if (t->columns & RATE) text_format(yaml, ", images_per_second: %.*f", t->digits, rate);
    if (t->columns & RATE_OF_EACH)
        text_format(yaml, ", throughput: %.*f images/s", t->digits, rate / devices);
    if (t->columns & RATE_PER_GPU)
        text_format(yaml, ", samples_per_second: %.*f img/s/GPU", t->digits, rate / devices);
}

static void put_row(scaling *t, int devices, text *yaml) {
    const double ms = step_ms(t, devices);
    const int global = t->weak ? t->batch * devices : t->batch;
    const double rate = 1000 * global / ms, share = rate / t->first_rate / devices;
    const int right = 9000 + draw(t, 900);
    if (devices == 1) t->first_rate = rate;
    text_format(yaml, "  - {name: n%d, strategy: %s, devices: %d", devices,
                devices == 1 ? "single"
                : t->dp      ? "dp"
                             : "ddp",
                devices);
    if (t->says_global) text_format(yaml, ", global_batch: %d", global);
    if (t->weak || t->dp || draw(t, 2))
        text_format(yaml, ", batch: %d", t->dp ? global : global / devices);
    put_times(t, devices, ms, rate, yaml);
    if (devices > 1 && draw(t, 2))
        text_format(yaml, ", speed_up: %.*fx", t->digits, share * devices);
    if (devices > 1 && draw(t, 2))
        text_format(yaml, ", efficiency: %.*f%%", t->digits, 100 * share);
    if (devices > 1 && draw(t, 4) == 0)
        text_format(yaml, ", accuracy: %.2f%%, error: %.2f%%", right / 100.0, 100 - right / 100.0);
    text_append(yaml, "}\n");
}

static scaling draw_scaling(uint32_t sample) {
    scaling t = {.s = {.seed = 11, .purpose = RANDOM_SYNTHETIC, .sample = sample}, .first_rate = 1};
    static const int columns[] = {STEP,
                                  EPOCH,
                                  TOTAL,
                                  RATE,
                                  RATE_OF_EACH,
                                  RATE_PER_GPU,
                                  STEP | EPOCH,
                                  EPOCH | TOTAL,
                                  RATE | RATE_PER_GPU,
                                  STEP | RATE_PER_GPU,
                                  EPOCH | RATE_OF_EACH,
                                  STEP | EPOCH | TOTAL | RATE};
    t.columns = columns[draw(&t, sizeof columns / sizeof *columns)];
    t.weak = draw(&t, 2);
    t.dp = !t.weak && draw(&t, 3) == 0;
    t.says_global = !(t.weak || t.dp) || draw(&t, 2);
    t.batch = 32 << draw(&t, 4);
    t.samples = t.batch * 16 * (10 + draw(&t, 400)); // no step is a part of one
    t.epochs = 1 + draw(&t, 90);
    t.digits = 1 + draw(&t, 3);
    t.compute = 0.1 + (double)random_uniform(&t.s, t.drawn++);
    t.fixed = 2 * (double)random_uniform(&t.s, t.drawn++);
    t.exchange = 3 * (double)random_uniform(&t.s, t.drawn++);
    t.besides = 1 + 0.05 * (double)random_uniform(&t.s, t.drawn++);
    return t;
}

// A row is right, and so is what it says of its speed-up: no figure contradicts another one. Where
// rows tell all about their batches, or compare throughputs of equal loads, nothing is found at
// all.
static void honest_tables_have_no_findings(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        scaling t = draw_scaling(i);
        text yaml = {0};
        text_format(
            &yaml, HEAD "common: {samples: %d, epochs: %d, test_samples: 10000, over: n1}\nrows:\n",
            t.samples, t.epochs);
        for (int devices = 1; devices <= 16; devices *= 2) put_row(&t, devices, &yaml);
        result r = audited(text_string(&yaml));
        const bool alike = !t.weak || !(t.columns & ~RATES);
        const size_t counted =
            alike ? r.count - r.kinds[FINDING_REMARK] : r.kinds[FINDING_ARITHMETIC];
        if (counted) fail_msg("table %u:\n%s%s", i, text_string(&yaml), r.text);
        free(r.text);
        text_release(&yaml);
    }
}

static void scaled_ddp_is_consistent(void **state) {
    (void)state;
    clean(HEAD
          "rows:\n"
          "  - {name: d, strategy: ddp, devices: 4, batch: 64, global_batch: 256, samples: 51200,\n"
          "     epochs: 2, batch_ms: 5.000, total_seconds: 2.00}\n" STATEMENTS
          "  - {kind: effective_batch, of: d, batch: 256}\n");
}

// ---- Rows that state everything ---------------------------------------------------------------

// One arm, and a faster one that spent half of its total starting up. Batches take less than the
// epoch that they are in, and load and update less than a batch; the first epoch warms up.
#define STATES_ALL                                                                              \
    HEAD "common: {samples: 50000, test_samples: 10000, epochs: 5, lr: 0.1, dataset: cifar10, " \
         "loader_workers: 0, over: one}\n"                                                      \
         "rows:\n"                                                                              \
         "  - {name: one, strategy: single, devices: 1, batch: 100, global_batch: 100, "        \
         "load_seconds_per_step: 0.0040, update_seconds_per_step: 0.0200, batch_ms: 25.0, "     \
         "seconds_per_epoch: 13.08, images_per_second: 3823, total_seconds: 69.03, "            \
         "accuracy: 90.00}\n"                                                                   \
         "  - {name: two, strategy: ddp, devices: 2, batch: 50, global_batch: 100, "            \
         "load_seconds_per_step: 0.0030, update_seconds_per_step: 0.0130, batch_ms: 18.5, "     \
         "seconds_per_epoch: 9.79, epoch_seconds: [12.59, 9.09, 9.09, 9.09, 9.09], "            \
         "images_per_second: 5107, total_seconds: 97.03, other_seconds: 48.08, "                \
         "accuracy: 90.20, class_accuracies: [90.30, 90.10], class_samples: [5000, 5000], "     \
         "speed_up: 1.34}\n"

// The text with the first `old` replaced.
static const char *with(char *out, size_t size, const char *yaml, const char *old,
                        const char *instead) {
    const char *at = strstr(yaml, old);
    if (!at) fail_msg("'%s' is not in\n%s", old, yaml);
    snprintf(out, size, "%.*s%s%s", (int)(at - yaml), yaml, instead, at + strlen(old));
    return out;
}

static void rows_that_state_everything(void **state) {
    (void)state;
    static const struct altered {
        const char *from, *to, *finding;
    } rows[] = {
        {"total_seconds: 97.03", "total_seconds: 117.03",
         "the sum of 5 epochs + 48.08 s = 97.03 s, stated 117.03 s"},
        {"other_seconds: 48.08", "other_seconds: 28.08",
         "the sum of 5 epochs + 28.08 s = 77.03 s, stated 97.03 s"},
        {"[12.59, 9.09,", "[12.59, 29.09,",
         "the sum of 5 epochs + 48.08 s = 117 s, stated 97.03 s"},
        {"seconds_per_epoch: 9.79", "seconds_per_epoch: 19.79",
         "5 epochs took 9.09–12.59 s, stated 19.79 s"},
        {"total_seconds: 69.03", "total_seconds: 89.03",
         "5 epochs x 13.08 s = 65.4 s, stated 89.03"},
        {"seconds_per_epoch: 13.08", "seconds_per_epoch: 11.08",
         "5 epochs x 11.08 s = 55.4 s, stated 69.03 s"},
        {"batch_ms: 18.5", "batch_ms: 28.5", "500 steps/epoch x 28.5 ms = 14.25 s, stated 9.79 s"},
        {"load_seconds_per_step: 0.0030", "load_seconds_per_step: 0.0130",
         "0.0130 + 0.0130 s = 0.026 s, stated 0.0185 s"},
        {"images_per_second: 3823", "images_per_second: 2823",
         "50000 images / 2823 img/s = 17.71 s, stated 13.08 s"},
        {"batch: 50,", "batch: 60,", "60 per rank x 2 ranks = 120 per step, stated 100"},
        {"accuracy: 90.00", "accuracy: 90.005", "no whole number of samples gives its accuracy"},
        {"[90.30,", "[80.30,", "10000 samples of 2 classes: 85.20 %, stated 90.20 %"},
        {"speed_up: 1.34", "speed_up: 1.54", "13.08 / 9.79 s per epoch: 1.34 times as fast"},
    };
    char yaml[4096];
    clean(STATES_ALL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        // Without the speed-up, the rows alone count.
        const bool speed_up = strncmp(rows[i].from, "speed_up", 8) == 0;
        const char *base = STATES_ALL;
        char alone[4096];
        if (!speed_up) base = with(alone, sizeof alone, base, "speed_up: 1.34", "");
        finds(with(yaml, sizeof yaml, base, rows[i].from, rows[i].to), FINDING_ARITHMETIC,
              rows[i].finding, NULL);
    }
}

static void statements_about_rows_that_state_everything(void **state) {
    (void)state;
    static const struct altered {
        const char *statement, *finding;
    } statements[] = {
        {"kind: speedup, of: two, than: one, ratio: 1.34, basis: seconds_per_epoch", NULL},
        {"kind: speedup, of: two, than: one, ratio: 1.34", NULL},
        {"kind: slower, of: two, than: one, ratio: 1.41, basis: total_seconds", NULL},
        {"kind: faster, of: two, than: one, by_percent: 34, basis: images_per_second", NULL},
        {"kind: faster, of: two, than: one, by_percent: 54, basis: images_per_second",
         "5107 / 3823 img/s in throughput: 33.6 % faster, stated 54 %"},
        {"kind: difference, of: two, than: one, images_per_second: 1284, batch_ms: -6.5", NULL},
        {"kind: difference, of: two, than: one, images_per_second: 1384",
         "5107 - 3823 = 1284, stated 1384"},
        // The time besides the epochs is not divided; communication counts in every step.
        {"kind: projection, of: two, devices: 4, communication_ms: 1.0, batch_ms: 10.25, "
         "seconds_per_epoch: 5.40, total_seconds: 75.1, images_per_second: 9267",
         NULL},
        {"kind: projection, of: two, devices: 4, communication_ms: 1.0, total_seconds: 95.1",
         "(97.03 - 48.08) / 2 + 48.08 = 72.56 s, stated 95.1 s"},
        {"kind: projection, of: two, devices: 4, communication_ms: 1.0, images_per_second: 4000",
         "5107 x 2 = 10214 img/s, stated 4000 img/s"},
    };
    char yaml[4096], rows[3072];
    (void)with(rows, sizeof rows, STATES_ALL, "speed_up: 1.34", "");
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        snprintf(yaml, sizeof yaml, "%s" STATEMENTS "  - {%s}\n", rows, statements[i].statement);
        if (statements[i].finding)
            finds(yaml, FINDING_ARITHMETIC, statements[i].finding, NULL);
        else
            clean(yaml);
    }
    finds(STATES_ALL STATEMENTS
          "  - {kind: projection, of: two, devices: 4, total_seconds: 72.56}\n",
          FINDING_UNSUPPORTED, "(97.03 - 48.08) / 2 + 48.08 = 72.56 s in total, stated 72.56",
          "nothing is left for communication");
    // Two statements, each true of another time.
    clean(STATES_ALL STATEMENTS "  - {kind: faster, of: two, than: one, ratio: 1.34}\n"
                                "  - {kind: slower, of: two, than: one, ratio: 1.41}\n");
    // A mean of five runs is one of five times as many samples.
#define OF_FIVE(repeats)                                                               \
    HEAD "common: {test_samples: 10000" repeats "}\n"                                  \
         "rows: [{name: a, accuracy: 92.10}, {name: b, accuracy: 91.60}]\n" STATEMENTS \
         "  - {kind: accuracy_difference, points: 0.50, of: a, than: b}\n"
    clean(OF_FIVE(", repeats: 5"));
    finds(OF_FIVE(""), FINDING_UNSUPPORTED, "not shown to differ in accuracy", NULL);
}

// Two times of one comparison: the reason is the one of these two.
static void ratios_of_rows_that_state_everything(void **state) {
    (void)state;
#define RATIOS(x, y, basis)                                                                    \
    HEAD "common: {samples: 50000, epochs: 5, global_batch: 100}\n"                            \
         "rows: [{name: one, devices: 1, " x "}, {name: two, devices: 2, " y "}]\n" STATEMENTS \
         "  - {kind: slower, of: two, than: one, basis: " basis "}\n"
    // (97.03 - 48.08) / 5 = 9.79; without other_seconds, the total says 1.41 and the epoch 0.75.
    clean(RATIOS("seconds_per_epoch: 13.08, total_seconds: 69.03",
                 "seconds_per_epoch: 9.79, total_seconds: 97.03, other_seconds: 48.08",
                 "total_seconds"));
    clean(RATIOS("batch_ms: 26.00, total_seconds: 69.03",
                 "batch_ms: 19.50, total_seconds: 97.03, other_seconds: 48.08", "total_seconds"));
    clean(RATIOS("images_per_second: 3823, total_seconds: 69.03",
                 "images_per_second: 5107, total_seconds: 97.03, other_seconds: 48.08",
                 "total_seconds"));
    // Counted over the whole total, too: 250000 / 97.03.
    clean(RATIOS("images_per_second: 3823, seconds_per_epoch: 13.08, total_seconds: 69.03",
                 "images_per_second: 2577, seconds_per_epoch: 9.79, total_seconds: 97.03, "
                 "other_seconds: 48.08",
                 "total_seconds"));
#define ALONE(x, y, basis)                                                                     \
    HEAD "rows: [{name: one, devices: 1, " x "}, {name: two, devices: 2, " y "}]\n" STATEMENTS \
         "  - {kind: slower, of: two, than: one, basis: " basis "}\n"
    finds(ALONE("seconds_per_epoch: 10.00, total_seconds: 50.00",
                "seconds_per_epoch: 10.00, total_seconds: 80.00, other_seconds: 10.00",
                "total_seconds"),
          FINDING_ARITHMETIC, "(80.00 - 10.00) / 50.00 s in total = 1.4\n",
          "both arms took the same number of epochs");
    finds(ALONE("batch_ms: 10.00, total_seconds: 50.00", "batch_ms: 10.00, total_seconds: 80.00",
                "total_seconds"),
          FINDING_ARITHMETIC, "10.00 / 10.00 ms per batch = 1\n",
          "both arms took the same number of steps");
    finds(ALONE("images_per_second: 1000, seconds_per_epoch: 50.0",
                "images_per_second: 1000, seconds_per_epoch: 80.0", "seconds_per_epoch"),
          FINDING_ARITHMETIC, "1000 / 1000 img/s in throughput = 1\n",
          "both arms took the same number of images");
    finds(ALONE("images_per_second: 1000, batch_ms: 10.00",
                "images_per_second: 2000, batch_ms: 10.00", "batch_ms"),
          FINDING_ARITHMETIC, "1000 / 2000 img/s in throughput = 0.5\n",
          "both arms had the same batch");
}

// Lists of some epochs, and batch sizes that times imply.
static void terms_that_explain_a_time(void **state) {
    (void)state;
#define LISTED(list, total)                                                               \
    HEAD "rows: [{name: a, epochs: 4, seconds_per_epoch: 10.0, epoch_seconds: " list ", " \
         "total_seconds: " total "}]\n"
    clean(LISTED("[30.0, 10.0, 10.0, 10.0]", "60.0"));       // the usual epoch, after a warm-up
    clean(LISTED("[10.0, 10.0]", "40.0"));                   // the first two
    clean(LISTED("[30.0, 10.0, 10.0, 10.0, 10.0]", "40.0")); // a warm-up that is none of the four
    finds(LISTED("[10.0, 10.0]", "15.0"), FINDING_ARITHMETIC,
          "the sum of 2 epochs = 20 s, stated 15.0 s", NULL);
    finds(LISTED("[30.0, 10.0, 10.0, 10.0]", "40.0"), FINDING_ARITHMETIC,
          "the sum of 4 epochs = 60 s, stated 40.0 s", NULL);
    // The warm-up is in no batch, and not in the time of a usual epoch.
#define WARM(total)                                                                       \
    HEAD "common: {samples: 50000, global_batch: 100, epochs: 4}\n"                       \
         "rows: [{name: a, devices: 1, batch_ms: 20.0, seconds_per_epoch: 10.0, "         \
         "total_seconds: 40.0, other_seconds: 0}, {name: b, devices: 2, batch_ms: 20.0, " \
         "images_per_second: 5000, seconds_per_epoch: 10.0, "                             \
         "epoch_seconds: [30.0, 10.0, 10.0, 10.0], total_seconds: " total                 \
         ", other_seconds: 20}]\n" STATEMENTS "  - {kind: slower, of: b, than: a, ratio: 2}\n"
    clean(WARM("80.0"));
    finds(WARM("90.0"), FINDING_ARITHMETIC, "the sum of 4 epochs + 20 s = 80 s, stated 90.0", NULL);
    finds(HEAD "rows: [{name: a, samples: 50000, global_batch: 100, epochs: 2, batch_ms: 10.0, "
               "epoch_seconds: [12.7, 8.0], total_seconds: 20.7}]\n",
          FINDING_ARITHMETIC, "500 steps/epoch x 10.0 ms = 5 s, stated 8.0–12.7 s", NULL);
    // A throughput over the whole total is below that of the batches; none is above it.
#define RATE(rate, rest)                                                                     \
    HEAD "rows: [{name: a, samples: 50000, global_batch: 100, epochs: 10, batch_ms: 10.00, " \
         "images_per_second: " rate rest "}]\n"
    clean(RATE("5000", ", total_seconds: 100.0, other_seconds: 50.0"));
    finds(RATE("5000", ""), FINDING_ARITHMETIC,
          "5000 img/s x 10.00 ms = 50 images per batch, stated 100: 2 times more", NULL);
    finds(RATE("20000", ", total_seconds: 100.0, other_seconds: 50.0"), FINDING_ARITHMETIC,
          "10 epochs x 50000 images / 20000 img/s = 25 s, stated 100.0 s", NULL);
    // A batch also has what is neither load nor update.
    clean(HEAD
          "common: {samples: 1000, epochs: 1, update_seconds_per_step: 0.0040}\n"
          "rows: [{name: a, load_seconds_per_step: 0.0050, batch_ms: 10.0, total_seconds: 1.00}, "
          "{name: b, load_seconds_per_step: 0.0010, batch_ms: 10.0, total_seconds: 1.00}]\n");
    // Up to a tenth of an epoch is in no batch, although the row states the rest of its total.
    clean(HEAD "rows: [{name: a, samples: 50000, batch: 100, epochs: 10, batch_ms: 10.00, "
               "seconds_per_epoch: 5.40, total_seconds: 60.0, other_seconds: 6.0}]\n");
    // 1000 x 10 ms in 1 s imply a batch of 10 in both, with and without other seconds or workers.
    clean(HEAD "common: {samples: 1000, epochs: 1}\n"
               "rows: [{name: a, batch_ms: 10.0, total_seconds: 1.00}, "
               "{name: b, batch_ms: 10.0, total_seconds: 2.00, other_seconds: 1.00}]\n");
    clean(HEAD "common: {samples: 10000, epochs: 1, load_seconds_per_step: 0.0080, "
               "update_seconds_per_step: 0.0020}\n"
               "rows: [{name: a, loader_workers: 0, total_seconds: 10.0}, "
               "{name: b, loader_workers: 4, total_seconds: 2.0}]\n");
    // The total of the like-for-like comparison has the other seconds, too.
    finds(HEAD
          "rows: [{name: a, devices: 1, epochs: 2, seconds_per_epoch: 10.0, other_seconds: 5}, "
          "{name: b, devices: 2, epochs: 4, seconds_per_epoch: 5.0}]\n" STATEMENTS
          "  - {kind: faster, of: b, than: a}\n",
          FINDING_CONDITIONS,
          "in total: 4 x 5.0 s = 20 s; 2 x 10.0 s + 5 s = 25 s: 0.8 times the time", NULL);
}

// ---- Faults ------------------------------------------------------------------------------------

static void times_that_do_not_add_up(void **state) {
    (void)state;
    finds(HEAD "rows: [{name: a, batch: 4, samples: 50000, epochs: 25, batch_ms: 19.24, "
               "total_seconds: 504.28}]\n",
          FINDING_ARITHMETIC,
          "12500 steps/epoch x 25 epochs x 19.24 ms = 6012 s, stated 504.28 s: 11.9 times less",
          "imply a batch of 47.69, stated 4");
    finds(HEAD "rows: [{name: a, epochs: 10, seconds_per_epoch: 10.0, total_seconds: 99.0}]\n",
          FINDING_ARITHMETIC, "10 epochs x 10.0 s = 100 s, stated 99.0 s: 1 % less", NULL);
    finds(HEAD "rows: [{name: a, epochs: 10, seconds_per_epoch: 10.0, total_seconds: 150.0}]\n",
          FINDING_ARITHMETIC, "1.5 times more", "50 s belong to none of these parts");
    finds(HEAD "rows: [{name: a, epochs: 10, seconds_per_epoch: 10.0, total_seconds: 150.0, "
               "other_seconds: 20}]\n",
          FINDING_ARITHMETIC, "10 epochs x 10.0 s + 20 s = 120 s, stated 150.0 s", NULL);
    finds(HEAD
          "rows: [{name: a, batch: 100, samples: 1000, batch_ms: 10.0, seconds_per_epoch: 0.2}]\n",
          FINDING_ARITHMETIC, "10 steps/epoch x 10.0 ms = 0.1 s, stated 0.2 s: 2 times more", NULL);
}

static void load_and_update(void **state) {
    (void)state;
#define PHASES(workers, total)                                                                    \
    HEAD "rows: [{name: a, batch: 10, samples: 10000, epochs: 1, load_seconds_per_step: 0.0080, " \
         "update_seconds_per_step: 0.0020, loader_workers: " workers ", total_seconds: " total    \
         "}]\n"
    clean(PHASES("0", "10.0"));
    finds(PHASES("0", "8.0"), FINDING_ARITHMETIC,
          "1000 steps/epoch x 1 epochs x (0.0080 + 0.0020) s = 10 s, stated 8.0 s", NULL);
    // Four workers hide everything but the update: at least 2 s.
    clean(PHASES("4", "8.0"));
    clean(PHASES("4", "2.0"));
    finds(PHASES("4", "1.5"), FINDING_ARITHMETIC,
          "overlapped with the update, it is still at least 1.98", NULL);
    finds(HEAD "rows: [{name: a, batch: 10, samples: 10000, load_seconds_per_step: 0.0080, "
               "update_seconds_per_step: 0.0020, seconds_per_epoch: 8.0}]\n",
          FINDING_ARITHMETIC, "do not add up to the time per epoch",
          "1000 steps/epoch x (0.0080 + 0.0020) s = 10 s, stated 8.0 s");
}

static void arms_that_imply_different_batches(void **state) {
    (void)state;
    // No batch is stated: 1000 samples x 10 ms / 1 s = 10, but 20 is claimed.
    finds(HEAD "rows:\n"
               "  - {name: a, samples: 1000, epochs: 1, batch_ms: 10.0, total_seconds: 1.00}\n"
               "  - {name: b, samples: 1000, epochs: 1, batch_ms: 20.0, total_seconds: 1.00}\n",
          FINDING_ARITHMETIC, "'a' implies 10\n", "'b' implies 20\n");
    finds(HEAD "common: {samples: 1000, epochs: 1, load_seconds_per_step: 0.0080, "
               "update_seconds_per_step: 0.0020}\n"
               "rows: [{name: a, total_seconds: 1.00}, {name: b, total_seconds: 2.00}]\n",
          FINDING_ARITHMETIC, "(from load and update)", "'b' implies 5\n");
}

static void impossible_accuracies(void **state) {
    (void)state;
    finds(HEAD "rows: [{name: a, accuracy: 87.365, test_samples: 10000}]\n", FINDING_ARITHMETIC,
          "8736 are 87.36 %, 8737 are 87.37 %", NULL);
    clean(HEAD "rows: [{name: a, accuracy: 87.365, test_samples: 10000, repeats: 2}]\n");
    clean(HEAD "rows: [{name: a, accuracy: 0.8736, test_samples: 10000}]\n");
}

static void percentages_and_ratios(void **state) {
    (void)state;
    finds(ARMS STATEMENTS "  - {kind: slower, by_percent: 28.0, of: b, than: a}\n",
          FINDING_ARITHMETIC, "61.7 / 50.0 s in total: 23.4 % slower, stated 28.0 %",
          "12.3 / 10.0 ms per batch: 23 % slower");
    finds(ARMS STATEMENTS "  - {kind: faster, of: b, than: a}\n", FINDING_ARITHMETIC,
          "'b' faster than 'a': the rows give a different figure", "0.81 times as fast");
    // 23.4 and 24 hold for the total and an epoch; batch times allow 21.9 to 24.1.
    finds(ARMS STATEMENTS "  - {kind: slower, by_percent: 24.5, of: b, than: a, basis: batch_ms}\n",
          FINDING_ARITHMETIC, "stated 24.5 %", NULL);
#define PAIR \
    "rows: [{name: a, seconds_per_epoch: 3.29}, {name: b, seconds_per_epoch: 1.80}]\n" STATEMENTS
    clean(HEAD PAIR "  - {kind: speedup, ratio: 1.83, of: b, than: a}\n");
    clean(HEAD PAIR "  - {kind: speedup, ratio: 1.8, of: b, than: a}\n");
    clean(HEAD PAIR "  - {kind: speedup, ratio: ~2, of: b, than: a}\n");
    // 1.83 rounds to 2 as well as to 1.8.
    clean(HEAD PAIR "  - {kind: speedup, ratio: 2, of: b, than: a}\n");
    finds(HEAD PAIR "  - {kind: speedup, ratio: 2.0, of: b, than: a}\n", FINDING_ARITHMETIC,
          "3.29 / 1.80 s per epoch: 1.83 times as fast, stated 2.0: 9.4 % more", NULL);
}

static void several_figures_for_one_quantity(void **state) {
    (void)state;
#define TWO_BASES                                                   \
    HEAD "common: {epochs: 2, devices: 1}\n"                        \
         "rows: [{name: a, batch_ms: 10.0, total_seconds: 100.0}, " \
         "{name: b, batch_ms: 20.0, total_seconds: 110.0}]\n" STATEMENTS
    finds(TWO_BASES "  - {kind: slower, by_percent: 10, of: b, than: a}\n", FINDING_ARITHMETIC,
          "110.0 / 100.0 s in total = 1.1", "20.0 / 10.0 ms per batch = 2");
    result r = audited(TWO_BASES "  - {kind: slower, by_percent: 10, of: b, than: a}\n"
                                 "  - {kind: faster, by_percent: 100, of: a, than: b}\n");
    assert_int_equal(r.kinds[FINDING_ARITHMETIC], 2);
    assert_non_null(strstr(r.text, "two figures for the same thing"));
    assert_non_null(strstr(r.text, "that is 1.1 and 2 times the time"));
    free(r.text);
    // If the epochs differ, totals and batches may well differ; each statement counts by its basis.
    r = audited(HEAD "rows: [{name: a, epochs: 1, batch_ms: 10.0, total_seconds: 100.0}, "
                     "{name: b, epochs: 2, batch_ms: 10.0, total_seconds: 200.0}]\n" STATEMENTS
                     "  - {kind: slower, ratio: 2.0, of: b, than: a, basis: total_seconds}\n"
                     "  - {kind: slower, ratio: 1.0, of: b, than: a, basis: batch_ms}\n");
    assert_int_equal(r.count, 0);
    free(r.text);
}

static void noise(void **state) {
    (void)state;
#define ACCURACIES(x, y) \
    "rows: [{name: a, accuracy: " x "}, {name: b, accuracy: " y "}]\n" STATEMENTS
#define TESTED HEAD "common: {test_samples: 10000}\n"
    finds(TESTED ACCURACIES(
              "87.36", "87.74") "  - {kind: accuracy_difference, points: 0.38, of: b, than: a}\n",
          FINDING_UNSUPPORTED,
          "87.74 - 87.36 = 0.38 points of 10000 test samples: z = 0.81, p = 0.42", NULL);
    clean(TESTED ACCURACIES("87.36", "87.74") "  - {kind: same_accuracy, of: b, than: a}\n");
    clean(TESTED ACCURACIES(
        "87.36", "89.36") "  - {kind: accuracy_difference, points: 2, of: b, than: a}\n");
    finds(TESTED ACCURACIES("87.36", "89.36") "  - {kind: same_accuracy, of: b, than: a}\n",
          FINDING_UNSUPPORTED, "not equal in accuracy", "z = 4.4");
    finds(TESTED ACCURACIES(
              "87.36", "89.36") "  - {kind: accuracy_difference, points: 3.00, of: b, than: a}\n",
          FINDING_ARITHMETIC, "89.36 - 87.36 = 2 points, stated 3.00", NULL);
    finds(HEAD ACCURACIES("87.36", "87.74") "  - {kind: accuracy_difference, of: b, than: a}\n",
          FINDING_UNSUPPORTED, "the number of test samples is not given", NULL);
    finds(HEAD "rows: [{name: a, accuracy: 87.36}, {name: b}]\n" STATEMENTS
               "  - {kind: accuracy_difference, of: b, than: a}\n",
          FINDING_UNSUPPORTED, "the rows do not give both accuracies", NULL);
}

static void arms_that_differ(void **state) {
    (void)state;
#define UNLIKE(x, y)                                                       \
    HEAD "rows: [{name: a, devices: 1, total_seconds: 20.0, " x "}, "      \
         "{name: b, devices: 2, total_seconds: 10.0, " y "}]\n" STATEMENTS \
         "  - {kind: speedup, ratio: 2.0, of: b, than: a}\n"
    clean(UNLIKE("lr: 0.1", "lr: 0.1"));
    finds(UNLIKE("loader_workers: 0", "loader_workers: 4"), FINDING_CONDITIONS,
          "loader workers: 4 and 0", NULL);
    finds(UNLIKE("epochs: 10", "epochs: 20"), FINDING_CONDITIONS, "epochs: 20 and 10",
          "in total: 10 s; 20 s");
    finds(UNLIKE("batch: 64, lr: 0.1", "batch: 256, lr: 0.1"), FINDING_CONDITIONS,
          "with the same learning rate", "0.1 x 4 = 0.4 for 'b'");
    finds(UNLIKE("batch: 64, lr: 0.1", "batch: 256, lr: 0.4"), FINDING_CONDITIONS,
          "differ in the global batch\n", "256 / 64 = 4");
    finds(UNLIKE("batch: 64, samples: 640, epochs: 2", "batch: 128, samples: 640, epochs: 2"),
          FINDING_CONDITIONS, "'a': 10 steps/epoch x 2 epochs = 20 updates", NULL);
    finds(UNLIKE("lr: 0.1", "lr: 0.2"), FINDING_CONDITIONS, "the learning rate: 0.2 and 0.1", NULL);
    finds(UNLIKE("device: T4", "device: H100"), FINDING_CONDITIONS, "the device: 'H100' and 'T4'",
          NULL);
    finds(UNLIKE("batch: 64", "batch: 64, strategy: ddp"), FINDING_UNSUPPORTED,
          "64 per step, or 64 x 2 = 128", NULL);
    finds(UNLIKE("batch: 64", "lr: 0.1, batch: 64"), FINDING_UNSUPPORTED,
          "only one of them gives the learning rate", "'b': 0.1; 'a': not given");
}

// A single difference in conditions is the subject of the comparison.
static void one_difference_is_the_subject(void **state) {
    (void)state;
#define WORKERS(x, y)                                                           \
    HEAD "rows: [{name: a, loader_workers: 0, total_seconds: 20.0" x "}, "      \
         "{name: b, loader_workers: 4, total_seconds: 10.0" y "}]\n" STATEMENTS \
         "  - {kind: faster, of: b, than: a}\n"
    clean(WORKERS("", ""));
    result r = audited(WORKERS(", augment: affine", ", augment: none"));
    assert_int_equal(r.kinds[FINDING_CONDITIONS], 2);
    free(r.text);
}

static void the_like_for_like_comparison_is_named(void **state) {
    (void)state;
    finds(HEAD "rows:\n"
               "  - {name: base, devices: 1, loader_workers: 0, total_seconds: 73}\n"
               "  - {name: fed, devices: 1, loader_workers: 4, total_seconds: 18.47}\n"
               "  - {name: many, devices: 8, loader_workers: 4, total_seconds: 26.1}\n" STATEMENTS
               "  - {kind: speedup, ratio: 2.8, of: many, than: base}\n",
          FINDING_CONDITIONS,
          "like for like, compared with 'fed': 18.47 / 26.1 s = 0.71 times as fast",
          "the speed-up comes from loader workers");
}

static void overhead(void **state) {
    (void)state;
    finds(ARMS STATEMENTS "  - {kind: overhead, ms: 1.1, of: b, than: a}\n", FINDING_ARITHMETIC,
          "12.3 - 10.0 = 2.3 ms per batch, stated 1.1 ms: 1.2 ms unexplained", NULL);
    finds(HEAD "rows: [{name: a}, {name: b}]\n" STATEMENTS
               "  - {kind: overhead, ms: 1.1, of: b, than: a}\n",
          FINDING_UNSUPPORTED, "the rows give no time per batch", NULL);
}

static void projections(void **state) {
    (void)state;
#define PROJECTED                                                                    \
    HEAD "rows: [{name: a, batch_ms: 20.0}, {name: b, batch_ms: 40.0}]\n" STATEMENTS \
         "  - {kind: projection, of: b, than: a, devices: 4, "
    finds(PROJECTED "batch_ms: 10.0, ratio: 2.0}\n", FINDING_UNSUPPORTED,
          "40.0 / 4 = 10 ms per batch, stated 10.0: nothing is left", NULL);
    finds(PROJECTED "ratio: 2.0}\n", FINDING_UNSUPPORTED, "without communication", NULL);
    clean(PROJECTED "batch_ms: 12.5, communication_ms: 2.5, ratio: 1.6}\n");
    finds(PROJECTED "batch_ms: 13.5, communication_ms: 2.5}\n", FINDING_ARITHMETIC,
          "40.0 / 4 = 10 ms, stated 13.5 ms", NULL);
    finds(PROJECTED "batch_ms: 12.5, communication_ms: 2.5, ratio: 2.0}\n", FINDING_ARITHMETIC,
          "20.0 / 12.5 ms per batch = 1.6, stated 2.0", NULL);
}

static void effective_batches(void **state) {
    (void)state;
#define REPLICAS(strategy)                                                                \
    HEAD "rows: [{name: a, devices: 2, batch: 128, strategy: " strategy "}]\n" STATEMENTS \
         "  - {kind: effective_batch, batch: 256, of: a}\n"
    finds(REPLICAS("dp"), FINDING_ARITHMETIC, "128 / 2 = 64 on each device",
          "stated 256: 2 times more");
    clean(REPLICAS("ddp"));
    finds(HEAD "rows: [{name: a, devices: 2, strategy: dp}]\n" STATEMENTS
               "  - {kind: effective_batch, batch: 256, of: a}\n",
          FINDING_UNSUPPORTED, "'a': its effective batch cannot be computed",
          "the row has no batch\n    so the statement cannot be checked\n");
    finds(HEAD "rows: [{name: a, strategy: dp, devices: 2, batch: 128, global_batch: 256}]\n",
          FINDING_ARITHMETIC, "128 per step, stated 256", NULL);
    finds(HEAD "rows: [{name: a, strategy: ddp, devices: 4, batch: 64, global_batch: 128}]\n",
          FINDING_ARITHMETIC, "64 per rank x 4 ranks = 256 per step, stated 128", NULL);
}

static void code(void **state) {
    (void)state;
    finds(ARMS STATEMENTS "  - {kind: code, epochs: 25}\n", FINDING_UNSUPPORTED,
          "code: epochs 25; text, 'a': 10", "code: epochs 25; text, 'b': 10");
    finds(ARMS STATEMENTS "  - {kind: code, needs_devices: 2, of: a}\n", FINDING_UNSUPPORTED,
          "needs 2 devices, ran on 1", NULL);
}

static void figures_without_a_source(void **state) {
    (void)state;
    finds(HEAD "common: {measured: false}\nrows: [{name: a, accuracy: [78, 82]}, {name: b}]\n",
          FINDING_UNSUPPORTED, "'a', 'b' expected, never measured", "2 of 2 rows");
    finds(HEAD "rows: [{name: a, total_seconds: 10, source: none}, {name: b, source: a paper}]\n",
          FINDING_UNSUPPORTED, "'a' quoted without a source", "1 of 2 rows");
    finds(HEAD "rows: [{name: a, devices: 1}, {name: b, devices: 8}]\n" STATEMENTS
               "  - {kind: speedup, ratio: ~3, of: b, than: a, source: none}\n",
          FINDING_UNSUPPORTED, "the rows do not give the times", "no source is named either");
#define UNTIMED(source)                                                      \
    HEAD "rows: [{name: a, devices: 1}, {name: b, devices: 8}]\n" STATEMENTS \
         "  - {kind: speedup, ratio: ~3, of: b, than: a" source "}\n"
    finds(UNTIMED(", source: a paper"), FINDING_UNSUPPORTED, "0.38 of the ideal speed-up",
          "so it depends on its source alone\n");
    finds(UNTIMED(""), FINDING_UNSUPPORTED, "'b' ~3 times as fast as 'a'",
          "so it cannot be checked\n");
    finds(HEAD "rows: [{name: a}, {name: simulated-dp}]\n" STATEMENTS
               "  - {kind: slower, of: simulated-d, than: a}\n",
          FINDING_UNSUPPORTED,
          "'simulated-d' is not among the 2 rows: the nearest is 'simulated-dp'", NULL);
}

// Rounding, "about" and one cause among several are not faults.
static void about_is_not_a_finding(void **state) {
    (void)state;
    clean(ARMS STATEMENTS "  - {kind: slower, by_percent: ~24.9, of: b, than: a, basis: batch_ms}\n"
                          "  - {kind: part, ms: ~1.1, of: b, than: a}\n");
    finds(ARMS STATEMENTS "  - {kind: part, ms: 2.5, of: b, than: a}\n", FINDING_ARITHMETIC,
          "12.3 - 10.0 = 2.3 ms per batch, stated 2.5 ms: 0.2 ms too much", NULL);
    // Two times, each with its own figure, are compared by the rows alone.
    clean(ARMS STATEMENTS
          "  - {kind: slower, by_percent: 23.4, of: b, than: a, basis: total_seconds}\n"
          "  - {kind: slower, by_percent: 24, of: b, than: a, basis: seconds_per_epoch}\n");
}

static void differences_are_arithmetic(void **state) {
    (void)state;
    clean(ARMS STATEMENTS "  - {kind: difference, of: b, than: a, accuracy: 2.00, batch_ms: 2.3}\n"
                          "  - {kind: difference, of: a, than: b, total_seconds: -11.7}\n");
    // A small difference that is not asserted needs no test for chance.
    clean(HEAD "common: {test_samples: 10000}\n"
               "rows: [{name: a, accuracy: 87.36}, {name: b, accuracy: 87.74}]\n" STATEMENTS
               "  - {kind: difference, of: b, than: a, accuracy: 0.38}\n");
    finds(ARMS STATEMENTS "  - {kind: difference, of: b, than: a, total_seconds: 12.7}\n",
          FINDING_ARITHMETIC, "total_seconds: 61.7 - 50.0 = 11.7, stated 12.7", NULL);
    refuses(ARMS STATEMENTS "  - {kind: difference, of: b, than: a}\n", "needs a figure");
}

// Several rows with one name: the two that are furthest apart represent them all.
static void rows_with_the_same_name(void **state) {
    (void)state;
#define ALIKE                                                                                \
    HEAD "common: {test_samples: 10000, where: table 2}\n"                                   \
         "rows: [{name: single, accuracy: 65.39}, {name: dp, accuracy: 66.80}, {name: ddp, " \
         "accuracy: 64.16}]\n" STATEMENTS
    // By hand: 0.0264 / sqrt(0.6548 * 0.3452 * 2 / 10000) = 3.926.
    finds(ALIKE "  - {kind: same_accuracy, of: [single, dp, ddp], where: section 4}\n",
          FINDING_UNSUPPORTED,
          "'ddp' and 'dp' are not equal in accuracy\n    section 4; 'ddp', "
          "'dp': table 2\n",
          "64.16 - 66.80 = -2.64 points of 10000 test samples: z = -3.93, p = 8.6e-05");
    finds(ALIKE "  - {kind: same_accuracy, of: [dp, ddp]}\n", FINDING_UNSUPPORTED,
          "(conservative); it excludes the variance between seeds", NULL);
    clean(ALIKE "  - {kind: same_accuracy, of: [single, ddp]}\n");
    refuses(ALIKE "  - {kind: same_accuracy, of: [single]}\n", "expected a list");
    // The batch preparation does not affect an accuracy.
    clean(HEAD "common: {test_samples: 10000}\n"
               "rows: [{name: a, strategy: single, accuracy: 99.19, loader_workers: 0}, {name: b, "
               "strategy: ddp, accuracy: 98.93, loader_workers: 4}]\n" STATEMENTS
               "  - {kind: same_accuracy, of: [a, b]}\n");
}

// A report's own remark is shown with its answer, and does not count.
static void remarks_of_the_report(void **state) {
    (void)state;
#define FAST                                                                                \
    HEAD "common: {where: table 1}\n"                                                       \
         "rows: [{name: a, devices: 1, loader_workers: 0, total_seconds: 20.0}, {name: b, " \
         "devices: 2, loader_workers: 4, total_seconds: 10.0}]\n" STATEMENTS                \
         "  - {kind: faster, of: b, than: a, where: section 4}\n"
#define SAYS "  - {kind: says, about: loader_workers, of: b, where: section 5, note: they did it}\n"
    result r = audited(FAST SAYS);
    assert_int_equal(r.kinds[FINDING_STATED], 1);
    assert_int_equal(r.kinds[FINDING_CONDITIONS], 0);
    assert_non_null(strstr(r.text, "made-up: stated by the report itself: 'b' and 'a' differ in "
                                   "loader workers\n    section 4; 'b', 'a': table 1\n"));
    assert_non_null(strstr(r.text, "    the report states this itself (section 5): they did it\n"));
    free(r.text);
    // A remark about other rows, or about something else, is not an answer.
    finds(FAST "  - {kind: says, about: [epochs, lr], of: b}\n", FINDING_CONDITIONS, "differ in",
          NULL);
    finds(HEAD "rows: [{name: a, devices: 1, loader_workers: 0, total_seconds: 20.0}, {name: b, "
               "devices: 2, loader_workers: 4, total_seconds: 10.0}, {name: c}]\n" STATEMENTS
               "  - {kind: faster, of: b, than: a}\n"
               "  - {kind: says, about: loader_workers, of: c}\n",
          FINDING_CONDITIONS, "differ in loader workers", NULL);
    r = audited(FAST "  - {kind: says, about: loader_workers, of: d}\n");
    assert_int_equal(r.kinds[FINDING_CONDITIONS], 1);
    assert_int_equal(r.kinds[FINDING_UNSUPPORTED], 1); // there is no 'd'
    free(r.text);
}

static void speed_ups_of_rows(void **state) {
    (void)state;
#define COLUMN(x)                                                                            \
    HEAD "common: {over: one}\nrows: [{name: one, seconds_per_epoch: 100, speed_up: 1.00}, " \
         "{name: two, seconds_per_epoch: [55, 65], speed_up: " x "}]\n"
    clean(COLUMN("[~1.5, 1.8]"));
    finds(COLUMN("2.5"), FINDING_ARITHMETIC, "stated 2.5", NULL);
    refuses(HEAD "rows: [{name: one, speed_up: 2}]\n", "'over' is missing");
    // The same with expectations: they are one finding, and none more for each.
    finds(HEAD "common: {over: one, measured: false}\n"
               "rows: [{name: one, speed_up: 1}, {name: two, speed_up: 1.8}]\n",
          FINDING_UNSUPPORTED, "'one', 'two' expected, never measured", NULL);
}

static void lists_of_figures(void **state) {
    (void)state;
#define EPOCHS(total) \
    HEAD "rows: [{name: a, epoch_seconds: [3.08, 2.61, 2.44], total_seconds: " total "}]\n"
    clean(EPOCHS("8.13"));
    finds(EPOCHS("7.13"), FINDING_ARITHMETIC, "the sum of 3 epochs = 8.13 s, stated 7.13 s", NULL);
#define CLASSES(accuracy)                                                                 \
    HEAD "rows: [{name: a, class_accuracies: [90.00, 50.00], class_samples: [300, 100], " \
         "utilization: [[40, 60]], accuracy: " accuracy "}]\n"
    clean(CLASSES("80.00"));
    finds(CLASSES("70.00"), FINDING_ARITHMETIC, "400 samples of 2 classes: 80.00 %, stated 70.00",
          NULL);
    clean(HEAD "rows: [{name: a, load_seconds_per_step: 0.0064, update_seconds_per_step: "
               "0.0011}]\n" STATEMENTS "  - {kind: load_to_update, ratio: 6, of: a}\n");
    finds(HEAD "rows: [{name: a, load_seconds_per_step: 0.0064, update_seconds_per_step: "
               "0.0011}]\n" STATEMENTS "  - {kind: load_to_update, ratio: 8, of: a}\n",
          FINDING_ARITHMETIC, "0.0064 / 0.0011 = 5.82, stated 8", NULL);
    finds(HEAD "rows: [{name: a, load_seconds_per_step: 0.0064}]\n" STATEMENTS
               "  - {kind: load_to_update, ratio: 8, of: a}\n",
          FINDING_UNSUPPORTED, "'a': the times of load and update are not given", NULL);
}

static void chinese(void **state) {
    (void)state;
    result r = audit_in(CHINESE, HEAD "rows: [{name: a, strategy: dp, devices: 2, batch: 128, "
                                      "global_batch: 256}]\n");
    assert_string_equal(r.text, "made-up：算术错误：“a”：批量与全局批量不符\n"
                                "    批量 128 由各设备分摊：每步 128，报告称 256\n"
                                "    因此，更新次数和每样本的学习率与报告所称的不同\n");
    free(r.text);
    // In a language with another word order.
    r = audit_in(CHINESE, ARMS STATEMENTS "  - {kind: slower, by_percent: 50, of: b, than: a}\n");
    assert_non_null(strstr(r.text, "“b”比“a”慢 50 %：由各行得出的数字不同"));
    assert_non_null(strstr(r.text, "12.3 / 10.0 ms（每批）：慢 23 %，报告称 50 %"));
    free(r.text);
}

// The last line of the tool.
static void counts(language l, const size_t kinds[FINDING_KINDS], size_t claims,
                   const char *expected) {
    text out = {0};
    error err = {0};
    if (findings_print_tally(templates[l], kinds, claims, &out, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_string_equal(text_string(&out), expected);
    text_release(&out);
}

static void tally(void **state) {
    (void)state;
    counts(ENGLISH, (const size_t[FINDING_KINDS]){0}, 1, "1 claim: no findings\n");
    const size_t kinds[FINDING_KINDS] = {2, 0, 1, 2, 1};
    counts(ENGLISH, kinds, 3,
           "3 claims: 3 findings (2 arithmetic errors, 1 unsupported statement); 2 stated by the "
           "reports themselves; 1 remark\n");
    counts(CHINESE, kinds, 3,
           "3 份声明：3 个问题（2 处算术错误、1 处缺乏依据）；另有 2 个报告自己已说明；另有 1 "
           "条说明\n");
    const size_t unlike[FINDING_KINDS] = {1, 1, 0, 0};
    counts(ENGLISH, unlike, 1, "1 claim: 2 findings (1 arithmetic error, 1 unlike arms)\n");
}

// ---- Sentences ---------------------------------------------------------------------------------

#define WRONG_TOTAL \
    HEAD "rows: [{name: %s, epochs: 10, seconds_per_epoch: 10.0, total_seconds: 9}]\n"

// Audits a claim whose row has this name, and writes the finding with these templates.
static status print_finding_of(const char *name, page_templates *t, text *out, error *err) {
    char yaml[512];
    claim c = {0};
    findings a = {0};
    snprintf(yaml, sizeof yaml, WRONG_TOTAL, name);
    assert_int_equal(claim_read_text(yaml, "t.yaml", &c, err), STATUS_OK);
    audit_run(&a, &c);
    const status rc = findings_print(t, &a, out, err);
    findings_release(&a);
    claim_release(&c);
    return rc;
}

// Reads the sentences of a language; text_release() them.
static text sentences_of(language l) {
    char path[64], *content;
    size_t bytes;
    error err = {0};
    text all = {0};
    snprintf(path, sizeof path, "%s/audit.md", folders[l]);
    if (zreader_read_file(path, 1 << 20, &content, &bytes, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    text_append(&all, content);
    free(content);
    return all;
}

static void a_finding_without_a_template_fails(void **state) {
    (void)state;
    for (int l = 0; l < LANGUAGES; l++) {
        page_templates *t;
        text lacking = sentences_of((language)l), out = {0};
        error err = {0};
        text_replace(&lacking, "{{define epochs_not_total}}", "{{define another}}");
        write_file("audit.md", text_string(&lacking));
        assert_int_equal(page_templates_open_folder(&t, folders[l], folder, &err), STATUS_OK);
        assert_int_equal(print_finding_of("a", t, &out, &err), STATUS_INPUT);
        if (!strstr(err.message, "no template defines 'audit.epochs_not_total'"))
            fail_msg("%s", err.message);
        page_templates_close(t);
        text_release(&lacking);
        text_release(&out);
    }
}

// After all others: each template was filled by one of them, in both languages.
static void every_sentence_is_said(void **state) {
    static const char *const frame[] = {"head", "no_findings", "reasons", "tally"};
    (void)state;
    for (int l = 0; l < LANGUAGES; l++) {
        text all = sentences_of((language)l), missing = {0};
        for (const char *at = text_string(&all); (at = strstr(at, "{{define "));) {
            char name[64], id[80], used[80];
            at += strlen("{{define ");
            snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "}"), at);
            snprintf(id, sizeof id, " %s ", name);
            snprintf(used, sizeof used, "\"audit.%s\"", name);
            bool found = strstr(text_string(&said), id) || strstr(text_string(&all), used);
            for (size_t i = 0; i < sizeof frame / sizeof *frame; i++)
                found |= strcmp(frame[i], name) == 0;
            if (!found) text_format(&missing, " %s", name);
        }
        if (missing.length) fail_msg("%s: no finding has%s", folders[l], text_string(&missing));
        text_release(&all);
    }
}

// Text of strangers is shown as it is, but for what a terminal would obey.
static void names_are_text(void **state) {
    (void)state;
    text out = {0};
    error err = {0};
    assert_int_equal(print_finding_of("\"*a*|<b>\\u202e\\u009b\"", templates[ENGLISH], &out, &err),
                     STATUS_OK);
    assert_non_null(strstr(text_string(&out), "error: '*a*|<b>?"
                                              "?': its epochs"));
    text_release(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_cover_the_values_that_round_to_them),
        cmocka_unit_test(numbers_have_units),
        cmocka_unit_test(other_forms_are_refused_with_the_right_one),
        cmocka_unit_test(intervals),
        cmocka_unit_test(proportions),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(common_values_apply_to_all_rows),
        cmocka_unit_test(consistent_claims_have_no_findings),
        cmocka_unit_test(rounding_and_dropped_batches_are_not_findings),
        cmocka_unit_test(rounded_figures_have_no_findings_but_errors_do),
        cmocka_unit_test(efficiencies),
        cmocka_unit_test(throughputs_of_each_device),
        cmocka_unit_test(more_than_the_devices_explain),
        cmocka_unit_test(honest_tables_have_no_findings),
        cmocka_unit_test(scaled_ddp_is_consistent),
        cmocka_unit_test(rows_that_state_everything),
        cmocka_unit_test(statements_about_rows_that_state_everything),
        cmocka_unit_test(ratios_of_rows_that_state_everything),
        cmocka_unit_test(terms_that_explain_a_time),
        cmocka_unit_test(times_that_do_not_add_up),
        cmocka_unit_test(load_and_update),
        cmocka_unit_test(arms_that_imply_different_batches),
        cmocka_unit_test(impossible_accuracies),
        cmocka_unit_test(percentages_and_ratios),
        cmocka_unit_test(several_figures_for_one_quantity),
        cmocka_unit_test(noise),
        cmocka_unit_test(arms_that_differ),
        cmocka_unit_test(one_difference_is_the_subject),
        cmocka_unit_test(the_like_for_like_comparison_is_named),
        cmocka_unit_test(overhead),
        cmocka_unit_test(projections),
        cmocka_unit_test(effective_batches),
        cmocka_unit_test(code),
        cmocka_unit_test(figures_without_a_source),
        cmocka_unit_test(about_is_not_a_finding),
        cmocka_unit_test(differences_are_arithmetic),
        cmocka_unit_test(rows_with_the_same_name),
        cmocka_unit_test(remarks_of_the_report),
        cmocka_unit_test(speed_ups_of_rows),
        cmocka_unit_test(lists_of_figures),
        cmocka_unit_test(chinese),
        cmocka_unit_test(tally),
        cmocka_unit_test(a_finding_without_a_template_fails),
        cmocka_unit_test(names_are_text),
        cmocka_unit_test(every_sentence_is_said),
    };
    return cmocka_run_group_tests(tests, open_templates, close_templates);
}
