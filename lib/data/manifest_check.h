// manifest_check.h - holding manifests against the files they name, and against each other.
#ifndef LOCKSTEP_DATA_MANIFEST_CHECK_H
#define LOCKSTEP_DATA_MANIFEST_CHECK_H

#include <stddef.h>

#include "base/error.h"
#include "base/yaml_tree.h"

// What was found, one line each. Start from zeros; release afterwards.
typedef struct manifest_findings {
    char **lines;
    size_t count, capacity;
    size_t checked; // files looked at by manifest_verify
} manifest_findings;

void manifest_findings_release(manifest_findings *f);

// Adds a line; one that is too long is cut.
status manifest_finding(manifest_findings *f, error *err, const char *format, ...)
    PRINTF_LIKE(3, 4) MUST_CHECK;

// Recomputes size, SHA-256 and content hash of every input and output of the manifest at `path`,
// whose paths are relative to its folder; what came through a pipe ("-") is left out. A file that
// is missing or that differs is a finding, not a failure: "MANIFEST: 'PATH': what".
status manifest_verify(const char *path, manifest_findings *f, error *err) MUST_CHECK;
// Do tool, parameters and inputs, as they stand there now, give the key that it has? Of a manifest
// that is no stage's, or without a key, there is nothing to say.
status manifest_verify_key(const char *path, manifest_findings *f, error *err) MUST_CHECK;

// Did two stages do the same work with the same outcome? Compared are:
// - the family of the tool: its name up to the first '-', so that all train tools are one
// - parameters, whole
// - inputs, as a set of what was read: the source of a shard, else the content hash, else the hash
//   of the bytes. Paths and the number of shard files play no part
// - outputs by path: their content hash, else size and hash. Of steps.st.zst and state.st.zst,
// which
//   hold times, only that they are there
// - results without times: keys that hold "seconds", and "phases"
// Not compared: version, bits, command, key, run. Each difference is a finding: "PATH: A != B".
status manifest_diff(const yaml_node *a, const yaml_node *b, manifest_findings *f,
                     error *err) MUST_CHECK;

#endif
