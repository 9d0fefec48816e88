// SPDX-License-Identifier: MIT
// YAML: everything that can be read can be written, and reads back the same.
#include <stdlib.h>

#include "base/yaml_tree.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    yaml_node *root = NULL, *again = NULL;
    char *text = NULL;
    size_t length;
    error err;
    if (yaml_read_text((const char *)data, bytes, "input", &root, &err) == STATUS_OK &&
        yaml_write_text(root, &text, &length, &err) == STATUS_OK && length <= YAML_MAX_BYTES) {
        if (yaml_read_text(text, length, "output", &again, &err) != STATUS_OK ||
            !yaml_equal(root, again))
            abort();
    }
    free(text);
    yaml_free(root);
    yaml_free(again);
    return 0;
}
