// SPDX-License-Identifier: MIT
// synth-cifar - drawn images in a number of classes, for tests and first runs.
#include "data/source/synth_tool.h"

int main(int argc, char **argv) {
    return cli_main_of("synth-cifar", synth_tool, argc, argv);
}
