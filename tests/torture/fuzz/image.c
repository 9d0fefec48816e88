// SPDX-License-Identifier: MIT
// A picture, JPEG or PNG, read in colour and in grey.
#include "data/images/image.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    for (int channels = 1; channels <= 3; channels += 2) {
        image i = {0};
        error err;
        (void)!image_read(data, bytes, channels, &i, &err);
        image_release(&i);
    }
    return 0;
}
