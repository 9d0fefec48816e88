// SPDX-License-Identifier: MIT
#include "pipeline/tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/filter.h"
#include "pipeline/child.h"

status tool_program(const pipeline *p, const strvec *command, strvec *program, error *err) {
    strvec_format(program, "%s/%s", p->bin, command->items[0]);
    const char *path = program->items[program->count - 1];
    const int reason = filter_search(path);
    if (reason == ENOENT)
        return error_set(err, STATUS_FAILED, "cannot run: '%s' is not built", path);
    if (reason) return error_system(err, STATUS_FAILED, reason, "cannot run: '%s'", path);
    for (size_t i = 1; i < command->count; i++) strvec_add(program, command->items[i]);
    return STATUS_OK;
}

status tool_output(const pipeline *p, const strvec *command, char **answer, error *err) {
    strvec program = {0};
    status rc = tool_program(p, command, &program, err);
    if (answer) *answer = NULL;
    if (rc == STATUS_OK) rc = child_output(&program, answer, err);
    strvec_release(&program);
    return rc;
}

status tool_run_quietly(const pipeline *p, const char *folder, const strvec *command, error *err) {
    strvec program = {0};
    status rc = tool_program(p, command, &program, err);
    if (rc == STATUS_OK) rc = child_run_quietly(folder, &program, err);
    strvec_release(&program);
    return rc;
}

// ---- Asking ----

// Must the tool look for GPUs? Only the arithmetic of --math fast depends on the kind of device.
static bool looks_for_devices(const strvec *command) {
    const char *device = strvec_option_value(command, "--device");
    const char *math = strvec_option_value(command, "--math");
    return math && strcmp(math, "fast") == 0 && (!device || strcmp(device, "auto") == 0);
}

static status ask_here(cli_function *tool, const strvec *command, char **answer, error *err) {
    size_t length = 0;
    FILE *answers = open_memstream(answer, &length);
    if (!answers) return error_set(err, STATUS_FAILED, "out of memory");
    // Tools begin with an empty error: what the caller tried in vain is none of theirs.
    error failure = {0};
    status rc = tool((int)command->count, command->items, answers, &failure);
    fclose(answers);
    while (length && (*answer)[length - 1] == '\n') (*answer)[--length] = 0;
    if (rc == STATUS_OK) return rc;
    free(*answer);
    *answer = NULL;
    *err = failure;
    return rc;
}

// CUDA, once opened, would not survive the forks of this process.
status tool_ask(const pipeline *p, const strvec *command, char **answer, error *err) {
    cli_function *tool = p->find_tool ? p->find_tool(command->items[0]) : NULL;
    return tool && !looks_for_devices(command) ? ask_here(tool, command, answer, err)
                                               : tool_output(p, command, answer, err);
}

void tool_complain(const strvec *command, error *err) {
    log_error(&(logger){.tool = command->items[0], .level = LOG_NORMAL}, err);
}

// ---- Keys ----

// `device` is added as --device; NULL: none.
static status query_key(const pipeline *p, const strvec *command, const char *device, char **key,
                        error *err) {
    strvec question = {0};
    strvec_add_all(&question, command);
    strvec_add_option(&question, "--device", device);
    strvec_add(&question, "--print-key");
    status rc = tool_ask(p, &question, key, err);
    if (rc != STATUS_OK) tool_complain(command, err);
    strvec_release(&question);
    return rc;
}

// Only for `auto` must a tool look for GPUs, and CUDA is slow to start: so the first result is used
// for the whole call. Comparing keys shows which kind it was, since the key for `cuda` needs no
// search.
static status automatic_key(pipeline *p, const strvec *command, char **key, error *err) {
    char *on_gpu = NULL;
    status rc = query_key(p, command, p->automatic ? p->automatic : "auto", key, err);
    if (rc != STATUS_OK || p->automatic) return rc;
    rc = query_key(p, command, "cuda", &on_gpu, err);
    if (rc == STATUS_OK) p->automatic = strcmp(*key, on_gpu) == 0 ? "cuda" : "cpu";
    free(on_gpu);
    return rc;
}

status tool_key(pipeline *p, const strvec *command, char key[SHA256_TEXT_BYTES], error *err) {
    char *answer = NULL;
    status rc = looks_for_devices(command) ? automatic_key(p, command, &answer, err)
                                           : query_key(p, command, NULL, &answer, err);
    if (rc == STATUS_OK) snprintf(key, SHA256_TEXT_BYTES, "%s", answer);
    free(answer);
    return rc;
}
