// manifest.h - manifest.yaml: what a stage read, wrote and found (docs/formats.md).
//
// A manifest is a YAML tree with fixed top-level keys, in this order:
//     schema, tool, version, bits, command, key, inputs, outputs, parameters, results, run
// It is written last and atomically; a folder without one is not finished.
#ifndef LOCKSTEP_DATA_MANIFEST_H
#define LOCKSTEP_DATA_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sha256.h"
#include "base/yaml_tree.h"

typedef struct manifest {
    yaml_node *root;
    char started[32]; // UTC, when manifest_begin was called
} manifest;

// One file that was read or written.
typedef struct manifest_file {
    const char *path; // as given; made relative to the manifest's folder when written. "-": a pipe
    uint64_t bytes;   // size on disk (for "-": of the stream)
    const char *sha256;  // of the bytes on disk; NULL where there is none
    const char *content; // content hash of a tensor file; NULL for other files
} manifest_file;

// Starts a manifest: schema, tool, version, `bits` (the tool's own revision of the bits that it
// writes: raised when equal inputs give other outputs than before) and the command line, which must
// be UTF-8 (else STATUS_USAGE); of URLs in it what base/redact.h leaves.
status manifest_begin(manifest *m, const char *tool, int bits, int argc, char **argv,
                      error *err) MUST_CHECK;
void manifest_release(manifest *m);

status manifest_add_input(manifest *m, const manifest_file *file, error *err) MUST_CHECK;
// The same for a shard file; `source` is the content hash of the unsharded file.
status manifest_add_shard(manifest *m, const manifest_file *file, const char *source,
                          error *err) MUST_CHECK;
status manifest_add_output(manifest *m, const manifest_file *file, error *err) MUST_CHECK;

// The mappings to fill with yaml_put; they exist from the start.
yaml_node *manifest_parameters(manifest *m);
yaml_node *manifest_results(manifest *m);
yaml_node *manifest_run(manifest *m);

// `run:` holds from the start what the library knows: host, cpu, cores, compiler, flags, sources,
// libraries, commit, dirty, start. A tool adds what it knows better: execution, instruction set,
// GPUs.

// Completes `end` and `key`, makes paths relative to the folder of `path`, and writes. Once a
// manifest; every output must be there.
status manifest_write(manifest *m, const char *path, error *err) MUST_CHECK;

// The stage key: SHA-256 of canonical JSON of (tool, bits, parameters, content hashes of inputs in
// order; the SHA-256 of a file that has none). Parameters that are only shown (name, title,
// repeats, target_accuracy, published) play no part. Two invocations with equal keys write equal
// content, clocks apart. Outputs, results and run play no part: it can be asked for before the work
// is done.
status manifest_key(const manifest *m, char key[SHA256_TEXT_BYTES], error *err) MUST_CHECK;
// The key of a manifest that manifest_read gave, by the same rules, whatever key it records: one of
// an earlier version, which had the name in its key, gets the key that its stage has now.
// STATUS_INPUT where tool, bits or parameters are missing.
status manifest_key_of(const yaml_node *root, char key[SHA256_TEXT_BYTES], error *err) MUST_CHECK;
// The same as a line on standard output: what --print-key of every stage tool does.
status manifest_print_key(const manifest *m, error *err) MUST_CHECK;

// Before a stage writes its outputs: removes the manifest that `folder` has of an earlier run,
// since what is there is not what that says any longer. A folder that a tool of another kind than
// that of `m` filled is refused (STATUS_USAGE): its files would stay without their manifest.
status manifest_remove_old(const manifest *m, const char *folder, error *err) MUST_CHECK;
// Only the refusal: removes nothing.
status manifest_check_folder(const manifest *m, const char *folder, error *err) MUST_CHECK;

// Are both of a kind, as train-single and train-ddp are?
bool manifest_same_kind(const char *tool, const char *other);

// Reads and checks the schema. Free with yaml_free.
status manifest_read(const char *path, yaml_node **root, error *err) MUST_CHECK;
// The same where having none is an answer: *root is NULL for a file that is missing, damaged or no
// manifest, and `why` (NULL: not wanted) says which. A failure at run time stays one.
status manifest_try_read(const char *path, yaml_node **root, char *why, size_t why_size,
                         error *err) MUST_CHECK;

// Is the stage in `folder` done for these conditions? Each is "PATH=VALUE" (a path into the
// manifest that must have that value). Also required: every output is there with its recorded size.
// *why: the first reason why not.
status manifest_fresh(const char *folder, const char *const *conditions, size_t count, bool *fresh,
                      char *why, size_t why_size, error *err) MUST_CHECK;

#endif
