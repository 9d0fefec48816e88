// SPDX-License-Identifier: MIT
// train-single: trains an experiment in one process on one device.
#include "train/train_tool.h"

int main(int argc, char **argv) {
    return train_tool_main(&strategy_single, argc, argv);
}
