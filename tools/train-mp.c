// SPDX-License-Identifier: MIT
// train-mp: trains an experiment with its layers cut into the stages of a pipeline.
#include "train/train_tool.h"

int main(int argc, char **argv) {
    return train_tool_main(&strategy_mp, argc, argv);
}
