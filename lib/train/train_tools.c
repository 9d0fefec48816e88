// SPDX-License-Identifier: MIT
#include "train/train_tools.h"

#include <string.h>

#include "train/train_tool.h"

static status single(int argc, char **argv, FILE *answers, error *err) {
    return train_tool_run(&strategy_single, argc, argv, answers, err);
}

static status dp(int argc, char **argv, FILE *answers, error *err) {
    return train_tool_run(&strategy_dp, argc, argv, answers, err);
}

static status ddp(int argc, char **argv, FILE *answers, error *err) {
    return train_tool_run(&strategy_ddp, argc, argv, answers, err);
}

static status mp(int argc, char **argv, FILE *answers, error *err) {
    return train_tool_run(&strategy_mp, argc, argv, answers, err);
}

cli_function *train_tools_find(const char *name) {
    static const struct {
        const char *name;
        cli_function *tool;
    } tools[] = {{"train-single", single}, {"train-dp", dp}, {"train-ddp", ddp}, {"train-mp", mp}};
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (strcmp(tools[i].name, name) == 0) return tools[i].tool;
    return NULL;
}
