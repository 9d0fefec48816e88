// SPDX-License-Identifier: MIT
#include "submission/page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/paths.h"
#include "base/sha256.h"
#include "pipeline/store.h"
#include "pipeline/tool.h"

// The manifest records the command line: it names the test data by this link, not by their place.
static const char TEST_LINK[] = ".test.st.zst";

// ---- Options ----

// An option of `report`, and the parameter of its manifest that holds the value.
static const struct {
    const char *option, *parameter;
} options_kept[] = {{"--lang", "parameters.language"},
                    {"--title", "parameters.heading"},
                    {"--author", "parameters.author"},
                    {"--student", "parameters.student"}};

enum { OPTIONS_KEPT = sizeof options_kept / sizeof *options_kept };

static void add_option(strvec *options, const char *option, const char *value) {
    if (value && *value) strvec_format(options, "%s=%s", option, value);
}

void page_options_of_flags(const strvec *flags, strvec *options) {
    for (size_t i = 0; i < OPTIONS_KEPT; i++)
        add_option(options, options_kept[i].option,
                   strvec_option_value(flags, options_kept[i].option));
}

void page_options_of_manifest(const yaml_node *report, strvec *options) {
    for (size_t i = 0; i < OPTIONS_KEPT; i++)
        add_option(options, options_kept[i].option,
                   yaml_text_at(report, options_kept[i].parameter));
}

// ---- Runs ----

static bool is_key(const char *text) {
    return strlen(text) == SHA256_TEXT_BYTES - 1 &&
           strspn(text, "0123456789abcdef") == SHA256_TEXT_BYTES - 1;
}

const char *page_key(const yaml_node *entry, size_t k) {
    const yaml_node *keys = yaml_find(entry, "keys");
    const yaml_node *key = keys && k < keys->count ? keys->items[k] : NULL;
    return key && key->kind == YAML_SCALAR && is_key(key->text) ? key->text : NULL;
}

// Adds "runs/KEY12" for every run of the plan.
static status add_runs(const char *folder, strvec *command, error *err) {
    yaml_node *plan = NULL;
    char *path = memory_format("%s/" PAGE_PLAN, folder);
    status rc = yaml_read_file(path, &plan, err);
    const yaml_node *runs = rc == STATUS_OK ? yaml_find(plan, "runs") : NULL;
    for (size_t i = 0; runs && rc == STATUS_OK && i < runs->count; i++) {
        const char *key;
        for (size_t k = 0; (key = page_key(runs->items[i], k)); k++) {
            char name[32];
            snprintf(name, sizeof name, "runs/%.*s", STORE_KEY_DIGITS, key);
            if (!strvec_has(command, name)) strvec_add(command, name);
        }
    }
    yaml_free(plan);
    free(path);
    return rc;
}

// Adds OPTION=PLACE/NAME for each folder of measurements in PLACE, if the submission has any.
static void add_measured(const char *folder, const char *option, const char *place,
                         strvec *command) {
    strvec names = {0};
    char *path = memory_format("%s/%s", folder, place);
    (void)paths_list(path, NULL, false, &names);
    for (size_t i = 0; i < names.count; i++)
        strvec_format(command, "%s=%s/%s", option, place, names.items[i]);
    strvec_release(&names);
    free(path);
}

static status make_command(const char *folder, page_kind kind, const strvec *options, bool test,
                           strvec *command, error *err) {
    strvec_add(command, "report");
    strvec_add(command, "-q"); // its first line is then the failure
    NEED(add_runs(folder, command, err));
    strvec_add(command, "--plan=" PAGE_PLAN);
    add_measured(folder, "--collectives", "machine", command);
    add_measured(folder, "--turns", "turns", command);
    strvec_add_all(command, options);
    if (paths_allow(R_OK, "%s/" PAGE_DISCUSSION, folder))
        strvec_add(command, "--discussion=" PAGE_DISCUSSION);
    if (test) strvec_format(command, "--test=%s", TEST_LINK);
    if (kind == PAGE_OURS) {
        strvec_add(command, "--out=" PAGE_FOLDER);
        strvec_add(command, "--figures=figures");
    } else {
        strvec_add(command, "--template=" PAGE_TEMPLATES);
        strvec_add(command, "--out=" PAGE_OWN_FOLDER);
    }
    return STATUS_OK;
}

// Links the test data into the folder; *link is NULL if there are none.
static status link_test(const char *folder, const char *test, char **link, error *err) {
    status rc = STATUS_OK;
    *link = NULL;
    char *real = test ? realpath(test, NULL) : NULL;
    if (!real) return rc;
    *link = memory_format("%s/%s", folder, TEST_LINK);
    if (symlink(real, *link) != 0)
        rc = error_system(err, STATUS_FAILED, errno, "cannot make link: '%s'", *link);
    free(real);
    return rc;
}

status page_make(const pipeline *p, const char *folder, page_kind kind, const strvec *options,
                 const char *test, error *err) {
    strvec command = {0};
    char *link = NULL;
    status rc;
    TRY(link_test(folder, test, &link, err));
    TRY(make_command(folder, kind, options, link != NULL, &command, err));
    rc = tool_run_quietly(p, folder, &command, err);
out:
    if (link) unlink(link);
    free(link);
    strvec_release(&command);
    return rc;
}
