// SPDX-License-Identifier: MIT
#include "base/names.h"

#include <string.h>

bool name_is_plain(const char *name) {
    static const char accepted[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const size_t length = strspn(name, accepted);
    return length && !name[length] && *name != '.' && *name != '-';
}
