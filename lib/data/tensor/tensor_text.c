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
#include "base/text.h"
#include "data/tensor/tensor_half.h"

int tensor_element_text(char string[TENSOR_ELEMENT_TEXT_BYTES], const tensor *t, int64_t index) {
    const size_t room = TENSOR_ELEMENT_TEXT_BYTES;
    switch (t->type) {
    case TENSOR_U8: return snprintf(string, room, "%d", ((const uint8_t *)t->data)[index]);
    case TENSOR_U32: return snprintf(string, room, "%" PRIu32, ((const uint32_t *)t->data)[index]);
    case TENSOR_U64: return snprintf(string, room, "%" PRIu64, ((const uint64_t *)t->data)[index]);
    case TENSOR_I64: return snprintf(string, room, "%" PRId64, ((const int64_t *)t->data)[index]);
    case TENSOR_F32: return snprintf(string, room, "%.9g", (double)((const float *)t->data)[index]);
    case TENSOR_F64: return snprintf(string, room, "%.17g", ((const double *)t->data)[index]);
    case TENSOR_F16:
        return snprintf(string, room, "%.9g",
                        (double)float_from_f16(((const uint16_t *)t->data)[index]));
    case TENSOR_BF16:
        return snprintf(string, room, "%.9g",
                        (double)float_from_bf16(((const uint16_t *)t->data)[index]));
    }
    return 0;
}

static bool parse_unsigned(const char *string, uint64_t max, uint64_t *value) {
    char *end;
    if (!isdigit((unsigned char)*string)) return false; // strtoull accepts "-1" and blanks
    errno = 0;
    *value = strtoull(string, &end, 10);
    return !*end && !errno && *value <= max;
}

static bool parse_signed(const char *string, int64_t *value) {
    char *end;
    if (isspace((unsigned char)*string)) return false;
    errno = 0;
    *value = strtoll(string, &end, 10);
    return end != string && !*end && !errno;
}

bool tensor_element_parse(const char *string, tensor_type type, void *element) {
    uint64_t natural = 0;
    int64_t integer = 0;
    char *end = NULL;
    switch (type) {
    case TENSOR_U8:
        if (!parse_unsigned(string, UINT8_MAX, &natural)) return false;
        *(uint8_t *)element = (uint8_t)natural;
        return true;
    case TENSOR_U32:
        if (!parse_unsigned(string, UINT32_MAX, &natural)) return false;
        *(uint32_t *)element = (uint32_t)natural;
        return true;
    case TENSOR_U64:
        if (!parse_unsigned(string, UINT64_MAX, &natural)) return false;
        *(uint64_t *)element = natural;
        return true;
    case TENSOR_I64:
        if (!parse_signed(string, &integer)) return false;
        *(int64_t *)element = integer;
        return true;
    case TENSOR_F32: *(float *)element = strtof(string, &end); break;
    case TENSOR_F64: *(double *)element = strtod(string, &end); break;
    case TENSOR_F16:
    case TENSOR_BF16: return false;
    }
    return end != string && !*end && !isspace((unsigned char)*string);
}

// Appends a double-quoted YAML scalar.
static void append_quoted(text *out, const char *string) {
    text_append(out, "\"");
    for (; *string; string++) {
        unsigned char c = (unsigned char)*string;
        if (c == '"' || c == '\\')
            text_format(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            text_format(out, "\\x%02x", c);
        else
            text_bytes(out, string, 1);
    }
    text_append(out, "\"");
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

static void append_key(text *out, const char *key) {
    text_append(out, "  ");
    if (is_bare(key))
        text_append(out, key);
    else
        append_quoted(out, key);
    text_append(out, ": ");
}

static void append_tensor(text *out, const tensor *t) {
    char shape[TENSOR_SHAPE_TEXT_BYTES];
    append_key(out, t->name);
    tensor_shape_text(shape, t->type, t->rank, t->shape);
    text_format(out, "{dtype: %s, shape: %s, bytes: %zu}\n", tensor_type_name(t->type),
                strchr(shape, '['), t->bytes);
}

void tensor_describe(const tensor_file *f, const char *path, text *out) {
    text_append(out, "file: ");
    append_quoted(out, path);
    text_format(out, "\nbytes: %" PRIu64 "\nsha256: %s\ncontent: %s\n", f->file_bytes, f->sha256,
                f->content);
    text_format(out, "metadata:%s\n", f->metadata_count ? "" : " {}");
    for (size_t i = 0; i < f->metadata_count; i++) {
        append_key(out, f->metadata[i].key);
        append_quoted(out, f->metadata[i].value);
        text_append(out, "\n");
    }
    text_format(out, "tensors:%s\n", f->count ? "" : " {}");
    for (size_t i = 0; i < f->count; i++) append_tensor(out, &f->tensors[i]);
}

// ---- For --json ----

static void put_shape(yaml_node *entry, const tensor *t) {
    yaml_node *shape = yaml_new(YAML_SEQUENCE);
    for (int i = 0; i < t->rank; i++) yaml_append(shape, yaml_new_integer(t->shape[i]));
    yaml_put(entry, "shape", shape);
}

static void list_tensor(yaml_node *list, const tensor *t) {
    yaml_node *entry = yaml_new(YAML_MAPPING);
    yaml_put(entry, "name", json_new_string(t->name));
    yaml_put(entry, "dtype", json_new_string(tensor_type_name(t->type)));
    put_shape(entry, t);
    yaml_put(entry, "bytes", yaml_new_integer((int64_t)t->bytes));
    yaml_append(list, entry);
}

yaml_node *tensor_describe_tree(const tensor_file *f, const char *path) {
    yaml_node *root = yaml_new(YAML_MAPPING);
    yaml_node *metadata = yaml_new(YAML_MAPPING), *tensors = yaml_new(YAML_SEQUENCE);
    yaml_put(root, "file", json_new_string(path));
    yaml_put(root, "bytes", yaml_new_integer((int64_t)f->file_bytes));
    yaml_put(root, "sha256", json_new_string(f->sha256));
    yaml_put(root, "content", json_new_string(f->content));
    for (size_t i = 0; i < f->metadata_count; i++)
        yaml_put(metadata, f->metadata[i].key, json_new_string(f->metadata[i].value));
    for (size_t i = 0; i < f->count; i++) list_tensor(tensors, &f->tensors[i]);
    yaml_put(root, "metadata", metadata);
    yaml_put(root, "tensors", tensors);
    return root;
}
