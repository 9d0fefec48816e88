// SPDX-License-Identifier: MIT
// Progress lines fit the terminal, and a log gets only a few of them.
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/progress.h"
#include "train/training_progress.h"

static const uint64_t SECOND = 1000000000;

// ---- Lines ----

static const progress_parts training = {.tool = "train-single",
                                        .head = "epoch 3/10",
                                        .tail = "1 h 49 min left",
                                        .extras = {"loss 1.2345", "12345 images/s"},
                                        .share = 0.5};

static void fits(int columns, const char *expected) {
    char line[PROGRESS_LINE_BYTES];
    progress_compose(&training, columns, line);
    assert_string_equal(line, expected);
    assert_true((int)strlen(line) <= columns);
}

static void lines_are_shortened(void **state) {
    (void)state;
    fits(120, "train-single: epoch 3/10 [############            ]  1 h 49 min left  loss 1.2345  "
              "12345 images/s");
    fits(79, "train-single: epoch 3/10 [###########           ]  1 h 49 min left  loss 1.2345");
    fits(59, "train-single: epoch 3/10 [########       ]  1 h 49 min left");
    fits(39, "epoch 3/10 [#####    ]  1 h 49 min left");
    fits(30, "epoch 3/10  1 h 49 min left");
    fits(12, "epoch 3/10  ");
    fits(0, "");
}

static void lines_always_fit(void **state) {
    (void)state;
    progress_parts p = training;
    char line[PROGRESS_LINE_BYTES];
    for (int columns = 0; columns < 300; columns++)
        for (int share = -1; share <= 4; share++) {
            p.share = share / 4.0;
            progress_compose(&p, columns, line);
            assert_true((int)strlen(line) <= columns);
        }
}

// ---- A job on a terminal ----

// Replaces standard error by a terminal of 40 columns; returns the other end.
static int open_terminal(int *before) {
    const struct winsize size = {.ws_row = 10, .ws_col = 40};
    const int other = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(other >= 0 && grantpt(other) == 0 && unlockpt(other) == 0);
    const int side = open(ptsname(other), O_RDWR | O_NOCTTY);
    assert_true(side >= 0 && ioctl(side, TIOCSWINSZ, &size) == 0);
    *before = dup(STDERR_FILENO);
    assert_true(*before >= 0 && dup2(side, STDERR_FILENO) >= 0);
    close(side);
    return other;
}

// Reads the bytes that it received. A mark at the end shows that all have arrived.
static void close_terminal(int other, int before, char *text, size_t room) {
    static const char mark[] = "END";
    size_t used = 0;
    assert_int_equal(write(STDERR_FILENO, mark, sizeof mark - 1), sizeof mark - 1);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    *text = '\0';
    while (!strstr(text, mark)) {
        const ssize_t got = read(other, text + used, room - 1 - used);
        assert_true(got > 0);
        used += (size_t)got;
        text[used] = '\0';
    }
    *strstr(text, mark) = '\0';
    close(before);
    close(other);
}

static void a_job_shows_one_line_and_clears_it(void **state) {
    (void)state;
    const logger log = {"test", LOG_NORMAL}, quiet = {"test", LOG_QUIET};
    char text[1024];
    int before, other = open_terminal(&before);
    progress p, silent;
    progress_begin(&p, &log, "evaluating", "images");
    progress_begin(&silent, &quiet, "evaluating", "images");
    progress_show(&p, 10, 60); // just begun
    p.began -= 10 * SECOND;
    silent.began -= 10 * SECOND;
    progress_show(&p, 30, 60);
    progress_show(&p, 31, 60); // too soon after the last one
    progress_show(&silent, 30, 60);
    progress_show(NULL, 30, 60);
    progress_end(&p);
    progress_end(&silent);
    close_terminal(other, before, text, sizeof text);
    assert_string_equal(text, "\revaluating [#####    ]  30 of 60 images\033[K\r\033[K");
}

// A terminal of 40 columns has no room for the loss. Epochs leave no line: the caller says what
// came out.
static void a_part_of_a_larger_job_has_its_name_there(void **state) {
    (void)state;
    const logger log = {"train-ddp", LOG_NORMAL};
    const epoch_figures figures = {1.5, 0.5, 2, false};
    char text[1024];
    int before, other = open_terminal(&before);
    training_progress p;
    setenv("LOCKSTEP_PLACE", "ddp4, run 2 of 3", 1);
    setenv("LOCKSTEP_SECONDS_AFTER", "60", 1);
    training_progress_begin(&p, &log, SECOND, 2, 10, 20, 0);
    training_progress_step(&p, 11 * SECOND, 10, 64, 2.25f);
    training_progress_epoch(&p, 11 * SECOND, 0, &figures);
    training_progress_end(&p);
    log_warn(&log, "a message replaces the line");
    unsetenv("LOCKSTEP_PLACE");
    unsetenv("LOCKSTEP_SECONDS_AFTER");
    close_terminal(other, before, text, sizeof text);
    assert_string_equal(text, "\repoch 1/2  10 s left, 1 min 10 s in all\033[K\r\033[K"
                              "\r\033[Ktrain-ddp: a message replaces the line\r\n");
}

// ---- A log ----

typedef struct told {
    int lines, epochs; // of finished epochs
    char text[1 << 16];
} told;

// Counts the lines of a run of `epochs` epochs of 500 steps that takes `seconds`, without a
// terminal.
static void run(int epochs, double seconds, log_level level, told *t) {
    const logger log = {"test", level};
    const uint64_t steps = 500, total = steps * (uint64_t)epochs;
    const epoch_figures figures = {1.5, 0.5, 2, false};
    char name[] = "/tmp/lockstep-progress-XXXXXX";
    training_progress p;
    int file = mkstemp(name), before = dup(STDERR_FILENO);
    assert_true(file >= 0 && before >= 0 && dup2(file, STDERR_FILENO) >= 0);
    training_progress_begin(&p, &log, SECOND, epochs, steps, total, 0);
    for (uint64_t step = 1; step <= total; step++) {
        const uint64_t now = SECOND + (uint64_t)(seconds * 1e9 * (double)step / (double)total);
        training_progress_step(&p, now, step, 64, 2.25f);
        if (step % steps == 0) training_progress_epoch(&p, now, (int)(step / steps) - 1, &figures);
    }
    training_progress_end(&p);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    unlink(name);
    *t = (told){0};
    const ssize_t bytes = pread(file, t->text, sizeof t->text - 1, 0);
    close(file);
    assert_true(bytes >= 0);
    for (const char *c = t->text; *c; c++) t->lines += *c == '\n';
    for (const char *c = t->text; (c = strstr(c, ": loss 1.5000")); c++) t->epochs++;
}

static void a_short_run_logs_its_start_and_end(void **state) {
    (void)state;
    told t;
    run(20, 3, LOG_NORMAL, &t);
    assert_string_equal(t.text, "test: epoch 1/20: loss 1.5000, test accuracy 0.5000, 2.00 s\n"
                                "test: epoch 20/20: loss 1.5000, test accuracy 0.5000, 2.00 s\n");
    run(20, 3, LOG_QUIET, &t);
    assert_string_equal(t.text, "");
}

static void a_long_run_logs_about_fifty_lines(void **state) {
    (void)state;
    told t;
    run(2500, 36000, LOG_NORMAL, &t); // short epochs
    assert_in_range(t.lines, 40, 60);
    assert_int_equal(t.lines, t.epochs);
    run(2, 36000, LOG_NORMAL, &t); // long ones
    assert_in_range(t.lines, 40, 60);
    assert_int_equal(t.epochs, 2);
    assert_non_null(strstr(t.text, "test: epoch 1/2, 4 %: loss 2.2500, 9 h 48 min left\n"));
    run(30, 36000, LOG_NORMAL, &t);
    assert_int_equal(t.epochs, 30);
    assert_in_range(t.lines, 30, 75);
    assert_null(strstr(t.text, "epoch 30/30: loss 1.5000, test accuracy 0.5000, 2.00 s,"));
    run(100, 60, LOG_NORMAL, &t); // a line every five seconds
    assert_in_range(t.lines, 10, 14);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_shortened),
        cmocka_unit_test(lines_always_fit),
        cmocka_unit_test(a_part_of_a_larger_job_has_its_name_there),
        cmocka_unit_test(a_job_shows_one_line_and_clears_it),
        cmocka_unit_test(a_short_run_logs_its_start_and_end),
        cmocka_unit_test(a_long_run_logs_about_fifty_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
