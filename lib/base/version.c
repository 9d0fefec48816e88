// SPDX-License-Identifier: MIT
#include "version.h"
#include "base/cli.h"

const char *cli_version(void) {
    return LOCKSTEP_VERSION;
}

const char *cli_sources(void) {
    return LOCKSTEP_SOURCES;
}

const char *cli_flags(void) {
    return LOCKSTEP_FLAGS;
}
