// SPDX-License-Identifier: MIT
#include "submission/verify_apart.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/printable.h"
#include "base/signals.h"
#include "base/text.h"
#include "pipeline/child.h"
#include "submission/verify.h"

typedef struct apart {
    pipeline *p;
    const char *archive, *kept;
    uint64_t choice;
    int64_t seconds;
    char *folder; // for temporary files, in that of the call
    pid_t parent, child;
    int answers[2]; // a pipe
    bool late;      // it was killed, as the time was over
    int ended;      // as waitpid says
} apart;

// ---- In the child ----

// {"status", "message", "done", "verification"}: the folders that stages have handled need not be
// looked at again for the next submission.
static char *answer_of(const apart *a, status rc, const error *why, const verification *v) {
    yaml_node *tree = yaml_new(YAML_MAPPING), *done = yaml_new(YAML_SEQUENCE);
    yaml_put(tree, "status", yaml_new_integer(rc));
    yaml_put(tree, "message", json_new_string(why->message));
    yaml_put(tree, "done", done);
    for (size_t i = 0; i < a->p->done.count; i++)
        yaml_append(done, json_new_string(a->p->done.items[i]));
    yaml_put(tree, "verification", verification_to_tree(v));
    char *answer = json_from_yaml(tree);
    yaml_free(tree);
    return answer;
}

static _Noreturn void become(apart *a) {
    error why = {0};
    verification v = {0};
    child_begin(a->parent);
    a->p->work.path = a->folder;
    char *real = realpath(a->folder, NULL);
    if (real) (void)setenv("TMPDIR", real, 1); // replay's folders go with ours
    const status rc = verify_archive(a->p, a->archive, a->kept, a->choice, &v, &why);
    char *answer = answer_of(a, rc, &why, &v);
    size_t length = strlen(answer), written = 0;
    while (written < length) {
        const ssize_t n = write(a->answers[1], answer + written, length - written);
        if (n < 0 && errno != EINTR) _exit(STATUS_FAILED);
        if (n > 0) written += (size_t)n;
    }
    fflush(NULL);
    _exit(STATUS_OK);
}

// ---- In the parent ----

static status start(apart *a, error *err) {
    a->parent = getpid();
    if (pipe2(a->answers, O_CLOEXEC))
        return error_system(err, STATUS_FAILED, errno, "cannot verify: '%s'", a->archive);
    fflush(NULL);
    a->child = fork();
    if (a->child == 0) become(a);
    const int reason = errno;
    close(a->answers[1]);
    if (a->child > 0) return STATUS_OK;
    close(a->answers[0]);
    return error_system(err, STATUS_FAILED, reason, "cannot verify: '%s'", a->archive);
}

// Reads until the child ends, or kills it when the time is over. Its tools end with it (child.h).
static void read_answer(apart *a, text *answer) {
    const uint64_t end = clock_now() + (uint64_t)a->seconds * 1000000000U;
    char buffer[4096];
    for (;;) {
        const uint64_t now = clock_now();
        struct pollfd ready = {.fd = a->answers[0], .events = POLLIN};
        a->late = now >= end;
        if (a->late) break;
        const int left = (int)((end - now) / 1000000U) + 1;
        if (poll(&ready, 1, left) <= 0) continue;
        const ssize_t n = read(a->answers[0], buffer, sizeof buffer);
        if (n > 0) text_bytes(answer, buffer, (size_t)n);
        if (n == 0 || (n < 0 && errno != EINTR)) break;
    }
    if (a->late) (void)kill(a->child, SIGKILL);
    close(a->answers[0]);
    while (waitpid(a->child, &a->ended, 0) < 0 && errno == EINTR) continue;
}

// The child ended without an answer.
static char *explain(const apart *a) {
    if (a->late)
        return memory_format("not verified within %lld s: TIME_LIMIT=%lld gives it more",
                             (long long)a->seconds, 2 * (long long)a->seconds);
    if (!WIFSIGNALED(a->ended))
        return memory_format("its verification failed, with exit code %d", WEXITSTATUS(a->ended));
    const char *known = sigabbrev_np(WTERMSIG(a->ended));
    return memory_format("its verification was ended by signal %d (SIG%s)", WTERMSIG(a->ended),
                         known ? known : "?");
}

static status take_answer(const apart *a, const yaml_node *tree, verification *v, error *err) {
    const status rc = (status)strtol(yaml_text_at(tree, "status"), NULL, 10);
    const char *message = yaml_text_at(tree, "message");
    const yaml_node *done = yaml_find(tree, "done");
    for (size_t i = 0; i < done->count; i++)
        if (!strvec_has(&a->p->done, done->items[i]->text))
            strvec_add(&a->p->done, done->items[i]->text);
    if (rc == STATUS_STOPPED) return error_set(err, rc, "%s", message);
    *v = verification_of_tree(yaml_find(tree, "verification"));
    if (rc != STATUS_OK) v->ungraded = memory_string(message);
    v->failed = v->failed || rc != STATUS_OK;
    return STATUS_OK;
}

static status wait_for(apart *a, verification *v, error *err) {
    text answer = {0};
    yaml_node *tree = NULL;
    status rc = STATUS_OK;
    read_answer(a, &answer);
    if (WIFSIGNALED(a->ended) && WTERMSIG(a->ended) == SIGINT) signals_end_process(SIGINT);
    if (json_to_yaml(text_string(&answer), "answer", &tree, NULL) == STATUS_OK)
        rc = take_answer(a, tree, v, err);
    else
        *v = (verification){
            .archive = memory_string(a->archive), .ungraded = explain(a), .failed = true};
    (void)printable(v->archive, true);
    yaml_free(tree);
    text_release(&answer);
    return rc;
}

status verify_apart(pipeline *p, const char *archive, const char *kept, uint64_t choice,
                    int64_t seconds, verification *v, error *err) {
    apart a = {.p = p, .archive = archive, .kept = kept, .choice = choice, .seconds = seconds};
    child_signals before;
    NEED(work_open(p, err));
    a.folder = memory_format("%s/apart", p->work.path);
    child_signals_ignore(&before); // the child's tools save first
    status rc = output_make_folder(a.folder, err);
    if (rc == STATUS_OK) rc = start(&a, err);
    if (rc == STATUS_OK) rc = wait_for(&a, v, err);
    child_signals_restore(&before);
    (void)!remove_tree(a.folder, NULL);
    free(a.folder);
    return rc;
}
