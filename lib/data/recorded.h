// SPDX-License-Identifier: MIT
// recorded.h - what a stage's manifest says about its files: content hashes above all, to avoid
// reading the files again.
//
// A stage key needs the content hash of every input, and the manifest next to a data file holds it.
// The recorded hash is used only for a plain file that has the recorded size and whose inode last
// changed before the manifest was written. (ctime: a rename updates it too, and nothing sets it
// back, so neither another file moved into its place nor a restored mtime passes.) In every other
// case the file is read. This check does not detect a disk that returns other bytes than were
// written, a copied folder in which a file was already changed, or a clock that was set back in
// between. `manifest verify` detects these, and so does the stage itself, which reads and hashes
// the files that it uses.
#ifndef LOCKSTEP_DATA_RECORDED_H
#define LOCKSTEP_DATA_RECORDED_H

#include "base/error.h"
#include "data/manifest.h"

// Adds a tensor file, or every shard in a folder, to the inputs of `m`: with the content hash,
// which the key needs, and without a SHA-256 of the bytes. Reads "-", standard input.
status recorded_add_input(manifest *m, const char *path, error *err) MUST_CHECK;
// The same for a file alone.
status recorded_add_file(manifest *m, const char *path, error *err) MUST_CHECK;

// Returns the recorded content hash of the file `path`, or "" if the file has to be read to get it.
void recorded_content(const char *path, char content[SHA256_TEXT_BYTES]);

// Tells which training images are in the test data `path` of this content hash, too, by the
// manifest beside the file, which counts them (source/raw_dataset.h). images = 0: none, or unknown.
void recorded_repeats(const char *path, const char *content, manifest_repeats *repeats);

#endif
