// SPDX-License-Identifier: MIT
#include "data/tensor/tensor_text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "data/tensor/tensor_half.h"

int tensor_element_text(char text[TENSOR_ELEMENT_TEXT_BYTES], const tensor *t, int64_t index) {
    const size_t room = TENSOR_ELEMENT_TEXT_BYTES;
    switch (t->type) {
    case TENSOR_U8: return snprintf(text, room, "%d", ((const uint8_t *)t->data)[index]);
    case TENSOR_U32: return snprintf(text, room, "%" PRIu32, ((const uint32_t *)t->data)[index]);
    case TENSOR_U64: return snprintf(text, room, "%" PRIu64, ((const uint64_t *)t->data)[index]);
    case TENSOR_I64: return snprintf(text, room, "%" PRId64, ((const int64_t *)t->data)[index]);
    case TENSOR_F32: return snprintf(text, room, "%.9g", (double)((const float *)t->data)[index]);
    case TENSOR_F64: return snprintf(text, room, "%.17g", ((const double *)t->data)[index]);
    case TENSOR_F16:
        return snprintf(text, room, "%.9g",
                        (double)float_from_f16(((const uint16_t *)t->data)[index]));
    case TENSOR_BF16:
        return snprintf(text, room, "%.9g",
                        (double)float_from_bf16(((const uint16_t *)t->data)[index]));
    }
    return 0;
}

static bool parse_unsigned(const char *text, uint64_t max, uint64_t *value) {
    char *end;
    if (!isdigit((unsigned char)*text)) return false; // strtoull accepts "-1" and blanks
    errno = 0;
    *value = strtoull(text, &end, 10);
    return !*end && !errno && *value <= max;
}

static bool parse_signed(const char *text, int64_t *value) {
    char *end;
    if (isspace((unsigned char)*text)) return false;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return end != text && !*end && !errno;
}

bool tensor_element_parse(const char *text, tensor_type type, void *element) {
    uint64_t natural = 0;
    int64_t integer = 0;
    char *end = NULL;
    switch (type) {
    case TENSOR_U8:
        if (!parse_unsigned(text, UINT8_MAX, &natural)) return false;
        *(uint8_t *)element = (uint8_t)natural;
        return true;
    case TENSOR_U32:
        if (!parse_unsigned(text, UINT32_MAX, &natural)) return false;
        *(uint32_t *)element = (uint32_t)natural;
        return true;
    case TENSOR_U64:
        if (!parse_unsigned(text, UINT64_MAX, &natural)) return false;
        *(uint64_t *)element = natural;
        return true;
    case TENSOR_I64:
        if (!parse_signed(text, &integer)) return false;
        *(int64_t *)element = integer;
        return true;
    case TENSOR_F32: *(float *)element = strtof(text, &end); break;
    case TENSOR_F64: *(double *)element = strtod(text, &end); break;
    case TENSOR_F16:
    case TENSOR_BF16: return false;
    }
    return end != text && !*end && !isspace((unsigned char)*text);
}

// Writes a double-quoted YAML scalar.
static status write_quoted(output *out, const char *text, error *err) {
    status rc = output_write(out, "\"", 1, err);
    for (; rc == STATUS_OK && *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            rc = output_format(out, err, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            rc = output_format(out, err, "\\x%02x", c);
        else
            rc = output_write(out, text, 1, err);
    }
    return rc == STATUS_OK ? output_write(out, "\"", 1, err) : rc;
}

// Returns true if every YAML reader takes the bare word as the same string.
static bool is_bare(const char *word) {
    static const char *const reserved[] = {"y",   "n",    "yes",   "no",  "on",
                                           "off", "true", "false", "null"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcasecmp(word, reserved[i]) == 0) return false;
    if (!isalpha((unsigned char)*word)) return false;
    while (isalnum((unsigned char)*word) || (*word && strchr("._-", *word))) word++;
    return !*word;
}

static status write_key(output *out, const char *key, error *err) {
    status rc = output_write(out, "  ", 2, err);
    if (rc == STATUS_OK)
        rc = is_bare(key) ? output_write(out, key, strlen(key), err) : write_quoted(out, key, err);
    return rc == STATUS_OK ? output_write(out, ": ", 2, err) : rc;
}

static status write_tensor(output *out, const tensor *t, error *err) {
    char shape[TENSOR_SHAPE_TEXT_BYTES];
    status rc = write_key(out, t->name, err);
    if (rc != STATUS_OK) return rc;
    tensor_shape_text(shape, t->type, t->rank, t->shape);
    return output_format(out, err, "{dtype: %s, shape: %s, bytes: %zu}\n",
                         tensor_type_name(t->type), strchr(shape, '['), t->bytes);
}

status tensor_describe(const tensor_file *f, const char *path, output *out, error *err) {
    status rc = STATUS_OK;
    TRY(output_write(out, "file: ", 6, err));
    TRY(write_quoted(out, path, err));
    TRY(output_format(out, err, "\nbytes: %" PRIu64 "\nsha256: %s\ncontent: %s\n", f->file_bytes,
                      f->sha256, f->content));
    TRY(output_format(out, err, "metadata:%s\n", f->metadata_count ? "" : " {}"));
    for (size_t i = 0; i < f->metadata_count; i++) {
        TRY(write_key(out, f->metadata[i].key, err));
        TRY(write_quoted(out, f->metadata[i].value, err));
        TRY(output_write(out, "\n", 1, err));
    }
    TRY(output_format(out, err, "tensors:%s\n", f->count ? "" : " {}"));
    for (size_t i = 0; i < f->count; i++) TRY(write_tensor(out, &f->tensors[i], err));
out:
    return rc;
}

// ---- For --json ----

static void put_shape(yaml_node *entry, const tensor *t) {
    yaml_node *shape = yaml_new(YAML_SEQUENCE);
    for (int i = 0; i < t->rank; i++) yaml_append(shape, yaml_new_integer(t->shape[i]));
    yaml_put(entry, "shape", shape);
}

static void append_tensor(yaml_node *list, const tensor *t) {
    yaml_node *entry = yaml_new(YAML_MAPPING);
    yaml_put(entry, "name", json_new_string(t->name));
    yaml_put(entry, "dtype", json_new_string(tensor_type_name(t->type)));
    put_shape(entry, t);
    yaml_put(entry, "bytes", yaml_new_integer((int64_t)t->bytes));
    yaml_append(list, entry);
}

void tensor_describe_tree(const tensor_file *f, const char *path, yaml_node **tree) {
    yaml_node *root = *tree = yaml_new(YAML_MAPPING);
    yaml_node *metadata = yaml_new(YAML_MAPPING), *tensors = yaml_new(YAML_SEQUENCE);
    yaml_put(root, "file", json_new_string(path));
    yaml_put(root, "bytes", yaml_new_integer((int64_t)f->file_bytes));
    yaml_put(root, "sha256", json_new_string(f->sha256));
    yaml_put(root, "content", json_new_string(f->content));
    for (size_t i = 0; i < f->metadata_count; i++)
        yaml_put(metadata, f->metadata[i].key, json_new_string(f->metadata[i].value));
    for (size_t i = 0; i < f->count; i++) append_tensor(tensors, &f->tensors[i]);
    yaml_put(root, "metadata", metadata);
    yaml_put(root, "tensors", tensors);
}
