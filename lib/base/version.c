#include "version.h"
#include "base/cli.h"

const char *cli_version(void) {
    return LOCKSTEP_VERSION;
}
