// SPDX-License-Identifier: MIT
// train-dp: trains an experiment as DataParallel does: one process, a master device and its
// replicas.
#include "train/train_tool.h"

int main(int argc, char **argv) {
    return train_tool_main(&strategy_dp, argc, argv);
}
