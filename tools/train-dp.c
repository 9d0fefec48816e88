// SPDX-License-Identifier: MIT
// train-dp: trains an experiment as DataParallel does: one process, a master device and its
// replicas.
#include "train/train_tool.h"

int main(int argc, char **argv) {
    train_tool tool;
    error err = {0};
    train_tool_init(&tool, &strategy_dp, "train-dp");
    status rc = train_tool_run(&tool, argc, argv, &err);
    return train_tool_finish(&tool, rc, &err);
}
