// SPDX-License-Identifier: MIT
// manifest_check.h - comparing manifests with the files they name, and with each other.
#ifndef LOCKSTEP_DATA_MANIFEST_CHECK_H
#define LOCKSTEP_DATA_MANIFEST_CHECK_H

#include <stddef.h>

#include "base/error.h"
#include "base/yaml_tree.h"

// The findings, one line each. Start from zeros; release afterwards.
typedef struct manifest_findings {
    char **lines;
    size_t count, capacity;
    size_t checked;   // files that manifest_verify checked
    size_t line_ends; // lines about files that only the line ends tell from what was written
} manifest_findings;

void manifest_findings_release(manifest_findings *f);

// Adds a line; cuts one that is too long.
void manifest_finding(manifest_findings *f, const char *format, ...) PRINTF_LIKE(2, 3);

// Recomputes size, SHA-256 and content hash of every input and output of the manifest at `path`.
// Paths are relative to its folder; pipes ("-") are skipped. A file that is missing or that differs
// is a finding, not a failure: "MANIFEST: 'PATH': what".
status manifest_verify(const char *path, manifest_findings *f, error *err) MUST_CHECK;
// The same for a manifest of a packed run, of which only some files were kept, and which may come
// from anyone: only outputs in its folder, and only those that are there.
status manifest_verify_packed(const char *path, manifest_findings *f, error *err) MUST_CHECK;
// Checks whether the manifest's current tool, parameters and inputs give its recorded key. A
// manifest without a key, or not of a stage, gives no finding.
status manifest_verify_key(const char *path, manifest_findings *f, error *err) MUST_CHECK;
// Is the manifest's own text the one that was written? Compares it with the digest in its last
// line. A manifest without one, of an earlier version, is not checked.
status manifest_verify_text(const char *path, manifest_findings *f, error *err) MUST_CHECK;

// Compares two stages: did they do the same work, with the same outcome? Compared are:
// - the tool family: the name up to the first '-', so that all train tools are one
// - parameters, all of them
// - inputs, as a set: a shard's source, else the content hash, else the hash of the bytes. Paths
//   and the number of shard files do not matter
// - outputs by path: their content hash, else size and hash. Of steps.st.zst and state.st.zst,
//   which hold times, only their presence; states/ (--keep-states) is not compared
// - results without times: without "phases" and keys that contain "seconds"
// Not compared: version, bits, command, key, run. Each difference is a finding: "PATH: A != B".
void manifest_diff(const yaml_node *a, const yaml_node *b, manifest_findings *f);

#endif
