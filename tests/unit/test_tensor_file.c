// SPDX-License-Identifier: MIT
// Tensor files: reading returns what was written, and the format is canonical. Damaged files:
// tests/bats/tensor.bats.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "data/tensor/tensor_file.h"

#include "temporary_folder.h"

static const float weights[6] = {1, -2, 3.5f, 0, 1e-30f, 6};
static const uint8_t labels[3] = {0, 9, 255};
static const int64_t steps = -5;
static const uint64_t digests[2] = {UINT64_MAX, 1};
static const int64_t matrix[2] = {2, 3}, three[1] = {3}, two[1] = {2}, none[2] = {0, 7};

static void write_tensors(const char *path, tensor_file *f) {
    error err = {0};
    status rc = tensor_file_write(path, f, &err);
    if (rc != STATUS_OK) fail_msg("%s", err.message);
}

static void fill(tensor_file *f) {
    tensor_file_add(f, "labels", TENSOR_U8, 1, three, labels);
    tensor_file_add(f, "w", TENSOR_F32, 2, matrix, weights);
    tensor_file_add(f, "n", TENSOR_I64, 0, NULL, &steps);
    tensor_file_add(f, "digest", TENSOR_U64, 1, two, digests);
    tensor_file_add(f, "none", TENSOR_F32, 2, none, NULL);
    tensor_file_add_metadata(f, "split", "train");
    tensor_file_add_metadata(f, "note", "\"quoted\"\nhöhe");
}

static void test_round_trip(void **state) {
    (void)state;
    error err = {0};
    tensor_file f = {0}, g;
    fill(&f);
    write_tensors("a.st.zst", &f);
    assert_int_equal(tensor_file_read("a.st.zst", TENSOR_FILE_DEFAULT_MAX, &g, &err), STATUS_OK);
    assert_string_equal(f.content, g.content);
    assert_string_equal(f.sha256, g.sha256);
    assert_int_equal(f.file_bytes, g.file_bytes);
    char text[SHA256_TEXT_BYTES];
    assert_int_equal(sha256_file("a.st.zst", text, &err), STATUS_OK);
    assert_string_equal(f.sha256, text);
    // Element size descending, then name.
    static const char *const order[] = {"digest", "n", "none", "w", "labels"};
    assert_int_equal(g.count, 5);
    for (size_t i = 0; i < g.count; i++) {
        const tensor *a = tensor_file_find(&f, order[i]), *b = &g.tensors[i];
        assert_string_equal(b->name, order[i]);
        assert_int_equal(a->type, b->type);
        assert_int_equal(a->rank, b->rank);
        assert_memory_equal(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
        assert_int_equal(a->bytes, b->bytes);
        if (a->bytes) assert_memory_equal(a->data, b->data, a->bytes);
        assert_int_equal((uintptr_t)b->data % MEMORY_ALIGNMENT, 0);
    }
    assert_int_equal(g.metadata_count, 2);
    assert_string_equal(g.metadata[0].key, "note"); // sorted
    assert_string_equal(tensor_file_metadata(&g, "note"), "\"quoted\"\nhöhe");
    assert_string_equal(tensor_file_metadata(&g, "split"), "train");
    assert_null(tensor_file_metadata(&g, "absent"));
    tensor_file_release(&f);
    tensor_file_release(&g);
    tensor_file_release(&g);
}

// The order of additions leaves no trace.
// The header alone is read: a file that is cut after it is accepted.
static void test_header(void **state) {
    (void)state;
    error err = {0};
    static const uint8_t zeros[1000];
    const int64_t shape[1] = {sizeof zeros};
    tensor_file f = {0}, g;
    fill(&f);
    tensor_file_add(&f, "zeros", TENSOR_U8, 1, shape, zeros);
    write_tensors("a.st.zst", &f);
    assert_int_equal(tensor_file_read_header("a.st.zst", &g, &err), STATUS_OK);
    assert_string_equal(tensor_file_metadata(&g, "split"), "train");
    assert_string_equal(tensor_file_metadata(&g, "note"), "\"quoted\"\nhöhe");
    assert_int_equal(g.count, f.count);
    assert_int_equal(tensor_file_find(&g, "zeros")->shape[0], sizeof zeros);
    assert_null(tensor_file_find(&g, "zeros")->data);
    tensor_file_release(&g);
    assert_int_equal(system("zstd -dqc a.st.zst | head -c 600 > cut.safetensors"), 0);
    assert_int_equal(tensor_file_read("cut.safetensors", TENSOR_FILE_DEFAULT_MAX, &g, &err),
                     STATUS_INPUT);
    assert_int_equal(tensor_file_read_header("cut.safetensors", &g, &err), STATUS_OK);
    assert_string_equal(tensor_file_metadata(&g, "split"), "train");
    tensor_file_release(&g);
    assert_int_equal(tensor_file_read_header("absent", &g, &err), STATUS_INPUT);
    tensor_file_release(&f);
}

static void test_canonical(void **state) {
    (void)state;
    tensor_file f = {0}, g = {0};
    fill(&f);
    tensor_file_add_metadata(&g, "note", "\"quoted\"\nhöhe");
    tensor_file_add(&g, "none", TENSOR_F32, 2, none, NULL);
    tensor_file_add(&g, "digest", TENSOR_U64, 1, two, digests);
    tensor_file_add(&g, "n", TENSOR_I64, 0, NULL, &steps);
    tensor_file_add(&g, "w", TENSOR_F32, 2, matrix, weights);
    tensor_file_add(&g, "labels", TENSOR_U8, 1, three, labels);
    tensor_file_add_metadata(&g, "split", "train");
    write_tensors("a.st.zst", &f);
    write_tensors("b.st.zst", &g);
    assert_string_equal(f.content, g.content);
    assert_string_equal(f.sha256, g.sha256);
    assert_string_equal(g.tensors[0].name, "none"); // writing does not reorder
    g.metadata[0].value[0] = 'Q';
    write_tensors("c.st.zst", &g);
    assert_string_not_equal(f.content, g.content);
    tensor_file_release(&f);
    tensor_file_release(&g);
}

// The content hash of the bytes that docs/formats.md shows must never change.
static void test_example(void **state) {
    (void)state;
    static const char header[] =
        "{\"__metadata__\":{\"split\":\"train\"},"
        "\"labels\":{\"data_offsets\":[24,27],\"dtype\":\"U8\",\"shape\":[3]},"
        "\"w\":{\"data_offsets\":[0,24],\"dtype\":\"F32\",\"shape\":[2,3]}}";
    unsigned char bytes[512];
    uint64_t length = (strlen(header) + 7) / 8 * 8;
    memset(bytes, ' ', sizeof bytes);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, strlen(header));
    memcpy(bytes + 8 + length, weights, sizeof weights);
    memcpy(bytes + 8 + length + sizeof weights, labels, sizeof labels);
    char expected[SHA256_TEXT_BYTES];
    sha256_buffer(bytes, 8 + length + 27, expected);
    tensor_file f = {0};
    tensor_file_add(&f, "labels", TENSOR_U8, 1, three, labels);
    tensor_file_add(&f, "w", TENSOR_F32, 2, matrix, weights);
    tensor_file_add_metadata(&f, "split", "train");
    write_tensors("a.st.zst", &f);
    assert_string_equal(f.content, expected);
    tensor_file_release(&f);
}

// More than one buffer for every stage between the tensor and the disk.
static void test_large(void **state) {
    (void)state;
    error err = {0};
    const size_t n = (5u << 20) + 3;
    const int64_t shape[1] = {(int64_t)n};
    uint8_t *noise = memory_new(n, 1);
    uint32_t x = 1;
    for (size_t i = 0; i < n; i++) noise[i] = (uint8_t)((x = x * 1664525u + 1013904223u) >> 24);
    tensor_file f = {0}, g;
    tensor_file_add(&f, "noise", TENSOR_U8, 1, shape, noise);
    write_tensors("a.st.zst", &f);
    assert_int_equal(tensor_file_read("a.st.zst", n + 1000, &g, &err), STATUS_OK);
    assert_memory_equal(g.tensors[0].data, noise, n);
    tensor_file_release(&g);
    assert_int_equal(tensor_file_read("a.st.zst", n, &g, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "more than the limit"));
    assert_null(g.tensors); // a refusal leaves nothing to free
    tensor_file_release(&f);
    free(noise);
}

static void test_require(void **state) {
    (void)state;
    error err = {0};
    tensor_file f = {0};
    const tensor *t;
    fill(&f);
    const int64_t any[2] = {-1, 3}, wrong[2] = {-1, 4};
    assert_int_equal(tensor_file_require(&f, "x", "w", TENSOR_F32, 2, any, &t, &err), STATUS_OK);
    assert_ptr_equal(t, tensor_file_find(&f, "w"));
    assert_int_equal(tensor_file_require(&f, "x", "w", TENSOR_F32, 2, wrong, &t, &err),
                     STATUS_INPUT);
    assert_null(t);
    assert_string_equal(err.message,
                        "cannot use tensor file: 'x': tensor 'w' is F32 [2,3], expected F32 [?,4]");
    assert_int_equal(tensor_file_require(&f, "x", "w", TENSOR_U8, 2, any, &t, &err), STATUS_INPUT);
    assert_int_equal(tensor_file_require(&f, "x", "w", TENSOR_F32, 1, any, &t, &err), STATUS_INPUT);
    assert_int_equal(tensor_file_require(&f, "x", "v", TENSOR_F32, 2, any, &t, &err), STATUS_INPUT);
    assert_string_equal(err.message,
                        "cannot use tensor file: 'x': it has no tensor 'v' (expected F32 [?,3])");
    tensor_file_release(&f);
}

static void refuse_to_write(tensor_file *f, const char *why) {
    error err = {0};
    assert_int_equal(tensor_file_write("a.st.zst", f, &err), STATUS_FAILED);
    assert_non_null(strstr(err.message, why));
    assert_int_equal(access("a.st.zst", F_OK), -1);
    tensor_file_release(f);
}

static void test_bad_additions(void **state) {
    (void)state;
    tensor_file f = {0};
    fill(&f);
    tensor_file_add(&f, "w", TENSOR_U8, 1, three, labels);
    refuse_to_write(&f, "cannot add tensor: 'w': the name is taken");
    fill(&f);
    tensor_file_add(&f, "__metadata__", TENSOR_U8, 1, three, labels);
    refuse_to_write(&f, "cannot add tensor: '__metadata__': the name is taken");
    fill(&f);
    tensor_file_add_metadata(&f, "split", "again");
    refuse_to_write(&f, "cannot add metadata: 'split': the key is taken");
    fill(&f);
    tensor_file_add_metadata(&f, "broken", "\xff");
    refuse_to_write(&f, "'broken'");
}

static void test_types(void **state) {
    (void)state;
    static const char *const names[] = {"U8", "U32", "U64", "I64", "F32", "F64", "F16", "BF16"};
    static const size_t sizes[] = {1, 4, 8, 8, 4, 8, 2, 2};
    for (int i = 0; i < TENSOR_TYPES; i++) {
        tensor_type type;
        assert_true(tensor_type_parse(names[i], &type));
        assert_int_equal(type, i);
        assert_string_equal(tensor_type_name(type), names[i]);
        assert_int_equal(tensor_type_bytes(type), sizes[i]);
    }
    tensor_type type;
    assert_false(tensor_type_parse("BOOL", &type));
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_round_trip),     IN_FOLDER(test_canonical),    IN_FOLDER(test_example),
        IN_FOLDER(test_header),         IN_FOLDER(test_large),        IN_FOLDER(test_bad_additions),
        cmocka_unit_test(test_require), cmocka_unit_test(test_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
