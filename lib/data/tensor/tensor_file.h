// tensor_file.h - named tensors in a file: safetensors inside zstd (docs/formats.md).
//
// A writer's file is canonical: equal tensors and metadata give equal uncompressed bytes, and the
// SHA-256 of these is the *content hash* that manifests carry. A reader trusts nothing in the file.
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
    TENSOR_F16, // these two are only read (data/tensor/tensor_half.h)
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
    bool owned; // release frees the data; else it is the caller's or lies in the file's buffer
} tensor;

typedef struct tensor_pair {
    char *key, *value;
} tensor_pair;

// Tensors and metadata, read from a file or being put together for one.
typedef struct tensor_file {
    tensor *tensors; // sorted as in the file when read
    size_t count, capacity;
    tensor_pair *metadata; // sorted by key when read
    size_t metadata_count, metadata_capacity;
    char content[SHA256_TEXT_BYTES]; // content hash: filled by read and by write
    char sha256[SHA256_TEXT_BYTES];  // of the file as it is (compressed): likewise
    uint64_t file_bytes;             // size of the file as it is: likewise
    void *buffer;                    // what was read; tensors point into it
} tensor_file;

enum { TENSOR_FILE_DEFAULT_MAX = 0 };

// Reads `path` ("-": standard input; otherwise by magic: zstd frames or plain safetensors).
// `max_bytes` bounds the uncompressed size; TENSOR_FILE_DEFAULT_MAX: what zstream.h allows for a
// file of that size, 4 GiB from a pipe. Everything is checked before it is used; a refusal is
// STATUS_INPUT and names the byte offset. Memory: the uncompressed data once, plus a window. Each
// tensor starts at a multiple of MEMORY_ALIGNMENT.
status tensor_file_read(const char *path, uint64_t max_bytes, tensor_file *f,
                        error *err) MUST_CHECK;

// Only the header, without decompressing the whole file: metadata, and tensors whose `data` is
// NULL; no hashes. Whether the rest is whole is not looked at.
status tensor_file_read_header(const char *path, tensor_file *f, error *err) MUST_CHECK;

// Writes `path` ("-": standard output), whole or not at all, and fills content, sha256 and
// file_bytes.
status tensor_file_write(const char *path, tensor_file *f, error *err) MUST_CHECK;
// The same without zstd: a plain .safetensors file, for other programs.
status tensor_file_write_plain(const char *path, tensor_file *f, error *err) MUST_CHECK;

// Frees everything inside. A zeroed struct is fine.
void tensor_file_release(tensor_file *f);

// The tensor of that name, or NULL.
const tensor *tensor_file_find(const tensor_file *f, const char *name);

// The same, but it must be there with that type and rank and, where shape[i] ≥ 0, that size: else
// STATUS_INPUT naming `path`, the tensor, what it is and what was expected.
status tensor_file_require(const tensor_file *f, const char *path, const char *name,
                           tensor_type type, int rank, const int64_t *shape, const tensor **found,
                           error *err) MUST_CHECK;

// The metadata value of that key, or NULL.
const char *tensor_file_metadata(const tensor_file *f, const char *key);

// Adds a tensor. `data` is copied when `copy`, else only pointed to and must outlive the file (it
// is not freed). A name that is there already, or shapes that overflow, are STATUS_FAILED: a fault
// of the program.
status tensor_file_add(tensor_file *f, const char *name, tensor_type type, int rank,
                       const int64_t *shape, const void *data, bool copy, error *err) MUST_CHECK;
status tensor_file_add_metadata(tensor_file *f, const char *key, const char *value,
                                error *err) MUST_CHECK;

size_t tensor_type_bytes(tensor_type type);
const char *tensor_type_name(tensor_type type); // "F32"
// The type of that name; false when there is none.
bool tensor_type_parse(const char *name, tensor_type *type);
int64_t tensor_elements(const tensor *t);

#endif
