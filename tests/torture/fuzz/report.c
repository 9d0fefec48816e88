// SPDX-License-Identifier: MIT
// A training's manifest, and that run's report without its drawings.
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "report/report.h"

static status make_report(const char *folder, const char *out, error *err) {
    const char *const folders[] = {folder};
    const results_options options = {.folders = folders, .folder_count = 1};
    const report_options page = {.head.language = "en"};
    char *arguments[] = {(char[]){"report"}, NULL};
    results r = {0};
    manifest m = {0};
    status rc;
    TRY(results_open(&r, &options, err));
    TRY(manifest_begin(&m, "report", 1, 1, arguments, err));
    TRY(report_record(&r, &page, &m, err));
    TRY(report_write(&r, &page, out, &m, err));
out:
    manifest_release(&m);
    results_release(&r);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char folder[4096], out[4096];
    error err;
    setenv("PATH", "/nowhere", 1); // no gnuplot: it would take most of the time
    (void)fuzz_file("run/train/manifest.yaml", data, bytes);
    snprintf(folder, sizeof folder, "%s", fuzz_path("run"));
    snprintf(out, sizeof out, "%s", fuzz_path("out"));
    (void)!make_report(folder, out, &err);
    return 0;
}
