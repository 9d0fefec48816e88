// recorded.h - what a stage wrote down about a file that it made, in the place of reading the file.
//
// A stage key needs the content hash of all that a stage reads, and the manifest beside a data file
// holds it. It is believed of a plain file that has the recorded size and whose inode was last
// changed before the manifest was written (ctime: a rename moves it on too, and nothing sets it
// back, so neither another file moved into its place nor a restored mtime passes). In every other
// case the file is read. What this does not see: a disk that returns other bytes than were written,
// a folder that was copied with a file already changed in it, a clock that was set back meanwhile.
// `manifest verify` sees these, and so does the stage itself, which reads and hashes what it uses.
#ifndef LOCKSTEP_DATA_RECORDED_H
#define LOCKSTEP_DATA_RECORDED_H

#include "base/error.h"
#include "data/manifest.h"

// Adds a tensor file, or every shard in a folder, to the inputs of `m`: with the content hash that
// makes the key, and without a SHA-256 of the bytes. "-" is standard input, and is read.
status recorded_add_input(manifest *m, const char *path, error *err) MUST_CHECK;

// The content hash that is recorded of the file `path`; "" where it has to be read to know it.
status recorded_content(const char *path, char content[SHA256_TEXT_BYTES], error *err) MUST_CHECK;

#endif
