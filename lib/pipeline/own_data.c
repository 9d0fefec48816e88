// SPDX-License-Identifier: MIT
#include "pipeline/own_data.h"

#include <unistd.h>

#include "base/paths.h"

static const char *const FILES[] = {"train.st.zst", "test.st.zst", "manifest.yaml"};
enum { FILE_COUNT = sizeof FILES / sizeof *FILES };

const char *own_data_lacks(const char *folder) {
    for (int i = 0; i < FILE_COUNT; i++)
        if (!paths_allow(R_OK, "%s/%s", folder, FILES[i])) return FILES[i];
    return NULL;
}

status own_data_check(const settings *s, error *err) {
    const char *own = s->values[SETTING_DATA], *lacked = own ? own_data_lacks(own) : NULL;
    if (!lacked) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot use data: DATA='%s': it has no %s; import-images makes such a folder",
                     own, lacked);
}
