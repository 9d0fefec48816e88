// fuzz.h - what the fuzzers share. Each is one function that libFuzzer calls, or loop.c where there
// is no clang: it gives bytes to a reader, which may refuse them and must do nothing else.
//
// FUZZ_FOLDER in the environment is a folder that a fuzzer may write in, and where the fixtures lie
// that tests/torture/fuzz made.
#ifndef LOCKSTEP_TESTS_TORTURE_FUZZ_H
#define LOCKSTEP_TESTS_TORTURE_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

// Writes FUZZ_FOLDER/NAME, and returns its path, which the next call overwrites.
const char *fuzz_file(const char *name, const uint8_t *data, size_t bytes);

// FUZZ_FOLDER/NAME; likewise.
const char *fuzz_path(const char *name);

// The bytes with a zero behind them; free() it.
char *fuzz_text(const uint8_t *data, size_t bytes);

#endif
