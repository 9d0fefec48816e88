// SPDX-License-Identifier: MIT
// tensor_file.h - named tensors in a file: safetensors inside zstd (docs/formats.md).
//
// Writers produce a canonical form: equal tensors and metadata give equal uncompressed bytes, and
// the SHA-256 of these is the *content hash* that manifests carry. Readers validate everything.
#ifndef LOCKSTEP_DATA_TENSOR_TENSOR_FILE_H
#define LOCKSTEP_DATA_TENSOR_TENSOR_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/output.h"
#include "base/sha256.h"

typedef enum tensor_type {
    TENSOR_U8,
    TENSOR_U32,
    TENSOR_U64,
    TENSOR_I64,
    TENSOR_F32,
    TENSOR_F64,
    TENSOR_F16, // these two are read, never written (data/tensor/tensor_half.h)
    TENSOR_BF16
} tensor_type;

enum { TENSOR_MAX_RANK = 8, TENSOR_TYPES = TENSOR_BF16 + 1 };

typedef struct tensor {
    char *name;
    tensor_type type;
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
    size_t bytes;
    void *data; // little-endian, row-major, aligned to the element size
    bool owned; // release frees the data; else the caller does, or the data lie in `buffer`
} tensor;

typedef struct tensor_pair {
    char *key, *value;
} tensor_pair;

// Tensors and metadata, read from a file or assembled to be written to one.
typedef struct tensor_file {
    tensor *tensors; // when read: in file order
    size_t count, capacity;
    tensor_pair *metadata; // when read: sorted by key
    size_t metadata_count, metadata_capacity;
    char content[SHA256_TEXT_BYTES]; // content hash: set by read and by write
    char sha256[SHA256_TEXT_BYTES];  // of the (compressed) file: likewise
    uint64_t file_bytes;             // size of the (compressed) file: likewise
    void *buffer;                    // the data read; tensors point into it
} tensor_file;

enum { TENSOR_FILE_DEFAULT_MAX = 0 };

// Reads `path` ("-": standard input; otherwise by magic: zstd frames or plain safetensors).
// `max_bytes` bounds the uncompressed size. TENSOR_FILE_DEFAULT_MAX is the limit that zstream.h
// sets for a file of that size, or 4 GiB from a pipe. Everything is checked before use; a refusal
// is STATUS_INPUT and names the byte offset. Memory: the uncompressed data once, plus a window.
// Each tensor starts at a multiple of MEMORY_ALIGNMENT.
status tensor_file_read(const char *path, uint64_t max_bytes, tensor_file *f,
                        error *err) MUST_CHECK;

// Reads only the header, without decompressing the whole file: metadata, and tensors whose `data`
// is NULL; no hashes. Does not check the rest of the file.
status tensor_file_read_header(const char *path, tensor_file *f, error *err) MUST_CHECK;

// Writes `path` ("-": standard output), completely or not at all, and fills content, sha256 and
// file_bytes.
status tensor_file_write(const char *path, tensor_file *f, error *err) MUST_CHECK;
// The same without zstd: a plain .safetensors file, for other programs.
status tensor_file_write_plain(const char *path, tensor_file *f, error *err) MUST_CHECK;

// Frees the contents. A zeroed struct is fine.
void tensor_file_release(tensor_file *f);

// Returns the tensor of that name, or NULL.
const tensor *tensor_file_find(const tensor_file *f, const char *name);

// The same, but requires the tensor to have that type and rank and, where shape[i] ≥ 0, that size.
// Otherwise STATUS_INPUT, naming `path`, the tensor, its actual shape and the expected one.
status tensor_file_require(const tensor_file *f, const char *path, const char *name,
                           tensor_type type, int rank, const int64_t *shape, const tensor **found,
                           error *err) MUST_CHECK;

// Returns the metadata value of that key, or NULL.
const char *tensor_file_metadata(const tensor_file *f, const char *key);

// Adds a tensor, whose `data` must outlive the file. tensor_file_write refuses a name that another
// tensor has, and a key that other metadata have.
void tensor_file_add(tensor_file *f, const char *name, tensor_type type, int rank,
                     const int64_t *shape, const void *data);
// The same, but the data are the file's from now on.
void tensor_file_give(tensor_file *f, const char *name, tensor_type type, int rank,
                      const int64_t *shape, void *data);
void tensor_file_add_metadata(tensor_file *f, const char *key, const char *value);

size_t tensor_type_bytes(tensor_type type);
const char *tensor_type_name(tensor_type type); // "F32"
// Finds the type of that name; returns false if there is none.
bool tensor_type_parse(const char *name, tensor_type *type);
int64_t tensor_elements(const tensor *t);

enum { TENSOR_SHAPE_TEXT_BYTES = 200 };
// Writes the shape as "F32 [6,3,5,5]"; sizes below 0 as "?".
void tensor_shape_text(char text[TENSOR_SHAPE_TEXT_BYTES], tensor_type type, int rank,
                       const int64_t *shape);

// Writes the position of element `index` (into the whole tensor, row-major): "[0,2,1]".
void tensor_place_text(char text[TENSOR_SHAPE_TEXT_BYTES], const tensor *t, int64_t index);

#endif
