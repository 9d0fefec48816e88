// SPDX-License-Identifier: MIT
// manifest.h - manifest.yaml: a stage's inputs, outputs and results (docs/formats.md).
//
// A manifest is a YAML tree with fixed top-level keys, in this order:
//     schema, tool, version, bits, command, key, inputs, outputs, parameters, results, run, digest
// It is written last and atomically; a stage whose folder has none is not finished.
#ifndef LOCKSTEP_DATA_MANIFEST_H
#define LOCKSTEP_DATA_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/sha256.h"
#include "base/yaml_tree.h"

typedef struct manifest {
    yaml_node *root;
    char started[32]; // UTC, time of manifest_begin
} manifest;

// One file that was read or written.
typedef struct manifest_file {
    const char *path; // as given; made relative to the manifest's folder when written. "-": a pipe
    uint64_t bytes;   // size on disk (for "-": of the stream)
    const char *sha256;  // of the bytes on disk; NULL: none
    const char *content; // content hash of a tensor file; NULL for other files
} manifest_file;

// Starts a manifest: schema, tool, version, `bits` and the command line. `bits` is the tool's own
// output revision: it is raised when equal inputs give other outputs than before. The command line
// must be UTF-8 (else STATUS_USAGE); URLs in it are redacted (base/redact.h).
status manifest_begin(manifest *m, const char *tool, int bits, int argc, char **argv,
                      error *err) MUST_CHECK;
void manifest_release(manifest *m);

void manifest_add_input(manifest *m, const manifest_file *file);
// The same for a shard file; `source` is the content hash of the unsharded file.
void manifest_add_shard(manifest *m, const manifest_file *file, const char *source);
// Adds to the last input, test data, that so many of all its images are also in the training data
// of this content hash.
typedef struct manifest_repeats {
    int64_t images, samples;
    char train[SHA256_TEXT_BYTES];
} manifest_repeats;
void manifest_add_repeats(manifest *m, const manifest_repeats *r);
void manifest_add_output(manifest *m, const manifest_file *file);

// The mappings to fill with yaml_put; they exist from the start.
yaml_node *manifest_parameters(manifest *m);
yaml_node *manifest_results(manifest *m);
yaml_node *manifest_run(manifest *m);

// `run:` holds from the start everything that the library can find out: host, cpu, cores, compiler,
// flags, sources, libraries, commit, dirty, start. A tool adds the rest: execution, instruction
// set, GPUs.

// Completes `end` and `key`, makes paths relative to the folder of `path`, and writes the file.
// Call it once per manifest, when every output exists.
status manifest_write(manifest *m, const char *path, error *err) MUST_CHECK;
// The same as the manifest of a folder, FOLDER/manifest.yaml.
status manifest_write_in(manifest *m, const char *folder, error *err) MUST_CHECK;
// Writes the tree of a manifest that manifest_read returned and the caller changed. Its last line
// is `digest: SHA-256` of all lines above it, which manifest_verify_text compares
// (manifest_check.h).
status manifest_write_tree(yaml_node *root, const char *path, error *err) MUST_CHECK;

// Computes the stage key: SHA-256 of canonical JSON of (tool, bits, parameters, input hashes in
// order). An input hash is the content hash, or the file's SHA-256 if it has none. Parameters that
// do not change the stage's outputs (name, title, repeats, target_accuracy, published, tta) are
// left out. Two invocations with equal keys write equal content, apart from clocks. Outputs,
// results and run are left out too, so the key is available before the work is done.
status manifest_key(const manifest *m, char key[SHA256_TEXT_BYTES], error *err) MUST_CHECK;
// Computes the key of a manifest from manifest_read by the same rules, whatever key it records.
// STATUS_INPUT if tool, bits, parameters or inputs are missing.
status manifest_key_of(const yaml_node *root, char key[SHA256_TEXT_BYTES], error *err) MUST_CHECK;
// Returns a copy of a manifest's, or an experiment's, parameters without those that are left out of
// the key; free with yaml_free.
yaml_node *manifest_key_parameters(const yaml_node *all) MUST_CHECK;
// Prints the key as a line: the --print-key of every stage tool.
status manifest_print_key(const manifest *m, FILE *answers, error *err) MUST_CHECK;

// Call it before a stage writes its outputs. Removes an earlier run's manifest from `folder`, since
// it no longer describes the files there. Refuses a folder that a tool of another kind than that of
// `m` filled (STATUS_USAGE): its files would stay without their manifest.
status manifest_remove_old(const manifest *m, const char *folder, error *err) MUST_CHECK;
// Only refuses, as above; removes nothing.
status manifest_check_folder(const manifest *m, const char *folder, error *err) MUST_CHECK;

// Returns true if both tools are of one kind, as train-single and train-ddp are.
bool manifest_same_kind(const char *tool, const char *other);

// Reads a manifest and checks its schema. Free with yaml_free.
status manifest_read(const char *path, yaml_node **root, error *err) MUST_CHECK;
// The same of the folder that the format gives.
status manifest_read_in(yaml_node **root, error *err, const char *folder, ...)
    PRINTF_LIKE(3, 4) MUST_CHECK;

// Returns what a manifest records of its output `name`: "model.st.zst", and the content hash. NULL
// and "" if there is none; `root` may be NULL.
const yaml_node *manifest_output(const yaml_node *root, const char *name);
const char *manifest_output_content(const yaml_node *root, const char *name);

// Returns `run.execution` of a training's manifest; of a run that was resumed or restarted, its
// last segment. NULL if there is none.
const yaml_node *manifest_last_segment(const yaml_node *root);

// Checks whether the stage in `folder` is done for these conditions. Each is "PATH=VALUE" (a path
// into the manifest that must have that value). Every output must also exist with its recorded
// size. *why receives the first reason why not, and *root (NULL: not wanted) the manifest, which is
// NULL if there is none; free it with yaml_free.
typedef enum manifest_state {
    MANIFEST_NONE,       // no manifest, or a damaged one: the stage did not finish
    MANIFEST_OTHER,      // a condition does not hold
    MANIFEST_INCOMPLETE, // an output is missing, or has another size
    MANIFEST_FRESH,
} manifest_state;
status manifest_fresh(const char *folder, const char *const *conditions, size_t count,
                      manifest_state *state, yaml_node **root, char *why, size_t why_size,
                      error *err) MUST_CHECK;

#endif
