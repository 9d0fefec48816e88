// SPDX-License-Identifier: MIT
// fuzz.h - shared by the fuzzers. Each fuzzer is one function that libFuzzer calls, or loop.c if
// there is no clang: it passes bytes to a reader, which may refuse them and must do nothing else.
//
// FUZZ_FOLDER in the environment is a folder that a fuzzer may write to; it also holds the fixtures
// made by tests/torture/fuzzers.
#ifndef LOCKSTEP_TESTS_TORTURE_FUZZ_H
#define LOCKSTEP_TESTS_TORTURE_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

// Writes FUZZ_FOLDER/NAME, and returns its path, which the next call overwrites.
const char *fuzz_file(const char *name, const uint8_t *data, size_t bytes);

// Returns the path FUZZ_FOLDER/NAME, which the next call overwrites.
const char *fuzz_path(const char *name);

// Returns the bytes followed by a zero; free() it.
char *fuzz_text(const uint8_t *data, size_t bytes);

#endif
