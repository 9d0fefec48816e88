// SPDX-License-Identifier: MIT
// train-ddp: trains an experiment in several processes, each with its own shards of every batch.
#include "train/train_tool.h"

int main(int argc, char **argv) {
    return train_tool_main(&strategy_ddp, argc, argv);
}
