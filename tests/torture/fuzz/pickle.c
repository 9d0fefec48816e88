// SPDX-License-Identifier: MIT
// A Python pickle, as in CIFAR's archives.
#include "data/source/pickle.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    pickle p = {0};
    error err;
    if (pickle_parse(data, bytes, "pickle", &p, &err) == STATUS_OK)
        (void)pickle_find(p.root, "data");
    pickle_release(&p);
    return 0;
}
